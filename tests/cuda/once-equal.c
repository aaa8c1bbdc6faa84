/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * once-equal [--short]
 *
 * Films of small HT frames, which the CUDA decoder does with one launch each (cuda/host/
 * decode_once.c). What a graph must not depend on differs from frame to frame: the bytes and steps,
 * how many code-blocks have any, the place of the codestream, which is uploaded with the records or
 * before them, the place of the picture. Frames in between need other launches: with MQ blocks,
 * damaged ones, those that are timed. Each film is decoded into host memory, pinned memory, device
 * memory at changing places, and device memory that a stream of the test's own writes before and
 * reads after, with one and with three frames in flight. Every byte of the pictures must be that of
 * the CPU, no frame may be done by it, and most frames must be one launch, those with a stream and
 * those that are packed into device memory none. Prints TAP; skips if there
 * is no GPU.
 */
#include "common/cj2k.h"
#include "film-calls.h"

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define FRAMES     96
#define PLACES     5 /* of pictures with one pitch; more than frames in flight */
#define IN_FLIGHT  3
#define SHORT_STEP 8

/* ------------------------------------------------------------------------------- launches --- */

static gint num_graphs;
static gint num_staged; /* frames with a launch for each stage: their records go up by themselves */

cudaError_t __real_cj2k_cuda_decode_upload(void *slot);
cudaError_t __wrap_cj2k_cuda_decode_upload(void *slot);
cudaError_t __wrap_cj2k_cuda_decode_upload(void *slot)
{
  g_atomic_int_inc(&num_staged);
  return __real_cj2k_cuda_decode_upload(slot);
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
  g_atomic_int_inc(&num_graphs);
  return __real_cudaGraphLaunch(exec, stream);
}

static void check(cudaError_t result)
{
  if (result != cudaSuccess)
    g_error("%s", cudaGetErrorString(result));
}

/* ---------------------------------------------------------------------------------- films --- */

typedef struct {
  const char *format;
  uint32_t width, height, block, num_resolutions, tile;
  bool lossless; /* of noise, so that some codestreams are too large to be uploaded with records */
  bool packed;   /* planes are packed after the last level */
} Film;

static const Film films[] = {
    {"rgb12", 203, 117, 64, 5, 0, false, false},     {"rgb12", 400, 200, 32, 4, 0, true, false},
    {"rgb8", 161, 95, 32, 4, 0, false, false},       {"yuv422p10", 162, 91, 64, 6, 0, false, false},
    {"yuv422p10", 131, 77, 32, 3, 50, false, false}, {"grey8", 1, 1, 64, 1, 0, true, false},
    {"grey16", 97, 133, 64, 4, 0, false, false},     {"v210", 161, 67, 64, 5, 0, false, true},
    {"uyvy", 134, 71, 32, 4, 0, false, false},
};

static bool is_mq(uint32_t frame)
{
  return frame % 29 == 8;
}

/* In the second half of a film some memory has to grow: pitches and codestreams are larger. */
static bool is_second(uint32_t frame)
{
  return frame >= FRAMES / 2;
}

static uint32_t more_pitch(uint32_t frame)
{
  return is_second(frame) ? 64 : 0;
}

static bool is_damaged(uint32_t frame)
{
  return frame % 11 == 10;
}

static double step_of(uint32_t frame)
{
  static const double steps[] = {1.0 / 64, 1.0 / 512, 1.0 / 256, 1.0 / 64, 1.0 / 2048};

  return frame % 7 == 3 ? 0.5 /* most blocks have no bytes */ : steps[frame % 5];
}

static void set_params(const Film *film, uint32_t frame, Cj2kEncoderParams *params)
{
  cj2k_encoder_params_init(params);
  params->backend = CJ2K_BACKEND_CPU;
  params->block_coder = is_mq(frame) ? CJ2K_CODER_MQ : CJ2K_CODER_HT;
  params->rate_control = film->lossless ? CJ2K_RATE_LOSSLESS : CJ2K_RATE_QSTEP;
  params->quant_step = film->lossless ? 0 : step_of(frame);
  params->codeblock_width = params->codeblock_height = (uint16_t)film->block;
  params->num_resolutions = (uint8_t)film->num_resolutions;
  params->tile_width = params->tile_height = film->tile;
}

static void damage(GByteArray *bytes, uint32_t seed)
{
  GRand *random = g_rand_new_with_seed(seed);
  gint32 half = (gint32)bytes->len / 2;

  for (int i = 0; i < 5; i++)
    bytes->data[g_rand_int_range(random, half, (gint32)bytes->len - 2)] =
        (uint8_t)g_rand_int(random);
  g_rand_free(random);
}

