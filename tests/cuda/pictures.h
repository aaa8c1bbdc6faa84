/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures in several layouts with the same samples in every run, and memory for decoded pictures,
 * for the programs that compare back ends.
 */
#ifndef TESTS_CUDA_PICTURES_H
#define TESTS_CUDA_PICTURES_H

#include "common/cj2k.h"

typedef struct {
  const char *name;
  uint8_t num_components, num_planes, dx, depth; /* dx: sub-sampling of components 1 and 2 */
  bool is_signed;
  Cj2kColour colour;
  Cj2kSampleLayout samples[4];
  uint8_t dy; /* vertical sub-sampling of components 1 and 2; 0: 1 */
} Format;

/* The format with this name; ends the program if there is none. */
const Format *find_format(const char *name);

/* The parameters that describe pictures of a format to an encoder. */
typedef struct {
  Cj2kComponent components[4];
  Cj2kEncoderImage image; /* uses `components` */
  Cj2kLayout layout;
} PictureKind;

void picture_kind_init(PictureKind *kind, const Format *format, uint32_t width, uint32_t height);

typedef struct {
  Cj2kPlane planes[4];
  Cj2kPicture picture; /* in host memory */
} Picture;

/* The content of a picture: a window into an endless pattern, with grain. */
typedef struct {
  uint32_t x, y; /* position of the window's top left corner in the pattern */
  uint32_t seed; /* seed of the grain */
  double grain;  /* amplitude of the grain; 1: the full range */
} View;

void picture_init(Picture *picture, const Format *format, uint32_t width, uint32_t height);
void picture_init_view(Picture *picture, const Format *format, uint32_t width, uint32_t height,
                       const View *view);
void picture_clear(Picture *picture);

/* Memory for a decoded picture; every byte has the same value before. */
typedef struct {
  Cj2kPlane *planes;
  uint8_t *memory; /* memory of all planes */
  size_t size;
} Target;

#define TARGET_TIGHT UINT32_MAX

/* For an image of these components; components that only the layout has are as large as the first.
 * The pitch is a multiple of 32 bytes plus `more`; TARGET_TIGHT: rows end with the word of their
 * last sample. */
void target_init(Target *target, const Cj2kLayout *layout, const Cj2kComponent *components,
                 uint32_t num_components, uint32_t more);
void target_clear(Target *target);

#endif
