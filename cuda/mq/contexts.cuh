// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Contexts of the 32 samples of an octet at once. An octet is eight columns of a stripe; bit 4x + y
 * of a word stands for its sample in column x, row y, so that samples are in the order in which
 * passes visit them (T.800 D.1). Each property of samples is a word, and so is each bit of their
 * context labels.
 */
#pragma once

#include <cstdint>

namespace mq_words {

constexpr uint32_t kTop = 0x11111111u, kBottom = 0x88888888u; /* rows 0 and 3 */

/* Bits of `yes` where `mask` is 1, of `no` elsewhere. */
__device__ __forceinline__ uint32_t pick(uint32_t mask, uint32_t yes, uint32_t no)
{
  return (yes & mask) | (no & ~mask);
}

/* The left, right, upper or lower neighbour of each sample, at the place of the sample. The second
 * argument is the octet on that side. */
__device__ __forceinline__ uint32_t from_left(uint32_t word, uint32_t left)
{
  return __funnelshift_l(left, word, 4);
}

__device__ __forceinline__ uint32_t from_right(uint32_t word, uint32_t right)
{
  return __funnelshift_r(word, right, 4);
}

__device__ __forceinline__ uint32_t from_above(uint32_t word, uint32_t above)
{
  return pick(kTop, above >> 3, word << 1);
}

__device__ __forceinline__ uint32_t from_below(uint32_t word, uint32_t below)
{
  return pick(kBottom, below << 3, word >> 1);
}

/* All samples of the columns that have a bit in row 0. */
__device__ __forceinline__ uint32_t whole_columns(uint32_t top)
{
  return top * 15;
}

/* Columns with a bit in any row, by their row 0. */
__device__ __forceinline__ uint32_t any_of_column(uint32_t word)
{
  word |= word >> 2;
  return (word | word >> 1) & kTop;
}

/* The octets around one that have neighbours of its samples: those that passes visit before it, and
 * those that they visit after it. */
struct Before {
  uint32_t left, above_left, above, above_right;
};

struct After {
  uint32_t right, below_left, below, below_right;
};

__device__ __forceinline__ Before load_before(const uint32_t *at, uint32_t pitch)
{
  const uint32_t *above = at - pitch;
  return {at[-1], above[-1], above[0], above[1]};
}

__device__ __forceinline__ After load_after(const uint32_t *at, const uint32_t *below)
{
  return {at[1], below[-1], below[0], below[1]};
}

/* Samples in row 0 with a neighbour in the stripe above that has a bit. */
__device__ __forceinline__ uint32_t touches_above(const Before &before)
{
  uint32_t row = before.above | from_left(before.above, before.above_left) |
                 from_right(before.above, before.above_right);
  return row >> 3 & kTop;
}

/* Samples in row 3 with a neighbour in the stripe below that has a bit. */
__device__ __forceinline__ uint32_t touches_below(const After &after)
{
  uint32_t row = after.below | from_left(after.below, after.below_left) |
                 from_right(after.below, after.below_right);
  return row << 3 & kBottom;
}

/* Samples with a neighbour in `word` or around it that has a bit. */
__device__ __forceinline__ uint32_t touched(uint32_t word, const Before &before, const After &after)
{
  uint32_t sides = from_left(word, before.left) | from_right(word, after.right), row = word | sides;
  return sides | (row << 1 & ~kTop) | (row >> 1 & ~kBottom) | touches_above(before) |
         touches_below(after);
}

/* Neighbours of samples of `word` that passes visit after them, in the same octet. */
__device__ __forceinline__ uint32_t followers(uint32_t word)
{
  uint32_t down = word << 1 & ~kTop;
  return down | (word | down | (word >> 1 & ~kBottom)) << 4;
}

/* Samples with a neighbour in the octets visited before that has a bit. */
__device__ __forceinline__ uint32_t followers_of(const Before &before)
{
  uint32_t column = before.left >> 28;
  return touches_above(before) | ((column | column << 1 | column >> 1) & 15);
}

/*
 * Significance in an octet and around it at three times: before the bit-plane, after its
 * significance propagation pass, and after the bit-plane. When a sample is coded, samples that come
 * before it in the same pass already have what the pass gives them, and later ones do not.
 */
struct Significance {
  uint32_t before, propagated, all;
  After after_before;
  Before before_propagated;
  After after_propagated;
  Before before_all;
};

/* Significance of the eight neighbours of each sample when it is coded. */
struct Neighbours {
  uint32_t w, e, n, s, nw, ne, sw, se;
};

/* `propagating` samples are coded in the significance propagation pass, `cleaning` ones in the
 * cleanup pass, all others in the refinement pass. In the names below, 0, 1 and 2 stand for before
 * the bit-plane, after significance propagation and after the bit-plane. */
__device__ __forceinline__ Neighbours see_neighbours(const Significance &s, uint32_t propagating,
                                                     uint32_t cleaning)
{
  const Before &b1 = s.before_propagated, &b2 = s.before_all;
  const After &a0 = s.after_before, &a1 = s.after_propagated;
  uint32_t w1 = from_left(s.propagated, b1.left), w2 = from_left(s.all, b2.left);
  uint32_t e0 = from_right(s.before, a0.right), e1 = from_right(s.propagated, a1.right);
  uint32_t nw1 = from_left(b1.above, b1.above_left), nw2 = from_left(b2.above, b2.above_left);
  uint32_t ne1 = from_right(b1.above, b1.above_right), ne2 = from_right(b2.above, b2.above_right);
  uint32_t sw0 = from_left(a0.below, a0.below_left), sw1 = from_left(a1.below, a1.below_left);
  uint32_t se0 = from_right(a0.below, a0.below_right), se1 = from_right(a1.below, a1.below_right);
  Neighbours n;
  n.w = pick(cleaning, w2, w1);
  n.e = pick(propagating, e0, e1);
  n.n = pick(cleaning, from_above(s.all, b2.above), from_above(s.propagated, b1.above));
  n.s = pick(propagating, from_below(s.before, a0.below), from_below(s.propagated, a1.below));
  n.nw = pick(cleaning, from_above(w2, nw2), from_above(w1, nw1));
  n.se = pick(propagating, from_below(e0, se0), from_below(e1, se1));
  n.ne = pick(kTop, pick(cleaning, ne2 >> 3, ne1 >> 3), pick(propagating, e0 << 1, e1 << 1));
  n.sw = pick(kBottom, pick(propagating, sw0 << 3, sw1 << 3), pick(cleaning, w2 >> 1, w1 >> 1));
  return n;
}

__device__ __forceinline__ uint32_t any_neighbour(const Neighbours &n)
{
  return n.w | n.e | n.n | n.s | n.nw | n.ne | n.sw | n.se;
}

/* Columns, by their row 0, without significant samples in or around them when the cleanup pass
 * reaches them (T.800 D.3.4). */
__device__ __forceinline__ uint32_t quiet_columns(const Significance &s)
{
  uint32_t busy = s.propagated | from_left(s.all, s.before_all.left) |
                  from_right(s.propagated, s.after_propagated.right) | touches_above(s.before_all) |
                  touches_below(s.after_propagated);
  return ~any_of_column(busy) & kTop;
}

/* The four bits of zero coding labels (T.800 table D.1), from the numbers of significant
 * horizontal, vertical and diagonal neighbours: h1 and v1 are set where there is exactly one, d1
 * where there is at least one, h2, v2 and d2 where there are at least two. In HL bands h and v
 * change places. */
struct ZeroLabels {
  uint32_t bit[4];
};

__device__ __forceinline__ ZeroLabels zero_labels(const Neighbours &n, bool is_hl, bool is_hh)
{
  uint32_t h1 = n.w ^ n.e, h2 = n.w & n.e, v1 = n.n ^ n.s, v2 = n.n & n.s;
  uint32_t upper = n.nw ^ n.ne, lower = n.sw ^ n.se, uppers = n.nw & n.ne, lowers = n.sw & n.se;
  uint32_t odd = upper ^ lower, d1 = upper | lower | uppers | lowers;
  uint32_t d2 = uppers | lowers | (upper & lower);
  if (is_hh) {
    uint32_t hv1 = h1 | h2 | v1 | v2, hv2 = h2 | v2 | (h1 & v1);
    uint32_t three = (odd & d2) | (uppers & lowers), two = d2 & ~three, one = d1 & ~d2;
    return {{(two & hv1) | (one & (hv2 | ~hv1)) | (~d1 & hv1 & ~hv2),
             two | (one & ~hv1) | (~d1 & hv2), two | (one & hv1), three}};
  }
  if (is_hl) {
    uint32_t swap1 = h1, swap2 = h2;
    h1 = v1;
    h2 = v2;
    v1 = swap1;
    v2 = swap2;
  }
  uint32_t h0 = ~(h1 | h2), v0 = ~(v1 | v2);
  return {{(h1 & (~v0 | ~d1)) | (h0 & (v1 | (v0 & d1 & ~d2))),
           (h1 & (~v0 | d1)) | (h0 & (v1 | (v0 & d2))), h1 | (h0 & v2), h2}};
}

/* Bits 0 to 2 of sign labels (bit 3 is 1 in all of them) and the XOR bit (T.800 tables D.2, D.3).
 */
struct SignLabels {
  uint32_t bit[3], flip;
};

/* Whether the neighbours of each sample are negative. */
struct Signs {
  uint32_t w, e, n, s;
};

__device__ __forceinline__ SignLabels sign_labels(const Neighbours &n, const Signs &negative)
{
  uint32_t wn = n.w & negative.w, wp = n.w & ~negative.w, en = n.e & negative.e,
           ep = n.e & ~negative.e;
  uint32_t nn = n.n & negative.n, np = n.n & ~negative.n, sn = n.s & negative.s,
           sp = n.s & ~negative.s;
  uint32_t hp = (wp & ~en) | (ep & ~wn), hn = (wn & ~ep) | (en & ~wp);
  uint32_t vp = (np & ~sn) | (sp & ~nn), vn = (nn & ~sp) | (sn & ~np);
  uint32_t h = hp | hn, v = vp | vn, same = (hp & vp) | (hn & vn), opposite = h & v & ~same;
  return {{~(h ^ v), (v & ~h) | opposite, (h & ~v) | same}, hn | (vn & ~h)};
}

/* A step of to_bytes (): exchanges bits between words that are STEP apart. */
template <int STEP> __device__ __forceinline__ void swap_bits(uint32_t words[8], uint32_t mask)
{
#pragma unroll
  for (int i = 0; i < 8; i++)
    if ((i & STEP) == 0) {
      uint32_t low = words[i], high = words[i + STEP];
      words[i] = pick(mask, low, high << STEP);
      words[i + STEP] = pick(mask, low >> STEP, high);
    }
}

/* Turns eight words of bits into 32 bytes, in place. Each byte has the bits that the eight words
 * have for one sample, the first word's lowest. Byte b of word i is that of sample 8b + i. */
__device__ __forceinline__ void to_bytes(uint32_t words[8])
{
  swap_bits<4>(words, 0x0F0F0F0Fu);
  swap_bits<2>(words, 0x33333333u);
  swap_bits<1>(words, 0x55555555u);
}

/* A step of transpose (): half of the bits are exchanged for bits of the lane that is STEP away. */
template <uint32_t STEP>
__device__ __forceinline__ uint32_t swap_lanes(uint32_t word, uint32_t lane, uint32_t mask)
{
  bool high = lane & STEP;
  uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, word, STEP);
  if (STEP == 16)
    return __byte_perm(word, other, high ? 0x3276 : 0x5410);
  if (STEP == 8)
    return __byte_perm(word, other, high ? 0x3715 : 0x6240);
  other = __funnelshift_l(other, other, high ? 32 - STEP : STEP);
  return pick(high ? ~mask : mask, word, other);
}

/* Transposes the 32 x 32 bits of a warp: bit i of lane k becomes bit k of lane i. */
__device__ __forceinline__ uint32_t transpose(uint32_t word, uint32_t lane)
{
  word = swap_lanes<16>(word, lane, 0x0000FFFFu);
  word = swap_lanes<8>(word, lane, 0x00FF00FFu);
  word = swap_lanes<4>(word, lane, 0x0F0F0F0Fu);
  word = swap_lanes<2>(word, lane, 0x33333333u);
  return swap_lanes<1>(word, lane, 0x55555555u);
}

} // namespace mq_words