static GByteArray *encode_frame(const Film *film, const Format *format, uint32_t frame)
{
  double noise = frame % 4 ? (is_second(frame) ? 1 : 0.05) : 0;
  const View view = {9 * frame, 5 * frame, frame + 1, film->lossless ? noise : 0.05};
  Cj2kEncoderParams params;

  set_params(film, frame, &params);
  GByteArray *bytes = film_encode(format, film->width, film->height, &view, &params);
  if (is_damaged(frame))
    damage(bytes, frame);
  return bytes;
}

/* --------------------------------------------------------------------------------- places --- */

typedef enum { HOST, PINNED, DEVICE, DEVICE_STREAM, NUM_KINDS } Kind;

static const char *const kind_names[] = {"host memory", "pinned memory", "device memory",
                                         "device memory with a stream"};

/* Where a picture is decoded to: memory like that of the target, or that. */
typedef struct {
  Kind kind;
  Target target; /* of the size of the picture; its bytes are those that nobody has written */
  uint8_t *memory;
  Cj2kPlane planes[4];
  Cj2kPicture picture;
} Place;

static cudaStream_t own_stream;

static bool is_on_device(Kind kind)
{
  return kind == DEVICE || kind == DEVICE_STREAM;
}

/* A picture's bytes between the host and a place. On the caller's stream these wait for frames and
 * frames for them. */
static void copy(void *to, const void *from, size_t size, const Place *place)
{
  if (!is_on_device(place->kind)) {
    memcpy(to, from, size);
    return;
  }
  check(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, own_stream));
  check(cudaStreamSynchronize(own_stream));
}

static void place_init(Place *place, Kind kind, const Cj2kLayout *layout, const Cj2kImage *image,
                       uint32_t more)
{
  void *memory;

  *place = (Place){.kind = kind};
  target_init(&place->target, layout, image->components, image->num_components, more);
  if (kind == HOST)
    memory = g_malloc(place->target.size);
  else if (kind == PINNED)
    check(cudaHostAlloc(&memory, place->target.size, cudaHostAllocDefault));
  else
    check(cudaMalloc(&memory, place->target.size));
  place->memory = memory;
  for (uint32_t p = 0; p < layout->num_planes; p++)
    place->planes[p] = (Cj2kPlane){
        place->memory + ((uint8_t *)place->target.planes[p].data - place->target.memory),
        place->target.planes[p].pitch};
  place->picture = (Cj2kPicture){.memory = kind == HOST     ? CJ2K_MEMORY_HOST
                                           : kind == PINNED ? CJ2K_MEMORY_PINNED
                                                            : CJ2K_MEMORY_CUDA,
                                 .num_planes = layout->num_planes,
                                 .planes = place->planes,
                                 .cuda_stream = kind == DEVICE_STREAM ? own_stream : NULL};
}

static void place_clear(Place *place)
{
  if (place->kind == HOST)
    g_free(place->memory);
  else
    check(place->kind == PINNED ? cudaFreeHost(place->memory) : cudaFree(place->memory));
  target_clear(&place->target);
}

/* -------------------------------------------------------------------------------- decoding --- */

typedef struct {
  GByteArray *coded[FRAMES];
  Cj2kImage image;
  Cj2kComponent components[4];
  Cj2kLayout layout;
  Target expected[FRAMES];
  Cj2kFrame frames[FRAMES]; /* of the CPU */
} Scene;

static void receive(Cj2kDecoder *decoder, Cj2kFrame *frame)
{
  Cj2kStatus status = cj2k_decoder_receive(decoder, frame);

  g_assert_cmpint(status, ==, CJ2K_OK);
  cj2k_decoder_release(decoder, frame);
}

static void scene_init(Scene *scene, const Film *film)
{
  const Format *format = find_format(film->format);
  Cj2kDecoder *decoder = film_open_decoder(CJ2K_BACKEND_CPU, 1);

  *scene = (Scene){.layout = {format->num_components, format->num_planes, format->samples, 0}};
  for (uint32_t i = 0; i < FRAMES; i++)
    scene->coded[i] = encode_frame(film, format, i);
  film_read_image(decoder, scene->coded[0], &scene->image, scene->components);
  for (uint32_t i = 0; i < FRAMES; i++) {
    Target *target = &scene->expected[i];
    target_init(target, &scene->layout, scene->components, scene->image.num_components,
                more_pitch(i));
    const Cj2kPicture picture = {CJ2K_MEMORY_HOST, scene->layout.num_planes, target->planes, NULL};
    film_submit(decoder, scene->coded[i], &scene->layout, &picture);
    receive(decoder, &scene->frames[i]);
  }
  cj2k_decoder_close(decoder);
}

