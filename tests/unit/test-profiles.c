/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every constraint of docs/profiles.md, checked on the codestream's bytes by a parser of the
 * test. */
#include "encoder-pictures.h"

/* Contents of a codestream's marker segments. */
typedef struct {
  uint32_t rsiz, x1, y1, x0, y0, tdx, tdy, tx0, ty0, components;
  uint32_t depth[4], is_signed[4], dx[4], dy[4];
  bool cap, has_coc, has_rgn, has_ppm;
  uint32_t progression, layers, mct, levels, block_width, block_height, style, reversible;
  bool sop, eph;
  uint32_t precinct[33]; /* PPx | PPy << 4 of each resolution */
  uint32_t guard_bits, quantisation;
  uint32_t num_volumes;
  uint8_t volumes[8][7];
  uint32_t num_tlm;
  uint32_t tlm_tile[64], tlm_length[64];
  uint32_t num_parts;
  uint32_t part_tile[64], part_length[64], part_index[64], part_count[64];
  uint32_t size;
} Stream;

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
  uint32_t value = 0;
  while (bytes--)
    value = value << 8 | *at++;
  return value;
}

static void read_siz(Stream *s, const uint8_t *at)
{
  s->rsiz = get(at, 2);
  s->x1 = get(at + 2, 4), s->y1 = get(at + 6, 4), s->x0 = get(at + 10, 4), s->y0 = get(at + 14, 4);
  s->tdx = get(at + 18, 4), s->tdy = get(at + 22, 4), s->tx0 = get(at + 26, 4),
  s->ty0 = get(at + 30, 4);
  s->components = get(at + 34, 2);
  g_assert_cmpuint(s->components, <=, 4);
  for (uint32_t c = 0; c < s->components; c++) {
    s->is_signed[c] = at[36 + 3 * c] >> 7;
    s->depth[c] = (at[36 + 3 * c] & 0x7f) + 1u;
    s->dx[c] = at[37 + 3 * c];
    s->dy[c] = at[38 + 3 * c];
  }
}

static void read_cod(Stream *s, const uint8_t *at)
{
  s->sop = at[0] & 2;
  s->eph = at[0] & 4;
  s->progression = at[1];
  s->layers = get(at + 2, 2);
  s->mct = at[4];
  s->levels = at[5];
  s->block_width = 4u << at[6];
  s->block_height = 4u << at[7];
  s->style = at[8];
  s->reversible = at[9];
  for (uint32_t r = 0; r <= s->levels; r++)
    s->precinct[r] = at[0] & 1 ? at[10 + r] : 0xff;
}

static void read_tlm(Stream *s, const uint8_t *at, uint32_t length)
{
  uint32_t tile_bytes = at[1] >> 4 & 3, length_bytes = at[1] & 0x40 ? 4 : 2;

  for (uint32_t i = 2; i < length; i += tile_bytes + length_bytes) {
    s->tlm_tile[s->num_tlm] = get(at + i, tile_bytes);
    s->tlm_length[s->num_tlm++] = get(at + i + tile_bytes, length_bytes);
  }
}

static void read_segment(Stream *s, uint32_t marker, const uint8_t *at, uint32_t length)
{
  switch (marker) {
  case 0xff51: read_siz(s, at); break;
  case 0xff50: s->cap = true; break;
  case 0xff52: read_cod(s, at); break;
  case 0xff53: s->has_coc = true; break;
  case 0xff5c: s->guard_bits = at[0] >> 5, s->quantisation = at[0] & 31; break;
  case 0xff5e: s->has_rgn = true; break;
  case 0xff60: s->has_ppm = true; break;
  case 0xff55: read_tlm(s, at, length); break;
  case 0xff5f:
    s->num_volumes = length / 7;
    memcpy(s->volumes, at, length);
    break;
  default: break;
  }
}

static Stream parse(GBytes *bytes)
{
  Stream s = {0};
  gsize size, at = 2;
  const uint8_t *data = g_bytes_get_data(bytes, &size);

  s.size = (uint32_t)size;
  g_assert_cmphex(get(data, 2), ==, 0xff4f);
  while (get(data + at, 2) != 0xffd9) {
    uint32_t marker = get(data + at, 2), length = get(data + at + 2, 2);
    if (marker == 0xff90) {
      s.part_tile[s.num_parts] = get(data + at + 4, 2);
      s.part_length[s.num_parts] = length = get(data + at + 6, 4);
      s.part_index[s.num_parts] = data[at + 10];
      s.part_count[s.num_parts++] = data[at + 11];
      at += length;
    } else {
      read_segment(&s, marker, data + at + 4, length - 2);
      at += length + 2;
    }
    g_assert_cmpuint(at + 2, <=, size);
  }
  g_assert_cmpuint(at + 2, ==, size);
  return s;
}

