/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The MQ coder: the standard's test sequence; blocks of every style, truncated after each pass,
 * must decode to the values that T.800 D.3 and E.1 give for the remaining passes.
 */
#include "common/cpu/blockcoder.h"
#include "common/cpu/mq/decoder.h"
#include "common/cpu/mq/encoder.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define MAX_SAMPLES 4096
#define MAX_BYTES   (1 << 17)

/* --- the arithmetic coder alone (T.88 H.2, the same coder) --- */

static const uint8_t sequence[] = {
    0x00, 0x02, 0x00, 0x51, 0x00, 0x00, 0x00, 0xc0, 0x03, 0x52, 0x87, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa,
    0x82, 0xc0, 0x20, 0x00, 0xfc, 0xd7, 0x9e, 0xf6, 0xbf, 0x7f, 0xed, 0x90, 0x4f, 0x46, 0xa3, 0xbf,
};
static const uint8_t coded_sequence[] = {
    0x84, 0xc7, 0x3b, 0xfc, 0xe1, 0xa1, 0x43, 0x04, 0x02, 0x20, 0x00, 0x00, 0x41, 0x0d,
    0xbb, 0x86, 0xf4, 0x31, 0x7f, 0xff, 0x88, 0xff, 0x37, 0x47, 0x1a, 0xdb, 0x6a, 0xdf,
};

static void test_sequence(void)
{
  Cj2kMqContexts contexts;
  uint8_t symbols[8 * sizeof sequence], out[64];
  MqEncoder encoder;
  MqDecoder decoder;

  for (size_t i = 0; i < sizeof symbols; i++) /* label 1 starts in state 0 */
    symbols[i] = (uint8_t)(1 << 1 | ((sequence[i / 8] >> (7 - i % 8)) & 1));
  cj2k_mq_reset_contexts(&contexts);
  mq_encoder_start(&encoder, out, 0, sizeof out);
  mq_encode(&encoder, &contexts, symbols, sizeof symbols);
  uint32_t end = mq_drop_ff(out, 0, mq_encoder_flush(&encoder));
  g_assert_cmpmem(out, end, coded_sequence, sizeof coded_sequence);

  cj2k_mq_reset_contexts(&contexts);
  mq_start(&decoder, coded_sequence, coded_sequence + sizeof coded_sequence);
  for (size_t i = 0; i < sizeof symbols; i++)
    g_assert_cmpuint(mq_decode(&decoder, &contexts.words[1]), ==, symbols[i] & 1);
}

/* DECODE as in the standard's flow charts (C.3), bit by bit; bytes beyond the end are 0xFF. */
typedef struct {
  const uint8_t *at, *end;
  uint32_t c, a;
  int ct;
} PlainDecoder;

static uint32_t plain_byte(const PlainDecoder *plain, int offset)
{
  return plain->end - plain->at > offset ? plain->at[offset] : 0xff;
}

static void plain_byte_in(PlainDecoder *plain)
{
  plain->ct = 8;
  if (plain_byte(plain, 0) != 0xff) {
    plain->at++;
    plain->c += plain_byte(plain, 0) << 8;
  } else if (plain_byte(plain, 1) > 0x8f) {
    plain->c += 0xff00;
  } else {
    plain->at++;
    plain->c += plain_byte(plain, 0) << 9;
    plain->ct = 7;
  }
}

static unsigned plain_decode(PlainDecoder *plain, uint32_t *context)
{
  uint32_t qe = *context & 0xffff, index = *context >> CJ2K_MQ_MPS_SHIFT;
  bool lower = plain->c >> 16 < qe, lps;

  plain->a -= qe;
  lps = lower != (plain->a < qe);
  if (!lower)
    plain->c -= qe << 16;
  if (!lower && (plain->a & 0x8000))
    return index & 1;
  if (lower)
    plain->a = qe;
  do {
    if (plain->ct == 0)
      plain_byte_in(plain);
    plain->a <<= 1;
    plain->c <<= 1;
    plain->ct--;
  } while (!(plain->a & 0x8000));
  *context = cj2k_mq_next[index][lps];
  return (index & 1) ^ lps;
}

