/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sample layouts: checks and sizes. The back ends read and write the samples themselves.
 */
#ifndef CJ2K_SAMPLES_LAYOUT_H
#define CJ2K_SAMPLES_LAYOUT_H

#include "common/cj2k.h"

/* Checks that the layout is consistent: words inside their unit, bits inside their word, planes
 * that exist. CJ2K_ERROR_ARGUMENT names what is wrong. */
Cj2kStatus cj2k_layout_check(const Cj2kLayout *layout, Cj2kError *error);

/* Bytes of a row of `width` samples of this component, in whole units. */
uint64_t cj2k_layout_row_bytes(const Cj2kSampleLayout *samples, uint32_t width);

/* The same, but the last unit counts only up to its last sample: the shortest possible row. */
uint64_t cj2k_layout_least_bytes(const Cj2kSampleLayout *samples, uint32_t width);

/* Bytes of a row that may be written. */
static inline size_t cj2k_plane_row_bytes(const Cj2kPlane *plane)
{
  return plane->row_bytes ? plane->row_bytes : plane->pitch;
}

/* Size of plane p in samples: that of the largest component of the image in it, or of the image's
 * first component if it holds none. false: it is empty. */
bool cj2k_layout_plane_size(const Cj2kLayout *layout, uint32_t p, const Cj2kComponent *components,
                            uint32_t num_components, uint32_t *width, uint32_t *height);

/* Checks that the planes are wide enough for every component that the layout and the image share,
 * and for those of the layout that the image does not have, unless their plane is NULL. */
Cj2kStatus cj2k_layout_check_picture(const Cj2kLayout *layout, const Cj2kPicture *picture,
                                     const Cj2kComponent *components, uint32_t num_components,
                                     Cj2kError *error);

/* How the words of the first num_components components fill the units of a plane. */
typedef struct {
  uint64_t written[4]; /* bytes of the unit, one bit each */
  uint8_t unit_bytes;  /* 0: no component lies here */
  bool shared;  /* a word holds several samples: writing one of them is a read-modify-write */
  bool covered; /* the words do not overlap, fill the whole unit, and their unused bits are to be 0:
                   samples can be written as whole words, without filling anything first */
} Cj2kPlaneUse;

/* Fills in uses[layout->num_planes]. */
void cj2k_layout_plane_use(const Cj2kLayout *layout, uint32_t num_components, Cj2kPlaneUse *uses);

/* True if both layouts place every sample alike. */
bool cj2k_layout_equal(const Cj2kLayout *a, const Cj2kLayout *b);

/* Makes *to a copy with samples of its own, and frees the samples that it had (g_free). */
void cj2k_layout_copy(Cj2kLayout *to, const Cj2kLayout *from);

#endif
