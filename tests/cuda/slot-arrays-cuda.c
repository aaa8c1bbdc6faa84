/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "slot-arrays-cuda.h"

#include "cuda/host/decode.h"

bool slot_arrays_from_device(const Cj2kCudaDevice *device, const void *coefficients,
                             const void *lowpass, const Cj2kPlan *plan, SlotArrays *arrays)
{
  size_t sizes[2] = {plan->num_coefficients * 4, plan->num_lowpass * 4};

  arrays->coefficients = g_malloc0(sizes[0] + 1);
  arrays->lowpass = g_malloc0(sizes[1] + 1);
  if (!cj2k_cuda_enter(device))
    return false;
  cudaError_t result = cudaDeviceSynchronize();
  if (sizes[0])
    CJ2K_CUDA_TRY(result,
                  cudaMemcpy(arrays->coefficients, coefficients, sizes[0], cudaMemcpyDeviceToHost));
  if (sizes[1])
    CJ2K_CUDA_TRY(result, cudaMemcpy(arrays->lowpass, lowpass, sizes[1], cudaMemcpyDeviceToHost));
  cj2k_cuda_leave(device);
  return result == cudaSuccess;
}

bool read_decoded_cuda(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays)
{
  return slot_arrays_from_device(&slot->backend->device, slot->tables.coefficients.data,
                                 slot->tables.lowpass.data, plan, arrays);
}
