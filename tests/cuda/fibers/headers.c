/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels that make packet headers, run by fibers.h, against the packet writer: headers, sizes,
 * and where they and the bytes of blocks go. Prints TAP. */
#include "cuda/shared/headers.h"
#include "common/codestream/header_bits.h"
#include "common/codestream/write_codestream.h"
#include "cuda/host/encode_headers.h"
#include "cuda/shared/place.h"
#include "tests/unit/made-blocks.h"

#include <stdio.h>
#include <stdlib.h>

#define ROOM 48 /* words for a block, as many as 40 passes may need */

/* A frame, and what kernels make of it. */
typedef struct {
  Cj2kPlan *plan;
  Blocks all;
  uint8_t *bytes;
  Cj2kPacketWriter *writer;
  const Cj2kWrittenPacket *expected;
  Cj2kCudaHeaderTables tables;
  Cj2kCudaHeaders headers;
  Cj2kPacketStep *steps;
  Cj2kCudaPacketPlaces job;
} Frame;

/* Gives the blocks bytes, not too many, and all of their passes to the layer. */
static void fill_bytes(Frame *frame, Random *rand)
{
  Blocks *all = &frame->all;
  uint32_t num_blocks = frame->plan->num_blocks, most = num_blocks < 1000 ? 100000 : 4095;
  uint64_t size = 0;

  for (uint32_t b = 0; b < num_blocks; b++) {
    Cj2kEncodedBlock *block = &all->blocks[b];
    all->lengths[b] = all->retained[b] ? MIN(all->lengths[b], most) : 0;
    block->num_passes = all->retained[b];
    block->offset = size;
    block->length = all->lengths[b];
    size += (block->length + 15) & ~15u;
  }
  frame->bytes = g_malloc(size + 16);
  for (uint64_t i = 0; i < size; i++)
    frame->bytes[i] = (uint8_t)random_bits(rand);
  all->source.bytes = frame->bytes;
}

static void frame_init(Frame *frame, Random *rand, uint32_t round)
{
  Draw draw = random_draw(rand, round);

  if (draw.kind == HT_PASSES) /* the GPU codes cleanup passes only */
    draw.kind = ONE_PASS;
  memset(frame, 0, sizeof *frame);
  frame->plan = random_plan(rand, draw.kind);
  blocks_init(&frame->all, frame->plan->num_blocks);
  draw_blocks(&frame->all, rand, &draw, frame->plan->num_blocks);
  fill_bytes(frame, rand);
  frame->writer = cj2k_packet_writer_new(frame->plan, 1);
  frame->expected = cj2k_packets_prepare(frame->writer, &frame->all.source, NULL);
}

static void frame_clear(Frame *frame)
{
  cj2k_packet_writer_free(frame->writer);
  cj2k_plan_unref(frame->plan);
  blocks_clear(&frame->all);
  g_free(frame->bytes);
  cj2k_cuda_header_tables_clear(&frame->tables);
  g_free(frame->steps);
  g_free(frame->headers.nodes);
  g_free(frame->headers.at);
  g_free(frame->headers.words);
  g_free(frame->headers.starts);
  g_free(frame->headers.bytes);
  g_free(frame->headers.sizes);
  g_free(frame->job.lengths);
  g_free(frame->job.places);
  g_free(frame->job.end);
  g_free(frame->job.host_end);
  g_free(frame->job.host_sizes);
  g_free((void *)frame->job.counts);
  g_free(frame->job.host_counts);
}

