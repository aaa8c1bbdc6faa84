/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many streams in one process, each with an encoder and a decoder and a thread of its own: bytes
 * and samples are those of a stream that is alone, at every number of streams; streams that stall,
 * fail or end with frames in flight do not disturb others; when streams have come and gone, nothing
 * is left of them. On the CPU, or with --backend cuda on a GPU.
 */
#include "effort.h"
#include "encoder-pictures.h"

#include <malloc.h>

#define PICTURES 4
#define FRAMES   10 /* of a film, which shows the pictures one after the other */
#define MOST     48 /* streams at the same time */
#define HELD     4  /* codestreams that a decoder may have: the most frames in flight */

typedef struct {
  const char *options; /* of the encoder */
  uint32_t in_flight;
} Setting;

static const Setting settings[] = {
    {"block-coder=ht max-frame-bytes=5000", 1},
    {"block-coder=ht rate-control=lossless", 3},
    {"block-coder=mq max-frame-bytes=3000", 2},
    {"block-coder=mq quant-step=0.01 codeblock-style=bypass", 1},
    {"block-coder=ht average-bitrate=900 average-window=16", 4},
    {"block-coder=ht max-frame-bytes=5000 low-latency=true", 1},
};

/* What a stream that is alone gives, by the CPU. */
typedef struct {
  GBytes *coded[FRAMES], *decoded[FRAMES];
} Film;

static Cj2kBackendKind backend;
static TestPicture pictures[PICTURES];
static Film films[G_N_ELEMENTS(settings)];

/* --------------------------------------------------------------------------------- a stream --- */

typedef struct {
  uint32_t setting;
  uint32_t frames;    /* that it codes */
  bool leaves;        /* it closes its codecs with frames in flight */
  const Film *expect; /* NULL: the film is made */
  Film made;
  Cj2kBackendKind backend;
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;
  uint32_t num_coded, num_decoded;
} Stream;

static void stream_open(Stream *s)
{
  const Setting *setting = &settings[s->setting];
  const TestPicture *like = &pictures[0];
  Cj2kEncoderParams encoder;
  Cj2kDecoderParams decoder;
  Cj2kError error = {0};

  cj2k_encoder_params_init(&encoder);
  encoder.backend = s->backend;
  encoder.num_threads = 1 + s->setting % 3;
  encoder.frames_in_flight = setting->in_flight;
  encoder.frame_rate = 25;
  test_set_options(&encoder, setting->options);
  s->encoder = cj2k_encoder_open(&encoder, &like->image, &like->layout, &error);
  if (!s->encoder)
    g_error("encoder: %s", error.text);
  cj2k_decoder_params_init(&decoder);
  decoder.backend = s->backend;
  decoder.num_threads = 1 + s->setting % 2;
  decoder.frames_in_flight = setting->in_flight;
  s->decoder = cj2k_decoder_open(&decoder, &error);
  if (!s->decoder)
    g_error("decoder: %s", error.text);
  s->num_coded = s->num_decoded = 0;
}

static void stream_close(Stream *s)
{
  cj2k_encoder_close(s->encoder);
  cj2k_decoder_close(s->decoder);
}

static void keep_or_compare(GBytes **made, GBytes *const *expected, const void *data, gsize size)
{
  if (!expected) {
    *made = g_bytes_new(data, size);
    return;
  }
  gsize wanted;
  gconstpointer bytes = g_bytes_get_data(*expected, &wanted);
  g_assert_cmpmem(data, size, bytes, wanted);
}

/* The samples of a decoded frame, plane by plane. */
static GByteArray *frame_samples(const Cj2kFrame *frame)
{
  GByteArray *samples = g_byte_array_new();

  for (uint32_t c = 0; c < frame->image.num_components; c++) {
    const Cj2kComponent *component = &frame->image.components[c];
    const Cj2kPlane *plane = &frame->picture.planes[c];
    guint bytes = (component->x1 - component->x0) * frame->layout.samples[c].word_bytes;
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      g_byte_array_append(samples, (const guint8 *)plane->data + y * plane->pitch, bytes);
  }
  return samples;
}

static void receive_frame(Stream *s)
{
  uint32_t i = s->num_decoded++;
  Cj2kFrame frame;

  g_assert_cmpint(cj2k_decoder_receive(s->decoder, &frame), ==, CJ2K_OK);
  if (frame.status != CJ2K_OK || frame.fallback)
    g_error("decoder: %s", frame.error.text);
  GByteArray *samples = frame_samples(&frame);
  keep_or_compare(&s->made.decoded[i], s->expect ? &s->expect->decoded[i] : NULL, samples->data,
                  samples->len);
  g_byte_array_unref(samples);
  cj2k_decoder_release(s->decoder, &frame);
}

