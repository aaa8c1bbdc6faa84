/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codecs on several GPUs, with devices that are CPU back ends (fake-devices.h): order, equality of
 * bytes, and devices that fail. */
#include "effort.h"
#include "encoder-pictures.h"
#include "fake-devices.h"

#include "common/backend_several.h"

#define FRAMES     7
#define PICTURES   3
#define WIDTH      64
#define HEIGHT     48
#define MOST_CALL  400 /* more calls than FRAMES frames take */
#define LEAST_CALL 12  /* fewer than they take with one in flight, all on the first device */

/* ------------------------------------------------------------------------------- a film --- */

typedef struct {
  const char *options;
  TestPicture pictures[PICTURES];
  GBytes *coded[FRAMES]; /* by one device */
} Film;

/* How a film is encoded or decoded. */
typedef struct {
  const char *devices;
  uint32_t in_flight;
  int on_device; /* the device whose memory pictures are said to lie in; negative: none */
} Way;

typedef struct {
  guint failed, redone; /* frames */
  Cj2kStats stats;
  Cj2kError error; /* of the last of these */
} Outcome;

static void check_packet(const Film *film, GBytes **coded, guint number, Cj2kEncoder *encoder,
                         Outcome *outcome)
{
  Cj2kPacket packet;

  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  g_assert_cmpuint(GPOINTER_TO_UINT(packet.user), ==, number);
  if (packet.redone || packet.status != CJ2K_OK)
    outcome->error = packet.error;
  outcome->redone += packet.redone;
  outcome->failed += packet.status != CJ2K_OK;
  g_assert_false(packet.fallback);
  if (packet.status == CJ2K_OK && coded)
    coded[number] = g_bytes_new(packet.data, packet.size);
  else if (packet.status == CJ2K_OK)
    g_assert_cmpmem(packet.data, packet.size, g_bytes_get_data(film->coded[number], NULL),
                    g_bytes_get_size(film->coded[number]));
  cj2k_encoder_release(encoder, &packet);
}

/* Encodes the film, and compares it or keeps it in `coded`. */
static Outcome encode(Film *film, const Way *way, GBytes **coded)
{
  Outcome outcome = {0};
  Cj2kEncoderParams params;
  Cj2kPicture pictures[PICTURES];
  guint received = 0;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_devices = way->devices;
  params.cuda_device = 0;
  params.frames_in_flight = way->in_flight;
  params.num_threads = 3;
  test_set_options(&params, film->options);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film->pictures[0].image,
                                           &film->pictures[0].layout, &outcome.error);
  if (!encoder) { /* the device died before the first frame */
    g_assert_cmpint(outcome.error.code, ==, CJ2K_ERROR_DEVICE);
    outcome.failed = FRAMES;
    return outcome;
  }
  for (guint i = 0; i < PICTURES; i++) {
    pictures[i] = film->pictures[i].picture;
    pictures[i].memory = way->on_device < 0 ? CJ2K_MEMORY_HOST : CJ2K_MEMORY_CUDA;
  }
  for (guint i = 0; i < FRAMES; i++) {
    if (i >= way->in_flight)
      check_packet(film, coded, received++, encoder, &outcome);
    g_assert_cmpint(
        cj2k_encoder_submit(encoder, &pictures[i % PICTURES], GUINT_TO_POINTER(i), NULL), ==,
        CJ2K_OK);
  }
  while (received < FRAMES)
    check_packet(film, coded, received++, encoder, &outcome);
  cj2k_encoder_get_stats(encoder, &outcome.stats);
  cj2k_encoder_close(encoder);
  return outcome;
}

static void film_init(Film *film, const char *options)
{
  const Way way = {.in_flight = 1, .on_device = -1};

  film->options = options;
  for (guint i = 0; i < PICTURES; i++)
    test_picture_init(&film->pictures[i], (Scene[]){SCENE_NATURAL, SCENE_TEXT, SCENE_SINE}[i],
                      WIDTH, HEIGHT, 3, 8, false, NULL, NULL, 0, 0);
  fake_init(1);
  g_assert_cmpuint(encode(film, &way, film->coded).failed, ==, 0);
}

