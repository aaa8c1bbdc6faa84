/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library while the clock jumps: the same bytes and samples, nothing hangs, and a limit of time
 * ends in an error that says so and holds again afterwards. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/support/clock.h"

#include "common/runtime/deadline.h"
#include "common/runtime/threads.h"
#include "encoder-pictures.h"

#include <unistd.h>

#define FRAMES  8
#define LIMIT_S 120 /* for one test, on a busy machine with sanitizers */

static const char *const options[] = {
    "rate-control=lossless",
    "block-coder=ht max-frame-bytes=5000",
    "max-frame-bytes=5000 num-layers=2",
};

typedef struct {
  TestPicture picture;
  Cj2kEncoderParams params;
} Input;

static void input_init(Input *input, const char *words)
{
  test_picture_init(&input->picture, SCENE_NATURAL, 130, 70, 3, 10, false, NULL, NULL, 0, 0);
  cj2k_encoder_params_init(&input->params);
  input->params.backend = CJ2K_BACKEND_CPU;
  input->params.num_threads = 3;
  input->params.frames_in_flight = 3;
  test_set_options(&input->params, words);
}

/* Encodes FRAMES frames, up to three at a time; returns their bytes, one after the other. */
static GByteArray *encode(const Input *input)
{
  GByteArray *bytes = g_byte_array_new();
  Cj2kError error = {0};
  Cj2kPacket packet;
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&input->params, &input->picture.image, &input->picture.layout, &error);
  g_assert_nonnull(encoder);
  for (int i = 0; i < FRAMES + 2; i++) {
    if (i < FRAMES)
      g_assert_cmpint(cj2k_encoder_submit(encoder, &input->picture.picture, NULL, &error), ==,
                      CJ2K_OK);
    if (i < 2)
      continue;
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    g_byte_array_append(bytes, packet.data, (guint)packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  return bytes;
}

static void test_encoder(gconstpointer data)
{
  Input input;
  alarm(LIMIT_S);
  input_init(&input, options[GPOINTER_TO_UINT(data)]);
  GByteArray *still = encode(&input);
  g_atomic_int_set(&clock_restless, TRUE);
  GByteArray *jumping = encode(&input);
  g_atomic_int_set(&clock_restless, FALSE);
  g_assert_cmpmem(jumping->data, jumping->len, still->data, still->len);
  g_byte_array_unref(still);
  g_byte_array_unref(jumping);
  test_picture_clear(&input.picture);
  alarm(0);
}

static Cj2kDecoder *open_decoder(uint32_t max_time)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = 3;
  params.frames_in_flight = 3;
  params.max_time = max_time;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  return decoder;
}

/* Decodes one frame; fails the test unless all is well, or its headers took too long by the clock.
 * Returns whether all was well. */
static bool decode(Cj2kDecoder *decoder, GBytes *stream)
{
  Cj2kFrame frame;
  Cj2kError error = {0};
  gsize size;
  const uint8_t *data = g_bytes_get_data(stream, &size);
  Cj2kStatus status = cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error);
  if (status == CJ2K_OK) {
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    status = frame.status;
    error = frame.error;
    if (status == CJ2K_OK)
      g_assert_cmpuint(frame.corrupt_blocks, ==, 0);
    cj2k_decoder_release(decoder, &frame);
  }
  if (status == CJ2K_OK)
    return true;
  g_assert_cmpint(status, ==, CJ2K_ERROR_LIMIT);
  g_assert_nonnull(strstr(error.text, "max-time"));
  return false;
}

/* Without a limit every frame is decoded; with one, all are once the clock stands still. */
static void test_decoder(gconstpointer data)
{
  uint32_t max_time = GPOINTER_TO_UINT(data);
  Cj2kError error = {0};
  Input input;
  alarm(LIMIT_S);
  input_init(&input, "rate-control=lossless num-resolutions=1 tile-width=4 tile-height=4");
  GBytes *stream = test_encode(&input.params, &input.picture, &error);
  g_assert_nonnull(stream);
  Cj2kDecoder *decoder = open_decoder(max_time);
  guint whole = 0;
  g_atomic_int_set(&clock_restless, TRUE);
  for (guint i = 0; i < 4 * FRAMES; i++)
    whole += decode(decoder, stream);
  g_atomic_int_set(&clock_restless, FALSE);
  if (!max_time)
    g_assert_cmpuint(whole, ==, 4 * FRAMES);
  else /* the clock jumps far more often than it stands still */
    g_assert_cmpuint(whole, <, 4 * FRAMES);
  g_assert_true(decode(decoder, stream));
  cj2k_decoder_close(decoder);
  g_bytes_unref(stream);
  test_picture_clear(&input.picture);
  alarm(0);
}

/* A limit that was running when the clock went back still holds. */
static void test_deadline(void)
{
  Cj2kError error = {0};
  cj2k_deadline_begin(600000);
  g_assert_cmpint(cj2k_deadline_check(1000, &error), ==, CJ2K_OK);
  clock_jump(-CLOCK_HOUR);
  g_assert_cmpint(cj2k_deadline_check(1000, &error), ==, CJ2K_OK);
  clock_jump(601);
  g_assert_cmpint(cj2k_deadline_check(1000, &error), ==, CJ2K_ERROR_LIMIT);
  cj2k_deadline_end();
  g_assert_cmpint(cj2k_deadline_check(1000, &error), ==, CJ2K_OK);
}

static void count_call(void *ctx, uint32_t index, uint32_t lane)
{
  (void)index, (void)lane;
  g_atomic_int_inc((gint *)ctx);
}

/* Threads that were woken for a millisecond do not spin for the hour by which the clock goes back:
 * the pool can be freed, and works before that. */
static void test_awake(void)
{
  alarm(LIMIT_S);
  for (guint i = 0; i < 20; i++) {
    Cj2kThreads *threads = cj2k_threads_new(4);
    gint calls = 0;
    cj2k_threads_wake(threads, 3);
    clock_jump(i % 2 ? CLOCK_HOUR : -CLOCK_HOUR);
    cj2k_parallel_for(threads, 1000, count_call, &calls);
    g_assert_cmpint(calls, ==, 1000);
    cj2k_threads_free(threads);
  }
  alarm(0);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
    gchar *path = g_strdup_printf("/clock/encoder/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_encoder);
    g_free(path);
  }
  g_test_add_data_func("/clock/decoder", GUINT_TO_POINTER(0), test_decoder);
  g_test_add_data_func("/clock/decoder-max-time", GUINT_TO_POINTER(60000), test_decoder);
  g_test_add_func("/clock/deadline", test_deadline);
  g_test_add_func("/clock/awake", test_awake);
  return g_test_run();
}
