/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Films on the GPU against the CPU: frames that learn from each other, move, cut and change their
 * rate. The GPU decides about most of them by itself, also with several in flight, which this test
 * counts; the codestreams must be the same. Prints TAP. film-equal [FRAMES]
 */
#include "tests/unit/encoder-pictures.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH  1280
#define HEIGHT 720
#define MARGIN 160 /* by which the pictures are larger than the window */
#define CUT    11  /* frames of a scene */

#define MQ "block-coder=mq codeblock-width=32 codeblock-height=32 "

static const struct {
  const char *options;
  uint32_t in_flight;
  bool
      on_device; /* pictures are in device memory; with more than four in flight the host decides */
} cases[] = {
    {"block-coder=ht bits-per-pixel=2", 1},
    {"block-coder=ht bits-per-pixel=4 plt=true", 1},
    {"block-coder=ht bits-per-pixel=4 codeblock-width=32 codeblock-height=32", 1},
    {"block-coder=ht bits-per-pixel=3 precincts=256x256 progression-order=rpcl sop=true eph=true",
     1},
    {"block-coder=ht bits-per-pixel=3 visual-weights=csf tile-parts=resolution tlm=true", 1},
    {"block-coder=ht bits-per-pixel=6 rate-effort=best", 1},
    {"block-coder=ht quant-step=0.004", 1},
    {"block-coder=ht rate-control=lossless", 1},
    {"block-coder=ht rate-control=quality quality=90 max-frame-bytes=400000", 1},
    {"block-coder=ht bits-per-pixel=4", 2}, /* 2 bpp are too often far off for the GPU */
    {"block-coder=ht bits-per-pixel=4 plt=true", 3},
    {"block-coder=ht bits-per-pixel=3 precincts=256x256 progression-order=rpcl sop=true eph=true",
     5},
    {"block-coder=ht bits-per-pixel=4", 5, true},
    {"block-coder=ht bits-per-pixel=3 visual-weights=csf", 8, true},
    {MQ "bits-per-pixel=2", 1},
    {MQ "bits-per-pixel=4 precincts=256x256 progression-order=rpcl sop=true eph=true", 1},
    {MQ "bits-per-pixel=3 visual-weights=csf tile-width=640 tile-height=400", 1},
    {"block-coder=mq bits-per-pixel=3 codeblock-style=causal+segmark", 1},
    {MQ "bits-per-pixel=2", 3},
    {MQ "bits-per-pixel=4 precincts=256x256 progression-order=rpcl sop=true eph=true", 8},
    {"block-coder=mq bits-per-pixel=3 codeblock-style=causal+segmark", 3},
    {MQ "bits-per-pixel=4 codeblock-style=bypass", 1},
    {MQ "bits-per-pixel=6 codeblock-style=bypass precincts=256x256 sop=true eph=true", 8},
    {"block-coder=mq bits-per-pixel=3 codeblock-style=termall+pterm", 3},
};

static const Scene scenes[] = {SCENE_NATURAL, SCENE_SINE};
static TestPicture pictures[G_N_ELEMENTS(scenes)];
static void *copies[G_N_ELEMENTS(scenes)][3]; /* of the planes, in device memory; NULL: none */
static gint num_cut, num_placed;              /* kernels of these names */
static uint32_t num_taken; /* frames of which what the GPU cut and placed was taken */

static void note(void *user, uint32_t stream, const char *stage, double begin_ms, double end_ms)
{
  (void)user, (void)stream, (void)begin_ms, (void)end_ms;
  g_atomic_int_add(&num_cut, !strcmp(stage, "cut"));
  g_atomic_int_add(&num_placed, !strcmp(stage, "place"));
}