/* Arbitrary bytes, including carries and marker codes, decode as by the flow charts. */
static void test_any_bytes(void)
{
  GRand *rand = g_rand_new_with_seed(5);

  for (int round = 0; round < 5000; round++) {
    Cj2kMqContexts contexts, plain_contexts;
    uint8_t data[40];
    int length = g_rand_int_range(rand, 0, sizeof data);
    PlainDecoder plain = {.at = data, .end = data + length, .a = 0x8000};
    MqDecoder decoder;
    for (int i = 0; i < length; i++) {
      int kind = g_rand_int_range(rand, 0, 4);
      data[i] = kind == 0   ? 0xff
                : kind == 1 ? (uint8_t)g_rand_int_range(rand, 0x80, 0x92)
                            : (uint8_t)g_rand_int(rand);
    }
    cj2k_mq_reset_contexts(&contexts);
    plain_contexts = contexts;
    mq_start(&decoder, data, data + length);
    plain.c = plain_byte(&plain, 0) << 16;
    plain_byte_in(&plain);
    plain.c <<= 7;
    plain.ct -= 7;
    for (int i = 0; i < 500; i++) {
      int label = g_rand_int_range(rand, 0, CJ2K_CX_COUNT);
      g_assert_cmpuint(mq_decode(&decoder, &contexts.words[label]), ==,
                       plain_decode(&plain, &plain_contexts.words[label]));
    }
  }
  g_rand_free(rand);
}

/* --- what a truncated block must decode to --- */

/* The coding passes of D.3 by their definition, sample by sample, without any entropy coding. */
typedef struct {
  const Cj2kBlockSource *source;
  bool significant[MAX_SAMPLES], coded[MAX_SAMPLES];
  uint8_t planes_left[MAX_SAMPLES]; /* p of docs/arithmetic.md */
} Model;

static uint32_t magnitude(const Model *model, uint32_t x, uint32_t y)
{
  return model->source->samples[y * model->source->stride + x] & 0x7fffffff;
}

static bool has_significant_neighbour(const Model *model, int x, int y)
{
  int width = model->source->width, height = model->source->height;
  bool causal = model->source->style & CJ2K_STYLE_CAUSAL;

  for (int j = y - 1; j <= y + 1; j++)
    for (int i = x - 1; i <= x + 1; i++)
      if (i >= 0 && j >= 0 && i < width && j < height && (i != x || j != y) &&
          !(causal && j / 4 > y / 4) && model->significant[j * width + i])
        return true;
  return false;
}

static void model_sample(Model *model, unsigned type, unsigned plane, uint32_t x, uint32_t y)
{
  uint32_t i = y * model->source->width + x;
  bool in_pass;

  if (type == CJ2K_PASS_SIGNIFICANCE)
    in_pass = !model->significant[i] && has_significant_neighbour(model, (int)x, (int)y);
  else if (type == CJ2K_PASS_REFINEMENT)
    in_pass = model->significant[i] && !model->coded[i];
  else
    in_pass = !model->significant[i] && !model->coded[i];
  if (in_pass) {
    model->coded[i] = true;
    model->planes_left[i] = (uint8_t)plane;
    model->significant[i] |= (magnitude(model, x, y) >> plane) & 1;
  }
  if (type == CJ2K_PASS_CLEANUP)
    model->coded[i] = false;
}

static void model_pass(Model *model, unsigned pass, unsigned planes)
{
  uint32_t width = model->source->width, height = model->source->height;
  unsigned plane = planes - 1 - cj2k_pass_depth(pass);

  if (cj2k_pass_type(pass) == CJ2K_PASS_SIGNIFICANCE)
    memset(model->coded, 0, sizeof model->coded);
  for (uint32_t stripe = 0; stripe < height; stripe += 4)
    for (uint32_t x = 0; x < width; x++)
      for (uint32_t y = stripe; y < MIN(stripe + 4, height); y++)
        model_sample(model, cj2k_pass_type(pass), plane, x, y);
}

static uint64_t model_value(const Model *model, uint32_t x, uint32_t y)
{
  uint32_t i = y * model->source->width + x;
  unsigned left = model->planes_left[i];

  if (!model->significant[i])
    return 0;
  return ((uint64_t)(magnitude(model, x, y) >> left) << (left + 1)) + (UINT64_C(1) << left);
}

/* Squared error in units of (step / 16)^2; a sample's true value is the middle of its quantiser
 * interval. */
