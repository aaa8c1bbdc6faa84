/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

static void *open_one(void *codec, int ordinal, Cj2kError *error)
{
  Cj2kEncoder *encoder = codec;
  Cj2kEncoderParams params = encoder->setup.params;

  params.cuda_device = ordinal;
  encoder->backend.functions = cj2k_cuda_encode_backend();
  return encoder->backend.functions->open(&params, encoder->plan, encoder->threads, error);
}

static void *open_several(void *codec, Cj2kDeviceSet *set, Cj2kError *error)
{
  Cj2kEncoder *encoder = codec;
  const Cj2kEncodeBackend *inner = cj2k_cuda_encode_backend();

  encoder->backend.functions = cj2k_several_encode_backend(inner);
  return cj2k_several_encoders_open(set, &encoder->setup.params, encoder->plan, encoder->threads,
                                    error);
}

static void *open_cuda(Cj2kEncoder *encoder, Cj2kError *error)
{
  static const Cj2kDeviceOpener opener = {open_one, open_several};
  const Cj2kEncoderParams *params = &encoder->setup.params;
  const Cj2kDeviceWish wish = {params->cuda_devices, params->cuda_device,
                               params->cuda_context != NULL};

  return cj2k_devices_open(&wish, &opener, encoder, &encoder->backend.devices, error);
}

static bool open_backend(void *codec, Cj2kBackendKind kind, Cj2kError *error)
{
  Cj2kEncoder *encoder = codec;
  Cj2kEncoderBackend *backend = &encoder->backend;

  backend->kind = kind;
  if (kind == CJ2K_BACKEND_CUDA) {
    backend->data = open_cuda(encoder, error);
  } else {
    backend->functions = cj2k_cpu_encode_backend();
    backend->data =
        backend->functions->open(&encoder->setup.params, encoder->plan, encoder->threads, error);
  }
  return backend->data != NULL;
}

bool cj2k_encoder_open_backend(Cj2kEncoder *encoder, Cj2kError *error)
{
  return cj2k_backend_choose(encoder->setup.params.backend, cj2k_cuda_encode_backend() != NULL,
                             open_backend, encoder, &encoder->backend.why_cpu, error);
}

void cj2k_encoder_close_backend(Cj2kEncoder *encoder)
{
  Cj2kEncoderBackend *backend = &encoder->backend;

  if (backend->data)
    backend->functions->close(backend->data);
  cj2k_devices_close(&backend->devices);
  if (backend->cpu_data)
    cj2k_cpu_encode_backend()->close(backend->cpu_data);
}

void *cj2k_encoder_cpu_backend(Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kEncoderBackend *backend = &encoder->backend;

  g_mutex_lock(&encoder->lock);
  if (!backend->cpu_data) {
    cj2k_threads_limit(encoder->threads, 0, false);
    backend->cpu_data = cj2k_cpu_encode_backend()->open(&encoder->setup.params, encoder->plan,
                                                        encoder->threads, error);
  }
  g_mutex_unlock(&encoder->lock);
  return backend->cpu_data;
}
