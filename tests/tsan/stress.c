/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoders and decoders used by many threads at once, for ThreadSanitizer: each group has a thread
 * that submits pictures, one that receives codestreams and submits them to a decoder, one that
 * receives frames, and one that changes the rate and reads statistics. Some groups close their
 * codecs with frames in flight. `--race` makes a race on purpose, to show that one is found.
 */
#include "cj2k.h"
#include "common/runtime/threads.h"

#include <glib.h>
#include <string.h>

#define WIDTH  64
#define HEIGHT 48
#define FRAMES 12

typedef struct {
  uint32_t number;
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;
  uint8_t *samples;
  gint done; /* atomic: all frames have come */
} Group;

static const Cj2kComponent components[3] = {
    {.dx = 1, .dy = 1, .depth = 8}, {.dx = 2, .dy = 1, .depth = 8}, {.dx = 2, .dy = 1, .depth = 8}};
/* UYVY */
static const Cj2kSampleLayout samples[3] = {
    {.unit_bytes = 2, .unit_samples = 1, .word_bytes = 1, .depth = 8, .at = {{.offset = 1}}},
    {.unit_bytes = 4, .unit_samples = 1, .word_bytes = 1, .depth = 8},
    {.unit_bytes = 4, .unit_samples = 1, .word_bytes = 1, .depth = 8, .at = {{.offset = 2}}}};
static const Cj2kLayout layout = {.num_components = 3, .num_planes = 1, .samples = samples};

static void open_codecs(Group *group)
{
  static const Cj2kEncoderImage image = {
      .width = WIDTH, .height = HEIGHT, .num_components = 3, .components = components};
  Cj2kEncoderParams encoder;
  Cj2kDecoderParams decoder;
  Cj2kError error;

  cj2k_encoder_params_init(&encoder);
  encoder.backend = CJ2K_BACKEND_CPU;
  encoder.num_threads = 1 + group->number % 4;
  encoder.frames_in_flight = 1 + group->number % 3;
  encoder.block_coder = group->number & 1 ? CJ2K_CODER_HT : CJ2K_CODER_MQ;
  encoder.max_frame_bytes = 3000;
  encoder.codeblock_width = encoder.codeblock_height = 16;
  group->encoder = cj2k_encoder_open(&encoder, &image, &layout, &error);
  cj2k_decoder_params_init(&decoder);
  decoder.backend = CJ2K_BACKEND_CPU;
  decoder.num_threads = 1 + group->number % 3;
  decoder.frames_in_flight = 1 + group->number % 4;
  group->decoder = cj2k_decoder_open(&decoder, &error);
  g_assert_nonnull(group->encoder);
  g_assert_nonnull(group->decoder);
  group->samples = g_malloc(2 * WIDTH * HEIGHT);
  for (uint32_t i = 0; i < 2 * WIDTH * HEIGHT; i++)
    group->samples[i] = (uint8_t)(i * 7 + (i >> 6) * group->number);
}

/* Frames of one encoder share the samples, which nobody changes. */
static gpointer submit_pictures(gpointer data)
{
  Group *group = data;
  Cj2kPlane plane = {.data = group->samples, .pitch = (size_t)2 * WIDTH};
  Cj2kPicture picture = {.num_planes = 1, .planes = &plane};
  for (uint32_t i = 0; i < FRAMES; i++)
    g_assert_cmpint(cj2k_encoder_submit(group->encoder, &picture, NULL, NULL), ==, CJ2K_OK);
  while (!g_atomic_int_get(&group->done)) /* `plane` is still in use */
    g_usleep(100);
  return NULL;
}

static gpointer receive_packets(gpointer data)
{
  Group *group = data;
  for (uint32_t i = 0; i < FRAMES; i++) {
    Cj2kPacket *packet = g_new(Cj2kPacket, 1);
    while (cj2k_encoder_receive(group->encoder, packet) != CJ2K_OK)
      g_usleep(50); /* nothing was submitted yet */
    g_assert_cmpint(packet->status, ==, CJ2K_OK);
    g_assert_cmpint(
        cj2k_decoder_submit(group->decoder, packet->data, packet->size, NULL, NULL, packet, NULL),
        ==, CJ2K_OK);
  }
  return NULL;
}

static gpointer receive_frames(gpointer data)
{
  Group *group = data;
  for (uint32_t i = 0; i < FRAMES; i++) {
    Cj2kFrame frame;
    while (cj2k_decoder_receive(group->decoder, &frame) != CJ2K_OK)
      g_usleep(50);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    Cj2kPacket *packet = frame.user;
    cj2k_decoder_release(group->decoder, &frame);
    cj2k_encoder_release(group->encoder, packet);
    g_free(packet);
  }
  return NULL;
}

