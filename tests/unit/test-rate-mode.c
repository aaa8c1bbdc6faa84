/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which rate control and which levels the parameters select, which of them contradict each other,
 * and which have no effect. */
#include "encoder-pictures.h"

#include "common/encoder/encoder.h"

#include <string.h>

typedef struct {
  const char *settings; /* name=value, separated by spaces */
  uint32_t width, height;
  const char *
      expected; /* rate control; "!" and words of an error; "?", rate control, words of a warning */
} Case;

static void set_all(Cj2kEncoderParams *params, const char *settings)
{
  gchar **list = g_strsplit(settings, " ", -1);
  Cj2kError error;

  cj2k_encoder_params_init(params);
  params->backend = CJ2K_BACKEND_CPU;
  params->num_threads = 1;
  for (gchar **setting = list; *setting; setting++) {
    gchar **pair = g_strsplit(*setting, "=", 2);
    if (**setting && cj2k_encoder_params_set(params, pair[0], pair[1], &error) != CJ2K_OK)
      g_error("%s", error.text);
    g_strfreev(pair);
  }
  g_strfreev(list);
}

static void assert_words(const char *settings, const char *text, const char *words)
{
  gchar **list = g_strsplit(words, " ", -1);

  for (gchar **word = list; *word; word++)
    if (!text || !strstr(text, *word))
      g_error("%s: \"%s\" lacks \"%s\"", settings, text, *word);
  g_strfreev(list);
}

static Cj2kEncoder *open_encoder(const char *settings, uint32_t width, uint32_t height,
                                 Cj2kError *error)
{
  const Cj2kComponent components[3] = {{.dx = 1, .dy = 1, .depth = 12},
                                       {.dx = 1, .dy = 1, .depth = 12},
                                       {.dx = 1, .dy = 1, .depth = 12}};
  const Cj2kEncoderImage image = {.width = width,
                                  .height = height,
                                  .num_components = 3,
                                  .components = components,
                                  .colour = CJ2K_COLOUR_SRGB};
  const Cj2kImage shape = {.num_components = 3, .components = components};
  Cj2kSampleLayout samples[3];
  Cj2kLayout layout;
  Cj2kEncoderParams params;

  set_all(&params, settings);
  cj2k_layout_planar(&shape, samples, &layout);
  return cj2k_encoder_open(&params, &image, &layout, error);
}

static void check_case(const Case *c)
{
  static const char *const names[] = {"auto", "quality", "lossless", "cbr", "qstep", "psnr"};
  Cj2kError error = {0};
  Cj2kEncoder *encoder = open_encoder(c->settings, c->width, c->height, &error);

  if (*c->expected == '!') {
    if (encoder)
      g_error("%s: accepted", c->settings);
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
    assert_words(c->settings, error.text, c->expected + 1);
    return;
  }
  if (!encoder)
    g_error("%s: %s", c->settings, error.text);
  const char *mode = names[encoder->setup.params.rate_control];
  const char *expected = c->expected + (*c->expected == '?');
  if (strncmp(expected, mode, strlen(mode)) != 0)
    g_error("%s: rate-control %s, not %s", c->settings, mode, expected);
  if (*c->expected == '?')
    assert_words(c->settings, cj2k_encoder_warning(encoder), expected + strlen(mode) + 1);
  else if (cj2k_encoder_warning(encoder))
    g_error("%s: %s", c->settings, cj2k_encoder_warning(encoder));
  cj2k_encoder_close(encoder);
}

