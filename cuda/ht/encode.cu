// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup encoder (T.814 7.3): one warp for each code-block, one lane for each quad. A quad's
 * contribution to the three bit strings depends on samples alone. Hence a warp does 32 quads at
 * once, in raster order whatever the width, and a scan over the lanes gives the positions in the
 * strings. docs/ht-coder.md defines which of the legal codestreams is written.
 */
#include "encode_bits.cuh"
#include "encode_quads.cuh"
#include "quantise.cuh"

namespace {

/* Warps that should be resident on a multiprocessor: as many as its registers allow where it can
 * hold that many thread blocks (one warp each). */
#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr uint32_t kResident = 28;
#else
constexpr uint32_t kResident = 16;
#endif
constexpr uint32_t kMaxQuads = 1024, kMagSgnWords = 256, kVlcWords = 64, kEventWords = 64;
constexpr uint32_t kMelBytes = kMagSgnWords * 2; /* half of that; an event makes at most 1.5 bits */
constexpr uint32_t kMaxScup = 4079;

/* Shared memory of a warp. */
struct BlockMemory {
  uint32_t magsgn[kMagSgnWords]; /* after MagSgn: the MEL bits; the upper half: the MEL bytes */
  uint32_t vlc[kVlcWords];
  uint32_t events[kEventWords];
  uint32_t mel_bits;
  uint16_t quads[kMaxQuads + 32]; /* rho; exponents of the lower samples: left at 4, right at 10 */
};

/* ------------------------------------------------------------------------------- a block --- */

/* Lengths of the three parts of a cleanup pass. */
struct Parts {
  uint32_t magsgn, mel, vlc; /* in bytes; vlc includes the last byte of Scup */
};

/* Encodes one block. kStore: false only measures lengths. */
template <bool kStore, bool kReversible> struct BlockEncoder {
  BlockMemory *memory;
  const Cj2kCudaEncodeTables *tables;
  uint32_t lane, plane;
  QuadSamples samples;
  Gain gain;
  bool wants_gain;
  ForwardStuffer<kStore, false> magsgn;
  BackwardStuffer<kStore> vlc;
  uint32_t num_events, significant;
  uint32_t cols, row_quads; /* quads of a row; the same rounded up to whole pairs */

  __device__ BlockEncoder(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block,
                          BlockMemory *shared, uint32_t at_plane)
      : memory(shared), tables(frame.tables), lane(threadIdx.x), plane(at_plane),
        samples(frame, block), gain{at_plane, !block.reversible, samples.limit < 1u << 21, 0, 0},
        wants_gain(false), num_events(0), significant(0), cols((block.width + 1u) / 2),
        row_quads((cols + 1) & ~1u)
  {
    for (uint32_t i = lane; i < kMagSgnWords; i += 32)
      memory->magsgn[i] = 0;
    for (uint32_t i = lane; i < kVlcWords; i += 32)
      memory->vlc[i] = i ? 0 : 15; /* the lower four bits of Scup */
    for (uint32_t i = lane; i < kEventWords; i += 32)
      memory->events[i] = 0;
    samples.reversible = kReversible; /* the same value; makes it a constant for the compiler */
    magsgn = {{memory->magsgn, kMagSgnWords - 1, 0, 0}, nullptr, 0, 0};
    vlc = {{memory->vlc, kVlcWords - 1, 0, 4}, nullptr, 0, true};
  }

  /* Encodes one quad per lane, quad i in this lane, into the bit strings. */
  __device__ void step(uint32_t i, uint32_t col, uint32_t row, bool inside, const uint32_t raw[4])
  {
    uint32_t magnitudes[4], e[4], above = 0, context = 0;
    Quad quad;
    samples.quantise(raw, magnitudes);
    if (!kStore && wants_gain)
      for (uint32_t n = 0; n < 4; n++)
        gain.add_sample(magnitudes[n]);
    quad.analyse(magnitudes, raw, plane, e);
    memory->quads[i] = (uint16_t)quad.info;
    __syncwarp();
    if (inside)
      context = context_of(memory->quads, i, col, cols, row_quads, row == 0, &above);
    quad.bound_by(e, above);
    significant |= quad.rho;
    uint32_t entry = inside ? tables->encode[row != 0][context << 8 | quad.rho << 4 | quad.eps] : 0;
    bool event = inside && context == 0;
    uint32_t code = CJ2K_HT_ENC_CODEWORD(entry) | CJ2K_HT_ENC_LENGTH(entry) << 7 | quad.u << 10 |
                    (uint32_t)event << 17 | (uint32_t)(event && quad.rho) << 18;
    uint32_t second = __shfl_down_sync(kAll, code, 1);
    if (__any_sync(kAll, row == 0 || quad.u > 15))
      put_any(quad, CJ2K_HT_ENC_EK(entry), code, second, row == 0);
    else
      put_common(quad, CJ2K_HT_ENC_EK(entry), code, second);
    __syncwarp();
  }

  /* Inclusive sum over the lanes. */
  __device__ uint32_t scan(uint32_t sum) const
  {
#pragma unroll
    for (uint32_t d = 1; d < 32; d <<= 1) {
      uint32_t other = __shfl_up_sync(kAll, sum, d);
      sum += lane >= d ? other : 0;
    }
    return sum;
  }

  /* Appends the lanes' bits. `own`: how many this lane has, MagSgn bits from bit 0 on, VLC bits
   * from bit 16 on. */
  __device__ void put_strings(const Quad &quad, const uint32_t m[4], uint32_t own, uint64_t code)
  {
    uint32_t sum = scan(own), total = __shfl_sync(kAll, sum, 31), before = sum - own;
    if (own & 0xFFFF)
      quad.put_magsgn(magsgn.bits, magsgn.bits.end + (before & 0xFFFF), m);
    if (own >> 16)
      vlc.bits.put_long(vlc.bits.end + (before >> 16), code);
    magsgn.bits.end += total & 0xFFFF;
    vlc.bits.end += total >> 16;
  }

  /* The common case: below the first row and with residuals up to 15, a pair has up to 30 VLC bits,
   * and each quad at most one event. */
  __device__ void put_common(const Quad &quad, uint32_t known, uint32_t code, uint32_t second)
  {
    uint32_t m[4], bits = quad.magsgn_lengths(known, m);
    uint32_t first_length = code >> 7 & 7, length = first_length + (second >> 7 & 7);
    uint32_t residuals = tables->pairs[quad.u << 4 | (second >> 10 & 15)];
    uint32_t pair = (code & 127) | (second & 127) << first_length | (residuals & 0xFFFF) << length;
    length = lane & 1 ? 0 : length + (residuals >> 16);
    put_strings(quad, m, bits | length << 16, pair);

    uint32_t events = __ballot_sync(kAll, code >> 17 & 1);
    uint32_t position = num_events + __popc(events & ((1u << lane) - 1));
    if (code >> 18)
      atomicOr(&memory->events[position >> 5], 1u << (position & 31));
    num_events += __popc(events);
  }

  /* The general case. */
  __device__ void put_any(const Quad &quad, uint32_t known, uint32_t code, uint32_t second,
                          bool first_row)
  {
    Pair pair = {0, 0, 0, 0};
    if ((lane & 1) == 0) {
      pair.append(code & 127, code >> 7 & 7);
      pair.append(second & 127, second >> 7 & 7);
      if (code >> 17 & 1)
        pair.append_event(code >> 18);
      if (second >> 17 & 1)
        pair.append_event(second >> 18);
      pair.append_residuals(tables->uvlc, quad.u, second >> 10 & 127, first_row);
    }
    uint32_t m[4], bits = quad.magsgn_lengths(known, m);
    put_strings(quad, m, bits | pair.length << 16, pair.code);

    uint32_t sum = scan(pair.num_events);
    BitRing events = {memory->events, kEventWords - 1, 0, 0};
    if (pair.events)
      events.put(num_events + sum - pair.num_events, pair.events);
    num_events += __shfl_sync(kAll, sum, 31);
  }

  /* Encodes the whole block into bit strings and these into bytes. false: no sample is
   * significant. */
  __device__ bool run(Parts *parts)
  {
    put_quads();
    if (!__any_sync(kAll, significant != 0))
      return false;
    magsgn.finish(lane);
    vlc.finish(lane);
    parts->magsgn = magsgn.length;
    parts->vlc = 1 + vlc.length;
    code_events();
    join(parts);
    return true;
  }

  /* MEL coding is a chain of dependent steps, so one lane does it. */
  __device__ void code_events()
  {
    __syncwarp();
    if (lane == 0) {
      MelCoder coder;
      coder.table = tables->mel;
      coder.words = memory->magsgn;
      coder.code(memory->events, num_events);
      memory->mel_bits = coder.count;
    }
    __syncwarp();
  }

  /* The position of a lane's quad. */
  struct Place {
    const uint32_t *top; /* the quad's first sample */
    uint32_t col, row;
    bool inside;
  };

  /* Moves on by 32 quads, to quad i. */
  __device__ void advance(Place *place, uint32_t i, uint32_t total) const
  {
    uint32_t rows = 32 / row_quads, columns = 32 - rows * row_quads;
    bool wraps = place->col + columns >= row_quads;
    place->top += 2 * columns + (uint64_t)(2 * rows) * samples.stride;
    place->col += columns;
    place->row += rows + wraps;
    if (wraps) {
      place->top += 2 * (uint64_t)samples.stride - 2 * row_quads;
      place->col -= row_quads;
    }
    place->inside = i < total && place->col < cols;
  }

  /* Encodes all quads, 32 at a time. Most quads of a picture are calm: neither significant nor next
   * to a significant one, so that each is just one event 0. One comparison finds 32 such quads. */
  __device__ void put_quads()
  {
    uint32_t total = row_quads * ((samples.height + 1u) / 2);
    uint32_t raw[4], below = min(1u << plane, samples.limit + 1);
    /* Contexts reach back one row, and one quad more unless every step begins at the start of a
     * row. */
    uint32_t reach = row_quads + (32 % row_quads != 0), calm_from = 0;
    Place next;
    next.row = lane / row_quads;
    next.col = lane - next.row * row_quads;
    next.inside = lane < total && next.col < cols;
    next.top = samples.data + (uint64_t)(2 * next.row) * samples.stride + 2 * next.col;
    samples.fetch(next.top, next.col, next.row, next.inside, raw);
    __syncwarp();
    for (uint32_t base = 0; base < total; base += 32) {
      uint32_t i = base + lane, now[4];
      Place place = next;
#pragma unroll
      for (uint32_t n = 0; n < 4; n++)
        now[n] = raw[n];
      advance(&next, i + 32, total);
      samples.fetch(next.top, next.col, next.row, next.inside, raw);
      samples.clip(place.col, now);
      bool loud = __any_sync(kAll, !samples.all_below(now, below));
      if (!loud && base >= calm_from) {
        memory->quads[i] = 0;
        num_events += __popc(__ballot_sync(kAll, place.inside));
        continue;
      }
      if (loud)
        calm_from = base + 32 + reach;
      step(i, place.col, place.row, place.inside, now);
      magsgn.flush(kFlushBytes, lane);
      vlc.flush(lane);
    }
    __syncwarp();
  }

  __device__ uint8_t *mel_bytes() const
  {
    return reinterpret_cast<uint8_t *>(memory->magsgn) + kMelBytes;
  }

  /* Joins MEL and VLC. The last byte of MEL, filled with zeros, and the VLC byte next to it share
   * one byte if no bit of one contradicts the other (T.814 7.1.1) and VLC has another byte, which
   * takes Scup. */
  __device__ void join(Parts *parts)
  {
    uint32_t rest = vlc.bits.end - vlc.bits.begin, vlc_mask = (1u << rest) - 1;
    uint32_t vlc_byte = vlc.bits.read(vlc.bits.begin) & vlc_mask;
    ForwardStuffer<kStore, true> mel = {
        {memory->magsgn, kMagSgnWords - 1, 0, memory->mel_bits}, mel_bytes(), 0, 0};
    mel.flush(1, lane); /* leaves an incomplete byte in mel.bits */
    uint32_t used = mel.bits.end - mel.bits.begin + mel.after_ff;
    uint32_t mel_mask = 0xFF00u >> used & 0xFF;
    uint32_t mel_byte = __brev(mel.bits.read(mel.bits.begin) << mel.after_ff) >> 24 & mel_mask;
    uint32_t both = mel_byte | vlc_byte;
    parts->mel = mel.length;
    if ((mel_mask | vlc_mask) == 0)
      return;
    bool fused = ((both ^ mel_byte) & mel_mask) == 0 && ((both ^ vlc_byte) & vlc_mask) == 0 &&
                 both != 0xFF && parts->vlc > 1;
    if (kStore && lane == 0) {
      mel.out[mel.length] = (uint8_t)(fused ? both : mel_byte);
      if (!fused)
        vlc.out[-(int32_t)vlc.length - 1] = (uint8_t)vlc_byte;
    }
    parts->mel++;
    parts->vlc += !fused;
  }
};

/* A lane's share of a copy by a warp: four reads, then four writes, so that it waits once for four
 * reads. */
template <typename T> __device__ void copy_lane(T *to, const T *from, uint32_t count, uint32_t lane)
{
  for (uint32_t i = lane; i < count; i += 4 * 32) {
    T read[4];
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      read[k] = 0;
      if (i + 32 * k < count)
        read[k] = from[i + 32 * k];
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
      if (i + 32 * k < count)
        to[i + 32 * k] = read[k];
  }
}

/* Copies the parts to the frame's bytes and puts Scup into the last two (T.814 7.1.1). `first`:
 * MagSgn's first byte, aligned. `end`: one behind VLC's first byte, which always exists, because
 * four bits of it are Scup's. */
__device__ void write_block(uint8_t *out, const Parts &parts, const uint8_t *first,
                            const uint8_t *mel, const uint8_t *end, uint32_t lane)
{
  uint32_t suffix = parts.mel + parts.vlc, length = parts.magsgn + suffix;
  uint32_t words = parts.magsgn / 4, coded = parts.vlc - 1; /* VLC's last byte is Scup's */

  copy_lane(reinterpret_cast<uint32_t *>(out), reinterpret_cast<const uint32_t *>(first), words,
            lane);
  if (lane < (parts.magsgn & 3))
    out[4 * words + lane] = first[4 * words + lane];
  copy_lane(out + parts.magsgn, mel, parts.mel, lane);
  copy_lane(out + parts.magsgn + parts.mel, end - coded, coded - 1, lane);
  if (lane == 0) {
    out[length - 2] = (uint8_t)((end[-1] & 0xF0) | (suffix & 15));
    out[length - 1] = (uint8_t)(suffix >> 4);
  }
}

/* ------------------------------------------------------------------------------- kernels --- */

__device__ void count(uint64_t *counter, uint32_t n)
{
  atomicAdd(reinterpret_cast<unsigned long long *>(counter), (unsigned long long)n);
}

/* Takes room in the frame's bytes, in the order in which blocks get there. Returns its offset. */
__device__ uint64_t take_room(const Cj2kCudaEncodeBlocks &frame, uint32_t length)
{
  return atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->bytes),
                   (length + CJ2K_CUDA_BLOCK_ALIGNMENT - 1) & ~(CJ2K_CUDA_BLOCK_ALIGNMENT - 1));
}

