/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/runtime/error.h"

static bool try_backend(Cj2kDecoder *decoder, const Cj2kDecodeBackend *functions,
                        Cj2kBackendKind kind, Cj2kError *error)
{
  Cj2kDecoderBackend *backend = &decoder->backend;

  backend->data = functions->open(&decoder->params, decoder->threads, error);
  backend->functions = functions;
  backend->kind = kind;
  return backend->data != NULL;
}

bool cj2k_decoder_open_backend(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kBackendKind wanted = decoder->params.backend;
  const Cj2kDecodeBackend *cuda = cj2k_cuda_decode_backend();

  if (wanted == CJ2K_BACKEND_CUDA && !cuda) {
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "this build has no CUDA back end");
    return false;
  }
  if (wanted != CJ2K_BACKEND_CPU && cuda) {
    if (try_backend(decoder, cuda, CJ2K_BACKEND_CUDA,
                    wanted == CJ2K_BACKEND_CUDA ? error : &decoder->backend.why_cpu))
      return true;
    if (wanted == CJ2K_BACKEND_CUDA)
      return false;
  }
  return try_backend(decoder, cj2k_cpu_decode_backend(), CJ2K_BACKEND_CPU, error);
}

void cj2k_decoder_close_backend(Cj2kDecoder *decoder)
{
  decoder->backend.functions->close(decoder->backend.data);
  if (decoder->backend.cpu_data)
    cj2k_cpu_decode_backend()->close(decoder->backend.cpu_data);
}

void *cj2k_decoder_cpu_backend(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kDecoderBackend *backend = &decoder->backend;

  g_mutex_lock(&decoder->lock);
  if (!backend->cpu_data) {
    cj2k_threads_limit(decoder->threads, 0);
    backend->cpu_data = cj2k_cpu_decode_backend()->open(&decoder->params, decoder->threads, error);
  }
  g_mutex_unlock(&decoder->lock);
  return backend->cpu_data;
}
