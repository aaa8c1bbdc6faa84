// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Inverse DWT of one level by warps (T.800 F.3), with the arithmetic of docs/arithmetic.md.
 *
 * A warp makes a strip of columns, four per lane, and goes down the rows in pairs (2n, 2n+1). The
 * outermost lanes only give values to their neighbours. The horizontal filter takes values from
 * neighbouring lanes by shuffles; the vertical one keeps its rows in registers. Positions are
 * relative to the even position at or before the first sample. Beyond the edges samples are loaded
 * from mirrored positions: the extended signal stays symmetric through all lifting steps, so that
 * the results are those of mirrored neighbours, bit for bit.
 */
#pragma once

#include "cuda/shared/decode_kernels.h"

constexpr uint32_t kStripColumns = 120; /* output columns of a warp */
constexpr uint32_t kAllLanes = 0xFFFFFFFFu;

template <bool REV> struct Sample;
template <> struct Sample<true> {
  using Type = int32_t;
};
template <> struct Sample<false> {
  using Type = float;
};

/* Position p of a signal on [first, first + size), mirrored into it. */
__device__ __forceinline__ int32_t mirror(int32_t p, int32_t first, int32_t size)
{
  int32_t q = p - first;
  if (q >= 0 && q < size)
    return p;
  if (size == 1)
    return first;
  int32_t period = 2 * (size - 1);
  q %= period;
  if (q < 0)
    q += period;
  return first + (q < size ? q : period - q);
}

/* Lifting steps (F.3.8.1, F.3.8.2): even samples subtract a term of their two neighbours, odd
 * samples add one. */
__device__ __forceinline__ int32_t even_step(int32_t x, int32_t a, int32_t b)
{
  return (int32_t)((uint32_t)x - (uint32_t)((int32_t)((uint32_t)a + (uint32_t)b + 2u) >> 2));
}
__device__ __forceinline__ int32_t odd_step(int32_t x, int32_t a, int32_t b)
{
  return (int32_t)((uint32_t)x + (uint32_t)((int32_t)((uint32_t)a + (uint32_t)b) >> 1));
}
__device__ __forceinline__ float lift(float x, float c, float a, float b)
{
  return __fadd_rn(x, __fmul_rn(c, __fadd_rn(a, b)));
}

constexpr float kAlpha = -1.586134342059924f, kBeta = -0.052980118572961f,
                kGamma = 0.882911075530934f, kDelta = 0.443506852043971f;

/* A lane's four columns of a row of one component: low-pass, high-pass, low-pass, high-pass. */
template <bool REV> struct Row {
  typename Sample<REV>::Type c[4];
};

__device__ __forceinline__ void horizontal(Row<true> &r)
{
  int32_t before = __shfl_up_sync(kAllLanes, r.c[3], 1);
  r.c[0] = even_step(r.c[0], before, r.c[1]);
  r.c[2] = even_step(r.c[2], r.c[1], r.c[3]);
  int32_t after = __shfl_down_sync(kAllLanes, r.c[0], 1);
  r.c[1] = odd_step(r.c[1], r.c[0], r.c[2]);
  r.c[3] = odd_step(r.c[3], r.c[2], after);
}

template <int STEP> __device__ __forceinline__ void horizontal_lift(Row<false> &r)
{
  const float even = STEP ? -kBeta : -kDelta, odd = STEP ? -kAlpha : -kGamma;
  float before = __shfl_up_sync(kAllLanes, r.c[3], 1);
  r.c[0] = lift(r.c[0], even, before, r.c[1]);
  r.c[2] = lift(r.c[2], even, r.c[1], r.c[3]);
  float after = __shfl_down_sync(kAllLanes, r.c[0], 1);
  r.c[1] = lift(r.c[1], odd, r.c[0], r.c[2]);
  r.c[3] = lift(r.c[3], odd, r.c[2], after);
}

__device__ __forceinline__ void horizontal(Row<false> &r)
{
  horizontal_lift<0>(r);
  horizontal_lift<1>(r);
}

/* The vertical filter. push() takes the pair of rows (2n, 2n + 1), n increasing, and gives an odd
 * row and the even one below it, rows 2n - kDelay and 2n - kDelay + 1. It needs kWarmUp pairs
 * before the first pair of which rows are wanted. */
template <bool REV> struct Vertical;

template <> struct Vertical<true> {
  static constexpr int32_t kWarmUp = 1, kDelay = 1;
  Row<true> odd, even;

  __device__ __forceinline__ void push(const Row<true> &e, const Row<true> &o, Row<true> &out_odd,
                                       Row<true> &out_even)
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int32_t lifted = even_step(e.c[i], odd.c[i], o.c[i]);
      out_odd.c[i] = odd_step(odd.c[i], even.c[i], lifted);
      out_even.c[i] = lifted;
      even.c[i] = lifted;
      odd.c[i] = o.c[i];
    }
  }
};