/* Stores the block at `offset` if it fits, kept there: the room of its last coding; else in new
 * room. Returns its offset. */
template <class Encoder>
__device__ uint64_t store_block(const Cj2kCudaEncodeBlocks &frame, const Encoder &encoder,
                                const Parts &parts, bool kept, uint64_t offset)
{
  uint32_t length = parts.magsgn + parts.mel + parts.vlc;
  if (encoder.lane == 0) {
    if (!kept)
      offset = take_room(frame, length);
    if (parts.mel + parts.vlc > kMaxScup)
      count(&frame.counts->failed, 1);
  }
  offset = __shfl_sync(kAll, offset, 0);
  __syncwarp();
  if (offset + length <= frame.capacity)
    write_block(frame.bytes + offset, parts, encoder.magsgn.out, encoder.mel_bytes(),
                encoder.vlc.out, encoder.lane);
  return offset;
}

__device__ void count_saturated(const Cj2kCudaEncodeBlocks &frame, const Samples &samples)
{
  if (samples.saturated && !frame.again)
    count(&frame.counts->saturated, samples.saturated);
}

/* Can the block be stored where its last coding is? It can if it is as long as was measured, which
 * the caller has compared with that room. */
__device__ bool keeps_room(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaAgain &again,
                           uint32_t length, uint32_t lane)
{
  bool same = length == again.length;
  if (!same && lane == 0)
    count(&frame.counts->unlike, 1);
  return same;
}

