/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames in slices: the slices together are the codestream that is delivered whole, the same at
 * every number of threads and of frames in flight; no frame exceeds its budget; parts of it can be
 * decoded as they come.
 *
 * test-slices [--backend cuda] [GLib's options]: the bytes of this back end are compared with those
 * of the CPU.
 */
#include "common/encoder/encoder.h"
#include "effort.h"
#include "encoder-pictures.h"

static Cj2kBackendKind tested;

#define HT "progression-order=pcrl block-coder=ht slices=true "
#define MQ "progression-order=pcrl block-coder=mq slices=true "
#define PRECINCTS                                                                                  \
  "num-resolutions=4 precincts=1024x32,512x16,256x8,128x4 codeblock-width=128 codeblock-height=16 "

typedef struct {
  const char *name, *options;
  uint32_t width, height, components, x0, y0;
  bool halved;
  uint64_t budget; /* bytes a frame, 0: none */
} Case;

static const Case cases[] = {
    {"cbr", HT PRECINCTS "max-frame-bytes=15000", 203, 250, 3, 0, 0, false, 15000},
    {"cbr-little", HT PRECINCTS "sop=true eph=true max-frame-bytes=1500", 203, 250, 3, 0, 0, true,
     1500},
    {"cbr-much", HT PRECINCTS "max-frame-bytes=1000000", 203, 250, 3, 0, 0, false, 1000000},
    {"cbr-one-slice", HT "max-frame-bytes=5000", 100, 90, 1, 0, 0, false, 5000},
    {"lossless", HT PRECINCTS "rate-control=lossless sop=true", 203, 251, 3, 0, 0, true, 0},
    {"quality", HT PRECINCTS "quality=80 image-offset-x=3 image-offset-y=37", 120, 141, 3, 3, 37,
     false, 0},
    {"mq",
     "progression-order=pcrl slices=true num-resolutions=3 precincts=64x32,32x16 codeblock-style=bypass+termall quality=70",
     120, 141, 3, 0, 0, true, 0},
    {"mq-cbr", MQ PRECINCTS "max-frame-bytes=15000", 203, 250, 3, 0, 0, false, 15000},
    {"mq-cbr-little", MQ PRECINCTS "sop=true eph=true max-frame-bytes=1500", 203, 250, 3, 0, 0,
     true, 1500},
    {"mq-cbr-much", MQ PRECINCTS "max-frame-bytes=1000000", 203, 250, 3, 0, 0, false, 1000000},
    {"mq-cbr-bypass",
     MQ PRECINCTS "codeblock-style=bypass+termall image-offset-x=3 image-offset-y=37 "
                  "max-frame-bytes=9000",
     120, 141, 3, 3, 37, true, 9000},
    {"mq-cbr-raw", MQ PRECINCTS "codeblock-style=bypass max-frame-bytes=20000", 203, 250, 3, 0, 0,
     true, 20000},
    {"mq-one-slice", MQ "max-frame-bytes=5000", 100, 90, 1, 0, 0, false, 5000},
    {"psnr", HT PRECINCTS "psnr=40 image-offset-x=1 image-offset-y=63", 203, 250, 3, 1, 63, true,
     0},
    {"best", HT PRECINCTS "rate-effort=best max-frame-bytes=15000", 203, 250, 3, 0, 0, true, 15000},
    {"best-quality", HT PRECINCTS "rate-effort=best quality=80 image-offset-x=3 image-offset-y=37",
     120, 141, 3, 3, 37, false, 0},
    {"single-row", HT PRECINCTS "quality=80 image-offset-y=31", 203, 1, 3, 0, 31, false, 0},
    {"narrow", HT "num-resolutions=6 precincts=64x64,32x32,16x16,8x8,4x4,2x2 rate-control=lossless",
     1, 301, 3, 0, 0, false, 0},
    {"one-level", HT "num-resolutions=2 precincts=32x16,64x2 quality=90 image-offset-y=15", 60, 97,
     1, 0, 15, false, 0},
    {"no-level", HT "num-resolutions=1 precincts=32x16 quality=90 image-offset-y=15", 60, 97, 3, 0,
     15, true, 0},
    {"uneven", HT "num-resolutions=4 precincts=256x16,256x64,256x2,256x1 quality=90", 60, 197, 3, 0,
     0, true, 0},
    {"one-sample", HT "rate-control=lossless", 1, 1, 1, 0, 0, false, 0},
};

#define FRAMES 12

typedef struct {
  GByteArray *frames[FRAMES];
  uint32_t slices[FRAMES];
  bool ended[FRAMES];
  uint32_t last; /* frame whose slices came last */
} Taken;

static void take(void *slice_user, void *user, const uint8_t *data, size_t size, bool last)
{
  Taken *taken = slice_user;
  uint32_t frame = GPOINTER_TO_UINT(user);
  g_assert_cmpuint(frame, >=, taken->last); /* one frame after the other */
  g_assert_false(taken->ended[frame]);
  taken->last = frame;
  taken->ended[frame] = last;
  taken->slices[frame]++;
  g_byte_array_append(taken->frames[frame], data, (guint)size);
}

/* Changes the picture from frame to frame, and the scene in the middle. */
static void change_picture(TestPicture *picture, uint32_t frame)
{
  for (uint32_t c = 0; c < picture->num_components; c++) {
    uint32_t h = picture->components[c].y1 - picture->components[c].y0;
    uint16_t *words = picture->planes[c].data;
    size_t n = picture->planes[c].pitch / 2 * h;
    for (size_t i = 0; i < n; i++)
      words[i] = frame == FRAMES / 2 ? (uint16_t)((i * 2654435761u >> 7) & 1023)
                                     : (uint16_t)((words[i] + frame * (i / 512 % 3)) & 1023);
  }
}

typedef struct {
  Cj2kBackendKind backend;
  uint32_t threads, in_flight;
  bool callback;
  bool whole;   /* the back end codes whole frames, as several GPUs do */
  bool before;  /* the whole picture is transformed before the first slice */
  bool at_once; /* MQ blocks of all slices that are there are coded together */
} Way;

static gint code_calls;
static Cj2kStatus (*code)(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                          Cj2kError *error);

static Cj2kStatus count_and_code(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                                 Cj2kError *error)
{
  g_atomic_int_inc(&code_calls);
  return code(backend, slot, job, error);
}

static void encode(const Case *c, const Way *way, GBytes *out[FRAMES])
{
  static const uint8_t halves[] = {1, 2, 2};
  Cj2kEncoderParams params;
  TestPicture pictures[FRAMES];
  Taken taken = {0};
  Cj2kError error = {0};

  cj2k_encoder_params_init(&params);
  test_set_options(&params, c->options);
  params.backend = way->backend;
  params.num_threads = way->threads;
  params.frames_in_flight = way->in_flight;
  params.slice_ready = way->callback ? take : NULL;
  params.slice_user = &taken;
  for (uint32_t i = 0; i < FRAMES; i++) {
    taken.frames[i] = g_byte_array_new();
    test_picture_init(&pictures[i], SCENE_NATURAL, c->width, c->height, c->components, 10, false,
                      c->halved ? halves : NULL, c->halved ? halves : NULL, c->x0, c->y0);
    change_picture(&pictures[i], i);
  }
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&params, &pictures[0].image, &pictures[0].layout, &error);
  if (!encoder)
    g_error("%s: %s", c->name, error.text);
  Cj2kEncodeBackend functions = *encoder->backend.functions;
  functions.takes_ht_blocks = functions.takes_ht_blocks && !way->whole;
  functions.takes_mq_blocks = functions.takes_mq_blocks && !way->whole;
  if (way->whole || way->before)
    functions.transform_rows = NULL;
  functions.rows_at_once |= way->at_once;
  code_calls = 0;
  code = functions.code;
  functions.code = count_and_code;
  encoder->backend.functions = &functions;
  for (uint32_t sent = 0, got = 0; got < FRAMES; got++) {
    for (; sent < FRAMES && sent < got + way->in_flight; sent++)
      g_assert_cmpint(
          cj2k_encoder_submit(encoder, &pictures[sent].picture, GUINT_TO_POINTER(sent), &error), ==,
          CJ2K_OK);
    Cj2kPacket packet;
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    if (packet.status != CJ2K_OK || packet.fallback)
      g_error("%s: %s", c->name, packet.error.text);
    out[got] = g_bytes_new(packet.data, packet.size);
    if (way->callback) {
      g_assert_cmpmem(packet.data, packet.size, taken.frames[got]->data, taken.frames[got]->len);
      g_assert_true(taken.ended[got]);
      if (strstr(c->options, "precincts"))
        g_assert_cmpuint(taken.slices[got], >, c->height / 64);
    }
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  /* One call a picture; with a budget the first one searches steps. */
  if (way->at_once && !strstr(c->options, "block-coder=ht"))
    g_assert_cmpint(code_calls, <=, c->budget ? FRAMES + 13 : FRAMES);
  for (uint32_t i = 0; i < FRAMES; i++) {
    g_byte_array_unref(taken.frames[i]);
    test_picture_clear(&pictures[i]);
  }
}

/* The error of a frame, strictly decoded. */
static double decoded_error(const Case *c, GBytes *bytes, uint32_t frame)
{
  static const uint8_t halves[] = {1, 2, 2};
  TestPicture picture;
  test_picture_init(&picture, SCENE_NATURAL, c->width, c->height, c->components, 10, false,
                    c->halved ? halves : NULL, c->halved ? halves : NULL, c->x0, c->y0);
  change_picture(&picture, frame);
  double error = test_error(&picture, bytes, 0);
  test_picture_clear(&picture);
  return error;
}

/* Lossless frames have their samples. */
static void check_error(const Case *c, GBytes *bytes, uint32_t frame)
{
  double error = decoded_error(c, bytes, frame);
  if (strstr(c->options, "lossless"))
    g_assert_true(error == 0);
  else if (frame != FRAMES / 2 && c->budget != 1500)
    g_assert_cmpfloat(error, <, 0.004);
}

static void test_bytes(gconstpointer data)
{
  const Case *c = data;
  GBytes *first[FRAMES], *other[FRAMES];
  encode(c, &(Way){CJ2K_BACKEND_CPU, 1, 1, true, false, false}, first);
  for (uint32_t i = 0; i < FRAMES; i++) {
    if (c->budget)
      g_assert_cmpuint(g_bytes_get_size(first[i]), <=, c->budget);
    g_test_message("frame %u: %u bytes", i, (unsigned)g_bytes_get_size(first[i]));
    if (c->budget && c->budget < 100000 && i != FRAMES / 2)
      g_assert_cmpuint(g_bytes_get_size(first[i]), >, c->budget / 2);
    check_error(c, first[i], i);
  }
  const Way ways[] = {
      {tested, 3, 1, true, false, false},
      {tested, 3, 3, true, false, false},
      {tested, 1, 4, true, false, false},
      {tested, 2, 2, false, false, false},
      {tested, 2, 2, true, true, false},
      {tested, 2, 1, true, false, true},
      {.backend = tested, .threads = 2, .in_flight = 3, .callback = true, .at_once = true}};
  for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
    encode(c, &ways[w], other);
    for (uint32_t i = 0; i < FRAMES; i++) {
      g_assert_true(g_bytes_equal(first[i], other[i]));
      g_bytes_unref(other[i]);
    }
  }
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(first[i]);
}

