/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * refine ROUNDS SEED: the kernel that reads raw magnitude refinement passes, run by fibers.h,
 * against the CPU's reader of raw bits: for code-blocks of any size, with any bytes (many are 0xFF
 * or end the data as markers do), of which any number has been read before. Prints TAP.
 */
#include "common/cpu/mq/decoder.h"
#include "common/shared/mq_blocks.h"
#include "cuda/shared/decode_kernels.h"

#include <glib.h>
#include <string.h>

#define MAX_BLOCKS  12
#define MAX_PASSES  62
#define MAX_PLANES  22 /* bit-planes of so many passes */
#define MAX_OCTETS  256
#define MAX_BYTES   (CJ2K_MQ_MAX_SAMPLES / 7 + 128)
#define BLOCK_WORDS (MAX_OCTETS * (4 + MAX_PLANES + 1) + 8 * MAX_PLANES + 4)

/* A frame of code-blocks whose passes have been decoded but for these. */
typedef struct {
  Cj2kCudaDecodeBlocks job;
  Cj2kCudaBlock blocks[MAX_BLOCKS];
  Cj2kCudaBandStep steps[1];
  Cj2kCodedBlock coded[MAX_BLOCKS];
  uint32_t order[MAX_BLOCKS], offsets[MAX_BLOCKS], passes[MAX_BLOCKS];
  uint32_t planes[MAX_BLOCKS * BLOCK_WORDS], expected[MAX_BLOCKS * BLOCK_WORDS];
  uint8_t bytes[MAX_BLOCKS][MAX_PLANES][MAX_BYTES];
} Frame;

static uint32_t random_to(GRand *rand, uint32_t most)
{
  return (uint32_t)g_rand_int_range(rand, 0, (gint32)most + 1);
}

static uint8_t random_byte(GRand *rand, uint32_t kind)
{
  uint32_t byte = g_rand_int(rand) & 0xff;

  return (uint8_t)(kind && !random_to(rand, 3) ? 0xff : kind == 1 ? byte & 0x8f : byte);
}

/* ---------------------------------------------------------------------------------- bits --- */

/* Bytes of a segment, of which the first ones have been read, and of their bits all but the last
 * ones taken: what the kernel gets, and the same for the CPU. */
static void draw_bits(GRand *rand, uint8_t *bytes, Cj2kCudaRawBits *bits, RawDecoder *cpu)
{
  uint32_t kind = random_to(rand, 2), size = random_to(rand, random_to(rand, 1) ? 40 : MAX_BYTES);
  uint32_t taken = random_to(rand, 300), read = 0;

  for (uint32_t i = 0; i < size; i++)
    bytes[i] = random_byte(rand, kind);
  *bits = (Cj2kCudaRawBits){.next = bytes, .end = bytes + size};
  raw_start(cpu, bytes, bytes + size);
  for (uint32_t i = 0; i < taken; i++)
    (void)raw_decode(cpu);
  /* Byte by byte, as the decoder of symbols fills its register. */
  for (uint32_t more = random_to(rand, 55); read < taken + more;) {
    uint32_t n = bits->after_ff ? 7 : 8, byte = 0xff;
    if (bits->next >= bits->end || (bits->after_ff && *bits->next > 0x8f))
      n = 8;
    else
      byte = *bits->next++;
    bits->after_ff = byte == 0xff;
    for (uint32_t i = n; i-- > 0; read++)
      if (read >= taken)
        bits->queue |= (uint64_t)(byte >> i & 1) << (63 - bits->count++);
  }
}

/* -------------------------------------------------------------------------------- blocks --- */

static void draw_block(Frame *frame, GRand *rand, uint32_t b)
{
  Cj2kCudaBlock *block = &frame->blocks[b];
  uint32_t most = random_to(rand, 2) ? 64 : 1024;

  block->width = (uint16_t)(1 + random_to(rand, most - 1));
  block->height =
      (uint16_t)(1 + random_to(rand, MIN(4096 / ((block->width + 7u) & ~7u), 1024) - 1));
  block->style = random_to(rand, 5) ? CJ2K_STYLE_BYPASS : 0;
  block->style |= random_to(rand, 3) ? 0 : CJ2K_STYLE_TERMALL;
  frame->coded[b].num_passes = (uint8_t)(1 + random_to(rand, MAX_PASSES - 1));
  frame->passes[b] =
      random_to(rand, 2) ? frame->coded[b].num_passes : random_to(rand, frame->coded[b].num_passes);
}

/* Bits of the samples of an octet that exist. */
static uint32_t valid_samples(const Cj2kCudaBlock *block, uint32_t octet)
{
  uint32_t across = (block->width + 7u) / 8, samples = 0;

  for (uint32_t i = 0; i < 32; i++)
    if (octet % across * 8 + i / 4 < block->width && octet / across * 4 + i % 4 < block->height)
      samples |= 1u << i;
  return samples;
}

/* Fills the bit-planes of a block: in planes with raw passes only samples that become significant.
 */