/* Codes a block. kAgain: as `again` says; else its choice is in frame.choices. */
template <bool kReversible, bool kAgain>
__device__ void encode_block(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block,
                             const Cj2kCudaAgain &again, BlockMemory *shared)
{
  uint32_t b = again.block;
  Cj2kHtChoice choice = {0, 1};
  if (kAgain)
    choice = again.choice;
  else if (frame.choices)
    choice = frame.choices[b];
  uint32_t num_bitplanes = frame.quantisers[block.band].num_bitplanes;
  uint64_t area = block.area + CJ2K_CUDA_BLOCK_AREA(block.width, block.height);
  BlockEncoder<true, kReversible> encoder(frame, block, shared, choice.plane);
  Parts parts = {0, 0, 0};
  encoder.magsgn.out = frame.scratch + CJ2K_CUDA_SCRATCH_OFFSET(block.area, frame.scratch_bits, b);
  encoder.vlc.out = frame.scratch + CJ2K_CUDA_SCRATCH_OFFSET(area, frame.scratch_bits, b + 1);

  bool is_wanted = kAgain || !is_left_out(frame);
  bool any = is_wanted && choice.passes && choice.plane < num_bitplanes && encoder.run(&parts);
  Cj2kEncodedBlock coded = {};
  coded.first_pass = b;
  coded.is_ht = 1;
  uint32_t length = any ? parts.magsgn + parts.mel + parts.vlc : 0;
  bool kept = kAgain && keeps_room(frame, again, length, encoder.lane);
  if (kAgain) /* also without bytes, because the block may be coded once more */
    coded.offset = frame.coded[b].offset;
  if (any) {
    coded.offset = store_block(frame, encoder, parts, kept, coded.offset);
    coded.length = length;
    coded.num_passes = 1;
    coded.zero_bitplanes = (uint8_t)(num_bitplanes - 1 - choice.plane);
  }
  count_saturated(frame, encoder.samples);
  if (encoder.lane == 0) {
    Cj2kPassLength pass = {coded.length & 0x7FFFFFFFu, 1};
    frame.coded[b] = coded;
    frame.passes[b] = pass;
    frame.lengths[b] = coded.length;
  }
}

