// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Inverse DWT of one level by warps (T.800 F.3), arithmetic of docs/arithmetic.md.
 *
 * A warp makes a strip of columns, four a lane, of which the outer lanes only feed their
 * neighbours, and goes down the rows in pairs (2n, 2n+1). The horizontal filter takes values from
 * neighbouring lanes by shuffles; the vertical one keeps its rows in registers. Positions are
 * relative to the even position at or before the first sample. Beyond the edges mirrored positions
 * are loaded: the extended signal stays symmetric through all lifting steps, so that the results
 * are those of mirrored neighbours, bit for bit.
 */
#pragma once

#include "kernels.h"

constexpr uint32_t kStripColumns = 120; /* that a warp puts out */
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

/* Lifting (F.3.8.1, F.3.8.2): x - or + what its two neighbours give. */
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

/* Four columns of a row of one component, low and high in turn. */
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

/* The vertical filter: takes pairs of rows downwards and gives pairs, an odd row and the even one
 * below it, some rows later. */
template <bool REV> struct Vertical;

template <> struct Vertical<true> {
  static constexpr int32_t kWarmUp = 1,
                           kDelay = 1; /* pairs before the first, row 2n - kDelay first */
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
  Row<false> odd, even1, odd1,
      even2; /* o(n-1); then e(n-1), o(n-2) after one round; e(n-2) after two */

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

/* Where a lane's columns lie in the bands, the same for all components of a group. */
struct Columns {
  uint32_t stride[4];
  int32_t height, odd_y;
  int32_t low0, low1, high0, high1; /* columns in the bands */
  bool pairs;                       /* low0, low1 and high0, high1 can be loaded as pairs */
  bool single;                      /* one column: no filter */
  bool single_odd;

  __device__ void start(const Cj2kCudaLevel &level, int32_t p)
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      stride[i] = level.band[i].stride;
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

/* One sample at an odd position (F.3.6): doubled by the encoder; with the 9/7 filter that is in the
 * band's scale. */
__device__ __forceinline__ int32_t halve(int32_t v, bool odd)
{
  return odd ? v >> 1 : v;
}
__device__ __forceinline__ float halve(float v, bool)
{
  return v;
}

/* Row y (any, mirrored) of a component before the horizontal filter. */
template <bool REV>
__device__ __forceinline__ Row<REV> load_row(const Cj2kCudaLevel &level, const Columns &columns,
                                             int32_t y)
{
  using T = typename Sample<REV>::Type;
  y = mirror(y, columns.odd_y, columns.height);
  bool high = y & 1;
  uint32_t line = high ? y >> 1 : (y >> 1) - columns.odd_y;
  const T *left = static_cast<const T *>(level.band[high ? 2 : 0].data) +
                  (size_t)line * (high ? columns.stride[2] : columns.stride[0]);
  const T *right = static_cast<const T *>(level.band[high ? 3 : 1].data) +
                   (size_t)line * (high ? columns.stride[3] : columns.stride[1]);
  Row<REV> r;
  if (columns.pairs) {
    struct alignas(8) Pair {
      T a, b;
    };
    Pair l = *reinterpret_cast<const Pair *>(left + columns.low0);
    Pair h = *reinterpret_cast<const Pair *>(right + columns.high0);
    r.c[0] = l.a;
    r.c[1] = h.a;
    r.c[2] = l.b;
    r.c[3] = h.b;
  } else if (columns.single) {
    T v = columns.single_odd ? right[0] : left[0];
    r.c[0] = r.c[1] = r.c[2] = r.c[3] = halve(v, REV && columns.single_odd);
  } else {
    r.c[0] = left[columns.low0];
    r.c[1] = right[columns.high0];
    r.c[2] = left[columns.low1];
    r.c[3] = right[columns.high1];
  }
  return r;
}

/*
 * Rows [row0, row1) (row0 even) of COUNT components in lock-step, columns p..p+3 of this lane; each
 * row that lies in the image goes to sink(y, rows).
 */
template <bool REV, int COUNT, class Sink>
__device__ __forceinline__ void synthesise(const Cj2kCudaLevel *levels, int32_t p, int32_t row0,
                                           int32_t row1, Sink &sink)
{
  Columns columns;
  columns.start(levels[0], p);
  const int32_t first = levels[0].odd_y, end = first + (int32_t)levels[0].height;
  row0 = max(row0, first);
  row1 = min(row1, end);
  if (row0 >= row1)
    return;

  if (end - first == 1) { /* one row: no vertical filter */
    Row<REV> rows[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      rows[k] = load_row<REV>(levels[k], columns, first);
      if (!columns.single)
        horizontal(rows[k]);
#pragma unroll
      for (int i = 0; i < 4; i++)
        rows[k].c[i] = halve(rows[k].c[i], REV && first == 1);
    }
    sink(first, rows);
    return;
  }

  Vertical<REV> vertical[COUNT] = {};
  int32_t n = (row0 >> 1) - Vertical<REV>::kWarmUp,
          last = ((row1 - 1 + Vertical<REV>::kDelay) >> 1);
  Row<REV> e[COUNT], o[COUNT], next_e[COUNT], next_o[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    next_e[k] = load_row<REV>(levels[k], columns, 2 * n);
    next_o[k] = load_row<REV>(levels[k], columns, 2 * n + 1);
  }
  for (; n <= last; n++) {
    int32_t y = 2 * n - Vertical<REV>::kDelay;
    Row<REV> odd[COUNT], even[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      e[k] = next_e[k];
      o[k] = next_o[k];
      next_e[k] = load_row<REV>(levels[k], columns,
                                2 * n + 2); /* on their way while this pair is filtered */
      next_o[k] = load_row<REV>(levels[k], columns, 2 * n + 3);
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      if (!columns.single) {
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
