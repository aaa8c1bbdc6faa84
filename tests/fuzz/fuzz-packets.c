/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packet headers: everything that is read before code-blocks are decoded. An observed reader reads
 * them piece by piece, another one those of a plain kind straight into code-blocks. */
#include "common/codestream/coded.h"
#include "fuzz.h"
#include "tests/support/same-blocks.h"

#define MAX_MEMORY  (128 << 10)
#define MAX_PACKETS 20000 /* more take long without showing more */

static uint64_t num_packets(const Cj2kPlan *plan)
{
  uint64_t count = 0;
  for (uint32_t t = 0; t < plan->num_tiles; t++)
    count += cj2k_tile_num_packets(plan, t);
  return count;
}

static void check_frame(const Cj2kCodedFrame *frame, const Cj2kPlan *plan)
{
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kCodedBlock *block = &frame->blocks[b];
    uint64_t length = 0, passes = 0;
    if (!block->num_passes)
      continue;
    FUZZ_CHECK(block->num_passes <= CJ2K_MAX_PASSES, "%u passes", block->num_passes);
    FUZZ_CHECK((uint64_t)block->first_segment + block->num_segments <= frame->num_segments,
               "segments of block %u", b);
    for (uint32_t s = 0; s < block->num_segments; s++) {
      length += frame->segments[block->first_segment + s].length;
      passes += frame->segments[block->first_segment + s].passes;
    }
    FUZZ_CHECK(length == block->length && passes == block->num_passes,
               "block %u: segments of %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT " passes", b,
               length, passes);
    uint64_t end = block->offset < frame->codestream_size
                       ? frame->codestream_size
                       : frame->codestream_size + frame->side_size;
    FUZZ_CHECK(!block->length || block->offset + block->length <= end, "bytes of block %u", b);
  }
}

static void observe(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t header_bytes,
                    uint64_t body_bytes)
{
  (void)packet, (void)header_bytes;
  FUZZ_CHECK(offset <= *(size_t *)user && body_bytes <= *(size_t *)user, "packet leaves the data");
}

/* Both have the same code-blocks. */
static void check_equal(const Cj2kCodedFrame *a, const Cj2kCodedFrame *b, const Cj2kPlan *plan)
{
  FUZZ_CHECK(a->corrupt_blocks == b->corrupt_blocks && a->truncated == b->truncated,
             "%u and %u corrupt code-blocks", a->corrupt_blocks, b->corrupt_blocks);
  for (uint32_t i = 0; i < plan->num_blocks; i++)
    FUZZ_CHECK(same_block(a, b, i), "code-block %u differs", i);
}

/* Without an observer. If packets are read by their SOP, the result is another one. */
static void read_direct(const uint8_t *data, size_t size, const Cj2kPlan *plan,
                        const Cj2kTileParts *parts, const Cj2kCodedFrame *pieces)
{
  Cj2kPacketReader *reader = cj2k_packet_reader_new();
  Cj2kCodedFrame *frame;
  Cj2kError error = {0};

  if (cj2k_packets_read(reader, plan, parts, data, size, 0, false, MAX_MEMORY, &frame, &error) ==
      CJ2K_OK) {
    check_frame(frame, plan);
    if (!frame->concealed_packets && !frame->truncated && !pieces->truncated)
      check_equal(frame, pieces, plan);
  }
  cj2k_packet_reader_free(reader);
}

/* By several threads, where PLT or tile-parts tell where packets begin: the same. */
static void read_in_runs(const uint8_t *data, size_t size, const Cj2kPlan *plan,
                         const Cj2kTileParts *parts)
{
  static Cj2kThreads *threads;
  Cj2kPacketReader *readers[2] = {cj2k_packet_reader_new(), cj2k_packet_reader_new()};
  Cj2kCodedFrame *frames[2];
  Cj2kStatus status[2];
  Cj2kError error = {0};

  if (!threads)
    threads = cj2k_threads_new(3);
  cj2k_packet_reader_use(readers[1], threads, 1);
  for (int i = 0; i < 2; i++)
    status[i] = cj2k_packets_read(readers[i], plan, parts, data, size, 0, false, MAX_MEMORY,
                                  &frames[i], &error);
  FUZZ_CHECK(status[0] == status[1], "status %d and %d", (int)status[0], (int)status[1]);
  if (status[0] == CJ2K_OK) {
    check_frame(frames[1], plan);
    FUZZ_CHECK(frames[0]->concealed_packets == frames[1]->concealed_packets &&
                   frames[0]->unread_bytes == frames[1]->unread_bytes,
               "other packets are missing");
    check_equal(frames[0], frames[1], plan);
  }
  for (int i = 0; i < 2; i++)
    cj2k_packet_reader_free(readers[i]);
}

static void read_packets(const uint8_t *data, size_t size, const Cj2kPlan *plan,
                         const Cj2kTileParts *parts)
{
  Cj2kPacketReader *reader = cj2k_packet_reader_new();
  Cj2kCodedFrame *frame;
  Cj2kError error = {0};

  cj2k_packet_reader_observe(reader, observe, &size);
  bool is_strict = cj2k_packets_read(reader, plan, parts, data, size, 0, true, MAX_MEMORY, &frame,
                                     &error) == CJ2K_OK;
  if (is_strict)
    check_frame(frame, plan);
  for (uint16_t layers = 0; layers < 2; layers++) {
    Cj2kStatus status = cj2k_packets_read(reader, plan, parts, data, size, layers, false,
                                          MAX_MEMORY, &frame, &error);
    FUZZ_CHECK(status == CJ2K_OK || !is_strict, "only strict: %s", error.text);
    if (status == CJ2K_OK)
      check_frame(frame, plan);
    if (status == CJ2K_OK && layers == 0)
      read_direct(data, size, plan, parts, frame);
    if (layers == 0)
      read_in_runs(data, size, plan, parts);
  }
  cj2k_packet_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kTileParts parts = {0};
  Cj2kError error = {0};
  Cj2kHeader *header;
  Cj2kPlan *plan;
  bool same;

  if (cj2k_header_read(reader, data, size, false, MAX_MEMORY, &header, &same, &parts, &error) ==
          CJ2K_OK &&
      cj2k_plan_new(header, 0, MAX_MEMORY, &plan, &error) == CJ2K_OK) {
    if (num_packets(plan) <= MAX_PACKETS)
      read_packets(data, size, plan, &parts);
    cj2k_plan_unref(plan);
  }
  cj2k_tile_parts_clear(&parts);
  cj2k_header_reader_free(reader);
  return 0;
}