/* The largest error of the first scene's frames in this budget. No frame but that of the cut leaves
 * more than a tenth of it unused. */
static double worst_error(const char *coder, uint64_t budget)
{
  gchar *options = g_strdup_printf("block-coder=%s slices=true latency-profile=low "
                                   "max-frame-bytes=%" G_GUINT64_FORMAT,
                                   coder, budget);
  const Case c = {"budgets", options, 320, 148, 1, 0, 0, false, budget};
  GBytes *frames[FRAMES];
  double worst = 0;
  encode(&c, &(Way){CJ2K_BACKEND_CPU, 1, 1, true, false, false}, frames);
  for (uint32_t i = 0; i < FRAMES; i++) {
    size_t size = g_bytes_get_size(frames[i]);
    g_assert_cmpuint(size, <=, budget);
    if (i != FRAMES / 2)
      g_assert_cmpuint(size, >=, budget * 9 / 10);
    if (i < FRAMES / 2)
      worst = MAX(worst, decoded_error(&c, frames[i], i));
    g_bytes_unref(frames[i]);
  }
  g_free(options);
  return worst;
}

/* A larger budget gives no worse pictures. The blocks are wide, so that each of them is a large
 * part of the last slice. */
static void test_budgets(gconstpointer coder)
{
  uint64_t step = (uint64_t)test_effort(549, 183, 61);
  double least = 1;
  for (uint64_t budget = 4122; budget <= 9429; budget += step) {
    double error = worst_error(coder, budget);
    g_assert_cmpfloat(error, <, 1.1 * least);
    least = MIN(least, error);
  }
}

