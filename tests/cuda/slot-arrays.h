/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to the arrays in the slots of the back ends, for tests. Both back ends store coefficients
 * and low-pass images at the offsets of the plan and in the same form (docs/arithmetic.md): before
 * quantisation, int32_t for the reversible filter, else fp32.
 */
#ifndef TESTS_CUDA_SLOT_ARRAYS_H
#define TESTS_CUDA_SLOT_ARRAYS_H

#include "common/backend.h"

typedef struct {
  uint32_t *coefficients; /* of all bands, at their offsets */
  uint32_t *lowpass;      /* of resolutions 1..NL - 1 */
} SlotArrays;

/* Copies the arrays of a slot after transform(), or after start() and wait(). false: they cannot be
 * read. The arrays need slot_arrays_clear() in either case. */
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
