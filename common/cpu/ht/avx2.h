/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AVX2 helpers of the HT decoder and encoder. */
#ifndef CJ2K_CPU_HT_AVX2_H
#define CJ2K_CPU_HT_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define CJ2K_AVX2 __attribute__((target("avx2")))

static CJ2K_AVX2 inline __m256i cj2k_avx2_load(const uint32_t *p)
{
  return _mm256_loadu_si256((const __m256i *)p);
}

/* p[0] four times, p[1] four times. */
static CJ2K_AVX2 inline __m256i cj2k_avx2_two(const uint32_t p[2])
{
  return _mm256_set_m128i(_mm_set1_epi32((int)p[1]), _mm_set1_epi32((int)p[0]));
}

/* Bit length of each element, which is below 2^31; 0 for 0. */
static CJ2K_AVX2 inline __m256i cj2k_avx2_bit_length(__m256i x)
{
  x = _mm256_andnot_si256(_mm256_srli_epi32(x, 1), x); /* the conversion must not round up */
  __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(x)), 23);
  return _mm256_max_epi32(_mm256_sub_epi32(exponent, _mm256_set1_epi32(126)),
                          _mm256_setzero_si256());
}

#endif
