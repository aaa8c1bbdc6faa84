/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures in several layouts for the programs that compare back ends, the same samples every time,
 * and room for decoded ones.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include "common/cj2k.h"

typedef struct {
  const char *name;
  uint8_t num_components, num_planes, dx, depth; /* dx: sub-sampling of components 1 and 2 */
  bool is_signed;
  Cj2kColour colour;
  Cj2kSampleLayout samples[4];
  uint8_t dy; /* the same, vertically; 0: 1 */
} Format;

/* Ends the program when there is none of that name. */
const Format *find_format(const char *name);

/* What an encoder is told of pictures in this format. */
typedef struct {
  Cj2kComponent components[4];
  Cj2kEncoderImage image; /* of these components */
  Cj2kLayout layout;
} PictureKind;

void picture_kind_init(PictureKind *kind, const Format *format, uint32_t width, uint32_t height);

typedef struct {
  Cj2kPlane planes[4];
  Cj2kPicture picture; /* in host memory */
} Picture;

/* What a picture shows: a window into an endless pattern, with grain on top. */
typedef struct {
  uint32_t x, y; /* of the pattern, at the window's top left corner */
  uint32_t seed; /* of the grain */
  double grain;  /* its amplitude; 1: the whole range */
} View;

void picture_init(Picture *picture, const Format *format, uint32_t width, uint32_t height);
void picture_init_view(Picture *picture, const Format *format, uint32_t width, uint32_t height,
                       const View *view);
void picture_clear(Picture *picture);

/* Where a decoder puts a picture; every byte has the same value before. */
typedef struct {
  Cj2kPlane *planes;
  uint8_t *memory; /* of all planes */
  size_t size;
} Target;

#define TARGET_TIGHT UINT32_MAX

/* For an image of these components; those that only the layout has are as large as the first. Rows
 * are multiples of 32 bytes and `more` apart; TARGET_TIGHT: they end with the last sample's word.
 */
void target_init(Target *target, const Cj2kLayout *layout, const Cj2kComponent *components,
                 uint32_t num_components, uint32_t more);
void target_clear(Target *target);

#endif
