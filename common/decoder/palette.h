/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Palettes (T.800 I.5.3.4, I.5.3.5): turn the components of the codestream into the channels of the
 * image.
 */
#ifndef CJ2K_DECODER_PALETTE_H
#define CJ2K_DECODER_PALETTE_H

#include "image.h"

/* Fills in the layout to which a codestream with a palette is decoded: planes of int32_t. `samples`
 * has room for num_components entries. */
void cj2k_palette_index_layout(const Cj2kHeader *header, Cj2kSampleLayout *samples,
                               Cj2kLayout *layout);

/* Looks up every sample of `indices` (in that layout) and packs the channels into `picture`.
 * Indices beyond the palette take its nearest entry; returns the number of those. */
uint64_t cj2k_palette_apply(const Cj2kImageInfo *info, const Cj2kPicture *indices,
                            const Cj2kLayout *layout, const Cj2kPicture *picture);

#endif
