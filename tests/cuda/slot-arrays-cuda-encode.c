/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "slot-arrays-cuda.h"

#include "cuda/host/encode.h"

bool read_encoded_cuda(Cj2kEncodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays)
{
  return slot_arrays_from_device(&slot->encoder->device, slot->transform.coefficients.data,
                                 slot->transform.lowpass, plan, arrays);
}
