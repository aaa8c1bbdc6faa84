/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures in device memory with a stream of the caller (Cj2kPicture.cuda_stream). Before each
 * picture is written or read, a host function blocks the stream for longer than a frame takes: an
 * encoder or decoder that does not order its work behind the stream uses wrong samples. Prints TAP;
 * skips if there is no GPU.
 */
#include "common/cj2k.h"

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define WIDTH         640
#define HEIGHT        360
#define BYTES         ((size_t)WIDTH * HEIGHT * 3)
#define FRAMES        12 /* so many that slots make graphs, with three in flight as well */
#define MAX_IN_FLIGHT 3
#define BUDGET        120000      /* a sixth of a picture's bytes */
#define INITIAL       0xA5        /* initial contents of device memory */
#define HOLD_UP       (60 * 1000) /* microseconds */

typedef struct {
  Cj2kBlockCoder coder;
  uint64_t budget; /* bytes of a codestream; 0: lossless */
  Cj2kComponent components[3];
  Cj2kSampleLayout samples[3];
  Cj2kLayout layout;
  /* Page-locked, because copies from pageable memory would wait for the stream. */
  uint8_t *pixels[FRAMES];
  GBytes *coded[FRAMES]; /* as encoded by the CPU */
  cudaStream_t stream;
} Scene;

static uint32_t num_tests;

static void report(const char *why, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void report(const char *why, const char *format, ...)
{
  va_list arguments;
  printf("%sok %u - ", why ? "not " : "", ++num_tests);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("%s%s\n", why ? ": " : "", why ? why : "");
}

static void check(cudaError_t result)
{
  if (result != cudaSuccess)
    g_error("%s", cudaGetErrorString(result));
}

static uint8_t *page_locked(void)
{
  void *memory;
  check(cudaHostAlloc(&memory, BYTES, cudaHostAllocDefault));
  return memory;
}

static uint8_t *on_device(void)
{
  void *memory;
  check(cudaMalloc(&memory, BYTES));
  check(cudaMemset(memory, INITIAL, BYTES));
  check(cudaDeviceSynchronize());
  return memory;
}

static void CUDART_CB sleep_for_a_while(void *data)
{
  (void)data;
  g_usleep(HOLD_UP);
}

static void hold_up(const Scene *scene)
{
  check(cudaLaunchHostFunc(scene->stream, sleep_for_a_while, NULL));
}

static Cj2kPicture picture_of(const Scene *scene, uint8_t *memory, Cj2kMemoryKind kind,
                              Cj2kPlane planes[3])
{
  for (int c = 0; c < 3; c++)
    planes[c] = (Cj2kPlane){memory + (size_t)c * WIDTH * HEIGHT, WIDTH};
  return (Cj2kPicture){.memory = kind,
                       .num_planes = 3,
                       .planes = planes,
                       .cuda_stream = kind == CJ2K_MEMORY_CUDA ? scene->stream : NULL};
}

/* ----------------------------------------------------------------------------- encoding --- */

static Cj2kEncoder *open_encoder(const Scene *scene, Cj2kBackendKind backend, uint32_t in_flight)
{
  Cj2kEncoderParams params;
  Cj2kError error;
  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.cuda_device = backend == CJ2K_BACKEND_CUDA ? 0 : -1;
  params.block_coder = scene->coder;
  params.max_frame_bytes = scene->budget;
  if (!scene->budget)
    params.rate_control = CJ2K_RATE_LOSSLESS;
  params.frames_in_flight = in_flight;
  Cj2kEncoderImage image = {.width = WIDTH,
                            .height = HEIGHT,
                            .num_components = 3,
                            .components = scene->components,
                            .colour = CJ2K_COLOUR_SRGB};
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &image, &scene->layout, &error);
  if (!encoder)
    g_error("%s", error.text);
  return encoder;
}

