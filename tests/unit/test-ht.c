/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The HT block coder: encoded blocks decode exactly, and arbitrary bytes cause no harm. */
#include "common/cpu/blockcoder.h"
#include "common/cpu/ht/decode.h"
#include "common/cpu/ht/encode.h"

#include <glib.h>
#include <string.h>

#define MAX_BYTES 65536

typedef enum { EMPTY, SPARSE, MIXED, DENSE, ALL_ONES, NUM_KINDS } Kind;

typedef struct {
  Cj2kBlockScratch *scratch;
  GRand *rand;
  uint32_t *samples;
  uint8_t *bytes;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
  (void)data;
  f->scratch = cj2k_block_scratch_new();
  f->rand = g_rand_new_with_seed(814);
  f->samples = g_new(uint32_t, 4096);
  f->bytes = g_malloc(MAX_BYTES);
}

static void tear_down(Fixture *f, gconstpointer data)
{
  (void)data;
  cj2k_block_scratch_free(f->scratch);
  g_rand_free(f->rand);
  g_free(f->samples);
  g_free(f->bytes);
}

static uint32_t magnitude(Fixture *f, Kind kind, uint32_t planes)
{
  uint32_t all = g_rand_int(f->rand) & (uint32_t)((UINT64_C(1) << planes) - 1);
  uint32_t some = all >> g_rand_int_range(f->rand, 0, (gint)planes);
  switch (kind) {
  case SPARSE: return g_rand_int_range(f->rand, 0, 40) == 0 ? some : 0;
  case MIXED: return g_rand_int_range(f->rand, 0, 3) == 0 ? some : some >> planes / 2;
  case DENSE: return all;
  case ALL_ONES: return (uint32_t)((UINT64_C(1) << planes) - 1);
  default: return 0;
  }
}

static Cj2kBlockSource make_block(Fixture *f, Kind kind, uint16_t width, uint16_t height,
                                  uint8_t planes)
{
  for (uint32_t i = 0; i < (uint32_t)width * height; i++)
    f->samples[i] = magnitude(f, kind, planes) | (g_rand_boolean(f->rand) ? 0x80000000 : 0);
  return (Cj2kBlockSource){.samples = f->samples,
                           .stride = width,
                           .width = width,
                           .height = height,
                           .num_bitplanes = planes,
                           .style = CJ2K_STYLE_HT,
                           .reversible = g_rand_boolean(f->rand)};
}

static bool significant_at(const Cj2kBlockSource *s, uint32_t i, uint32_t plane)
{
  return (s->samples[i] & 0x7FFFFFFF) >> plane != 0;
}

/* Reconstruction of docs/arithmetic.md: half units, at the midpoint of the interval that is
 * left. */
static uint32_t reconstruct(uint32_t sample, uint32_t plane)
{
  uint32_t q = (sample & 0x7FFFFFFF) >> plane;
  return q ? (sample & 0x80000000) | ((2 * q + 1) << plane) : 0;
}

/* Whether sample i takes part in SigProp: a neighbour is significant at the plane or became
 * significant earlier in SigProp. Direct implementation, sample by sample; sigma is 1 after
 * cleanup, 2 after SigProp. */
static bool has_neighbour(const Cj2kBlockSource *s, const uint8_t *sigma, int x, int y)
{
  for (int v = y - 1; v <= y + 1; v++)
    for (int u = x - 1; u <= x + 1; u++) {
      bool in = u >= 0 && v >= 0 && u < s->width && v < s->height && (u != x || v != y);
      if (!in || !sigma[v * s->width + u])
        continue;
      if ((s->style & CJ2K_STYLE_CAUSAL) && v > y && v % 4 == 0)
        continue;
      return true;
    }
  return false;
}

static void mark_significance(const Cj2kBlockSource *s, uint32_t plane, bool sigprop,
                              uint8_t *sigma)
{
  for (uint32_t i = 0; i < (uint32_t)s->width * s->height; i++)
    sigma[i] = significant_at(s, i, plane);
  if (!sigprop)
    return;
  for (int stripe = 0; stripe < s->height; stripe += 4)
    for (int x = 0; x < s->width; x++)
      for (int y = stripe; y < MIN(stripe + 4, s->height); y++) {
        int i = y * s->width + x;
        if (!sigma[i] && has_neighbour(s, sigma, x, y) && significant_at(s, (uint32_t)i, plane - 1))
          sigma[i] = 2;
      }
}

static uint64_t half_units_squared(int64_t error)
{
  return (uint64_t)(error * error);
}

