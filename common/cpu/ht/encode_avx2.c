/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Analysis (eight quads at a time) and MagSgn bits (two quads at a time) of the HT encoder with
 * AVX2; encode_quads.c is the plain form. */
#include "encode.h"

#ifdef CJ2K_HT_ENC_AVX2
#include "avx2.h"

/* 16 samples of a row, of which only the first `left` exist; the others are 0. */
static CJ2K_AVX2 inline void load16(const uint32_t *row, uint32_t left, __m256i out[2])
{
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int i = 0; i < 2; i++) {
    if (!row)
      out[i] = _mm256_setzero_si256();
    else if (left >= 16)
      out[i] = cj2k_avx2_load(row + 8 * i);
    else
      out[i] =
          _mm256_maskload_epi32((const int *)row + 8 * i,
                                _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left - 8 * i), index));
  }
}

/* The even elements of two vectors, in order. */
static CJ2K_AVX2 inline __m256i even_elements(__m256i a, __m256i b)
{
  __m256 even =
      _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _MM_SHUFFLE(2, 0, 2, 0));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(even), _MM_SHUFFLE(3, 1, 2, 0));
}

static CJ2K_AVX2 inline __m256i swap_pairs(__m256i x)
{
  return _mm256_shuffle_epi32(x, _MM_SHUFFLE(2, 3, 0, 1));
}

/* Eight columns of a row of quads. */
typedef struct {
  __m256i v_top, v_bottom, e_top, e_bottom;
  __m256i largest, rho, eps; /* of a quad, in its even column */
} Columns;

static CJ2K_AVX2 inline __m256i sample_values(__m256i samples, __m128i plane, __m256i *exponent)
{
  const __m256i one = _mm256_set1_epi32(1);
  __m256i mu = _mm256_srl_epi32(_mm256_and_si256(samples, _mm256_set1_epi32(0x7FFFFFFF)), plane);
  __m256i significant = _mm256_cmpgt_epi32(mu, _mm256_setzero_si256());
  __m256i odd =
      _mm256_and_si256(_mm256_sub_epi32(_mm256_add_epi32(mu, mu), one), significant); /* 2 mu - 1 */
  *exponent = cj2k_avx2_bit_length(odd);
  __m256i v = _mm256_add_epi32(_mm256_sub_epi32(odd, one), _mm256_srli_epi32(samples, 31));
  return _mm256_and_si256(v, significant);
}

/* Makes the pattern of each quad, in its even column, of conditions for upper and lower samples. */
static CJ2K_AVX2 inline __m256i pattern(__m256i top, __m256i bottom)
{
  __m256i column = _mm256_or_si256(_mm256_and_si256(top, _mm256_set1_epi32(1)),
                                   _mm256_and_si256(bottom, _mm256_set1_epi32(2)));
  return _mm256_or_si256(column, _mm256_slli_epi32(swap_pairs(column), 2));
}

static CJ2K_AVX2 inline Columns columns(__m256i top, __m256i bottom, __m128i plane)
{
  const __m256i zero = _mm256_setzero_si256();
  Columns c;
  c.v_top = sample_values(top, plane, &c.e_top);
  c.v_bottom = sample_values(bottom, plane, &c.e_bottom);
  __m256i both = _mm256_max_epi32(c.e_top, c.e_bottom);
  c.largest = _mm256_max_epi32(both, swap_pairs(both));
  c.rho = pattern(_mm256_cmpgt_epi32(c.e_top, zero), _mm256_cmpgt_epi32(c.e_bottom, zero));
  c.eps =
      pattern(_mm256_cmpeq_epi32(c.e_top, c.largest), _mm256_cmpeq_epi32(c.e_bottom, c.largest));
  return c;
}

/* v of the four quads of eight columns, in the order of the quads and their samples. */
static CJ2K_AVX2 inline void store_values(const Columns *c, uint32_t *v)
{
  __m256i low = _mm256_unpacklo_epi32(c->v_top, c->v_bottom),
          high = _mm256_unpackhi_epi32(c->v_top, c->v_bottom);
  _mm256_storeu_si256((__m256i *)v, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256((__m256i *)(v + 8), _mm256_permute2x128_si256(low, high, 0x31));
}

/* Exponents of 16 lower samples as bytes. */
static CJ2K_AVX2 inline void store_lower(__m256i a, __m256i b, uint8_t *lower)
{
  __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), _MM_SHUFFLE(3, 1, 2, 0));
  __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128((__m128i *)lower, bytes);
}

