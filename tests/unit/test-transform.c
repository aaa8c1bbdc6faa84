/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CPU transforms compared with a literal implementation of T.800 annex F (extension, filter
 * equations by position, scaling by K) in int64 and double, one sample at a time; and with
 * themselves: any division into ranges of rows and any way of delivery gives the same bits.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/cpu/dwt/transform.h"

#define K 1.230174104914001

/* ------------------------------------------------------------------ reference of annex F --- */

/* PSEO (F.3.7): position i mirrored into [i0, i1). */
static int mirror(int i, int i0, int i1)
{
  while (i < i0 || i >= i1)
    i = i < i0 ? 2 * i0 - i : 2 * (i1 - 1) - i;
  return i;
}

static double get(const double *x, int i, int i0, int i1)
{
  return x[mirror(i, i0, i1) - i0];
}

/* x[n] += f * (x[n-1] + x[n+1]) at one parity; 5/3 if `divisor` is not 0 (then rounded down). */
static void reference_step(double *x, int i0, int i1, int parity, double f, int divisor, int round)
{
  for (int i = i0; i < i1; i++) {
    if ((i & 1) != parity)
      continue;
    double sum = get(x, i - 1, i0, i1) + get(x, i + 1, i0, i1);
    x[i - i0] += divisor ? f * floor((sum + round) / divisor) : f * sum;
  }
}

static void reference_scale(double *x, int i0, int i1, double even, double odd)
{
  for (int i = i0; i < i1; i++)
    x[i - i0] *= i & 1 ? odd : even;
}

static const double lifting[4] = {-1.586134342059924, -0.052980118572961, 0.882911075530934,
                                  0.443506852043971};

/* 1D_SR, interleaved samples of positions [i0, i1) (F.3.6, F.3.8). */
static void reference_inverse(bool reversible, double *x, int i0, int i1)
{
  if (i1 - i0 == 1) {
    if (i0 & 1)
      x[0] = reversible ? floor(x[0] / 2) : x[0] / 2;
  } else if (reversible) {
    reference_step(x, i0, i1, 0, -1, 4, 2);
    reference_step(x, i0, i1, 1, 1, 2, 0);
  } else {
    reference_scale(x, i0, i1, K, 1 / K);
    for (int s = 0; s < 4; s++)
      reference_step(x, i0, i1, s & 1, -lifting[3 - s], 0, 0);
  }
}

/* 1D_SD (F.4.6, F.4.8). */
static void reference_forward(bool reversible, double *x, int i0, int i1)
{
  if (i1 - i0 == 1) {
    if (i0 & 1)
      x[0] *= 2;
  } else if (reversible) {
    reference_step(x, i0, i1, 1, -1, 2, 0);
    reference_step(x, i0, i1, 0, 1, 4, 2);
  } else {
    for (int s = 0; s < 4; s++)
      reference_step(x, i0, i1, !(s & 1), lifting[s], 0, 0);
    reference_scale(x, i0, i1, 1 / K, K);
  }
}

static void reference_columns(bool inverse, bool reversible, double *a, const Cj2kRect *r)
{
  int w = (int)(r->x1 - r->x0), h = (int)(r->y1 - r->y0);
  double *column = g_new(double, h);
  for (int x = 0; x < w; x++) {
    for (int y = 0; y < h; y++)
      column[y] = a[y * w + x];
    (inverse ? reference_inverse : reference_forward)(reversible, column, (int)r->y0, (int)r->y1);
    for (int y = 0; y < h; y++)
      a[y * w + x] = column[y];
  }
  g_free(column);
}

static void reference_rows(bool inverse, bool reversible, double *a, const Cj2kRect *r)
{
  int w = (int)(r->x1 - r->x0), h = (int)(r->y1 - r->y0);
  for (int y = 0; y < h; y++)
    (inverse ? reference_inverse : reference_forward)(reversible, a + y * w, (int)r->x0,
                                                      (int)r->x1);
}

/* 2D_SR (F.3.2) and 2D_SD (F.4.2) of interleaved coefficients. */
static void reference_2d(bool inverse, bool reversible, double *a, const Cj2kRect *r)
{
  if (inverse) {
    reference_rows(true, reversible, a, r);
    reference_columns(true, reversible, a, r);
  } else {
    reference_columns(false, reversible, a, r);
    reference_rows(false, reversible, a, r);
  }
}

