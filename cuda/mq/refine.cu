// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Magnitude refinement passes of raw bits (raw_refinement.cuh), a warp for each pass of each
 * code-block. It takes the bits from bytes to shared memory, a lane four bytes at a time; then each
 * lane has an octet (octet.cuh), and sums tell where the bits of its samples are.
 */
#include "raw_refinement.cuh"

#include "octet.cuh"
#include "warp_bits.cuh"

namespace {

constexpr uint32_t kWarps = 4;
constexpr uint32_t kLaneBytes = 4, kReadBits = 8 * kLaneBytes * kWarp;
/* A bit for each sample, what is read with the last one, and a word that is loaded with another. */
constexpr uint32_t kWords = (CJ2K_MQ_MAX_SAMPLES + kReadBits) / 32 + 1;

/* Bits of a pass, first to last. All lanes of a warp call its functions. */
struct RawReader {
  WarpBits bits;
  const uint8_t *next, *end;
  uint32_t after_ff;

  __device__ void begin(const Cj2kCudaRawBits &from)
  {
    next = from.next;
    end = from.end;
    after_ff = from.after_ff;
    bits.begin(kWords);
    /* Lane 0 has the first 32 bits of the queue, lane 1 the others. */
    uint32_t count = from.count > 32 * bits.lane ? min(from.count - 32 * bits.lane, 32u) : 0;
    uint32_t word = (uint32_t)(from.queue >> (bits.lane ? 0 : 32));
    bits.put(bits.lane < 2 && count ? word >> (32 - count) : 0, bits.lane < 2 ? count : 0);
  }

  /* Ones follow behind the end. */
  __device__ uint32_t byte_at(const uint8_t *at) const
  {
    return at < end ? *at : 0xFF;
  }

  /* Reads four bytes for each lane. A byte after 0xFF has seven bits; at the end, or a marker, all
   * that follows is ones. */
  __device__ void read()
  {
    const uint8_t *from = next + kLaneBytes * bits.lane;
    uint32_t before = bits.lane ? byte_at(from - 1) : after_ff ? 0xFF : 0, bytes[kLaneBytes];
    uint32_t value = 0, size = 0, stop = kLaneBytes, last = before;
    for (uint32_t i = 0; i < kLaneBytes; i++) {
      bytes[i] = byte_at(from + i);
      bool stops = from + i >= end || (last == 0xFF && bytes[i] > 0x8F);
      stop = stops ? min(stop, i) : stop;
      last = bytes[i];
    }
    uint32_t stopped = __ballot_sync(kAll, stop < kLaneBytes);
    if (stopped & ((1u << bits.lane) - 1))
      stop = 0;
    last = before;
    for (uint32_t i = 0; i < kLaneBytes; i++) {
      uint32_t byte = i < stop ? bytes[i] : 0xFF, n = i < stop && last == 0xFF ? 7 : 8;
      value = value << n | (byte & 0xFFu >> (8 - n));
      size += n;
      last = byte;
    }
    bits.put(value, size);
    after_ff = __shfl_sync(kAll, last, kWarp - 1) == 0xFF;
    next = stopped ? end : next + kLaneBytes * kWarp;
  }

  /* `count` bits from bit `first` on, 1 to 32, the first one highest. */
  __device__ uint32_t get(uint32_t first, uint32_t count) const
  {
    const uint32_t *from = bits.words + first / 32;
    return __funnelshift_l(from[1], from[0], first % 32) >> (32 - count);
  }
};

/* Samples of an octet that are significant in the first `count` bit-planes. Other warps may be
 * refining them there, which changes none of them from 0 to significant. */
__device__ uint32_t significant_above(const uint32_t *planes, uint32_t num_octets, uint32_t count,
                                      uint32_t octet)
{
  uint32_t all = 0;

  for (uint32_t d = 0; d < count && octet < num_octets; d++)
    all |= planes[d * num_octets + octet];
  return all;
}

/* Refines bit-plane `depth`. */
__device__ void refine_plane(uint32_t *planes, uint32_t num_octets, uint32_t depth,
                             RawReader &reader)
{
  uint32_t begin = 0;

  for (uint32_t first = 0; first < num_octets; first += kWarp) {
    uint32_t octet = first + reader.bits.lane;
    uint32_t samples = significant_above(planes, num_octets, depth, octet);
    uint32_t count = (uint32_t)__popc(samples), up_to = begin + scan_warp(count, Add());
    uint32_t end = __shfl_sync(kAll, up_to, kWarp - 1);
    while (reader.bits.count < end)
      reader.read();
    __syncwarp();
    if (count)
      planes[depth * num_octets + octet] |=
          spread(reader.get(up_to - count, count), count, samples);
    __syncwarp();
    begin = end;
  }
}

__global__ void __launch_bounds__(kWarps *kWarp) refine_kernel(Cj2kCudaDecodeBlocks frame)
{
  __shared__ uint32_t words[kWarps][kWords];
  uint32_t warp = threadIdx.x / kWarp, number = blockIdx.x * kWarps + warp;
  uint32_t i = number / frame.mq.raw_planes,
           depth = CJ2K_CUDA_MQ_FIRST_RAW_PLANE + number % frame.mq.raw_planes;

  if (i >= frame.mq.count || frame.mq.passes[i] < 3 * depth)
    return;
  uint32_t index = frame.mq.order[i];
  const Block block = load_block(frame, index);
  if (!cj2k_pass_is_raw(3 * depth - 1, block.style))
    return;
  uint32_t num_octets = CJ2K_CUDA_MQ_OCTETS(block.width, block.height);
  uint32_t *state = frame.mq.planes + frame.mq.offsets[i];
  const Cj2kCudaRawBits *from = raw_bits_of(state, num_octets, frame.coded[index].num_passes,
                                            frame.mq.max_octets > CJ2K_CUDA_MQ_SMALL);
  RawReader reader = {{words[warp], threadIdx.x % kWarp, 0}, nullptr, nullptr, 0};
  reader.begin(from[depth - CJ2K_CUDA_MQ_FIRST_RAW_PLANE]);
  refine_plane(state + 3 * num_octets, num_octets, depth, reader);
}

} // namespace

cudaError_t cj2k_cuda_mq_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  uint32_t warps = frame->mq.count * frame->mq.raw_planes;

  if (!warps)
    return cudaSuccess;
  refine_kernel<<<(warps + kWarps - 1) / kWarps, kWarps * kWarp, 0, stream>>>(*frame);
  return cudaGetLastError();
}
