// SPDX-License-Identifier: LGPL-2.1-or-later
/* Puts the bytes of code-blocks and packet headers to their places in a codestream: a warp for each
 * run of bytes. */
#include "place.h"

#include <cstdint>

namespace {

constexpr uint32_t kWarp = 32, kWarps = 8, kAtOnce = 4;
constexpr uint32_t kRuns = 32; /* of a block of threads, where they are read from host memory */
constexpr uint32_t kRunWords = sizeof(Cj2kByteRun) / sizeof(uint32_t);

/* The words of `to` are aligned, and each has parts of up to two words of `from`. The bytes before
 * the first and behind the last of them are copied one by one. A lane reads several words before it
 * stores them, because otherwise it would wait for memory once for each word. */
__device__ void copy_run(uint8_t *to, const uint8_t *from, uint32_t length, uint32_t lane)
{
  uint32_t head = min((uint32_t)(-reinterpret_cast<uintptr_t>(to) & 3), length);
  uint32_t words = (length - head) / 4, end = head + 4 * words;
  uintptr_t begin = reinterpret_cast<uintptr_t>(from + head);
  const uint32_t *in = reinterpret_cast<const uint32_t *>(begin & ~(uintptr_t)3);
  uint32_t *out = reinterpret_cast<uint32_t *>(to + head), bits = (uint32_t)(begin & 3) * 8;

  for (uint32_t first = lane; first < words; first += kAtOnce * kWarp) {
    uint32_t low[kAtOnce], high[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; k++) {
      const uint32_t *word = in + min(first + k * kWarp, words - 1);
      low[k] = high[k] = word[0];
      if (bits) /* else the next one may have no byte of the run, and is not read */
        high[k] = word[1];
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; k++)
      if (first + k * kWarp < words)
        out[first + k * kWarp] = __funnelshift_r(low[k], high[k], bits);
  }
  if (lane < head)
    to[lane] = from[lane];
  if (lane < length - end)
    to[end + lane] = from[end + lane];
}

/* The runs may be in host memory: all threads read them, side by side. */
__global__ void __launch_bounds__(kWarp *kWarps) place_kernel(Cj2kCudaPlace place)
{
  __shared__ union {
    Cj2kByteRun runs[kRuns];
    uint32_t words[kRuns * kRunWords];
  } here;
  uint32_t first = blockIdx.x * kRuns, count = min(place.num_runs - first, kRuns);
  uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t *words = reinterpret_cast<const uint32_t *>(place.runs + first);

  for (uint32_t i = threadIdx.x; i < count * kRunWords; i += kWarp * kWarps)
    here.words[i] = words[i];
  __syncthreads();
  for (uint32_t i = warp; i < count; i += kWarps) {
    Cj2kByteRun run = here.runs[i];
    copy_run(place.out + run.to, place.bytes + run.from, run.length, lane);
  }
}

/* A run of either array of bytes. */
struct Run {
  const uint8_t *from;
  uint64_t to;
  uint32_t length;
};

/* Of an empty packet's blocks no start is known. */
__device__ Run run_of_block(const Cj2kCudaPlacePackets &place, uint32_t b)
{
  const Cj2kEncodedBlock block = place.blocks[b];

  if (!block.num_passes)
    return {place.bytes, 0, 0};
  return {place.bytes + block.offset, place.places[place.precincts[b]].body + place.starts[b],
          block.length};
}

__device__ Run run_of_piece(const Cj2kCudaPlacePackets &place, uint32_t i)
{
  const Cj2kCudaHeaderPiece piece = place.pieces[i];
  uint32_t size = place.sizes[piece.precinct].header;

  if (piece.at >= size)
    return {place.headers, 0, 0};
  return {place.headers + piece.from + piece.at, place.places[piece.precinct].header + piece.at,
          min(size - piece.at, CJ2K_CUDA_HEADER_PIECE)};
}

/* A warp does one run, since neighbours are often all long and one warp would have several. */
__global__ void __launch_bounds__(kWarp *kWarps) packets_kernel(Cj2kCudaPlacePackets place)
{
  uint32_t i = blockIdx.x * kWarps + threadIdx.x / kWarp;

  if (i >= place.num_blocks + place.num_pieces || *place.end == CJ2K_CUDA_NO_ROOM)
    return;
  Run run =
      i < place.num_blocks ? run_of_block(place, i) : run_of_piece(place, i - place.num_blocks);
  copy_run(place.out + run.to, run.from, run.length, threadIdx.x % kWarp);
}

} // namespace

cudaError_t cj2k_cuda_place(const Cj2kCudaPlace *place, cudaStream_t stream)
{
  uint32_t grid = (place->num_runs + kRuns - 1) / kRuns;
  if (grid)
    place_kernel<<<grid, kWarp * kWarps, 0, stream>>>(*place);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_place_packets(const Cj2kCudaPlacePackets *place, cudaStream_t stream)
{
  uint32_t grid = (place->num_blocks + place->num_pieces + kWarps - 1) / kWarps;
  if (grid)
    packets_kernel<<<grid, kWarp * kWarps, 0, stream>>>(*place);
  return cudaGetLastError();
}
