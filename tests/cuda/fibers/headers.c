/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels that make packet headers, run by fibers.h, against the packet writer: headers, sizes,
 * and where they and the bytes of blocks go. */
#include "cuda/shared/headers.h"
#include "common/codestream/write_codestream.h"
#include "cuda/host/encode_headers.h"
#include "cuda/shared/place.h"
#include "made-blocks.h"

#include <stdio.h>
#include <stdlib.h>

#define ROOM 14 /* words for a block, as many as any has here */

/* A frame, and what kernels make of it. */
typedef struct {
  Cj2kPlan *plan;
  Blocks all;
  uint8_t *bytes, *planes;
  Cj2kPacketWriter *writer;
  const Cj2kWrittenPacket *expected;
  Cj2kCudaHeaderPacket *packets;
  Cj2kCudaHeaderTotals totals;
  Cj2kCudaHeaders headers;
  uint8_t *header_bytes;
  Cj2kPacketPlace *places;
} Frame;

/* Gives the blocks bytes, not too many. Those that are left out have some as well. */
static void fill_bytes(Frame *frame, Random *rand)
{
  Blocks *all = &frame->all;
  uint32_t num_blocks = frame->plan->num_blocks, most = num_blocks < 1000 ? 100000 : 4095;
  uint64_t size = 0;

  for (uint32_t b = 0; b < num_blocks; b++) {
    Cj2kEncodedBlock *block = &all->blocks[b];
    all->lengths[b] = MIN(all->lengths[b], most);
    if (all->kind == HT_PASSES && all->retained[b] > 1) {
      Cj2kPassLength *passes = all->passes + block->first_pass;
      passes[0].length = MIN(passes[0].length, all->lengths[b]);
      passes[1].length = passes[2].length = all->lengths[b];
    }
    block->is_ht = all->kind < MQ_PASSES;
    block->offset = size;
    block->length = all->lengths[b];
    size += (block->length + 15) & ~15u;
  }
  frame->bytes = g_malloc(size + 16);
  for (uint64_t i = 0; i < size; i++)
    frame->bytes[i] = (uint8_t)random_bits(rand);
  all->source.bytes = frame->bytes;
}

/* Blocks that are going to be coded again: their records tell something else. */
static void change_records(Frame *frame)
{
  Blocks *all = &frame->all;

  frame->planes = g_new(uint8_t, all->num_blocks + 1);
  for (uint32_t b = 0; b < all->num_blocks; b++) {
    frame->planes[b] = all->blocks[b].zero_bitplanes;
    all->blocks[b].zero_bitplanes = 99;
    all->blocks[b].num_passes = !all->retained[b];
    all->blocks[b].length += 3;
  }
  frame->headers.retained = all->retained;
  frame->headers.lengths = all->lengths;
  frame->headers.zero_bitplanes = frame->planes;
}

static void frame_init(Frame *frame, Random *rand, uint32_t round)
{
  Draw draw = random_draw(rand, round);

  memset(frame, 0, sizeof *frame);
  frame->plan = random_plan(rand, draw.kind);
  blocks_init(&frame->all, frame->plan->num_blocks);
  draw_blocks(&frame->all, rand, &draw, frame->plan->num_blocks);
  fill_bytes(frame, rand);
  frame->writer = cj2k_packet_writer_new(frame->plan, 1);
  frame->expected = cj2k_packets_prepare(frame->writer, &frame->all.source, NULL);
  if (round % 3)
    change_records(frame);
}

static void frame_clear(Frame *frame)
{
  cj2k_packet_writer_free(frame->writer);
  cj2k_plan_unref(frame->plan);
  blocks_clear(&frame->all);
  g_free(frame->bytes);
  g_free(frame->planes);
  g_free(frame->packets);
  g_free(frame->header_bytes);
  g_free(frame->places);
  g_free(frame->headers.nodes);
  g_free(frame->headers.at);
  g_free(frame->headers.words);
  g_free(frame->headers.starts);
  g_free(frame->headers.sizes);
}

static void make_headers(Frame *frame, uint32_t room)
{
  const Cj2kPlan *plan = frame->plan;
  Cj2kCudaHeaders *headers = &frame->headers;

  frame->packets = g_new0(Cj2kCudaHeaderPacket, plan->num_precincts + 1);
  g_assert_true(cj2k_cuda_header_packets(plan, room, frame->packets, &frame->totals));
  size_t words = frame->totals.num_words;
  frame->header_bytes = g_malloc(words * CJ2K_CUDA_HEADER_BYTES + 1);
  headers->packets = frame->packets;
  headers->num_packets = plan->num_precincts;
  headers->num_large = frame->totals.num_large;
  headers->blocks = frame->all.blocks;
  headers->passes = frame->all.passes;
  headers->header_bits = frame->all.source.header_bits;
  headers->nodes = g_new(Cj2kHeaderNode, plan->num_nodes + 1);
  headers->at = g_new(uint32_t, plan->num_blocks + 1);
  headers->words = g_new(uint32_t, words + 1);
  headers->starts = g_new(uint64_t, plan->num_blocks + 1);
  headers->bytes = frame->header_bytes;
  headers->sizes = g_new0(Cj2kPacketSize, plan->num_precincts + 1);
  memset(headers->words, 0xa5, words * sizeof *headers->words); /* nothing is cleared before */
  g_assert_cmpint(cj2k_cuda_headers(headers, NULL), ==, cudaSuccess);
}