static void test_choice(void)
{
  static const Case cases[] = {
      {"", 64, 48, "quality"},
      {"quality=50", 64, 48, "quality"},
      {"psnr=40", 64, 48, "psnr"},
      {"psnr=45", 64, 48, "psnr"},
      {"quant-step=0.01", 64, 48, "qstep"},
      {"bits-per-pixel=2", 64, 48, "cbr"},
      {"max-frame-bytes=4000", 64, 48, "cbr"},
      {"bitrate=1000 framerate=25", 64, 48, "cbr"},
      {"quality=50 bitrate=1000 framerate=25", 64, 48, "quality"},
      {"psnr=40 bits-per-pixel=2", 64, 48, "psnr"},
      {"average-bitrate=1000 framerate=25", 64, 48, "cbr"},
      {"quality=50 average-bitrate=1000 framerate=25", 64, 48, "quality"},
      {"psnr=40 max-frame-bytes=4000", 64, 48, "psnr"},
      {"quant-step=0.1 bits-per-pixel=2", 64, 48, "qstep"},
      {"rate-control=psnr bits-per-pixel=1", 64, 48, "psnr"},
      {"rate-control=quality bits-per-pixel=1", 64, 48, "quality"},
      {"rate-control=qstep quant-step=0.1 bitrate=1000 framerate=25", 64, 48, "qstep"},
      {"reversible-transform=true", 64, 48, "lossless"},
      {"reversible-transform=true bits-per-pixel=2", 64, 48, "cbr"},
      {"profile=cinema-2k", 64, 48, "cbr"},
      {"profile=cinema-4k quality=90", 64, 48, "quality"},
      {"profile=imf-4k-r", 64, 48, "lossless"},
      {"profile=broadcast-multi-r max-frame-bytes=4000", 64, 48, "cbr"},
      {"profile=imf-2k", 64, 48, "quality"},
      /* Every value is set, most of them to the default, as in a preset file. */
      {"rate-control=auto quality=85 psnr=45 quant-step=0 bitrate=0", 64, 48, "quality"},
      {"quality=85 psnr=45 bits-per-pixel=2", 64, 48, "cbr"},
      {"quality=85 psnr=50", 64, 48, "psnr"},
      {"quality=85 psnr=45 profile=cinema-2k", 64, 48, "cbr"},
      {"quality=85 profile=cinema-2k", 64, 48, "quality"},
      {"rate-control=quality max-frame-bytes=4000", 64, 48, "quality"},
      {"rate-control=lossless max-frame-bytes=40000", 64, 48, "lossless"},
      {"rate-control=psnr max-frame-bytes=4000", 64, 48, "psnr"},
      {"rate-control=qstep quant-step=0.01 max-frame-bytes=4000", 64, 48, "qstep"},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
    check_case(&cases[i]);
}

static void test_contradictions(void)
{
  static const Case cases[] = {
      {"quality=50 psnr=40", 64, 48, "!quality psnr rate-control"},
      {"quality=50 psnr=40 bits-per-pixel=2", 64, 48, "!quality psnr rate-control"},
      {"rate-control=lossless bitrate=1000 framerate=25", 64, 48,
       "!bitrate requires a lossy rate-control; it is lossless"},
      {"bitrate=1000", 64, 48, "!bitrate frame rate"},
      {"rate-control=cbr", 64, 48, "!bitrate bits-per-pixel max-frame-bytes"},
      {"profile=imf-4k-r quality=50", 64, 48,
       "!imf-4k-r is reversible: use rate-control lossless or cbr"},
      {"reversible-transform=true psnr=50", 64, 48, "!use rate-control lossless or cbr"},
      {"profile=cinema-2k bits-per-pixel=1000", 640, 480, "!bits-per-pixel cinema-2k 1302083"},
      {"profile=cinema-2k bitrate=250001 framerate=24", 640, 480, "!bitrate cinema-2k"},
      {"profile=cinema-2k rgb-to-xyz=off quality=10 rate-control=lossless", 64, 48,
       "!irreversible"},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
    check_case(&cases[i]);
}

static void test_without_effect(void)
{
  static const Case cases[] = {
      {"rate-control=cbr bits-per-pixel=2 psnr=40", 64, 48, "?cbr psnr has no effect"},
      {"rate-control=quality quant-step=0.1", 64, 48, "?quality quant-step has no effect"},
      {"main-level=3", 64, 48, "?quality main-level has no effect"},
      {"sub-level=1", 64, 48, "?quality sub-level has no effect"},
      {"xyz-transfer=srgb", 64, 48, "?quality xyz-transfer has no effect"},
      {"main-level=3 xyz-transfer=srgb", 64, 48, "?quality main-level ; xyz-transfer"},
      {"average-window=60", 64, 48, "?quality average-window has no effect"},
      {"average-window=60 average-bitrate=1000 framerate=24", 64, 48, "cbr"},
      {"rate-period=24 first-frame=24 bits-per-pixel=2", 64, 48, "cbr"},
      {"first-frame=24 bits-per-pixel=2", 64, 48, "?cbr first-frame has no effect"},
      {"profile=cinema-2k xyz-transfer=srgb", 64, 48, "cbr"},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
    check_case(&cases[i]);
}

/* Levels of -1, and the level that an error recommends. */
static void test_levels(void)
{
  static const struct {
    const char *settings;
    uint32_t width, height;
    uint16_t rsiz; /* 0: refused */
    const char *words;
  } cases[] = {
      {"profile=broadcast-single framerate=24 main-level=-1", 3840, 2160, 0x0106, NULL},
      {"profile=broadcast-single framerate=25 main-level=-1", 1280, 720, 0x0102, NULL},
      {"profile=broadcast-single framerate=25 main-level=-1 bitrate=300000", 1280, 720, 0x0104,
       NULL},
      {"profile=broadcast-single framerate=25 main-level=-1 sub-level=-1", 640, 360, 0x0101, NULL},
      {"profile=broadcast-multi-r framerate=25 main-level=-1", 1280, 720, 0x0306, NULL},
      {"profile=imf-4k framerate=24 main-level=-1 sub-level=-1 bitrate=250000", 3840, 2160, 0x0526,
       NULL},
      {"profile=imf-4k framerate=24 main-level=-1 sub-level=-1", 3840, 2160, 0x0546, NULL},
      {"profile=imf-2k framerate=24 main-level=0 sub-level=-1", 640, 360, 0x0400, NULL},
      {"profile=broadcast-single main-level=-1", 640, 360, 0, "frame rate"},
      {"profile=broadcast-single framerate=24 main-level=3", 3840, 2160, 0,
       "exceed main-level 3 use 6"},
      {"profile=broadcast-single framerate=25 main-level=3 bitrate=300000", 640, 360, 0,
       "exceeds main-level 3; use 4"},
      {"profile=imf-2k framerate=24 main-level=5 sub-level=1 bitrate=300000", 640, 360, 0,
       "sub-level 1; use 2"},
      {"profile=broadcast-single framerate=1000000 main-level=-1", 3840, 2160, 0,
       "exceed every main-level"},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Cj2kError error = {0};
    Cj2kEncoder *encoder = open_encoder(cases[i].settings, cases[i].width, cases[i].height, &error);
    if (cases[i].words) {
      g_assert_null(encoder);
      assert_words(cases[i].settings, error.text, cases[i].words);
      continue;
    }
    if (!encoder)
      g_error("%s: %s", cases[i].settings, error.text);
    if (cj2k_encoder_rsiz(encoder) != cases[i].rsiz)
      g_error("%s: Rsiz 0x%04x", cases[i].settings, cj2k_encoder_rsiz(encoder));
    cj2k_encoder_close(encoder);
  }
}

/* A cinema profile converts RGB exactly as rgb-to-xyz=on does without a profile. */
static void test_cinema_converts(void)
{
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error;

  test_picture_init(&picture, SCENE_NATURAL, 64, 48, 3, 8, false, NULL, NULL, 0, 0);
  picture.image.colour = CJ2K_COLOUR_SRGB;
  set_all(&params, "profile=cinema-2k");
  GBytes *automatic = test_encode(&params, &picture, &error);
  set_all(&params, "profile=cinema-2k rgb-to-xyz=on");
  GBytes *explicitly = test_encode(&params, &picture, &error);
  g_assert_true(automatic && explicitly && g_bytes_equal(automatic, explicitly));
  g_assert_cmpint(((const uint8_t *)g_bytes_get_data(automatic, NULL))[42], ==, 11); /* Ssiz */
  g_bytes_unref(automatic);
  g_bytes_unref(explicitly);
  set_all(&params, "profile=cinema-2k rgb-to-xyz=off");
  g_assert_null(test_encode(&params, &picture, &error));
  assert_words("rgb-to-xyz=off", error.text, "component 0 of 8 bits cinema-2k");
  picture.image.colour = CJ2K_COLOUR_SYCC;
  set_all(&params, "profile=cinema-2k");
  g_assert_null(test_encode(&params, &picture, &error));
  assert_words("Y'CbCr", error.text, "Y'CbCr cinema-2k");
  test_picture_clear(&picture);
}

/* HT in a JP2 file makes it a JPH file, with a message. */
static void test_file_brand(void)
{
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error;

  test_picture_init(&picture, SCENE_NATURAL, 64, 48, 3, 8, false, NULL, NULL, 0, 0);
  for (int ht = 0; ht < 2; ht++) {
    set_all(&params, ht ? "block-coder=ht" : "");
    params.file_format = CJ2K_FILE_JP2;
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
    g_assert_cmpint(cj2k_encoder_warning(encoder) != NULL, ==, ht);
    if (ht)
      assert_words("ht", cj2k_encoder_warning(encoder), "jph");
    cj2k_encoder_close(encoder);
    GBytes *bytes = test_encode(&params, &picture, &error);
    g_assert_cmpmem((const char *)g_bytes_get_data(bytes, NULL) + 20, 4, ht ? "jph " : "jp2 ", 4);
    g_bytes_unref(bytes);
  }
  test_picture_clear(&picture);
}

static size_t encode_frame(Cj2kEncoder *encoder, const TestPicture *picture)
{
  Cj2kError error;
  Cj2kPacket packet;

  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture->picture, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  if (packet.status != CJ2K_OK)
    g_error("%s", packet.error.text);
  size_t size = packet.size;
  cj2k_encoder_release(encoder, &packet);
  return size;
}

/* A budget below the size of the headers is refused while encoding, and the previous one stays in
 * effect; the smallest budget that is accepted is never exceeded. */
static void test_small_budget(void)
{
  static const char *const settings[] = {"max-frame-bytes=4000",
                                         "max-frame-bytes=4000 block-coder=ht sop=true plt=true"};
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 200, 100, 3, 8, false, NULL, NULL, 0, 0);
  for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
    Cj2kEncoderParams params;
    Cj2kError error = {0};
    set_all(&params, settings[i]);
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
    g_assert_cmpuint(encode_frame(encoder, &picture), <=, 4000);
    params.max_frame_bytes = 60;
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_ERROR_ARGUMENT);
    assert_words("60 bytes", error.text, "too small: headers need");
    params.max_frame_bytes = 4000;
    params.max_component_bytes = 10;
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_ERROR_ARGUMENT);
    assert_words("10 bytes", error.text, "component too small: headers need");
    params.max_component_bytes = 0;
    g_assert_cmpuint(encode_frame(encoder, &picture), >=, 3800);
    params.max_frame_bytes = encoder->rate.least.frame;
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
    g_assert_cmpuint(encode_frame(encoder, &picture), <=, params.max_frame_bytes);
    params.max_frame_bytes--;
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_ERROR_ARGUMENT);
    params.max_frame_bytes = 4000;
    for (uint32_t c = 0; c < 3; c++)
      params.max_component_bytes =
          MAX(params.max_component_bytes, encoder->rate.least.components[c]);
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
    g_assert_cmpuint(encode_frame(encoder, &picture), <=, 4000);
    params.max_component_bytes--;
    g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_ERROR_ARGUMENT);
    cj2k_encoder_close(encoder);
  }
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate-mode/choice", test_choice);
  g_test_add_func("/rate-mode/contradictions", test_contradictions);
  g_test_add_func("/rate-mode/without-effect", test_without_effect);
  g_test_add_func("/rate-mode/levels", test_levels);
  g_test_add_func("/rate-mode/cinema-converts", test_cinema_converts);
  g_test_add_func("/rate-mode/file-brand", test_file_brand);
  g_test_add_func("/rate-mode/small-budget", test_small_budget);
  return g_test_run();
}
