// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The last level of the inverse DWT, fused with all steps that follow, which work on the rows in
 * registers: component transform (T.800 annex G), DC shift, clamp, conversion to the picture's
 * words.
 */
#include "inverse.cuh"

namespace {

constexpr uint32_t kWarps = 4;

__device__ __forceinline__ void inverse_mct(int32_t &a, int32_t &b, int32_t &c)
{
  int32_t g = (int32_t)((uint32_t)a - (uint32_t)((int32_t)((uint32_t)b + (uint32_t)c) >> 2));
  int32_t red = (int32_t)((uint32_t)c + (uint32_t)g), blue = (int32_t)((uint32_t)b + (uint32_t)g);
  a = red;
  b = g;
  c = blue;
}

__device__ __forceinline__ void inverse_mct(float &y, float &cb, float &cr)
{
  float r = __fadd_rn(y, __fmul_rn(1.402f, cr));
  float g = __fsub_rn(__fsub_rn(y, __fmul_rn(0.344136f, cb)), __fmul_rn(0.714136f, cr));
  float b = __fadd_rn(y, __fmul_rn(1.772f, cb));
  y = r;
  cb = g;
  cr = b;
}

__device__ __forceinline__ int32_t to_sample(int32_t v, const Cj2kCudaStore &s)
{
  int32_t x = (int32_t)((uint32_t)v + (uint32_t)s.range.dc);
  return min(max(x, s.range.lo), s.range.hi);
}

__device__ __forceinline__ int32_t to_sample(float v, const Cj2kCudaStore &s)
{
  float x = __fadd_rn(v, s.range.dc_f);
  x = x > s.range.lo_f ? x : s.range.lo_f;
  x = x < s.range.hi_f ? x : s.range.hi_f;
  return __float2int_rn(x);
}

__device__ __forceinline__ uint32_t to_word(int32_t v, const Cj2kCudaStore &s)
{
  uint32_t bits;
  if (s.direct)
    return (uint32_t)v;
  if (s.down)
    bits = (uint32_t)min((int32_t)((uint32_t)v + s.offset + s.round) >> s.down, s.most) & s.mask;
  else
    bits = (((uint32_t)v + s.offset) << s.up) & s.mask;
  bits <<= s.shift;
  if (s.swapped)
    bits = s.word_bytes == 2 ? __byte_perm(bits, 0, 0x4401) : __byte_perm(bits, 0, 0x0123);
  return bits;
}

__device__ __forceinline__ void store_four(uint8_t *row, int32_t x, int32_t width,
                                           const uint32_t words[4], const Cj2kCudaStore &s)
{
  uint8_t *at = row + (int64_t)x * s.stride;
  bool whole = x >= 0 && x + 4 <= width;
  if (whole && s.stride == 2 && s.word_bytes == 2 && (reinterpret_cast<uintptr_t>(at) & 7) == 0) {
    *reinterpret_cast<uint2 *>(at) =
        make_uint2(words[0] | words[1] << 16, words[2] | words[3] << 16);
  } else if (whole && s.stride == 1 && (reinterpret_cast<uintptr_t>(at) & 3) == 0) {
    *reinterpret_cast<uint32_t *>(at) = words[0] | words[1] << 8 | words[2] << 16 | words[3] << 24;
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++, at += s.stride) {
      if (x + i < 0 || x + i >= width)
        continue;
      if (s.word_bytes == 1)
        *at = (uint8_t)words[i];
      else if (s.word_bytes == 2)
        *reinterpret_cast<uint16_t *>(at) = (uint16_t)words[i];
      else
        *reinterpret_cast<uint32_t *>(at) = words[i];
    }
  }
}

/* The component transform of four samples; nothing unless there are three components. */
template <int COUNT, bool REV> __device__ __forceinline__ void inverse_mct_rows(Row<REV> *rows)
{
  if (COUNT == 3) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      inverse_mct(rows[0].c[i], rows[COUNT == 3 ? 1 : 0].c[i], rows[COUNT == 3 ? 2 : 0].c[i]);
  }
}

template <int COUNT> struct StorePicture {
  const Cj2kCudaFinish *__restrict__ finish;
  const Cj2kCudaOutput *__restrict__ outputs;
  int32_t x, width, odd_y;
  bool active;

  template <bool REV> __device__ __forceinline__ void operator()(int32_t y, Row<REV> *rows)
  {
    if (!active)
      return;
    inverse_mct_rows<COUNT>(rows);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      const Cj2kCudaStore &s = finish->store[k];
      if (s.plane == UINT32_MAX)
        continue;
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; i++)
        words[i] = to_word(to_sample(rows[k].c[i], s), s);
      const Cj2kCudaOutput &output = outputs[s.plane];
      uint8_t *row = output.data + (s.y + (uint64_t)(y - odd_y)) * output.pitch + s.first +
                     (uint64_t)s.x * s.stride;
      store_four(row, x, width, words, s);
    }
  }
};