#define CUT       3 /* first frame behind the cut of test_cut */
#define CUT_END   14
#define CUT_BYTES 6144
/* Greatest errors, relative to that of a frame without a cut. */
#define MAX_CUT       1.5
#define MAX_RECOVERED 1.1

/* Encodes frames of `before`, then of `after`, from CUT on. whole: as in Way. */
static void encode_cut(const char *coder, const TestPicture *before, const TestPicture *after,
                       bool whole, GBytes *out[CUT_END])
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  cj2k_encoder_params_init(&params);
  test_set_options(&params, "latency-profile=low");
  test_set_options(&params, coder);
  params.max_frame_bytes = CUT_BYTES;
  params.backend = CJ2K_BACKEND_CPU;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &after->image, &after->layout, &error);
  g_assert_nonnull(encoder);
  Cj2kEncodeBackend functions = *encoder->backend.functions;
  functions.takes_ht_blocks = functions.takes_ht_blocks && !whole;
  functions.takes_mq_blocks = functions.takes_mq_blocks && !whole;
  if (whole)
    functions.transform_rows = NULL;
  encoder->backend.functions = &functions;
  for (uint32_t i = 0; i < CUT_END; i++) {
    Cj2kPacket packet;
    const TestPicture *picture = i < CUT ? before : after;
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture->picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    out[i] = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
}

