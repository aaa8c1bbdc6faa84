// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Forward DWT, one level in one kernel (T.800 F.4.2): the vertical filter, then the horizontal one.
 * The kernel of the top level also unpacks the picture and does all steps before the DWT. A warp
 * does a strip of 120 columns: each lane holds four, and the first and the last lane repeat columns
 * of the neighbouring strips for the horizontal filter. The warp goes down the rows with the state
 * of the vertical lifting in registers. Samples outside the image are its reflection (F.4.7), so
 * that every lifting step does what docs/arithmetic.md says, in that order.
 */
#include "forward.cuh"

#include "cuda/shared/multiprocessors.cuh"

namespace {

constexpr uint32_t kWarps = 2;       /* strips of a thread block */
constexpr uint32_t kStripLanes = 30; /* lanes of a warp whose columns belong to its strip */

/* ----------------------------------------------------------------------------- reflection --- */

/* Reflects a position into [0, n), which keeps its parity (n > 1). Positions so far outside that no
 * sample of the image depends on them give any position in [0, n). */
__device__ __forceinline__ uint32_t reflect(int32_t position, uint32_t n)
{
  if ((uint32_t)position < n)
    return (uint32_t)position;
  int32_t last = (int32_t)n - 1;
  if (n < 8) {
    int32_t period = 2 * last;
    position = period ? abs(position) % period : 0;
    return (uint32_t)(position <= last ? position : period - position);
  }
  position = position < 0 ? -position : 2 * last - position;
  return (uint32_t)min(max(position, 0), last);
}

/* -------------------------------------------------------------------------------- lifting --- */

__device__ __forceinline__ float lift(float x, float a, float b, float factor)
{
  float t = __fadd_rn(a, b);
  float u = __fmul_rn(factor, t);
  return __fadd_rn(x, u);
}

__device__ __forceinline__ int32_t wrap_add(int32_t a, int32_t b)
{
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* Vertical lifting of four columns, a pair of rows at a time. */
template <bool kReversible> struct Vertical;

template <> struct Vertical<false> {
  static constexpr int32_t kDelay = 1; /* pairs between input and output */
  float even[4], d1[4], s1[4], d2[4];

  __device__ void start(const float row[4])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      even[i] = row[i];
      d1[i] = s1[i] = d2[i] = 0;
    }
  }

  /* Takes rows 2j + 1 and 2j + 2; gives low row 2j - 2 and high row 2j - 1. */
  __device__ void push(const float odd[4], const float next[4], float low[4], float high[4])
  {
    constexpr float alpha = -1.586134342059924f, beta = -0.052980118572961f;
    constexpr float gamma = 0.882911075530934f, delta = 0.443506852043971f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float d = lift(odd[i], even[i], next[i], alpha);
      float s = lift(even[i], d1[i], d, beta);
      float h = lift(d1[i], s1[i], s, gamma);
      low[i] = lift(s1[i], d2[i], h, delta);
      high[i] = h;
      even[i] = next[i];
      d1[i] = d;
      s1[i] = s;
      d2[i] = h;
    }
  }
};

template <> struct Vertical<true> {
  static constexpr int32_t kDelay = 0;
  int32_t even[4], d1[4];

  __device__ void start(const int32_t row[4])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      even[i] = row[i];
      d1[i] = 0;
    }
  }

  /* Takes rows 2j + 1 and 2j + 2; gives low row 2j and high row 2j + 1. */
  __device__ void push(const int32_t odd[4], const int32_t next[4], int32_t low[4], int32_t high[4])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int32_t d = wrap_add(odd[i], -(wrap_add(even[i], next[i]) >> 1));
      low[i] = wrap_add(even[i], wrap_add(wrap_add(d1[i], d), 2) >> 2);
      high[i] = d;
      even[i] = next[i];
      d1[i] = d;
    }
  }
};

