// SPDX-License-Identifier: LGPL-2.1-or-later
/* The codeword segments of a code-block that is being decoded. */
#pragma once

#include "decoder.cuh"

namespace {

struct SegmentReader {
  const Cj2kSegment *entry, *entries_end;
  Cj2kSegment next;          /* *entry, loaded before it is needed */
  const uint8_t *data, *end; /* what is left of the code-block's bytes */
  bool cut;                  /* the data ends before the present segment does */

  __device__ __forceinline__ void begin(const Cj2kCudaDecodeBlocks &frame,
                                        const Cj2kCodedBlock &block)
  {
    entry = frame.segments + block.first_segment;
    entries_end = entry + block.num_segments;
    load_entry();
    data = block.length ? frame.data + block.offset : frame.data;
    end = data + block.length;
  }

  __device__ __forceinline__ void load_entry()
  {
    if (entry != entries_end)
      next = *entry;
  }

  /* Starts decoding the segment of passes [first_pass, end_pass). It may be several entries, one
   * for each layer that contributes. Returns false if an entry ends where no segment can end. */
  __device__ __forceinline__ bool start(MqDecoder &mq, uint32_t first_pass, uint32_t end_pass,
                                        uint32_t style)
  {
    const uint8_t *from = data;
    uint64_t length = 0;
    for (uint32_t pass = first_pass; pass < end_pass;) {
      if (entry == entries_end || next.passes > end_pass - pass)
        return false;
      pass += next.passes;
      length += next.length;
      entry++;
      load_entry();
    }
    uint64_t left_over = (uint64_t)(end - data);
    cut = length > left_over;
    data += cut ? left_over : length;
    mq.start(from, data, cj2k_pass_is_raw(first_pass, (uint8_t)style));
    /* Whether a cut segment can be decoded depends on its bits. Others wait for the round in which
     * all lanes fill. */
    if (cut)
      mq.fill();
    return true;
  }
};

} // namespace
