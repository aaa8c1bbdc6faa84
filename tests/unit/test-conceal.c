/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests what the decoder does about missing packets: the parameter `conceal`. */
#include "rtp-sender.h"

#include <math.h>

#define WIDTH  320
#define HEIGHT 240
#define FRAMES 8

static const char *const options[] = {
    "block-coder=ht precincts=64x64,64x64,32x32 progression-order=rpcl",
    "block-coder=ht precincts=64x64,64x64,32x32 progression-order=rpcl rate-control=cbr "
    "bits-per-pixel=1.5",
    "block-coder=mq precincts=64x64,64x64,32x32 progression-order=rpcl num-layers=3 "
    "rate-control=cbr bits-per-pixel=2",
};

static void draw(TestPicture *picture, uint32_t frame, uint32_t cut)
{
  uint16_t *data = picture->planes[0].data;
  GRand *rand = g_rand_new_with_seed(frame);
  for (uint32_t y = 0; y < HEIGHT; y++)
    for (uint32_t x = 0; x < WIDTH; x++) {
      double value = frame < cut ? natural_sample(x + 2 * frame, y, 0, rand)
                                 : 0.3 + 0.2 * ((x / 9 + y / 5) % 2) + 0.1 * sin(0.9 * x * y);
      data[y * WIDTH + x] = (uint16_t)(CLAMP(value, 0, 1) * 255);
    }
  g_rand_free(rand);
}

/* A scene that moves by two samples from frame to frame; another scene from frame `cut` on. */
static void encode(const char *text, uint32_t cut, GBytes **frames)
{
  static const uint8_t ones[1] = {1};
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  TestPicture picture;
  Cj2kPacket packet;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, text);
  test_picture_init(&picture, SCENE_BLACK, WIDTH, HEIGHT, 1, 8, false, ones, ones, 0, 0);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  g_assert_nonnull(encoder);
  for (uint32_t i = 0; i < FRAMES; i++) {
    draw(&picture, i, cut);
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    frames[i] = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  test_picture_clear(&picture);
}

/* The codestream without the precinct of the lowest resolution: an empty packet takes its place,
 * or, with `cut_out`, none does. Takes `bytes`. */
static GBytes *damage(GBytes *bytes, bool cut_out)
{
  Cj2kRtpReceiverParams params = {.max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  Cj2kRtpCodestream codestream;
  Sender sender = sender_of_bytes(bytes, 60000);
  if (cut_out) { /* Psot is not checked by a decoder that is not strict */
    const Cj2kRtpPayload *payload = &sender.payloads.payloads[1];
    memmove(sender.data + payload->offset, sender.data + payload->offset + payload->size,
            sender.size - payload->offset - payload->size);
    bytes = g_bytes_new(sender.data, sender.size - payload->size);
  } else {
    sender_push_all(&sender, receiver, 1, 1, 1);
    g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
    g_assert_true(codestream.repaired);
    bytes = g_bytes_new_take(codestream.data, codestream.size);
  }
  sender_clear(&sender);
  cj2k_rtp_receiver_free(receiver);
  return bytes;
}

static bool is_strict;

typedef struct {
  GBytes *pictures[FRAMES]; /* samples; NULL: the frame is an error */
  Cj2kStats stats;
} Decoded;

static void decoded_clear(Decoded *decoded)
{
  for (uint32_t i = 0; i < FRAMES; i++)
    g_clear_pointer(&decoded->pictures[i], g_bytes_unref);
}

static void receive(Cj2kDecoder *decoder, Decoded *out)
{
  Cj2kFrame frame;
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  uint32_t index = GPOINTER_TO_UINT(frame.user);
  if (frame.status == CJ2K_OK) {
    GByteArray *samples = g_byte_array_new();
    for (uint32_t y = 0; y < HEIGHT; y++)
      g_byte_array_append(
          samples, (uint8_t *)frame.picture.planes[0].data + y * frame.picture.planes[0].pitch,
          WIDTH);
    out->pictures[index] = g_byte_array_free_to_bytes(samples);
  }
  cj2k_decoder_release(decoder, &frame);
}

/* Decodes frames of which those in `damaged` are announced as such. */
static Decoded decode_by(Cj2kBackendKind backend, GBytes **frames, Cj2kConcealKind conceal,
                         uint32_t damaged, uint32_t in_flight)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  Decoded out = {0};
  uint32_t waiting = 0;
  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.conceal = conceal;
  params.strict = is_strict;
  params.frames_in_flight = in_flight;
  params.num_threads = in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  for (uint32_t i = 0; i < FRAMES; i++) {
    gsize size;
    const uint8_t *data = g_bytes_get_data(frames[i], &size);
    if (waiting == in_flight) {
      receive(decoder, &out);
      waiting--;
    }
    if (damaged >> i & 1)
      cj2k_decoder_next_is_damaged(decoder);
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, data, size, NULL, NULL, GUINT_TO_POINTER(i), &error), ==,
        CJ2K_OK);
    waiting++;
  }
  for (; waiting > 0; waiting--)
    receive(decoder, &out);
  cj2k_decoder_get_stats(decoder, &out.stats);
  cj2k_decoder_close(decoder);
  return out;
}