/* --- common to all profiles --- */

static void check_common(const Stream *s, uint32_t max_block)
{
  g_assert_cmpuint(s->x0 + s->y0 + s->tx0 + s->ty0, ==, 0);
  g_assert_false(s->has_rgn || s->has_ppm || s->has_coc);
  g_assert_cmpuint(s->progression, ==, 4); /* CPRL */
  g_assert_cmpuint(s->layers, ==, 1);
  g_assert_cmpuint(s->style, ==, 0);
  g_assert_cmpuint(s->block_width, >=, 32);
  g_assert_cmpuint(s->block_width, <=, max_block);
  g_assert_cmpuint(s->block_height, >=, 32);
  g_assert_cmpuint(s->block_height, <=, max_block);
  for (uint32_t r = 0; r <= s->levels; r++)
    g_assert_cmphex(s->precinct[r], ==, r ? 0x88 : 0x77);
  for (uint32_t c = 0; c < s->components; c++)
    g_assert_false(s->is_signed[c]);
}

/* One tile-part for each component of each tile, with their lengths in TLM. */
static void check_tile_parts(const Stream *s, uint32_t tiles, uint32_t parts)
{
  g_assert_cmpuint(s->num_parts, ==, tiles * parts);
  g_assert_cmpuint(s->num_tlm, ==, s->num_parts);
  for (uint32_t i = 0; i < s->num_parts; i++) {
    g_assert_cmpuint(s->part_index[i], ==, i % parts);
    g_assert_cmpuint(s->part_count[i], ==, parts);
    g_assert_cmpuint(s->part_tile[i], ==, i / parts);
    g_assert_cmpuint(s->tlm_tile[i], ==, s->part_tile[i]);
    g_assert_cmpuint(s->tlm_length[i], ==, s->part_length[i]);
  }
}

typedef struct {
  TestPicture picture;
  Cj2kEncoderParams params;
} Case;

static void open_case(Case *c, Cj2kProfile profile, uint32_t width, uint32_t height, uint8_t depth,
                      const uint8_t *dx)
{
  test_picture_init(&c->picture, SCENE_NOISE, width, height, 3, depth, false, dx, NULL, 0, 0);
  if (dx)
    c->picture.image.colour = CJ2K_COLOUR_SYCC;
  cj2k_encoder_params_init(&c->params);
  c->params.backend = CJ2K_BACKEND_CPU;
  c->params.profile = profile;
}

static Stream encode_case(Case *c)
{
  Cj2kError error = {0};
  GBytes *bytes = test_encode(&c->params, &c->picture, &error);
  if (!bytes)
    g_error("encoder: %s", error.text);
  test_error(&c->picture, bytes, 0); /* checks that it decodes */
  Stream s = parse(bytes);
  g_bytes_unref(bytes);
  return s;
}

/* Encoding must be refused with a text that contains all the words. */
static void check_refused(Case *c, const char *words)
{
  Cj2kError error = {0};
  GBytes *bytes = test_encode(&c->params, &c->picture, &error);
  g_assert_null(bytes);
  gchar **list = g_strsplit(words, " ", -1);
  for (char **word = list; *word; word++)
    if (!strstr(error.text, *word))
      g_error("'%s' does not name '%s'", error.text, *word);
  g_strfreev(list);
}

/* --- cinema --- */

static void check_cinema(Case *c, uint32_t rsiz, uint32_t guard_bits, uint32_t frame_bytes,
                         uint32_t component_bytes)
{
  Stream s = encode_case(c);
  bool four = rsiz == 4;

  check_common(&s, 32);
  g_assert_cmphex(s.rsiz, ==, rsiz);
  g_assert_false(s.cap);
  g_assert_cmpuint(s.components, ==, 3);
  g_assert_cmpuint(s.reversible, ==, 0);
  g_assert_cmpuint(s.mct, ==, 1);
  g_assert_cmpuint(s.guard_bits, ==, guard_bits);
  g_assert_cmpuint(s.tdx, >=, s.x1);
  g_assert_cmpuint(s.tdy, >=, s.y1);
  check_tile_parts(&s, 1, four ? 6 : 3);
  g_assert_cmpuint(s.size, <=, frame_bytes);
  /* The picture is noise, so the ceiling is reached. */
  g_assert_cmpuint(s.size, >=, frame_bytes / 100 * 90);
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint(s.part_length[i], <=, component_bytes);
  g_assert_cmpuint(s.num_volumes, ==, four ? 2 : 0);
  if (four) {
    uint8_t low[7] = {0, 0, 0, 1, (uint8_t)s.levels, 3, 4};
    uint8_t high[7] = {(uint8_t)s.levels, 0, 0, 1, (uint8_t)(s.levels + 1), 3, 4};
    g_assert_cmpmem(s.volumes[0], 7, low, 7);
    g_assert_cmpmem(s.volumes[1], 7, high, 7);
  }
}