/* The largest of the four nearest exponents above, of eight quads. */
static CJ2K_AVX2 inline __m256i near_above(const uint8_t *lower)
{
  __m128i a = _mm_loadu_si128((const __m128i *)(lower - 1)),
          b = _mm_loadu_si128((const __m128i *)lower);
  __m128i c = _mm_loadu_si128((const __m128i *)(lower + 1)),
          d = _mm_loadu_si128((const __m128i *)(lower + 2));
  __m128i largest = _mm_max_epu8(_mm_max_epu8(a, b), _mm_max_epu8(c, d));
  return _mm256_cvtepu16_epi32(_mm_and_si128(largest, _mm_set1_epi16(0xFF)));
}

/* c_q << 8 from rho << 4 of the left neighbours (T.814 7.3.5). */
static CJ2K_AVX2 inline __m256i context_first_row(__m256i left)
{
  const __m256i bit = _mm256_set1_epi32(1 << 8);
  __m256i w = _mm256_and_si256(
      _mm256_or_si256(_mm256_slli_epi32(left, 4), _mm256_slli_epi32(left, 3)), bit);
  return _mm256_or_si256(w,
                         _mm256_and_si256(_mm256_slli_epi32(left, 3), _mm256_set1_epi32(6 << 8)));
}

/* The same in rows with quads above. */
static CJ2K_AVX2 inline __m256i context_other_row(__m256i left, const uint32_t *above)
{
  __m256i nw = cj2k_avx2_load(above - 1), n = cj2k_avx2_load(above), ne = cj2k_avx2_load(above + 1);
  __m256i north =
      _mm256_or_si256(_mm256_slli_epi32(nw, 1), _mm256_slli_epi32(n, 3)); /* bits 7, 5 to 8 */
  __m256i west =
      _mm256_or_si256(_mm256_slli_epi32(left, 3), _mm256_slli_epi32(left, 2)); /* bits 6, 7 to 9 */
  __m256i north_east =
      _mm256_or_si256(_mm256_slli_epi32(n, 3), _mm256_slli_epi32(ne, 5)); /* bits 7, 5 to 10 */
  return _mm256_or_si256(_mm256_and_si256(north, _mm256_set1_epi32(1 << 8)),
                         _mm256_or_si256(_mm256_and_si256(west, _mm256_set1_epi32(2 << 8)),
                                         _mm256_and_si256(north_east, _mm256_set1_epi32(4 << 8))));
}

CJ2K_AVX2 void cj2k_ht_analyse_row_avx2(const Cj2kBlockSource *source, uint32_t plane, uint32_t y,
                                        bool first, const Cj2kHtQuadRow *above, Cj2kHtQuadRow *row)
{
  const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256();
  const __m256i rotate = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
  const uint32_t *samples = source->samples + y * source->stride;
  const uint32_t *below = y + 1 < source->height ? samples + source->stride : NULL;
  __m128i shift = _mm_cvtsi32_si128((int)plane);
  __m256i rotated = zero; /* the previous quads, rotated: the last one is first */
  for (uint32_t x = 0; x < source->width; x += 16) {
    __m256i top[2], bottom[2];
    load16(samples + x, source->width - x, top);
    load16(below ? below + x : NULL, source->width - x, bottom);
    Columns a = columns(top[0], bottom[0], shift), b = columns(top[1], bottom[1], shift);
    store_values(&a, row->v + 2 * x);
    store_values(&b, row->v + 2 * x + 16);
    store_lower(a.e_bottom, b.e_bottom, row->lower + CJ2K_HT_ENC_PAD + x);

    __m256i rho = even_elements(a.rho, b.rho), eps = even_elements(a.eps, b.eps);
    __m256i largest = even_elements(a.largest, b.largest), kappa = one;
    __m256i rho4 = _mm256_slli_epi32(_mm256_and_si256(rho, _mm256_set1_epi32(15)), 4);
    __m256i next_rotated = _mm256_permutevar8x32_epi32(rho4, rotate);
    __m256i left = _mm256_blend_epi32(next_rotated, rotated, 1), context;
    rotated = next_rotated;
    if (first) {
      context = context_first_row(left);
    } else {
      context = context_other_row(left, above->quad + CJ2K_HT_ENC_PAD + x / 2);
      __m256i single = _mm256_cmpeq_epi32(
          _mm256_and_si256(rho4, _mm256_sub_epi32(rho4, _mm256_set1_epi32(16))), zero);
      __m256i near = _mm256_sub_epi32(near_above(above->lower + CJ2K_HT_ENC_PAD + x), one);
      kappa = _mm256_max_epi32(_mm256_andnot_si256(single, near), one);
    }
    __m256i bound = _mm256_max_epi32(largest, kappa), u = _mm256_sub_epi32(bound, kappa);
    eps =
        _mm256_and_si256(_mm256_and_si256(eps, _mm256_set1_epi32(15)), _mm256_cmpgt_epi32(u, zero));
    __m256i quad = _mm256_or_si256(_mm256_or_si256(eps, rho4), context);
    quad = _mm256_or_si256(quad,
                           _mm256_or_si256(_mm256_slli_epi32(bound, 16), _mm256_slli_epi32(u, 24)));
    _mm256_storeu_si256((__m256i *)(row->quad + CJ2K_HT_ENC_PAD + x / 2), quad);
  }
  uint32_t end = (source->width + 15u) & ~15u;
  row->quad[CJ2K_HT_ENC_PAD + end / 2] = row->quad[CJ2K_HT_ENC_PAD + end / 2 + 1] = 0;
  row->lower[CJ2K_HT_ENC_PAD + end] = row->lower[CJ2K_HT_ENC_PAD + end + 1] = 0;
}