/* Kernels with kChosen read the indices that quantise_kernel has chosen, as if they were reversible
 * coefficients; those with kAgain code the blocks of frame.list. They are kernels of their own, so
 * that the code for all other frames stays as it is without them. */
template <bool kChosen, bool kAgain>
__global__ void __launch_bounds__(32, kResident) encode_kernel(Cj2kCudaEncodeBlocks frame)
{
  __shared__ BlockMemory memory;
  uint64_t task = (uint64_t)blockIdx.x * frame.stride;
  if (task >= frame.num_blocks || (kAgain && frame.num_listed && task >= *frame.num_listed))
    return;
  Cj2kCudaAgain again = {};
  if (kAgain)
    again = frame.list[task];
  else
    again.block = frame.order ? frame.order[task] : (uint32_t)task;
  const Cj2kCudaEncodeBlock block = frame.blocks[again.block];
  if (kChosen || block.reversible)
    encode_block<true, kAgain>(frame, block, again, &memory);
  else
    encode_block<false, kAgain>(frame, block, again, &memory);
}

template <bool kReversible>
__device__ void measure_block(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block,
                              uint64_t b, uint32_t p, BlockMemory *shared)
{
  uint32_t plane = frame.measure.first_plane + p;
  BlockEncoder<false, kReversible> encoder(frame, block, shared, plane);
  Parts parts = {0, 0, 0};
  encoder.wants_gain = frame.measure.distortions != nullptr;
  bool any = encoder.run(&parts) && plane < frame.quantisers[block.band].num_bitplanes;
  uint64_t distortion = encoder.wants_gain ? encoder.gain.distortion() : 0;
  if (encoder.lane == 0) {
    frame.measure.lengths[b * frame.measure.num_planes + p] =
        any ? parts.magsgn + parts.mel + parts.vlc : 0;
    if (encoder.wants_gain)
      frame.measure.distortions[b * frame.measure.num_planes + p] = any ? distortion : 0;
  }
  if (p == 0)
    count_saturated(frame, encoder.samples);
}