static Decoded decode(GBytes **frames, Cj2kConcealKind conceal, uint32_t damaged,
                      uint32_t in_flight)
{
  return decode_by(CJ2K_BACKEND_CPU, frames, conceal, damaged, in_flight);
}

static bool have_gpu(void)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  cj2k_decoder_close(decoder);
  return decoder != NULL;
}

static double psnr(GBytes *a, GBytes *b)
{
  gsize size;
  const uint8_t *x = g_bytes_get_data(a, &size), *y = g_bytes_get_data(b, NULL);
  double sum = 0;
  for (gsize i = 0; i < size; i++)
    sum += (x[i] - y[i]) * (x[i] - y[i]);
  return 10 * log10(255.0 * 255 * (double)size / MAX(sum, 1));
}

static void assert_same(const Decoded *a, const Decoded *b)
{
  for (uint32_t i = 0; i < FRAMES; i++) {
    g_assert_cmpint(a->pictures[i] == NULL, ==, b->pictures[i] == NULL);
    if (a->pictures[i])
      g_assert_true(g_bytes_equal(a->pictures[i], b->pictures[i]));
  }
}

/* Frames 3, 4 and 6 lack LL. The scene moves, and another one begins with frame 6. */
static void test_previous(gconstpointer data)
{
  const uint32_t damaged = 1 << 3 | 1 << 4 | 1 << 6;
  GBytes *frames[FRAMES], *intact[FRAMES];
  encode(data, 6, intact);
  for (uint32_t i = 0; i < FRAMES; i++) {
    frames[i] = g_bytes_ref(intact[i]);
    if (damaged >> i & 1)
      frames[i] = damage(frames[i], false);
  }
  Decoded want = decode(intact, CJ2K_CONCEAL_ZERO, 0, 1);
  Decoded zero = decode(frames, CJ2K_CONCEAL_ZERO, damaged, 1);
  Decoded previous = decode(frames, CJ2K_CONCEAL_PREVIOUS, damaged, 1);
  for (uint32_t i = 0; i < FRAMES; i++) {
    if (!(damaged >> i & 1)) {
      g_assert_true(g_bytes_equal(previous.pictures[i], want.pictures[i]));
      continue;
    }
    double before = psnr(zero.pictures[i], want.pictures[i]);
    double after = psnr(previous.pictures[i], want.pictures[i]);
    g_test_message("frame %u: zero %.1f dB, previous %.1f dB", i, before, after);
    if (i < 6)
      g_assert_cmpfloat(after, >, before + 8);
    else /* the frames are not alike */
      g_assert_true(g_bytes_equal(previous.pictures[i], zero.pictures[i]));
  }
  g_assert_cmpuint(zero.stats.restored_blocks, ==, 0);
  g_assert_cmpuint(previous.stats.restored_blocks, ==, 2);
  for (uint32_t in_flight = 2; in_flight <= 8; in_flight *= 2) {
    Decoded other = decode(frames, CJ2K_CONCEAL_PREVIOUS, damaged, in_flight);
    assert_same(&previous, &other);
    decoded_clear(&other);
  }
  for (uint32_t in_flight = 1; have_gpu() && in_flight <= 4; in_flight *= 2) {
    Decoded other = decode_by(CJ2K_BACKEND_CUDA, frames, CJ2K_CONCEAL_PREVIOUS, damaged, in_flight);
    assert_same(&previous, &other);
    decoded_clear(&other);
  }
  /* Where nothing is announced as damaged, empty packets are what the encoder made. */
  Decoded trusted = decode(frames, CJ2K_CONCEAL_PREVIOUS, 0, 2);
  assert_same(&trusted, &zero);
  decoded_clear(&trusted);
  decoded_clear(&previous);
  decoded_clear(&zero);
  decoded_clear(&want);
  for (uint32_t i = 0; i < FRAMES; i++) {
    g_bytes_unref(frames[i]);
    g_bytes_unref(intact[i]);
  }
}