static double model_error(const Model *model)
{
  double error = 0;

  for (uint32_t y = 0; y < model->source->height; y++)
    for (uint32_t x = 0; x < model->source->width; x++) {
      uint32_t q = magnitude(model, x, y);
      double value = q == 0 ? 0 : model->source->reversible ? q : q + 0.5;
      double m = (double)model_value(model, x, y);
      double got = model->source->reversible ? floor(m / 2) : m / 2;
      error += 256 * (value - got) * (value - got);
    }
  return error;
}

/* --- coding and decoding --- */

typedef struct {
  Cj2kBlockScratch *scratch;
  uint8_t *out;
  Cj2kPassEnd passes[CJ2K_MAX_PASSES];
  Cj2kBlockResult result;
} Coded;

/* Decodes `input` from a copy of its data, so that a sanitizer detects reads behind its end. */
static bool decode(Coded *coded, const Cj2kBlockInput *input, uint64_t *wide)
{
  static uint32_t narrow[MAX_SAMPLES];
  Cj2kBlockInput in = *input;
  uint8_t *data = g_memdup2(in.data, in.length);
  bool ok;

  in.data = data;
  if (in.num_bitplanes - in.zero_bitplanes > 30) {
    ok = cj2k_mq_decode_block_wide(coded->scratch, &in, wide, in.width);
  } else {
    ok = cj2k_mq_decode_block(coded->scratch, &in, narrow, in.width);
    for (int i = 0; ok && i < in.width * in.height; i++)
      wide[i] = (narrow[i] & 0x7fffffff) | (uint64_t)(narrow[i] >> 31) << 63;
  }
  g_free(data);
  return ok;
}

/* The passes 0..last with exactly their bytes. each_pass: every pass in a segment of its own, as if
 * it came in a layer of its own. */
static Cj2kBlockInput truncate_after(const Coded *coded, const Cj2kBlockSource *source,
                                     unsigned last, bool each_pass,
                                     Cj2kSegment segments[CJ2K_MAX_PASSES])
{
  uint32_t start = 0, first = 0;
  uint16_t count = 0;

  for (unsigned pass = 0; pass <= last; pass++)
    if (coded->passes[pass].terminated || pass == last || each_pass) {
      segments[count++] = (Cj2kSegment){coded->passes[pass].length - start, pass + 1 - first};
      start = coded->passes[pass].length;
      first = pass + 1;
    }
  return (Cj2kBlockInput){.data = coded->out,
                          .length = coded->passes[last].length,
                          .segments = segments,
                          .num_segments = count,
                          .num_passes = (uint8_t)(last + 1),
                          .zero_bitplanes = coded->result.zero_bitplanes,
                          .num_bitplanes = source->num_bitplanes,
                          .orientation = source->orientation,
                          .style = source->style,
                          .width = source->width,
                          .height = source->height};
}

static void check_truncated(Coded *coded, const Cj2kBlockSource *source, const Model *model,
                            unsigned last)
{
  static uint64_t decoded[MAX_SAMPLES];
  Cj2kSegment segments[CJ2K_MAX_PASSES];
  Cj2kBlockInput in = truncate_after(coded, source, last, last % 2, segments);

  if (!decode(coded, &in, decoded))
    g_error("%ux%u style %02x pass %u is not decoded", source->width, source->height, source->style,
            last);
  for (uint32_t y = 0; y < source->height; y++)
    for (uint32_t x = 0; x < source->width; x++) {
      uint64_t value = model_value(model, x, y);
      if (value)
        value |= (uint64_t)(source->samples[y * source->stride + x] >> 31) << 63;
      if (decoded[y * source->width + x] != value)
        g_error(
            "%ux%u orientation %u style %02x after pass %u of %u, sample %u,%u: %" G_GINT64_MODIFIER
            "x, not %" G_GINT64_MODIFIER "x",
            source->width, source->height, source->orientation, source->style, last,
            coded->result.num_passes, x, y, decoded[y * source->width + x], value);
    }
}