/* ------------------------------------------------------------------------------- one level --- */

/* An image, its bands, and scratch memory. */
typedef struct {
  bool reversible;
  Cj2kSamples image;
  Cj2kBands bands;
  void *scratch;
} Level;

static Cj2kSamples samples_new(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
  Cj2kSamples s = {NULL, x1 - x0 + 3, {x0, y0, x1, y1}};
  size_t n = s.stride * (y1 - y0);
  if (x1 > x0 && y1 > y0) {
    s.data = g_malloc(n * 4);
    memset(s.data, 0x5a, n * 4);
  }
  return s;
}

static Level level_new(bool reversible, uint32_t x0, uint32_t y0, uint32_t w, uint32_t h)
{
  Level l = {.reversible = reversible};
  uint32_t x1 = x0 + w, y1 = y0 + h;
  l.image = samples_new(x0, y0, x1, y1);
  /* B-15: the low-pass half of [a, b) is [ceil(a/2), ceil(b/2)); the high-pass half rounds down. */
  for (unsigned band = 0; band < 4; band++) {
    uint32_t low_x = !(band & 1), low_y = !(band & 2);
    l.bands.band[band] = samples_new(x0 / 2 + (x0 & low_x), y0 / 2 + (y0 & low_y),
                                     x1 / 2 + (x1 & low_x), y1 / 2 + (y1 & low_y));
  }
  size_t size = cj2k_dwt_scratch_size(w);
  l.scratch = g_aligned_alloc0(1, (size + 63) / 64 * 64, 64);
  memset(l.scratch, 0x5a, size);
  return l;
}

static void level_free(Level *l)
{
  g_free(l->image.data);
  for (int b = 0; b < 4; b++)
    g_free(l->bands.band[b].data);
  g_aligned_free(l->scratch);
}

static void *sample_at(const Cj2kSamples *s, uint32_t x, uint32_t y)
{
  return (char *)s->data + ((size_t)(y - s->rect.y0) * s->stride + (x - s->rect.x0)) * 4;
}

/* The coefficient at (x, y) when the bands are interleaved (F.3.3). */
static void *coefficient_at(const Level *l, uint32_t x, uint32_t y)
{
  return sample_at(&l->bands.band[(x & 1) + 2 * (y & 1)], x / 2, y / 2);
}

static double value(bool reversible, const void *at)
{
  return reversible ? *(const int32_t *)at : (double)*(const float *)at;
}

static void set_random(bool reversible, void *at, int range)
{
  int32_t v = g_test_rand_int_range(-range, range);
  if (reversible)
    *(int32_t *)at = v;
  else
    *(float *)at = (float)v / 8;
}

static void fill_image(Level *l, int range)
{
  for (uint32_t y = l->image.rect.y0; y < l->image.rect.y1; y++)
    for (uint32_t x = l->image.rect.x0; x < l->image.rect.x1; x++)
      set_random(l->reversible, sample_at(&l->image, x, y), range);
}

static void fill_bands(Level *l, int range)
{
  for (uint32_t y = l->image.rect.y0; y < l->image.rect.y1; y++)
    for (uint32_t x = l->image.rect.x0; x < l->image.rect.x1; x++)
      set_random(l->reversible, coefficient_at(l, x, y), range);
}

static bool same_image(const Cj2kSamples *a, const Cj2kSamples *b)
{
  for (uint32_t y = a->rect.y0; y < a->rect.y1; y++)
    if (memcmp(sample_at(a, a->rect.x0, y), sample_at(b, a->rect.x0, y),
               4 * (a->rect.x1 - a->rect.x0)) != 0)
      return false;
  return true;
}

static bool same_bands(const Level *a, const Level *b)
{
  for (int i = 0; i < 4; i++)
    if (a->bands.band[i].data && !same_image(&a->bands.band[i], &b->bands.band[i]))
      return false;
  return true;
}

/* The factor between a coefficient of the library, whose lifting is not scaled, and the standard's
 * (docs/arithmetic.md): ours is the standard's times this factor. */