/* Thread blocks on a multiprocessor, by the components of an entry: more warps hide more latency
 * than more registers do, but three components need more registers. */
template <int COUNT> constexpr uint32_t kResident = COUNT == 3 ? 4 : 5;

template <bool REV, int COUNT, bool NARROW>
__global__ void __launch_bounds__(32 * kWarps, kResident<COUNT>)
    finish_kernel(const Cj2kCudaFinish *__restrict__ all, uint32_t count, uint32_t rows,
                  const Cj2kCudaRows *__restrict__ ranges, const Cj2kCudaBandStep *steps,
                  const Cj2kCudaOutput *__restrict__ outputs)
{
  uint32_t lane = threadIdx.x, strip = blockIdx.y * kWarps + threadIdx.y;
  for (uint32_t i = blockIdx.z; i < count; i += gridDim.z) {
    const Cj2kCudaFinish &finish = all[i];
    const Cj2kCudaLevel &level = finish.level[0];
    if (blockIdx.x * kStripColumns >= level.width + level.odd_x)
      continue;
    int32_t p = (int32_t)(blockIdx.x * kStripColumns + 4 * lane) - 4;
    const Span span = span_of(ranges, i, strip, rows);
    StorePicture<COUNT> store = {&finish,
                                 outputs,
                                 p - (int32_t)level.odd_x,
                                 (int32_t)level.width,
                                 level.odd_y,
                                 lane > 0 && lane < 31};
    synthesise<REV, COUNT, NARROW>(finish.level, steps, p, span.row0, span.row1, store);
  }
}

/* Converts a sample of up to 16 bits to the lower half of a word; the upper half may be anything.
 */
__device__ __forceinline__ uint32_t to_half(int32_t v, int32_t dc, int32_t lo, int32_t hi)
{
  return (uint32_t)min(max((int32_t)((uint32_t)v + (uint32_t)dc), lo), hi);
}

/* Adding 3 * 2^22 rounds to even and leaves the integer in the lowest bits. A NaN becomes lo. */
__device__ __forceinline__ uint32_t to_half(float v, float dc, float lo, float hi)
{
  float x = fminf(fmaxf(__fadd_rn(v, dc), lo), hi);
  return __float_as_uint(__fadd_rn(x, 12582912.0f));
}

/* Stores rows whose samples are the 16-bit words as they are; all components have one range. */
template <bool REV, int COUNT> struct StoreDirect {
  const Cj2kCudaDirect &to;
  typename Sample<REV>::Type dc, lo, hi;
  uint32_t x; /* offset in the row, bytes */
  int32_t count, odd_y;

  __device__ __forceinline__ void operator()(int32_t y, Row<REV> *rows)
  {
    if (count <= 0)
      return;
    inverse_mct_rows<COUNT>(rows);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      uint32_t words[2];
#pragma unroll
      for (int i = 0; i < 2; i++)
        words[i] = __byte_perm(to_half(rows[k].c[2 * i], dc, lo, hi),
                               to_half(rows[k].c[2 * i + 1], dc, lo, hi), 0x5410);
      uint8_t *at = to.row[k] + ((uint64_t)(uint32_t)(y - odd_y) * to.pitch[k] + x);
      if (count >= 4) {
        *reinterpret_cast<uint2 *>(at) = make_uint2(words[0], words[1]);
      } else {
#pragma unroll
        for (int i = 0; i < 3; i++)
          if (i < count)
            reinterpret_cast<uint16_t *>(at)[i] = (uint16_t)(words[i / 2] >> (16 * (i & 1)));
      }
    }
  }
};

template <int COUNT>
__device__ __forceinline__ void set_range(StoreDirect<true, COUNT> &store, const Cj2kCudaStore &s)
{
  store.dc = s.range.dc;
  store.lo = s.range.lo;
  store.hi = s.range.hi;
}
template <int COUNT>
__device__ __forceinline__ void set_range(StoreDirect<false, COUNT> &store, const Cj2kCudaStore &s)
{
  store.dc = s.range.dc_f;
  store.lo = s.range.lo_f;
  store.hi = s.range.hi_f;
}

/* The frequent case: one tile, three components through the component transform, 16-bit words. All
 * values that are the same for all threads are kernel parameters. */