static void film_clear(Film *film)
{
  for (guint i = 0; i < PICTURES; i++)
    test_picture_clear(&film->pictures[i]);
  for (guint i = 0; i < FRAMES; i++)
    g_bytes_unref(film->coded[i]);
}

/* The samples of a frame, checksummed. */
static char *digest(const Cj2kFrame *frame)
{
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  for (uint32_t p = 0; p < frame->picture.num_planes; p++)
    g_checksum_update(sum, frame->picture.planes[p].data,
                      (gssize)(frame->picture.planes[p].pitch * HEIGHT));
  char *text = g_strdup(g_checksum_get_string(sum));
  g_checksum_free(sum);
  return text;
}

static void check_frame(char **digests, bool keep, guint number, Cj2kDecoder *decoder,
                        Outcome *outcome)
{
  Cj2kFrame frame;

  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  g_assert_cmpuint(GPOINTER_TO_UINT(frame.user), ==, number);
  if (frame.redone || frame.status != CJ2K_OK)
    outcome->error = frame.error;
  outcome->redone += frame.redone;
  outcome->failed += frame.status != CJ2K_OK;
  g_assert_false(frame.fallback);
  if (frame.status == CJ2K_OK) {
    char *found = digest(&frame);
    if (keep) {
      digests[number] = found;
    } else {
      g_assert_cmpstr(found, ==, digests[number]);
      g_free(found);
    }
  }
  cj2k_decoder_release(decoder, &frame);
}

/* Decodes the film, and compares it with the digests or keeps them. */
static Outcome decode(const Film *film, const Way *way, char **digests, bool keep)
{
  Outcome outcome = {0};
  guint received = 0;
  Cj2kDecoder *decoder = fake_open_decoder(way->devices, 0, way->in_flight, &outcome.error);

  g_assert_nonnull(decoder);
  for (guint i = 0; i < FRAMES; i++) {
    if (i >= way->in_flight)
      check_frame(digests, keep, received++, decoder, &outcome);
    gsize size;
    const uint8_t *data = g_bytes_get_data(film->coded[i], &size);
    g_assert_cmpint(cj2k_decoder_submit(decoder, data, size, NULL, NULL, GUINT_TO_POINTER(i), NULL),
                    ==, CJ2K_OK);
  }
  while (received < FRAMES)
    check_frame(digests, keep, received++, decoder, &outcome);
  cj2k_decoder_get_stats(decoder, &outcome.stats);
  cj2k_decoder_close(decoder);
  return outcome;
}

/* -------------------------------------------------------------------------------- tests --- */

static const char *const all_options[] = {
    "rate-control=lossless",
    "max-frame-bytes=1500 codeblock-width=16 codeblock-height=16",
    "block-coder=ht max-frame-bytes=2500 codeblock-width=16 codeblock-height=16",
    "block-coder=ht slices=true progression-order=pcrl precincts=16x16,8x8 num-resolutions=3 "
    "codeblock-width=8 codeblock-height=8 max-frame-bytes=3000",
};

static guint frames_of_all(void)
{
  guint sum = 0;
  for (guint i = 0; i < fake_count; i++)
    sum += (guint)g_atomic_int_get(&fake_devices[i].frames);
  return sum;
}

static guint prefetched_of_all(void)
{
  guint sum = 0;
  for (guint i = 0; i < fake_count; i++)
    sum += (guint)g_atomic_int_get(&fake_devices[i].prefetched);
  return sum;
}

/* Bytes do not depend on the number of devices and of frames in flight. */
static void test_equal(gconstpointer data)
{
  static const char *const devices[] = {"0", "1,0", "all"};
  static const uint32_t in_flight[] = {1, 2, 5, 64};
  Film film;

  film_init(&film, data);
  for (guint d = 0; d < G_N_ELEMENTS(devices); d++)
    for (guint n = 0; n < G_N_ELEMENTS(in_flight); n++) {
      const Way way = {devices[d], in_flight[n], -1};
      fake_init(3);
      Outcome outcome = encode(&film, &way, NULL);
      g_assert_cmpuint(outcome.failed + outcome.redone, ==, 0);
      g_assert_cmpuint(outcome.stats.devices, ==, d + 1);
      g_assert_cmpuint(frames_of_all(), ==, FRAMES);
    }
  film_clear(&film);
}

