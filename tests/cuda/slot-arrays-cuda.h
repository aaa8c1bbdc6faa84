/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_CUDA_SLOT_ARRAYS_CUDA_H
#define TESTS_CUDA_SLOT_ARRAYS_CUDA_H

#include "cuda/host/device.h"
#include "slot-arrays.h"

/* Waits for the device, then copies both arrays from it. */
bool slot_arrays_from_device(const Cj2kCudaDevice *device, const void *coefficients,
                             const void *lowpass, const Cj2kPlan *plan, SlotArrays *arrays);

#endif
