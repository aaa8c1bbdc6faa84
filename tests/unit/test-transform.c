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
#include "common/shared/xyz.h"

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

/* ------------------------------------------------------------------------------- cinema --- */

static double expected_xyz(const double *row, const double rgb[3])
{
  double x = row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2];
  return 4095 * pow(x * 48.0 / 52.37, 1 / 2.6);
}

static void test_xyz(void)
{
  static const double matrix[3][3] = {{0.412391, 0.357584, 0.180481},
                                      {0.212639, 0.715169, 0.072192},
                                      {0.019331, 0.119195, 0.950532}};
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);
  int32_t row[3][1000], in[3][1000];
  cj2k_xyz_tables_init(tables, 12, CJ2K_TRANSFER_GAMMA26, CJ2K_PRIMARIES_BT709);
  for (int i = 0; i < 1000; i++)
    for (int k = 0; k < 3; k++)
      in[k][i] = row[k][i] = g_test_rand_int_range(0, i < 500 ? 4096 : 64);
  cj2k_rgb_to_xyz(tables, row[0], row[1], row[2], 1000);
  for (int i = 0; i < 1000; i++) {
    double rgb[3];
    for (int k = 0; k < 3; k++)
      rgb[k] = pow(in[k][i] / 4095.0, 2.6);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(row[k][i] - expected_xyz(matrix[k], rgb)), <=, 0.55);
  }
  /* ST 428-1: white of 48 cd/m2 in D65. */
  row[0][0] = row[1][0] = row[2][0] = 4095;
  row[0][1] = row[1][1] = row[2][1] = 0;
  cj2k_rgb_to_xyz(tables, row[0], row[1], row[2], 2);
  g_assert_cmpint(row[1][0], ==, 3960);
  g_assert_cmpint(row[0][1] | row[1][1] | row[2][1], ==, 0);

  /* The looked-up base is at most one code below the result of a search for the threshold. */
  for (int c = 1; c < 4096; c++) {
    float at = tables->threshold[c];
    uint32_t low = tables->base[(uint32_t)(sqrtf(sqrtf(at)) * (float)CJ2K_XYZ_BINS)];
    g_assert_cmpint(c - (int)low, <=, 1);
    g_assert_cmpint(c - (int)low, >=, 0);
  }
  for (unsigned depth = 8; depth <= 16; depth += 4)
    for (int transfer = CJ2K_TRANSFER_BT709; transfer <= CJ2K_TRANSFER_PQ; transfer++) {
      cj2k_xyz_tables_init(tables, (uint8_t)depth, (Cj2kTransfer)transfer, CJ2K_PRIMARIES_AUTO);
      g_assert_cmpfloat(tables->linear[0], ==, 0);
      g_assert_cmpfloat(tables->linear[(1 << depth) - 1], ==, 1);
      /* The two parts of a curve meet with a small step, because their constants are rounded. */
      for (int v = 1; v < 1 << depth; v++)
        g_assert_cmpfloat(tables->linear[v], >, tables->linear[v - 1] - 6e-5f);
    }
  g_free(tables);
}

/* 12 bit R'G'B' to X'Y'Z' by colour-science 0.4.7 of PyPI in double precision:
 * normalised_primary_matrix() of the colour space's primaries and white, eotf_ST2084() and its
 * inverse, 48 / 52.37 with the power of 2.6, values above 1 clipped. */
