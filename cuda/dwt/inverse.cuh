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

template <class T> struct alignas(8) Pair {
  T a, b;
};

/* Loads a row before the horizontal filter from the low-pass band `left` and the high-pass band
 * `right`. left_line, right_line: offset of the row in each. PAIRS: columns.pairs is true for all
 * lanes. */
template <bool REV, bool PAIRS>
__device__ __forceinline__ Row<REV> load_line(const Cj2kCudaPlane &left, const Cj2kCudaPlane &right,
                                              uint32_t left_line, uint32_t right_line,
                                              const Columns &columns)
{
  using T = typename Sample<REV>::Type;
  const T *l = static_cast<const T *>(left.data), *r = static_cast<const T *>(right.data);
  Row<REV> row;
  if (PAIRS) {
    Pair<T> low = *reinterpret_cast<const Pair<T> *>(l + (size_t)(left_line + columns.low0));
    Pair<T> high = *reinterpret_cast<const Pair<T> *>(r + (size_t)(right_line + columns.high0));
    row.c[0] = low.a;
    row.c[1] = high.a;
    row.c[2] = low.b;
    row.c[3] = high.b;
  } else if (columns.single) {
    T v = columns.single_odd ? r[right_line] : l[left_line];
    row.c[0] = row.c[1] = row.c[2] = row.c[3] = halve(v, REV && columns.single_odd);
  } else {
    row.c[0] = l[left_line + columns.low0];
    row.c[1] = r[right_line + columns.high0];
    row.c[2] = l[left_line + columns.low1];
    row.c[3] = r[right_line + columns.high1];
  }
  return row;
}

/* Loads rows 2n and 2n + 1 of all components; rows outside are mirrored, which keeps their parity.
 * The bands of all components have the strides of the first one's. */
template <bool REV, int COUNT, bool PAIRS>
__device__ __forceinline__ void load_rows(const Cj2kCudaLevel *levels, const Columns &columns,
                                          int32_t n, Row<REV> *even, Row<REV> *odd)
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
    even[k] =
        load_line<REV, PAIRS>(levels[k].band[0], levels[k].band[1], line[0], line[1], columns);
    odd[k] = load_line<REV, PAIRS>(levels[k].band[2], levels[k].band[3], line[2], line[3], columns);
  }
}

/* An image of one row, which has no vertical filter. */
template <bool REV, int COUNT, class Sink>
__device__ __forceinline__ void synthesise_row(const Cj2kCudaLevel *levels, const Columns &columns,
                                               Sink &sink)
{
  const bool high = columns.odd_y;
  Row<REV> rows[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    const Cj2kCudaPlane *bands = levels[k].band;
    rows[k] = load_line<REV, false>(high ? bands[2] : bands[0], high ? bands[3] : bands[1], 0, 0,
                                    columns);
    if (!columns.single)
      horizontal(rows[k]);
#pragma unroll
    for (int i = 0; i < 4; i++)
      rows[k].c[i] = halve(rows[k].c[i], REV && high);
  }
  sink(columns.odd_y, rows);
}

template <bool REV, int COUNT, bool PAIRS, class Sink>
__device__ __forceinline__ void synthesise_rows(const Cj2kCudaLevel *levels, const Columns &columns,
                                                int32_t row0, int32_t row1, Sink &sink)
{
  Vertical<REV> vertical[COUNT] = {};
  int32_t n = (row0 >> 1) - Vertical<REV>::kWarmUp, last = (row1 - 1 + Vertical<REV>::kDelay) >> 1;
  Row<REV> next_e[COUNT], next_o[COUNT];
  load_rows<REV, COUNT, PAIRS>(levels, columns, n, next_e, next_o);
#pragma unroll(COUNT == 1 ? 2 : 1)
  for (; n <= last; n++) {
    int32_t y = 2 * n - Vertical<REV>::kDelay;
    Row<REV> e[COUNT], o[COUNT], odd[COUNT], even[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      e[k] = next_e[k];
      o[k] = next_o[k];
    }
    /* These loads run while the current pair is filtered. */
    load_rows<REV, COUNT, PAIRS>(levels, columns, n + 1, next_e, next_o);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      if (PAIRS || !columns.single) {
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
 * Synthesises rows [row0, row1), columns p to p + 3 of this lane, of COUNT components
 * in lock-step. Each row that lies in the image is given to sink(y, rows).
 */
template <bool REV, int COUNT, class Sink>
__device__ __forceinline__ void synthesise(const Cj2kCudaLevel *levels, int32_t p, int32_t row0,
                                           int32_t row1, Sink &sink)
{
  Columns columns;
  columns.start(levels[0], p);
  row0 = max(row0, columns.odd_y);
  row1 = min(row1, columns.odd_y + columns.height);
  if (row0 >= row1)
    return;
  if (columns.height == 1)
    synthesise_row<REV, COUNT>(levels, columns, sink);
  else if (__all_sync(kAllLanes, columns.pairs))
    synthesise_rows<REV, COUNT, true>(levels, columns, row0, row1, sink);
  else
    synthesise_rows<REV, COUNT, false>(levels, columns, row0, row1, sink);
}
