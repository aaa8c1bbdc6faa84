/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of a GPU: too little memory for the frames in flight, several GPUs at once, and a GPU that
 * is lost. Prints TAP; skips if there is no GPU.
 */
#include "common/cj2k.h"

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define SIZE      2048
#define IN_FLIGHT 8
#define FRAMES    24
#define BYTES     ((size_t)SIZE * SIZE * 3)

typedef struct {
  uint8_t *pixels;
  Cj2kComponent components[3];
  Cj2kSampleLayout samples[3];
  Cj2kLayout layout;
  uint8_t *coded; /* as encoded by the CPU */
  size_t coded_size;
} Scene;

static uint32_t num_tests;

static void report(bool ok, const char *name, const char *why)
{
  printf("%sok %u - %s%s%s\n", ok ? "" : "not ", ++num_tests, name, ok ? "" : ": ", ok ? "" : why);
}

static Cj2kPicture picture_of(uint8_t *memory, Cj2kPlane planes[3])
{
  for (int c = 0; c < 3; c++)
    planes[c] = (Cj2kPlane){.data = memory + (size_t)c * SIZE * SIZE, .pitch = SIZE};
  return (Cj2kPicture){CJ2K_MEMORY_HOST, 3, planes};
}

/* ---------------------------------------------------------------------------- encoding --- */

static Cj2kEncoder *open_encoder(const Scene *scene, Cj2kBackendKind backend, int device,
                                 Cj2kError *error)
{
  Cj2kEncoderParams params;
  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.cuda_device = device;
  params.block_coder = CJ2K_CODER_HT;
  params.rate_control = CJ2K_RATE_LOSSLESS;
  params.frames_in_flight = IN_FLIGHT;
  Cj2kEncoderImage image = {.width = SIZE,
                            .height = SIZE,
                            .num_components = 3,
                            .components = scene->components,
                            .colour = CJ2K_COLOUR_SRGB};
  return cj2k_encoder_open(&params, &image, &scene->layout, error);
}