/* The lowest bit-plane of sample i that `passes` passes decode. */
static uint32_t known_plane(const uint8_t *sigma, uint32_t i, uint32_t plane, uint32_t passes)
{
  return (sigma[i] == 1 && passes == 3) || (sigma[i] == 2 && passes >= 2) ? plane - 1 : plane;
}

static uint64_t brute_force_distortion(const Cj2kBlockSource *s, const uint8_t *sigma,
                                       uint32_t plane, uint32_t passes)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < (uint32_t)s->width * s->height; i++) {
    uint32_t decoded =
        reconstruct(s->samples[i], known_plane(sigma, i, plane, passes)) & 0x7FFFFFFF;
    int64_t truth = 2 * (int64_t)(s->samples[i] & 0x7FFFFFFF) + !s->reversible;
    if (decoded == 0)
      continue;
    int64_t value = s->reversible ? decoded & ~1u : decoded;
    sum += half_units_squared(truth) - half_units_squared(truth - value);
  }
  return 64 * sum;
}

/* Decodes a block as packets deliver it, from a copy of the exact size, so that a sanitizer detects
 * reads behind its end. */
static bool decode_passes(Fixture *f, const Cj2kBlockSource *s, const Cj2kPassEnd *passes,
                          uint32_t num_passes, const Cj2kBlockResult *result, uint32_t placeholders,
                          void *out, bool wide)
{
  uint32_t length = passes[num_passes - 1].length;
  uint8_t *data = g_memdup2(f->bytes, length);
  const Cj2kSegment segments[2] = {{passes[0].length, 1 + 3 * placeholders},
                                   {length - passes[0].length, num_passes - 1}};
  Cj2kBlockInput in = {.data = data,
                       .length = length,
                       .segments = segments,
                       .num_segments = num_passes > 1 ? 2 : 1,
                       .num_passes = (uint8_t)(num_passes + 3 * placeholders),
                       .zero_bitplanes = (uint8_t)(result->zero_bitplanes - placeholders),
                       .num_bitplanes = s->num_bitplanes,
                       .style = s->style,
                       .width = s->width,
                       .height = s->height};
  bool ok = wide ? cj2k_ht_decode_block_wide(f->scratch, &in, out, s->width)
                 : cj2k_ht_decode_block(f->scratch, &in, out, s->width);
  g_free(data);
  return ok;
}

static void check_samples(Fixture *f, const Cj2kBlockSource *s, const uint8_t *sigma,
                          uint32_t plane, const Cj2kPassEnd *passes, uint32_t num_passes,
                          const Cj2kBlockResult *result)
{
  uint32_t count = (uint32_t)s->width * s->height;
  uint32_t placeholders = (uint32_t)g_rand_int_range(f->rand, 0, result->zero_bitplanes + 1);
  bool narrow = s->num_bitplanes <= 30;
  uint32_t *decoded = g_new0(uint32_t, count);
  uint64_t *wide = g_new0(uint64_t, count);
  g_assert_true(decode_passes(f, s, passes, num_passes, result, placeholders, wide, true));
  if (narrow)
    g_assert_true(decode_passes(f, s, passes, num_passes, result, placeholders, decoded, false));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t known = known_plane(sigma, i, plane, num_passes),
             q = (s->samples[i] & 0x7FFFFFFF) >> known;
    uint64_t expected =
        q ? (2 * (uint64_t)q + 1) << known | (uint64_t)(s->samples[i] >> 31) << 63 : 0;
    g_assert_cmphex(wide[i], ==, expected);
    if (narrow)
      g_assert_cmphex(decoded[i], ==, reconstruct(s->samples[i], known));
  }
  g_free(decoded);
  g_free(wide);
}

static void round_trip(Fixture *f, const Cj2kBlockSource *s, uint8_t plane, uint8_t refinements)
{
  uint32_t count = (uint32_t)s->width * s->height, cleanup_length;
  bool any = false;
  for (uint32_t i = 0; i < count; i++)
    any |= significant_at(s, i, plane);
  Cj2kPassEnd passes[3];
  Cj2kBlockResult result;
  g_assert_true(cj2k_ht_encode_block(f->scratch, s, plane, refinements, f->bytes, MAX_BYTES, passes,
                                     &result));
  cj2k_ht_cleanup_lengths(f->scratch, s, plane, 1, &cleanup_length);
  if (!any) {
    g_assert_cmpuint(result.num_passes, ==, 0);
    g_assert_cmpuint(cleanup_length, ==, 0);
    return;
  }
  g_assert_cmpuint(result.num_passes, >=, 1);
  g_assert_cmpuint(result.num_passes, <=, plane > 0 ? 1 + refinements : 1);
  g_assert_cmpuint(passes[0].length, ==, cleanup_length);
  g_assert_cmpuint(passes[result.num_passes - 1].length, ==, result.length);
  for (uint32_t i = 0; i + 1 < result.length; i++) /* no marker code inside the data */
    g_assert_false(f->bytes[i] == 0xFF && f->bytes[i + 1] > 0x8F);
  g_assert_cmphex(f->bytes[result.length - 1], !=, 0xFF);

  uint8_t *sigma = g_new0(uint8_t, count);
  mark_significance(s, plane, plane > 0, sigma);
  for (uint32_t passes_kept = 1; passes_kept <= result.num_passes; passes_kept++) {
    check_samples(f, s, sigma, plane, passes, passes_kept, &result);
    if (s->num_bitplanes <= 22) /* the sum fits into 64 bits */
      g_assert_cmpuint(passes[passes_kept - 1].distortion, ==,
                       brute_force_distortion(s, sigma, plane, passes_kept));
  }
  g_assert_cmpuint(passes[0].distortion, ==, cj2k_ht_cleanup_distortion(s, plane));
  g_free(sigma);
}

