/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The encoder through its public interface; its output is decoded by the library's decoder. */
#include "encoder-pictures.h"

/* --- lossless --- */

static void check_lossless(const Cj2kEncoderParams *params, const TestPicture *picture)
{
  Cj2kError error = {0};
  GBytes *bytes = test_encode(params, picture, &error);

  if (!bytes)
    g_error("encoder: %s", error.text);
  g_assert_cmpfloat(test_error(picture, bytes, 0), ==, 0);
  g_bytes_unref(bytes);
}

static void lossless_params(Cj2kEncoderParams *params, Cj2kBlockCoder coder)
{
  cj2k_encoder_params_init(params);
  params->backend = CJ2K_BACKEND_CPU;
  params->rate_control = CJ2K_RATE_LOSSLESS;
  params->block_coder = coder;
}

/* Depths, signs, sub-sampling, sizes and scenes, with both block coders. */
static void test_lossless_pictures(void)
{
  static const uint8_t depths[] = {1, 2, 7, 8, 10, 12, 16}, dx[] = {1, 2, 2, 1},
                       dy[] = {1, 1, 2, 1};
  static const uint32_t sizes[][2] = {{1, 1}, {1, 70}, {67, 1}, {3, 5}, {65, 63}, {150, 97}};
  uint32_t round = 0;

  for (size_t d = 0; d < G_N_ELEMENTS(depths); d++)
    for (size_t s = 0; s < G_N_ELEMENTS(sizes); s++, round++) {
      uint32_t n = 1 + round % 4;
      bool small = sizes[s][0] < 2 || sizes[s][1] < 2;
      TestPicture picture;
      Cj2kEncoderParams params;
      test_picture_init(&picture, (Scene)(round % 4), sizes[s][0], sizes[s][1], n, depths[d],
                        round % 3 == 0, round % 2 || small ? NULL : dx,
                        round % 2 || small ? NULL : dy, 0, 0);
      for (int coder = 0; coder < 2; coder++) {
        lossless_params(&params, (Cj2kBlockCoder)coder);
        check_lossless(&params, &picture);
      }
      test_picture_clear(&picture);
    }
}

/* More than 256 components: component numbers take two bytes. */
static void test_many_components(void)
{
  TestPicture picture;
  Cj2kEncoderParams params;

  test_picture_init(&picture, SCENE_NOISE, 9, 7, TEST_MAX_COMPONENTS, 5, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    lossless_params(&params, (Cj2kBlockCoder)coder);
    params.progression = CJ2K_CPRL;
    params.num_resolutions = 2;
    check_lossless(&params, &picture);
  }
  test_picture_clear(&picture);
}

/* Each option once with a value other than its default. */
static void test_lossless_options(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 201, 133, 3, 10, false, NULL, NULL, 9, 14);
  for (uint32_t option = 0; option < 17; option++)
    for (int coder = 0; coder < 2; coder++) {
      Cj2kEncoderParams params;
      lossless_params(&params, (Cj2kBlockCoder)coder);
      params.image_x0 = 9;
      params.image_y0 = 14;
      switch (option) {
      case 0: params.num_resolutions = 1; break;
      case 1: params.num_resolutions = 33; break;
      case 2: params.codeblock_width = 4, params.codeblock_height = 256; break;
      case 3: params.progression = CJ2K_RPCL, params.tlm = true, params.plt = CJ2K_PLT_ON; break;
      case 4: params.progression = CJ2K_CPRL, params.tile_parts = CJ2K_TILE_PARTS_COMPONENT; break;
      case 5: params.num_layers = 7; break;
      case 6: params.tile_width = 50, params.tile_height = 41, params.tile_x0 = 3; break;
      case 7:
        params.num_precincts = 2, params.precinct_width[0] = params.precinct_height[0] = 5;
        params.precinct_width[1] = params.precinct_height[1] = 4;
        break;
      case 8: params.sop = params.eph = true; break;
      case 9: params.mct = CJ2K_MCT_OFF; break;
      case 10: params.guard_bits = 4; break;
      case 11: params.file_format = coder ? CJ2K_FILE_JPH : CJ2K_FILE_JP2; break;
      case 12: params.codeblock_style = CJ2K_STYLE_CAUSAL; break;
      case 13:
        params.codeblock_style =
            coder ? 0 : CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL | CJ2K_STYLE_RESET;
        break;
      case 14: params.codeblock_style = coder ? 0 : CJ2K_STYLE_PTERM | CJ2K_STYLE_SEGMARK; break;
      case 15: params.comment = "comment"; break;
      case 16: params.progression = CJ2K_PCRL, params.num_layers = 3, params.tile_width = 64; break;
      }
      check_lossless(&params, &picture);
    }
  test_picture_clear(&picture);
}

