/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packing and unpacking of video layouts: compared with a writer that sets single bits and, for
 * packed formats of 10 bits, with bytes written by hand; and packed samples unpack to themselves.
 */
#include "common/samples/pack.h"

#include <glib.h>
#include <string.h>

typedef struct {
  const char *name;
  uint32_t num_planes, num_components;
  uint32_t fill;
  uint8_t sub_x[4]; /* of each component */
  Cj2kSampleLayout samples[4];
} Format;

/* clang-format off */
#define ONE(plane, unit, word, depth, offset, shift) \
  {plane, unit, 1, word, false, false, depth, {{offset, shift}}}
#define ONE_BE(plane, unit, word, depth, offset, shift) \
  {plane, unit, 1, word, true, false, depth, {{offset, shift}}}

static const Format formats[] = {
    {"GRAY8", 1, 1, 0, {1}, {ONE(0, 1, 1, 8, 0, 0)}},
    {"GRAY16_BE", 1, 1, 0, {1}, {ONE_BE(0, 2, 2, 16, 0, 0)}},
    {"signed 12 in 16", 1, 1, 0, {1}, {{0, 2, 1, 2, false, true, 12, {{0, 0}}}}},
    {"signed 24 in 32 BE", 1, 1, 0, {1}, {{0, 4, 1, 4, true, true, 24, {{0, 0}}}}},
    {"signed 7 in 8", 1, 1, 0, {1}, {{0, 1, 1, 1, false, true, 7, {{0, 0}}}}},
    {"32 bit", 1, 1, 0, {1}, {ONE(0, 4, 4, 31, 0, 0)}},
    {"I420", 3, 3, 0, {1, 2, 2}, {ONE(0, 1, 1, 8, 0, 0), ONE(1, 1, 1, 8, 0, 0), ONE(2, 1, 1, 8, 0, 0)}},
    {"Y444_10LE", 3, 3, 0, {1, 1, 1}, {ONE(0, 2, 2, 10, 0, 0), ONE(1, 2, 2, 10, 0, 0), ONE(2, 2, 2, 10, 0, 0)}},
    {"I422_12BE", 3, 3, 0, {1, 2, 2}, {ONE_BE(0, 2, 2, 12, 0, 0), ONE_BE(1, 2, 2, 12, 0, 0), ONE_BE(2, 2, 2, 12, 0, 0)}},
    {"NV12", 2, 3, 0, {1, 2, 2}, {ONE(0, 1, 1, 8, 0, 0), ONE(1, 2, 1, 8, 0, 0), ONE(1, 2, 1, 8, 1, 0)}},
    {"P010_10LE", 2, 3, 0, {1, 2, 2}, {ONE(0, 2, 2, 10, 0, 6), ONE(1, 4, 2, 10, 0, 6), ONE(1, 4, 2, 10, 2, 6)}},
    {"UYVY", 1, 3, 0, {1, 2, 2}, {{0, 4, 2, 1, false, false, 8, {{1, 0}, {3, 0}}}, ONE(0, 4, 1, 8, 0, 0), ONE(0, 4, 1, 8, 2, 0)}},
    {"YUY2", 1, 3, 0, {1, 2, 2}, {{0, 4, 2, 1, false, false, 8, {{0, 0}, {2, 0}}}, ONE(0, 4, 1, 8, 1, 0), ONE(0, 4, 1, 8, 3, 0)}},
    {"Y210", 1, 3, 0, {1, 2, 2}, {{0, 8, 2, 2, false, false, 10, {{0, 6}, {4, 6}}}, ONE(0, 8, 2, 10, 2, 6), ONE(0, 8, 2, 10, 6, 6)}},
    {"v210", 1, 3, 0, {1, 2, 2}, {{0, 16, 6, 4, false, false, 10, {{0, 10}, {4, 0}, {4, 20}, {8, 10}, {12, 0}, {12, 20}}},
                                  {0, 16, 3, 4, false, false, 10, {{0, 0}, {4, 10}, {8, 20}}},
                                  {0, 16, 3, 4, false, false, 10, {{0, 20}, {8, 0}, {12, 10}}}}},
    {"UYVP", 1, 3, 0, {1, 2, 2}, {{0, 5, 2, 2, true, false, 10, {{1, 4}, {3, 0}}}, ONE_BE(0, 5, 2, 10, 0, 6), ONE_BE(0, 5, 2, 10, 2, 2)}},
    {"RGB", 1, 3, 0, {1, 1, 1}, {ONE(0, 3, 1, 8, 0, 0), ONE(0, 3, 1, 8, 1, 0), ONE(0, 3, 1, 8, 2, 0)}},
    {"BGRx", 1, 3, 0xffffffffu, {1, 1, 1}, {ONE(0, 4, 1, 8, 2, 0), ONE(0, 4, 1, 8, 1, 0), ONE(0, 4, 1, 8, 0, 0)}},
    {"r210", 1, 3, 0, {1, 1, 1}, {ONE_BE(0, 4, 4, 10, 0, 20), ONE_BE(0, 4, 4, 10, 0, 10), ONE_BE(0, 4, 4, 10, 0, 0)}},
    {"RGB10A2_LE", 1, 4, 0, {1, 1, 1, 1}, {ONE(0, 4, 4, 10, 0, 0), ONE(0, 4, 4, 10, 0, 10), ONE(0, 4, 4, 10, 0, 20), ONE(0, 4, 4, 2, 0, 30)}},
    {"RGB10x2_LE", 1, 3, 0xc0000000u, {1, 1, 1}, {ONE(0, 4, 4, 10, 0, 0), ONE(0, 4, 4, 10, 0, 10), ONE(0, 4, 4, 10, 0, 20)}},
    {"RGB16", 1, 3, 0, {1, 1, 1}, {ONE(0, 2, 2, 5, 0, 11), ONE(0, 2, 2, 6, 0, 5), ONE(0, 2, 2, 5, 0, 0)}},
    {"AYUV64", 1, 4, 0, {1, 1, 1, 1}, {ONE(0, 8, 2, 16, 2, 0), ONE(0, 8, 2, 16, 4, 0), ONE(0, 8, 2, 16, 6, 0), ONE(0, 8, 2, 16, 0, 0)}},
    {"GRAY10_LE32", 1, 1, 0, {1}, {{0, 4, 3, 4, false, false, 10, {{0, 0}, {0, 10}, {0, 20}}}}},
};
/* clang-format on */

