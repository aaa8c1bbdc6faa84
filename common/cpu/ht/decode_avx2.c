/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HT cleanup pass with AVX2; decode_magsgn.c is the plain form. Exponent bounds and bit
 * positions are computed for eight quads at a time, then samples for two at a time. This is
 * possible because the bounds depend on the row above only, and with the bounds the position of all
 * MagSgn bits is known.
 */
#include "decode.h"

#ifdef CJ2K_HT_AVX2
#include "avx2.h"
#include "quads.h"

/* A line holds v of the lower samples of a row, left at [2 q] and right at [2 q + 1] for quad q,
 * with zeros around. */
#define LINE_PAD 8

typedef struct {
  const uint8_t *bits;
  size_t pos;
  __m256i max_exponent;
  __m128i plane;
} Reader;

/* For each of eight quads, v of the four nearest samples of the row above, or-ed. `line` points to
 * the first quad. */
static CJ2K_AVX2 inline __m256i near_above(const uint32_t *line)
{
  __m256i a = _mm256_or_si256(_mm256_or_si256(cj2k_avx2_load(line - 1), cj2k_avx2_load(line)),
                              _mm256_or_si256(cj2k_avx2_load(line + 1), cj2k_avx2_load(line + 2)));
  line += 8;
  __m256i b = _mm256_or_si256(_mm256_or_si256(cj2k_avx2_load(line - 1), cj2k_avx2_load(line)),
                              _mm256_or_si256(cj2k_avx2_load(line + 1), cj2k_avx2_load(line + 2)));
  __m256 even =
      _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _MM_SHUFFLE(2, 0, 2, 0));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(even), _MM_SHUFFLE(3, 1, 2, 0));
}

/* Number of ones in each element, which is below 16. */
static CJ2K_AVX2 inline __m256i count_ones(__m256i x)
{
  const __m256i counts =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  return _mm256_shuffle_epi8(counts, x); /* the upper bytes are 0 and count 0 */
}

static CJ2K_AVX2 inline __m256i prefix_sum(__m256i x)
{
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
  __m256i low = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(3));
  return _mm256_add_epi32(x, _mm256_blend_epi32(_mm256_setzero_si256(), low, 0xF0));
}

/* Computes U_q of eight quads (T.814 7.3.7) and where their bits begin. false: a bound is too
 * large. */
static CJ2K_AVX2 inline bool bounds(Reader *r, __m256i records, const uint32_t *line,
                                    uint32_t bound[8], uint32_t start[8])
{
  const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256(),
                low4 = _mm256_set1_epi32(15);
  __m256i rho = _mm256_and_si256(_mm256_srli_epi32(records, CJ2K_HT_RHO_SHIFT), low4);
  __m256i known = _mm256_and_si256(_mm256_srli_epi32(records, CJ2K_HT_EK_SHIFT), low4);
  __m256i u = _mm256_and_si256(_mm256_srli_epi32(records, CJ2K_HT_U_SHIFT), _mm256_set1_epi32(127));
  __m256i single = _mm256_cmpeq_epi32(_mm256_and_si256(rho, _mm256_sub_epi32(rho, one)), zero);
  __m256i above = _mm256_sub_epi32(cj2k_avx2_bit_length(near_above(line)), one);
  __m256i kappa = _mm256_max_epi32(_mm256_andnot_si256(single, above), one);
  __m256i exponent = _mm256_add_epi32(kappa, u);
  __m256i absent = _mm256_cmpeq_epi32(rho, zero);
  __m256i wrong = _mm256_andnot_si256(absent, _mm256_cmpgt_epi32(exponent, r->max_exponent));
  if (_mm256_movemask_epi8(wrong))
    return false;
  __m256i lengths =
      _mm256_sub_epi32(_mm256_mullo_epi16(count_ones(rho), exponent), count_ones(known));
  __m256i ends = prefix_sum(lengths);
  _mm256_store_si256((__m256i *)bound, exponent);
  _mm256_store_si256((__m256i *)start, _mm256_add_epi32(_mm256_sub_epi32(ends, lengths),
                                                        _mm256_set1_epi32((int)r->pos)));
  r->pos += (uint32_t)_mm256_extract_epi32(ends, 7);
  return true;
}

/*
 * Decodes two quads, one per lane: samples to *out, v to *values, each as [top left and top right
 * of both | bottom left and bottom right of both].
 */