static double gain_at(const Level *l, uint32_t x, uint32_t y)
{
  const Cj2kRect *r = &l->image.rect;
  double gx = r->x1 - r->x0 == 1 ? (x & 1 ? 0.5 : 1) : (x & 1 ? 1 / K : K);
  double gy = r->y1 - r->y0 == 1 ? (y & 1 ? 0.5 : 1) : (y & 1 ? 1 / K : K);
  return l->reversible ? 1 : gx * gy;
}

static void check_close(const Level *l, double got, double expected)
{
  if (l->reversible)
    g_assert_cmpfloat(got, ==, expected);
  else
    g_assert_cmpfloat(fabs(got - expected), <, 2e-3);
}

static void check_against_reference(Level *l)
{
  const Cj2kRect *r = &l->image.rect;
  uint32_t w = r->x1 - r->x0, h = r->y1 - r->y0;
  double *a = g_new0(double, (size_t)w *h);

  fill_bands(l, 1 << 11);
  for (uint32_t y = 0; y < h; y++)
    for (uint32_t x = 0; x < w; x++)
      a[y * w + x] = value(l->reversible, coefficient_at(l, r->x0 + x, r->y0 + y)) /
                     gain_at(l, r->x0 + x, r->y0 + y);
  reference_2d(true, l->reversible, a, r);
  cj2k_idwt_level(l->reversible, &l->bands, &l->image, r->y0, r->y1, l->scratch);
  for (uint32_t y = 0; y < h; y++)
    for (uint32_t x = 0; x < w; x++)
      check_close(l, value(l->reversible, sample_at(&l->image, r->x0 + x, r->y0 + y)),
                  a[y * w + x]);

  fill_image(l, 1 << 11);
  for (uint32_t y = 0; y < h; y++)
    for (uint32_t x = 0; x < w; x++)
      a[y * w + x] = value(l->reversible, sample_at(&l->image, r->x0 + x, r->y0 + y));
  reference_2d(false, l->reversible, a, r);
  cj2k_fdwt_level(l->reversible, &l->image, &l->bands, NULL, r->y0, r->y1, l->scratch);
  for (uint32_t y = 0; y < h; y++)
    for (uint32_t x = 0; x < w; x++)
      check_close(l, value(l->reversible, coefficient_at(l, r->x0 + x, r->y0 + y)),
                  a[y * w + x] * gain_at(l, r->x0 + x, r->y0 + y));

  /* Back to samples. */
  Cj2kSamples restored = samples_new(r->x0, r->y0, r->x1, r->y1);
  cj2k_idwt_level(l->reversible, &l->bands, &restored, r->y0, r->y1, l->scratch);
  for (uint32_t y = r->y0; y < r->y1; y++)
    for (uint32_t x = r->x0; x < r->x1; x++)
      check_close(l, value(l->reversible, sample_at(&restored, x, y)),
                  value(l->reversible, sample_at(&l->image, x, y)));
  g_free(restored.data);
  g_free(a);
}

static void test_reference(gconstpointer reversible)
{
  for (uint32_t h = 1; h <= 17; h++)
    for (uint32_t w = 1; w <= 17; w++)
      for (uint32_t origin = 0; origin < 16; origin++) {
        Level l = level_new(reversible != NULL, origin & 3, origin >> 2, w, h);
        check_against_reference(&l);
        level_free(&l);
      }
}

static void test_reference_wide(gconstpointer reversible)
{
  static const uint32_t sizes[][2] = {{131, 40}, {1, 300}, {300, 1}, {64, 33}, {2, 100}, {257, 2}};
  for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (uint32_t origin = 0; origin < 4; origin++) {
      Level l = level_new(reversible != NULL, 1000 + (origin & 1), 3000 + (origin >> 1),
                          sizes[i][0], sizes[i][1]);
      check_against_reference(&l);
      level_free(&l);
    }
}

/* ---------------------------------------------------------------------- bit exactness --- */