/* Receives a codestream and gives it to the decoder, which has a copy for as long as it needs. */
static void receive_packet(Stream *s, GBytes **held)
{
  uint32_t i = s->num_coded++, in_flight = settings[s->setting].in_flight;
  Cj2kError error = {0};
  Cj2kPacket packet;

  g_assert_cmpint(cj2k_encoder_receive(s->encoder, &packet), ==, CJ2K_OK);
  if (packet.status != CJ2K_OK || packet.fallback)
    g_error("encoder: %s", packet.error.text);
  keep_or_compare(&s->made.coded[i], s->expect ? &s->expect->coded[i] : NULL, packet.data,
                  packet.size);
  if (i >= in_flight)
    receive_frame(s);
  g_clear_pointer(&held[i % HELD], g_bytes_unref);
  held[i % HELD] = g_bytes_new(packet.data, packet.size);
  cj2k_encoder_release(s->encoder, &packet);
  gsize size;
  const uint8_t *data = g_bytes_get_data(held[i % HELD], &size);
  if (cj2k_decoder_submit(s->decoder, data, size, NULL, NULL, NULL, &error) != CJ2K_OK)
    g_error("decoder: %s", error.text);
}

static void submit_picture(Stream *s, uint32_t i)
{
  Cj2kError error = {0};

  if (cj2k_encoder_submit(s->encoder, &pictures[i % PICTURES].picture, NULL, &error) != CJ2K_OK)
    g_error("encoder: %s", error.text);
}

static gpointer stream_run(gpointer data)
{
  Stream *s = data;
  uint32_t in_flight = settings[s->setting].in_flight;
  GBytes *held[HELD] = {NULL};

  g_assert_cmpuint(in_flight, <=, HELD);
  stream_open(s);
  for (uint32_t i = 0; i < s->frames; i++) {
    if (i >= in_flight)
      receive_packet(s, held);
    submit_picture(s, i);
  }
  while (!s->leaves && s->num_coded < s->frames)
    receive_packet(s, held);
  while (!s->leaves && s->num_decoded < s->num_coded)
    receive_frame(s);
  stream_close(s);
  for (gsize i = 0; i < G_N_ELEMENTS(held); i++)
    g_clear_pointer(&held[i], g_bytes_unref);
  return NULL;
}

static Stream stream_of(uint32_t number)
{
  uint32_t setting = number % G_N_ELEMENTS(settings);

  return (Stream){
      .setting = setting, .frames = FRAMES, .expect = &films[setting], .backend = backend};
}

/* Runs streams at the same time, until all have ended. */
static void run_streams(uint32_t count)
{
  Stream streams[MOST];
  GThread *threads[MOST];

  for (uint32_t i = 0; i < count; i++) {
    streams[i] = stream_of(i);
    threads[i] = g_thread_new("stream", stream_run, &streams[i]);
  }
  for (uint32_t i = 0; i < count; i++)
    g_thread_join(threads[i]);
}

/* ------------------------------------------------------------------------------------ tests --- */

static void test_equal(void)
{
  static const uint32_t counts[] = {1, 2, 5, 12, MOST};

  for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
    run_streams(counts[i]);
}

/* A stream whose results nobody takes, until the others have ended. */
static void test_stalled(void)
{
  Stream stalled = stream_of(4);
  GBytes *held[HELD] = {NULL};

  stream_open(&stalled);
  for (uint32_t i = 0; i < settings[stalled.setting].in_flight; i++)
    submit_picture(&stalled, i);
  run_streams(5);
  for (uint32_t i = 0; i < settings[stalled.setting].in_flight; i++)
    receive_packet(&stalled, held);
  run_streams(5);
  while (stalled.num_decoded < stalled.num_coded)
    receive_frame(&stalled);
  stream_close(&stalled);
  for (gsize i = 0; i < G_N_ELEMENTS(held); i++)
    g_clear_pointer(&held[i], g_bytes_unref);
}

/* Damaged codestreams one after the other, in as many ways as there are bytes. */
static gpointer fail_frames(gpointer stop)
{
  Stream s = stream_of(0);
  gsize size;
  const uint8_t *good = g_bytes_get_data(films[0].coded[0], &size);
  uint8_t *bad = g_memdup2(good, size);
  Cj2kError error;
  Cj2kFrame frame;
  guint failed = 0;

  stream_open(&s);
  for (gsize i = 0; !g_atomic_int_get((gint *)stop) || i < size; i++) {
    bad[i % size] ^= 0x55;
    bool taken = cj2k_decoder_submit(s.decoder, bad, i % size, NULL, NULL, NULL, &error) == CJ2K_OK;
    failed += !taken;
    if (taken) {
      g_assert_cmpint(cj2k_decoder_receive(s.decoder, &frame), ==, CJ2K_OK);
      failed += frame.status != CJ2K_OK || frame.corrupt_blocks > 0;
      cj2k_decoder_release(s.decoder, &frame);
    }
    bad[i % size] ^= 0x55;
  }
  g_assert_cmpuint(failed, >, 0);
  stream_close(&s);
  g_free(bad);
  return NULL;
}