static void test_sizes(Fixture *f, gconstpointer data)
{
  static const uint16_t sizes[][2] = {
      {1, 1},  {1, 2},    {2, 1},    {2, 2},    {3, 3},    {4, 4},    {5, 7},    {7, 5},
      {8, 8},  {13, 64},  {64, 13},  {31, 33},  {33, 31},  {32, 32},  {63, 65},  {64, 64},
      {61, 3}, {4, 1024}, {1024, 4}, {1, 1024}, {1024, 1}, {3, 1023}, {1023, 3}, {128, 32}};
  (void)data;
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (Kind kind = EMPTY; kind < NUM_KINDS; kind++)
      for (uint8_t refinements = 0; refinements <= 2; refinements++) {
        uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 1, 17);
        Cj2kBlockSource s = make_block(f, kind, sizes[i][0], sizes[i][1], planes);
        if (g_rand_boolean(f->rand))
          s.style |= CJ2K_STYLE_CAUSAL;
        round_trip(f, &s, (uint8_t)g_rand_int_range(f->rand, 0, planes), refinements);
      }
}

/* Blocks so small that MEL, VLC and Scup share bytes. */
static void test_small(Fixture *f, gconstpointer data)
{
  (void)data;
  for (int round = 0; round < 10000; round++) {
    Kind kind = (Kind)g_rand_int_range(f->rand, SPARSE, NUM_KINDS);
    int largest = kind == SPARSE ? 24 : 8;
    uint16_t width = (uint16_t)g_rand_int_range(f->rand, 1, largest + 1);
    uint16_t height = (uint16_t)g_rand_int_range(f->rand, 1, largest + 1);
    uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 1, 9);
    Cj2kBlockSource s = make_block(f, kind, width, height, planes);
    round_trip(f, &s, (uint8_t)g_rand_int_range(f->rand, 0, planes),
               (uint8_t)g_rand_int_range(f->rand, 0, 3));
  }
}

/* SigProp and MagRef data that consist of ones and end at any bit. */
static void test_refinement_of_ones(Fixture *f, gconstpointer data)
{
  (void)data;
  for (uint16_t width = 1; width <= 40; width++)
    for (uint16_t height = 1; height <= 9; height++)
      for (uint8_t refinements = 1; refinements <= 2; refinements++) {
        Cj2kBlockSource s = make_block(f, EMPTY, width, height, 4);
        for (uint32_t i = 0; i < (uint32_t)width * height; i++)
          f->samples[i] = 0x80000002;
        f->samples[g_rand_int_range(f->rand, 0, width * height)] = 0x80000006;
        round_trip(f, &s, 2, refinements);
      }
}

static void test_planes(Fixture *f, gconstpointer data)
{
  (void)data;
  for (uint8_t planes = 1; planes <= 31; planes++)
    for (uint8_t plane = 0; plane < planes; plane++) {
      Kind kind = (Kind)g_rand_int_range(f->rand, SPARSE, NUM_KINDS);
      Cj2kBlockSource s = make_block(f, kind, 17, 21, planes);
      round_trip(f, &s, plane, (uint8_t)g_rand_int_range(f->rand, 0, 3));
    }
}

/* A single large sample among zeros needs the longest u-VLC codes. */
static void test_large_residuals(Fixture *f, gconstpointer data)
{
  (void)data;
  for (uint8_t planes = 1; planes <= 31; planes++)
    for (uint32_t at = 0; at < 36; at++) {
      Cj2kBlockSource s = make_block(f, EMPTY, 6, 6, planes);
      f->samples[at] |= (uint32_t)((UINT64_C(1) << planes) - 1);
      f->samples[(at * 7 + 2) % 36] |= 1;
      f->samples[(at + 2) % 36] |= (uint32_t)((UINT64_C(1) << planes) - 2);
      round_trip(f, &s, 0, 0);
    }
}