/* --- the bytes do not depend on the number of threads and of frames in flight --- */

static GBytes *encode_sequence(const Cj2kEncoderParams *params, const TestPicture *pictures,
                               uint32_t n, uint32_t frames)
{
  GByteArray *all = g_byte_array_new();
  Cj2kError error = {0};
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &pictures[0].image, &pictures[0].layout, &error);
  uint32_t submitted = 0, received = 0, in_flight = params->frames_in_flight;

  if (!encoder)
    g_error("encoder: %s", error.text);
  while (received < frames) {
    if (submitted < frames && submitted - received < in_flight) {
      g_assert_cmpint(cj2k_encoder_submit(encoder, &pictures[submitted % n].picture,
                                          GUINT_TO_POINTER(submitted), &error),
                      ==, CJ2K_OK);
      submitted++;
      continue;
    }
    Cj2kPacket packet;
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    g_assert_cmpuint(GPOINTER_TO_UINT(packet.user), ==, received);
    g_byte_array_append(all, packet.data, (guint)packet.size);
    cj2k_encoder_release(encoder, &packet);
    received++;
  }
  Cj2kPacket packet;
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_END);
  cj2k_encoder_close(encoder);
  return g_byte_array_free_to_bytes(all);
}

static void test_same_bytes(void)
{
  static const uint32_t ways[][2] = {{1, 1}, {2, 3}, {5, 16}};
  TestPicture pictures[3];

  for (uint32_t i = 0; i < 3; i++)
    test_picture_init(&pictures[i], (Scene)(i % 2), 260, 170, 3, 10, false, NULL, NULL, i, 0);
  for (int coder = 0; coder < 2; coder++)
    for (int rate = CJ2K_RATE_QUALITY; rate <= CJ2K_RATE_PSNR; rate++) {
      GBytes *first = NULL;
      for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
        Cj2kEncoderParams params;
        lossless_params(&params, (Cj2kBlockCoder)coder);
        params.rate_control = (Cj2kRateControl)rate;
        params.codeblock_width = params.codeblock_height = 16;
        params.bits_per_pixel = rate == CJ2K_RATE_CBR ? 2 : 0;
        params.quant_step = 1 / 512.0;
        params.num_threads = ways[w][0];
        params.frames_in_flight = ways[w][1];
        GBytes *bytes = encode_sequence(&params, pictures, 3, 20);
        if (first) {
          g_assert_true(g_bytes_equal(first, bytes));
          g_bytes_unref(bytes);
        } else {
          first = bytes;
        }
      }
      g_bytes_unref(first);
    }
  for (uint32_t i = 0; i < 3; i++)
    test_picture_clear(&pictures[i]);
}

/* --- cinema --- */

static void fill_plane(TestPicture *picture, uint32_t c, double value)
{
  uint16_t *data = picture->planes[c].data;

  for (uint32_t i = 0; i < picture->width * picture->height; i++)
    data[i] = (uint16_t)lrint(value);
}