static CJ2K_AVX2 inline __m256i two_quads(const Reader *r, const uint32_t record[2],
                                          const uint32_t bound[2], const uint32_t start[2],
                                          __m256i *values)
{
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i by_row = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  const __m256i sample_bit = _mm256_setr_epi32(1, 2, 4, 8, 1, 2, 4, 8);
  const __m256i sample_index = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
  const __m256i low_bytes = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0,
                                             0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  const __m256i next_bytes = _mm256_set1_epi32(0x03020100);

  __m256i rec = _mm256_set_m128i(_mm_set1_epi32((int)record[1]), _mm_set1_epi32((int)record[0]));
  __m256i exponent = _mm256_set_m128i(_mm_set1_epi32((int)bound[1]), _mm_set1_epi32((int)bound[0]));
  __m256i shift =
      _mm256_set_m128i(_mm_set1_epi32((int)(start[1] & 7)), _mm_set1_epi32((int)(start[0] & 7)));
  __m256i data = _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(r->bits + (start[1] >> 3))),
                                  _mm_loadu_si128((const __m128i *)(r->bits + (start[0] >> 3))));

  __m256i rho_bit = _mm256_slli_epi32(sample_bit, CJ2K_HT_RHO_SHIFT);
  __m256i significant = _mm256_cmpeq_epi32(_mm256_and_si256(rec, rho_bit), rho_bit);
  __m256i fields = _mm256_srlv_epi32(rec, sample_index);
  __m256i known = _mm256_and_si256(_mm256_srli_epi32(fields, CJ2K_HT_EK_SHIFT), one);
  __m256i known_one = _mm256_and_si256(_mm256_srli_epi32(fields, CJ2K_HT_E1_SHIFT), one);
  __m256i m = _mm256_and_si256(_mm256_sub_epi32(exponent, known), significant);
  __m256i sum = _mm256_add_epi32(m, _mm256_slli_si256(m, 4));
  sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
  __m256i at = _mm256_add_epi32(_mm256_sub_epi32(sum, m), shift); /* from the loaded byte on */
  __m256i bytes =
      _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_srli_epi32(at, 3), low_bytes), next_bytes);
  __m256i v = _mm256_srlv_epi32(_mm256_shuffle_epi8(data, bytes),
                                _mm256_and_si256(at, _mm256_set1_epi32(7)));
  v = _mm256_and_si256(v, _mm256_sub_epi32(_mm256_sllv_epi32(one, m), one));
  v = _mm256_or_si256(v, _mm256_sllv_epi32(known_one, m));
  v = _mm256_permutevar8x32_epi32(v, by_row);
  significant = _mm256_permutevar8x32_epi32(significant, by_row);
  *values = v;
  __m256i magnitude =
      _mm256_sll_epi32(_mm256_add_epi32(_mm256_or_si256(v, one), _mm256_set1_epi32(2)), r->plane);
  return _mm256_and_si256(_mm256_or_si256(magnitude, _mm256_slli_epi32(v, 31)), significant);
}

/* Stores the samples of two quads at column x; those outside the block are dropped. */
static CJ2K_AVX2 inline void put_samples(__m256i samples, uint32_t *const rows[2], uint32_t x,
                                         uint32_t width)
{
  __m128i top = _mm256_castsi256_si128(samples), bottom = _mm256_extracti128_si256(samples, 1);
  if (x + 4 <= width) {
    _mm_storeu_si128((__m128i *)(rows[0] + x), top);
    _mm_storeu_si128((__m128i *)(rows[1] + x), bottom);
    return;
  }
  uint32_t part[8];
  _mm256_storeu_si256((__m256i *)part, samples);
  memcpy(rows[0] + x, part, (width - x) * sizeof *part);
  memcpy(rows[1] + x, part + 4, (width - x) * sizeof *part);
}

/* A row of quads that becomes samples, and the row below, whose quads are decoded in between. */
typedef struct {
  const uint32_t *quads;
  uint32_t cols, width;
  const uint32_t *above; /* v of the row above */
  uint32_t *lower;       /* v of this one */
  uint32_t *samples[2];
  uint32_t *next;          /* records of the row below */
  const uint32_t *context; /* contributions of this row to its contexts */
} Row;