template <bool REV, bool NARROW>
__global__ void __launch_bounds__(32 * kWarps, kResident<3>)
    direct_kernel(const __grid_constant__ Cj2kCudaFinish finish,
                  const __grid_constant__ Cj2kCudaDirect to, uint32_t rows, Cj2kCudaRows range,
                  const Cj2kCudaBandStep *steps)
{
  uint32_t lane = threadIdx.x, strip = blockIdx.y * kWarps + threadIdx.y;
  const Cj2kCudaLevel &level = finish.level[0];
  int32_t x = (int32_t)(blockIdx.x * kStripColumns + 4 * lane) - 4,
          row0 = (int32_t)(range.first + strip * rows);
  bool active = lane > 0 && lane < 31;
  StoreDirect<REV, 3> store = {
      to, 0, 0, 0, 2 * (uint32_t)x, active ? (int32_t)level.width - x : 0, level.odd_y};
  set_range(store, finish.store[0]);
  synthesise<REV, 3, NARROW>(finish.level, steps, x, row0,
                             min(row0 + (int32_t)rows, (int32_t)range.end), store);
}

/* Components without a component transform that become 16-bit words. The values that are the same
 * for all threads are read into registers once for each entry. */
template <bool REV, bool NARROW>
__global__ void __launch_bounds__(32 * kWarps, kResident<1>)
    direct_planes_kernel(const Cj2kCudaFinish *__restrict__ all, uint32_t count, uint32_t rows,
                         const Cj2kCudaRows *__restrict__ ranges, const Cj2kCudaBandStep *steps,
                         const Cj2kCudaOutput *__restrict__ outputs)
{
  uint32_t lane = threadIdx.x, strip = blockIdx.y * kWarps + threadIdx.y;
  int32_t x = (int32_t)(blockIdx.x * kStripColumns + 4 * lane) - 4;
  bool active = lane > 0 && lane < 31;
  for (uint32_t i = blockIdx.z; i < count; i += gridDim.z) {
    const Cj2kCudaLevel level = all[i].level[0];
    const Cj2kCudaStore &s = all[i].store[0];
    if (blockIdx.x * kStripColumns >= level.width)
      continue;
    const Cj2kCudaOutput output = outputs[s.plane];
    Cj2kCudaDirect to;
    to.row[0] = output.data + s.y * output.pitch + s.first + (uint64_t)s.x * s.stride;
    to.pitch[0] = (uint32_t)output.pitch;
    StoreDirect<REV, 1> store = {
        to, 0, 0, 0, 2 * (uint32_t)x, active ? (int32_t)level.width - x : 0, level.odd_y};
    set_range(store, s);
    const Span span = span_of(ranges, i, strip, rows);
    synthesise<REV, 1, NARROW>(&level, steps, x, span.row0, span.row1, store);
  }
}

/* Tile-components without decomposition: the band holds the samples. */
template <bool REV, int COUNT>
__global__ void __launch_bounds__(32 * kWarps)
    plane_kernel(const Cj2kCudaFinish *__restrict__ all, uint32_t count, uint32_t rows,
                 const Cj2kCudaRows *__restrict__ ranges,
                 const Cj2kCudaOutput *__restrict__ outputs)
{
  using T = typename Sample<REV>::Type;
  uint32_t strip = blockIdx.y * kWarps + threadIdx.y;
  for (uint32_t i = blockIdx.z; i < count; i += gridDim.z) {
    const Cj2kCudaFinish &finish = all[i];
    const Cj2kCudaLevel &level = finish.level[0];
    uint32_t x = blockIdx.x * kStripColumns + 4 * threadIdx.x;
    bool active = threadIdx.x < kStripColumns / 4 && x < level.width;
    StorePicture<COUNT> store = {&finish, outputs, (int32_t)x, (int32_t)level.width, 0, active};
    const Span span = span_of(ranges, i, strip, rows);
    const uint32_t end = min(level.height, (uint32_t)max(span.row1, 0));
    for (uint32_t y = (uint32_t)span.row0; active && y < end; y++) {
      Row<REV> row[COUNT];
      for (int k = 0; k < COUNT; k++) {
        const Cj2kCudaPlane &band = finish.level[k].band[0];
        for (uint32_t c = 0; c < 4; c++)
          row[k].c[c] = static_cast<const T *>(
              band.data)[(size_t)y * band.stride + min(x + c, level.width - 1)];
      }
      store((int32_t)y, row);
    }
  }
}

template <bool REV, int COUNT>
void launch(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
            const Cj2kCudaStrips &strips, const Cj2kCudaBandStep *steps,
            const Cj2kCudaOutput *outputs, dim3 grid, cudaStream_t stream)
{
  auto kernel = kind.narrow ? finish_kernel<REV, COUNT, true> : finish_kernel<REV, COUNT, false>;
  if (kind.is_plane)
    plane_kernel<REV, COUNT>
        <<<grid, dim3(32, kWarps), 0, stream>>>(finish, count, strips.rows, strips.ranges, outputs);
  else
    kernel<<<grid, dim3(32, kWarps), 0, stream>>>(finish, count, strips.rows, strips.ranges, steps,
                                                  outputs);
}

} // namespace