/* A device dies at its n-th call, for each n up to one at which all is done: nothing is lost, and
 * the bytes are the same. With several in flight threads decide how many calls it gets, so that it
 * may survive one n and not a larger one. */
static void test_death(gconstpointer data)
{
  Film film;
  guint redone = 0;
  gint n = 0, step = (gint)test_effort(3, 1, 1);

  film_init(&film, data);
  for (bool died = true; died || n <= LEAST_CALL; n += step) {
    const Way way = {"all", 1 + (guint)n % 4, -1};
    fake_init(2);
    g_atomic_int_set(&fake_devices[0].calls_left, n);
    Outcome outcome = encode(&film, &way, NULL);
    died = fake_devices[0].dead;
    g_assert_cmpuint(outcome.failed, ==, 0);
    g_assert_cmpuint(outcome.stats.devices, ==, died ? 1 : 2);
    g_assert_cmpuint(outcome.stats.redone_frames, ==, outcome.redone);
    if (outcome.redone)
      g_assert_nonnull(strstr(outcome.error.text, "fake device 0 is dead"));
    redone += outcome.redone;
    g_assert_cmpint(n, <, MOST_CALL);
  }
  g_assert_cmpuint(redone, >, 0);
  film_clear(&film);
}

/* Both die: frames fail with an error that says so, and all are handed out. */
static void test_encode_end(void)
{
  Film film;

  film_init(&film, all_options[1]);
  for (gint n = 2; n < 12; n += 3) {
    const Way way = {"0,1", 3, -1};
    fake_init(2);
    g_atomic_int_set(&fake_devices[0].calls_left, n);
    g_atomic_int_set(&fake_devices[1].calls_left, n + 1);
    Outcome outcome = encode(&film, &way, NULL);
    g_assert_cmpuint(outcome.failed, >, 0);
    g_assert_cmpint(outcome.error.code, ==, CJ2K_ERROR_DEVICE);
    if (outcome.stats.frames)
      g_assert_cmpuint(outcome.stats.devices, ==, 1); /* the last one is never given up */
  }
  film_clear(&film);
}

/* Less memory than frames in flight need. */
static void test_encode_memory(void)
{
  const Way way = {"all", 8, -1};
  Film film;

  film_init(&film, all_options[2]);
  for (gint slots = 1; slots < 4; slots++) {
    fake_init(2);
    fake_devices[0].slots_left = fake_devices[1].slots_left = slots;
    g_assert_cmpuint(encode(&film, &way, NULL).failed, ==, 0);
  }
  film_clear(&film);
}

/* Pictures in the memory of a device are coded there; when it dies they are lost with it. */
static void test_placed(void)
{
  Film film;

  film_init(&film, all_options[0]);
  fake_init(2);
  fake_devices[1].owns_all = true;
  const Way way = {"all", 4, 1};
  Outcome outcome = encode(&film, &way, NULL);
  g_assert_cmpstr(outcome.error.text, ==, "");
  g_assert_cmpuint(outcome.failed + outcome.redone, ==, 0);
  g_assert_cmpint(fake_devices[0].frames, ==, 0);
  g_assert_cmpint(fake_devices[1].frames, ==, FRAMES);
  g_atomic_int_set(&fake_devices[1].dead, 0);
  g_atomic_int_set(&fake_devices[1].calls_left, 12);
  outcome = encode(&film, &way, NULL);
  g_assert_cmpuint(outcome.failed, >, 0);
  g_assert_cmpint(outcome.error.code, ==, CJ2K_ERROR_DEVICE);
  fake_init(2); /* the memory of none */
  outcome = encode(&film, &way, NULL);
  g_assert_cmpuint(outcome.failed, ==, FRAMES);
  g_assert_cmpint(outcome.error.code, ==, CJ2K_ERROR_ARGUMENT);
  film_clear(&film);
}

