/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How linear light, as EXR files have it, becomes samples. */
#ifndef EXAMPLES_IMAGE_CURVE_H
#define EXAMPLES_IMAGE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#define IMAGE_CURVE_NAMES "srgb, bt709, linear, gamma22, gamma24, gamma26 or pq"

/* Sets the curve (srgb at first) and the bits of a sample (16 at first) for all files that are read
 * afterwards. False: there is no such curve. */
bool image_curve_set(const char *name);
void image_curve_set_depth(uint8_t depth);

uint8_t image_curve_depth(void);
/* The sample for linear light: 0 is black and 1 white, with pq 1 is 100 cd/m² and 100 the highest
 * sample. What is not in the range of samples, or no number, becomes the nearest, or 0. */
uint16_t image_curve_sample(float light);
/* The sample for each value of 16 bit floating point, by its bits. */
const uint16_t *image_curve_half(void);

#endif