/* Encodes a block and checks what it decodes to after each pass, or only after the last. */
static void check_block(Coded *coded, const Cj2kBlockSource *source, unsigned lowest, bool each)
{
  Model *model = g_new0(Model, 1);
  uint32_t before = 0;

  model->source = source;
  g_assert_true(cj2k_mq_encode_block(coded->scratch, source, (uint8_t)lowest, coded->out, MAX_BYTES,
                                     coded->passes, &coded->result));
  unsigned planes = source->num_bitplanes - coded->result.zero_bitplanes;
  double error = model_error(model);
  for (unsigned pass = 0; pass < coded->result.num_passes; pass++) {
    const Cj2kPassEnd *end = &coded->passes[pass];
    model_pass(model, pass, planes);
    g_assert_cmpuint(end->length, >=, before);
    g_assert_true(end->length == before || (source->style & CJ2K_STYLE_PTERM) ||
                  coded->out[end->length - 1] != 0xff);
    before = end->length;
    if (planes <= 22) /* doubles are exact up to here */
      g_assert_cmpfloat((double)end->distortion, ==, error - model_error(model));
    if (each || pass + 1 == coded->result.num_passes)
      check_truncated(coded, source, model, pass);
  }
  if (coded->result.num_passes)
    g_assert_cmpuint(coded->result.num_passes, ==, 3 * (planes - lowest) - 2);
  g_assert_cmpuint(coded->result.length, ==, before);
  g_free(model);
}

/* --- blocks --- */

typedef enum { NATURAL, SPARSE, NOISE, FLAT, NUM_KINDS } Kind;

static void fill(GRand *rand, Kind kind, unsigned planes, uint32_t *samples, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    uint32_t q = 0, max = (uint32_t)((UINT64_C(1) << planes) - 1);
    switch (kind) {
    case NATURAL: { /* Laplacian, with a drifting scale */
      double u = g_rand_double(rand), scale = max / 12.0 * (1.1 + sin(i * 0.013));
      q = (uint32_t)MIN(-log(1 - u) * scale, max);
      break;
    }
    case SPARSE: q = g_rand_int_range(rand, 0, 50) ? 0 : g_rand_int(rand) & max; break;
    case NOISE: q = g_rand_int(rand) & max; break;
    default: q = max; break;
    }
    samples[i] = q | (q && g_rand_boolean(rand) ? 0x80000000u : 0);
  }
}

static Coded *coded_new(void)
{
  Coded *coded = g_new0(Coded, 1);

  coded->scratch = cj2k_block_scratch_new();
  coded->out = g_malloc(MAX_BYTES);
  return coded;
}

static void coded_free(Coded *coded)
{
  cj2k_block_scratch_free(coded->scratch);
  g_free(coded->out);
  g_free(coded);
}

/* Every combination of styles, with each kind of block, truncated after each pass. */
static void test_styles(void)
{
  Coded *coded = coded_new();
  GRand *rand = g_rand_new_with_seed(1);
  uint32_t samples[MAX_SAMPLES];

  for (unsigned style = 0; style < 64; style++)
    for (Kind kind = 0; kind < NUM_KINDS; kind++) {
      Cj2kBlockSource source = {.samples = samples,
                                .stride = 19,
                                .width = 19,
                                .height = 14,
                                .num_bitplanes = 11,
                                .orientation = (uint8_t)g_rand_int_range(rand, 0, 4),
                                .style = (uint8_t)style,
                                .reversible = (uint8_t)g_rand_boolean(rand)};
      fill(rand, kind, 9, samples, 19 * 14);
      check_block(coded, &source, 0, true);
    }
  g_rand_free(rand);
  coded_free(coded);
}

/* Sizes of code-blocks, complete and clipped. */
static void test_sizes(void)
{
  static const uint16_t sizes[][2] = {
      {1, 1},    {1, 2},    {2, 1},    {1, 4},    {3, 3},    {4, 4},    {5, 5},    {1, 9},
      {64, 1},   {7, 64},   {64, 7},   {64, 64},  {32, 128}, {128, 32}, {61, 63},  {33, 17},
      {4, 1024}, {1024, 4}, {1, 1023}, {1023, 1}, {1000, 3}, {256, 16}, {16, 256},
  };
  Coded *coded = coded_new();
  GRand *rand = g_rand_new_with_seed(2);
  uint32_t samples[MAX_SAMPLES];

  for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (int round = 0; round < 3; round++) {
      Cj2kBlockSource source = {.samples = samples,
                                .stride = sizes[i][0],
                                .width = sizes[i][0],
                                .height = sizes[i][1],
                                .num_bitplanes = 12,
                                .orientation = (uint8_t)g_rand_int_range(rand, 0, 4),
                                .style = (uint8_t)g_rand_int_range(rand, 0, 64),
                                .reversible = (uint8_t)g_rand_boolean(rand)};
      unsigned lowest = (unsigned)g_rand_int_range(rand, 0, 3);
      fill(rand, (Kind)(round % 2), 12, samples, (uint32_t)source.width * source.height);
      check_block(coded, &source, lowest, source.width * source.height < 600);
    }
  g_rand_free(rand);
  coded_free(coded);
}