/* NULL, or what is wrong with the next packet. */
static const char *receive_packet(Cj2kEncoder *encoder, GBytes *expected)
{
  const char *why = NULL;
  Cj2kPacket packet;
  cj2k_encoder_receive(encoder, &packet);
  if (packet.status != CJ2K_OK)
    why = "a frame failed";
  else if (packet.fallback)
    why = "a frame was coded by the CPU";
  else if (packet.size != g_bytes_get_size(expected) ||
           memcmp(packet.data, g_bytes_get_data(expected, NULL), packet.size) != 0)
    why = "a picture was read before it was finished";
  cj2k_encoder_release(encoder, &packet);
  return why;
}

/* The stream copies each picture into the encoder's memory late. */
static void test_encoding(const Scene *scene, uint32_t in_flight)
{
  Cj2kEncoder *encoder = open_encoder(scene, CJ2K_BACKEND_CUDA, in_flight);
  Cj2kPlane planes[FRAMES][3];
  uint8_t *memory[FRAMES];
  const char *why = NULL;
  for (uint32_t i = 0; i < FRAMES; i++)
    memory[i] = on_device();
  for (uint32_t i = 0; i < FRAMES + in_flight; i++) {
    if (i >= in_flight) {
      const char *wrong = receive_packet(encoder, scene->coded[i - in_flight]);
      why = why ? why : wrong;
    }
    if (i >= FRAMES)
      continue;
    Cj2kError error;
    Cj2kPicture picture = picture_of(scene, memory[i], CJ2K_MEMORY_CUDA, planes[i]);
    hold_up(scene);
    check(
        cudaMemcpyAsync(memory[i], scene->pixels[i], BYTES, cudaMemcpyHostToDevice, scene->stream));
    if (cj2k_encoder_submit(encoder, &picture, NULL, &error) != CJ2K_OK)
      g_error("%s", error.text);
  }
  cj2k_encoder_close(encoder);
  for (uint32_t i = 0; i < FRAMES; i++)
    check(cudaFree(memory[i]));
  report(why, "encode %s%s, %u in flight", scene->coder == CJ2K_CODER_HT ? "HT" : "MQ",
         scene->budget ? " to a budget" : "", in_flight);
}

/* ----------------------------------------------------------------------------- decoding --- */

static bool is_initial(const uint8_t *pixels)
{
  for (size_t i = 0; i < BYTES; i++)
    if (pixels[i] != INITIAL)
      return false;
  return true;
}

/* Hands a codestream over, whole or in parts. */
static void submit(Cj2kDecoder *decoder, const Scene *scene, GBytes *coded,
                   const Cj2kPicture *picture, bool parts)
{
  Cj2kError error;
  gsize size;
  const uint8_t *data = g_bytes_get_data(coded, &size);
  Cj2kStatus status =
      (parts ? cj2k_decoder_begin(decoder, &scene->layout, picture, NULL, NULL, NULL, &error)
             : cj2k_decoder_submit(decoder, data, size, &scene->layout, picture, NULL, &error));
  for (gsize at = 0; parts && at < size && status == CJ2K_OK; at += size / 5 + 1)
    status = cj2k_decoder_append(decoder, data + at, MIN(size / 5 + 1, size - at), &error);
  if (parts && status == CJ2K_OK)
    status = cj2k_decoder_end(decoder, &error);
  if (status != CJ2K_OK)
    g_error("%s", error.text);
}

