/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The picture that cj2k-encode and cj2k-bench encode, with the description that the encoder needs.
 */
#ifndef EXAMPLES_ENCODE_INPUT_H
#define EXAMPLES_ENCODE_INPUT_H

#include "encode_options.h"

/* A picture and its description. All arrays are owned, until encode_input_clear(). */
typedef struct {
  Cj2kEncoderImage image;
  Cj2kComponent *components; /* x1 and y1 are numbers of columns and rows */
  Cj2kLayout layout;
  Cj2kSampleLayout *samples;
  Cj2kPlane *planes;
  Cj2kPicture picture; /* in host memory */
  Image file;          /* the picture as planes, */
  uint8_t *video;      /* or as the bytes of a raw file of a video format */
} EncodeInput;

/* Whether the options suffice to read the file: a raw file needs --format, --width and --height. */
bool encode_input_check(const EncodeOptions *options, const char *path, char *why);
/* Reads a picture that encode_input_check() allows; --format, --width and --height describe raw
 * files. */
bool encode_input_read(EncodeInput *input, const EncodeOptions *options,
                       const Cj2kEncoderParams *params, const char *path, char *why);
/* Takes a picture that is in memory; it belongs to `input` afterwards. */
void encode_input_take(EncodeInput *input, const Image *image);
/* Whether this is the name of a format of raw files. */
bool encode_input_is_format(const char *name);
void encode_input_clear(EncodeInput *input);

/* The size of plane p of a picture. */
typedef struct {
  uint64_t row_bytes;
  uint32_t rows;
} EncodePlane;
EncodePlane encode_plane(const Cj2kLayout *layout, const Cj2kComponent *components, uint32_t p);

#endif
