/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * GPUs that are none. A program that includes this file takes the place of the CUDA back end in the
 * library: each of its devices is a CPU back end, which can be told to fail from a certain call on,
 * as a GPU fails. Host memory can be declared to be memory of a device.
 */
#ifndef TESTS_UNIT_FAKE_DEVICES_H
#define TESTS_UNIT_FAKE_DEVICES_H

#include "common/backend.h"
#include "common/backend_devices.h"
#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

#define FAKE_MOST 4
#define FAKE_LOOK 200 /* microseconds between two looks at what is awaited */

typedef struct {
  gint dead;       /* atomic: every call fails */
  gint calls_left; /* atomic: calls until it dies; negative: it does not die */
  gint frames;     /* atomic: frames that were begun */
  gint held;       /* atomic: frames that were begun wait until it is cleared */
  gint codings;    /* atomic: of all HT blocks at plane 0, or of MQ blocks */
  gint estimates;  /* atomic: of what HT blocks take */
  gint left_out;   /* atomic: codings that an estimate has prevented */
  gint unusable;   /* atomic: cannot be opened */
  gint slots_left; /* atomic: slots that memory holds; negative: any number */
  gint prefetched; /* atomic: codestreams that were announced */
  gint abandoned;  /* atomic: of these, those that were taken back */
  gint in_flight;  /* atomic: frames in flight that the last codec is prepared for */
  void *context;   /* atomic: that the last codec was opened with */
  bool owns_all;   /* all memory is said to be its own */
  uint32_t utilisation;
  uint64_t free_memory;
} FakeDevice;

static FakeDevice fake_devices[FAKE_MOST];
static uint32_t fake_count; /* devices that there are */

static void fake_init(uint32_t count)
{
  memset(fake_devices, 0, sizeof fake_devices);
  fake_count = count;
  for (uint32_t i = 0; i < count; i++)
    fake_devices[i].calls_left = fake_devices[i].slots_left = -1;
}

uint32_t cj2k_cuda_devices(Cj2kDevice *devices, Cj2kError *error)
{
  for (uint32_t i = 0; i < fake_count; i++) {
    devices[i] = (Cj2kDevice){.ordinal = (int)i,
                              .utilisation = fake_devices[i].utilisation,
                              .free_memory = fake_devices[i].free_memory};
    g_snprintf(devices[i].uuid, sizeof devices[i].uuid, "abcd%u23456789abcdef0123456789abc", i);
  }
  if (!fake_count)
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "there is no fake device");
  return fake_count;
}

/* A back end of one device. */
typedef struct {
  int number;
  void *cpu;
} Fake;

static FakeDevice *device_of(const void *data)
{
  return &fake_devices[((const Fake *)data)->number];
}

/* One more call of a device. */
static Cj2kStatus fake_call(const void *data, Cj2kError *error)
{
  FakeDevice *device = device_of(data);
  if (g_atomic_int_get(&device->calls_left) >= 0 && g_atomic_int_add(&device->calls_left, -1) == 0)
    g_atomic_int_set(&device->dead, 1);
  if (!g_atomic_int_get(&device->dead))
    return CJ2K_OK;
  return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "fake device %d is dead",
                        ((const Fake *)data)->number);
}

/* One more frame. */
static Cj2kStatus fake_begin(const void *data, Cj2kError *error)
{
  FakeDevice *device = device_of(data);
  g_atomic_int_inc(&device->frames);
  while (g_atomic_int_get(&device->held))
    g_usleep(FAKE_LOOK);
  return fake_call(data, error);
}

/* One more slot. */
static bool fake_slot(const void *data, Cj2kError *error)
{
  FakeDevice *device = device_of(data);
  if (fake_call(data, error) != CJ2K_OK)
    return false;
  if (g_atomic_int_get(&device->slots_left) < 0 || g_atomic_int_add(&device->slots_left, -1) > 0)
    return true;
  g_atomic_int_set(&device->slots_left, 0);
  cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory on a fake device");
  return false;
}