/* The same for decoding: equality, and a device that dies at each call. */
static void test_decode(void)
{
  const Way one = {NULL, 1, -1};
  char *digests[FRAMES];
  guint redone = 0;
  Film film;

  film_init(&film, all_options[1]);
  fake_init(1);
  g_assert_cmpuint(decode(&film, &one, digests, true).failed, ==, 0);
  for (uint32_t in_flight = 1; in_flight <= 16; in_flight += 3) {
    const Way way = {"2,0,1", in_flight, -1};
    fake_init(3);
    Outcome outcome = decode(&film, &way, digests, false);
    g_assert_cmpuint(outcome.failed + outcome.redone, ==, 0);
    g_assert_cmpuint(frames_of_all(), ==, FRAMES);
    g_assert_cmpuint(prefetched_of_all(), ==, FRAMES);
    for (guint i = 0; i < 3; i++)
      g_assert_cmpint(fake_devices[i].abandoned, ==, 0);
  }
  gint n = 0, step = (gint)test_effort(3, 1, 1);
  for (bool died = true; died || n <= LEAST_CALL; n += step) {
    const Way way = {"all", 1 + (guint)n % 4, -1};
    fake_init(2);
    g_atomic_int_set(&fake_devices[0].calls_left, n);
    Outcome outcome = decode(&film, &way, digests, false);
    died = fake_devices[0].dead;
    g_assert_cmpuint(outcome.failed, ==, 0);
    g_assert_cmpuint(outcome.stats.devices, ==, died ? 1 : 2);
    if (outcome.redone)
      g_assert_nonnull(strstr(outcome.error.text, "fake device 0 is dead"));
    g_assert_cmpint(fake_devices[0].abandoned, >=, (gint)outcome.redone);
    g_assert_cmpint(fake_devices[1].abandoned, ==, 0);
    redone += outcome.redone;
    g_assert_cmpint(n, <, MOST_CALL);
  }
  g_assert_cmpuint(redone, >, 0);
  fake_init(2);
  g_atomic_int_set(&fake_devices[0].calls_left, 4);
  g_atomic_int_set(&fake_devices[1].calls_left, 4);
  const Way way = {"all", 3, -1};
  Outcome outcome = decode(&film, &way, digests, false);
  g_assert_cmpuint(outcome.failed, >, 0);
  g_assert_cmpint(outcome.error.code, ==, CJ2K_ERROR_DEVICE);
  for (guint i = 0; i < FRAMES; i++)
    g_free(digests[i]);
  film_clear(&film);
}

/* Whether a device dies when a frame starts or while it is waited for: the frame is done again. */
static void test_decode_redone(void)
{
  const Way one = {NULL, 1, -1}, way = {"all", 1, -1};
  char *digests[FRAMES];
  Film film;

  film_init(&film, all_options[1]);
  fake_init(1);
  g_assert_cmpuint(decode(&film, &one, digests, true).failed, ==, 0);
  for (gint n = 1; n < 5; n++) { /* call 0 makes the slot */
    fake_init(2);
    g_atomic_int_set(&fake_devices[0].calls_left, n);
    Outcome outcome = decode(&film, &way, digests, false);
    g_assert_cmpuint(outcome.failed, ==, 0);
    g_assert_cmpuint(outcome.redone, ==, 1);
    g_assert_cmpuint(outcome.stats.redone_frames, ==, 1);
    g_assert_nonnull(strstr(outcome.error.text, "fake device 0 is dead"));
  }
  for (guint i = 0; i < FRAMES; i++)
    g_free(digests[i]);
  film_clear(&film);
}

/* Three devices. Those whose bit is set in `mask` cannot be opened. */
static void fake_left_out(guint mask)
{
  fake_init(3);
  for (guint i = 0; i < 3; i++)
    fake_devices[i].unusable = mask >> i & 1;
}