/* Returns how many headers had no room. */
static uint32_t compare_headers(const Frame *frame)
{
  uint32_t num_long = 0;

  for (uint32_t i = 0; i < frame->plan->num_precincts; i++) {
    const Cj2kCudaHeaderPacket *packet = &frame->packets[i];
    const Cj2kWrittenPacket *expected = &frame->expected[packet->precinct];
    const Cj2kPacketSize *size = &frame->headers.sizes[packet->precinct];
    g_assert_cmpuint(size->body, ==, expected->body_size);
    if (size->header == CJ2K_CUDA_HEADER_LONG) {
      g_assert_cmpuint(8 * expected->header_size, >, 32 * (packet->num_words - 1));
      num_long++;
      continue;
    }
    const uint8_t *header =
        frame->header_bytes + (size_t)packet->first_word * CJ2K_CUDA_HEADER_BYTES;
    g_assert_cmpmem(header, size->header, expected->header, expected->header_size);
  }
  return num_long;
}

/* Chooses places for packets, in precinct order, with some bytes between. Returns their end. */
static uint64_t choose_places(Frame *frame, Random *rand)
{
  uint64_t at = random_below(rand, 100);

  frame->places = g_new(Cj2kPacketPlace, frame->plan->num_precincts + 1);
  for (uint32_t p = 0; p < frame->plan->num_precincts; p++) {
    frame->places[p].header = at;
    at += frame->expected[p].header_size + random_below(rand, 3);
    frame->places[p].body = at;
    at += frame->expected[p].body_size + random_below(rand, 7);
  }
  return at;
}

/* All packets in their places, as the kernels put them there. */
static uint8_t *place_packets(const Frame *frame, uint64_t size)
{
  uint32_t num_blocks = frame->plan->num_blocks;
  const Cj2kCudaHeaderRuns runs = {.places = frame->places,
                                   .bodies = g_new0(Cj2kByteRun, num_blocks + 1),
                                   .headers = g_new0(Cj2kByteRun, frame->totals.num_runs + 1)};
  uint8_t *out = g_malloc0(size + 8);
  const Cj2kCudaPlace bodies = {runs.bodies, num_blocks, frame->bytes, out};
  const Cj2kCudaPlace headers = {runs.headers, frame->totals.num_runs, frame->header_bytes, out};

  g_assert_cmpint(cj2k_cuda_header_runs(&frame->headers, &runs, NULL), ==, cudaSuccess);
  g_assert_cmpint(cj2k_cuda_place(&bodies, NULL), ==, cudaSuccess);
  g_assert_cmpint(cj2k_cuda_place(&headers, NULL), ==, cudaSuccess);
  g_free(runs.bodies);
  g_free(runs.headers);
  return out;
}

/* The same, by the host. */
static uint8_t *expect_packets(const Frame *frame, uint64_t size)
{
  uint8_t *out = g_malloc0(size + 8);

  for (uint32_t p = 0; p < frame->plan->num_precincts; p++) {
    const Cj2kWrittenPacket *packet = &frame->expected[p];
    uint32_t first, count = cj2k_packet_blocks(frame->writer, p, &first);
    memcpy(out + frame->places[p].header, packet->header, packet->header_size);
    if (packet->body_size)
      cj2k_packet_copy_blocks(frame->writer, &frame->all.source, first, count, 0,
                              out + frame->places[p].body);
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
  if (!num_long) {
    uint64_t size = choose_places(&frame, rand);
    uint8_t *out = place_packets(&frame, size), *expected = expect_packets(&frame, size);
    g_assert_true(memcmp(out, expected, size + 8) == 0);
    g_free(out);
    g_free(expected);
  }
  printf("round %u: %u blocks, %u packets, %u large, %u without room\n", round,
         frame.plan->num_blocks, frame.plan->num_precincts, frame.totals.num_large, num_long);
  frame_clear(&frame);
}

int main(int argc, char **argv)
{
  uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20;
  Random random = {argc > 2 ? (uint64_t)atoi(argv[2]) : 1};

  for (uint32_t round = 0; round < rounds; round++)
    run(&random, round);
  return 0;
}
