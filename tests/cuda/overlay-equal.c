/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * overlay-equal [--short]
 *
 * Pictures that the CUDA decoder makes where the coefficients of the frame were
 * (cuda/host/decode_overlay.c), for small pictures as well. Which rows lie where follows from the
 * pitch: it grows in small steps, so that slices take the last byte that is free at some of them,
 * and have no place there at the next. Films have frames of which most code-blocks have no bytes,
 * and every seventh frame goes to device memory, where nothing lies over coefficients. Every byte
 * of the memory of pictures must be that of the CPU, also between rows and behind them, and no
 * frame may be done by it. Prints TAP; skips if there is no GPU.
 */
#include "common/backend.h"
#include "film-calls.h"

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define STREAMS    3   /* codestreams of a film */
#define FRAMES     224 /* each with a pitch of its own */
#define IN_FLIGHT  3
#define SHORT_STEP 5

static gint num_over; /* pictures that lie over coefficients */

size_t __real_cj2k_cuda_decode_place_overlay(void *slot, uint8_t *own);
size_t __wrap_cj2k_cuda_decode_place_overlay(void *slot, uint8_t *own);
size_t __wrap_cj2k_cuda_decode_place_overlay(void *slot, uint8_t *own)
{
  if (!own)
    g_atomic_int_inc(&num_over);
  return __real_cj2k_cuda_decode_place_overlay(slot, own);
}

static cudaStream_t own_stream;

static void check(cudaError_t result)
{
  if (result != cudaSuccess)
    g_error("%s", cudaGetErrorString(result));
}

/* To or from device memory. */
static void copy(void *to, const void *from, size_t size)
{
  check(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, own_stream));
  check(cudaStreamSynchronize(own_stream));
}

/* ---------------------------------------------------------------------------------- films --- */

typedef struct {
  const char *format;
  uint32_t width, height, num_resolutions, tile;
  Cj2kBlockCoder coder;
  bool lossless;
  uint32_t step; /* from pitch to pitch, bytes; a multiple of a word */
  uint32_t
      behind; /* if not 0, the byte of a row that belongs to no sample: a download makes it 0 */
} Film;

static const Film films[] = {
    {"rgb12", 203, 131, 6, 0, CJ2K_CODER_HT, false, 2},
    {"rgb12", 150, 118, 4, 0, CJ2K_CODER_HT, true, 2}, /* coefficients of 32 bits */
    {"rgb8", 197, 133, 5, 0, CJ2K_CODER_MQ, false, 1},
    {"yuv422p10", 202, 125, 3, 0, CJ2K_CODER_HT, false, 2},
    {"yuv422p10", 202, 133, 2, 0, CJ2K_CODER_HT, true, 2},
    {"yuv422p10", 150, 117, 5, 64, CJ2K_CODER_HT, false, 2},
    {"rgb12", 140, 200, 3, 24, CJ2K_CODER_HT, false, 2},
    {"rgb12", 90, 130, 2, 41, CJ2K_CODER_MQ, true, 6},
    {"grey16", 131, 203, 6, 0, CJ2K_CODER_HT, false, 2},
    {"grey8", 64, 90, 1, 0, CJ2K_CODER_HT, true, 1}, /* no decomposition */
    {"grey8", 1, 1, 6, 0, CJ2K_CODER_HT, false, 1},
    {"v210", 161, 67, 5, 0, CJ2K_CODER_HT, false, 4},
    {"uyvy", 134, 71, 4, 0, CJ2K_CODER_MQ, false, 2},
    {"uyvy", 133, 71, 4, 0, CJ2K_CODER_HT, false, 2, 267},
};

/* Of the second one most code-blocks have no bytes. */
static double step_of(uint32_t stream)
{
  return stream == 1 ? 0.5 : 1.0 / 256;
}

static GByteArray *encode(const Film *film, const Format *format, uint32_t stream)
{
  const View view = {9 * stream, 5 * stream, stream + 1, 0.05};
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.block_coder = film->coder;
  params.rate_control = film->lossless ? CJ2K_RATE_LOSSLESS : CJ2K_RATE_QSTEP;
  params.quant_step = film->lossless ? 0 : step_of(stream);
  params.codeblock_width = params.codeblock_height = 32;
  params.num_resolutions = (uint8_t)film->num_resolutions;
  params.tile_width = params.tile_height = film->tile;
  return film_encode(format, film->width, film->height, &view, &params);
}

/* ------------------------------------------------------------------------------- decoding --- */

typedef struct {
  const Film *film;
  GByteArray *coded[STREAMS];
  Cj2kImage image;
  Cj2kComponent components[4];
  Cj2kLayout layout;
  Cj2kDecoder *cpu, *cuda;
} Scene;

/* A picture on its way, and what the CPU makes of the same codestream. */
typedef struct {
  Target expected, got;
  uint8_t *device;     /* NULL: it goes to `got` at once */
  Cj2kPlane planes[4]; /* of the picture */
} Flight;