static void make_headers(Frame *frame, uint32_t room)
{
  const Cj2kPlan *plan = frame->plan;
  Cj2kCudaHeaders *headers = &frame->headers;

  g_assert_true(cj2k_cuda_header_tables_init(&frame->tables, plan, room, room % 2 ? 0 : 40));
  size_t words = frame->tables.num_words;
  headers->packets = frame->tables.packets;
  headers->num_packets = plan->num_precincts;
  headers->num_large = frame->tables.num_large;
  headers->blocks = frame->all.blocks;
  headers->header_bits = frame->all.source.header_bits;
  headers->pass_lengths = ends_of(&frame->all);
  headers->nodes = g_new(Cj2kHeaderNode, frame->tables.num_nodes + 1);
  headers->at = g_new(uint32_t, plan->num_blocks + 1);
  headers->words = g_new(uint32_t, words + 1);
  headers->starts = g_new(uint64_t, plan->num_blocks + 1);
  headers->bytes = g_malloc(words * CJ2K_CUDA_HEADER_BYTES + 1);
  headers->sizes = g_new0(Cj2kPacketSize, plan->num_precincts + 1);
  memset(headers->words, 0xa5, words * sizeof *headers->words); /* nothing is cleared before */
  memset(headers->starts, 0xa5, plan->num_blocks * sizeof *headers->starts);
  g_assert_cmpint(cj2k_cuda_headers(headers, NULL), ==, cudaSuccess);
}

/* Returns how many headers had no room. */
static uint32_t compare_headers(const Frame *frame)
{
  uint32_t num_long = 0;

  for (uint32_t i = 0; i < frame->plan->num_precincts; i++) {
    const Cj2kCudaHeaderPacket *packet = &frame->tables.packets[i];
    const Cj2kWrittenPacket *expected = &frame->expected[packet->precinct];
    const Cj2kPacketSize *size = &frame->headers.sizes[packet->precinct];
    g_assert_cmpuint(size->body, ==, expected->body_size);
    if (size->header == CJ2K_CUDA_HEADER_LONG) {
      g_assert_cmpuint(8 * expected->header_size, >, 32 * (packet->num_words - 1));
      num_long++;
      continue;
    }
    const uint8_t *header =
        frame->headers.bytes + (size_t)packet->first_word * CJ2K_CUDA_HEADER_BYTES;
    g_assert_cmpmem(header, size->header, expected->header, expected->header_size);
  }
  return num_long;
}

/* Bytes of the entry of packet i in PLT, if there is one. */
static uint32_t entry_bytes(const Frame *frame, uint32_t i)
{
  const Cj2kWrittenPacket *packet = &frame->expected[frame->steps[i].precinct];
  uint64_t size =
      (uint64_t)frame->job.sop + packet->header_size + frame->job.behind_header + packet->body_size;

  return frame->job.lengths ? cj2k_length_entry_bytes(size) : 0;
}

/* Puts the packets into some order, with some bytes between, and divides them into tile-parts.
 * Returns the end of all. */
static uint64_t choose_steps(Frame *frame, Random *rand)
{
  uint32_t n = frame->plan->num_precincts, part_end = 0;
  uint64_t end = 0;

  frame->job.sop = 6 * random_below(rand, 2);
  frame->job.lengths = random_below(rand, 2) ? g_new0(uint32_t, n + 1) : NULL;
  frame->steps = g_new(Cj2kPacketStep, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = random_below(rand, i + 1);
    frame->steps[i] = frame->steps[k];
    frame->steps[k] = (Cj2kPacketStep){.precinct = i, .before = random_below(rand, 20)};
  }
  for (uint32_t i = 0; i < n; i++) {
    if (i == part_end)
      part_end += 1 + random_below(rand, n - i);
    frame->steps[i].part_end = part_end;
  }
  frame->job.behind_header = 2 * random_below(rand, 2);
  frame->job.behind_all = random_below(rand, 30);
  for (uint32_t i = 0; i < n; i++) {
    const Cj2kWrittenPacket *packet = &frame->expected[frame->steps[i].precinct];
    end +=
        frame->steps[i].before + packet->header_size + frame->job.behind_header + packet->body_size;
    end += entry_bytes(frame, i);
  }
  return end + frame->job.behind_all;
}