/* Filters a row in place; columns 0 and 2 of a lane are low-pass. */
__device__ __forceinline__ void filter_row(float v[4])
{
  constexpr uint32_t all = 0xFFFFFFFFu;
  v[1] = lift(v[1], v[0], v[2], -1.586134342059924f);
  v[3] = lift(v[3], v[2], __shfl_down_sync(all, v[0], 1), -1.586134342059924f);
  v[0] = lift(v[0], __shfl_up_sync(all, v[3], 1), v[1], -0.052980118572961f);
  v[2] = lift(v[2], v[1], v[3], -0.052980118572961f);
  v[1] = lift(v[1], v[0], v[2], 0.882911075530934f);
  v[3] = lift(v[3], v[2], __shfl_down_sync(all, v[0], 1), 0.882911075530934f);
  v[0] = lift(v[0], __shfl_up_sync(all, v[3], 1), v[1], 0.443506852043971f);
  v[2] = lift(v[2], v[1], v[3], 0.443506852043971f);
}

__device__ __forceinline__ void filter_row(int32_t v[4])
{
  constexpr uint32_t all = 0xFFFFFFFFu;
  v[1] = wrap_add(v[1], -(wrap_add(v[0], v[2]) >> 1));
  v[3] = wrap_add(v[3], -(wrap_add(v[2], __shfl_down_sync(all, v[0], 1)) >> 1));
  v[0] = wrap_add(v[0], wrap_add(wrap_add(__shfl_up_sync(all, v[3], 1), v[1]), 2) >> 2);
  v[2] = wrap_add(v[2], wrap_add(wrap_add(v[1], v[3]), 2) >> 2);
}

/* A single sample at an odd position (F.4.6): the 5/3 filter doubles it. */
__device__ __forceinline__ void twice(int32_t &v)
{
  v = (int32_t)((uint32_t)v << 1);
}

__device__ __forceinline__ void twice(float &) {}

/* ---------------------------------------------------------------------------------- strips --- */

/* The columns of a lane. */
struct Place {
  int32_t column;    /* its first column, relative to the rect's; at an even position */
  int32_t low, high; /* its first columns in the low-pass and high-pass bands */
  uint32_t width, height;
  bool odd_x, odd_y;
  bool owner;           /* the columns belong to this strip */
  bool whole;           /* all columns are inside, and pairs in the bands are aligned */
  uint32_t mirrored[2]; /* where its samples are read: 16 bits each, relative to `column` */

  /* false: the strip is empty. */
  __device__ bool find(const Cj2kRect &rect, uint32_t strip)
  {
    uint32_t lane = threadIdx.x & 31;
    width = rect.x1 - rect.x0;
    height = rect.y1 - rect.y0;
    odd_x = rect.x0 & 1;
    odd_y = rect.y0 & 1;
    owner = lane >= 1 && lane <= kStripLanes;
    column = 4 * (int32_t)(strip * kStripLanes + lane - 1) - odd_x;
    high = (column + odd_x) / 2;
    low = high - odd_x;
    whole = !odd_x && column >= 0 && column + 4 <= (int32_t)width;
#pragma unroll
    for (int i = 0; i < 4; i += 2)
      mirrored[i / 2] = ((reflect(column + i, width) - (uint32_t)column) & 0xFFFF) |
                        (reflect(column + i + 1, width) - (uint32_t)column) << 16;
    return 4 * strip * kStripLanes < width + odd_x;
  }

  /* The column from which sample i of the lane is read. */
  __device__ __forceinline__ uint32_t mirror(int i) const
  {
    return (uint32_t)(column + (int16_t)(mirrored[i / 2] >> 16 * (i & 1)));
  }

  __device__ int32_t num_low() const
  {
    return (int32_t)((width + !odd_x) / 2);
  }

  __device__ uint32_t num_pairs() const
  {
    return (height + odd_y + 1) / 2;
  }
};

/* Stores two neighbours in a band's row of n samples, as far as they lie in it. */
template <typename T>
__device__ __forceinline__ void store_pair(T *row, int32_t first, T a, T b, int32_t n)
{
  if (first >= 0 && first < n)
    row[first] = a;
  if (first + 1 >= 0 && first + 1 < n)
    row[first + 1] = b;
}

template <typename T> struct alignas(8) Two {
  T a, b;
};

