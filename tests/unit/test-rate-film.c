/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT with a budget, on drawn films that move fast, slowly and not at all, and that cut: how often
 * all blocks are coded, and what they take is estimated. The back end is a fake device that counts.
 */
#include "encoder-pictures.h"
#include "fake-devices.h"

#define FRAMES 88
#define WIDTH  320u
#define HEIGHT 180u
#define MARGIN 1600u
#define BUDGET 21600u /* bytes: 3 bits per pixel */

/* A picture through which a window moves. */
static TestPicture wide;

static guint32 hash(guint32 x, guint32 y, guint32 salt)
{
  guint32 h = x * 0x9e3779b1u ^ y * 0x85ebca6bu ^ salt * 0xc2b2ae35u;

  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  return h ^ h >> 15;
}

/* Noise whose values on a lattice of 1 << shift samples are interpolated; -0.5 to 0.5. */
static double smooth(guint32 x, guint32 y, guint32 shift, guint32 salt)
{
  guint32 cx = x >> shift, cy = y >> shift;
  double fx = ldexp(x, -(int)shift) - cx, fy = ldexp(y, -(int)shift) - cy, v[4];

  for (guint32 i = 0; i < 4; i++)
    v[i] = ldexp(hash(cx + i % 2, cy + i / 2, salt), -32) - 0.5;
  return (v[0] * (1 - fx) + v[1] * fx) * (1 - fy) + (v[2] * (1 - fx) + v[3] * fx) * fy;
}

/* Noise of all sizes, as in natural pictures, with more or less texture from place to place. */
static uint16_t sample(guint32 x, guint32 y, guint32 component)
{
  double rough = exp(3 * smooth(x, y, 7, 99)), value = 512;

  for (guint32 shift = 0; shift <= 7; shift++)
    value +=
        smooth(x, y, shift, shift + component * 16) * (1 << shift) * (shift < 5 ? rough : 1) * 4;
  return (uint16_t)CLAMP(value, 0, 1023);
}

static void draw_wide(void)
{
  test_picture_init(&wide, SCENE_BLACK, WIDTH + MARGIN, HEIGHT, 3, 10, false, NULL, NULL, 0, 0);
  for (guint32 c = 0; c < 3; c++)
    for (guint32 y = 0; y < HEIGHT; y++)
      for (guint32 x = 0; x < WIDTH + MARGIN; x++)
        ((uint16_t *)wide.planes[c].data)[(gsize)y * (WIDTH + MARGIN) + x] = sample(x, y, c);
}

/* What the film took. */
typedef struct {
  GPtrArray *frames; /* a GBytes for each */
  gint codings, estimates, left_out;
  double least, used; /* part of the budget; used: mean */
} Film;

/* planes: of the window; they stay valid until the frame is received. */
static void submit_window(Cj2kEncoder *encoder, guint32 x, Cj2kPlane planes[3])
{
  Cj2kPicture picture = wide.picture;
  Cj2kError error = {0};

  for (guint32 c = 0; c < 3; c++) {
    planes[c] = wide.planes[c];
    planes[c].data = (uint16_t *)wide.planes[c].data + x;
  }
  picture.planes = planes;
  if (cj2k_encoder_submit(encoder, &picture, NULL, &error) != CJ2K_OK)
    g_error("submit: %s", error.text);
}

static Cj2kEncoder *open_encoder(guint32 in_flight)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kEncoderImage image = wide.image;
  Cj2kComponent components[3];

  memcpy(components, wide.components, sizeof components);
  for (guint32 c = 0; c < 3; c++)
    components[c].x1 = WIDTH;
  image.width = WIDTH;
  image.components = components;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.frames_in_flight = in_flight;
  params.num_threads = 1;
  test_set_options(&params, "block-coder=ht codeblock-width=16 codeblock-height=16");
  params.max_frame_bytes = BUDGET;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &image, &wide.layout, &error);
  if (!encoder)
    g_error("encoder: %s", error.text);
  return encoder;
}