static void test_no_room(Fixture *f, gconstpointer data)
{
  Cj2kBlockSource s = make_block(f, DENSE, 64, 64, 8);
  Cj2kPassEnd passes[3];
  Cj2kBlockResult result;
  (void)data;
  g_assert_true(cj2k_ht_encode_block(f->scratch, &s, 1, 2, f->bytes, MAX_BYTES, passes, &result));
  uint32_t length = result.length;
  g_assert_cmpuint(result.num_passes, ==, 3);
  g_assert_false(cj2k_ht_encode_block(f->scratch, &s, 1, 2, f->bytes, length - 1, passes, &result));
  g_assert_false(
      cj2k_ht_encode_block(f->scratch, &s, 1, 0, f->bytes, passes[0].length - 1, passes, &result));
  g_assert_true(cj2k_ht_encode_block(f->scratch, &s, 1, 2, f->bytes, length, NULL, &result));
  g_assert_cmpuint(result.length, ==, length);
}

static bool decode_segments(Fixture *f, const Cj2kSegment *segments, uint16_t num_segments,
                            uint32_t length, uint8_t zero_bitplanes, uint32_t *out)
{
  Cj2kBlockInput in = {.data = f->bytes,
                       .length = length,
                       .segments = segments,
                       .num_segments = num_segments,
                       .zero_bitplanes = zero_bitplanes,
                       .num_bitplanes = 12,
                       .style = CJ2K_STYLE_HT,
                       .width = 20,
                       .height = 20};
  for (uint16_t i = 0; i < num_segments; i++)
    in.num_passes = (uint8_t)(in.num_passes + segments[i].passes);
  return cj2k_ht_decode_block(f->scratch, &in, out, 20);
}

/* Several HT sets: the last complete one is used, wherever the earlier ones came from (T.814 B.1,
 * B.3). */
static void test_sets(Fixture *f, gconstpointer data)
{
  Cj2kBlockSource s = make_block(f, MIXED, 20, 20, 12);
  Cj2kPassEnd first[3], second[3];
  Cj2kBlockResult result;
  uint32_t out[400];
  (void)data;
  g_assert_true(cj2k_ht_encode_block(f->scratch, &s, 5, 2, f->bytes, MAX_BYTES, first, &result));
  uint32_t a = result.length, zero_bitplanes = result.zero_bitplanes;
  g_assert_true(
      cj2k_ht_encode_block(f->scratch, &s, 4, 1, f->bytes + a, MAX_BYTES - a, second, &result));
  uint32_t b = result.length;
  uint8_t *sigma = g_new0(uint8_t, 400);
  mark_significance(&s, 4, true, sigma);

  const Cj2kSegment both[] = {{first[0].length, 1},
                              {a - first[0].length, 2},
                              {second[0].length, 1},
                              {b - second[0].length, 1}};
  g_assert_true(decode_segments(f, both, 4, a + b, (uint8_t)zero_bitplanes, out));
  for (uint32_t i = 0; i < 400; i++)
    g_assert_cmphex(out[i], ==, reconstruct(s.samples[i], known_plane(sigma, i, 4, 2)));

  /* If the second set is empty or truncated, the first one is used. */
  const Cj2kSegment empty[] = {{first[0].length, 1}, {a - first[0].length, 2}, {0, 1}, {0, 2}};
  mark_significance(&s, 5, true, sigma);
  for (int truncated = 0; truncated < 2; truncated++) {
    g_assert_true(decode_segments(f, truncated ? both : empty, 4, a, (uint8_t)zero_bitplanes, out));
    for (uint32_t i = 0; i < 400; i++)
      g_assert_cmphex(out[i], ==, reconstruct(s.samples[i], known_plane(sigma, i, 5, 3)));
  }

  /* Refinement passes of an empty set do not apply to the set before it. */
  const Cj2kSegment stray[] = {{first[0].length, 1}, {a - first[0].length, 2}, {0, 1}, {b, 2}};
  g_assert_true(decode_segments(f, stray, 4, a + b, (uint8_t)zero_bitplanes, out));
  for (uint32_t i = 0; i < 400; i++)
    g_assert_cmphex(out[i], ==, reconstruct(s.samples[i], known_plane(sigma, i, 5, 3)));

  /* Refinement passes in two layers; placeholder passes in segments of their own. */
  uint32_t refinement = a - first[0].length;
  const Cj2kSegment split[] = {{0, 2}, {0, 4}, {first[0].length, 1}, {1, 1}, {refinement - 1, 1}};
  g_assert_true(decode_segments(f, split, 5, a, (uint8_t)(zero_bitplanes - 2), out));
  for (uint32_t i = 0; i < 400; i++)
    g_assert_cmphex(out[i], ==, reconstruct(s.samples[i], known_plane(sigma, i, 5, 3)));

  const Cj2kSegment placeholders[] = {{0, 3}};
  g_assert_true(decode_segments(f, placeholders, 1, 0, 0, out));
  for (uint32_t i = 0; i < 400; i++)
    g_assert_cmphex(out[i], ==, 0);
  g_free(sigma);
}