/* The order of operations of docs/arithmetic.md, for one line of samples that are `pitch` apart. */
static void contract_line(bool inverse, float *x, size_t pitch, uint32_t i0, uint32_t i1)
{
  const float f[4] = {-1.586134342059924f, -0.052980118572961f, 0.882911075530934f,
                      0.443506852043971f};
  if (i1 - i0 == 1)
    return;
  for (int s = 0; s < 4; s++) {
    float factor = inverse ? -f[3 - s] : f[s];
    unsigned parity = inverse ? s & 1 : !(s & 1);
    for (uint32_t i = i0; i < i1; i++) {
      if ((i & 1) != parity)
        continue;
      uint32_t a = i == i0 ? i + 1 : i - 1, b = i + 1 == i1 ? i - 1 : i + 1;
      volatile float t = x[(a - i0) * pitch] + x[(b - i0) * pitch];
      volatile float u = factor * t;
      x[(i - i0) * pitch] = x[(i - i0) * pitch] + u;
    }
  }
}

static void test_contract(void)
{
  for (uint32_t trial = 0; trial < 200; trial++) {
    uint32_t w = (uint32_t)g_test_rand_int_range(1, 200);
    uint32_t h = (uint32_t)g_test_rand_int_range(1, 30);
    Level l = level_new(false, trial & 1, (trial >> 1) & 1, w, h);
    const Cj2kRect *r = &l.image.rect;
    float *a = g_new(float, w *h);
    fill_bands(&l, 1 << 20);
    for (uint32_t y = 0; y < h; y++)
      for (uint32_t x = 0; x < w; x++)
        a[y * w + x] = *(float *)coefficient_at(&l, r->x0 + x, r->y0 + y);
    for (uint32_t y = 0; y < h; y++)
      contract_line(true, a + y * w, 1, r->x0, r->x1);
    for (uint32_t x = 0; x < w; x++)
      contract_line(true, a + x, w, r->y0, r->y1);
    cj2k_idwt_level(false, &l.bands, &l.image, r->y0, r->y1, l.scratch);
    for (uint32_t y = 0; y < h; y++)
      g_assert_cmpmem(sample_at(&l.image, r->x0, r->y0 + y), 4 * w, a + y * w, 4 * w);

    for (uint32_t x = 0; x < w; x++)
      contract_line(false, a + x, w, r->y0, r->y1);
    for (uint32_t y = 0; y < h; y++)
      contract_line(false, a + y * w, 1, r->x0, r->x1);
    cj2k_fdwt_level(false, &l.image, &l.bands, NULL, r->y0, r->y1, l.scratch);
    for (uint32_t y = 0; y < h; y++)
      for (uint32_t x = 0; x < w; x++)
        g_assert_cmpmem(coefficient_at(&l, r->x0 + x, r->y0 + y), 4, a + y * w + x, 4);
    g_free(a);
    level_free(&l);
  }
}

static uint32_t next_range_end(const Cj2kRect *r, uint32_t y)
{
  uint32_t rows = (uint32_t)g_test_rand_int_range(1, 9);
  return r->y1 - y < rows ? r->y1 : y + rows;
}

/* Ranges of rows of random heights, with the functions for levels and for rows. */
static void check_ranges(Level *whole)
{
  const Cj2kRect *r = &whole->image.rect;
  uint32_t w = r->x1 - r->x0, h = r->y1 - r->y0;
  Level part = level_new(whole->reversible, r->x0, r->y0, w, h);
  Level rows = level_new(whole->reversible, r->x0, r->y0, w, h);
  fill_image(whole, 1 << 15);
  cj2k_fdwt_level(whole->reversible, &whole->image, &whole->bands, NULL, r->y0, r->y1,
                  whole->scratch);
  for (uint32_t y = r->y0, end; y < r->y1; y = end) {
    end = next_range_end(r, y);
    cj2k_fdwt_level(whole->reversible, &whole->image, &part.bands, NULL, y, end, part.scratch);
    Cj2kFdwtRows state;
    uint32_t first, last;
    cj2k_fdwt_rows_init(&state, whole->reversible, r, &rows.bands, NULL, y, end, rows.scratch,
                        &first, &last);
    g_assert_cmpuint(first, <=, y);
    g_assert_cmpuint(last, >=, end);
    for (; first < last; first++) {
      memcpy(cj2k_fdwt_rows_slot(&state), sample_at(&whole->image, r->x0, first), 4 * w);
      cj2k_fdwt_rows_push(&state);
    }
  }
  g_assert_true(same_bands(whole, &part));
  g_assert_true(same_bands(whole, &rows));

  cj2k_idwt_level(whole->reversible, &whole->bands, &whole->image, r->y0, r->y1, whole->scratch);
  for (uint32_t y = r->y0, end; y < r->y1; y = end) {
    end = next_range_end(r, y);
    cj2k_idwt_level(whole->reversible, &whole->bands, &part.image, y, end, part.scratch);
    Cj2kIdwtRows state;
    cj2k_idwt_rows_init(&state, whole->reversible, &whole->bands, r, y, end, rows.scratch);
    for (uint32_t i = y; i < end; i++) {
      void *row = cj2k_idwt_rows_next(&state);
      memcpy(sample_at(&rows.image, r->x0, i), row, 4 * w);
      memset(row, 0x77, 4 * w); /* callers may overwrite it */
    }
  }
  g_assert_true(same_image(&whole->image, &part.image));
  g_assert_true(same_image(&whole->image, &rows.image));
  level_free(&part);
  level_free(&rows);
}