static void receive(Cj2kEncoder *encoder, Film *film)
{
  Cj2kPacket packet;

  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  if (packet.status != CJ2K_OK || packet.fallback)
    g_error("frame %u: %s", film->frames->len, packet.error.text);
  g_assert_cmpuint(packet.size, <=, BUDGET);
  film->used += (double)packet.size / BUDGET / FRAMES;
  film->least = MIN(film->least, (double)packet.size / BUDGET);
  g_ptr_array_add(film->frames, g_bytes_new(packet.data, packet.size));
  cj2k_encoder_release(encoder, &packet);
}

/* Where the window is in frame i. It moves `speed` samples from frame to frame, and jumps at each
 * cut; 0: there are none. */
static guint32 place(guint32 i, guint32 speed, guint32 cut)
{
  return ((cut ? i / cut * 433 : 0) + i * speed) % MARGIN;
}

static Film encode(guint32 speed, guint32 cut, guint32 in_flight)
{
  Film film = {.frames = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref), .least = 1};
  static Cj2kPlane planes[FRAMES][3];

  fake_init(1);
  Cj2kEncoder *encoder = open_encoder(in_flight);
  for (guint32 i = 0; i < FRAMES + in_flight - 1; i++) {
    if (i < FRAMES)
      submit_window(encoder, place(i, speed, cut), planes[i]);
    if (i + 1 >= in_flight)
      receive(encoder, &film);
  }
  cj2k_encoder_close(encoder);
  film.codings = fake_devices[0].codings;
  film.estimates = fake_devices[0].estimates;
  film.left_out = fake_devices[0].left_out;
  g_test_message("speed %u, cut %u: %d codings, %d estimates, %d left out; %.4f used, least %.4f",
                 speed, cut, film.codings, film.estimates, film.left_out, film.used, film.least);
  return film;
}

static void film_clear(Film *film)
{
  g_ptr_array_unref(film->frames);
}

/* The first frame takes some trials, and two estimates. Each other one but `again` is coded once,
 * however much it has changed: with steps that fit its estimate. Of those that are far from that of
 * the frame from which they learn, further estimates are made, `least` to `most` of them. */
static void check(guint32 speed, guint32 cut, gint least, gint most, gint again)
{
  Film film = encode(speed, cut, 1);
  gint more = film.estimates - FRAMES - 1;

  g_assert_cmpint(film.codings, <=, FRAMES + 3 + again);
  g_assert_cmpint(film.left_out, ==, 0);
  g_assert_cmpint(more, >=, least);
  g_assert_cmpint(more, <=, most + 2 * again);
  g_assert_cmpfloat(film.least, >=, 0.98);
  g_assert_cmpfloat(film.used, >=, 0.99);
  film_clear(&film);
}

static void test_fast(void)
{
  check(18, 0, 1, FRAMES, 2);
}

static void test_slow(void)
{
  check(1, 0, 0, FRAMES / 2, 2);
}

static void test_still(void)
{
  check(0, 0, 0, 0, 0);
}

/* At each of the three cuts six frames learn from the scene before. The estimates of two scenes
 * are too far from it, and are followed by one or two; the third one is about as long as the one
 * before. */
static void test_cuts(void)
{
  check(0, 22, 12, 24, 0);
}

/* The bytes do not depend on the number of frames in flight. */
static void test_in_flight(void)
{
  Film one = encode(18, 22, 1), many = encode(18, 22, 16);

  g_assert_cmpuint(one.frames->len, ==, FRAMES);
  for (guint i = 0; i < FRAMES; i++)
    if (!g_bytes_equal(one.frames->pdata[i], many.frames->pdata[i]))
      g_error("frame %u differs", i);
  g_assert_cmpint(one.codings, ==, many.codings);
  g_assert_cmpint(one.left_out, ==, many.left_out);
  film_clear(&one);
  film_clear(&many);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  draw_wide();
  g_test_add_func("/rate-film/fast", test_fast);
  g_test_add_func("/rate-film/slow", test_slow);
  g_test_add_func("/rate-film/still", test_still);
  g_test_add_func("/rate-film/cuts", test_cuts);
  g_test_add_func("/rate-film/in-flight", test_in_flight);
  int status = g_test_run();
  test_picture_clear(&wide);
  return status;
}