/* Filters a row horizontally after the vertical filter and stores its low-pass and high-pass
 * halves. kOdd: it is a vertical high-pass row, at an odd position. */
template <bool kOdd, typename T>
__device__ __forceinline__ void put_row(const Cj2kCudaForwardLevel &level,
                                        const Cj2kCudaCoefficients &arrays, const Place &place,
                                        int32_t row, T v[4])
{
  constexpr uint32_t first = kOdd ? CJ2K_LH : CJ2K_LL;
  if (place.width > 1)
    filter_row(v);
  else if (place.odd_x)
    twice(v[1]);
  if (!place.owner || row < 0 || row >= (int32_t)place.height)
    return;
  uint32_t band_row = (uint32_t)(row + place.odd_y) / 2 - (!kOdd && place.odd_y);
  T *low =
      reinterpret_cast<T *>(!kOdd && !level.ll_is_band ? arrays.lowpass : arrays.coefficients) +
      level.band[first] + (uint64_t)band_row * level.stride[first];
  T *high = reinterpret_cast<T *>(arrays.coefficients) + level.band[first + 1] +
            (uint64_t)band_row * level.stride[first + 1];
  if (place.whole) {
    *reinterpret_cast<Two<T> *>(low + place.low) = Two<T>{v[0], v[2]};
    *reinterpret_cast<Two<T> *>(high + place.high) = Two<T>{v[1], v[3]};
  } else {
    store_pair(low, place.low, v[0], v[2], place.num_low());
    store_pair(high, place.high, v[1], v[3], (int32_t)place.width - place.num_low());
  }
}

/* Transforms `pairs` pairs of rows of a strip from `first_pair` on, and reads the rows around them
 * that the filter needs. `source` gives rows of kComponents components: fetch() starts the loads of
 * a row, convert() uses them later. */
template <bool kReversible, uint32_t kComponents, class Source>
__device__ void analyse(const Source &source, const Cj2kCudaForwardLevel *levels,
                        const Cj2kCudaCoefficients &arrays, const Place &place, uint32_t first_pair,
                        uint32_t pairs)
{
  using Lifting = Vertical<kReversible>;
  using T = typename Source::Value;
  T odd[kComponents][4], even[kComponents][4], low[4], high[4];
  typename Source::Raw raw_odd, raw_even;

  if (place.height == 1) {
    if (first_pair)
      return;
    source.fetch(0, raw_even);
    source.convert(raw_even, 0, even);
    for (uint32_t c = 0; c < kComponents; c++) {
      for (int i = 0; i < 4 && place.odd_y; i++)
        twice(even[c][i]);
      if (place.odd_y)
        put_row<true>(levels[c], arrays, place, 0, even[c]);
      else
        put_row<false>(levels[c], arrays, place, 0, even[c]);
    }
    return;
  }

  Lifting state[kComponents];
  /* Pair j: rows 2j and 2j + 1, counted from an even position on. */
  constexpr int32_t delay = Lifting::kDelay, warm_up = 1 + delay;
  int32_t end = (int32_t)min(first_pair + pairs, place.num_pairs()) + delay;
  int32_t row = 2 * ((int32_t)first_pair - warm_up) - place.odd_y;
  auto at = [&](int32_t y) { return reflect(y, place.height); };
  source.fetch(at(row), raw_even);
  source.fetch(at(row + 1), raw_odd);
  source.convert(raw_even, at(row), even);
  source.fetch(at(row + 2), raw_even);
#pragma unroll
  for (uint32_t c = 0; c < kComponents; c++)
    state[c].start(even[c]);
  for (int32_t pair = (int32_t)first_pair - warm_up; pair < end; pair++, row += 2) {
    source.convert(raw_odd, at(row + 1), odd);
    source.convert(raw_even, at(row + 2), even);
    if (pair + 1 < end) {
      source.fetch(at(row + 3), raw_odd);
      source.fetch(at(row + 4), raw_even);
    }
    bool out = pair >= (int32_t)first_pair + delay;
#pragma unroll
    for (uint32_t c = 0; c < kComponents; c++) {
      state[c].push(odd[c], even[c], low, high);
      if (out) {
        put_row<false>(levels[c], arrays, place, row - 2 * delay, low);
        put_row<true>(levels[c], arrays, place, row + 1 - 2 * delay, high);
      }
    }
  }
}