/* Many bit-planes, up to the maximum of 31, in samples of 32 and of 64 bits. */
static void test_planes(void)
{
  Coded *coded = coded_new();
  GRand *rand = g_rand_new_with_seed(3);
  uint32_t samples[16 * 16];

  for (unsigned planes = 1; planes <= 31; planes++) {
    Cj2kBlockSource source = {.samples = samples,
                              .stride = 16,
                              .width = 16,
                              .height = 16,
                              .num_bitplanes = (uint8_t)MIN(planes + planes % 3, 31),
                              .orientation = (uint8_t)(planes % 4),
                              .style = planes % 2 ? 0 : CJ2K_STYLE_BYPASS,
                              .reversible = planes % 5 == 0};
    fill(rand, planes % 3 ? NATURAL : SPARSE, planes, samples, 16 * 16);
    check_block(coded, &source, 0, true);
  }
  g_rand_free(rand);
  coded_free(coded);
}

static int64_t signed_value(uint64_t value)
{
  return value >> 63 ? -(int64_t)(value & INT64_MAX) : (int64_t)value;
}

/* A block whose data end before its segments do: all passes whose bytes are complete are decoded
 * correctly, and at most one more pass is started with the remaining bytes. */
static void test_short_data(void)
{
  static uint64_t decoded[MAX_SAMPLES];
  static const uint8_t styles[] = {0, CJ2K_STYLE_BYPASS, CJ2K_STYLE_TERMALL | CJ2K_STYLE_BYPASS};
  Coded *coded = coded_new();
  GRand *rand = g_rand_new_with_seed(6);
  uint32_t samples[32 * 32];
  Cj2kBlockSource source = {
      .samples = samples, .stride = 32, .width = 32, .height = 32, .num_bitplanes = 12};

  fill(rand, NATURAL, 12, samples, 32 * 32);
  for (size_t s = 0; s < G_N_ELEMENTS(styles); s++) {
    Model *model = g_new0(Model, 1);
    Cj2kSegment segments[CJ2K_MAX_PASSES];
    unsigned pass = 0, planes;
    model->source = &source;
    source.style = styles[s];
    g_assert_true(cj2k_mq_encode_block(coded->scratch, &source, 0, coded->out, MAX_BYTES,
                                       coded->passes, &coded->result));
    planes = source.num_bitplanes - coded->result.zero_bitplanes;
    Cj2kBlockInput in =
        truncate_after(coded, &source, coded->result.num_passes - 1u, false, segments);
    for (in.length = 0; in.length < coded->result.length; in.length++) {
      for (; coded->passes[pass].length <= in.length; pass++)
        model_pass(model, pass, planes);
      g_assert_true(decode(coded, &in, decoded));
      int64_t unit = INT64_C(1) << (planes - 1 - cj2k_pass_depth(pass));
      for (uint32_t i = 0; i < 32 * 32; i++) {
        int64_t value = (int64_t)model_value(model, i % 32, i / 32);
        value = samples[i] >> 31 ? -value : value;
        g_assert_cmpint(ABS(signed_value(decoded[i]) - value), <=, 4 * unit);
        g_assert_cmpint(signed_value(decoded[i]) % unit, ==, 0); /* no later pass was decoded */
      }
    }
    g_free(model);
  }
  g_rand_free(rand);
  coded_free(coded);
}

/* A block without significant samples has no passes; too small a capacity is refused. */
static void test_limits(void)
{
  Coded *coded = coded_new();
  uint32_t samples[16] = {0};
  Cj2kBlockSource source = {
      .samples = samples, .stride = 4, .width = 4, .height = 4, .num_bitplanes = 8};

  g_assert_true(cj2k_mq_encode_block(coded->scratch, &source, 0, coded->out, 64, coded->passes,
                                     &coded->result));
  g_assert_cmpuint(coded->result.num_passes, ==, 0);
  g_assert_cmpuint(coded->result.zero_bitplanes, ==, 8);
  for (int i = 0; i < 16; i++)
    samples[i] = (uint32_t)i * 0x80000007u % 255;
  g_assert_true(cj2k_mq_encode_block(coded->scratch, &source, 0, coded->out, 64, coded->passes,
                                     &coded->result));
  uint8_t *small = g_malloc(coded->result.length);
  for (uint32_t room = 0; room < coded->result.length; room++)
    g_assert_false(cj2k_mq_encode_block(coded->scratch, &source, 0, small, room, coded->passes,
                                        &coded->result));
  g_free(small);
  coded_free(coded);
}