/* Greys of each transfer curve are encoded as X'Y'Z' of the same light. */
static void test_xyz_transfer(void)
{
  static const double white[3] = {0.950456, 1, 1.089058}; /* XYZ of D65 */
  const double v = 512 / 1023.0;
  const double light[] = {pow((v + 0.099) / 1.099, 1 / 0.45),
                          pow((v + 0.055) / 1.055, 2.4),
                          v,
                          pow(v, 1.8),
                          pow(v, 2),
                          pow(v, 2.2),
                          pow(v, 2.4),
                          pow(v, 2.6),
                          pow(v, 2.8)};

  for (int transfer = CJ2K_TRANSFER_BT709; transfer <= CJ2K_TRANSFER_GAMMA28; transfer++) {
    Cj2kEncoderParams params;
    TestPicture picture, expected;
    Cj2kError error = {0};
    test_picture_init(&picture, SCENE_BLACK, 40, 30, 3, 10, false, NULL, NULL, 0, 0);
    test_picture_init(&expected, SCENE_BLACK, 40, 30, 3, 12, false, NULL, NULL, 0, 0);
    for (uint32_t c = 0; c < 3; c++) {
      fill_plane(&picture, c, 512);
      fill_plane(&expected, c,
                 4095 *
                     pow(light[transfer - CJ2K_TRANSFER_BT709] * white[c] * 48 / 52.37, 1 / 2.6));
    }
    cj2k_encoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.rate_control = CJ2K_RATE_QSTEP;
    params.quant_step = 1 / 65536.0;
    params.rgb_to_xyz = true;
    params.xyz_transfer = (Cj2kTransfer)transfer;
    GBytes *bytes = test_encode(&params, &picture, &error);
    if (!bytes)
      g_error("encoder: %s", error.text);
    /* Values halfway between two codes may be rounded either way. */
    g_assert_cmpfloat(test_error(&expected, bytes, 0), <=, 1 / (4095.0 * 4095.0));
    g_bytes_unref(bytes);
    test_picture_clear(&picture);
    test_picture_clear(&expected);
  }
}

/* --- refusals --- */

typedef struct {
  const char *names; /* words that the error must contain, separated by spaces */
  void (*change)(Cj2kEncoderParams *params, TestPicture *picture);
} Refusal;

#define CHANGE(name, ...)                                                                          \
  static void name(Cj2kEncoderParams *p, TestPicture *t)                                           \
  {                                                                                                \
    (void)p;                                                                                       \
    (void)t;                                                                                       \
    __VA_ARGS__;                                                                                   \
  }