static void check_accepted(Case *c)
{
  Cj2kError error = {0};
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&c->params, &c->picture.image, &c->picture.layout, &error);
  g_assert_cmpstr(error.text, ==, "");
  g_assert_nonnull(encoder);
  cj2k_encoder_close(encoder);
}

static void test_cinema_2k(void)
{
  Case c;

  open_case(&c, CJ2K_PROFILE_CINEMA_2K, 2048, 858, 12, NULL);
  c.params.frame_rate = 24;
  check_cinema(&c, 3, 1, 1302083, 1041666);
  c.params.frame_rate = 48;
  check_cinema(&c, 3, 1, 651041, 520833);
  c.params.num_resolutions = 7;
  check_refused(&c, "num-resolutions cinema-2k");
  c.params.num_resolutions = 6;
  c.params.guard_bits = 2;
  check_refused(&c, "guard-bits cinema-2k");
  c.params.guard_bits = 0;
  c.params.max_frame_bytes = 651042;
  check_refused(&c, "max-frame-bytes cinema-2k");
  c.params.max_frame_bytes = 651041; /* the limits themselves are allowed */
  c.params.max_component_bytes = 520833;
  check_accepted(&c);
  c.params.max_component_bytes = 520834;
  check_refused(&c, "max-component-bytes cinema-2k");
  c.params.max_frame_bytes = c.params.max_component_bytes = 0;
  c.params.rate_control = CJ2K_RATE_LOSSLESS;
  check_refused(&c, "lossless cinema-2k");
  test_picture_clear(&c.picture);
  open_case(&c, CJ2K_PROFILE_CINEMA_2K, 2049, 100, 12, NULL);
  check_refused(&c, "2049 cinema-2k");
  test_picture_clear(&c.picture);
}

static void test_cinema_4k(void)
{
  Case c;

  open_case(&c, CJ2K_PROFILE_CINEMA_4K, 4096, 300, 12, NULL);
  c.params.rate_control = CJ2K_RATE_CBR;
  check_cinema(&c, 4, 2, 1302083, 1041666);
  c.params.num_resolutions = 1;
  check_refused(&c, "num-resolutions cinema-4k");
  test_picture_clear(&c.picture);
}

/* --- broadcast --- */

static void test_broadcast(void)
{
  static const uint8_t dx[] = {1, 2, 2};
  static const uint32_t mbit[] = {0, 200, 200, 200, 400, 800, 1600};

  for (int kind = 0; kind < 3; kind++)
    for (int four = 0; four < (kind ? 3 : 1); four++) {
      Case c;
      open_case(&c, (Cj2kProfile)(CJ2K_PROFILE_BROADCAST_SINGLE + kind), 640, 320, 10, dx);
      if (four) {
        c.params.tile_width = four == 1 ? 320 : 0;
        c.params.tile_height = four == 1 ? 160 : 80;
      }
      c.params.rate_control = CJ2K_RATE_CBR;
      c.params.frame_rate = 150;
      c.params.main_level = 1 + (uint32_t)kind;
      Stream s = encode_case(&c);
      check_common(&s, 128);
      g_assert_cmphex(s.rsiz, ==, (0x100u * (1 + (uint32_t)kind)) | (1 + (uint32_t)kind));
      g_assert_cmpuint(s.reversible, ==, kind == 2);
      g_assert_cmpuint(s.levels, >=, 1);
      g_assert_cmpuint(s.levels, <=, 5);
      g_assert_cmpuint(s.num_volumes, ==, 0);
      check_tile_parts(&s, four ? 4 : 1, 3);
      g_assert_cmpuint(s.size, <=, mbit[1 + kind] * 125000 / 150);
      g_assert_cmpuint(s.size, >=, mbit[1 + kind] * 125000 / 150 / 100 * 95);

      c.params.frame_rate = 1000; /* 410 million samples per second */
      check_refused(&c, "main-level broadcast");
      c.params.frame_rate = 0;
      c.params.max_frame_bytes = 50000;
      c.params.codeblock_style = CJ2K_STYLE_BYPASS;
      check_refused(&c, "codeblock-style broadcast");
      c.params.codeblock_style = 0;
      c.params.codeblock_width = 16;
      check_refused(&c, "code-block broadcast");
      c.params.codeblock_width = 64;
      c.params.tile_width = 333;
      check_refused(&c, kind ? "tiles broadcast" : "tile-width broadcast");
      test_picture_clear(&c.picture);
    }
}