/* Arbitrary bytes are decoded to arbitrary values or refused, without accesses outside of their
 * memory. */
static void test_hostile(void)
{
  Cj2kBlockScratch *scratch = cj2k_block_scratch_new();
  GRand *rand = g_rand_new_with_seed(4);
  uint32_t narrow[MAX_SAMPLES];
  uint64_t wide[MAX_SAMPLES];

  for (int round = 0; round < 3000; round++) {
    uint32_t length = (uint32_t)g_rand_int_range(rand, 0, 200);
    uint8_t *data = g_malloc(length);
    Cj2kSegment segments[4];
    for (uint32_t i = 0; i < length; i++)
      data[i] = g_rand_int_range(rand, 0, 3) ? (uint8_t)g_rand_int(rand) : 0xff;
    for (int i = 0; i < 4; i++)
      segments[i] = (Cj2kSegment){(uint32_t)g_rand_int_range(rand, 0, 300),
                                  (uint32_t)g_rand_int_range(rand, 0, 12)};
    if (g_rand_boolean(rand))
      segments[3] = (Cj2kSegment){CJ2K_SEGMENT_MAX_LENGTH, 0xff};
    Cj2kBlockInput in = {.data = data,
                         .length = length,
                         .segments = segments,
                         .num_segments = (uint16_t)g_rand_int_range(rand, 0, 5),
                         .num_passes = (uint8_t)g_rand_int_range(rand, 0, 40),
                         .zero_bitplanes = (uint8_t)g_rand_int_range(rand, 0, 20),
                         .num_bitplanes = (uint8_t)g_rand_int_range(rand, 0, 80),
                         .orientation = (uint8_t)g_rand_int_range(rand, 0, 4),
                         .style = (uint8_t)g_rand_int_range(rand, 0, 64),
                         .width = (uint16_t)g_rand_int_range(rand, 1, 65),
                         .height = (uint16_t)g_rand_int_range(rand, 1, 65)};
    if (g_rand_boolean(rand)) /* likely to get far */
      segments[0].passes = in.num_passes;
    bool ok = cj2k_mq_decode_block(scratch, &in, narrow, in.width);
    bool ok_wide = cj2k_mq_decode_block_wide(scratch, &in, wide, in.width);
    if (in.num_bitplanes - in.zero_bitplanes <= 30)
      g_assert_cmpint(ok, ==, ok_wide);
    for (int i = 0; ok && i < in.width * in.height; i++)
      g_assert_cmphex(wide[i], ==, (narrow[i] & 0x7fffffff) | (uint64_t)(narrow[i] >> 31) << 63);
    g_free(data);
  }
  g_rand_free(rand);
  cj2k_block_scratch_free(scratch);
}

/* A segment has the passes behind the end of the one before. */
static void test_segments(void)
{
  for (unsigned style = 0; style < 64; style++) {
    unsigned begin = 0;
    for (unsigned pass = 0; pass < CJ2K_MAX_PASSES; pass++) {
      g_assert_cmpuint(cj2k_segment_passes(pass, (uint8_t)style), ==, pass + 1 - begin);
      if (cj2k_pass_ends_segment(pass, (uint8_t)style))
        begin = pass + 1;
    }
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/mq/sequence", test_sequence);
  g_test_add_func("/mq/any-bytes", test_any_bytes);
  g_test_add_func("/mq/styles", test_styles);
  g_test_add_func("/mq/sizes", test_sizes);
  g_test_add_func("/mq/planes", test_planes);
  g_test_add_func("/mq/short-data", test_short_data);
  g_test_add_func("/mq/limits", test_limits);
  g_test_add_func("/mq/hostile", test_hostile);
  g_test_add_func("/mq/segments", test_segments);
  return g_test_run();
}