/* What is true of a codec with 8 frames in flight on those devices while it is open. */
static void check_left_out(guint mask, const Cj2kStats *stats, const char *why_cpu,
                           const Cj2kError *error)
{
  guint usable = 3 - (mask & 1) - (mask >> 1 & 1) - (mask >> 2 & 1);

  g_assert_cmpuint(stats->devices, ==, usable);
  g_assert_cmpuint(stats->lost_devices, ==, 0);
  g_assert_null(why_cpu);
  g_assert_cmpint(error->code, ==, CJ2K_OK);
  for (guint i = 0; i < 3; i++) {
    bool used = !(mask >> i & 1);
    g_assert_cmpuint(cj2k_devices_codecs((int)i), ==, used);
    g_assert_cmpint(fake_devices[i].in_flight, ==, used ? (gint)cj2k_several_share(8, usable) : 0);
  }
}

static void encode_left_out(const Film *film, guint mask)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kStats stats;

  cj2k_encoder_params_init(&params);
  params.cuda_devices = "all";
  params.frames_in_flight = 8;
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&params, &film->pictures[0].image, &film->pictures[0].layout, &error);
  g_assert_nonnull(encoder);
  cj2k_encoder_get_stats(encoder, &stats);
  check_left_out(mask, &stats, cj2k_encoder_why_cpu(encoder), &error);
  cj2k_encoder_close(encoder);
}

static void decode_left_out(guint mask)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  Cj2kStats stats;

  cj2k_decoder_params_init(&params);
  params.cuda_devices = "all";
  params.frames_in_flight = 8;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  cj2k_decoder_get_stats(decoder, &stats);
  check_left_out(mask, &stats, cj2k_decoder_why_cpu(decoder), &error);
  cj2k_decoder_close(decoder);
}

/* Of "all", a device that cannot be opened is not counted, the others are prepared for its share,
 * and with the back end "auto" nothing says that the CPU was taken. */
static void test_left_out(void)
{
  const Way way = {"all", 8, -1};
  Film film;

  film_init(&film, all_options[1]);
  for (guint mask = 0; mask < 7; mask++) {
    fake_left_out(mask);
    encode_left_out(&film, mask);
    fake_left_out(mask);
    decode_left_out(mask);
    Outcome outcome = encode(&film, &way, NULL);
    g_assert_cmpuint(outcome.failed + outcome.redone, ==, 0);
    g_assert_cmpuint(frames_of_all(), ==, FRAMES);
    for (int i = 0; i < 3; i++)
      g_assert_cmpuint(cj2k_devices_codecs(i), ==, 0);
  }
  film_clear(&film);
}

/* A context is given to the device that it belongs to, and to no other. */
static void test_context(void)
{
  Cj2kDecoderParams decoder_params;
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error;
  int context = 0;

  test_picture_init(&picture, SCENE_SINE, WIDTH, HEIGHT, 3, 8, false, NULL, NULL, 0, 0);
  cj2k_decoder_params_init(&decoder_params);
  cj2k_encoder_params_init(&params);
  params.backend = decoder_params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_devices = decoder_params.cuda_devices = "2,1,0";
  params.cuda_device = decoder_params.cuda_device = 1;
  params.cuda_context = decoder_params.cuda_context = &context;
  for (guint kind = 0; kind < 2; kind++) {
    fake_init(3);
    if (kind == 0)
      cj2k_decoder_close(cj2k_decoder_open(&decoder_params, &error));
    else
      cj2k_encoder_close(cj2k_encoder_open(&params, &picture.image, &picture.layout, &error));
    for (guint i = 0; i < 3; i++)
      g_assert_true(g_atomic_pointer_get(&fake_devices[i].context) == (i == 1 ? &context : NULL));
  }
  test_picture_clear(&picture);
}

/* ------------------------------------------------------------------------- frames in flight --- */

/* Encodes frames `first` to `end` with `in_flight`. */
static void encode_some(Film *film, Cj2kEncoder *encoder, uint32_t in_flight, guint first,
                        guint end)
{
  Outcome outcome = {0};
  Cj2kError error;

  g_assert_cmpint(cj2k_encoder_set_frames_in_flight(encoder, in_flight, &error), ==, CJ2K_OK);
  for (guint i = first; i < end + in_flight; i++) {
    if (i >= first + in_flight && i - in_flight < end)
      check_packet(film, NULL, i - in_flight, encoder, &outcome);
    if (i < end)
      g_assert_cmpint(cj2k_encoder_submit(encoder, &film->pictures[i % PICTURES].picture,
                                          GUINT_TO_POINTER(i), NULL),
                      ==, CJ2K_OK);
  }
  g_assert_cmpuint(outcome.failed, ==, 0);
}