static const struct {
  Cj2kPrimaries primaries;
  Cj2kTransfer transfer;
  int32_t rgb[3];
  double xyz[3];
} xyz_vectors[] = {
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {2816.71, 2183.24, 868.09}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2666.38, 3480.99, 1747.49}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2049.80, 1440.98, 3883.52}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {1938, 2096, 3093}, {2167.39, 2093.12, 2990.61}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {3893, 142, 590}, {2681.26, 2078.03, 930.24}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {3370, 3885, 1020}, {3179.71, 3552.05, 1865.19}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {93, 260, 126}, {179.02, 224.03, 150.88}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_GAMMA26, {81, 248, 77}, {166.74, 212.51, 120.12}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3709.49, 3415.63, 2357.01}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3646.52, 3950.40, 3157.15}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3342.48, 2933.50, 4073.23}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {1676, 2637, 2251}, {2312.08, 2520.33, 2344.69}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {351, 112, 3545}, {2782.26, 2382.87, 3522.46}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {3086, 3431, 2204}, {3171.37, 3341.27, 2683.13}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {245, 98, 135}, {182.30, 149.41, 140.27}},
    {CJ2K_PRIMARIES_BT709, CJ2K_TRANSFER_PQ, {236, 37, 90}, {164.52, 122.99, 95.47}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {3329.34, 2368.18, 0.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {1882.38, 3410.26, 1002.04}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {1998.09, 1335.99, 4051.24}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {509, 1857, 4001}, {2049.04, 1877.98, 3963.71}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {549, 1570, 1651}, {1044.93, 1368.02, 1647.84}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {3702, 833, 2057}, {3080.53, 2222.69, 2036.99}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {78, 5, 225}, {119.26, 80.78, 222.60}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_GAMMA26, {18, 84, 149}, {78.19, 79.51, 147.75}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3900.05, 3509.76, 0.01}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3243.53, 3927.22, 2517.67}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3312.82, 2846.13, 4095.00}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {1987, 478, 4017}, {3247.61, 2784.43, 4042.52}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {3068, 3938, 377}, {3296.17, 3791.46, 2361.59}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {2968, 1200, 2216}, {2789.33, 2411.19, 2241.61}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {277, 83, 217}, {244.40, 174.61, 222.99}},
    {CJ2K_PRIMARIES_BT2020, CJ2K_TRANSFER_PQ, {48, 96, 290}, {141.49, 114.07, 297.42}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3883.40, 3960.04, 4092.13}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {3001.73, 2246.28, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2378.44, 3436.68, 1202.61}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2125.05, 1493.88, 4026.09}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {1724, 2113, 1199}, {1676.49, 1915.04, 1259.80}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {474, 1739, 2553}, {1558.20, 1624.99, 2525.34}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {1866, 3181, 1486}, {2192.61, 2767.89, 1622.14}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {183, 231, 275}, {209.19, 218.26, 273.20}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_GAMMA26, {128, 11, 215}, {134.89, 97.35, 211.38}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4073.20, 4095.00, 4095.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3782.26, 3448.61, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3514.76, 3935.94, 2725.24}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3384.31, 2975.23, 4095.00}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {2165, 3572, 1881}, {3018.97, 3415.01, 2371.58}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {1507, 255, 1872}, {1510.05, 1227.02, 1889.06}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {2626, 3154, 3492}, {3074.20, 3121.80, 3520.05}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {64, 177, 241}, {152.84, 167.01, 247.69}},
    {CJ2K_PRIMARIES_P3_D65, CJ2K_TRANSFER_PQ, {78, 103, 251}, {141.24, 120.32, 256.28}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {4095, 4095, 4095}, {3793.96, 3960.04, 3889.61}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {4095, 0, 0}, {2900.80, 2170.75, 0.00}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {0, 4095, 0}, {2417.41, 3492.99, 1222.31}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {0, 0, 4095}, {2013.48, 1415.44, 3814.70}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {2382, 2086, 2759}, {2206.22, 2135.73, 2594.74}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {2092, 4017, 3084}, {2846.15, 3555.97, 2983.41}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {221, 605, 2232}, {1122.46, 868.09, 2080.61}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {245, 20, 204}, {188.60, 139.73, 190.05}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_GAMMA26, {227, 236, 262}, {219.68, 228.34, 247.73}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {4095, 4095, 4095}, {4047.15, 4095.00, 4074.98}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {4095, 0, 0}, {3743.17, 3408.98, 0.00}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {0, 4095, 0}, {3533.54, 3954.28, 2743.87}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {0, 0, 4095}, {3321.72, 2912.83, 4053.25}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {784, 2274, 3286}, {2573.28, 2421.64, 3244.88}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {1466, 783, 1963}, {1503.81, 1255.77, 1924.59}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {334, 901, 3503}, {2720.95, 2328.35, 3459.76}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {200, 258, 252}, {219.68, 247.09, 247.35}},
    {CJ2K_PRIMARIES_P3_DCI, CJ2K_TRANSFER_PQ, {262, 93, 141}, {197.02, 154.50, 136.08}},
};

/* The same for HLG: oetf_inverse_BT2100_HLG(), ootf_BT2100_HLG() with a black level of 0, its gamma
 * for the peak, or 1.2 * 1.111^log2(peak / 1000) outside of 400 to 2000 cd/m2, and PQ. */