/* --------------------------------------------------------------------------- deeper levels --- */

/* Rows of the low-pass image of the level above. */
template <typename T> struct LowpassSource {
  using Value = T;
  struct Raw {
    T v[4];
  };
  const T *data;
  uint32_t stride;
  Place place;

  __device__ void fetch(uint32_t row, Raw &raw) const
  {
    const T *from = data + (uint64_t)row * stride;
    if (place.whole) {
      int4 four = *reinterpret_cast<const int4 *>(from + place.column);
      memcpy(&raw, &four, sizeof raw);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      raw.v[i] = from[place.mirror(i)];
  }

  __device__ void convert(const Raw &raw, uint32_t, T out[1][4]) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      out[0][i] = raw.v[i];
  }
};

template <bool kReversible>
__global__ void __launch_bounds__(32 * kWarps)
    level_kernel(Cj2kCudaLevels launch, uint32_t pairs, Cj2kCudaCoefficients arrays)
{
  using T = typename std::conditional<kReversible, int32_t, float>::type;
  const Cj2kCudaForwardLevel level = launch.levels[blockIdx.z];
  uint32_t strip = blockIdx.x * kWarps + (threadIdx.x >> 5);
  uint32_t first_pair = launch.first_pair + blockIdx.y * pairs;
  Place place;
  if (!place.find(level.rect, strip) || first_pair >= min(place.num_pairs(), launch.end_pair))
    return;
  pairs = min(pairs, launch.end_pair - first_pair);
  LowpassSource<T> source = {reinterpret_cast<const T *>(arrays.lowpass) + level.in,
                             level.in_stride, place};
  analyse<kReversible, 1>(source, &level, arrays, place, first_pair, pairs);
}

/* ------------------------------------------------------------------------------ top level --- */

