/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sample layouts: checks and sizes. Reading and writing of the samples themselves is the back
 * ends'.
 */
#ifndef CJ2K_LAYOUT_H
#define CJ2K_LAYOUT_H

#include "common/cj2k.h"

/* Is the layout possible at all (words inside their unit, bits inside their word, planes that
 * exist)? CJ2K_ERROR_ARGUMENT names what is not. */
Cj2kStatus cj2k_layout_check(const Cj2kLayout *layout, Cj2kError *error);

/* Bytes of a row of `width` samples of this component, whole units. */
uint64_t cj2k_layout_row_bytes(const Cj2kSampleLayout *samples, uint32_t width);

/* Likewise, but of the last unit only what holds samples: the shortest row that is possible. */
uint64_t cj2k_layout_least_bytes(const Cj2kSampleLayout *samples, uint32_t width);

/* Bytes that may be written from the start of a row on. */
static inline size_t cj2k_plane_row_bytes(const Cj2kPlane *plane)
{
  return plane->row_bytes ? plane->row_bytes : plane->pitch;
}

/* Do the planes hold the image in this layout: every component of both, row by row? */
Cj2kStatus cj2k_layout_check_picture(const Cj2kLayout *layout, const Cj2kPicture *picture,
                                     const Cj2kComponent *components, uint32_t num_components,
                                     Cj2kError *error);

/* How the words of the first num_components components fill the units of a plane. */
typedef struct {
  uint64_t written[4]; /* bytes of the unit, one bit each */
  uint8_t unit_bytes;  /* 0: no component lies here */
  bool shared;         /* some word holds several samples: writing one is a read-modify-write */
  bool covered; /* the words are apart and make up the unit, and unused bits in them are to be 0:
                   samples can be written as whole words, with nothing filled in before */
} Cj2kPlaneUse;

/* Fills in uses[layout->num_planes]. */
void cj2k_layout_plane_use(const Cj2kLayout *layout, uint32_t num_components, Cj2kPlaneUse *uses);

/* The same layout, sample by sample? */
bool cj2k_layout_equal(const Cj2kLayout *a, const Cj2kLayout *b);

/* Makes *to a copy with samples of its own; those that it had are freed (g_free). */
void cj2k_layout_copy(Cj2kLayout *to, const Cj2kLayout *from);

#endif