static void scene_clear(Scene *scene)
{
  for (uint32_t i = 0; i < FRAMES; i++) {
    g_byte_array_unref(scene->coded[i]);
    target_clear(&scene->expected[i]);
  }
}

/* NULL, or what is wrong with a frame. */
static const char *compare(const Scene *scene, uint32_t i, const Cj2kFrame *frame,
                           const Place *place)
{
  const Cj2kFrame *like = &scene->frames[i];
  const Target *expected = &scene->expected[i];
  uint8_t *got = g_malloc(expected->size);
  const char *why = NULL;

  copy(got, place->memory, expected->size, place);
  if (frame->status != like->status || frame->fallback)
    why = "status";
  else if (frame->corrupt_blocks != like->corrupt_blocks)
    why = "corrupt blocks";
  else if (like->status == CJ2K_OK && memcmp(got, expected->memory, expected->size) != 0)
    why = "samples";
  g_free(got);
  return why;
}

static uint32_t place_of(uint32_t frame)
{
  return frame % PLACES + (is_second(frame) ? PLACES : 0);
}

static const char *decode(const Scene *scene, Kind kind, uint32_t in_flight)
{
  Cj2kDecoder *decoder = film_open_decoder(CJ2K_BACKEND_CUDA, in_flight);
  Place places[2 * PLACES];
  Cj2kFrame frame;
  const char *why = NULL;

  for (uint32_t p = 0; p < G_N_ELEMENTS(places); p++)
    place_init(&places[p], kind, &scene->layout, &scene->image,
               more_pitch(p < PLACES ? 0 : FRAMES - 1));
  for (uint32_t i = 0; i < FRAMES + in_flight; i++) {
    if (i >= in_flight) {
      const Place *done = &places[place_of(i - in_flight)];
      receive(decoder, &frame);
      const char *wrong = compare(scene, i - in_flight, &frame, done);
      if (wrong && !why)
        printf("# frame %u: %s; %s %s\n", i - in_flight, wrong, cj2k_status_name(frame.status),
               frame.error.text);
      why = why ? why : wrong;
    }
    if (i >= FRAMES)
      continue;
    Place *next = &places[place_of(i)];
    copy(next->memory, next->target.memory, next->target.size, next);
    film_submit(decoder, scene->coded[i], &scene->layout, &next->picture);
  }
  cj2k_decoder_close(decoder);
  for (uint32_t p = 0; p < G_N_ELEMENTS(places); p++)
    place_clear(&places[p]);
  return why;
}

/* ----------------------------------------------------------------------------------- tests --- */

/* NULL, or what is wrong with how frames were launched. MQ and timed frames have stages, and each
 * slot does two frames before it has a graph, again after a frame with other tables. */
static const char *check_launches(const Film *film, Kind kind)
{
  gint staged = g_atomic_int_get(&num_staged), graphs = g_atomic_int_get(&num_graphs);

  if (kind == DEVICE_STREAM || (film->packed && is_on_device(kind)))
    return graphs ? "a frame was one launch that cannot be" : NULL;
  if (staged > FRAMES / 4)
    return "few frames were one launch";
  return graphs > FRAMES / 4 ? NULL : "few frames were graphs";
}

static uint32_t num_tests, num_failed;

static void test(const Scene *scene, const Film *film, Kind kind, uint32_t in_flight)
{
  g_atomic_int_set(&num_graphs, 0);
  g_atomic_int_set(&num_staged, 0);
  const char *why = decode(scene, kind, in_flight);
  if (!why)
    why = check_launches(film, kind);
  num_failed += why != NULL;
  printf("%sok %u - %s, %ux%u, %s, %u in flight%s%s\n", why ? "not " : "", ++num_tests,
         film->format, film->width, film->height, kind_names[kind], in_flight, why ? ": " : "",
         why ? why : "");
}

int main(int argc, char **argv)
{
  size_t step = argc > 1 && !strcmp(argv[1], "--short") ? SHORT_STEP : 1;
  int count = 0;

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("1..0 # SKIP no GPU\n");
    return 0;
  }
  check(cudaStreamCreateWithPriority(&own_stream, cudaStreamNonBlocking, 0));
  for (size_t f = 0; f < G_N_ELEMENTS(films); f += step) {
    Scene scene;
    scene_init(&scene, &films[f]);
    for (Kind kind = 0; kind < NUM_KINDS; kind++) {
      test(&scene, &films[f], kind, 1);
      test(&scene, &films[f], kind, IN_FLIGHT);
    }
    scene_clear(&scene);
  }
  check(cudaStreamDestroy(own_stream));
  printf("1..%u\n", num_tests);
  return num_failed != 0;
}