static const struct {
  Cj2kPrimaries primaries;
  double peak;
  int32_t rgb[3];
  double xyz[3];
} hlg_vectors[] = {
    {CJ2K_PRIMARIES_BT2020, 1000, {4095, 4095, 4095}, {3056.05, 3078.73, 3116.82}},
    {CJ2K_PRIMARIES_BT2020, 1000, {4095, 0, 0}, {2759.46, 2373.84, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 1000, {0, 4095, 0}, {2201.40, 2871.07, 1555.86}},
    {CJ2K_PRIMARIES_BT2020, 1000, {0, 0, 4095}, {2063.75, 1652.21, 2853.54}},
    {CJ2K_PRIMARIES_BT2020, 1000, {2747, 3297, 92}, {2183.59, 2416.93, 1149.76}},
    {CJ2K_PRIMARIES_BT2020, 1000, {3309, 1920, 2110}, {2309.83, 2087.50, 1910.28}},
    {CJ2K_PRIMARIES_BT2020, 1000, {2581, 1170, 4012}, {2277.04, 1941.04, 2859.88}},
    {CJ2K_PRIMARIES_BT2020, 1000, {220, 1138, 1570}, {1058.53, 1210.19, 1530.91}},
    {CJ2K_PRIMARIES_BT2020, 1000, {171, 122, 39}, {238.67, 222.43, 79.84}},
    {CJ2K_PRIMARIES_BT2020, 1000, {13, 0, 14}, {9.65, 5.62, 12.12}},
    {CJ2K_PRIMARIES_BT2020, 400, {4095, 4095, 4095}, {2650.01, 2672.31, 2709.83}},
    {CJ2K_PRIMARIES_BT2020, 400, {4095, 0, 0}, {2456.69, 2082.89, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 400, {0, 4095, 0}, {1855.03, 2497.17, 1260.82}},
    {CJ2K_PRIMARIES_BT2020, 400, {0, 0, 4095}, {1884.67, 1489.61, 2657.54}},
    {CJ2K_PRIMARIES_BT2020, 400, {609, 4092, 782}, {1871.52, 2497.13, 1386.99}},
    {CJ2K_PRIMARIES_BT2020, 400, {2672, 3073, 960}, {1843.62, 2015.77, 1234.95}},
    {CJ2K_PRIMARIES_BT2020, 400, {1156, 1781, 1078}, {1254.08, 1435.19, 1211.87}},
    {CJ2K_PRIMARIES_BT2020, 400, {3990, 727, 3676}, {2467.45, 2093.98, 2438.41}},
    {CJ2K_PRIMARIES_BT2020, 400, {239, 253, 34}, {393.22, 431.30, 121.31}},
    {CJ2K_PRIMARIES_BT2020, 400, {117, 188, 147}, {264.45, 324.82, 301.11}},
    {CJ2K_PRIMARIES_BT2020, 300, {4095, 4095, 4095}, {2524.44, 2546.53, 2583.70}},
    {CJ2K_PRIMARIES_BT2020, 300, {4095, 0, 0}, {2352.37, 1983.80, 0.00}},
    {CJ2K_PRIMARIES_BT2020, 300, {0, 4095, 0}, {1748.14, 2378.85, 1172.57}},
    {CJ2K_PRIMARIES_BT2020, 300, {0, 0, 4095}, {1808.66, 1421.34, 2572.94}},
    {CJ2K_PRIMARIES_BT2020, 300, {2727, 2771, 2715}, {1803.55, 1834.82, 1849.78}},
    {CJ2K_PRIMARIES_BT2020, 300, {249, 3928, 2275}, {1719.99, 2289.47, 1718.82}},
    {CJ2K_PRIMARIES_BT2020, 300, {3700, 1111, 1480}, {2144.34, 1822.33, 1340.39}},
    {CJ2K_PRIMARIES_BT2020, 300, {3603, 765, 263}, {2082.60, 1749.98, 493.35}},
    {CJ2K_PRIMARIES_BT2020, 300, {112, 203, 36}, {237.99, 330.54, 108.06}},
    {CJ2K_PRIMARIES_BT2020, 300, {261, 102, 68}, {383.46, 302.91, 152.15}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4095, 4095, 4095}, {3365.63, 3388.30, 3426.34}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4095, 0, 0}, {2992.08, 2600.61, 0.01}},
    {CJ2K_PRIMARIES_BT2020, 2000, {0, 4095, 0}, {2475.66, 3158.09, 1798.70}},
    {CJ2K_PRIMARIES_BT2020, 2000, {0, 0, 4095}, {2202.97, 1780.26, 3002.95}},
    {CJ2K_PRIMARIES_BT2020, 2000, {2230, 3667, 3620}, {2628.64, 2906.44, 3028.38}},
    {CJ2K_PRIMARIES_BT2020, 2000, {3572, 1255, 75}, {2615.33, 2291.82, 630.45}},
    {CJ2K_PRIMARIES_BT2020, 2000, {3187, 2897, 3157}, {2610.76, 2555.40, 2674.40}},
    {CJ2K_PRIMARIES_BT2020, 2000, {4, 155, 2061}, {1025.82, 762.22, 1638.12}},
    {CJ2K_PRIMARIES_BT2020, 2000, {100, 131, 279}, {214.35, 200.41, 371.24}},
    {CJ2K_PRIMARIES_BT2020, 2000, {60, 158, 97}, {130.70, 197.60, 154.34}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {4095, 4095, 4095}, {3056.05, 3078.73, 3116.82}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {4095, 0, 0}, {2628.93, 2303.58, 0.00}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {0, 4095, 0}, {2461.90, 2881.75, 1734.77}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {0, 0, 4095}, {2153.86, 1785.13, 2872.13}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1208, 3302, 627}, {2006.27, 2353.24, 1431.29}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1296, 486, 610}, {1146.85, 996.98, 894.59}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1151, 2861, 2373}, {1889.89, 2113.62, 2039.66}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {1837, 694, 3272}, {1848.93, 1567.59, 2360.79}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {239, 70, 17}, {272.14, 213.33, 38.77}},
    {CJ2K_PRIMARIES_P3_D65, 1000, {95, 43, 239}, {198.34, 142.74, 343.06}},
};

