/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures that come row by row: the bytes are those of pictures that are submitted whole, however
 * the rows come; each slice leaves as soon as the rows are there on which it depends; a frame can
 * be dropped at any time.
 *
 * test-rows [--backend cuda] [GLib's options].
 */
#include "common/encoder/encoder.h"
#include "encoder-pictures.h"

static Cj2kBackendKind tested;

#define HT     "progression-order=pcrl block-coder=ht slices=true "
#define LEVELS "num-resolutions=4 precincts=1024x32,512x16,256x8,128x4 "

typedef struct {
  const char *name, *options;
  uint32_t width, height, components, x0, y0;
  bool halved; /* components 1 and 2 are sub-sampled in both directions */
} Case;

static const Case cases[] = {
    {"quality", HT LEVELS "quality=80", 83, 250, 3, 0, 0, false},
    {"quality-420", HT LEVELS "quality=80", 83, 251, 3, 0, 0, true},
    {"offsets", HT LEVELS "quality=80 image-offset-x=3 image-offset-y=37", 60, 141, 3, 3, 37, true},
    {"odd-offset", HT LEVELS "rate-control=lossless image-offset-y=31", 60, 141, 1, 0, 31, false},
    {"lossless", HT LEVELS "rate-control=lossless sop=true", 60, 201, 3, 0, 0, true},
    {"cbr", HT LEVELS "max-frame-bytes=5000", 83, 250, 3, 0, 0, false},
    {"cbr-420", HT LEVELS "max-frame-bytes=3000", 83, 250, 3, 0, 0, true},
    {"psnr", HT LEVELS "psnr=40", 83, 150, 1, 0, 0, false},
    {"mq", "progression-order=pcrl slices=true num-resolutions=3 precincts=64x32,32x16 quality=70",
     60, 141, 3, 0, 0, true},
    {"mq-cbr", "progression-order=pcrl slices=true block-coder=mq " LEVELS "max-frame-bytes=5000",
     83, 250, 3, 0, 0, true},
    {"one-slice", HT "quality=70", 60, 90, 3, 0, 0, false},
    {"no-level", HT "num-resolutions=1 precincts=32x16 quality=90", 30, 97, 3, 0, 0, true},
    {"uneven", HT "num-resolutions=4 precincts=256x16,256x64,256x2,256x1 quality=90", 30, 197, 3, 0,
     0, true},
    {"low", "block-coder=ht latency-profile=low quality=80", 60, 400, 3, 0, 0, false},
    {"no-slices", "block-coder=ht max-frame-bytes=4000", 60, 90, 3, 0, 0, false},
    {"single-row", HT LEVELS "quality=80", 83, 1, 1, 0, 0, false},
    {"one-sample", HT "rate-control=lossless", 1, 1, 1, 0, 0, false},
};

#define FRAMES 4

/* ------------------------------------------------------------------------------- slices --- */

typedef struct {
  GMutex lock;
  GCond changed;
  GByteArray *bytes; /* of the frame at hand */
  uint32_t count;    /* slices of it */
  uint32_t failed, ended;
} Taken;

static void take(void *slice_user, void *user, const uint8_t *data, size_t size, bool last)
{
  Taken *taken = slice_user;
  (void)user;
  g_mutex_lock(&taken->lock);
  if (data)
    g_byte_array_append(taken->bytes, data, (guint)size);
  taken->count += data != NULL;
  taken->failed += !data;
  taken->ended += last;
  g_cond_broadcast(&taken->changed);
  g_mutex_unlock(&taken->lock);
}

static void taken_init(Taken *taken)
{
  *taken = (Taken){.bytes = g_byte_array_new()};
  g_mutex_init(&taken->lock);
  g_cond_init(&taken->changed);
}

static void taken_clear(Taken *taken)
{
  g_byte_array_unref(taken->bytes);
  g_mutex_clear(&taken->lock);
  g_cond_clear(&taken->changed);
}

static uint32_t slices_taken(Taken *taken)
{
  g_mutex_lock(&taken->lock);
  uint32_t count = taken->count;
  g_mutex_unlock(&taken->lock);
  return count;
}

/* Waits for so many slices of the frame at hand. */
static void wait_for_slices(Taken *taken, uint32_t count)
{
  gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
  g_mutex_lock(&taken->lock);
  while (taken->count < count)
    if (!g_cond_wait_until(&taken->changed, &taken->lock, end))
      g_error("%u slices of %u have left", taken->count, count);
  g_mutex_unlock(&taken->lock);
}

/* ----------------------------------------------------------------------------- pictures --- */

/* Changes samples from frame to frame, or makes all of them white. */
static void change_samples(TestPicture *picture, uint32_t frame, bool white)
{
  for (uint32_t i = 0; i < picture->num_components; i++) {
    uint32_t rows = picture->components[i].y1 - picture->components[i].y0;
    uint16_t *words = picture->planes[i].data;
    size_t n = picture->planes[i].pitch / 2 * rows;
    for (size_t k = 0; k < n; k++)
      /* The analyser takes planes of no rows for ones that were not written.
       * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
      words[k] = white ? 1023 : (uint16_t)((words[k] + frame * (k / 512 % 3)) & 1023);
  }
}

static void make_picture(TestPicture *picture, const Case *c, uint32_t frame)
{
  static const uint8_t halves[] = {1, 2, 2};
  test_picture_init(picture, SCENE_NATURAL, c->width, c->height, c->components, 10, false,
                    c->halved ? halves : NULL, c->halved ? halves : NULL, c->x0, c->y0);
  if (frame)
    change_samples(picture, frame, false);
}

/* Rows of component i that are there with so many rows of the picture. */
static uint32_t component_rows(const TestPicture *picture, const Case *c, uint32_t i, uint32_t rows)
{
  const Cj2kComponent *component = &picture->components[i];
  uint32_t count = 0;
  while (component->y0 + count < component->y1 &&
         (component->y0 + count) * component->dy < c->y0 + rows)
    count++;
  return count;
}

/* Copies rows `first` to `end` of the picture. What is not there yet is white, and would change the
 * bytes. */
static void copy_rows(TestPicture *to, const TestPicture *whole, const Case *c, uint32_t first,
                      uint32_t end)
{
  for (uint32_t i = 0; i < c->components; i++) {
    size_t pitch = whole->planes[i].pitch, from = pitch * component_rows(whole, c, i, first);
    size_t size = pitch * component_rows(whole, c, i, end) - from;
    memcpy((uint8_t *)to->planes[i].data + from, (const uint8_t *)whole->planes[i].data + from,
           size);
  }
}

/* ------------------------------------------------------------------------------ encoding --- */

static bool at_once; /* the back end gets all rows that are there, and MQ blocks of all slices */

static Cj2kEncoder *open_encoder(const Case *c, uint32_t threads, uint32_t in_flight, Taken *taken)
{
  static Cj2kEncodeBackend functions;
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};
  cj2k_encoder_params_init(&params);
  test_set_options(&params, c->options);
  params.backend = tested;
  params.num_threads = threads;
  params.frames_in_flight = in_flight;
  params.slice_ready = taken ? take : NULL;
  params.slice_user = taken;
  make_picture(&picture, c, 0);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  if (!encoder)
    g_error("%s: %s", c->name, error.text);
  test_picture_clear(&picture);
  functions = *encoder->backend.functions;
  functions.rows_at_once |= at_once;
  encoder->backend.functions = &functions;
  return encoder;
}

static GBytes *receive(Cj2kEncoder *encoder)
{
  Cj2kPacket packet;
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  if (packet.status != CJ2K_OK || packet.fallback)
    g_error("%s", packet.error.text);
  GBytes *bytes = g_bytes_new(packet.data, packet.size);
  cj2k_encoder_release(encoder, &packet);
  return bytes;
}

static void encode_whole(const Case *c, GBytes *out[FRAMES])
{
  Cj2kEncoder *encoder = open_encoder(c, 2, 1, NULL);
  Cj2kError error = {0};
  for (uint32_t i = 0; i < FRAMES; i++) {
    TestPicture picture;
    make_picture(&picture, c, i);
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    out[i] = receive(encoder);
    test_picture_clear(&picture);
  }
  cj2k_encoder_close(encoder);
}

/* How rows come. */
typedef struct {
  uint32_t threads, in_flight;
  uint32_t step;   /* rows at a time; 0: at random */
  bool only_begin; /* no row is announced before the end */
  bool mixed;      /* every other picture is submitted whole */
} Way;

static void send_rows(Cj2kEncoder *encoder, const Case *c, const Way *way, TestPicture *to,
                      const TestPicture *whole)
{
  Cj2kError error = {0};
  Cj2kPacket packet;
  g_assert_cmpint(cj2k_encoder_begin(encoder, &to->picture, to, &error), ==, CJ2K_OK);
  uint32_t rows = 0;
  while (rows < c->height && !way->only_begin) {
    uint32_t step = way->step ? way->step : (uint32_t)g_test_rand_int_range(0, 60);
    step = MIN(step, c->height - rows);
    copy_rows(to, whole, c, rows, rows + step);
    rows += step;
    g_assert_cmpint(cj2k_encoder_append(encoder, rows, &error), ==, CJ2K_OK);
    if (way->in_flight == 1) /* nothing can be received before the end */
      g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_END);
  }
  copy_rows(to, whole, c, rows, c->height);
  g_assert_cmpint(cj2k_encoder_end(encoder, &error), ==, CJ2K_OK);
}

static void encode_rows(const Case *c, const Way *way, GBytes *const expected[FRAMES])
{
  TestPicture whole[FRAMES], to[FRAMES];
  Cj2kEncoder *encoder = open_encoder(c, way->threads, way->in_flight, NULL);
  Cj2kError error = {0};
  for (uint32_t i = 0; i < FRAMES; i++) {
    make_picture(&whole[i], c, i);
    make_picture(&to[i], c, i);
    change_samples(&to[i], i, true);
  }
  for (uint32_t sent = 0, got = 0; got < FRAMES; got++) {
    for (; sent < FRAMES && sent < got + way->in_flight; sent++)
      if (way->mixed && sent % 2)
        g_assert_cmpint(cj2k_encoder_submit(encoder, &whole[sent].picture, NULL, &error), ==,
                        CJ2K_OK);
      else
        send_rows(encoder, c, way, &to[sent], &whole[sent]);
    GBytes *bytes = receive(encoder);
    g_assert_true(g_bytes_equal(bytes, expected[got]));
    g_bytes_unref(bytes);
  }
  cj2k_encoder_close(encoder);
  for (uint32_t i = 0; i < FRAMES; i++) {
    test_picture_clear(&whole[i]);
    test_picture_clear(&to[i]);
  }
}

static void test_bytes(gconstpointer data)
{
  static const Way ways[] = {{2, 1, 1, false, false},   {1, 1, 0, false, false},
                             {3, 2, 0, false, true},    {1, 3, 17, false, false},
                             {2, 2, 1000, false, true}, {2, 1, 0, true, false}};
  const Case *c = data;
  GBytes *expected[FRAMES];
  encode_whole(c, expected);
  for (size_t w = 0; w < 2 * G_N_ELEMENTS(ways); w++) {
    at_once = w % 2;
    encode_rows(c, &ways[w / 2], expected);
  }
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(expected[i]);
}

/* --------------------------------------------------------------------------- promptness --- */

/* The rows on which the slices up to the one that ends at row `end` of the components depend: row k
 * of the lowest of L levels is made of the rows up to 2^L k + reach (2^L - 1), where `reach` is 4
 * with the 9/7 filter and 2 with the 5/3. */
static uint32_t rows_needed(uint32_t end, uint32_t levels, uint32_t reach, uint32_t dy)
{
  uint32_t size = 1U << levels;
  uint32_t last = end - size + reach * (size - 1);
  return last * dy + 1;
}

typedef struct {
  const char *name, *options;
  uint32_t height, slice, levels, reach;
  bool halved;
  uint32_t first; /* frame at which it begins */
} Prompt;

static const Prompt prompts[] = {
    {"97", HT LEVELS "quality=80", 350, 32, 3, 4, false, 0},
    {"53", HT LEVELS "rate-control=lossless", 350, 32, 3, 2, false, 0},
    {"420", HT LEVELS "quality=80", 351, 32, 3, 4, true, 0},
    {"cbr", HT LEVELS "max-frame-bytes=4000", 350, 32, 3, 4, false, 1},
    {"low", "block-coder=ht latency-profile=low quality=80", 500, 64, 5, 4, false, 0},
    {"ultra", "block-coder=ht latency-profile=ultra max-frame-bytes=4000", 350, 32, 3, 4, false, 1},
    {"no-level", HT "num-resolutions=1 precincts=32x16 quality=80", 97, 16, 0, 4, false, 0},
    {"mq", "progression-order=pcrl slices=true " LEVELS "quality=70", 351, 32, 3, 4, true, 0},
    {"mq-cbr", "progression-order=pcrl slices=true " LEVELS "max-frame-bytes=4000", 350, 32, 3, 4,
     false, 1},
};

/* Rows that slice number i needs. With sub-sampling the slices with even numbers have precincts of
 * the components 1 and 2, each of which covers the rows of two slices. */
static uint32_t slice_needs(const Prompt *p, uint32_t i)
{
  uint32_t rows = rows_needed((i + 1) * p->slice, p->levels, p->reach, 1);
  if (p->halved)
    rows = MAX(rows, rows_needed((i / 2 + 1) * p->slice, p->levels, p->reach, 2));
  return MIN(rows, p->height);
}

static uint32_t num_slices(const Prompt *p)
{
  return (p->height + p->slice - 1) / p->slice;
}

/* Slices for which so many rows suffice. */
static uint32_t slices_with(const Prompt *p, uint32_t rows)
{
  uint32_t count = 0;
  while (count < num_slices(p) && slice_needs(p, count) <= rows)
    count++;
  return count;
}

/* One row at a time around the rows that slices need: a slice leaves with its last row, before any
 * further one is there. That it does not leave earlier follows from its bytes, because rows that
 * are not there are white. */
static void check_prompt(const Prompt *p)
{
  const Case c = {p->name, p->options, 60, p->height, 3, 0, 0, p->halved};
  Taken taken;
  Cj2kError error = {0};
  GBytes *expected[FRAMES];
  encode_whole(&c, expected);
  taken_init(&taken);
  Cj2kEncoder *encoder = open_encoder(&c, 2, 1, &taken);
  for (uint32_t frame = 0; frame < FRAMES; frame++) {
    TestPicture whole, to;
    make_picture(&whole, &c, frame);
    make_picture(&to, &c, frame);
    change_samples(&to, frame, true);
    taken.count = 0;
    g_byte_array_set_size(taken.bytes, 0);
    g_assert_cmpint(cj2k_encoder_begin(encoder, &to.picture, NULL, &error), ==, CJ2K_OK);
    uint32_t slices = num_slices(p), there = 0;
    for (uint32_t i = 0; i < slices && frame >= p->first; i++) {
      uint32_t rows = slice_needs(p, i);
      if (rows > there) { /* else it has come with the one before */
        g_assert_cmpint(cj2k_encoder_append(encoder, rows - 1, &error), ==, CJ2K_OK);
        g_assert_cmpuint(slices_taken(&taken), <=, slices_with(p, rows - 1));
        copy_rows(&to, &whole, &c, there, rows);
        g_assert_cmpint(cj2k_encoder_append(encoder, rows, &error), ==, CJ2K_OK);
      }
      there = rows;
      wait_for_slices(&taken, i + 1);
    }
    copy_rows(&to, &whole, &c, there, p->height);
    g_assert_cmpint(cj2k_encoder_end(encoder, &error), ==, CJ2K_OK);
    GBytes *bytes = receive(encoder);
    g_assert_true(g_bytes_equal(bytes, expected[frame]));
    g_assert_cmpuint(taken.count, ==, slices);
    g_assert_cmpmem(taken.bytes->data, taken.bytes->len, g_bytes_get_data(bytes, NULL),
                    g_bytes_get_size(bytes));
    g_bytes_unref(bytes);
    g_bytes_unref(expected[frame]);
    test_picture_clear(&whole);
    test_picture_clear(&to);
  }
  cj2k_encoder_close(encoder);
  taken_clear(&taken);
}

static void test_prompt(gconstpointer data)
{
  for (uint32_t i = 0; i < 2; i++) {
    at_once = i;
    check_prompt(data);
  }
}

/* ------------------------------------------------------------------------ misuse, drop --- */

static void check_refused(Cj2kStatus status, Cj2kError *error, const char *reason)
{
  g_assert_cmpint(status, ==, CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(error->code, ==, CJ2K_ERROR_ARGUMENT);
  if (!strstr(error->text, reason))
    g_error("\"%s\" says nothing of \"%s\"", error->text, reason);
}

static void test_refused(void)
{
  const Case *c = &cases[0];
  TestPicture picture;
  Cj2kError error = {0};
  Cj2kEncoder *encoder = open_encoder(c, 2, 2, NULL);
  make_picture(&picture, c, 0);
  check_refused(cj2k_encoder_append(encoder, 1, &error), &error, "begun");
  check_refused(cj2k_encoder_end(encoder, &error), &error, "begun");
  Cj2kPicture none = picture.picture;
  none.num_planes = 0;
  check_refused(cj2k_encoder_begin(encoder, &none, NULL, &error), &error, "planes");
  g_assert_cmpint(cj2k_encoder_begin(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
  for (uint32_t i = 0; i < 2; i++) { /* before and after the frame's task was started */
    uint32_t rows = i ? 100 : 10;
    g_assert_cmpint(cj2k_encoder_append(encoder, rows, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_append(encoder, rows, NULL), ==, CJ2K_OK);
    check_refused(cj2k_encoder_append(encoder, rows - 1, &error), &error, "after");
    check_refused(cj2k_encoder_append(encoder, c->height + 1, &error), &error, "251 rows");
    check_refused(cj2k_encoder_begin(encoder, &picture.picture, NULL, &error), &error, "ended");
    check_refused(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), &error, "ended");
    check_refused(cj2k_encoder_set_frames_in_flight(encoder, 1, &error), &error, "in flight");
  }
  g_assert_cmpint(cj2k_encoder_end(encoder, &error), ==, CJ2K_OK);
  check_refused(cj2k_encoder_append(encoder, c->height, &error), &error, "begun");
  g_bytes_unref(receive(encoder));
  cj2k_encoder_close(encoder);
  test_picture_clear(&picture);
}

/* The rate of a frame is that of the moment at which it was begun. */
static void test_set_rate(void)
{
  const Case *c = &cases[0];
  TestPicture picture;
  Cj2kError error = {0};
  GBytes *expected[FRAMES];
  encode_whole(c, expected);
  Cj2kEncoder *encoder = open_encoder(c, 2, 1, NULL);
  Cj2kEncoderParams params = encoder->setup.params;
  params.quality = 20;
  make_picture(&picture, c, 0);
  for (uint32_t i = 0; i < 2; i++) {
    g_assert_cmpint(cj2k_encoder_begin(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_append(encoder, 1, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_end(encoder, &error), ==, CJ2K_OK);
    GBytes *bytes = receive(encoder);
    g_assert_true(g_bytes_equal(bytes, expected[0]) == (i == 0));
    g_bytes_unref(bytes);
  }
  cj2k_encoder_close(encoder);
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(expected[i]);
  test_picture_clear(&picture);
}

/* A frame that is dropped after so many rows is not received, and the next one is as ever. */
static void drop_at(const Case *c, uint32_t rows, GBytes *expected)
{
  TestPicture picture;
  Cj2kError error = {0};
  Cj2kPacket packet;
  Taken taken;
  taken_init(&taken);
  Cj2kEncoder *encoder = open_encoder(c, 2, 2, &taken);
  make_picture(&picture, c, 0);
  for (uint32_t i = 0; i < 2; i++) {
    g_byte_array_set_size(taken.bytes, 0);
    taken.ended = 0;
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_begin(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_append(encoder, rows, &error), ==, CJ2K_OK);
    GBytes *bytes = receive(encoder);
    g_assert_true(g_bytes_equal(bytes, expected));
    g_bytes_unref(bytes);
    cj2k_encoder_drop(encoder);
    cj2k_encoder_drop(encoder);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_END);
    g_assert_cmpuint(taken.ended, ==, rows == c->height || taken.failed > i ? 2 : 1);
  }
  /* The encoder is closed in the middle of a frame. */
  g_assert_cmpint(cj2k_encoder_begin(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_encoder_append(encoder, rows, &error), ==, CJ2K_OK);
  cj2k_encoder_close(encoder);
  if (tested == CJ2K_BACKEND_CPU && rows < c->height && rows >= 32 + 21)
    g_assert_cmpuint(taken.failed, ==, 3);
  taken_clear(&taken);
  test_picture_clear(&picture);
}

static void test_drop(void)
{
  static const uint32_t rows[] = {0, 1, 52, 53, 85, 200, 249, 250};
  const Case *c = &cases[0];
  GBytes *expected[FRAMES];
  encode_whole(c, expected);
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
    drop_at(c, rows[i], expected[0]);
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(expected[i]);
}

int main(int argc, char **argv)
{
  tested = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(tested))
    return 0;
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strconcat("/rows/bytes/", cases[i].name, NULL);
    g_test_add_data_func(path, &cases[i], test_bytes);
    g_free(path);
  }
  for (size_t i = 0; i < G_N_ELEMENTS(prompts); i++) {
    gchar *path = g_strconcat("/rows/prompt/", prompts[i].name, NULL);
    g_test_add_data_func(path, &prompts[i], test_prompt);
    g_free(path);
  }
  g_test_add_func("/rows/refused", test_refused);
  g_test_add_func("/rows/set-rate", test_set_rate);
  g_test_add_func("/rows/drop", test_drop);
  return g_test_run();
}