/* Behind a cut from black to noise, with steps that are too fine by more planes than are measured
 * at once, frames lose planes, but no blocks. The first frame that learns from them is nearly as
 * good as one without a cut. */
static void test_cut(gconstpointer coder)
{
  TestPicture black, noise;
  GBytes *alone[CUT_END], *frames[CUT_END], *whole[CUT_END];
  test_picture_init(&black, SCENE_BLACK, 128, 192, 1, 12, false, NULL, NULL, 0, 0);
  test_picture_init(&noise, SCENE_NOISE, 128, 192, 1, 12, false, NULL, NULL, 0, 0);
  encode_cut(coder, &noise, &noise, false, alone);
  encode_cut(coder, &black, &noise, false, frames);
  encode_cut(coder, &black, &noise, true, whole);
  double good = test_error(&noise, alone[0], 0);
  bool ht = strstr(coder, "ht") != NULL;
  /* the first frame that learns from one behind the cut */
  uint32_t recovered = CUT + (ht ? CJ2K_RATE_LAG_HT : CJ2K_RATE_LAG_MQ);
  for (uint32_t i = 0; i < CUT_END; i++) {
    size_t size = g_bytes_get_size(frames[i]);
    double error = test_error(i < CUT ? &black : &noise, frames[i], 0);
    g_test_message("frame %u: %zu bytes, error %.5f, alone %.5f", i, size, error, good);
    g_assert_cmpuint(size, <=, CUT_BYTES);
    g_assert_true(g_bytes_equal(frames[i], whole[i]));
    if (i >= CUT)
      g_assert_cmpfloat(error, <, (i < recovered ? MAX_CUT : MAX_RECOVERED) * good);
    if (i >= recovered)
      g_assert_cmpuint(size, >=, CUT_BYTES * 9 / 10);
    g_bytes_unref(alone[i]);
    g_bytes_unref(frames[i]);
    g_bytes_unref(whole[i]);
  }
  test_picture_clear(&black);
  test_picture_clear(&noise);
}

/* ------------------------------------------------------------------------------- buffer --- */

#define BUFFER_WIDTH  200
#define BUFFER_HEIGHT 256
#define BUFFER_BYTES  9000
#define BUFFER_SLICE  32 /* rows */

typedef struct {
  uint32_t lines;
  size_t sent; /* bytes of the frame so far */
  uint32_t slices;
} Buffer;

/* No slice is ahead of the constant rate by more than the buffer. */
static void take_buffered(void *slice_user, void *user, const uint8_t *data, size_t size, bool last)
{
  Buffer *buffer = slice_user;
  (void)user, (void)data;
  buffer->sent += size;
  buffer->slices++;
  size_t rows = MIN(buffer->slices * BUFFER_SLICE + buffer->lines, BUFFER_HEIGHT);
  size_t end = last ? 2 : 0; /* EOC counts to the budget, and so to the last slice */
  g_assert_cmpuint(buffer->sent, <=, BUFFER_BYTES * rows / BUFFER_HEIGHT + end);
}

/* A picture that is hard where it begins: noise above, waves below. */
static void make_uneven(TestPicture *picture)
{
  test_picture_init(picture, SCENE_SINE, BUFFER_WIDTH, BUFFER_HEIGHT, 1, 10, false, NULL, NULL, 0,
                    0);
  uint16_t *words = picture->planes[0].data;
  size_t n = picture->planes[0].pitch / 2 * (BUFFER_HEIGHT / 3);
  for (size_t i = 0; i < n; i++)
    words[i] = (uint16_t)((i * 2654435761u >> 7) & 1023);
}