static void test_ranges(gconstpointer reversible)
{
  for (uint32_t trial = 0; trial < 300; trial++) {
    uint32_t w = (uint32_t)g_test_rand_int_range(1, 40);
    uint32_t h = (uint32_t)g_test_rand_int_range(1, 60);
    Level l = level_new(reversible != NULL, trial & 3, (trial >> 2) & 3, w, h);
    check_ranges(&l);
    level_free(&l);
  }
}

/* Rows near the end of the grid of 32 bits. */
static void test_far_origin(void)
{
  Level l = level_new(false, 0xfffffff1u, 0xffffffd5u, 14, 24);
  check_ranges(&l);
  level_free(&l);
}

/* Quantising while storing gives the same as storing, then quantising. */
static void test_quantise_on_store(gconstpointer reversible)
{
  Level a = level_new(reversible != NULL, 1, 0, 37, 21),
        b = level_new(reversible != NULL, 1, 0, 37, 21);
  Cj2kBandQuantiser q = {true, true, {0.5f, 0.25f, 0.3f, 1.7f}};
  const Cj2kRect *r = &a.image.rect;
  fill_image(&a, 1 << 14);
  cj2k_fdwt_level(a.reversible, &a.image, &a.bands, NULL, r->y0, r->y1, a.scratch);
  cj2k_fdwt_level(a.reversible, &a.image, &b.bands, &q, r->y0, r->y1, a.scratch);
  for (int i = 0; i < 4; i++) {
    Cj2kSamples *s = &a.bands.band[i];
    cj2k_quantise(s->data, s->stride, s->rect.x1 - s->rect.x0, s->rect.y1 - s->rect.y0,
                  a.reversible, q.inv_scale[i], s->data, s->stride);
  }
  g_assert_true(same_bands(&a, &b));
  level_free(&a);
  level_free(&b);
}

/* Without decomposition rows are passed through. */
static void test_plane(void)
{
  Level l = level_new(true, 3, 5, 11, 9);
  Cj2kSamples copy = samples_new(3, 5, 14, 14);
  Cj2kBandQuantiser q = {.low = true};
  Cj2kIdwtRows out;
  Cj2kFdwtRows in;
  uint32_t first, end;
  fill_image(&l, 1000);
  cj2k_idwt_rows_init_plane(&out, true, &l.image, 6, 14, l.scratch);
  cj2k_fdwt_rows_init_plane(&in, true, &copy, &q, 6, 14, l.scratch, &first, &end);
  g_assert_cmpuint(first, ==, 6);
  g_assert_cmpuint(end, ==, 14);
  for (uint32_t y = 6; y < 14; y++) {
    int32_t *row = cj2k_idwt_rows_next(&out);
    g_assert_cmpmem(row, 44, sample_at(&l.image, 3, y), 44);
    memcpy(cj2k_fdwt_rows_slot(&in), row, 44);
    cj2k_fdwt_rows_push(&in);
    for (uint32_t x = 3; x < 14; x++) {
      int32_t v = *(int32_t *)sample_at(&l.image, x, y);
      uint32_t index = *(uint32_t *)sample_at(&copy, x, y);
      g_assert_cmpuint(index, ==, v < 0 ? 0x80000000u | (uint32_t)-v : (uint32_t)v);
    }
  }
  g_free(copy.data);
  level_free(&l);
}

/* -------------------------------------------------------------------------- coefficients --- */