enum { MAX_WIDTH = 2100, ROW_BYTES = MAX_WIDTH * 8 + 64 };

typedef struct {
  uint8_t plane[4][ROW_BYTES];
  int32_t samples[4][MAX_WIDTH];
  uint32_t n[4];
} Row;

static Cj2kLayout layout_of(const Format *f)
{
  return (Cj2kLayout){f->num_components, f->num_planes, f->samples, f->fill};
}

static void set_bit(const Cj2kSampleLayout *s, uint8_t *row, uint32_t x, unsigned bit, bool value)
{
  uint8_t *word = row + x / s->unit_samples * s->unit_bytes + s->at[x % s->unit_samples].offset;
  unsigned in_word = bit + s->at[x % s->unit_samples].shift, byte = in_word / 8;
  uint8_t *at = word + (s->big_endian ? s->word_bytes - 1 - byte : byte);
  *at = (uint8_t)((*at & ~(1u << in_word % 8)) | (unsigned)value << in_word % 8);
}

/* The reference writer: sets one bit at a time. */
static void write_bits(const Cj2kSampleLayout *s, uint8_t *row, const int32_t *samples, uint32_t n)
{
  unsigned bits = s->is_signed ? 8u * s->word_bytes : s->depth;
  for (uint32_t x = 0; x < n; x++)
    for (unsigned bit = 0; bit < bits; bit++)
      set_bit(s, row, x, bit, ((int64_t)samples[x] >> bit) & 1);
}

static Row *row_new(const Format *f, uint32_t width)
{
  Row *row = g_new0(Row, 1);
  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    row->n[c] = (width + f->sub_x[c] - 1) / f->sub_x[c];
    for (uint32_t x = 0; x < row->n[c]; x++) {
      uint32_t v = (uint32_t)g_test_rand_int() & (uint32_t)((UINT64_C(1) << s->depth) - 1);
      row->samples[c][x] = (int32_t)v - (s->is_signed ? 1 << (s->depth - 1) : 0);
    }
  }
  return row;
}

/* The number of units in a row of this plane, over all its components; *width: the largest number
 * of samples. */
static uint32_t row_units(const Format *f, const Row *row, uint32_t plane, uint32_t *unit_bytes,
                          uint32_t *width)
{
  uint32_t units = 0;
  *width = 0;
  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    if (s->plane != plane)
      continue;
    *unit_bytes = s->unit_bytes;
    *width = MAX(*width, row->n[c]);
    units = MAX(units, (row->n[c] + s->unit_samples - 1) / s->unit_samples);
  }
  return units;
}