template <> struct Vertical<false> {
  static constexpr int32_t kWarmUp = 2, kDelay = 3;
  Row<false> odd;         /* odd row n - 1, not lifted */
  Row<false> even1, odd1; /* even row n - 1 and odd row n - 2 after one round of lifting */
  Row<false> even2;       /* even row n - 2 after two rounds */

  __device__ __forceinline__ void push(const Row<false> &e, const Row<false> &o,
                                       Row<false> &out_odd, Row<false> &out_even)
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float e1 = lift(e.c[i], -kDelta, odd.c[i], o.c[i]);
      float o1 = lift(odd.c[i], -kGamma, even1.c[i], e1);
      float e2 = lift(even1.c[i], -kBeta, odd1.c[i], o1);
      out_odd.c[i] = lift(odd1.c[i], -kAlpha, even2.c[i], e2);
      out_even.c[i] = e2;
      odd.c[i] = o.c[i];
      even1.c[i] = e1;
      odd1.c[i] = o1;
      even2.c[i] = e2;
    }
  }
};

/* How a lane's columns lie in the bands: two neighbours of each band, aligned for it; anywhere,
 * near edges and at odd positions; or there is one column only, which is in one band and is not
 * filtered horizontally. */
enum class Access { kPairs, kAny, kColumn };

/* The places of a lane's columns in the bands, the same for all components of a group. */
struct Columns {
  int32_t height, odd_y;            /* odd_y is also the position of the first row */
  int32_t low0, low1, high0, high1; /* columns in the bands */
  bool pairs;                       /* low0, low1 and high0, high1 can be loaded as pairs */
  bool single;                      /* one column: no filter */
  bool single_odd;

  __device__ __forceinline__ void start(const Cj2kCudaLevel &level, int32_t p)
  {
    int32_t odd_x = level.odd_x, width = (int32_t)level.width;
    height = (int32_t)level.height;
    odd_y = level.odd_y;
    single = width == 1;
    single_odd = level.odd_x;
    low0 = (mirror(p, odd_x, width) >> 1) - odd_x;
    high0 = mirror(p + 1, odd_x, width) >> 1;
    low1 = (mirror(p + 2, odd_x, width) >> 1) - odd_x;
    high1 = mirror(p + 3, odd_x, width) >> 1;
    pairs = odd_x == 0 && low1 == low0 + 1 && high1 == high0 + 1 && !(low0 & 1) && !(high0 & 1);
  }
};

/* Undoes the doubling of a single sample at an odd position (F.3.6). With the 9/7 filter the band's
 * scale does that. */
__device__ __forceinline__ int32_t halve(int32_t v, bool odd)
{
  return odd ? v >> 1 : v;
}
__device__ __forceinline__ float halve(float v, bool)
{
  return v;
}

template <class T> struct alignas(2 * sizeof(T)) Pair {
  T a, b;
};

/* Two neighbours of a band as they are stored. They are loaded long before the filter needs them,
 * and whatever is computed from them at once would wait for them: samples() comes later. load():
 * from `first` and `second`, which with PAIRS is the next one. scale: that of the band's half
 * units, if it is narrow and not reversible. */
template <bool REV, bool NARROW, bool PAIRS> struct Stored {
  using T = typename Sample<REV>::Type;
  Pair<T> pair;

  __device__ __forceinline__ void load(const void *data, uint32_t first, uint32_t second)
  {
    const T *samples = static_cast<const T *>(data);
    if (PAIRS)
      pair = *reinterpret_cast<const Pair<T> *>(samples + first);
    else
      pair = {samples[first], samples[second]};
  }
  __device__ __forceinline__ Pair<T> samples(float) const
  {
    return pair;
  }
};

/* Both in a word, or if they are not PAIRS in a word each, in which the upper half is 0. */
template <bool PAIRS> struct NarrowWords {
  uint32_t a, b;

  __device__ __forceinline__ void load(const void *data, uint32_t first, uint32_t second)
  {
    const uint16_t *samples = static_cast<const uint16_t *>(data);
    if (PAIRS) {
      a = *reinterpret_cast<const uint32_t *>(samples + first);
    } else {
      a = samples[first];
      b = samples[second];
    }
  }
};

template <bool PAIRS> struct Stored<true, true, PAIRS> : NarrowWords<PAIRS> {
  __device__ __forceinline__ Pair<int32_t> samples(float) const
  {
    if (PAIRS)
      return {(int16_t)this->a, (int32_t)this->a >> 16};
    return {(int16_t)this->a, (int16_t)this->b};
  }
};