static void test_quantise(void)
{
  const float in[] = {0.0f,  -0.0f, 0.99f, -0.99f, 1.0f,          -1.0f,
                      2.75f, -7.5f, 1e30f, -1e30f, 2147483520.0f, 2147483648.0f};
  const uint32_t expected[] = {0, 0,           0,           0,           1,           0x80000001u,
                               2, 0x80000007u, 0x7fffff80u, 0xffffff80u, 0x7fffff80u, 0x7fffff80u};
  const int32_t in_int[] = {0, 1, -1, INT32_MAX, -INT32_MAX, 77};
  const uint32_t expected_int[] = {0, 1, 0x80000001u, 0x7fffffffu, 0xffffffffu, 77};
  uint32_t out[12];
  cj2k_quantise(in, 4, 4, 3, false, 1.0f, out, 4);
  g_assert_cmpmem(out, sizeof expected, expected, sizeof expected);
  cj2k_quantise(in_int, 3, 3, 2, true, 0, out, 3);
  g_assert_cmpmem(out, sizeof expected_int, expected_int, sizeof expected_int);
}

static void test_reconstruct(void)
{
  /* m = 2q + 2^p; shift 4: from q = 16 on a sample belongs to the region of interest. */
  const uint32_t in[] = {0, 3, 0x80000003u, 31, 32, 0x80000000u | (35 << 4), 0x7fffffffu, 2};
  const int32_t whole[] = {0, 1, -1, 15, 16, -280, 0x3fffffff, 1};
  const int32_t region[] = {0, 1, -1, 15, 1, -17, 0x03ffffff, 1};
  int32_t out[8];
  float real[8];
  uint64_t wide[8];
  for (int i = 0; i < 8; i++)
    wide[i] = (uint64_t)(in[i] >> 31) << 63 | (in[i] & 0x7fffffffu);
  cj2k_reconstruct(in, 4, 4, 2, 0, true, 0, out, 4);
  g_assert_cmpmem(out, sizeof whole, whole, sizeof whole);
  cj2k_reconstruct(in, 4, 4, 2, 4, true, 0, out, 4);
  g_assert_cmpmem(out, sizeof region, region, sizeof region);
  cj2k_reconstruct(in, 4, 4, 2, 200, true, 0, out, 4);
  g_assert_cmpmem(out, sizeof whole, whole, sizeof whole);
  cj2k_reconstruct_wide(wide, 4, 4, 2, 4, true, 0, out, 4);
  g_assert_cmpmem(out, sizeof region, region, sizeof region);
  cj2k_reconstruct(in, 4, 4, 2, 0, false, 0.37f, real, 4);
  for (int i = 0; i < 8; i++) {
    float v = (float)(in[i] & 0x7fffffffu) * 0.37f;
    g_assert_cmpfloat(real[i], ==, in[i] >> 31 ? -v : v);
  }
  wide[0] = (uint64_t)1 << 63 | (uint64_t)5 << 40;
  cj2k_reconstruct_wide(wide, 1, 1, 1, 37, true, 0, out, 1);
  g_assert_cmpint(out[0], ==, -20);
  cj2k_reconstruct_wide(wide, 1, 1, 1, 0, false, 0.5f, real, 1);
  g_assert_cmpfloat(real[0], ==, -(float)((uint64_t)5 << 39));
}

/* ---------------------------------------------------------------------------- components --- */

static void test_rct(void)
{
  int32_t c[3][100], v[3][100];
  for (int i = 0; i < 100; i++)
    for (int k = 0; k < 3; k++)
      v[k][i] = c[k][i] = g_test_rand_int_range(-40000, 40000);
  cj2k_forward_mct(true, c[0], c[1], c[2], 100);
  for (int i = 0; i < 100; i++) {
    g_assert_cmpint(c[0][i], ==, (int)floor((v[0][i] + 2.0 * v[1][i] + v[2][i]) / 4));
    g_assert_cmpint(c[1][i], ==, v[2][i] - v[1][i]);
    g_assert_cmpint(c[2][i], ==, v[0][i] - v[1][i]);
  }
  cj2k_inverse_mct(true, c[0], c[1], c[2], 100);
  g_assert_cmpmem(c, sizeof c, v, sizeof v);
}