/* The same with packets that are missing, as SOP tells, and frames that are errors in between. */
static void test_missing(void)
{
  const char *text = "block-coder=ht precincts=64x64,64x64,32x32 progression-order=rpcl sop=true";
  GBytes *frames[FRAMES];
  encode(text, FRAMES, frames);
  for (uint32_t i = 0; i < FRAMES; i++) {
    if (i % 3 == 1)
      frames[i] = damage(frames[i], true);
  }
  g_bytes_unref(frames[3]);
  frames[3] = g_bytes_new_static("no codestream", 13);
  Decoded zero = decode(frames, CJ2K_CONCEAL_ZERO, 0, 1);
  Decoded previous = decode(frames, CJ2K_CONCEAL_PREVIOUS, 0, 1);
  g_assert_cmpuint(previous.stats.concealed_packets, ==, 3);
  g_assert_cmpuint(previous.stats.restored_blocks, ==, 3);
  g_assert_cmpuint(previous.stats.failed_frames, ==, 1);
  for (uint32_t i = 0; i < FRAMES; i++)
    if (i != 3)
      g_assert_cmpint(g_bytes_equal(zero.pictures[i], previous.pictures[i]), ==, i % 3 != 1);
  for (uint32_t in_flight = 2; in_flight <= 8; in_flight *= 2) {
    Decoded other = decode(frames, CJ2K_CONCEAL_PREVIOUS, 0, in_flight);
    assert_same(&previous, &other);
    decoded_clear(&other);
  }
  /* conceal=none: such frames are errors, announced ones too, and the others are as before. */
  Decoded none = decode(frames, CJ2K_CONCEAL_NONE, 1 << 6, 2);
  for (uint32_t i = 0; i < FRAMES; i++)
    g_assert_cmpint(none.pictures[i] == NULL, ==, i % 3 == 1 || i == 3 || i == 6);
  g_assert_cmpuint(none.stats.failed_frames, ==, 5);
  decoded_clear(&none);
  /* A strict decoder conceals nothing either. */
  is_strict = true;
  none = decode(frames, CJ2K_CONCEAL_PREVIOUS, 1 << 6, 2);
  is_strict = false;
  for (uint32_t i = 0; i < FRAMES; i++)
    g_assert_cmpint(none.pictures[i] == NULL, ==, i % 3 == 1 || i == 3 || i == 6);
  decoded_clear(&none);
  decoded_clear(&previous);
  decoded_clear(&zero);
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(frames[i]);
}

/* Frames of other sizes and with other code-blocks supply nothing. */
static void test_changes(void)
{
  const char *texts[] = {"block-coder=ht precincts=64x64,64x64,32x32 progression-order=rpcl",
                         "block-coder=ht precincts=64x64,32x32 progression-order=rpcl",
                         "block-coder=mq precincts=64x64,64x64,32x32 progression-order=rpcl"};
  GBytes *frames[FRAMES], *other[FRAMES];
  for (uint32_t k = 0; k < 3; k++) {
    encode(texts[k], FRAMES, other);
    for (uint32_t i = 0; i < FRAMES; i++) {
      if (i % 3 == k)
        frames[i] = damage(g_bytes_ref(other[i]), false);
      g_bytes_unref(other[i]);
    }
  }
  Decoded zero = decode(frames, CJ2K_CONCEAL_ZERO, 0xff, 2);
  Decoded previous = decode(frames, CJ2K_CONCEAL_PREVIOUS, 0xff, 2);
  g_assert_cmpuint(previous.stats.failed_frames, ==, 0);
  assert_same(&zero, &previous);
  decoded_clear(&previous);
  decoded_clear(&zero);
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(frames[i]);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
    gchar *name = g_strdup_printf("/conceal/previous/%s", options[i]);
    g_test_add_data_func(name, options[i], test_previous);
    g_free(name);
  }
  g_test_add_func("/conceal/missing", test_missing);
  g_test_add_func("/conceal/changes", test_changes);
  return g_test_run();
}
