/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A look into the slots of the back ends, for tests: both keep coefficients and low-pass images
 * where the plan puts them, and in the same form (docs/arithmetic.md): not quantised, int32_t where
 * the filter is reversible, else fp32.
 */
#ifndef SLOT_ARRAYS_H
#define SLOT_ARRAYS_H

#include "common/backend.h"

typedef struct {
  uint32_t *coefficients; /* of all bands, at their offsets */
  uint32_t *lowpass;      /* of resolutions 1..NL - 1 */
} SlotArrays;

/* Copies what a slot holds behind transform(), or behind start() and wait(). false: it cannot be
 * read. To be cleared in any case. */
typedef bool (*ReadEncoded)(Cj2kEncodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);
typedef bool (*ReadDecoded)(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);

bool read_encoded_cpu(Cj2kEncodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);
bool read_decoded_cpu(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);
#ifdef CJ2K_HAVE_CUDA
bool read_encoded_cuda(Cj2kEncodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);
bool read_decoded_cuda(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays);
#endif
void slot_arrays_clear(SlotArrays *arrays);

#endif
