/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

static void *open_one(void *codec, int ordinal, Cj2kError *error)
{
  Cj2kDecoder *decoder = codec;
  Cj2kDecoderParams params = decoder->params;

  params.cuda_device = ordinal;
  decoder->backend.functions = cj2k_cuda_decode_backend();
  return decoder->backend.functions->open(&params, decoder->threads, error);
}

static void *open_several(void *codec, Cj2kDeviceSet *set, Cj2kError *error)
{
  Cj2kDecoder *decoder = codec;
  const Cj2kDecodeBackend *inner = cj2k_cuda_decode_backend();

  decoder->backend.functions = cj2k_several_decode_backend(inner);
  return cj2k_several_decoders_open(set, &decoder->params, decoder->threads, error);
}

static void *open_cuda(Cj2kDecoder *decoder, Cj2kError *error)
{
  static const Cj2kDeviceOpener opener = {open_one, open_several};
  const Cj2kDecoderParams *params = &decoder->params;
  const Cj2kDeviceWish wish = {params->cuda_devices, params->cuda_device,
                               params->cuda_context != NULL};

  return cj2k_devices_open(&wish, &opener, decoder, &decoder->backend.devices, error);
}

static bool open_backend(void *codec, Cj2kBackendKind kind, Cj2kError *error)
{
  Cj2kDecoder *decoder = codec;
  Cj2kDecoderBackend *backend = &decoder->backend;

  backend->kind = kind;
  if (kind == CJ2K_BACKEND_CUDA) {
    backend->data = open_cuda(decoder, error);
  } else {
    backend->functions = cj2k_cpu_decode_backend();
    backend->data = backend->functions->open(&decoder->params, decoder->threads, error);
  }
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
  cj2k_devices_close(&decoder->backend.devices);
  if (decoder->backend.cpu_data)
    cj2k_cpu_decode_backend()->close(decoder->backend.cpu_data);
}

void *cj2k_decoder_cpu_backend(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kDecoderBackend *backend = &decoder->backend;

  g_mutex_lock(&decoder->lock);
  if (!backend->cpu_data) {
    cj2k_threads_limit(decoder->threads, 0, false);
    cj2k_threads_use(decoder->threads, 0);
    backend->cpu_data = cj2k_cpu_decode_backend()->open(&decoder->params, decoder->threads, error);
  }
  g_mutex_unlock(&decoder->lock);
  return backend->cpu_data;
}