/* The gain of a pass is the sum of its samples' gains, with one large sample anywhere: these take a
 * slower way, because their sums need more bits. */
static void test_gain(Fixture *f, gconstpointer data)
{
  enum { WIDTH = 5, HEIGHT = 3, STRIDE = 7 };
  (void)f, (void)data;
  for (uint32_t at = 0; at < WIDTH * HEIGHT; at++) {
    uint32_t samples[STRIDE * HEIGHT];
    Cj2kHtGain sum = 0;
    for (uint32_t i = 0; i < G_N_ELEMENTS(samples); i++)
      samples[i] = i * 37 % 100;
    samples[at / WIDTH * STRIDE + at % WIDTH] = 0xF2345678; /* negative */
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
      sum += cj2k_ht_sample_gain(samples[i / WIDTH * STRIDE + i % WIDTH], 4, false);
    Cj2kBlockSource source = {
        .samples = samples, .width = WIDTH, .height = HEIGHT, .stride = STRIDE};
    g_assert_true(cj2k_ht_cleanup_gain(&source, 4) == sum);
  }
}

static void test_corrupt(Fixture *f, gconstpointer data)
{
  Cj2kBlockSource s = make_block(f, MIXED, 20, 20, 12);
  Cj2kPassEnd passes[3];
  Cj2kBlockResult result;
  uint32_t out[400];
  (void)data;
  g_assert_true(cj2k_ht_encode_block(f->scratch, &s, 4, 0, f->bytes, MAX_BYTES, passes, &result));
  uint32_t length = result.length;
  const Cj2kSegment whole = {length, 1}, one_byte = {1, 1}, refined[2] = {{length - 1, 1}, {1, 2}};
  const Cj2kSegment propagated[2] = {{length, 1}, {1, 1}};
  g_assert_true(decode_segments(f, &whole, 1, length, 7, out));
  g_assert_false(decode_segments(f, &one_byte, 1, 1, 7, out));
  g_assert_false(decode_segments(f, &whole, 1, length, 12, out));  /* no bit-plane left */
  g_assert_false(decode_segments(f, refined, 2, length, 11, out)); /* none left to refine */
  g_assert_true(decode_segments(f, &whole, 1, length, 11, out));
  g_assert_true(decode_segments(f, propagated, 2, length + 1, 7, out));
  g_assert_false(decode_segments(f, propagated, 2, length + 1, 11, out));
  g_assert_false(
      decode_segments(f, &whole, 1, length, 0, out)); /* exponents too large for one plane */
  uint8_t low = f->bytes[length - 2], high = f->bytes[length - 1];
  f->bytes[length - 1] = 0;
  f->bytes[length - 2] = low & 0xF0;
  g_assert_false(decode_segments(f, &whole, 1, length, 7, out)); /* Scup = 0 */
  f->bytes[length - 2] = (low & 0xF0) | 3;
  g_assert_false(decode_segments(f, &whole, 1, length, 7, out)); /* Scup too small for VLC */
  f->bytes[length - 1] = 0xFF;
  f->bytes[length - 2] = low;
  g_assert_false(decode_segments(f, &whole, 1, length, 7, out)); /* Scup > Lcup */
  f->bytes[length - 1] = high;
  g_assert_true(decode_segments(f, &whole, 1, length, 7, out));
}

static bool decode_cleanup(Fixture *f, const Cj2kBlockSource *s, uint32_t length,
                           uint8_t zero_bitplanes, uint32_t *out)
{
  const Cj2kSegment segment = {length, 1};
  Cj2kBlockInput in = {.data = f->bytes,
                       .length = length,
                       .segments = &segment,
                       .num_segments = 1,
                       .num_passes = 1,
                       .zero_bitplanes = zero_bitplanes,
                       .num_bitplanes = s->num_bitplanes,
                       .width = s->width,
                       .height = s->height};
  return cj2k_ht_decode_block(f->scratch, &in, out, s->width);
}

