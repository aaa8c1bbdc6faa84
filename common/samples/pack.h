/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples into the words of a picture's layout, and out of them, row by row. Pure functions. */
#ifndef CJ2K_PACK_H
#define CJ2K_PACK_H

#include "common/cj2k.h"

/*
 * Packing: samples of component c, columns [x, x+n) of a row (relative to the component's first
 * column), into the plane row that starts at `row`; other bits of the words stay as they are, which
 * makes two threads on the same unit a race. x need not be a multiple of unit_samples. The samples
 * have `depth` bits; the layout's depth and sign may differ (docs/arithmetic.md).
 *
 * cj2k_pack_begin_row, before: writes layout->fill into the bits of the units of `width` samples
 * (of the plane's component with the most samples) that no component of the layout owns. `fill`
 * repeats every four bytes of a unit, least significant byte first. The last unit is filled as far
 * as `row_bytes` goes.
 */
void cj2k_pack_begin_row(const Cj2kLayout *layout, uint32_t plane, uint8_t *row, uint32_t width,
                         size_t row_bytes);
void cj2k_pack_row(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed, const int32_t *in,
                   uint32_t x, uint32_t n, uint8_t *row);
/* The same for words that hold this one sample and nothing else: they are written whole, unused
 * bits become 0, and begin_row is not needed. */
void cj2k_pack_row_whole(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed,
                         const int32_t *in, uint32_t x, uint32_t n, uint8_t *row);
/* Unpacking of the same: into int32_t samples, shifted down to `depth` when the layout has more
 * bits. */
void cj2k_unpack_row(const Cj2kSampleLayout *layout, uint8_t depth, const uint8_t *row, uint32_t x,
                     uint32_t n, int32_t *out);

#endif