/* The number of frames in flight changes between frames: the bytes do not. */
static void test_change_encoder(gconstpointer data)
{
  Cj2kEncoderParams params;
  Cj2kError error;
  Cj2kStats stats;
  Film film;

  film_init(&film, data);
  fake_init(2);
  for (guint kind = 0; kind < 2; kind++) {
    cj2k_encoder_params_init(&params);
    params.backend = kind ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU;
    params.cuda_devices = kind ? "0,1" : NULL;
    params.frames_in_flight = 1;
    params.num_threads = 3;
    test_set_options(&params, film.options);
    Cj2kEncoder *encoder =
        cj2k_encoder_open(&params, &film.pictures[0].image, &film.pictures[0].layout, &error);
    g_assert_nonnull(encoder);
    encode_some(&film, encoder, 1, 0, 2);
    encode_some(&film, encoder, 4, 2, 5);
    cj2k_encoder_get_stats(encoder, &stats);
    g_assert_cmpuint(stats.frames_in_flight, ==, 4);
    g_assert_cmpuint(stats.frames, ==, 5);
    g_assert_cmpint(cj2k_encoder_set_frames_in_flight(encoder, 0, &error), ==, CJ2K_ERROR_ARGUMENT);
    g_assert_cmpint(cj2k_encoder_set_frames_in_flight(encoder, CJ2K_MAX_IN_FLIGHT + 1, &error), ==,
                    CJ2K_ERROR_ARGUMENT);
    g_assert_cmpint(cj2k_encoder_submit(encoder, &film.pictures[5 % PICTURES].picture,
                                        GUINT_TO_POINTER(5), NULL),
                    ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_set_frames_in_flight(encoder, 2, &error), ==, CJ2K_ERROR_ARGUMENT);
    Outcome outcome = {0};
    check_packet(&film, NULL, 5, encoder, &outcome);
    encode_some(&film, encoder, 2, 6, FRAMES);
    cj2k_encoder_close(encoder);
  }
  film_clear(&film);
}

/* Decodes frames `first` to `end` with `in_flight`. */
static void decode_some(const Film *film, Cj2kDecoder *decoder, char **digests, uint32_t in_flight,
                        guint first, guint end)
{
  Outcome outcome = {0};
  Cj2kError error;

  g_assert_cmpint(cj2k_decoder_set_frames_in_flight(decoder, in_flight, &error), ==, CJ2K_OK);
  for (guint i = first; i < end + in_flight; i++) {
    if (i >= first + in_flight && i - in_flight < end)
      check_frame(digests, false, i - in_flight, decoder, &outcome);
    if (i >= end)
      continue;
    gsize size;
    const uint8_t *bytes = g_bytes_get_data(film->coded[i], &size);
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, bytes, size, NULL, NULL, GUINT_TO_POINTER(i), NULL), ==,
        CJ2K_OK);
  }
  g_assert_cmpuint(outcome.failed, ==, 0);
}

static void test_change_decoder(void)
{
  const Way one = {NULL, 1, -1};
  char *digests[FRAMES];
  Cj2kError error;
  Film film;

  film_init(&film, all_options[2]);
  fake_init(2);
  g_assert_cmpuint(decode(&film, &one, digests, true).failed, ==, 0);
  for (guint kind = 0; kind < 2; kind++) {
    Cj2kDecoder *decoder = fake_open_decoder(kind ? "all" : NULL, 0, 1, &error);
    decode_some(&film, decoder, digests, 1, 0, 2);
    decode_some(&film, decoder, digests, 5, 2, 6);
    g_assert_cmpint(cj2k_decoder_set_frames_in_flight(decoder, 0, &error), ==, CJ2K_ERROR_ARGUMENT);
    g_assert_cmpint(cj2k_decoder_set_frames_in_flight(decoder, CJ2K_MAX_IN_FLIGHT + 1, &error), ==,
                    CJ2K_ERROR_ARGUMENT);
    g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, NULL, NULL, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_decoder_set_frames_in_flight(decoder, 1, &error), ==, CJ2K_ERROR_ARGUMENT);
    cj2k_decoder_drop(decoder);
    decode_some(&film, decoder, digests, 2, 6, FRAMES);
    cj2k_decoder_close(decoder);
  }
  for (guint i = 0; i < FRAMES; i++)
    g_free(digests[i]);
  film_clear(&film);
}