/* Rows of a picture, unpacked and through the component transform. */
template <bool kReversible, uint32_t kComponents, uint32_t kLoad> struct PictureSource {
  using Value = typename std::conditional<kReversible, int32_t, float>::type;
  struct Raw {
    uint32_t v[kComponents][kLoad == CJ2K_CUDA_LOAD_ANY ? 4 : kLoad == CJ2K_CUDA_LOAD_16 ? 2 : 1];
  };
  const Cj2kCudaTop &top;
  const Cj2kXyzTables *xyz;
  Place place;
  const uint8_t *rows[kComponents]; /* first row of the tile-component; LOAD_16, LOAD_8: its first
                                       sample, else the first unit of the plane's row */
  uint32_t pitch[kComponents];
  Words words[kComponents];
  uint32_t where[kComponents][4]; /* places of the lane's samples (Words::find); LOAD_ANY only */

  __device__ PictureSource(const Cj2kCudaTop &from, const Cj2kCudaTopLevel &launch,
                           const Place &here)
      : top(from), xyz(launch.xyz), place(here)
  {
#pragma unroll
    for (uint32_t c = 0; c < kComponents; c++) {
      const Cj2kCudaInput &input = top.input[c];
      Cj2kCudaInputPlane plane = launch.planes[input.layout.plane];
      pitch[c] = plane.pitch;
      rows[c] = plane.data + (uint64_t)input.y * plane.pitch;
      if (kLoad != CJ2K_CUDA_LOAD_ANY) {
        rows[c] += (uint64_t)input.x * input.layout.word_bytes;
        continue;
      }
      words[c].set(input.layout, plane.data, plane.pitch);
#pragma unroll
      for (int i = 0; i < 4; i++)
        where[c][i] = Words::find(input.layout, input.x + place.mirror(i));
    }
  }

  __device__ void fetch(uint32_t row, Raw &raw) const
  {
#pragma unroll
    for (uint32_t c = 0; c < kComponents; c++) {
      const uint8_t *from = rows[c] + (uint64_t)row * pitch[c];
      if (kLoad == CJ2K_CUDA_LOAD_ANY) {
#pragma unroll
        for (int i = 0; i < 4; i++)
          raw.v[c][i] = words[c].load(from, where[c][i]);
      } else if (place
                     .whole) { /* convert() reads the others, so that nothing waits for them here */
        if (kLoad == CJ2K_CUDA_LOAD_16) {
          uint2 four = *reinterpret_cast<const uint2 *>(from + 2 * place.column);
          memcpy(raw.v[c], &four, sizeof raw.v[c]);
        } else {
          raw.v[c][0] = *reinterpret_cast<const uint32_t *>(from + place.column);
        }
      }
    }
  }

  /* Reads the samples of a lane at an edge. Neighbouring lanes have brought them into the cache. */
  __device__ void fetch_reflected(const uint8_t *from, uint32_t *v) const
  {
    if (kLoad == CJ2K_CUDA_LOAD_16) {
      const uint16_t *words = reinterpret_cast<const uint16_t *>(from);
      v[0] = words[place.mirror(0)] | words[place.mirror(1)] << 16;
      v[1] = words[place.mirror(2)] | words[place.mirror(3)] << 16;
      return;
    }
    v[0] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[0] |= (uint32_t)from[place.mirror(i)] << 8 * i;
  }

  __device__ void convert(Raw &raw, uint32_t row, Value out[kComponents][4]) const
  {
    if (kLoad != CJ2K_CUDA_LOAD_ANY && !place.whole)
#pragma unroll
      for (uint32_t c = 0; c < kComponents; c++)
        fetch_reflected(rows[c] + (uint64_t)row * pitch[c], raw.v[c]);
    int32_t samples[kComponents][4];
#pragma unroll
    for (uint32_t c = 0; c < kComponents; c++) {
      SampleFormat format;
      format.set(top.input[c]);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        if (kLoad == CJ2K_CUDA_LOAD_ANY)
          samples[c][i] = format.sample(words[c].shift(raw.v[c][i], where[c][i]));
        else
          out[c][i] = start_sample<Value>(
              kLoad == CJ2K_CUDA_LOAD_16 ? raw.v[c][i / 2] >> 16 * (i & 1) : raw.v[c][0] >> 8 * i,
              top.input[c]);
      }
    }
    if (kLoad == CJ2K_CUDA_LOAD_ANY)
      start_samples<Value, kComponents>(top, xyz, samples, out);
    transform_samples<Value, kComponents>(top, out);
  }
};

/* kSingle: the launch has one top, which is among the kernel's parameters. */
template <bool kReversible, uint32_t kComponents, uint32_t kLoad, bool kSingle>
__global__ void __launch_bounds__(32 * kWarps, kComponents == 3 ? 16 / kWarps : 1)
    top_kernel(const __grid_constant__ Cj2kCudaTopLevel launch, uint32_t pairs,
               Cj2kCudaCoefficients arrays)
{
  const Cj2kCudaTop &top = kSingle ? launch.first : launch.tops[blockIdx.z];
  uint32_t strip = blockIdx.x * kWarps + (threadIdx.x >> 5);
  uint32_t first_pair = launch.first_pair + blockIdx.y * pairs;
  Place place;
  if (!place.find(top.level[0].rect, strip) ||
      first_pair >= min(place.num_pairs(), launch.end_pair))
    return;
  pairs = min(pairs, launch.end_pair - first_pair);
  PictureSource<kReversible, kComponents, kLoad> source(top, launch, place);
  analyse<kReversible, kComponents>(source, top.level, arrays, place, first_pair, pairs);
}

/* Warps that are resident on the current GPU at once, limited by the registers of kernels for this
 * number of components. */
uint32_t resident_warps(uint32_t num_components)
{
  return (num_components == 3 ? 16 : 24) * count_multiprocessors();
}

/* Division of the rows among warps. Each warp repeats three pairs of rows of its neighbour. Hence a
 * warp gets as many pairs as are needed for all warps to be resident at once, within limits: at
 * most 18, so that large pictures still give many warps, and at least 2. */
