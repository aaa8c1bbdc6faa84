/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

#include "common/runtime/error.h"

Cj2kBackendTest cj2k_backend_test;

bool cj2k_backend_choose(Cj2kBackendKind wanted, bool has_cuda,
                         bool (*open)(void *codec, Cj2kBackendKind kind, Cj2kError *error),
                         void *codec, Cj2kError *why_cpu, Cj2kError *error)
{
  if (wanted == CJ2K_BACKEND_CUDA && !has_cuda) {
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "this build has no CUDA back end");
    return false;
  }
  if (wanted == CJ2K_BACKEND_CUDA)
    return open(codec, CJ2K_BACKEND_CUDA, error);
  if (wanted != CJ2K_BACKEND_CPU && has_cuda && open(codec, CJ2K_BACKEND_CUDA, why_cpu))
    return true;
  return open(codec, CJ2K_BACKEND_CPU, error);
}
