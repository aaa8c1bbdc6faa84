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
  if (sizes[0] && coefficients)
    CJ2K_CUDA_TRY(result,
                  cudaMemcpy(arrays->coefficients, coefficients, sizes[0], cudaMemcpyDeviceToHost));
  if (sizes[1])
    CJ2K_CUDA_TRY(result, cudaMemcpy(arrays->lowpass, lowpass, sizes[1], cudaMemcpyDeviceToHost));
  cj2k_cuda_leave(device);
  return result == cudaSuccess;
}

/* Brings the coefficients of a band from the form and place that they have on the device to those
 * of the plan. */
static void unpack_band(const Cj2kPlanBand *band, const Cj2kCudaBandPlace *place,
                        const uint8_t *device, uint32_t *out)
{
  size_t count = (size_t)band->stride * (band->rect.y1 - band->rect.y0);
  const int16_t *narrow = (const int16_t *)(device + place->offset);

  if (!place->narrow) {
    memcpy(out, device + place->offset, count * sizeof *out);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    float value = (float)narrow[i] * band->scale;
    if (band->reversible)
      out[i] = (uint32_t)narrow[i];
    else
      memcpy(&out[i], &value, sizeof value);
  }
}

bool read_decoded_cuda(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, SlotArrays *arrays)
{
  const Cj2kCudaMemory *from = &slot->tables.coefficients;
  uint8_t *device = g_malloc0(from->size + 1);
  bool good = slot_arrays_from_device(&slot->backend->device, NULL, slot->tables.lowpass.data, plan,
                                      arrays) &&
              cj2k_cuda_enter(&slot->backend->device);

  if (good) {
    good = !from->size ||
           cudaMemcpy(device, from->data, from->size, cudaMemcpyDeviceToHost) == cudaSuccess;
    cj2k_cuda_leave(&slot->backend->device);
  }
  for (uint32_t b = 0; good && b < plan->num_bands; b++)
    if (plan->bands[b].offset != UINT64_MAX)
      unpack_band(&plan->bands[b], &slot->tables.places[b], device,
                  arrays->coefficients + plan->bands[b].offset);
  g_free(device);
  return good;
}