/* The window of frame i: it moves, by no more than a sample a frame in every second scene. */
static Cj2kPicture window(uint32_t i, Cj2kPlane *planes)
{
  const TestPicture *whole = &pictures[i / CUT % G_N_ELEMENTS(scenes)];
  uint32_t step = i / CUT & 1 ? 7 : 1, x = (i * step) % MARGIN, y = (i * step / 2) % MARGIN;
  Cj2kPicture picture = whole->picture;

  for (uint32_t c = 0; c < whole->num_components; c++) {
    planes[c] = whole->planes[c];
    void *copy = copies[i / CUT % G_N_ELEMENTS(scenes)][c];
    planes[c].data =
        (uint8_t *)(copy ? copy : planes[c].data) + y * planes[c].pitch + x * sizeof(uint16_t);
    picture.memory = copy ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_HOST;
  }
  picture.planes = planes;
  return picture;
}

/* Copies the pictures to device memory of the encoder, or frees the copies. */
static void copy_pictures(Cj2kEncoder *encoder, bool frees)
{
  for (guint i = 0; i < G_N_ELEMENTS(scenes); i++)
    for (uint32_t c = 0; c < 3; c++) {
      const Cj2kPlane *plane = &pictures[i].planes[c];
      size_t size = plane->pitch * (HEIGHT + MARGIN);
      if (frees) {
        cj2k_encoder_free(encoder, CJ2K_MEMORY_CUDA, copies[i][c]);
        copies[i][c] = NULL;
        continue;
      }
      copies[i][c] = cj2k_encoder_alloc(encoder, CJ2K_MEMORY_CUDA, size);
      if (!copies[i][c] ||
          cudaMemcpy(copies[i][c], plane->data, size, cudaMemcpyDefault) != cudaSuccess)
        g_error("no device memory for the pictures");
    }
}

/* From the middle on a rate that is a third larger. */
static void change_rate(Cj2kEncoder *encoder, Cj2kEncoderParams *params)
{
  Cj2kError error = {0};

  if (!params->bits_per_pixel)
    return;
  params->bits_per_pixel *= 4.0 / 3;
  if (cj2k_encoder_set_rate(encoder, params, &error) != CJ2K_OK)
    g_error("%s", error.text);
}

static void receive(Cj2kEncoder *encoder, GPtrArray *all)
{
  Cj2kPacket packet = {0};

  if (cj2k_encoder_receive(encoder, &packet) != CJ2K_OK || packet.status != CJ2K_OK)
    g_error("frame %u: %s", all->len, packet.error.text);
  g_assert_false(packet.fallback);
  g_ptr_array_add(all, g_bytes_new(packet.data, packet.size));
  cj2k_encoder_release(encoder, &packet);
}

static Cj2kEncoder *open_encoder(const char *options, uint32_t in_flight, Cj2kBackendKind backend,
                                 Cj2kTrace trace, Cj2kEncoderParams *params)
{
  Cj2kComponent components[3];
  Cj2kEncoderImage image = pictures[0].image;
  Cj2kError error = {0};

  for (uint32_t i = 0; i < 3; i++) {
    components[i] = pictures[0].components[i];
    components[i].x1 = WIDTH;
    components[i].y1 = HEIGHT;
  }
  image.components = components;
  image.width = WIDTH;
  image.height = HEIGHT;
  cj2k_encoder_params_init(params);
  test_set_options(params, options);
  params->backend = backend;
  params->frames_in_flight = in_flight;
  params->trace = trace;
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &image, &pictures[0].layout, &error);
  if (!encoder)
    g_error("%s: %s", options, error.text);
  return encoder;
}