/* Behind its end the MagSgn stream continues with ones (T.814 7.1.2). */
static void test_magsgn_exhausted(Fixture *f, gconstpointer data)
{
  Cj2kBlockSource s = make_block(f, EMPTY, 64, 64, 7);
  Cj2kBlockResult result;
  uint32_t *out = g_new(uint32_t, 4096);
  (void)data;
  for (uint32_t i = 0; i < 4096; i++)
    f->samples[i] = 0x80000020; /* all MagSgn bits are ones */
  g_assert_true(cj2k_ht_encode_block(f->scratch, &s, 0, 0, f->bytes, MAX_BYTES, NULL, &result));
  uint32_t suffix = (uint32_t)f->bytes[result.length - 1] << 4 | (f->bytes[result.length - 2] & 15);
  g_assert_cmpuint(suffix, <, result.length);
  memmove(f->bytes, f->bytes + result.length - suffix, suffix);
  g_assert_true(decode_cleanup(f, &s, suffix, result.zero_bitplanes, out));
  for (uint32_t i = 0; i < 4096; i++)
    g_assert_cmphex(out[i], ==, 0x80000041);
  g_free(out);
}

/* A Scup that excludes part of the VLC bytes is detected. */
static void test_vlc_too_short(Fixture *f, gconstpointer data)
{
  Cj2kHtEncodeScratch *scratch = g_new0(Cj2kHtEncodeScratch, 1);
  Cj2kHtCleanup parts;
  uint32_t out[64 * 16];
  Cj2kBlockSource s = make_block(f, MIXED, 64, 16, 9);
  (void)data;
  uint32_t length = cj2k_ht_encode_cleanup(scratch, &s, 0, &parts);
  cj2k_ht_write_cleanup(scratch, &parts, f->bytes);
  g_assert_true(decode_cleanup(f, &s, length, 8, out));
  g_assert_cmpuint(parts.vlc, >, 50);
  for (uint32_t suffix = 2; suffix < parts.vlc - 1; suffix++) {
    f->bytes[length - 1] = (uint8_t)(suffix >> 4);
    f->bytes[length - 2] = (uint8_t)((f->bytes[length - 2] & 0xF0) | (suffix & 15));
    g_assert_false(decode_cleanup(f, &s, length, 8, out));
  }
  g_free(scratch);
}

/* Decodes with both sample formats from a copy of the exact size; both must agree. */
static bool decode_anything(const Fixture *f, Cj2kBlockInput in)
{
  gsize count = (gsize)in.width * in.height;
  uint8_t *data = g_memdup2(in.data, in.length);
  uint32_t *narrow = g_new(uint32_t, count);
  uint64_t *wide = g_new(uint64_t, count);
  in.data = data;
  bool narrow_ok = cj2k_ht_decode_block(f->scratch, &in, narrow, in.width);
  bool wide_ok = cj2k_ht_decode_block_wide(f->scratch, &in, wide, in.width);
  if (in.num_bitplanes <= 30)
    g_assert_cmpint(narrow_ok, ==, wide_ok);
  if (in.num_bitplanes < 30 && narrow_ok)
    for (gsize i = 0; i < count; i++)
      g_assert_cmphex(narrow[i], ==, (uint32_t)(wide[i] | wide[i] >> 63 << 31));
  g_free(data);
  g_free(narrow);
  g_free(wide);
  return wide_ok;
}

/* Random bytes with a plausible Scup. */
static void test_random_bytes(Fixture *f, gconstpointer data)
{
  int decoded = 0;
  (void)data;
  for (int round = 0; round < 4000; round++) {
    uint16_t width = (uint16_t)g_rand_int_range(f->rand, 1, 1025);
    uint16_t height = (uint16_t)g_rand_int_range(f->rand, 1, MIN(1024, 4096 / width) + 1);
    uint32_t cleanup = (uint32_t)g_rand_int_range(f->rand, 2, 600);
    uint32_t refinement = (uint32_t)g_rand_int_range(f->rand, 0, 90);
    uint32_t suffix = (uint32_t)g_rand_int_range(f->rand, 2, (gint)cleanup + 1);
    uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 1, 75);
    for (uint32_t i = 0; i < cleanup + refinement; i++)
      f->bytes[i] =
          (uint8_t)(round % 3 == 2 && i % 3 ? 0
                                            : g_rand_int(f->rand) | (round % 3 == 1 ? 0xFE : 0));
    f->bytes[cleanup - 1] = (uint8_t)(suffix >> 4);
    f->bytes[cleanup - 2] = (uint8_t)((f->bytes[cleanup - 2] & 0xF0) | (suffix & 15));
    const Cj2kSegment segments[2] = {{cleanup, 1}, {refinement, 2}};
    Cj2kBlockInput in = {.data = f->bytes,
                         .length = cleanup + refinement,
                         .segments = segments,
                         .num_segments = 2,
                         .num_passes = 3,
                         .zero_bitplanes = (uint8_t)g_rand_int_range(f->rand, 0, planes),
                         .num_bitplanes = planes,
                         .style = CJ2K_STYLE_HT,
                         .width = width,
                         .height = height};
    decoded += decode_anything(f, in);
  }
  g_assert_cmpint(decoded, >, 100); /* otherwise the loop would test nothing */
}

