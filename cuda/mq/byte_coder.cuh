// SPDX-License-Identifier: LGPL-2.1-or-later
/* The second half of the MQ coder: C and the bytes, which follow from what symbols do to C. */
#pragma once

#include "deltas.cuh"
#include "encoder.cuh"
#include "passes.cuh"

namespace {

/* C and the bytes of one block, in the registers of a thread. */
struct ByteCoder {
  MqEncoder mq;
  ByteRoom room;
  uint4 *mark;
  uint32_t pass, num_passes, style;
  uint32_t start; /* of the segment, in bytes from the block's room */
  bool failed;    /* the block is longer than its room */

  /* Without a block there is nothing to do. */
  __device__ __forceinline__ void begin_without()
  {
    pass = num_passes = 0;
    failed = false;
  }

  __device__ __forceinline__ bool done() const
  {
    return pass == num_passes;
  }

  /* Goes on with the next segment that is not raw, if there is one. */
  __device__ void start_segment()
  {
    uint32_t first = pass;
    pass = skip_raw(pass, num_passes, style);
    mark += pass - first;
    if (!done())
      start = mq.start(room);
  }

  /* Finds room for the block and begins its first segment. */
  __device__ __forceinline__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    const Cj2kCudaMqBlock block = frame.contexts.mq_blocks[b];
    style = frame.contexts.blocks[b].style;
    num_passes = block.num_passes;
    mark = reinterpret_cast<uint4 *>(frame.marks +
                                     (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.contexts.max_planes));
    uint64_t size = coded_room(block, style, frame.symbol_room);
    uint64_t both =
        size + CJ2K_CUDA_MQ_RAW_ROOM(block.raw_end - block.raw_begin, raw_segments(block, style));
    uint64_t offset = atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->room),
                                (unsigned long long)both);
    frame.rooms[b] = offset;
    room.start(reinterpret_cast<uint32_t *>(frame.room + offset), (uint32_t)(size / 4));
    mq = {0, 0, 0};
    start_segment();
  }

  /* Ends the segment and adds to the mark of its last pass how many bytes follow the mark's place.
   */
  __device__ void end_segment(uint4 &value)
  {
    bool drop = false;
    if (style & CJ2K_STYLE_PTERM)
      drop = mq.terminate_predictably(room);
    else
      mq.flush(room);
    value.z |= (uint32_t)(room.position(start) - drop) - value.y;
    room.end_segment();
    failed = room.next > room.end;
  }

  /* Notes the end of a pass, and of a segment if it is one; `a` is A. */
  __device__ void end_pass(uint32_t a)
  {
    mq.a = a;
    Cj2kCudaMqMark m = mq.mark(room, start);
    uint4 value = make_uint4(m.start, (uint32_t)m.at, m.state, m.c);
    bool ends = ends_segment(pass, num_passes, style);
    if (ends)
      end_segment(value);
    *mark++ = value;
    pass++;
    if (ends)
      start_segment();
  }

  /* Applies four symbols that apply_sum() refused one after the other, or ends a pass with them. */
  __device__ void apply_rare(uint4 deltas)
  {
    uint32_t last = deltas.w;
    bool end = last & kPassEnd;
    if (end)
      deltas.w = 0;
    if (!end || !mq.apply_sum(MqEncoder::sum_of(deltas), room))
      mq.apply_each(deltas, room);
    if (end)
      end_pass(last & ~0xFFFFu);
  }

  /* Applies the deltas of a chunk, which are loaded so early that nothing has to wait for them. */
  __device__ void apply_chunk(uint32_t from)
  {
    uint32_t end = from + kChunkBytes;
    uint4 next = shared_four(from), after = shared_four(from + kFourBytes);
    MqEncoder::Sum next_sum = MqEncoder::sum_of(next);
#pragma unroll 1
    while (from < end && !done()) {
      uint4 deltas = next;
      MqEncoder::Sum sum = next_sum;
      next = after;
      from += kFourBytes;
      if (from + kFourBytes < end)
        after = shared_four(from + kFourBytes);
      next_sum = MqEncoder::sum_of(next);
      /* The end of a pass is not applied, because its shift has the bit kPassEnd. */
      bool applied = mq.apply_sum(sum, room);
      room.flush();
      if (!applied)
        apply_rare(deltas);
    }
  }
};

} // namespace