static void fake_set_in_flight(void *data, uint32_t frames_in_flight)
{
  g_atomic_int_set(&device_of(data)->in_flight, (gint)frames_in_flight);
}

static Fake *fake_new(int ordinal, void *context, uint32_t frames_in_flight, Cj2kError *error)
{
  g_assert_cmpint(ordinal, >=, 0);
  g_assert_cmpuint((guint)ordinal, <, fake_count);
  if (g_atomic_int_get(&fake_devices[ordinal].unusable)) {
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "fake device %d cannot be used", ordinal);
    return NULL;
  }
  Fake *fake = g_new0(Fake, 1);
  fake->number = ordinal;
  g_atomic_pointer_set(&fake_devices[ordinal].context, context);
  fake_set_in_flight(fake, frames_in_flight);
  return fake;
}

static bool fake_owns(void *data, const void *memory)
{
  return memory && device_of(data)->owns_all;
}

/* ----------------------------------------------------------------------------- decoding --- */

static void *fake_decoder_open(const Cj2kDecoderParams *params, Cj2kThreads *threads,
                               Cj2kError *error)
{
  Fake *fake = fake_new(params->cuda_device, params->cuda_context, params->frames_in_flight, error);
  if (fake)
    fake->cpu = cj2k_cpu_decode_backend()->open(params, threads, error);
  return fake;
}

static void fake_decoder_close(void *data)
{
  cj2k_cpu_decode_backend()->close(((Fake *)data)->cpu);
  g_free(data);
}

static Cj2kDecodeSlot *fake_decode_slot_new(void *data, Cj2kError *error)
{
  return fake_slot(data, error) ? cj2k_cpu_decode_backend()->slot_new(((Fake *)data)->cpu, error)
                                : NULL;
}

static void fake_decode_slot_free(void *data, Cj2kDecodeSlot *slot)
{
  cj2k_cpu_decode_backend()->slot_free(((Fake *)data)->cpu, slot);
}

static void fake_decode_prefetch(void *data, Cj2kDecodeSlot *slot, const uint8_t *codestream,
                                 size_t size)
{
  (void)slot, (void)codestream, (void)size;
  g_atomic_int_inc(&device_of(data)->prefetched);
}

static void fake_decode_abandon(void *data, Cj2kDecodeSlot *slot)
{
  (void)slot;
  g_atomic_int_inc(&device_of(data)->abandoned);
}

static Cj2kStatus fake_decode_start(void *data, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                    Cj2kError *error)
{
  if (fake_begin(data, error) != CJ2K_OK)
    return CJ2K_ERROR_DEVICE;
  return cj2k_cpu_decode_backend()->start(((Fake *)data)->cpu, slot, job, error);
}

static Cj2kStatus fake_decode_wait(void *data, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                                   Cj2kError *error)
{
  Cj2kStatus status = cj2k_cpu_decode_backend()->wait(((Fake *)data)->cpu, slot, result, error);
  return fake_call(data, error) == CJ2K_OK ? status : CJ2K_ERROR_DEVICE;
}

const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void)
{
  static const Cj2kDecodeBackend backend = {.name = "fake",
                                            .open = fake_decoder_open,
                                            .close = fake_decoder_close,
                                            .slot_new = fake_decode_slot_new,
                                            .slot_free = fake_decode_slot_free,
                                            .prefetch = fake_decode_prefetch,
                                            .abandon = fake_decode_abandon,
                                            .start = fake_decode_start,
                                            .wait = fake_decode_wait,
                                            .set_in_flight = fake_set_in_flight,
                                            .memory = {.owns = fake_owns}};
  return &backend;
}

/* ----------------------------------------------------------------------------- encoding --- */

static void *fake_encoder_open(const Cj2kEncoderParams *params, Cj2kPlan *plan,
                               Cj2kThreads *threads, Cj2kError *error)
{
  Fake *fake = fake_new(params->cuda_device, params->cuda_context, params->frames_in_flight, error);
  if (fake)
    fake->cpu = cj2k_cpu_encode_backend()->open(params, plan, threads, error);
  return fake;
}