static void test_ict(void)
{
  float c[3][100], v[3][100];
  for (int i = 0; i < 100; i++)
    for (int k = 0; k < 3; k++)
      v[k][i] = c[k][i] = (float)g_test_rand_int_range(-2048, 2048);
  cj2k_forward_mct(false, c[0], c[1], c[2], 100);
  for (int i = 0; i < 100; i++) {
    double y = 0.299 * v[0][i] + 0.587 * v[1][i] + 0.114 * v[2][i];
    g_assert_cmpfloat(fabs(c[0][i] - y), <, 1e-3);
    g_assert_cmpfloat(fabs(c[1][i] - (v[2][i] - y) / 1.772), <, 5e-3);
    g_assert_cmpfloat(fabs(c[2][i] - (v[0][i] - y) / 1.402), <, 5e-3);
  }
  cj2k_inverse_mct(false, c[0], c[1], c[2], 100);
  for (int i = 0; i < 100; i++)
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabsf(c[k][i] - v[k][i]), <, 1e-2);
}

static void check_finish(unsigned depth, bool is_signed)
{
  enum { N = 64 };
  double half = ldexp(1, (int)depth - 1), offset = is_signed ? 0 : half;
  double lo = is_signed ? -half : 0, hi = is_signed ? half - 1 : 2 * half - 1;
  float in[N];
  int32_t ints[N], out[N];
  for (int i = 0; i < N; i++) {
    in[i] = (float)((g_test_rand_double() - 0.5) * 2.5 * half);
    if (i % 3 == 0)
      in[i] = floorf(in[i]) + 0.5f;
    ints[i] = (int32_t)CLAMP((double)in[i], -1073741824.0, 1073741824.0);
  }
  in[N - 1] = INFINITY;
  in[N - 2] = -INFINITY;
  cj2k_finish_row(false, (uint8_t)depth, is_signed, in, out, N);
  for (int i = 0; i < N; i++) {
    float x = in[i] + (float)offset;
    g_assert_cmpfloat(out[i], ==, CLAMP(nearbyint((double)x), lo, hi));
  }
  cj2k_finish_row(true, (uint8_t)depth, is_signed, ints, out, N);
  for (int i = 0; i < N; i++)
    g_assert_cmpfloat(out[i], ==, CLAMP(ints[i] + offset, lo, hi));

  cj2k_start_row(true, (uint8_t)depth, is_signed, out, ints, N);
  cj2k_start_row(false, (uint8_t)depth, is_signed, out, in, N);
  for (int i = 0; i < N; i++) {
    g_assert_cmpfloat(ints[i], ==, out[i] - offset);
    g_assert_cmpfloat(in[i], ==, (float)(out[i] - offset));
  }
}

static void test_finish(void)
{
  for (unsigned depth = 1; depth <= 31; depth++) {
    check_finish(depth, false);
    check_finish(depth, true);
  }
  float nan_row[4] = {NAN, NAN, NAN, NAN};
  int32_t out[4];
  for (uint8_t depth = 8; depth <= 28; depth += 4) {
    cj2k_finish_row(false, depth, false, nan_row, out, 4);
    g_assert_cmpint(out[2], ==, 0);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (int reversible = 0; reversible < 2; reversible++) {
    const char *name = reversible ? "53" : "97";
    gconstpointer data = GINT_TO_POINTER(reversible);
    static const struct {
      const char *path;
      GTestDataFunc run;
    } each[] = {{"reference", test_reference},
                {"reference-wide", test_reference_wide},
                {"ranges", test_ranges},
                {"quantise-on-store", test_quantise_on_store}};
    for (size_t i = 0; i < G_N_ELEMENTS(each); i++) {
      char *path = g_strdup_printf("/dwt/%s/%s", each[i].path, name);
      g_test_add_data_func(path, data, each[i].run);
      g_free(path);
    }
  }
  g_test_add_func("/dwt/contract", test_contract);
  g_test_add_func("/dwt/far-origin", test_far_origin);
  g_test_add_func("/dwt/plane", test_plane);
  g_test_add_func("/coefficients/quantise", test_quantise);
  g_test_add_func("/coefficients/reconstruct", test_reconstruct);
  g_test_add_func("/components/rct", test_rct);
  g_test_add_func("/components/ict", test_ict);
  g_test_add_func("/components/finish", test_finish);
  return g_test_run();
}