template <bool PAIRS> struct Stored<false, true, PAIRS> : NarrowWords<PAIRS> {
  /* `bits`: of the float 2^23 + 2^15 + the half units. This is faster than a conversion. */
  static __device__ __forceinline__ float coefficient(uint32_t bits, float scale)
  {
    return __fmul_rn(__fsub_rn(__uint_as_float(bits), 8421376.0f), scale);
  }
  __device__ __forceinline__ Pair<float> samples(float scale) const
  {
    uint32_t x = this->a ^ 0x80008000u, y = PAIRS ? x : this->b ^ 0x80008000u;
    return {coefficient(__byte_perm(x, 0x4B000000u, 0x7410), scale),
            coefficient(__byte_perm(y, 0x4B000000u, PAIRS ? 0x7432 : 0x7410), scale)};
  }
};

/* A lane's columns of a row as they are stored: from a low-pass band on the left and a high-pass
 * band on the right, whose rows begin at left_line and right_line. */
template <bool REV, bool LEFT_NARROW, bool RIGHT_NARROW, Access ACCESS> struct StoredRow {
  static constexpr bool kPairs = ACCESS == Access::kPairs;
  Stored<REV, LEFT_NARROW, kPairs> left;
  Stored<REV, RIGHT_NARROW, kPairs> right;

  __device__ __forceinline__ void load(const Cj2kCudaPlane &l, const Cj2kCudaPlane &r,
                                       uint32_t left_line, uint32_t right_line,
                                       const Columns &columns)
  {
    /* Of a single column the other band has no sample. */
    if (ACCESS != Access::kColumn || !columns.single_odd)
      left.load(l.data, left_line + columns.low0, left_line + columns.low1);
    if (ACCESS != Access::kColumn || columns.single_odd)
      right.load(r.data, right_line + columns.high0, right_line + columns.high1);
  }

  /* The row before the horizontal filter. */
  __device__ __forceinline__ Row<REV> row(float left_scale, float right_scale,
                                          const Columns &columns) const
  {
    if (ACCESS == Access::kColumn) {
      auto v = columns.single_odd ? halve(right.samples(right_scale).a, REV)
                                  : left.samples(left_scale).a;
      return {{v, v, v, v}};
    }
    auto low = left.samples(left_scale);
    auto high = right.samples(right_scale);
    return {{low.a, high.a, low.b, high.b}};
  }
};

/* The scales of HL, LH and HH of a component. */
struct Scales {
  float band[3];
};

/* Rows 2n and 2n + 1 of a component as they are stored. */
template <bool REV, bool NARROW, Access ACCESS> struct StoredRows {
  StoredRow<REV, false, NARROW, ACCESS> even;
  StoredRow<REV, NARROW, NARROW, ACCESS> odd;

  __device__ __forceinline__ void rows(const Scales &scales, const Columns &columns, Row<REV> &e,
                                       Row<REV> &o) const
  {
    e = even.row(1, scales.band[0], columns);
    o = odd.row(scales.band[1], scales.band[2], columns);
  }
};

/* Loads rows 2n and 2n + 1 of all components; rows outside are mirrored, which keeps their parity.
 * The bands of all components have the strides of the first one's. */
template <bool REV, int COUNT, bool NARROW, Access ACCESS>
__device__ __forceinline__ void load_rows(const Cj2kCudaLevel *levels, const Columns &columns,
                                          int32_t n, StoredRows<REV, NARROW, ACCESS> *rows)
{
  int32_t low = 2 * n, high = 2 * n + 1;
  if (low < columns.odd_y || high >= columns.odd_y + columns.height) {
    low = mirror(low, columns.odd_y, columns.height);
    high = mirror(high, columns.odd_y, columns.height);
  }
  uint32_t low_line = (uint32_t)(low >> 1) - columns.odd_y, high_line = (uint32_t)(high >> 1);
  uint32_t line[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    line[i] = (i < 2 ? low_line : high_line) * levels[0].band[i].stride;
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    const Cj2kCudaPlane *band = levels[k].band;
    rows[k].even.load(band[0], band[1], line[0], line[1], columns);
    rows[k].odd.load(band[2], band[3], line[2], line[3], columns);
  }
}

/* An image of one row, which has no vertical filter. */
template <bool REV, int COUNT, bool NARROW, Access ACCESS, class Sink>
__device__ __forceinline__ void synthesise_row(const Cj2kCudaLevel *levels, const Scales *scales,
                                               const Columns &columns, Sink &sink)
{
  const bool high = columns.odd_y;
  Row<REV> rows[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    const Cj2kCudaPlane *band = levels[k].band;
    StoredRows<REV, NARROW, ACCESS> stored;
    if (high) {
      stored.odd.load(band[2], band[3], 0, 0, columns);
      rows[k] = stored.odd.row(scales[k].band[1], scales[k].band[2], columns);
    } else {
      stored.even.load(band[0], band[1], 0, 0, columns);
      rows[k] = stored.even.row(1, scales[k].band[0], columns);
    }
    if (ACCESS != Access::kColumn)
      horizontal(rows[k]);
#pragma unroll
    for (int i = 0; i < 4; i++)
      rows[k].c[i] = halve(rows[k].c[i], REV && high);
  }
  sink(columns.odd_y, rows);
}

