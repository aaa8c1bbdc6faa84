/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lifting steps run on the de-interleaved halves, where the neighbours of consecutive samples
 * are consecutive, so that each is a plain loop over three arrays. Interleaving is one more pass in
 * the first-level cache. Where AVX2 computes the middle of a row in registers, this code computes
 * the two ends.
 */
#include "row.h"

#include <string.h>

#include "common/runtime/simd.h"
#include "lift.h"
#include "row_avx2.h"

/* One half of a row. */
typedef struct {
  char *data;
  size_t n;
} Half;

static size_t half_size(uint32_t width)
{
  return (((size_t)width + 1) / 2 * 4 + 63) & ~(size_t)63;
}

size_t cj2k_dwt_row_temp_size(uint32_t width)
{
  return 2 * half_size(width);
}

/*
 * Step `step` on all samples of a half. Sample i has the neighbours i - 1 + offset and i + offset
 * in the other half; at an end a missing neighbour is replaced by the other one (F.3.7).
 */
static void lift_half(const Cj2kLift *lift, unsigned step, Half dst, const char *src, Half other,
                      size_t offset)
{
  size_t first = offset == 0; /* sample 0 has no left neighbour */
  size_t end = dst.n;
  if (end + offset > other.n)
    end = other.n - offset; /* the last sample has no right neighbour */
  if (first)
    cj2k_lift_step(lift, step, dst.data, src, other.data, other.data, 1);
  if (end > first)
    cj2k_lift_step(lift, step, dst.data + 4 * first, src + 4 * first,
                   other.data + 4 * (first + offset - 1), other.data + 4 * (first + offset),
                   end - first);
  if (end < dst.n && dst.n > first) {
    const char *last = other.data + 4 * (other.n - 1);
    cj2k_lift_step(lift, step, dst.data + 4 * (dst.n - 1), src + 4 * (dst.n - 1), last, last, 1);
  }
}

CJ2K_SIMD
static void interleave(uint32_t *restrict out, const uint32_t *restrict first,
                       const uint32_t *restrict second, size_t n)
{
  for (size_t i = 0; i < n / 2; i++) {
    out[2 * i] = first[i];
    out[2 * i + 1] = second[i];
  }
  if (n & 1)
    out[n - 1] = first[n / 2];
}

CJ2K_SIMD
static void deinterleave(const uint32_t *restrict in, uint32_t *restrict first,
                         uint32_t *restrict second, size_t n)
{
  for (size_t i = 0; i < n / 2; i++) {
    first[i] = in[2 * i];
    second[i] = in[2 * i + 1];
  }
  if (n & 1)
    first[n / 2] = in[n - 1];
}

/* A single sample (F.3.6, F.4.6): unchanged at an even position; the 5/3 filter halves or doubles
 * it at an odd position. For the 9/7 filter the factor is part of the step size. */
static void single_sample(bool halve, bool twice, const void *in, void *out)
{
  int32_t v;
  memcpy(&v, in, 4);
  if (halve)
    v >>= 1;
  if (twice)
    v = (int32_t)((uint32_t)v << 1);
  memcpy(out, &v, 4);
}

static void synthesise(const Cj2kLift *lift, uint32_t width, uint32_t odd_x, const char *low,
                       const char *high, void *out, void *temp)
{
  Half l = {temp, cj2k_dwt_num_low(width, odd_x)};
  Half h = {(char *)temp + half_size(width), width - l.n};
  Half raw_h = {(char *)high, h.n};
  lift_half(lift, 0, l, low, raw_h, odd_x);
  lift_half(lift, 1, h, high, l, !odd_x);
  for (unsigned step = 2; step < lift->num_steps; step += 2) {
    lift_half(lift, step, l, l.data, h, odd_x);
    lift_half(lift, step + 1, h, h.data, l, !odd_x);
  }
  if (odd_x)
    interleave(out, (uint32_t *)h.data, (uint32_t *)l.data, width);
  else
    interleave(out, (uint32_t *)l.data, (uint32_t *)h.data, width);
}