static void test_failing(void)
{
  gint stop = 0;
  GThread *thread = g_thread_new("fails", fail_frames, &stop);

  run_streams(5);
  g_atomic_int_set(&stop, 1);
  g_assert_null(g_thread_join(thread));
}

/* ------------------------------------------------------------------------- come and go --- */

typedef struct {
  uint32_t number, rounds;
} Visitor;

/* One stream after the other, with and without frames in flight at the end. */
static gpointer visit(gpointer data)
{
  const Visitor *visitor = data;
  GRand *rand = g_rand_new_with_seed(visitor->number);

  for (uint32_t i = 0; i < visitor->rounds; i++) {
    Stream s = stream_of(g_rand_int(rand));
    s.frames = (uint32_t)g_rand_int_range(rand, 0, FRAMES);
    s.leaves = g_rand_boolean(rand);
    stream_run(&s);
  }
  g_rand_free(rand);
  return NULL;
}

static void visits(uint32_t rounds)
{
  Visitor visitors[5];
  GThread *threads[5];

  for (uint32_t i = 0; i < 5; i++) {
    visitors[i] = (Visitor){i, rounds};
    threads[i] = g_thread_new("visitor", visit, &visitors[i]);
  }
  for (uint32_t i = 0; i < 5; i++)
    g_thread_join(threads[i]);
}

static uint32_t count_entries(const char *folder)
{
  uint32_t count = 0;
  GDir *dir = g_dir_open(folder, 0, NULL);

  while (dir && g_dir_read_name(dir))
    count++;
  if (dir)
    g_dir_close(dir);
  return count;
}

/* Bytes that are allocated on the host; 0: not known. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/* A thread that was joined may be listed for a moment. */
static void wait_for_threads(uint32_t most)
{
  for (uint32_t i = 0; i < 100 && count_entries("/proc/self/task") > most; i++)
    g_usleep(20000);
}

/* Bytes by which visits may add to what is allocated, and the number of periods of visits in one of
 * which they must keep to it: a CUDA driver allocates more until as many streams as possible have
 * met, whereas a leak grows in each period. */
#define SLACK   65536
#define PERIODS 6

static bool ceases_to_grow(uint32_t rounds)
{
  for (uint32_t i = 0; i < PERIODS; i++) {
    size_t before = allocated();
    visits(rounds);
    size_t after = allocated();
    g_test_message("bytes %zu, then %zu", before, after);
    if (after <= before + SLACK)
      return true;
  }
  return false;
}

static void test_come_and_go(void)
{
  const bool many = test_is_long();

  visits(2); /* what a process has once is there afterwards */
  uint32_t threads = count_entries("/proc/self/task"), files = count_entries("/proc/self/fd");
  g_assert_true(ceases_to_grow(many ? 400 : 10));
  wait_for_threads(threads);
  g_test_message("threads %u, files %u, then %u, %u", threads, files,
                 count_entries("/proc/self/task"), count_entries("/proc/self/fd"));
  g_assert_cmpuint(count_entries("/proc/self/task"), <=, threads);
  g_assert_cmpuint(count_entries("/proc/self/fd"), <=, files);
}

static void make_films(void)
{
  for (uint32_t i = 0; i < G_N_ELEMENTS(settings); i++) {
    Stream s = {.setting = i, .frames = FRAMES, .backend = CJ2K_BACKEND_CPU};
    stream_run(&s);
    films[i] = s.made;
  }
}

int main(int argc, char **argv)
{
  static const Scene scenes[PICTURES] = {SCENE_NATURAL, SCENE_SINE, SCENE_TEXT, SCENE_BRIGHT};
  static const uint8_t dx[] = {1, 2, 2}, dy[] = {1, 1, 1};

  backend = test_take_backend(&argc, argv);
  if (!test_has_backend(backend))
    return 0;
  g_test_init(&argc, &argv, NULL);
  for (uint32_t i = 0; i < PICTURES; i++)
    test_picture_init(&pictures[i], scenes[i], 144, 90, 3, 10, false, dx, dy, 0, 0);
  make_films();
  g_test_add_func("/streams/equal", test_equal);
  g_test_add_func("/streams/stalled", test_stalled);
  g_test_add_func("/streams/failing", test_failing);
  g_test_add_func("/streams/come-and-go", test_come_and_go);
  int result = g_test_run();
  for (uint32_t i = 0; i < G_N_ELEMENTS(settings) * FRAMES; i++) {
    g_bytes_unref(films[i / FRAMES].coded[i % FRAMES]);
    g_bytes_unref(films[i / FRAMES].decoded[i % FRAMES]);
  }
  for (uint32_t i = 0; i < PICTURES; i++)
    test_picture_clear(&pictures[i]);
  return result;
}
