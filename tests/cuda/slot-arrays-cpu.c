/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "slot-arrays.h"

#include "common/cpu/decode.h"
#include "common/cpu/encode.h"

static bool copy(const void *coefficients, const void *lowpass, const Cj2kPlan *plan,
                 SlotArrays *arrays)
{
  arrays->coefficients = g_memdup2(coefficients, plan->num_coefficients * 4);
  arrays->lowpass = g_memdup2(lowpass, plan->num_lowpass * 4);
  return true;
}

bool read_encoded_cpu(Cj2kEncodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays)
{
  return copy(slot->coefficients, slot->lowpass, plan, arrays);
}

bool read_decoded_cpu(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays)
{
  return copy(slot->memory.coefficients, slot->memory.lowpass, plan, arrays);
}

void slot_arrays_clear(SlotArrays *arrays)
{
  g_clear_pointer(&arrays->coefficients, g_free);
  g_clear_pointer(&arrays->lowpass, g_free);
}