static void draw_planes(GRand *rand, const Cj2kCudaBlock *block, uint32_t octets, uint32_t depths,
                        uint32_t *planes)
{
  uint32_t thin = random_to(rand, 6);

  for (uint32_t o = 0; o < octets; o++) {
    uint32_t above = 0, valid = valid_samples(block, o);
    for (uint32_t d = 0; d < depths; d++) {
      uint32_t word = valid & g_rand_int(rand);
      for (uint32_t i = 0; i < thin; i++)
        word &= g_rand_int(rand);
      if (d >= CJ2K_CUDA_MQ_FIRST_RAW_PLANE)
        word &= ~above;
      planes[d * octets + o] = word;
      above |= word;
    }
  }
}

/* Reads a plane's bits as the CPU does: octets in their order, samples from the lowest bit on. */
static void refine(const uint32_t *before, uint32_t octets, uint32_t depth, RawDecoder *cpu,
                   uint32_t *planes)
{
  for (uint32_t o = 0; o < octets; o++) {
    uint32_t above = 0;
    for (uint32_t d = 0; d < depth; d++)
      above |= before[d * octets + o];
    for (uint32_t i = 0; i < 32; i++)
      if (above >> i & 1)
        planes[depth * octets + o] |= raw_decode(cpu) << i;
  }
}

/* Puts block b at `offset` and decides what is expected of it. Returns its words. */
static uint32_t make_block(Frame *frame, GRand *rand, uint32_t b, uint32_t offset, bool large)
{
  const Cj2kCudaBlock *block = &frame->blocks[b];
  uint32_t passes = frame->coded[b].num_passes, raw = 0;
  uint32_t octets = CJ2K_CUDA_MQ_OCTETS(block->width, block->height);
  uint32_t words = CJ2K_CUDA_MQ_PLANE_WORDS(octets, passes, large);
  uint32_t *planes = frame->planes + offset, *expected = frame->expected + offset;
  Cj2kCudaRawBits *bits = (Cj2kCudaRawBits *)(void *)(planes + words);

  if (block->style & CJ2K_STYLE_BYPASS)
    raw = CJ2K_CUDA_MQ_RAW_PLANES(passes);
  draw_planes(rand, block, octets, 1 + cj2k_pass_depth(passes - 1), planes + 3 * octets);
  memcpy(expected, planes, words * sizeof *planes);
  for (uint32_t i = 0; i < raw; i++) {
    uint32_t depth = CJ2K_CUDA_MQ_FIRST_RAW_PLANE + i;
    RawDecoder cpu;
    draw_bits(rand, frame->bytes[b][i], &bits[i], &cpu);
    if (3 * depth <= frame->passes[b])
      refine(planes + 3 * octets, octets, depth, &cpu, expected + 3 * octets);
  }
  memcpy(expected + words, bits, raw * sizeof *bits);
  frame->job.mq.raw_planes = MAX(frame->job.mq.raw_planes, raw);
  return words + (uint32_t)(raw * sizeof *bits / sizeof *planes);
}

/* Returns the words of all blocks. */
static uint32_t make_frame(Frame *frame, GRand *rand)
{
  uint32_t n = 1 + random_to(rand, MAX_BLOCKS - 1), words = 0, most = 0;

  memset(frame, 0, sizeof *frame);
  for (uint32_t b = 0; b < n; b++) {
    draw_block(frame, rand, b);
    most = MAX(most, CJ2K_CUDA_MQ_OCTETS(frame->blocks[b].width, frame->blocks[b].height));
  }
  for (uint32_t i = 0; i < n; i++)
    frame->order[i] = i;
  for (uint32_t b = 0; b < n; b++) {
    frame->offsets[b] = words;
    words += make_block(frame, rand, b, words, most > CJ2K_CUDA_MQ_SMALL);
  }
  frame->job.blocks = frame->blocks;
  frame->job.steps = frame->steps;
  frame->job.coded = frame->coded;
  frame->job.num_blocks = n;
  frame->job.mq.order = frame->order;
  frame->job.mq.offsets = frame->offsets;
  frame->job.mq.passes = frame->passes;
  frame->job.mq.planes = frame->planes;
  frame->job.mq.count = n;
  frame->job.mq.max_octets = most;
  return words;
}

int main(int argc, char **argv)
{
  uint32_t rounds = argc > 1 ? (uint32_t)g_ascii_strtoull(argv[1], NULL, 10) : 20, failed = 0;
  GRand *rand = g_rand_new_with_seed(argc > 2 ? (guint32)g_ascii_strtoull(argv[2], NULL, 10) : 1);
  Frame *frame = g_new(Frame, 1);

  for (uint32_t round = 0; round < rounds; round++) {
    uint32_t words = make_frame(frame, rand);
    g_assert_cmpint(cj2k_cuda_mq_refine(&frame->job, NULL), ==, cudaSuccess);
    bool same = memcmp(frame->planes, frame->expected, words * sizeof *frame->planes) == 0;
    failed += !same;
    g_print("%sok %u - %u blocks, up to %u octets, %u raw planes\n", same ? "" : "not ", round + 1,
            frame->job.num_blocks, frame->job.mq.max_octets, frame->job.mq.raw_planes);
  }
  g_print("1..%u\n", rounds);
  g_free(frame);
  g_rand_free(rand);
  return failed > 0;
}