/* Blocks in which a few bytes were changed. */
static void test_damage(Fixture *f, gconstpointer data)
{
  int decoded = 0;
  (void)data;
  for (int round = 0; round < 2000; round++) {
    uint16_t width = (uint16_t)g_rand_int_range(f->rand, 1, 66),
             height = (uint16_t)g_rand_int_range(f->rand, 1, 63);
    uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 2, 32),
            plane = (uint8_t)g_rand_int_range(f->rand, 1, planes);
    Cj2kBlockSource s =
        make_block(f, (Kind)g_rand_int_range(f->rand, SPARSE, NUM_KINDS), width, height, planes);
    Cj2kPassEnd passes[3];
    Cj2kBlockResult result;
    g_assert_true(
        cj2k_ht_encode_block(f->scratch, &s, plane, 2, f->bytes, MAX_BYTES, passes, &result));
    if (result.num_passes < 2)
      continue;
    for (int i = g_rand_int_range(f->rand, 1, 6); i > 0; i--)
      f->bytes[g_rand_int_range(f->rand, 0, (gint)result.length)] = (uint8_t)g_rand_int(f->rand);
    const Cj2kSegment segments[2] = {{passes[0].length, 1},
                                     {result.length - passes[0].length, result.num_passes - 1u}};
    Cj2kBlockInput in = {.data = f->bytes,
                         .length = result.length,
                         .segments = segments,
                         .num_segments = 2,
                         .num_passes = result.num_passes,
                         .zero_bitplanes = result.zero_bitplanes,
                         .num_bitplanes = planes,
                         .style = CJ2K_STYLE_HT,
                         .width = width,
                         .height = height};
    decoded += decode_anything(f, in);
  }
  g_assert_cmpint(decoded, >, 100);
}

/* The coder uses AVX2 if the CPU has it; the plain C code of both directions must give the same. */
static void test_plain_decoder(Fixture *f, gconstpointer data)
{
  Cj2kHtDecodeScratch *scratch = g_new(Cj2kHtDecodeScratch, 1);
  (void)data;
  for (int round = 0; round < 300; round++) {
    uint16_t width = (uint16_t)g_rand_int_range(f->rand, 1, 100);
    uint16_t height = (uint16_t)g_rand_int_range(f->rand, 1, 41);
    uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 1, 23);
    uint8_t plane = (uint8_t)g_rand_int_range(f->rand, 0, planes);
    Cj2kBlockSource s =
        make_block(f, (Kind)g_rand_int_range(f->rand, SPARSE, NUM_KINDS), width, height, planes);
    Cj2kBlockResult result;
    g_assert_true(
        cj2k_ht_encode_block(f->scratch, &s, plane, 0, f->bytes, MAX_BYTES, NULL, &result));
    if (result.num_passes == 0)
      continue;
    if (round % 2) /* also for damaged blocks */
      f->bytes[g_rand_int_range(f->rand, 0, (gint)result.length)] ^=
          (uint8_t)g_rand_int_range(f->rand, 1, 256);
    const Cj2kSegment segment = {result.length, 1};
    Cj2kBlockInput in = {.data = f->bytes,
                         .length = result.length,
                         .segments = &segment,
                         .num_segments = 1,
                         .num_passes = 1,
                         .zero_bitplanes = result.zero_bitplanes,
                         .num_bitplanes = planes,
                         .width = width,
                         .height = height};
    uint32_t *expected = g_new(uint32_t, width * height), *plain = g_new(uint32_t, width * height);
    Cj2kHtSet set;
    bool ok = cj2k_ht_decode_block(f->scratch, &in, expected, width);
    bool plain_ok = cj2k_ht_find_set(&in, &set) &&
                    cj2k_ht_decode_quads(scratch, &set, width, height) &&
                    cj2k_ht_decode_magsgn(scratch, &set, width, height, plain, width, false);
    g_assert_cmpint(ok, ==, plain_ok);
    if (ok)
      g_assert_cmpmem(expected, 4u * width * height, plain, 4u * width * height);
    g_free(expected);
    g_free(plain);
  }
  g_free(scratch);
}