/* NULL, or what went wrong. Submits all frames as if there were memory for every one. */
static const char *encode(Cj2kEncoder *encoder, const Scene *scene, Cj2kStats *stats)
{
  const char *why = NULL;
  Cj2kError error;
  Cj2kPlane planes[3];
  Cj2kPicture picture = picture_of(scene->pixels, planes);
  uint32_t submitted = 0;
  for (uint32_t received = 0; received < FRAMES; received++) {
    while (submitted < FRAMES && submitted - received < IN_FLIGHT) {
      if (cj2k_encoder_submit(encoder, &picture, NULL, &error) != CJ2K_OK)
        return "submit failed";
      submitted++;
    }
    Cj2kPacket packet;
    cj2k_encoder_receive(encoder, &packet);
    if (packet.status != CJ2K_OK || packet.fallback)
      why = "a frame failed";
    else if (packet.size != scene->coded_size ||
             memcmp(packet.data, scene->coded, packet.size) != 0)
      why = "the bytes differ from the CPU's";
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_get_stats(encoder, stats);
  return why;
}

static void make_scene(Scene *scene)
{
  uint32_t random = 1;
  Cj2kError error;
  Cj2kPlane planes[3];
  Cj2kPacket packet;
  scene->pixels = g_malloc(BYTES);
  for (size_t i = 0; i < BYTES; i++) {
    random = random * 1664525u + 1013904223u;
    scene->pixels[i] = (uint8_t)((i % SIZE) / 8 + (i / SIZE) / 16 + (random >> 29));
  }
  for (int c = 0; c < 3; c++)
    scene->components[c] = (Cj2kComponent){.dx = 1, .dy = 1, .depth = 8};
  Cj2kImage image = {.num_components = 3, .components = scene->components};
  cj2k_layout_planar(&image, scene->samples, &scene->layout);
  Cj2kEncoder *encoder = open_encoder(scene, CJ2K_BACKEND_CPU, -1, &error);
  Cj2kPicture picture = picture_of(scene->pixels, planes);
  g_assert_nonnull(encoder);
  cj2k_encoder_submit(encoder, &picture, NULL, &error);
  cj2k_encoder_receive(encoder, &packet);
  g_assert_cmpint(packet.status, ==, CJ2K_OK);
  scene->coded = g_memdup2(packet.data, packet.size);
  scene->coded_size = packet.size;
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
}

/* ---------------------------------------------------------------------------- decoding --- */

static Cj2kDecoder *open_decoder(int device, Cj2kError *error)
{
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_device = device;
  params.frames_in_flight = IN_FLIGHT;
  return cj2k_decoder_open(&params, error);
}

static const char *decode(Cj2kDecoder *decoder, const Scene *scene, Cj2kStats *stats)
{
  const char *why = NULL;
  Cj2kError error;
  Cj2kPlane planes[IN_FLIGHT][3];
  Cj2kPicture pictures[IN_FLIGHT];
  uint8_t *memory = g_malloc(BYTES * IN_FLIGHT);
  uint32_t submitted = 0;
  for (uint32_t i = 0; i < IN_FLIGHT; i++)
    pictures[i] = picture_of(memory + i * BYTES, planes[i]);
  for (uint32_t received = 0; received < FRAMES; received++) {
    while (submitted < FRAMES && submitted - received < IN_FLIGHT) {
      uint32_t place = submitted++ % IN_FLIGHT;
      memset(memory + place * BYTES, 0xA5, BYTES);
      cj2k_decoder_submit(decoder, scene->coded, scene->coded_size, &scene->layout,
                          &pictures[place], NULL, &error);
    }
    Cj2kFrame frame;
    cj2k_decoder_receive(decoder, &frame);
    if (frame.status != CJ2K_OK || frame.fallback)
      why = "a frame failed";
    else if (memcmp(memory + received % IN_FLIGHT * BYTES, scene->pixels, BYTES) != 0)
      why = "the samples differ from those that were encoded";
    cj2k_decoder_release(decoder, &frame);
  }
  cj2k_decoder_get_stats(decoder, stats);
  g_free(memory);
  return why;
}

/* ------------------------------------------------------------------------------- tests --- */

/* Runs the encoder or decoder on one GPU. *stats and *used (NULL: not wanted) are from the end of
 * the run. */
static const char *run(const Scene *scene, bool encoding, int device, Cj2kStats *stats,
                       size_t *used)
{
  Cj2kError error = {0};
  size_t before = 0, after = 0, total;
  const char *why;
  cudaMemGetInfo(&before, &total);
  if (encoding) {
    Cj2kEncoder *encoder = open_encoder(scene, CJ2K_BACKEND_CUDA, device, &error);
    why = encoder ? encode(encoder, scene, stats) : "cannot be opened";
    cudaMemGetInfo(&after, &total);
    cj2k_encoder_close(encoder);
  } else {
    Cj2kDecoder *decoder = open_decoder(device, &error);
    why = decoder ? decode(decoder, scene, stats) : "cannot be opened";
    cudaMemGetInfo(&after, &total);
    cj2k_decoder_close(decoder);
  }
  if (error.text[0])
    printf("# %s\n", error.text);
  if (used)
    *used = before > after ? before - after : 0;
  return why;
}

/* Fills the GPU's memory, except for what about `num_frames` frames take. */
static void test_memory(const Scene *scene, bool encoding, uint32_t num_frames)
{
  char *name = g_strdup_printf("%s with memory for about %u of %d frames",
                               encoding ? "encode" : "decode", num_frames, IN_FLIGHT);
  Cj2kStats stats = {0};
  size_t used = 0, available, total;
  void *filler = NULL;
  /* The first run allocates what is allocated once in a process. */
  const char *why = run(scene, encoding, 0, &stats, NULL);
  if (!why)
    why = run(scene, encoding, 0, &stats, &used);
  if (!why && stats.frames_in_flight != IN_FLIGHT)
    why = "fewer frames in flight although memory suffices";
  cudaMemGetInfo(&available, &total);
  size_t remaining = used / IN_FLIGHT * num_frames + used / IN_FLIGHT / 2;
  if (!why && (available <= remaining || cudaMalloc(&filler, available - remaining) != cudaSuccess))
    why = "the GPU's memory cannot be filled";
  if (!why)
    why = run(scene, encoding, 0, &stats, NULL);
  cudaFree(filler);
  printf("# %.0f MB for %d frames, then %.0f MB: %u in flight\n", (double)used / 1e6, IN_FLIGHT,
         (double)remaining / 1e6, stats.frames_in_flight);
  if (!why && stats.frames_in_flight >= IN_FLIGHT)
    why = "the number of frames in flight was not reduced";
  report(!why, name, why);
  g_free(name);
}

typedef struct {
  const Scene *scene;
  bool encoding;
  int device;
  const char *why;
} Job;

static gpointer run_job(gpointer data)
{
  Job *job = data;
  Cj2kStats stats;
  job->why = run(job->scene, job->encoding, job->device, &stats, NULL);
  return NULL;
}

/* An encoder and a decoder on each GPU, all at once, and an error for a GPU that does not exist. */
static void test_devices(const Scene *scene, int count)
{
  Job jobs[8];
  GThread *threads[8];
  Cj2kError error;
  int n = MIN(2 * count, 8), current = -1;
  cudaSetDevice(count - 1);
  for (int i = 0; i < n; i++) {
    jobs[i] = (Job){scene, i % 2, i / 2, NULL};
    threads[i] = g_thread_new("gpu", run_job, &jobs[i]);
  }
  for (int i = 0; i < n; i++) {
    char *name = g_strdup_printf("%s on GPU %d beside the others", i % 2 ? "encode" : "decode",
                                 jobs[i].device);
    g_thread_join(threads[i]);
    report(!jobs[i].why, name, jobs[i].why);
    g_free(name);
  }
  Cj2kStats stats;
  const char *why = run(scene, false, 0, &stats, NULL);
  cudaGetDevice(&current);
  report(!why && current == count - 1, "the caller's own GPU stays current", "another one is");
  Cj2kDecoder *decoder = open_decoder(count, &error);
  report(!decoder && error.code == CJ2K_ERROR_DEVICE,
         "the number of a GPU that does not exist is an error", "it was opened");
  cj2k_decoder_close(decoder);
  cudaSetDevice(0);
}

/* Decodes one frame; returns the status. */
static Cj2kStatus decode_one(Cj2kDecoder *decoder, const Scene *scene, const Cj2kPicture *picture)
{
  Cj2kError error;
  Cj2kFrame frame;
  Cj2kStatus status = cj2k_decoder_submit(decoder, scene->coded, scene->coded_size, &scene->layout,
                                          picture, NULL, &error);
  if (status != CJ2K_OK)
    return status;
  cj2k_decoder_receive(decoder, &frame);
  status = frame.status;
  cj2k_decoder_release(decoder, &frame);
  return status;
}

static Cj2kStatus encode_one(Cj2kEncoder *encoder, const Cj2kPicture *picture)
{
  Cj2kError error;
  Cj2kPacket packet;
  Cj2kStatus status = cj2k_encoder_submit(encoder, picture, NULL, &error);
  if (status != CJ2K_OK)
    return status;
  cj2k_encoder_receive(encoder, &packet);
  status = packet.status;
  cj2k_encoder_release(encoder, &packet);
  return status;
}

/* A kernel that writes to an invalid address destroys the context, as the loss of a GPU does: every
 * later frame is an error, nothing hangs, and a new decoder uses the CPU. */
static void test_fault(const Scene *scene)
{
  Cj2kError error;
  Cj2kPlane planes[3], bad_planes[3];
  uint8_t *memory = g_malloc(BYTES);
  Cj2kPicture good = picture_of(memory, planes), bad = picture_of((uint8_t *)256, bad_planes);
  bad.memory = CJ2K_MEMORY_CUDA;
  Cj2kDecoder *decoder = open_decoder(0, &error);
  Cj2kEncoder *encoder = open_encoder(scene, CJ2K_BACKEND_CUDA, 0, &error);
  report(decoder && decode_one(decoder, scene, &good) == CJ2K_OK && encoder &&
             encode_one(encoder, &good) == CJ2K_OK,
         "frames before the fault", "failed");
  report(decode_one(decoder, scene, &bad) == CJ2K_ERROR_DEVICE, "the frame of the fault",
         "gives no device error");
  for (int i = 0; i < 3; i++)
    report(decode_one(decoder, scene, &good) == CJ2K_ERROR_DEVICE &&
               encode_one(encoder, &good) == CJ2K_ERROR_DEVICE,
           "frames after the fault", "give no device error");
  cj2k_decoder_close(decoder);
  cj2k_encoder_close(encoder);
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  decoder = cj2k_decoder_open(&params, &error);
  report(decoder && cj2k_decoder_backend(decoder) == CJ2K_BACKEND_CPU &&
             decode_one(decoder, scene, &good) == CJ2K_OK &&
             memcmp(memory, scene->pixels, BYTES) == 0,
         "a new decoder uses the CPU", "it does not");
  cj2k_decoder_close(decoder);
  g_free(memory);
}

int main(void)
{
  Scene scene = {0};
  int count = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("1..0 # SKIP no GPU\n");
    return 0;
  }
  make_scene(&scene);
  for (uint32_t num_frames = 1; num_frames <= 5; num_frames += 2)
    for (int encoding = 0; encoding < 2; encoding++)
      test_memory(&scene, encoding, num_frames);
  if (count > 1)
    test_devices(&scene, count);
  else
    printf("ok %u # SKIP several GPUs at once: there is one\n", ++num_tests);
  test_fault(&scene);
  printf("1..%u\n", num_tests);
  g_free(scene.pixels);
  g_free(scene.coded);
  return 0;
}