/* Measures what coding a block at plane 0 saves, without coding it. A lane reads samples of several
 * rows before it needs the first. */
template <bool kReversible>
__device__ void measure_gain(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block,
                             uint64_t b)
{
  Samples samples(frame.coefficients, frame.quantisers[block.band], block);
  Gain gain = {0, !block.reversible, samples.limit < 1u << 21, 0, 0};
  constexpr uint32_t kRows = 8;
  samples.reversible = kReversible; /* the same value; makes it a constant for the compiler */
  for (uint32_t y = 0; y < block.height; y += kRows)
    for (uint32_t x = threadIdx.x; x < block.width; x += 32) {
      const uint32_t *top = samples.data + (uint64_t)y * block.stride + x;
      uint32_t raw[kRows];
#pragma unroll
      for (uint32_t k = 0; k < kRows; k++)
        raw[k] = y + k < block.height ? top[(uint64_t)k * block.stride] : 0;
#pragma unroll
      for (uint32_t k = 0; k < kRows; k++)
        gain.add_sample(samples.limited(samples.quantise(raw[k])) & 0x7FFFFFFF);
    }
  uint64_t distortion = gain.distortion();
  if (threadIdx.x == 0)
    frame.measure.distortions[b * frame.measure.num_planes] = distortion;
}