CHANGE(bad_quality, p->quality = 101)
CHANGE(bad_step, p->rate_control = CJ2K_RATE_QSTEP)
CHANGE(no_budget, p->rate_control = CJ2K_RATE_CBR)
CHANGE(lossless_budget, (p->rate_control = CJ2K_RATE_LOSSLESS, p->bits_per_pixel = 2))
CHANGE(bad_transfer, p->xyz_transfer = (Cj2kTransfer)12)
CHANGE(bad_mct, p->mct = (Cj2kMct)3)
CHANGE(bad_backend, p->backend = (Cj2kBackendKind)-1)
CHANGE(bad_coder, p->block_coder = (Cj2kBlockCoder)2)
CHANGE(bad_rate_control, p->rate_control = (Cj2kRateControl)6)
CHANGE(bad_order, p->progression = (Cj2kProgression)5)
CHANGE(bad_profile, p->profile = (Cj2kProfile)12)
CHANGE(bad_conversion, p->rgb_to_xyz = (Cj2kXyzConversion)3)
CHANGE(bad_format, p->file_format = (Cj2kFileFormat)3)
CHANGE(bad_colour, t->image.colour = (Cj2kColour)9)
CHANGE(bad_layer_rate, (p->num_layers = 2, p->layer_rates[0] = 1e300))
CHANGE(bad_frame_rate, p->frame_rate = 1e300)
CHANGE(bad_bits, (p->profile = CJ2K_PROFILE_IMF_2K, p->bits_per_pixel = 1e300))
CHANGE(bad_budget, p->max_frame_bytes = UINT64_MAX)
CHANGE(bad_threads, p->num_threads = 100000)
CHANGE(bad_psnr, (p->rate_control = CJ2K_RATE_PSNR, p->psnr = 500))
CHANGE(bad_block, p->codeblock_width = 48)
CHANGE(big_block, p->codeblock_width = 128)
CHANGE(bad_resolutions, p->num_resolutions = 34)
CHANGE(bad_layers, p->num_layers = 0)
CHANGE(bad_rates, (p->num_layers = 2, p->layer_rates[0] = 3, p->layer_rates[1] = 2))
CHANGE(bad_style, p->codeblock_style = CJ2K_STYLE_HT)
CHANGE(ht_style, (p->block_coder = CJ2K_CODER_HT, p->codeblock_style = CJ2K_STYLE_BYPASS))
CHANGE(bad_guard, p->guard_bits = 8)
CHANGE(bad_tile, (p->image_x0 = 100, p->tile_width = 50))
CHANGE(bad_tile_offset, p->tile_y0 = 1)
CHANGE(many_tiles, p->tile_width = p->tile_height = 1)
CHANGE(bad_precinct, (p->num_precincts = 1, p->precinct_width[0] = 16))
CHANGE(wide_precinct, (p->num_precincts = 1, p->precinct_width[0] = 16, p->precinct_height[0] = 15))
CHANGE(high_precinct, (p->num_precincts = 1, p->precinct_width[0] = 15, p->precinct_height[0] = 16))
CHANGE(small_precinct, (p->num_precincts = 1, p->precinct_width[0] = 3))
CHANGE(mct_sampling, (p->mct = CJ2K_MCT_ON, t->components[2].depth = 8))
CHANGE(jph_mq, p->file_format = CJ2K_FILE_JPH)
CHANGE(deep, t->components[0].depth = 17)
CHANGE(no_depth, t->components[0].depth = 0)
CHANGE(no_sampling, t->components[1].dy = 0)
CHANGE(no_columns, (p->image_x0 = 1, t->image.width = 1, t->components[1].dx = 3))
CHANGE(no_rows, (p->image_y0 = 7, t->image.height = 2, t->components[2].dy = 5))
CHANGE(few_layouts, t->layout.num_components = 2)
CHANGE(deeper_than_layout, t->samples[0].depth = 9)
CHANGE(reversible_quality, (p->reversible_transform = true, p->quality = 50))
CHANGE(cinema_depth, (p->profile = CJ2K_PROFILE_CINEMA_2K, p->rgb_to_xyz = CJ2K_XYZ_OFF))
CHANGE(cinema_ht, (p->profile = CJ2K_PROFILE_CINEMA_2K, p->block_coder = CJ2K_CODER_HT))
CHANGE(broadcast_order, (p->profile = CJ2K_PROFILE_BROADCAST_SINGLE, p->progression = CJ2K_RLCP))
static const Cj2kChannel channel_cases[][3] = {
    {{3, 1}, {0, 2}, {0, 3}}, {{0, 1}, {0, 2}, {0, 4}}, {{0, 1}, {0, 0}, {0, 3}},
    {{0, 1}, {0, 2}, {0, 2}}, {{0, 1}, {1, 0}, {1, 0}},
};
CHANGE(channel_type, t->image.channels = channel_cases[0])
CHANGE(channel_colour, t->image.channels = channel_cases[1])
CHANGE(channel_whole, t->image.channels = channel_cases[2])
CHANGE(channel_twice, t->image.channels = channel_cases[3])
CHANGE(alpha_twice, t->image.channels = channel_cases[4])
CHANGE(many_parts, (p->tile_parts = CJ2K_TILE_PARTS_RESOLUTION, p->progression = CJ2K_PCRL,
                    p->num_precincts = 1, p->precinct_width[0] = p->precinct_height[0] = 4))

