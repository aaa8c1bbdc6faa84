/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes and bases: what the searches for the steps of a budget share. Nothing here codes or
 * measures. */
#ifndef CJ2K_RATE_BUDGET_H
#define CJ2K_RATE_BUDGET_H

#include "frame.h"
#include "headers.h"

/* Bytes of the budget for code-blocks, when their headers take `headers`; at least 1. */
double cj2k_body_bytes(const Cj2kRateFrame *frame, double headers);
/* The base of the finest steps that are of any use, and a base no finer than that. */
double cj2k_least_base(const Cj2kRateEncoder *encoder);
double cj2k_useful_base(const Cj2kRateEncoder *encoder, double base);
/* A base to begin with: natural pictures of so many bits a sample. */
double cj2k_guess_base(const Cj2kRateFrame *frame);
/* Estimates header bytes; see cj2k_headers_estimate. */
Cj2kHeaderEstimate cj2k_frame_headers(const Cj2kRateFrame *frame, const uint8_t *passes,
                                      const uint32_t *lengths, uint32_t stride);
/* Estimates the bytes of a frame with all HT blocks at measured->first_plane + `plane`; no
 * component counts for more than its ceiling. least: with the smallest possible headers, else with
 * the expected ones. frame->cut is overwritten. */
uint64_t cj2k_measured_bytes(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane,
                             bool least);

#endif