CJ2K_AVX2 void cj2k_ht_put_magsgn_avx2(const Cj2kHtQuadRow *row, uint32_t cols, Cj2kHtBits *out)
{
  const __m256i one = _mm256_set1_epi32(1), low_half = _mm256_set1_epi64x(0xFFFFFFFF);
  const __m256i sample_bit = _mm256_setr_epi32(1, 2, 4, 8, 1, 2, 4, 8);
  const __m256i rho_bit = _mm256_slli_epi32(sample_bit, 4);
  const uint32_t *quad = row->quad + CJ2K_HT_ENC_PAD;
  Cj2kHtBits b = *out;
  for (uint32_t q = 0; q < cols; q += 2) {
    if (((quad[q] | quad[q + 1]) & 0xF0) == 0)
      continue;
    __m256i quads = cj2k_avx2_two(quad + q), known = cj2k_avx2_two(row->known + q);
    __m256i significant = _mm256_cmpeq_epi32(_mm256_and_si256(quads, rho_bit), rho_bit);
    known = _mm256_cmpeq_epi32(_mm256_and_si256(known, sample_bit), sample_bit); /* -1 */
    __m256i bound = _mm256_and_si256(_mm256_srli_epi32(quads, 16), _mm256_set1_epi32(63));
    __m256i m = _mm256_and_si256(_mm256_add_epi32(bound, known), significant);
    __m256i v = _mm256_and_si256(cj2k_avx2_load(row->v + 4 * q),
                                 _mm256_sub_epi32(_mm256_sllv_epi32(one, m), one));
    /* joins the bits of two samples */
    __m256i m_even = _mm256_and_si256(m, low_half);
    __m256i bits = _mm256_or_si256(_mm256_and_si256(v, low_half),
                                   _mm256_sllv_epi64(_mm256_srli_epi64(v, 32), m_even));
    __m256i length = _mm256_add_epi64(m_even, _mm256_srli_epi64(m, 32));
    uint64_t bits4[4];
    uint32_t length4[8];
    _mm256_storeu_si256((__m256i *)bits4, bits);
    _mm256_storeu_si256((__m256i *)length4, length);
    uint32_t first = length4[0] + length4[2], second = length4[4] + length4[6];
    if (first + second <= 56) {
      uint64_t low = bits4[0] | bits4[1] << length4[0], high = bits4[2] | bits4[3] << length4[4];
      cj2k_put_bits(&b, low | high << first, first + second);
    } else if (first <= 56 && second <= 56) {
      cj2k_put_bits(&b, bits4[0] | bits4[1] << length4[0], first);
      cj2k_put_bits(&b, bits4[2] | bits4[3] << length4[4], second);
    } else {
      for (int i = 0; i < 4; i++)
        cj2k_put_bits(&b, bits4[i], length4[2 * i]);
    }
  }
  *out = b;
}
#endif