static void fake_encoder_close(void *data)
{
  cj2k_cpu_encode_backend()->close(((Fake *)data)->cpu);
  g_free(data);
}

static Cj2kEncodeSlot *fake_encode_slot_new(void *data, Cj2kError *error)
{
  return fake_slot(data, error) ? cj2k_cpu_encode_backend()->slot_new(((Fake *)data)->cpu, error)
                                : NULL;
}

static void fake_encode_slot_free(void *data, Cj2kEncodeSlot *slot)
{
  cj2k_cpu_encode_backend()->slot_free(((Fake *)data)->cpu, slot);
}

/* The CPU back end refuses memory of a device, even if it only is said to be that. */
static Cj2kStatus fake_transform(void *data, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                 Cj2kError *error)
{
  Cj2kPicture picture = *job->picture;
  Cj2kTransformJob own = *job;
  picture.memory = CJ2K_MEMORY_HOST;
  own.picture = &picture;
  if (fake_begin(data, error) != CJ2K_OK)
    return CJ2K_ERROR_DEVICE;
  return cj2k_cpu_encode_backend()->transform(((Fake *)data)->cpu, slot, &own, error);
}

static Cj2kStatus fake_measure(void *data, Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                               Cj2kError *error)
{
  if (fake_call(data, error) != CJ2K_OK)
    return CJ2K_ERROR_DEVICE;
  g_atomic_int_add(&device_of(data)->estimates, job->quad_rows > 0);
  return cj2k_cpu_encode_backend()->measure(((Fake *)data)->cpu, slot, job, error);
}

static Cj2kStatus fake_code(void *data, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                            Cj2kError *error)
{
  if (fake_call(data, error) != CJ2K_OK)
    return CJ2K_ERROR_DEVICE;
  const Cj2kEncodeBackend *cpu = cj2k_cpu_encode_backend();
  Cj2kEncodeResult result;
  Cj2kStatus status = cpu->code(((Fake *)data)->cpu, slot, job, error);
  bool left_out = false;
  if (job->range && cpu->wait(((Fake *)data)->cpu, slot, &result, NULL) == CJ2K_OK) {
    const Cj2kEstimateOutcome outcome = cj2k_estimate_follow(job->range, result.estimates);
    left_out = outcome.verdict == CJ2K_ESTIMATE_OUT;
    g_atomic_int_add(&device_of(data)->estimates, (gint)outcome.last + 1);
  }
  g_atomic_int_add(&device_of(data)->left_out, left_out);
  g_atomic_int_add(&device_of(data)->codings, !job->choices && !left_out);
  return status;
}

static Cj2kStatus fake_encode_wait(void *data, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                                   Cj2kError *error)
{
  Cj2kStatus status = cj2k_cpu_encode_backend()->wait(((Fake *)data)->cpu, slot, result, error);
  return fake_call(data, error) == CJ2K_OK ? status : CJ2K_ERROR_DEVICE;
}

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  static const Cj2kEncodeBackend backend = {.name = "fake",
                                            .open = fake_encoder_open,
                                            .close = fake_encoder_close,
                                            .slot_new = fake_encode_slot_new,
                                            .slot_free = fake_encode_slot_free,
                                            .transform = fake_transform,
                                            .measure = fake_measure,
                                            .code = fake_code,
                                            .wait = fake_encode_wait,
                                            .set_in_flight = fake_set_in_flight,
                                            .memory = {.owns = fake_owns}};
  return &backend;
}

/* Opens a decoder on fake devices: those that are named, or `device`. */
static inline Cj2kDecoder *fake_open_decoder(const char *devices, int device, uint32_t in_flight,
                                             Cj2kError *error)
{
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_device = device;
  params.cuda_devices = devices;
  params.frames_in_flight = in_flight;
  params.num_threads = 3;
  return cj2k_decoder_open(&params, error);
}

#endif