/* Pairs of rows that are loaded ahead: of one component a warp reads little at a time, so that more
 * has to be on its way. Of three, more do not fit into the registers. */
template <int COUNT> constexpr int kAhead = COUNT == 1 ? 2 : 1;

template <bool REV, int COUNT, bool NARROW, Access ACCESS, class Sink>
__device__ __forceinline__ void synthesise_rows(const Cj2kCudaLevel *levels, const Scales *scales,
                                                const Columns &columns, int32_t row0, int32_t row1,
                                                Sink &sink)
{
  constexpr int ahead = kAhead<COUNT>;
  Vertical<REV> vertical[COUNT] = {};
  int32_t n = (row0 >> 1) - Vertical<REV>::kWarmUp, last = (row1 - 1 + Vertical<REV>::kDelay) >> 1;
  StoredRows<REV, NARROW, ACCESS> next[ahead][COUNT];
#pragma unroll
  for (int a = 0; a < ahead; a++)
    load_rows<REV, COUNT>(levels, columns, n + a, next[a]);
  for (; n <= last; n += ahead)
#pragma unroll
    for (int a = 0; a < ahead; a++) {
      int32_t y = 2 * (n + a) - Vertical<REV>::kDelay;
      Row<REV> e[COUNT], o[COUNT], odd[COUNT], even[COUNT];
#pragma unroll
      for (int k = 0; k < COUNT; k++)
        next[a][k].rows(scales[k], columns, e[k], o[k]);
      if (n + a + ahead <= last)
        load_rows<REV, COUNT>(levels, columns, n + a + ahead, next[a]);
#pragma unroll
      for (int k = 0; k < COUNT; k++) {
        if (ACCESS != Access::kColumn) {
          horizontal(e[k]);
          horizontal(o[k]);
        }
        vertical[k].push(e[k], o[k], odd[k], even[k]);
      }
      if (y >= row0 && y < row1)
        sink(y, odd);
      if (y + 1 >= row0 && y + 1 < row1)
        sink(y + 1, even);
    }
}

/* The rows of a warp. */
struct Span {
  int32_t row0, row1;
};

/* The rows of strip `strip` of entry i of a table; none if row0 >= row1. */
__device__ __forceinline__ Span span_of(const Cj2kCudaRows *__restrict__ ranges, uint32_t i,
                                        uint32_t strip, uint32_t rows)
{
  Span span = {(int32_t)(strip * rows), (int32_t)(strip * rows + rows)};
  if (ranges) {
    const Cj2kCudaRows range = ranges[i];
    span.row0 += (int32_t)range.first;
    span.row1 = min(span.row1 + (int32_t)range.first, (int32_t)range.end);
  }
  return span;
}

/*
 * Synthesises rows [row0, row1), columns p to p + 3 of this lane, of COUNT components in lock-step.
 * NARROW: as levels[].narrow. Each row that lies in the image is given to sink(y, rows).
 */
template <bool REV, int COUNT, bool NARROW, class Sink>
__device__ __forceinline__ void synthesise(const Cj2kCudaLevel *levels,
                                           const Cj2kCudaBandStep *__restrict__ steps, int32_t p,
                                           int32_t row0, int32_t row1, Sink &sink)
{
  Columns columns;
  columns.start(levels[0], p);
  row0 = max(row0, columns.odd_y);
  row1 = min(row1, columns.odd_y + columns.height);
  if (row0 >= row1)
    return;
  Scales scales[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++)
#pragma unroll
    for (int b = 0; b < 3; b++)
      scales[k].band[b] = NARROW && !REV ? steps[levels[k].first_step + b].scale : 1;
  const bool row = columns.height == 1;
  if (columns.single && row)
    synthesise_row<REV, COUNT, NARROW, Access::kColumn>(levels, scales, columns, sink);
  else if (columns.single)
    synthesise_rows<REV, COUNT, NARROW, Access::kColumn>(levels, scales, columns, row0, row1, sink);
  else if (row)
    synthesise_row<REV, COUNT, NARROW, Access::kAny>(levels, scales, columns, sink);
  else if (__all_sync(kAllLanes, columns.pairs))
    synthesise_rows<REV, COUNT, NARROW, Access::kPairs>(levels, scales, columns, row0, row1, sink);
  else
    synthesise_rows<REV, COUNT, NARROW, Access::kAny>(levels, scales, columns, row0, row1, sink);
}