/* The stream reads each picture's memory late, before and after the picture is decoded into it. */
static void test_decoding(const Scene *scene, uint32_t in_flight, bool parts)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_device = 0;
  params.frames_in_flight = in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("%s", error.text);
  Cj2kPlane planes[MAX_IN_FLIGHT][3];
  uint8_t *memory[MAX_IN_FLIGHT], *before[FRAMES], *after[FRAMES];
  const char *why = NULL;
  for (uint32_t i = 0; i < in_flight; i++)
    memory[i] = on_device();
  for (uint32_t i = 0; i < FRAMES; i++) {
    before[i] = page_locked();
    after[i] = page_locked();
  }
  for (uint32_t i = 0; i < FRAMES + in_flight; i++) {
    if (i >= in_flight) {
      uint32_t done = i - in_flight;
      Cj2kFrame frame;
      cj2k_decoder_receive(decoder, &frame);
      if (!why && (frame.status != CJ2K_OK || frame.fallback))
        why = "a frame failed";
      cj2k_decoder_release(decoder, &frame);
      check(cudaMemcpyAsync(after[done], memory[done % in_flight], BYTES, cudaMemcpyDeviceToHost,
                            scene->stream));
    }
    if (i >= FRAMES)
      continue;
    uint8_t *to = memory[i % in_flight];
    Cj2kPicture picture = picture_of(scene, to, CJ2K_MEMORY_CUDA, planes[i % in_flight]);
    hold_up(scene);
    check(cudaMemcpyAsync(before[i], to, BYTES, cudaMemcpyDeviceToHost, scene->stream));
    submit(decoder, scene, scene->coded[i], &picture, parts);
  }
  check(cudaStreamSynchronize(scene->stream));
  cj2k_decoder_close(decoder);
  for (uint32_t i = 0; i < FRAMES; i++) {
    bool unchanged = i < in_flight ? is_initial(before[i])
                                   : memcmp(before[i], scene->pixels[i - in_flight], BYTES) == 0;
    if (!why && !unchanged)
      why = "memory was written while the stream still read it";
    if (!why && memcmp(after[i], scene->pixels[i], BYTES) != 0)
      why = "the stream went on before the picture was finished";
    check(cudaFreeHost(before[i]));
    check(cudaFreeHost(after[i]));
  }
  for (uint32_t i = 0; i < in_flight; i++)
    check(cudaFree(memory[i]));
  report(why, "decode %s%s, %u in flight", scene->coder == CJ2K_CODER_HT ? "HT" : "MQ",
         parts ? " in parts" : "", in_flight);
}

/* -------------------------------------------------------------------------------- scene --- */

static void make_scene(Scene *scene, Cj2kBlockCoder coder, uint64_t budget)
{
  *scene = (Scene){.coder = coder, .budget = budget};
  for (int c = 0; c < 3; c++)
    scene->components[c] = (Cj2kComponent){.dx = 1, .dy = 1, .depth = 8};
  Cj2kImage image = {.num_components = 3, .components = scene->components};
  cj2k_layout_planar(&image, scene->samples, &scene->layout);
  Cj2kEncoder *encoder = open_encoder(scene, CJ2K_BACKEND_CPU, 1);
  for (uint32_t i = 0; i < FRAMES; i++) {
    Cj2kError error;
    Cj2kPacket packet;
    Cj2kPlane planes[3];
    scene->pixels[i] = page_locked();
    for (size_t k = 0; k < BYTES; k++)
      scene->pixels[i][k] = (uint8_t)(k % WIDTH / 3 + k / WIDTH / 2 + (k * k >> 9) % 7 + 31 * i);
    Cj2kPicture picture = picture_of(scene, scene->pixels[i], CJ2K_MEMORY_HOST, planes);
    cj2k_encoder_submit(encoder, &picture, NULL, &error);
    cj2k_encoder_receive(encoder, &packet);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    scene->coded[i] = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  check(cudaStreamCreateWithFlags(&scene->stream, cudaStreamNonBlocking));
}

static void free_scene(Scene *scene)
{
  for (uint32_t i = 0; i < FRAMES; i++) {
    check(cudaFreeHost(scene->pixels[i]));
    g_bytes_unref(scene->coded[i]);
  }
  check(cudaStreamDestroy(scene->stream));
}

static void test_scene(Cj2kBlockCoder coder, uint64_t budget)
{
  Scene scene;
  make_scene(&scene, coder, budget);
  for (uint32_t in_flight = 1; in_flight <= MAX_IN_FLIGHT; in_flight += 2) {
    test_encoding(&scene, in_flight);
    for (int parts = 0; parts < 2 && !budget; parts++)
      test_decoding(&scene, in_flight, parts);
  }
  free_scene(&scene);
}

int main(void)
{
  int count = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("1..0 # SKIP no GPU\n");
    return 0;
  }
  test_scene(CJ2K_CODER_MQ, 0);
  test_scene(CJ2K_CODER_HT, 0);
  test_scene(CJ2K_CODER_HT, BUDGET);
  printf("1..%u\n", num_tests);
  return 0;
}
