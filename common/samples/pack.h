/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packs samples into the words of a picture's layout and unpacks them, row by row. */
#ifndef CJ2K_SAMPLES_PACK_H
#define CJ2K_SAMPLES_PACK_H

#include "common/cj2k.h"

/*
 * cj2k_pack_row writes columns [x, x+n) of a component (relative to its first column) into the
 * plane row that starts at `row`. The other bits of the words keep their values, so two threads
 * must not write to the same unit. x need not be a multiple of unit_samples. The samples have
 * `depth` bits; the depth and sign of the layout may differ (docs/arithmetic.md).
 *
 * cj2k_pack_begin_row is called before: it writes layout->fill into the bits that belong to no
 * component of the layout, in the units of `width` samples (of the component of the plane that has
 * the most samples). `fill` repeats every four bytes of a unit, least significant byte first. The
 * last unit is filled up to `row_bytes`.
 */
void cj2k_pack_begin_row(const Cj2kLayout *layout, uint32_t plane, uint8_t *row, uint32_t width,
                         size_t row_bytes);
void cj2k_pack_row(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed, const int32_t *in,
                   uint32_t x, uint32_t n, uint8_t *row);
/* The same for words that hold only this sample: they are written whole, unused bits become 0, and
 * cj2k_pack_begin_row is not needed. */
void cj2k_pack_row_whole(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed,
                         const int32_t *in, uint32_t x, uint32_t n, uint8_t *row);
/* Unpacks the same samples into int32_t, shifted right to `depth` bits if the layout has more. */
void cj2k_unpack_row(const Cj2kSampleLayout *layout, uint8_t depth, const uint8_t *row, uint32_t x,
                     uint32_t n, int32_t *out);

#endif