/* The error of the last of some frames. whole: as in Way. */
static double buffered_error(const char *coder, uint32_t lines, bool whole, GBytes **bytes)
{
  Buffer buffer = {.lines = lines ? lines : BUFFER_HEIGHT};
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};
  make_uneven(&picture);
  cj2k_encoder_params_init(&params);
  test_set_options(&params, MQ PRECINCTS);
  test_set_options(&params, coder);
  params.max_frame_bytes = BUFFER_BYTES;
  params.slice_buffer_lines = lines;
  params.backend = tested;
  params.slice_ready = take_buffered;
  params.slice_user = &buffer;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  if (!encoder)
    g_error("%s", error.text);
  Cj2kEncodeBackend functions = *encoder->backend.functions;
  functions.takes_ht_blocks = functions.takes_ht_blocks && !whole;
  functions.takes_mq_blocks = functions.takes_mq_blocks && !whole;
  encoder->backend.functions = &functions;
  for (uint32_t i = 0; i < CUT_END; i++) {
    Cj2kPacket packet;
    g_clear_pointer(bytes, g_bytes_unref);
    buffer.sent = buffer.slices = 0;
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    if (packet.status != CJ2K_OK)
      g_error("%s", packet.error.text);
    g_assert_cmpuint(buffer.slices, ==, BUFFER_HEIGHT / BUFFER_SLICE);
    g_assert_cmpuint(packet.size, <=, BUFFER_BYTES);
    *bytes = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  double result = test_error(&picture, *bytes, 0);
  test_picture_clear(&picture);
  return result;
}

/* A larger buffer gives no worse pictures, and the one of the whole picture is as none. */
static void test_buffer(gconstpointer coder)
{
  static const uint32_t lines[] = {1, 16, 48, 96, 256, 0};
  double least = 1;
  GBytes *bytes = NULL, *whole = NULL, *before = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
    double error = buffered_error(coder, lines[i], false, &bytes);
    g_assert_true(buffered_error(coder, lines[i], true, &whole) == error);
    g_assert_true(g_bytes_equal(bytes, whole));
    g_test_message("%u lines: %zu bytes, error %.5f", lines[i], g_bytes_get_size(bytes), error);
    g_assert_cmpfloat(error, <, 1.03 * least);
    least = MIN(least, error);
    if (!lines[i])
      g_assert_true(g_bytes_equal(bytes, before));
    g_clear_pointer(&before, g_bytes_unref);
    before = g_bytes_ref(bytes);
  }
  g_bytes_unref(bytes);
  g_bytes_unref(whole);
  g_bytes_unref(before);
}

/* What slices exclude is refused with a reason. */
static void test_refused(void)
{
  static const char *const options[] = {
      "slices=true",
      "slices=true progression-order=pcrl tile-width=32",
      "slices=true progression-order=pcrl tile-parts=resolution",
      "slices=true progression-order=pcrl num-layers=2",
      "slices=true progression-order=pcrl tlm=true",
      "slices=true progression-order=pcrl plt=true",
      "slices=true progression-order=pcrl quality=80 max-frame-bytes=4000",
      "slices=true progression-order=pcrl slice-buffer-lines=8",
      "max-frame-bytes=4000 slice-buffer-lines=8",
      "slices=true progression-order=pcrl average-bitrate=1000 framerate=25",
      "slices=true progression-order=pcrl block-coder=ht rate-control=lossless max-frame-bytes=4000",
  };
  TestPicture picture;
  test_picture_init(&picture, SCENE_NATURAL, 64, 64, 1, 8, false, NULL, NULL, 0, 0);
  for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
    Cj2kEncoderParams params;
    Cj2kError error = {0};
    cj2k_encoder_params_init(&params);
    test_set_options(&params, options[i]);
    params.backend = tested;
    g_assert_null(cj2k_encoder_open(&params, &picture.image, &picture.layout, &error));
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
    g_assert_nonnull(strstr(error.text, "slices"));
  }
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  tested = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(tested))
    return 0;
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strconcat("/slices/", cases[i].name, NULL);
    g_test_add_data_func(path, &cases[i], test_bytes);
    g_free(path);
  }
  g_test_add_data_func("/slices/budgets/ht", "ht", test_budgets);
  g_test_add_data_func("/slices/budgets/mq", "mq", test_budgets);
  g_test_add_data_func("/slices/buffer/ht", "block-coder=ht", test_buffer);
  g_test_add_data_func("/slices/buffer/mq", "block-coder=mq", test_buffer);
  g_test_add_data_func("/slices/cut/ht", "block-coder=ht", test_cut);
  g_test_add_data_func("/slices/cut/mq", "block-coder=mq", test_cut);
  g_test_add_func("/slices/refused", test_refused);
  return g_test_run();
}
