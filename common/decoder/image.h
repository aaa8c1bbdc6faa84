/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Cj2kImage that the application gets, made from the headers of a codestream and the boxes
 * around it.
 */
#ifndef CJ2K_DECODER_IMAGE_H
#define CJ2K_DECODER_IMAGE_H

#include "common/codestream/jp2.h"

/* Immutable and reference-counted. `image` points to arrays of this struct. */
typedef struct {
  int refs; /* atomic */
  Cj2kImage image;
  Cj2kJp2 jp2;      /* for palette and channels; its icc is not valid, see image */
  bool has_palette; /* the image's components are not the codestream's */
  Cj2kComponent *components;
  Cj2kChannel *channels;
  uint8_t *icc;
} Cj2kImageInfo;

/* Takes over *jp2 (clears it, on failure too). `strict`: boxes must agree with the header. */
Cj2kStatus cj2k_image_info_new(const Cj2kHeader *header, Cj2kJp2 *jp2, uint8_t reduce, bool strict,
                               Cj2kImageInfo **info, Cj2kError *error);
Cj2kImageInfo *cj2k_image_info_ref(Cj2kImageInfo *info);
void cj2k_image_info_unref(Cj2kImageInfo *info); /* NULL is allowed */

#endif