static void scene_init(Scene *scene, const Film *film)
{
  const Format *format = find_format(film->format);

  *scene = (Scene){.film = film,
                   .layout = {format->num_components, format->num_planes, format->samples, 0},
                   .cpu = film_open_decoder(CJ2K_BACKEND_CPU, 1),
                   .cuda = film_open_decoder(CJ2K_BACKEND_CUDA, IN_FLIGHT)};
  for (uint32_t i = 0; i < STREAMS; i++)
    scene->coded[i] = encode(film, format, i);
  film_read_image(scene->cpu, scene->coded[0], &scene->image, scene->components);
}

static void scene_clear(Scene *scene)
{
  for (uint32_t i = 0; i < STREAMS; i++)
    g_byte_array_unref(scene->coded[i]);
  cj2k_decoder_close(scene->cpu);
  cj2k_decoder_close(scene->cuda);
}

static void submit(Cj2kDecoder *decoder, const Scene *scene, uint32_t i, const Cj2kPicture *picture)
{
  film_submit(decoder, scene->coded[i % STREAMS], &scene->layout, picture);
}

static bool receive(Cj2kDecoder *decoder)
{
  Cj2kFrame frame;
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  bool good = frame.status == CJ2K_OK && !frame.fallback;
  cj2k_decoder_release(decoder, &frame);
  return good;
}

static void target_of(const Scene *scene, uint32_t i, Target *target)
{
  target_init(target, &scene->layout, scene->components, scene->image.num_components,
              i * scene->film->step);
}

static void take_off(const Scene *scene, uint32_t i, Flight *flight)
{
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, scene->layout.num_planes, NULL, NULL};
  Cj2kPlane *planes = flight->planes;

  *flight = (Flight){0};
  target_of(scene, i, &flight->expected);
  target_of(scene, i, &flight->got);
  picture.planes = flight->expected.planes;
  submit(scene->cpu, scene, i, &picture);
  if (!receive(scene->cpu))
    g_error("the CPU does not decode frame %u", i);
  memcpy(planes, flight->got.planes, picture.num_planes * sizeof *planes);
  if (i % 7 == 6) {
    picture.memory = CJ2K_MEMORY_CUDA;
    flight->device = cj2k_decoder_alloc(scene->cuda, CJ2K_MEMORY_CUDA, flight->got.size);
    copy(flight->device, flight->got.memory, flight->got.size);
    for (uint32_t p = 0; p < picture.num_planes; p++)
      planes[p].data = flight->device + ((uint8_t *)planes[p].data - flight->got.memory);
  }
  picture.planes = planes;
  submit(scene->cuda, scene, i, &picture);
}

/* Makes the byte behind the samples of a row that of the CPU, which leaves it as it was, if it is
 * 0. */
static void take_behind(uint32_t behind, Flight *flight)
{
  const Cj2kPlane *plane = &flight->got.planes[0];
  size_t at = (size_t)((uint8_t *)plane->data - flight->got.memory) + behind;

  for (; behind && at < flight->got.size; at += plane->pitch)
    if (!flight->got.memory[at])
      flight->got.memory[at] = flight->expected.memory[at];
}

/* Returns whether the frame is right. */
static bool land(const Scene *scene, Flight *flight)
{
  bool good = receive(scene->cuda);

  if (flight->device) {
    copy(flight->got.memory, flight->device, flight->got.size);
    cj2k_decoder_free(scene->cuda, CJ2K_MEMORY_CUDA, flight->device);
  }
  take_behind(scene->film->behind, flight);
  good &= !memcmp(flight->expected.memory, flight->got.memory, flight->got.size);
  target_clear(&flight->expected);
  target_clear(&flight->got);
  return good;
}

/* ----------------------------------------------------------------------------------- tests --- */

static bool test(const Film *film, uint32_t number)
{
  Flight flights[IN_FLIGHT];
  uint32_t wrong = 0;
  Scene scene;

  g_atomic_int_set(&num_over, 0);
  scene_init(&scene, film);
  for (uint32_t i = 0; i < FRAMES + IN_FLIGHT; i++) {
    if (i >= IN_FLIGHT && !land(&scene, &flights[i % IN_FLIGHT]) && !wrong++)
      printf("# frame %u is wrong\n", i - IN_FLIGHT);
    if (i < FRAMES)
      take_off(&scene, i, &flights[i % IN_FLIGHT]);
  }
  scene_clear(&scene);
  bool ok = !wrong && g_atomic_int_get(&num_over) == FRAMES - FRAMES / 7;
  printf("%sok %u - %s, %ux%u, %u resolutions: %u of %d frames wrong, %d over coefficients\n",
         ok ? "" : "not ", number, film->format, film->width, film->height, film->num_resolutions,
         wrong, FRAMES, g_atomic_int_get(&num_over));
  return ok;
}

int main(int argc, char **argv)
{
  size_t step = argc > 1 && !strcmp(argv[1], "--short") ? SHORT_STEP : 1;
  uint32_t count = 0, failed = 0;
  int devices = 0;

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
    printf("1..0 # SKIP no GPU\n");
    return 0;
  }
  check(cudaStreamCreateWithPriority(&own_stream, cudaStreamNonBlocking, 0));
  cj2k_backend_test.overlay = true;
  for (size_t f = 0; f < G_N_ELEMENTS(films); f += step)
    failed += !test(&films[f], ++count);
  check(cudaStreamDestroy(own_stream));
  printf("1..%u\n", count);
  return failed != 0;
}