template <bool kChosen>
__global__ void __launch_bounds__(32) measure_kernel(Cj2kCudaEncodeBlocks frame)
{
  __shared__ BlockMemory memory;
  uint32_t task = blockIdx.x, p = task % frame.measure.num_planes;
  uint64_t index = (uint64_t)(task / frame.measure.num_planes) * frame.stride;
  if (index >= frame.num_blocks || is_left_out(frame))
    return;
  uint64_t b = frame.order ? frame.order[index] : index;
  const Cj2kCudaEncodeBlock block = frame.blocks[b];
  bool reversible = kChosen || block.reversible;
  if (p == 0 && frame.measure.first_is_coded)
    reversible ? measure_gain<true>(frame, block, b) : measure_gain<false>(frame, block, b);
  else if (reversible)
    measure_block<true>(frame, block, b, p, &memory);
  else
    measure_block<false>(frame, block, b, p, &memory);
}

/* The magnitude that was chosen for a sample, at most `limit`. */
__device__ uint32_t chosen(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block,
                           uint32_t limit, uint32_t x, uint32_t y)
{
  return min((uint32_t)abs(frame.indices[block.offset + (uint64_t)y * block.stride + x]), limit);
}

/* Measures the error of quantisation itself (Cj2kEncodeResult.band_errors); one
 * warp for each block. */