/* All packets in their places, as the kernels put them there; `room` as if that were all. */
static uint8_t *place_packets(Frame *frame, uint64_t size, uint64_t room)
{
  const Cj2kPlan *plan = frame->plan;
  Cj2kCudaEncodeCounts *counts = g_new0(Cj2kCudaEncodeCounts, 1);
  Cj2kCudaPacketPlaces *job = &frame->job;
  uint8_t *out = g_malloc0(size + 8);

  job->steps = frame->steps;
  job->count = plan->num_precincts;
  job->room = room;
  job->sizes = frame->headers.sizes;
  job->places = g_new0(Cj2kCudaPacketPlace, plan->num_precincts + 1);
  job->end = g_new0(uint64_t, 1);
  counts->bytes = size;
  job->counts = counts;
  job->host_end = g_new0(uint64_t, 1);
  job->host_sizes = g_new0(Cj2kPacketSize, plan->num_precincts + 1);
  job->host_counts = g_new0(Cj2kCudaEncodeCounts, 1);
  const Cj2kCudaPlacePackets place = {.blocks = frame->all.blocks,
                                      .precincts = frame->tables.precincts,
                                      .starts = frame->headers.starts,
                                      .num_blocks = plan->num_blocks,
                                      .num_pieces = frame->tables.num_pieces,
                                      .pieces = frame->tables.pieces,
                                      .sizes = frame->headers.sizes,
                                      .places = job->places,
                                      .end = job->end,
                                      .bytes = frame->bytes,
                                      .headers = frame->headers.bytes,
                                      .out = out};
  g_assert_cmpint(cj2k_cuda_packet_places(job, NULL), ==, cudaSuccess);
  g_assert_cmpint(cj2k_cuda_place_packets(&place, NULL), ==, cudaSuccess);
  g_assert_cmpuint(job->host_counts->bytes, ==, size);
  g_assert_cmpuint(*job->host_end, ==, *job->end);
  g_assert_cmpmem(job->host_sizes, plan->num_precincts * sizeof *job->host_sizes,
                  frame->headers.sizes, plan->num_precincts * sizeof *job->host_sizes);
  return out;
}

/* The same, by the host; nothing if there is no room. */
static uint8_t *expect_packets(const Frame *frame, uint64_t size, bool fits)
{
  uint8_t *out = g_malloc0(size + 8);
  uint64_t at = 0;
  uint32_t listed = 0;

  for (uint32_t i = 0; fits && i < frame->plan->num_precincts; i++) {
    uint32_t p = frame->steps[i].precinct, first,
             count = cj2k_packet_blocks(frame->writer, p, &first);
    const Cj2kWrittenPacket *packet = &frame->expected[p];
    at += frame->steps[i].before;
    for (; listed < frame->steps[i].part_end; listed++)
      at += entry_bytes(frame, listed);
    memcpy(out + at, packet->header, packet->header_size);
    at += packet->header_size + frame->job.behind_header;
    if (packet->body_size)
      cj2k_packet_copy_blocks(frame->writer, &frame->all.source, first, count, 0, out + at);
    at += packet->body_size;
  }
  return out;
}

static void run(Random *rand, uint32_t round)
{
  Frame frame;

  frame_init(&frame, rand, round);
  make_headers(&frame, round % 5 == 4 ? 1 : ROOM); /* too little, some of the time */
  uint32_t num_long = compare_headers(&frame);
  g_assert_true(!num_long || round % 5 == 4);
  uint64_t size = choose_steps(&frame, rand), room = size - (round % 4 == 3);
  bool fits = !num_long && room == size;
  uint8_t *out = place_packets(&frame, size, room), *expected = expect_packets(&frame, size, fits);
  g_assert_true(memcmp(out, expected, size + 8) == 0);
  g_assert_cmpuint(*frame.job.end, ==, fits ? size : CJ2K_CUDA_NO_ROOM);
  g_free(out);
  g_free(expected);
  printf("ok %u - %u blocks, %u packets, %u large, %u without room\n", round + 1,
         frame.plan->num_blocks, frame.plan->num_precincts, frame.tables.num_large, num_long);
  frame_clear(&frame);
}

int main(int argc, char **argv)
{
  uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20;
  Random random = {argc > 2 ? (uint64_t)atoi(argv[2]) : 1};

  for (uint32_t round = 0; round < rounds; round++)
    run(&random, round);
  printf("1..%u\n", rounds);
  return 0;
}
