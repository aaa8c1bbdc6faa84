/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An image in the form of PNM and PNG: grey or RGB, with or without alpha, unsigned, all channels
 * of the same size.
 */
#ifndef EXAMPLES_IMAGE_RGB_H
#define EXAMPLES_IMAGE_RGB_H

#include "image.h"

typedef struct {
  const Image *image;
  uint32_t width, height;
  uint8_t depth;         /* of every channel, at most 16 */
  uint32_t num_channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
  uint32_t plane_of[4];  /* the plane of each channel */
  bool ycc;              /* channels 0..2 are YCbCr, to be converted to RGB */
  uint16_t alpha_type;   /* CJ2K_CHANNEL_* of the last channel, where it is alpha */
  bool premultiplied;    /* the others are to be divided by the last channel; may be set to false */
  int32_t *rows[4];      /* a row of each channel */
  int32_t *samples;      /* a row of one plane */
} ImageRgb;

/* Scales a sample of `depth` bits to `bits`, which are no fewer, by repeating its bits: the highest
 * value becomes the highest. */
uint32_t image_rgb_stretch(uint32_t v, unsigned depth, unsigned bits);
/* Chooses the planes of the channels; alpha only when with_alpha. */
void image_rgb_open(ImageRgb *rgb, const Image *image, bool with_alpha);
/* Writes row y, interleaved, to out: num_channels * width samples. */
void image_rgb_row(ImageRgb *rgb, uint32_t y, uint16_t *out);
void image_rgb_close(ImageRgb *rgb);

#endif
