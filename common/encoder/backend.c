/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

#include "common/runtime/error.h"

static bool try_backend(Cj2kEncoder *encoder, const Cj2kEncodeBackend *functions,
                        Cj2kBackendKind kind, Cj2kError *error)
{
  Cj2kEncoderBackend *backend = &encoder->backend;

  backend->data = functions->open(&encoder->setup.params, encoder->plan, encoder->threads, error);
  backend->functions = functions;
  backend->kind = kind;
  return backend->data != NULL;
}

bool cj2k_encoder_open_backend(Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kBackendKind wanted = encoder->setup.params.backend;
  const Cj2kEncodeBackend *cuda = cj2k_cuda_encode_backend();

  if (wanted == CJ2K_BACKEND_CUDA && !cuda) {
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "this build has no CUDA back end");
    return false;
  }
  if (wanted != CJ2K_BACKEND_CPU && cuda) {
    if (try_backend(encoder, cuda, CJ2K_BACKEND_CUDA,
                    wanted == CJ2K_BACKEND_CUDA ? error : &encoder->backend.why_cpu))
      return true;
    if (wanted == CJ2K_BACKEND_CUDA)
      return false;
  }
  return try_backend(encoder, cj2k_cpu_encode_backend(), CJ2K_BACKEND_CPU, error);
}

void cj2k_encoder_close_backend(Cj2kEncoder *encoder)
{
  Cj2kEncoderBackend *backend = &encoder->backend;

  if (backend->data)
    backend->functions->close(backend->data);
  if (backend->cpu_data)
    cj2k_cpu_encode_backend()->close(backend->cpu_data);
}

void *cj2k_encoder_cpu_backend(Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kEncoderBackend *backend = &encoder->backend;

  g_mutex_lock(&encoder->lock);
  if (!backend->cpu_data) {
    cj2k_threads_limit(encoder->threads, 0);
    backend->cpu_data = cj2k_cpu_encode_backend()->open(&encoder->setup.params, encoder->plan,
                                                        encoder->threads, error);
  }
  g_mutex_unlock(&encoder->lock);
  return backend->cpu_data;
}