#ifdef CJ2K_HT_ENC_AVX2
static void check_row(const Cj2kHtQuadRow *plain, const Cj2kHtQuadRow *vector, uint32_t cols)
{
  uint8_t bytes[2][8192];
  Cj2kHtBits bits[2] = {{.out = bytes[0]}, {.out = bytes[1]}};
  g_assert_cmpmem(plain->quad, (CJ2K_HT_ENC_PAD + cols) * 4, vector->quad,
                  (CJ2K_HT_ENC_PAD + cols) * 4);
  g_assert_cmpmem(plain->v, 16 * cols, vector->v, 16 * cols);
  g_assert_cmpmem(plain->lower, CJ2K_HT_ENC_PAD + 2 * cols, vector->lower,
                  CJ2K_HT_ENC_PAD + 2 * cols);
  cj2k_ht_put_magsgn(plain, cols, &bits[0]);
  cj2k_ht_put_magsgn_avx2(vector, cols, &bits[1]);
  gsize count = cj2k_bits_put(&bits[0], bytes[0]);
  g_assert_cmpuint(count, ==, cj2k_bits_put(&bits[1], bytes[1]));
  g_assert_cmpmem(bytes[0], (count + 7) / 8, bytes[1], (count + 7) / 8);
}

static void test_plain_encoder(Fixture *f, gconstpointer data)
{
  (void)data;
  if (!__builtin_cpu_supports("avx2")) {
    g_test_skip("no AVX2");
    return;
  }
  Cj2kHtQuadRow *plain = g_new0(Cj2kHtQuadRow, 2), *vector = g_new0(Cj2kHtQuadRow, 2);
  for (int round = 0; round < 200; round++) {
    uint16_t width = (uint16_t)g_rand_int_range(f->rand, 1, 100);
    uint16_t height = (uint16_t)g_rand_int_range(f->rand, 1, 12);
    uint8_t planes = (uint8_t)g_rand_int_range(f->rand, 1, CJ2K_HT_ENC_AVX2_MAX_EXPONENT);
    uint8_t plane = (uint8_t)g_rand_int_range(f->rand, 0, planes);
    Cj2kBlockSource s =
        make_block(f, (Kind)g_rand_int_range(f->rand, SPARSE, NUM_KINDS), width, height, planes);
    for (uint32_t y = 0; y < height; y += 2) {
      uint32_t at = y >> 1 & 1, above = 1 - at, cols = (width + 1u) / 2;
      cj2k_ht_analyse_row(&s, plane, y, y == 0, &plain[above], &plain[at]);
      cj2k_ht_analyse_row_avx2(&s, plane, y, y == 0, &vector[above], &vector[at]);
      for (uint32_t q = 0; q < cols; q++)
        plain[at].known[q] = vector[at].known[q] =
            CJ2K_HT_ENC_EPS(plain[at].quad[CJ2K_HT_ENC_PAD + q]);
      vector[at].known[cols] = 0;
      check_row(&plain[at], &vector[at], cols);
    }
  }
  g_free(plain);
  g_free(vector);
}
#endif

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add("/ht/sizes", Fixture, NULL, set_up, test_sizes, tear_down);
  g_test_add("/ht/small", Fixture, NULL, set_up, test_small, tear_down);
  g_test_add("/ht/refinement-of-ones", Fixture, NULL, set_up, test_refinement_of_ones, tear_down);
  g_test_add("/ht/planes", Fixture, NULL, set_up, test_planes, tear_down);
  g_test_add("/ht/large-residuals", Fixture, NULL, set_up, test_large_residuals, tear_down);
  g_test_add("/ht/no-room", Fixture, NULL, set_up, test_no_room, tear_down);
  g_test_add("/ht/sets", Fixture, NULL, set_up, test_sets, tear_down);
  g_test_add("/ht/gain", Fixture, NULL, set_up, test_gain, tear_down);
  g_test_add("/ht/corrupt", Fixture, NULL, set_up, test_corrupt, tear_down);
  g_test_add("/ht/magsgn-exhausted", Fixture, NULL, set_up, test_magsgn_exhausted, tear_down);
  g_test_add("/ht/vlc-too-short", Fixture, NULL, set_up, test_vlc_too_short, tear_down);
  g_test_add("/ht/random-bytes", Fixture, NULL, set_up, test_random_bytes, tear_down);
  g_test_add("/ht/damage", Fixture, NULL, set_up, test_damage, tear_down);
  g_test_add("/ht/plain-decoder", Fixture, NULL, set_up, test_plain_decoder, tear_down);
#ifdef CJ2K_HT_ENC_AVX2
  g_test_add("/ht/plain-encoder", Fixture, NULL, set_up, test_plain_encoder, tear_down);
#endif
  return g_test_run();
}