/* ------------------------------------------------------------------------------ many codecs --- */

#define THREADS 6
#define ROUNDS  4

/* A thread that opens, uses and closes codecs, again and again. */
static gpointer come_and_go(gpointer data)
{
  static const char *const devices[] = {"all", "0,2", "1", NULL};
  const Film *film = ((gpointer *)data)[0];
  guint number = GPOINTER_TO_UINT(((gpointer *)data)[1]);

  for (guint round = 0; round < ROUNDS; round++) {
    Film own = *film;
    const Way way = {devices[(number + round) % 4], 1 + (number + round) % 3, -1};
    int reserved = cj2k_device_reserve(NULL, NULL);
    Outcome outcome = encode(&own, &way, NULL);
    g_assert_cmpuint(outcome.failed, ==, 0);
    cj2k_device_release(reserved);
  }
  return NULL;
}

/* Codecs on the same devices come and go in many threads, beside a stream that stands still because
 * nobody receives its frames: all others get all their frames, and no codec is counted in the end.
 */
static void test_many(void)
{
  GThread *threads[THREADS];
  gpointer data[THREADS][2];
  Cj2kEncoderParams params;
  Cj2kError error;
  Film film;

  film_init(&film, all_options[1]);
  fake_init(3);
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_devices = "all";
  params.frames_in_flight = 4;
  params.num_threads = 2;
  Cj2kEncoder *still =
      cj2k_encoder_open(&params, &film.pictures[0].image, &film.pictures[0].layout, &error);
  for (guint i = 0; i < params.frames_in_flight; i++)
    cj2k_encoder_submit(still, &film.pictures[0].picture, NULL, NULL);
  for (guint i = 0; i < THREADS; i++) {
    data[i][0] = &film;
    data[i][1] = GUINT_TO_POINTER(i);
    threads[i] = g_thread_new("codecs", come_and_go, data[i]);
  }
  for (guint i = 0; i < THREADS; i++)
    g_thread_join(threads[i]);
  cj2k_encoder_close(still); /* with all its frames */
  for (int i = 0; i < 3; i++)
    g_assert_cmpuint(cj2k_devices_codecs(i), ==, 0);
  film_clear(&film);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(all_options); i++) {
    static const char *const names[] = {"lossless", "mq", "ht", "slices"};
    char *path = g_strdup_printf("/devices/encode/%s/equal", names[i]);
    g_test_add_data_func(path, all_options[i], test_equal);
    g_free(path);
    path = g_strdup_printf("/devices/encode/%s/change", names[i]);
    g_test_add_data_func(path, all_options[i], test_change_encoder);
    g_free(path);
    path = g_strdup_printf("/devices/encode/%s/death", names[i]);
    g_test_add_data_func(path, all_options[i], test_death);
    g_free(path);
  }
  g_test_add_func("/devices/encode/end", test_encode_end);
  g_test_add_func("/devices/encode/memory", test_encode_memory);
  g_test_add_func("/devices/encode/placed", test_placed);
  g_test_add_func("/devices/decode", test_decode);
  g_test_add_func("/devices/decode-redone", test_decode_redone);
  g_test_add_func("/devices/left-out", test_left_out);
  g_test_add_func("/devices/context", test_context);
  g_test_add_func("/devices/many", test_many);
  g_test_add_func("/devices/change-decoder", test_change_decoder);
  return g_test_run();
}