template <bool kChosen>
__global__ void __launch_bounds__(32) band_errors_kernel(Cj2kCudaEncodeBlocks frame)
{
  uint64_t b = (uint64_t)blockIdx.x * frame.stride;
  if (b >= frame.num_blocks)
    return;
  const Cj2kCudaEncodeBlock block = frame.blocks[b];
  Samples samples(frame.coefficients, frame.quantisers[block.band], block);
  uint64_t sum = 0;
  for (uint32_t y = 0; y < block.height; y++)
    for (uint32_t x = threadIdx.x; x < block.width; x += 32) {
      uint32_t bits = samples.data[(uint64_t)y * block.stride + x];
      if (frame.measure.num_planes == 0) { /* else the measuring kernel counts saturated samples */
        samples.limited(kChosen ? chosen(frame, block, ~0u, x, y) : samples.quantise(bits));
      }
      if (block.reversible)
        continue;
      float t = fminf(fabsf(__uint_as_float(bits)) * samples.inv_scale, 2147483520.0f);
      uint32_t q = kChosen ? chosen(frame, block, samples.limit, x, y) : (uint32_t)t;
      float left = t - (float)q;
      int32_t e = (int32_t)((q ? left - 0.5f : left) * 1024.0f);
      sum += (uint64_t)((int64_t)e * e);
    }
  sum = sum_warp(sum);
  if (threadIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(&frame.measure.band_errors[block.band]),
              (unsigned long long)sum);
  count_saturated(frame, samples);
}

/* Blocks that a kernel visits: every frame->stride-th one. */
uint32_t num_tasks(const Cj2kCudaEncodeBlocks *frame)
{
  return (uint32_t)(((uint64_t)frame->num_blocks + frame->stride - 1) / frame->stride);
}

/* Sets *input to the blocks with the input of the coder: coefficients, or if there is room for them
 * the indices that are chosen by rate and distortion, as if they were reversible coefficients. */
cudaError_t choose_indices(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream,
                           Cj2kCudaEncodeBlocks *input)
{
  *input = *frame;
  if (!frame->indices || !num_tasks(frame))
    return cudaSuccess;
  input->coefficients = reinterpret_cast<const uint32_t *>(frame->indices);
  if (frame->list) /* their indices were chosen when they were coded before */
    return cudaSuccess;
  quantise_kernel<<<num_tasks(frame), 32, 0, stream>>>(*frame);
  return cudaGetLastError();
}

} // namespace

cudaError_t cj2k_cuda_ht_encode(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  Cj2kCudaEncodeBlocks input;
  cudaError_t error = choose_indices(frame, stream, &input);
  if (error != cudaSuccess)
    return error;
  const auto kernel =
      frame->list ? (frame->indices ? encode_kernel<true, true> : encode_kernel<false, true>)
                  : (frame->indices ? encode_kernel<true, false> : encode_kernel<false, false>);
  kernel<<<num_tasks(frame), 32, 0, stream>>>(input);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_ht_measure(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  Cj2kCudaEncodeBlocks input;
  cudaError_t error = choose_indices(frame, stream, &input);
  if (error != cudaSuccess)
    return error;
  const auto kernel = frame->indices ? measure_kernel<true> : measure_kernel<false>;
  kernel<<<num_tasks(frame) * frame->measure.num_planes, 32, 0, stream>>>(input);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_band_errors(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  Cj2kCudaEncodeBlocks input;
  cudaError_t error = cudaSuccess;
  if (!frame->measure.num_planes) /* else the blocks have been measured just before */
    error = choose_indices(frame, stream, &input);
  if (error != cudaSuccess)
    return error;
  const auto kernel = frame->indices ? band_errors_kernel<true> : band_errors_kernel<false>;
  kernel<<<num_tasks(frame), 32, 0, stream>>>(*frame);
  return cudaGetLastError();
}
