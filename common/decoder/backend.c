/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

static bool open_backend(void *codec, Cj2kBackendKind kind, Cj2kError *error)
{
  Cj2kDecoder *decoder = codec;
  Cj2kDecoderBackend *backend = &decoder->backend;

  backend->kind = kind;
  backend->functions =
      kind == CJ2K_BACKEND_CUDA ? cj2k_cuda_decode_backend() : cj2k_cpu_decode_backend();
  backend->data = backend->functions->open(&decoder->params, decoder->threads, error);
  return backend->data != NULL;
}

bool cj2k_decoder_open_backend(Cj2kDecoder *decoder, Cj2kError *error)
{
  return cj2k_backend_choose(decoder->params.backend, cj2k_cuda_decode_backend() != NULL,
                             open_backend, decoder, &decoder->backend.why_cpu, error);
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
