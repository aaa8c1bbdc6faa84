/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Eight pairs at a time from left to right. A step needs the left or the right neighbours in the
 * other half. The vector of left neighbours is the vector itself moved by one sample, with the last
 * sample of the vector before. For right neighbours the whole step lags one sample behind. The
 * output thus lags behind the input by one pair (5/3) or two (9/7).
 */
#include "row_avx2.h"

#if defined(__x86_64__) && !defined(CJ2K_NO_SIMD)

#define AVX2  __attribute__((target("avx2")))
#define LANES 8

/* Vectors in memory: unaligned and of any element type. */
typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(32), aligned(4), may_alias));

/* Prefetches. The bands of several components are read in turns, row by row, which makes more
 * streams and page crossings than the processor predicts. */
#define PREFETCH(at) __builtin_prefetch((const char *)(at) + 1024)

#define LAG_53 1
#define LAG_97 2

/* Samples i-1 .. i+6, where `before` has i-8 .. i-1 and `v` has i .. i+7. */
#define LEFT(before, v) __builtin_shufflevector(before, v, 7, 8, 9, 10, 11, 12, 13, 14)
#define ZIP_LOW(a, b)   __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b)  __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define EVEN(a, b)      __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b)       __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)

/* (a + b + round) >> shift; sums wrap. */
#define HALF_SUM(a, b)    (Words)((Ints)((a) + (b)) >> 1)
#define QUARTER_SUM(a, b) (Words)((Ints)((a) + (b) + 2) >> 2)

AVX2 static void synthesise53(const uint32_t *low, const uint32_t *high, uint32_t *out, size_t end)
{
  Words h_before = {0}, s_before = {0};
  for (size_t i = 0; i < end; i += LANES) {
    Words l = *(const Words *)(low + i), h = *(const Words *)(high + i);
    PREFETCH(low + i);
    PREFETCH(high + i);
    Words h_left = LEFT(h_before, h);
    Words s = l - QUARTER_SUM(h_left, h);
    Words s_left = LEFT(s_before, s);
    Words d_left = h_left + HALF_SUM(s_left, s);
    if (i > 0) {
      *(Words *)(out + 2 * (i - LAG_53)) = ZIP_LOW(s_left, d_left);
      *(Words *)(out + 2 * (i - LAG_53) + LANES) = ZIP_HIGH(s_left, d_left);
    }
    h_before = h;
    s_before = s;
  }
}

AVX2 static void analyse53(const uint32_t *in, uint32_t *low, uint32_t *high, size_t end)
{
  Words l_before = {0}, h_before = {0}, d_before = {0};
  for (size_t i = 0; i < end; i += LANES) {
    Words a = *(const Words *)(in + 2 * i), b = *(const Words *)(in + 2 * i + LANES);
    Words l = EVEN(a, b), h = ODD(a, b);
    Words l_left = LEFT(l_before, l);
    Words d = LEFT(h_before, h) - HALF_SUM(l_left, l); /* of pairs i-1 .. i+6 */
    Words s = l_left + QUARTER_SUM(LEFT(d_before, d), d);
    if (i > 0) {
      *(Words *)(low + i - LAG_53) = s;
      *(Words *)(high + i - LAG_53) = d;
    }
    l_before = l;
    h_before = h;
    d_before = d;
  }
}

AVX2 static void synthesise97(const Cj2kLiftStep *steps, const float *low, const float *high,
                              float *out, size_t end)
{
  const float f0 = steps[0].factor, f1 = steps[1].factor;
  const float f2 = steps[2].factor, f3 = steps[3].factor;
  Floats h_before = {0}, s1_before = {0}, d1_before = {0}, s2_before = {0};
  for (size_t i = 0; i < end; i += LANES) {
    Floats l = *(const Floats *)(low + i), h = *(const Floats *)(high + i);
    PREFETCH(low + i);
    PREFETCH(high + i);
    Floats h_left = LEFT(h_before, h);
    Floats s1 = l + f0 * (h_left + h);
    Floats s1_left = LEFT(s1_before, s1);
    Floats d1 = h_left + f1 * (s1_left + s1); /* of pairs i-1 .. i+6 */
    Floats d1_left = LEFT(d1_before, d1);
    Floats s2 = s1_left + f2 * (d1_left + d1);
    Floats s2_left = LEFT(s2_before, s2);
    Floats d2 = d1_left + f3 * (s2_left + s2); /* of pairs i-2 .. i+5 */
    if (i > 0) {
      *(Floats *)(out + 2 * (i - LAG_97)) = ZIP_LOW(s2_left, d2);
      *(Floats *)(out + 2 * (i - LAG_97) + LANES) = ZIP_HIGH(s2_left, d2);
    }
    h_before = h;
    s1_before = s1;
    d1_before = d1;
    s2_before = s2;
  }
}

