/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of codecs that programs with films of their own have in common. The program ends if one
 * fails. */
#ifndef TESTS_CUDA_FILM_CALLS_H
#define TESTS_CUDA_FILM_CALLS_H

#include "pictures.h"

#include <glib.h>

/* The codestream of a picture with these parameters. */
GByteArray *film_encode(const Format *format, uint32_t width, uint32_t height, const View *view,
                        const Cj2kEncoderParams *params);

/* A decoder with default parameters but these. */
Cj2kDecoder *film_open_decoder(Cj2kBackendKind backend, uint32_t in_flight);
/* Reads the image that a codestream holds; its components become those of the caller. */
void film_read_image(Cj2kDecoder *decoder, const GByteArray *coded, Cj2kImage *image,
                     Cj2kComponent components[4]);
void film_submit(Cj2kDecoder *decoder, const GByteArray *coded, const Cj2kLayout *layout,
                 const Cj2kPicture *picture);

#endif
