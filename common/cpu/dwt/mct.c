/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Multiple component transforms (T.800 annex G) and the DC level shift, row by row. */
#include <math.h>
#include <string.h>

#include "common/runtime/simd.h"
#include "transform.h"

/* Sums of damaged coefficients wrap. */
static inline int32_t add(int32_t a, int32_t b)
{
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t sub(int32_t a, int32_t b)
{
  return (int32_t)((uint32_t)a - (uint32_t)b);
}

CJ2K_SIMD
static void inverse_rct(int32_t *restrict c0, int32_t *restrict c1, int32_t *restrict c2, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    int32_t y = c0[i], u = c1[i], v = c2[i];
    int32_t g = sub(y, add(u, v) >> 2);
    c0[i] = add(v, g);
    c1[i] = g;
    c2[i] = add(u, g);
  }
}

CJ2K_SIMD
static void forward_rct(int32_t *restrict c0, int32_t *restrict c1, int32_t *restrict c2, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    int32_t r = c0[i], g = c1[i], b = c2[i];
    c0[i] = add(add(r, add(g, g)), b) >> 2;
    c1[i] = sub(b, g);
    c2[i] = sub(r, g);
  }
}

CJ2K_SIMD
static void inverse_ict(float *restrict c0, float *restrict c1, float *restrict c2, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    float y = c0[i], cb = c1[i], cr = c2[i];
    c0[i] = y + (1.402f * cr);
    c1[i] = (y - (0.344136f * cb)) - (0.714136f * cr);
    c2[i] = y + (1.772f * cb);
  }
}

CJ2K_SIMD
static void forward_ict(float *restrict c0, float *restrict c1, float *restrict c2, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    float r = c0[i], g = c1[i], b = c2[i];
    c0[i] = ((0.299f * r) + (0.587f * g)) + (0.114f * b);
    c1[i] = ((-0.168736f * r) - (0.331264f * g)) + (0.5f * b);
    c2[i] = ((0.5f * r) - (0.418688f * g)) - (0.081312f * b);
  }
}

void cj2k_inverse_mct(bool reversible, void *c0, void *c1, void *c2, size_t n)
{
  if (reversible)
    inverse_rct(c0, c1, c2, n);
  else
    inverse_ict(c0, c1, c2, n);
}

void cj2k_forward_mct(bool reversible, void *c0, void *c1, void *c2, size_t n)
{
  if (reversible)
    forward_rct(c0, c1, c2, n);
  else
    forward_ict(c0, c1, c2, n);
}

/* The range of a component's samples and their DC offset. */
typedef struct {
  int64_t lo, hi, offset;
} Range;

static Range sample_range(uint8_t depth, bool is_signed)
{
  int64_t half = (int64_t)1 << (depth - 1);
  if (is_signed)
    return (Range){-half, half - 1, 0};
  return (Range){0, 2 * half - 1, half};
}

/* Depths up to 24: lo and hi are exact in fp32. A NaN becomes lo. Adding 1.5 * 2^23 leaves the
 * nearest integer (ties to even) in the low bits, as far as that is below 2^22. */
CJ2K_SIMD
static void finish_float_short(const float *in, int32_t *out, size_t n, Range range)
{
  const float lo = (float)range.lo, hi = (float)range.hi, offset = (float)range.offset;
  const float magic = 12582912.0f;
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    float x = in[i] + offset;
    x = x > lo ? x : lo;
    x = x < hi ? x : hi;
    x = x + magic;
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    out[i] = bits - 0x4b400000;
  }
}

static void finish_float_long(const float *in, int32_t *out, size_t n, uint8_t depth, Range range)
{
  const float lo = (float)range.lo, hi = (float)range.hi, offset = (float)range.offset;
  for (size_t i = 0; i < n; i++) {
    float x = in[i] + offset;
    if (depth <= 24) {
      x = x > lo ? x : lo;
      x = x < hi ? x : hi;
    }
    /* In double: rint is exact and nothing that a float can be overflows before the clamp. */
    double r = rint((double)x);
    r = r > (double)range.lo ? r : (double)range.lo;
    r = r < (double)range.hi ? r : (double)range.hi;
    out[i] = (int32_t)(int64_t)r;
  }
}

CJ2K_SIMD
static void finish_int_short(const int32_t *in, int32_t *out, size_t n, Range range)
{
  const int32_t lo = (int32_t)range.lo, hi = (int32_t)range.hi;
  const int32_t offset = (int32_t)range.offset;
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    int32_t x = add(in[i], offset);
    x = x > lo ? x : lo;
    out[i] = x < hi ? x : hi;
  }
}

static void finish_int_long(const int32_t *in, int32_t *out, size_t n, Range range)
{
  for (size_t i = 0; i < n; i++) {
    int64_t x = in[i] + range.offset;
    x = x > range.lo ? x : range.lo;
    x = x < range.hi ? x : range.hi;
    out[i] = (int32_t)x;
  }
}

void cj2k_finish_row(bool reversible, uint8_t depth, bool is_signed, const void *in, int32_t *out,
                     size_t n)
{
  Range range = sample_range(depth, is_signed);
  if (reversible && depth <= 24)
    finish_int_short(in, out, n, range);
  else if (reversible)
    finish_int_long(in, out, n, range);
  else if (depth <= 21)
    finish_float_short(in, out, n, range);
  else
    finish_float_long(in, out, n, depth, range);
}

CJ2K_SIMD
static void start_int(const int32_t *in, int32_t *out, size_t n, int32_t offset)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++)
    out[i] = sub(in[i], offset);
}

CJ2K_SIMD
static void start_float(const int32_t *in, float *out, size_t n, int32_t offset)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++)
    out[i] = (float)sub(in[i], offset);
}

void cj2k_start_row(bool reversible, uint8_t depth, bool is_signed, const int32_t *in, void *out,
                    size_t n)
{
  int32_t offset = (int32_t)sample_range(depth, is_signed).offset;
  if (reversible)
    start_int(in, out, n, offset);
  else
    start_float(in, out, n, offset);
}