static void analyse(const Cj2kLift *lift, uint32_t width, uint32_t odd_x, const void *in, char *low,
                    char *high, void *temp)
{
  Half l = {temp, cj2k_dwt_num_low(width, odd_x)};
  Half h = {(char *)temp + half_size(width), width - l.n};
  if (odd_x)
    deinterleave(in, (uint32_t *)h.data, (uint32_t *)l.data, width);
  else
    deinterleave(in, (uint32_t *)l.data, (uint32_t *)h.data, width);
  for (unsigned step = 0; step < lift->num_steps; step += 2) {
    bool last = step + 2 == lift->num_steps;
    Half out_h = {last ? high : h.data, h.n};
    Half out_l = {last ? low : l.data, l.n};
    lift_half(lift, step, out_h, h.data, l, !odd_x);
    lift_half(lift, step + 1, out_l, l.data, out_h, odd_x);
  }
}

/* A piece of a row: the samples [begin, end) are computed from [from, to), which is at most
 * END_SAMPLES wide and extends HALO samples further or to the end of the row. `from` is even, so
 * that both halves begin at from / 2. */
#define HALO        4
#define END_SAMPLES 64
typedef struct {
  uint32_t from, begin, end, to;
} Piece;

/* The pieces to the left and right of the pairs [first, end); pair 0 begins at sample odd_x. */
static void pieces_around(size_t first, size_t end, uint32_t width, uint32_t odd_x, Piece pieces[2])
{
  uint32_t left = (uint32_t)(2 * first) + odd_x, right = (uint32_t)(2 * end) + odd_x;
  pieces[0] = (Piece){0, 0, left, left + HALO};
  pieces[1] = (Piece){(right - HALO) & ~1u, right, width, width};
}

static void synthesise_piece(const Cj2kLift *lift, Piece p, uint32_t odd_x, const char *low,
                             const char *high, char *out)
{
  uint32_t samples[END_SAMPLES], temp[END_SAMPLES + 32];
  size_t half = 4 * (size_t)(p.from / 2);
  synthesise(lift, p.to - p.from, odd_x, low + half, high + half, samples, temp);
  memcpy(out + 4 * (size_t)p.begin, samples + (p.begin - p.from), 4 * (size_t)(p.end - p.begin));
}

static void analyse_piece(const Cj2kLift *lift, Piece p, uint32_t odd_x, const char *in, char *low,
                          char *high)
{
  uint32_t l[END_SAMPLES / 2 + 1], h[END_SAMPLES / 2 + 1], temp[END_SAMPLES + 32];
  analyse(lift, p.to - p.from, odd_x, in + 4 * (size_t)p.from, (char *)l, (char *)h, temp);
  for (uint32_t x = p.begin; x < p.end; x++) {
    const uint32_t *from = (x & 1) == odd_x ? l : h;
    char *to = (x & 1) == odd_x ? low : high;
    memcpy(to + 4 * (size_t)(x / 2), from + (x - p.from) / 2, 4);
  }
}

void cj2k_dwt_row_synthesise(bool reversible, uint32_t width, uint32_t odd_x, const void *low,
                             const void *high, void *out, void *temp)
{
  const Cj2kLift *lift = cj2k_lift_get(reversible, true);
  size_t first, end;
  if (width <= 1) {
    if (width == 1)
      single_sample(reversible && odd_x, false, odd_x ? high : low, out);
    return;
  }
  cj2k_dwt_pairs_synthesise(lift, low, (const char *)high + 4 * odd_x, (char *)out + 4 * odd_x,
                            (width - odd_x) / 2, &first, &end);
  if (first == end) {
    synthesise(lift, width, odd_x, low, high, out, temp);
    return;
  }
  Piece pieces[2];
  pieces_around(first, end, width, odd_x, pieces);
  for (int i = 0; i < 2; i++)
    synthesise_piece(lift, pieces[i], odd_x, low, high, out);
}

void cj2k_dwt_row_analyse(bool reversible, uint32_t width, uint32_t odd_x, const void *in,
                          void *low, void *high, void *temp)
{
  const Cj2kLift *lift = cj2k_lift_get(reversible, false);
  size_t first, end;
  if (width <= 1) {
    if (width == 1)
      single_sample(false, reversible && odd_x, in, odd_x ? high : low);
    return;
  }
  cj2k_dwt_pairs_analyse(lift, (const char *)in + 4 * odd_x, low, (char *)high + 4 * odd_x,
                         (width - odd_x) / 2, &first, &end);
  if (first == end) {
    analyse(lift, width, odd_x, in, low, high, temp);
    return;
  }
  Piece pieces[2];
  pieces_around(first, end, width, odd_x, pieces);
  for (int i = 0; i < 2; i++)
    analyse_piece(lift, pieces[i], odd_x, in, low, high);
}