/* HT in a broadcast profile: the capability bit, CAP, and the style. */
static void test_broadcast_ht(void)
{
  Case c;

  open_case(&c, CJ2K_PROFILE_BROADCAST_SINGLE, 320, 200, 10, NULL);
  c.params.block_coder = CJ2K_CODER_HT;
  c.params.main_level = 2;
  Stream s = encode_case(&c);
  g_assert_cmphex(s.rsiz, ==, 0x4102);
  g_assert_true(s.cap);
  g_assert_cmphex(s.style, ==, 0x40);
  test_picture_clear(&c.picture);
}

/* --- IMF --- */

static void test_imf(void)
{
  static const uint32_t tiles[] = {0, 1024, 2048, 4096}, levels[] = {5, 4, 5, 6};

  for (int kind = 0; kind < 6; kind++) {
    bool reversible = kind >= 3;
    Case c;
    open_case(&c, (Cj2kProfile)(CJ2K_PROFILE_IMF_2K + kind), 1100, 96, 16, NULL);
    for (uint32_t t = 0; t < (reversible ? 4 : 1); t++) {
      if (tiles[t] == 4096 && kind == 3) /* a picture of 2K fits into a smaller tile */
        continue;
      c.params.tile_width = c.params.tile_height = tiles[t];
      c.params.num_resolutions = (uint8_t)(MIN(levels[t], 5) + 1);
      c.params.frame_rate = 24;
      c.params.main_level = 4;
      c.params.sub_level = 2;
      c.params.rate_control = CJ2K_RATE_CBR;
      Stream s = encode_case(&c);
      check_common(&s, 32);
      g_assert_cmphex(s.rsiz, ==, 0x400u + 0x100u * (uint32_t)kind + 0x24);
      g_assert_cmpuint(s.reversible, ==, reversible);
      check_tile_parts(&s, tiles[t] == 1024 ? 2 : 1, 3);
      g_assert_cmpuint(s.size, <=, 400 * 125000 / 24);
    }
    c.params.tile_width = c.params.tile_height = 0;
    c.params.main_level = 3;
    check_refused(&c, "sub-level main-level imf");
    c.params.sub_level = 0;
    c.params.progression = CJ2K_RPCL;
    check_refused(&c, "progression-order imf");
    c.params.progression = CJ2K_LRCP;
    c.params.tile_width = c.params.tile_height = 512;
    check_refused(&c, reversible ? "tiles imf" : "tile-width imf");
    test_picture_clear(&c.picture);
  }
}

/* Each parameter that a profile dictates, with another value. */
static void test_dictated(void)
{
  static const char *const options[] = {
      "codeblock-style=causal",    "num-layers=2",   "progression-order=rpcl",
      "tile-parts=resolution",     "tile-width=128", "tile-height=64",
      "reversible-transform=true", "mct=off",
  };
  Case c;

  for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
    open_case(&c, CJ2K_PROFILE_CINEMA_2K, 200, 100, 12, NULL);
    c.params.frame_rate = 24;
    check_accepted(&c);
    test_set_options(&c.params, options[i]);
    gchar **words = g_strsplit(options[i], "=", 2);
    check_refused(&c, words[0]);
    check_refused(&c, "cinema-2k");
    g_strfreev(words);
    test_picture_clear(&c.picture);
  }
}

/* A lenient encoder overrides contradictory parameters and reports it. */
static void test_lenient(void)
{
  Case c;
  Cj2kError error = {0};

  open_case(&c, CJ2K_PROFILE_IMF_2K, 200, 100, 10, NULL);
  c.params.progression = CJ2K_RPCL;
  c.params.profile_lenient = true;
  Stream s = encode_case(&c);
  check_common(&s, 32);
  Cj2kEncoder *encoder = cj2k_encoder_open(&c.params, &c.picture.image, &c.picture.layout, &error);
  g_assert_nonnull(strstr(cj2k_encoder_warning(encoder), "progression-order"));
  g_assert_cmphex(cj2k_encoder_rsiz(encoder), ==, 0x0400);
  cj2k_encoder_close(encoder);
  test_picture_clear(&c.picture);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/profiles/cinema-2k", test_cinema_2k);
  g_test_add_func("/profiles/cinema-4k", test_cinema_4k);
  g_test_add_func("/profiles/broadcast", test_broadcast);
  g_test_add_func("/profiles/broadcast-ht", test_broadcast_ht);
  g_test_add_func("/profiles/imf", test_imf);
  g_test_add_func("/profiles/dictated", test_dictated);
  g_test_add_func("/profiles/lenient", test_lenient);
  return g_test_run();
}