static void test_hlg_vectors(void)
{
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);

  for (size_t i = 0; i < G_N_ELEMENTS(hlg_vectors); i++) {
    int32_t v[3];
    memcpy(v, hlg_vectors[i].rgb, sizeof v);
    cj2k_xyz_tables_init(tables, 12, CJ2K_TRANSFER_HLG, hlg_vectors[i].primaries);
    cj2k_xyz_tables_init_hlg(tables, hlg_vectors[i].peak);
    cj2k_rgb_to_xyz(tables, &v[0], &v[1], &v[2], 1);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(v[k] - hlg_vectors[i].xyz[k]), <=, 0.75);
  }
  int32_t black[3] = {0, 0, 0};
  cj2k_rgb_to_xyz(tables, &black[0], &black[1], &black[2], 1);
  g_assert_cmpint(black[0] | black[1] | black[2], ==, 0);
  g_free(tables);
}

static void test_xyz_vectors(void)
{
  Cj2kXyzTables *tables = g_new(Cj2kXyzTables, 1);

  for (size_t i = 0; i < G_N_ELEMENTS(xyz_vectors); i++) {
    int32_t v[3];
    memcpy(v, xyz_vectors[i].rgb, sizeof v);
    cj2k_xyz_tables_init(tables, 12, xyz_vectors[i].transfer, xyz_vectors[i].primaries);
    cj2k_rgb_to_xyz(tables, &v[0], &v[1], &v[2], 1);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat(fabs(v[k] - xyz_vectors[i].xyz[k]), <=, 0.75);
  }
  /* PQ: the looked-up base is at most one code below the result of a search for the threshold. */
  for (int c = 1; c < 4096; c++) {
    float at = tables->threshold[c];
    uint32_t low = tables->base[(uint32_t)(sqrtf(sqrtf(at)) * (float)CJ2K_XYZ_BINS)];
    g_assert_cmpint(c - (int)low, <=, 1);
    g_assert_cmpint(c - (int)low, >=, 0);
  }
  g_free(tables);
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
  g_test_add_func("/components/xyz", test_xyz);
  g_test_add_func("/components/xyz-vectors", test_xyz_vectors);
  g_test_add_func("/components/xyz-vectors-hlg", test_hlg_vectors);
  return g_test_run();
}