static void check_width(const Format *f, uint32_t width)
{
  Cj2kLayout layout = layout_of(f);
  Row *row = row_new(f, width), *expected = row_new(f, width);
  int32_t *unpacked = g_new(int32_t, MAX_WIDTH);
  memset(row->plane, 0xa5, sizeof row->plane);
  memset(expected->plane, 0xa5, sizeof expected->plane);
  for (uint32_t p = 0; p < f->num_planes; p++) {
    uint32_t unit_bytes = 0, samples, units = row_units(f, row, p, &unit_bytes, &samples);
    for (uint32_t i = 0; i < units * unit_bytes; i++)
      expected->plane[p][i] = (uint8_t)(f->fill >> 8 * (i % unit_bytes % 4));
    cj2k_pack_begin_row(&layout, p, row->plane[p], samples, SIZE_MAX);
  }
  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    uint32_t split = (uint32_t)g_test_rand_int_range(0, (int32_t)row->n[c] + 1);
    write_bits(s, expected->plane[s->plane], row->samples[c], row->n[c]);
    cj2k_pack_row(s, s->depth, s->is_signed, row->samples[c] + split, split, row->n[c] - split,
                  row->plane[s->plane]);
    cj2k_pack_row(s, s->depth, s->is_signed, row->samples[c], 0, split, row->plane[s->plane]);
  }
  /* Positions of the last unit beyond the row keep their old contents: write them as well. */
  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    static const int32_t zeros[CJ2K_UNIT_SAMPLES];
    uint32_t unit_bytes = 0, samples;
    uint32_t positions = row_units(f, row, s->plane, &unit_bytes, &samples) * s->unit_samples;
    cj2k_pack_row(s, s->depth, s->is_signed, zeros, row->n[c], positions - row->n[c],
                  row->plane[s->plane]);
    for (uint32_t x = row->n[c]; x < positions; x++)
      for (unsigned bit = 0; bit < s->depth; bit++)
        set_bit(s, expected->plane[s->plane], x, bit, false);
  }
  for (uint32_t p = 0; p < f->num_planes; p++)
    g_assert_cmpmem(row->plane[p], ROW_BYTES, expected->plane[p], ROW_BYTES);

  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    uint32_t split = (uint32_t)g_test_rand_int_range(0, (int32_t)row->n[c] + 1);
    cj2k_unpack_row(s, s->depth, row->plane[s->plane], 0, split, unpacked);
    cj2k_unpack_row(s, s->depth, row->plane[s->plane], split, row->n[c] - split, unpacked + split);
    g_assert_cmpmem(unpacked, 4 * row->n[c], row->samples[c], 4 * row->n[c]);
    for (uint8_t depth = s->depth; depth > 0; depth--) {
      cj2k_unpack_row(s, depth, row->plane[s->plane], 0, MIN(row->n[c], 40), unpacked);
      for (uint32_t x = 0; x < MIN(row->n[c], 40); x++)
        g_assert_cmpint(unpacked[x], ==, row->samples[c][x] >> (s->depth - depth));
    }
  }
  g_free(unpacked);
  g_free(row);
  g_free(expected);
}

/* The offset behind the last word that holds a sample. */
static size_t row_end(const Cj2kSampleLayout *s, uint32_t n)
{
  size_t end = 0;
  for (uint32_t x = 0; x < n; x++)
    end = MAX(end, (size_t)(x / s->unit_samples) * s->unit_bytes + s->word_bytes +
                       s->at[x % s->unit_samples].offset);
  return end;
}

/* Rows that end with the word of the last sample: nothing is written behind it. */
static void check_short_row(const Format *f, uint32_t width)
{
  Cj2kLayout layout = layout_of(f);
  Row *row = row_new(f, width);
  int32_t *unpacked = g_new(int32_t, MAX_WIDTH);
  memset(row->plane, 0xa5, sizeof row->plane);
  for (uint32_t p = 0; p < f->num_planes; p++) {
    uint32_t unit_bytes = 0, samples;
    size_t end = 0;
    row_units(f, row, p, &unit_bytes, &samples);
    for (uint32_t c = 0; c < f->num_components; c++)
      if (f->samples[c].plane == p)
        end = MAX(end, row_end(&f->samples[c], row->n[c]));
    cj2k_pack_begin_row(&layout, p, row->plane[p], samples, end);
    for (uint32_t c = 0; c < f->num_components; c++)
      if (f->samples[c].plane == p)
        cj2k_pack_row(&f->samples[c], f->samples[c].depth, f->samples[c].is_signed, row->samples[c],
                      0, row->n[c], row->plane[p]);
    g_assert_cmpuint(end, <=, ROW_BYTES);
    for (size_t i = end; i < ROW_BYTES; i++)
      g_assert_cmphex(row->plane[p][i], ==, 0xa5);
  }
  for (uint32_t c = 0; c < f->num_components; c++) {
    const Cj2kSampleLayout *s = &f->samples[c];
    cj2k_unpack_row(s, s->depth, row->plane[s->plane], 0, row->n[c], unpacked);
    g_assert_cmpmem(unpacked, 4 * row->n[c], row->samples[c], 4 * row->n[c]);
  }
  g_free(unpacked);
  g_free(row);
}