/* All codestreams of a film. */
static GPtrArray *encode(uint32_t number, Cj2kBackendKind backend, Cj2kTrace trace, uint32_t frames)
{
  const char *options = cases[number].options;
  uint32_t in_flight = cases[number].in_flight;
  bool on_device = cases[number].on_device && backend == CJ2K_BACKEND_CUDA;
  GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kEncoder *encoder = open_encoder(options, in_flight, backend, trace, &params);
  Cj2kPlane *planes = g_new(Cj2kPlane, 3 * frames); /* read until the frame is received */

  if (on_device)
    copy_pictures(encoder, false);
  for (uint32_t i = 0; i < frames; i++) {
    Cj2kPicture picture = window(i, planes + 3 * i);
    gint cut = num_cut, placed = num_placed;
    if (i == frames / 2) {
      while (all->len < i)
        receive(encoder, all);
      change_rate(encoder, &params);
    }
    if (cj2k_encoder_submit(encoder, &picture, NULL, &error) != CJ2K_OK)
      g_error("%s: frame %u: %s", options, i, error.text);
    if (i + 1 - all->len == in_flight)
      receive(encoder, all);
    num_taken += in_flight == 1 && num_cut > cut && num_cut - cut == num_placed - placed;
  }
  while (all->len < frames)
    receive(encoder, all);
  if (on_device)
    copy_pictures(encoder, true);
  cj2k_encoder_close(encoder);
  g_free(planes);
  return all;
}

static bool is_same(const GPtrArray *a, const GPtrArray *b)
{
  for (guint i = 0; i < a->len; i++)
    if (!g_bytes_equal(a->pdata[i], b->pdata[i])) {
      printf("# frame %u: %zu and %zu bytes\n", i, g_bytes_get_size(a->pdata[i]),
             g_bytes_get_size(b->pdata[i]));
      return false;
    }
  return true;
}

static bool run_case(uint32_t number, uint32_t frames)
{
  const char *options = cases[number].options;
  uint32_t in_flight = cases[number].in_flight;

  frames *= in_flight > 1 ? 2 : 1; /* so that each place in the ring has several */
  GPtrArray *cpu = encode(number, CJ2K_BACKEND_CPU, NULL, frames);
  GPtrArray *cuda = encode(number, CJ2K_BACKEND_CUDA, NULL, frames);

  num_cut = num_placed = 0;
  num_taken = 0;
  GPtrArray *traced = encode(number, CJ2K_BACKEND_CUDA, note, frames);
  /* A frame that the GPU placed in vain was placed once more. With several in flight only the sums
   * tell how many these were. */
  if (in_flight > 1)
    num_taken = (uint32_t)MAX(num_cut - MAX(num_placed - (gint)frames, 0), 0);
  printf("# the GPU tried %d times for %u frames, and %u remained\n", num_cut, frames, num_taken);
  bool same = is_same(cpu, cuda) && is_same(cpu, traced);
  printf("%sok %u - %s, %u in flight%s\n", same ? "" : "not ", 2 * number + 1, options, in_flight,
         cases[number].on_device ? ", in device memory" : "");
  bool by_host = cases[number].on_device, some = by_host ? !num_cut : num_taken > 0;
  printf("%sok %u - the %s decided by itself\n", some ? "" : "not ", 2 * number + 2,
         by_host ? "host" : "GPU");
  g_ptr_array_unref(cpu);
  g_ptr_array_unref(cuda);
  g_ptr_array_unref(traced);
  return same && some;
}

/* Is there a GPU? */
static bool has_gpu(Cj2kError *error)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &pictures[0].image, &pictures[0].layout, error);
  if (encoder)
    cj2k_encoder_close(encoder);
  return encoder != NULL;
}

int main(int argc, char **argv)
{
  uint32_t frames = argc > 1 ? (uint32_t)atoi(argv[1]) : 48;
  Cj2kError error = {0};
  bool all = true;

  for (guint i = 0; i < G_N_ELEMENTS(scenes); i++)
    test_picture_init(&pictures[i], scenes[i], WIDTH + MARGIN, HEIGHT + MARGIN, 3, 10, false, NULL,
                      NULL, 0, 0);
  if (!has_gpu(&error)) {
    printf("1..0 # SKIP %s\n", error.text);
    return 0;
  }
  printf("1..%zu\n", 2 * G_N_ELEMENTS(cases));
  for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
    all &= run_case(i, frames);
  for (guint i = 0; i < G_N_ELEMENTS(scenes); i++)
    test_picture_clear(&pictures[i]);
  return !all;
}
