/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lift.h"

#include "common/runtime/simd.h"

/* T.800 table F.4 */
#define ALPHA (-1.586134342059924f)
#define BETA  (-0.052980118572961f)
#define GAMMA 0.882911075530934f
#define DELTA 0.443506852043971f

static const Cj2kLift lifts[2][2] = {
    /* 9/7: forward, inverse; the scaling by K is in the bands' step sizes */
    {{false, 4, 1, {{ALPHA, 0, 0, 0}, {BETA, 0, 0, 0}, {GAMMA, 0, 0, 0}, {DELTA, 0, 0, 0}}},
     {false, 4, 0, {{-DELTA, 0, 0, 0}, {-GAMMA, 0, 0, 0}, {-BETA, 0, 0, 0}, {-ALPHA, 0, 0, 0}}}},
    /* 5/3: forward, inverse */
    {{true, 2, 1, {{0, 0, 1, -1}, {0, 2, 2, 0}}}, {true, 2, 0, {{0, 2, 2, -1}, {0, 0, 1, 0}}}},
};

const Cj2kLift *cj2k_lift_get(bool reversible, bool inverse)
{
  return &lifts[reversible][inverse];
}

/* Damaged streams overflow: sums wrap, as on every back end. */
static inline int32_t lift53(int32_t x, int32_t a, int32_t b, const Cj2kLiftStep *step)
{
  int32_t sum = (int32_t)((uint32_t)a + (uint32_t)b + (uint32_t)step->round);
  uint32_t t = (uint32_t)(sum >> step->shift);
  return (int32_t)((uint32_t)x + (t ^ (uint32_t)step->negate) - (uint32_t)step->negate);
}

static inline float lift97(float x, float a, float b, float factor)
{
  float t = a + b;
  float u = factor * t;
  return x + u;
}

CJ2K_SIMD
static void step53(const Cj2kLiftStep *step, int32_t *dst, const int32_t *src, const int32_t *a,
                   const int32_t *b, size_t n)
{
  const Cj2kLiftStep s = *step;
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++)
    dst[i] = lift53(src[i], a[i], b[i], &s);
}

CJ2K_SIMD
static void step97(float factor, float *dst, const float *src, const float *a, const float *b,
                   size_t n)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++)
    dst[i] = lift97(src[i], a[i], b[i], factor);
}

void cj2k_lift_step(const Cj2kLift *lift, unsigned step, void *dst, const void *src, const void *a,
                    const void *b, size_t n)
{
  if (lift->reversible)
    step53(&lift->steps[step], dst, src, a, b, n);
  else
    step97(lift->steps[step].factor, dst, src, a, b, n);
}

CJ2K_SIMD
static void rows53(const Cj2kLiftStep *steps, const void *const raw[3], void *const row[6],
                   size_t n)
{
  const int32_t *x0 = raw[0], *x1 = raw[1], *x2 = raw[2], *d3 = row[3];
  int32_t *d1 = row[1], *d2 = row[2];
  const Cj2kLiftStep s0 = steps[0], s1 = steps[1];
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    int32_t v1 = lift53(x1[i], x2[i], x0[i], &s0);
    d1[i] = v1;
    d2[i] = lift53(x2[i], d3[i], v1, &s1);
  }
}

CJ2K_SIMD
static void rows97(const Cj2kLiftStep *steps, const void *const raw[3], void *const row[6],
                   size_t n)
{
  const float *x0 = raw[0], *x1 = raw[1], *x2 = raw[2], *d5 = row[5];
  float *d1 = row[1], *d2 = row[2], *d3 = row[3], *d4 = row[4];
  const float f0 = steps[0].factor, f1 = steps[1].factor;
  const float f2 = steps[2].factor, f3 = steps[3].factor;
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    float w3 = d3[i], w4 = d4[i];
    float v1 = lift97(x1[i], x2[i], x0[i], f0);
    float v2 = lift97(x2[i], w3, v1, f1);
    float v3 = lift97(w3, w4, v2, f2);
    d1[i] = v1;
    d2[i] = v2;
    d3[i] = v3;
    d4[i] = lift97(w4, d5[i], v3, f3);
  }
}

void cj2k_lift_rows(const Cj2kLift *lift, const void *const raw[3], void *const row[6], size_t n)
{
  if (lift->reversible)
    rows53(lift->steps, raw, row, n);
  else
    rows97(lift->steps, raw, row, n);
}
