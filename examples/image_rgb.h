/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An image as PNM and PNG want it: grey or RGB, with or without alpha, unsigned, all channels of
 * the same size.
 */
#ifndef EXAMPLES_IMAGE_RGB_H
#define EXAMPLES_IMAGE_RGB_H

#include "image.h"

typedef struct {
  const Image *image;
  uint32_t width, height;
  uint8_t depth;         /* of every channel, at most 16 */
  uint32_t num_channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
  uint32_t plane_of[4];  /* which plane a channel is */
  bool ycc;              /* channels 0..2 are YCbCr and become RGB */
  bool premultiplied;    /* the last channel, alpha, is taken out of the others */
  int32_t *rows[4];      /* a row of each channel */
  int32_t *samples;      /* a row of one plane */
} ImageRgb;

/* A sample of `depth` bits over `bits`, no fewer: the highest value becomes the highest, by
 * repeating bits. */
uint32_t image_rgb_stretch(uint32_t v, unsigned depth, unsigned bits);
/* Chooses planes; alpha only when with_alpha. */
void image_rgb_open(ImageRgb *rgb, const Image *image, bool with_alpha);
/* Row y, interleaved: num_channels * width samples. */
void image_rgb_row(ImageRgb *rgb, uint32_t y, uint16_t *out);
void image_rgb_close(ImageRgb *rgb);

#endif