AVX2 static void analyse97(const Cj2kLiftStep *steps, const float *in, float *low, float *high,
                           size_t end)
{
  const float f0 = steps[0].factor, f1 = steps[1].factor;
  const float f2 = steps[2].factor, f3 = steps[3].factor;
  Floats l_before = {0}, h_before = {0}, d1_before = {0}, s1_before = {0}, d2_before = {0};
  for (size_t i = 0; i < end; i += LANES) {
    Floats a = *(const Floats *)(in + 2 * i), b = *(const Floats *)(in + 2 * i + LANES);
    Floats l = EVEN(a, b), h = ODD(a, b);
    Floats l_left = LEFT(l_before, l);
    Floats d1 = LEFT(h_before, h) + f0 * (l_left + l); /* of pairs i-1 .. i+6 */
    Floats d1_left = LEFT(d1_before, d1);
    Floats s1 = l_left + f1 * (d1_left + d1);
    Floats s1_left = LEFT(s1_before, s1);
    Floats d2 = d1_left + f2 * (s1_left + s1); /* of pairs i-2 .. i+5 */
    Floats s2 = s1_left + f3 * (LEFT(d2_before, d2) + d2);
    if (i > 0) {
      *(Floats *)(low + i - LAG_97) = s2;
      *(Floats *)(high + i - LAG_97) = d2;
    }
    l_before = l;
    h_before = h;
    d1_before = d1;
    s1_before = s1;
    d2_before = d2;
  }
}

/* The first vector only fills the pipeline: its leftmost samples have no left neighbours. */
static size_t choose_range(const Cj2kLift *lift, size_t pairs, size_t *first, size_t *end)
{
  size_t lag = lift->reversible ? LAG_53 : LAG_97;
  size_t read = pairs / LANES * LANES;
  *first = *end = 0;
  if (read < 2 * LANES || !__builtin_cpu_supports("avx2"))
    return 0;
  *first = LANES - lag;
  *end = read - lag;
  return read;
}

void cj2k_dwt_pairs_synthesise(const Cj2kLift *lift, const void *low, const void *high, void *out,
                               size_t pairs, size_t *first, size_t *end)
{
  size_t read = choose_range(lift, pairs, first, end);
  if (read == 0)
    return; /* not even a call: its first instruction may be AVX2 */
  if (lift->reversible)
    synthesise53(low, high, out, read);
  else
    synthesise97(lift->steps, low, high, out, read);
}

void cj2k_dwt_pairs_analyse(const Cj2kLift *lift, const void *in, void *low, void *high,
                            size_t pairs, size_t *first, size_t *end)
{
  size_t read = choose_range(lift, pairs, first, end);
  if (read == 0)
    return; /* not even a call: its first instruction may be AVX2 */
  if (lift->reversible)
    analyse53(in, low, high, read);
  else
    analyse97(lift->steps, in, low, high, read);
}

#else

void cj2k_dwt_pairs_synthesise(const Cj2kLift *lift, const void *low, const void *high, void *out,
                               size_t pairs, size_t *first, size_t *end)
{
  (void)lift, (void)low, (void)high, (void)out, (void)pairs;
  *first = *end = 0;
}

void cj2k_dwt_pairs_analyse(const Cj2kLift *lift, const void *in, void *low, void *high,
                            size_t pairs, size_t *first, size_t *end)
{
  (void)lift, (void)in, (void)low, (void)high, (void)pairs;
  *first = *end = 0;
}

#endif