static const Refusal refusals[] = {
    {"quality", bad_quality},
    {"quant-step", bad_step},
    {"max-frame-bytes bits-per-pixel", no_budget},
    {"bits-per-pixel lossless", lossless_budget},
    {"xyz-transfer", bad_transfer},
    {"mct 3 auto", bad_mct},
    {"backend cuda", bad_backend},
    {"block-coder 2 mq", bad_coder},
    {"rate-control 6 cbr", bad_rate_control},
    {"progression-order 5 cprl", bad_order},
    {"profile 12 cinema-2k", bad_profile},
    {"rgb-to-xyz 3 auto", bad_conversion},
    {"file format 3", bad_format},
    {"colour 9", bad_colour},
    {"layer-rates 1e+300", bad_layer_rate},
    {"framerate 1e+300", bad_frame_rate},
    {"bits-per-pixel 1e+300", bad_bits},
    {"max-frame-bytes 4294967295", bad_budget},
    {"num-threads 1024", bad_threads},
    {"psnr", bad_psnr},
    {"codeblock-width 48 power", bad_block},
    {"code-block 4096", big_block},
    {"num-resolutions", bad_resolutions},
    {"num-layers", bad_layers},
    {"layer-rates", bad_rates},
    {"codeblock-style 64 segmark", bad_style},
    {"codeblock-style block-coder ht", ht_style},
    {"guard-bits", bad_guard},
    {"tile-width", bad_tile},
    {"tile offset", bad_tile_offset},
    {"tiles 65535", many_tiles},
    {"precinct", bad_precinct},
    {"precinct", wide_precinct},
    {"precinct", high_precinct},
    {"precinct", small_precinct},
    {"mct", mct_sampling},
    {"jph block-coder", jph_mq},
    {"depth 17", deep},
    {"depth 0", no_depth},
    {"component 1 sub-sampling 0", no_sampling},
    {"component 1 no samples", no_columns},
    {"component 2 no samples", no_rows},
    {"layout 2 components image 3", few_layouts},
    {"layout", deeper_than_layout},
    {"reversible-transform", reversible_quality},
    {"cinema-2k 12 bits", cinema_depth},
    {"cinema-2k block-coder", cinema_ht},
    {"broadcast-single progression-order", broadcast_order},
    {"tile-parts 255", many_parts},
    {"channel 0 type 3", channel_type},
    {"channel 2 colour 4", channel_colour},
    {"channel 1 colour 0", channel_whole},
    {"channels 1 2 same", channel_twice},
    {"channels 1 2 same", alpha_twice},
};

static void test_refusals(void)
{
  for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
    Cj2kEncoderParams params;
    TestPicture picture;
    Cj2kError error = {0};
    cj2k_encoder_params_init(&params);
    test_picture_init(&picture, SCENE_BLACK, 300, 300, 3, 10, false, NULL, NULL, 0, 0);
    refusals[i].change(&params, &picture);
    g_assert_null(test_encode(&params, &picture, &error));
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
    gchar **words = g_strsplit(refusals[i].names, " ", -1);
    for (char **word = words; *word; word++)
      if (!strstr(error.text, *word))
        g_error("case %zu: '%s' does not name '%s'", i, error.text, *word);
    g_strfreev(words);
    test_picture_clear(&picture);
  }
}

/* Channel definitions survive a JP2 or JPH file, in any order. */
static void test_channels(void)
{
  static const Cj2kChannel cases[][4] = {{{0, 1}, {0, 2}, {0, 3}, {1, 0}},
                                         {{0, 1}, {0, 2}, {0, 3}, {2, 0}},
                                         {{2, 0}, {0, 3}, {0, 2}, {0, 1}},
                                         {{0, 1}, {1, 1}, {65535, 65535}, {65535, 65535}}};
  for (guint i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
    Cj2kEncoderParams params;
    Cj2kDecoderParams decoder_params;
    TestPicture picture;
    Cj2kImage image;
    Cj2kError error = {0};
    cj2k_encoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.block_coder = i % 2 ? CJ2K_CODER_HT : CJ2K_CODER_MQ;
    params.file_format = i % 2 ? CJ2K_FILE_JPH : CJ2K_FILE_JP2;
    test_picture_init(&picture, SCENE_NATURAL, 40, 30, 4, 8, false, NULL, NULL, 0, 0);
    picture.image.channels = cases[i / 2];
    GBytes *bytes = test_encode(&params, &picture, &error);
    if (!bytes)
      g_error("encoder: %s", error.text);
    gsize size;
    const uint8_t *data = g_bytes_get_data(bytes, &size);
    cj2k_decoder_params_init(&decoder_params);
    decoder_params.backend = CJ2K_BACKEND_CPU;
    decoder_params.strict = true;
    Cj2kDecoder *decoder = cj2k_decoder_open(&decoder_params, &error);
    g_assert_cmpint(cj2k_decoder_read_header(decoder, data, size, &image, &error), ==, CJ2K_OK);
    g_assert_cmpuint(image.num_components, ==, 4);
    for (uint32_t c = 0; c < 4; c++) {
      g_assert_cmpuint(image.channels[c].type, ==, cases[i / 2][c].type);
      g_assert_cmpuint(image.channels[c].association, ==, cases[i / 2][c].association);
    }
    cj2k_decoder_close(decoder);
    g_bytes_unref(bytes);
    test_picture_clear(&picture);
  }
}

