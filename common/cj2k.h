/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file
 * cj2k: an asynchronous encoder and decoder of single frames for JPEG 2000 Part 1 (Rec. ITU-T
 * T.800) and HTJ2K (Rec. ITU-T T.814).
 *
 * This header, with those that it includes, is the whole public C API. An encoder or decoder is an
 * object that works on up to `frames_in_flight` frames at once: a submit function hands a frame in,
 * and a receive function hands results out in the order of submission. Two threads may use an
 * object at the same time, one that submits and one that receives. The library neither prints nor
 * exits. Each call that can fail returns a Cj2kStatus; where the caller passes a Cj2kError (NULL is
 * allowed), it is filled in with a sentence that names what failed and where.
 */
#ifndef CJ2K_H
#define CJ2K_H

#include "cj2k_decoder.h"
#include "cj2k_encoder.h"
#include "cj2k_types.h"

#endif