struct Cut {
  uint32_t pairs;
  dim3 grid;

  /* For pairs [first, end) of inputs of up to width x height, at any parity. */
  Cut(uint32_t width, uint32_t height, uint32_t first, uint32_t end, uint32_t count,
      uint32_t num_components)
  {
    constexpr uint32_t max_pairs = 18, min_pairs = 2;
    uint32_t columns = (width + 4 * kStripLanes) / (4 * kStripLanes);
    uint32_t blocks = (columns + kWarps - 1) / kWarps, warps = resident_warps(num_components);
    uint32_t rows = max(min(height / 2 + 1, end), first + 1) - first; /* of pairs */
    uint64_t all = (uint64_t)blocks * kWarps * rows * count;
    pairs = (uint32_t)min(max((all + warps - 1) / warps, (uint64_t)min_pairs), (uint64_t)max_pairs);
    grid = dim3(blocks, (rows + pairs - 1) / pairs, count);
  }
};

template <bool kReversible, uint32_t kComponents, uint32_t kLoad>
void launch_one(const Cj2kCudaTopLevel &top, const Cj2kCudaCoefficients &arrays, const Cut &cut,
                cudaStream_t stream)
{
  if (top.count == 1 && kLoad != CJ2K_CUDA_LOAD_ANY)
    top_kernel<kReversible, kComponents, kLoad, kLoad != CJ2K_CUDA_LOAD_ANY>
        <<<cut.grid, 32 * kWarps, 0, stream>>>(top, cut.pairs, arrays);
  else
    top_kernel<kReversible, kComponents, kLoad, false>
        <<<cut.grid, 32 * kWarps, 0, stream>>>(top, cut.pairs, arrays);
}

template <bool kReversible, uint32_t kComponents>
void launch_top(const Cj2kCudaTopLevel &top, const Cj2kCudaCoefficients &arrays, const Cut &cut,
                cudaStream_t stream)
{
  switch (top.load) {
  case CJ2K_CUDA_LOAD_16:
    launch_one<kReversible, kComponents, CJ2K_CUDA_LOAD_16>(top, arrays, cut, stream);
    break;
  case CJ2K_CUDA_LOAD_8:
    launch_one<kReversible, kComponents, CJ2K_CUDA_LOAD_8>(top, arrays, cut, stream);
    break;
  default:
    launch_one<kReversible, kComponents, CJ2K_CUDA_LOAD_ANY>(top, arrays, cut, stream);
    break;
  }
}

constexpr uint32_t kMaxGridZ = 65535;

} // namespace

cudaError_t cj2k_cuda_fdwt(const Cj2kCudaLevels *launch, const Cj2kCudaCoefficients *arrays,
                           cudaStream_t stream)
{
  for (uint32_t done = 0; done < launch->count; done += kMaxGridZ) {
    Cj2kCudaLevels part = *launch;
    part.levels += done;
    Cut cut(part.width, part.height, part.first_pair, part.end_pair,
            min(part.count - done, kMaxGridZ), 1);
    if (part.reversible)
      level_kernel<true><<<cut.grid, 32 * kWarps, 0, stream>>>(part, cut.pairs, *arrays);
    else
      level_kernel<false><<<cut.grid, 32 * kWarps, 0, stream>>>(part, cut.pairs, *arrays);
  }
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_fdwt_top(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                               cudaStream_t stream)
{
  for (uint32_t done = 0; done < top->count; done += kMaxGridZ) {
    Cj2kCudaTopLevel part = *top;
    part.tops += done;
    Cut cut(top->width, top->height, top->first_pair, top->end_pair,
            min(top->count - done, kMaxGridZ), top->num_components);
    if (top->reversible && top->num_components == 3)
      launch_top<true, 3>(part, *arrays, cut, stream);
    else if (top->reversible)
      launch_top<true, 1>(part, *arrays, cut, stream);
    else if (top->num_components == 3)
      launch_top<false, 3>(part, *arrays, cut, stream);
    else
      launch_top<false, 1>(part, *arrays, cut, stream);
  }
  return cudaGetLastError();
}