static void test_format(gconstpointer format)
{
  for (uint32_t width = 1; width <= 50; width++)
    check_short_row(format, width);
  for (uint32_t width = 1; width <= 50; width++)
    check_width(format, width);
  check_width(format, 1023);
  check_width(format, 1025);
  check_width(format, 2099);
}

/* Rows written by hand in the SMPTE and Apple orders of the packings of 10 bits. */
static void check_bytes(const char *name, const int32_t samples[3][6], const uint32_t n[3],
                        const uint8_t *expected, size_t size)
{
  uint8_t row[16] = {0};
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
    if (strcmp(formats[i].name, name) != 0)
      continue;
    for (int c = 0; c < 3; c++)
      cj2k_pack_row(&formats[i].samples[c], 10, false, samples[c], 0, n[c], row);
    g_assert_cmpmem(row, size, expected, size);
    return;
  }
  g_assert_not_reached();
}

static void test_known_bytes(void)
{
  const int32_t yuv[3][6] = {
      {0x101, 0x102, 0x103, 0x104, 0x105, 0x106}, {0x201, 0x202, 0x203}, {0x301, 0x302, 0x303}};
  /* v210: words Cr0 Y0 Cb0, Y2 Cb1 Y1, Cb2 Y3 Cr1, Y5 Cr2 Y4, from the top, little-endian. */
  static const uint8_t v210[] = {0x01, 0x06, 0x14, 0x30, 0x02, 0x09, 0x38, 0x10,
                                 0x02, 0x13, 0x34, 0x20, 0x05, 0x0d, 0x6c, 0x10};
  check_bytes("v210", yuv, (uint32_t[]){6, 3, 3}, v210, 16);
  /* UYVP: Cb Y0 Cr Y1 in succession: 10000000 01|010000 0001|1100 000001|01 00000010 */
  static const uint8_t uyvp[] = {0x80, 0x50, 0x1c, 0x05, 0x02};
  check_bytes("UYVP", yuv, (uint32_t[]){2, 1, 1}, uyvp, 5);
  /* r210: 2 bits of padding, R, G, B, big-endian. */
  static const uint8_t r210[] = {0x10, 0x18, 0x07, 0x01};
  check_bytes("r210", yuv, (uint32_t[]){1, 1, 1}, r210, 4);
}

/* Samples of one depth in a layout of another depth (docs/arithmetic.md). */
static void check_depth(uint8_t from, bool from_signed, uint8_t to, bool to_signed)
{
  enum { N = 300 };
  Cj2kSampleLayout s = {0, 4, 1, 4, false, to_signed, to, {{0, 0}}};
  int32_t in[N], out[N];
  uint8_t row[4 * N];
  int64_t in_low = from_signed ? -(INT64_C(1) << (from - 1)) : 0, in_range = INT64_C(1) << from;
  int64_t out_most = (INT64_C(1) << (to - to_signed)) - 1;
  memset(row, 0, sizeof row);
  for (int i = 0; i < N; i++)
    in[i] = (int32_t)(in_low + (int64_t)(g_test_rand_double() * (double)in_range));
  in[0] = (int32_t)in_low;
  in[1] = (int32_t)(in_low + in_range - 1);
  cj2k_pack_row(&s, from, from_signed, in, 0, N, row);
  cj2k_unpack_row(&s, to, row, 0, N, out);
  for (int i = 0; i < N; i++) {
    int64_t v = in[i];
    if (from_signed != to_signed)
      v += from_signed ? INT64_C(1) << (from - 1) : -(INT64_C(1) << (from - 1));
    if (to >= from)
      v *= INT64_C(1) << (to - from);
    else
      v = MIN((v + (INT64_C(1) << (from - to - 1))) >> (from - to), out_most);
    g_assert_cmpint(out[i], ==, v);
  }
}

static void test_depths(void)
{
  for (uint8_t from = 1; from <= 24; from++)
    for (uint8_t to = 1; to <= 24; to++)
      for (int signs = 0; signs < 4; signs++)
        check_depth(from, signs & 1, to, signs & 2);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
    char *path = g_strdup_printf("/pack/%s", formats[i].name);
    g_test_add_data_func(path, &formats[i], test_format);
    g_free(path);
  }
  g_test_add_func("/pack/known-bytes", test_known_bytes);
  g_test_add_func("/pack/depths", test_depths);
  return g_test_run();
}