/*
 * Decodes the samples of a row and, with_next, the records of the next row. Alone, each of the two
 * keeps the processor waiting, for the next look-up or the next position; they do not depend on
 * each other, so interleaving them fills the gaps.
 */
static CJ2K_AVX2 inline __attribute__((always_inline)) bool
decode_row(Reader *reader, const Row *row, Cj2kHtQuads *quads, bool with_next)
{
  const uint32_t any_rho = 15u << CJ2K_HT_RHO_SHIFT;
  _Alignas(32) uint32_t bound[8], start[8];
  Reader r = *reader;
  Cj2kHtChain c = {0};
  for (uint32_t q = 0; q < row->cols; q += 8) {
    if (with_next && q % CJ2K_HT_GROUP_OTHER_ROWS == 0) {
      if (q > 0)
        cj2k_ht_chain_end(quads, &c);
      c = cj2k_ht_chain_begin(quads);
    }
    if (!bounds(&r, cj2k_avx2_load(row->quads + q), row->above + 2 * q, bound, start))
      return false;
    for (uint32_t i = 0; i < 8 && q + i < row->cols; i += 2) {
      if (with_next)
        cj2k_ht_decode_pair(&c, quads->tables, row->context + q + i, row->next + q + i,
                            q + i + 1 < row->cols, false);
      __m256i values = _mm256_setzero_si256(), samples = values;
      const uint32_t *record = row->quads + q + i;
      if ((record[0] | record[1]) & any_rho)
        samples = two_quads(&r, record, bound + i, start + i, &values);
      _mm_storeu_si128((__m128i *)(row->lower + 2 * (q + i)), _mm256_extracti128_si256(values, 1));
      put_samples(samples, row->samples, 2 * (q + i), row->width);
    }
  }
  if (with_next)
    cj2k_ht_chain_end(quads, &c);
  reader->pos = r.pos;
  return true;
}

static CJ2K_AVX2 bool decode_last_row(Reader *reader, const Row *row)
{
  return decode_row(reader, row, NULL, false);
}

static CJ2K_AVX2 bool decode_row_and_next(Reader *reader, const Row *row, Cj2kHtQuads *quads)
{
  return decode_row(reader, row, quads, true);
}

CJ2K_AVX2 bool cj2k_ht_decode_cleanup_avx2(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set,
                                           uint32_t width, uint32_t height, uint32_t *samples,
                                           size_t stride)
{
  uint32_t cols = cj2k_ht_quad_cols(width), quad_stride = cj2k_ht_quad_stride(width);
  size_t end = cj2k_ht_load_magsgn(scratch, set, cols);
  uint32_t *lines[2] = {scratch->lower[0] + LINE_PAD, scratch->lower[1] + LINE_PAD};
  for (int i = 0; i < 2; i++)
    memset(scratch->lower[i], 0, (2 * cols + 2 * LINE_PAD + 16) * sizeof *scratch->lower[i]);
  Reader r = {.bits = scratch->magsgn,
              .max_exponent = _mm256_set1_epi32(set->max_exponent),
              .plane = _mm_cvtsi32_si128(set->plane)};
  Cj2kHtQuads quads;
  uint32_t *records = scratch->quads + CJ2K_HT_QUAD_PAD;
  cj2k_ht_quads_start(scratch, set, width, &quads);
  cj2k_ht_decode_first_row(&quads, records, cols);
  if (!cj2k_ht_quads_end_row(&quads, records, width))
    return false;
  for (uint32_t y = 0; y < height; y += 2, records += quad_stride, samples += 2 * stride) {
    bool is_last = height - y <= 2;
    Row row = {
        .quads = records,
        .cols = cols,
        .width = width,
        .above = lines[~y >> 1 & 1],
        .lower = lines[y >> 1 & 1],
        .samples = {samples, y + 1 < height ? samples + stride : (uint32_t *)scratch->beyond},
        .next = records + quad_stride,
        .context = scratch->above};
    r.pos = MIN(r.pos, end); /* all bits behind the end are ones */
    if (is_last)
      return decode_last_row(&r, &row) && cj2k_ht_quads_finish(scratch, &quads);
    cj2k_ht_contexts_below(records, cols + 1, scratch->above);
    if (!decode_row_and_next(&r, &row, &quads) || !cj2k_ht_quads_end_row(&quads, row.next, width))
      return false;
  }
  return true;
}
#endif