bool cj2k_cuda_finish_has_words(const Cj2kCudaFinish *finish, uint32_t k)
{
  const Cj2kCudaStore *s = &finish->store[k];
  return !finish->level[0].is_plane && !finish->level[0].odd_x && s->plane != UINT32_MAX &&
         s->direct && s->stride == 2 && s->word_bytes == 2 &&
         ((s->first + (uint64_t)s->x * s->stride) & 7) == 0;
}

bool cj2k_cuda_finish_is_aligned(const Cj2kCudaOutput *outputs, uint32_t count)
{
  for (uint32_t p = 0; p < count; p++)
    if ((((uintptr_t)outputs[p].data | outputs[p].pitch) & 7) || outputs[p].pitch > UINT32_MAX)
      return false;
  return true;
}

bool cj2k_cuda_finish_is_direct(const Cj2kCudaFinish *finish, const Cj2kCudaOutput *outputs,
                                Cj2kCudaDirect *direct)
{
  for (uint32_t k = 0; k < 3; k++) {
    const Cj2kCudaStore *s = &finish->store[k];
    if (!cj2k_cuda_finish_has_words(finish, k) || s->range.hi != finish->store[0].range.hi ||
        !cj2k_cuda_finish_is_aligned(&outputs[s->plane], 1))
      return false;
    direct->row[k] = outputs[s->plane].data + s->y * outputs[s->plane].pitch + s->first +
                     (uint64_t)s->x * s->stride;
    direct->pitch[k] = (uint32_t)outputs[s->plane].pitch;
  }
  return true;
}

cudaError_t cj2k_cuda_finish_direct(const Cj2kCudaFinish *finish, const Cj2kCudaDirect *direct,
                                    uint32_t rows, const Cj2kCudaRows *range,
                                    const Cj2kCudaBandStep *steps, cudaStream_t stream)
{
  const Cj2kCudaLevel *level = &finish->level[0];
  const Cj2kCudaRows all = {0, level->height + 1};
  if (!range)
    range = &all;
  uint32_t strips = (range->end - range->first + rows - 1) / rows;
  dim3 grid((level->width + kStripColumns - 1) / kStripColumns, (strips + kWarps - 1) / kWarps);
  auto narrow = level->reversible ? direct_kernel<true, true> : direct_kernel<false, true>,
       wide = level->reversible ? direct_kernel<true, false> : direct_kernel<false, false>;
  (level->narrow ? narrow : wide)<<<grid, dim3(32, kWarps), 0, stream>>>(*finish, *direct, rows,
                                                                         *range, steps);
  return cudaGetLastError();
}

/* Of kernels with `columns` columns. */
static dim3 grid_of(const Cj2kCudaStrips &strips, uint32_t columns, uint32_t count)
{
  uint32_t number = (strips.height + 1 + strips.rows - 1) / strips.rows;
  return dim3((columns + kStripColumns - 1) / kStripColumns, (number + kWarps - 1) / kWarps,
              count < 65535 ? count : 65535);
}

cudaError_t cj2k_cuda_finish_words(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                                   const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                                   const Cj2kCudaOutput *outputs, cudaStream_t stream)
{
  dim3 grid = grid_of(*strips, strips->width, count);
  auto narrow =
           kind.reversible ? direct_planes_kernel<true, true> : direct_planes_kernel<false, true>,
       wide =
           kind.reversible ? direct_planes_kernel<true, false> : direct_planes_kernel<false, false>;
  (kind.narrow ? narrow : wide)<<<grid, dim3(32, kWarps), 0, stream>>>(
      finish, count, strips->rows, strips->ranges, steps, outputs);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_finish(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                             const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                             const Cj2kCudaOutput *outputs, cudaStream_t stream)
{
  if (count == 0 || strips->width == 0 || strips->height == 0)
    return cudaSuccess;
  dim3 grid = grid_of(*strips, strips->width + 1, count);
  if (kind.three && kind.reversible)
    launch<true, 3>(finish, count, kind, *strips, steps, outputs, grid, stream);
  else if (kind.three)
    launch<false, 3>(finish, count, kind, *strips, steps, outputs, grid, stream);
  else if (kind.reversible)
    launch<true, 1>(finish, count, kind, *strips, steps, outputs, grid, stream);
  else
    launch<false, 1>(finish, count, kind, *strips, steps, outputs, grid, stream);
  return cudaGetLastError();
}
