/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of cuda/ in a build without it. */
#include "backend.h"
#include "backend_devices.h"
#include "common/runtime/error.h"

#include <stddef.h>

const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void)
{
  return NULL;
}

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  return NULL;
}

uint32_t cj2k_cuda_devices(Cj2kDevice *devices, Cj2kError *error)
{
  (void)devices;
  cj2k_error_set(error, CJ2K_ERROR_DEVICE, "this build has no CUDA back end");
  return 0;
}