static gpointer disturb(gpointer data)
{
  Group *group = data;
  Cj2kEncoderParams params;
  Cj2kStats stats;
  cj2k_encoder_params_init(&params);
  for (uint32_t i = 0; !g_atomic_int_get(&group->done); i++) {
    params.max_frame_bytes = 1500 + 100 * (i % 20);
    cj2k_encoder_set_rate(group->encoder, &params, NULL);
    cj2k_encoder_get_stats(group->encoder, &stats);
    cj2k_decoder_get_stats(group->decoder, &stats);
    cj2k_encoder_free(group->encoder, CJ2K_MEMORY_HOST,
                      cj2k_encoder_alloc(group->encoder, CJ2K_MEMORY_HOST, 1000));
    g_usleep(200);
  }
  return NULL;
}

/* Closes the codecs with a frame in flight. */
static void close_early(Group *group, GThread *disturber)
{
  Cj2kPlane plane = {.data = group->samples, .pitch = (size_t)2 * WIDTH};
  Cj2kPicture picture = {.num_planes = 1, .planes = &plane};
  g_assert_cmpint(cj2k_encoder_submit(group->encoder, &picture, NULL, NULL), ==, CJ2K_OK);
  g_atomic_int_set(&group->done, 1);
  g_thread_join(disturber);
  cj2k_encoder_close(group->encoder);
}

static void run_group(gpointer data, gpointer user)
{
  Group group = {.number = GPOINTER_TO_UINT(data)};
  (void)user;
  open_codecs(&group);
  GThread *disturber = g_thread_new("disturb", disturb, &group);
  if (group.number % 5 == 4) {
    close_early(&group, disturber);
  } else {
    GThread *sender = g_thread_new("submit", submit_pictures, &group);
    GThread *coder = g_thread_new("receive", receive_packets, &group);
    GThread *viewer = g_thread_new("view", receive_frames, &group);
    g_thread_join(coder);
    g_thread_join(viewer);
    g_atomic_int_set(&group.done, 1);
    g_thread_join(sender);
    g_thread_join(disturber);
    cj2k_encoder_close(group.encoder);
  }
  cj2k_decoder_close(group.decoder);
  g_free(group.samples);
}

static void test_groups(void)
{
  GThreadPool *pool = g_thread_pool_new(run_group, NULL, 4, TRUE, NULL);
  for (uint32_t i = 1; i <= 20; i++)
    g_thread_pool_push(pool, GUINT_TO_POINTER(i), NULL);
  g_thread_pool_free(pool, FALSE, TRUE);
}

/* Many loops of many threads in one pool, some with threads that were woken before. */
static void add_one(void *ctx, uint32_t index, uint32_t lane)
{
  (void)lane;
  ((uint32_t *)ctx)[index]++;
}

static gint loops_left; /* atomic */

static void run_loops(void *ctx)
{
  Cj2kThreads *threads = ctx;
  uint32_t counts[50] = {0};
  for (uint32_t i = 0; i < 40; i++)
    cj2k_parallel_for(threads, G_N_ELEMENTS(counts), add_one, counts);
  for (uint32_t i = 0; i < G_N_ELEMENTS(counts); i++)
    g_assert_cmpuint(counts[i], ==, 40);
  g_atomic_int_dec_and_test(&loops_left);
}

static void test_loops(void)
{
  Cj2kThreads *threads = cj2k_threads_new(4);
  g_atomic_int_set(&loops_left, 40);
  for (uint32_t i = 0; i < 20; i++) {
    cj2k_threads_start(threads, run_loops, threads);
    cj2k_threads_wake(threads, 3);
    run_loops(threads);
    cj2k_threads_rest(threads);
  }
  while (g_atomic_int_get(&loops_left)) /* a pool that is freed must not get further work */
    g_usleep(100);
  cj2k_threads_free(threads);
}

static uint32_t shared;

static void race(void *ctx, uint32_t index, uint32_t lane)
{
  (void)ctx, (void)index, (void)lane;
  shared++;
  g_usleep(100);
}

static void test_race(void)
{
  Cj2kThreads *threads = cj2k_threads_new(3);
  cj2k_parallel_for(threads, 100, race, NULL);
  cj2k_threads_free(threads);
}

int main(int argc, char **argv)
{
  bool wants_race = argc == 2 && strcmp(argv[1], "--race") == 0;
  g_test_init(&argc, &argv, NULL);
  if (wants_race) {
    g_test_add_func("/stress/race", test_race);
  } else {
    g_test_add_func("/stress/groups", test_groups);
    g_test_add_func("/stress/loops", test_loops);
  }
  return g_test_run();
}