/* A picture that does not match the layout is refused at submit; the encoder remains usable. */
static void test_bad_picture(void)
{
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};
  Cj2kPacket packet;

  lossless_params(&params, CJ2K_CODER_MQ);
  test_picture_init(&picture, SCENE_NATURAL, 40, 30, 1, 8, false, NULL, NULL, 0, 0);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  picture.planes[0].pitch = 10;
  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_END);
  picture.planes[0].pitch = 80;
  picture.picture.memory = (Cj2kMemoryKind)7;
  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "memory kind 7"));
  picture.picture.memory = CJ2K_MEMORY_HOST;
  g_assert_null(cj2k_encoder_alloc(encoder, (Cj2kMemoryKind)7, 64));
  picture.picture.cuda_stream = &picture;
  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "CUDA stream"));
  picture.picture.cuda_stream = NULL;
  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  g_assert_cmpint(packet.status, ==, CJ2K_OK);
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
  test_picture_clear(&picture);
}

/* A packet keeps its bytes until it is released, also while later frames are encoded and after the
 * encoder was closed. */
static void test_packets_stay(void)
{
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};
  Cj2kPacket packets[4];
  uint8_t *first = NULL;

  lossless_params(&params, CJ2K_CODER_HT);
  test_picture_init(&picture, SCENE_NATURAL, 64, 48, 1, 8, false, NULL, NULL, 0, 0);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  for (uint32_t i = 0; i < G_N_ELEMENTS(packets); i++) {
    g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
    cj2k_encoder_receive(encoder, &packets[i]);
    if (i == 0)
      first = g_memdup2(packets[0].data, packets[0].size);
    else
      g_assert_true(packets[i].data != packets[0].data);
  }
  cj2k_encoder_release(encoder, &packets[3]);
  cj2k_encoder_close(encoder);
  for (uint32_t i = 0; i < 3; i++) {
    g_assert_cmpmem(packets[i].data, packets[i].size, first, packets[0].size);
    cj2k_encoder_release(NULL, &packets[i]);
    cj2k_encoder_release(NULL, &packets[i]); /* releasing again has no effect */
  }
  g_free(first);
  test_picture_clear(&picture);
}

/* One guard bit is too few for the worst picture: the encoder returns an error instead of a
 * codestream that decodes to something else. */
static void test_too_few_guard_bits(void)
{
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};

  lossless_params(&params, CJ2K_CODER_MQ);
  params.guard_bits = 1;
  test_picture_init(&picture, SCENE_NOISE, 200, 200, 1, 1, false, NULL, NULL, 0, 0);
  GBytes *bytes = test_encode(&params, &picture, &error);
  if (bytes)
    g_assert_cmpfloat(test_error(&picture, bytes, 0), ==, 0);
  else
    g_assert_nonnull(strstr(error.text, "guard-bits"));
  g_clear_pointer(&bytes, g_bytes_unref);
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/encoder/lossless/pictures", test_lossless_pictures);
  g_test_add_func("/encoder/lossless/many-components", test_many_components);
  g_test_add_func("/encoder/lossless/options", test_lossless_options);
  g_test_add_func("/encoder/same-bytes", test_same_bytes);
  g_test_add_func("/encoder/xyz-transfer", test_xyz_transfer);
  g_test_add_func("/encoder/refusals", test_refusals);
  g_test_add_func("/encoder/channels", test_channels);
  g_test_add_func("/encoder/bad-picture", test_bad_picture);
  g_test_add_func("/encoder/packets-stay", test_packets_stay);
  g_test_add_func("/encoder/too-few-guard-bits", test_too_few_guard_bits);
  return g_test_run();
}
