/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mq-encode ROUNDS SEED: the kernels of MQ encoding, run by fibers.h, against the CPU's coder: for
 * code-blocks of any size, style and number of bit-planes the same bytes, lengths of passes and
 * distortions. Prints TAP.
 */
#include "common/cpu/blockcoder.h"
#include "cuda/mq/encode_kernels.h"

#include <glib.h>
#include <string.h>

#define MAX_SAMPLES 4096
#define MAX_BLOCKS  20
#define MAX_BYTES   (1 << 17)
#define SYMBOL_ROOM 3

/* The code-blocks of a frame: samples as the CPU takes them, and coefficients as kernels do. */
typedef struct {
  uint32_t num_blocks, max_width, max_height, max_planes, lowest;
  Cj2kCudaEncodeBlock blocks[MAX_BLOCKS];
  Cj2kFrameQuantiser quantisers[MAX_BLOCKS]; /* each block has a band of its own */
  uint32_t samples[MAX_BLOCKS][MAX_SAMPLES], coefficients[MAX_BLOCKS][MAX_SAMPLES];
} Frame;

static uint32_t random_to(GRand *rand, uint32_t most)
{
  return (uint32_t)g_rand_int_range(rand, 0, (gint32)most + 1);
}

/* Fills a block: many ones in the lower planes, or few samples that are not zero. */
static void fill(Frame *frame, GRand *rand, uint32_t b, uint32_t planes)
{
  const Cj2kCudaEncodeBlock *block = &frame->blocks[b];
  bool sparse = random_to(rand, 3) == 0, ones = random_to(rand, 5) == 0;

  for (uint32_t i = 0; i < (uint32_t)block->width * block->height; i++) {
    uint32_t shift = random_to(rand, planes), negative = random_to(rand, 1);
    uint32_t value = ones ? (1u << planes) - 1 : g_rand_int(rand) & ((1u << planes) - 1);
    value = sparse && random_to(rand, 15) ? 0 : value >> (ones ? 0 : shift);
    float real = negative ? -(float)value : (float)value;
    frame->samples[b][i] = value ? negative << 31 | value : 0;
    if (block->reversible)
      frame->coefficients[b][i] = negative ? 0 - value : value;
    else
      memcpy(&frame->coefficients[b][i], &real, sizeof real);
  }
}

static void make_block(Frame *frame, GRand *rand, uint32_t b)
{
  Cj2kCudaEncodeBlock *block = &frame->blocks[b];
  uint32_t planes = 1 + random_to(rand, frame->max_planes - 1);

  *block = (Cj2kCudaEncodeBlock){.offset = (uint64_t)b * MAX_SAMPLES,
                                 .band = b,
                                 .width = (uint16_t)(1 + random_to(rand, frame->max_width - 1)),
                                 .height = (uint16_t)(1 + random_to(rand, frame->max_height - 1)),
                                 .reversible = (uint8_t)random_to(rand, 1),
                                 .orientation = (uint8_t)random_to(rand, 3),
                                 .style = (uint8_t)random_to(rand, 63)};
  if (random_to(rand, 2)) {
    block->width = (uint16_t)frame->max_width;
    block->height = (uint16_t)frame->max_height;
  }
  block->stride = block->width;
  frame->quantisers[b] = (Cj2kFrameQuantiser){1, (uint8_t)frame->max_planes};
  fill(frame, rand, b, planes);
}

static Frame *make_frame(GRand *rand)
{
  static const uint16_t sizes[][2] = {{32, 32},  {64, 64},  {64, 32}, {16, 64},
                                      {4, 1024}, {1024, 4}, {4, 4}};
  uint32_t size = random_to(rand, G_N_ELEMENTS(sizes) - 1);
  Frame *frame = g_new0(Frame, 1);

  frame->max_width = sizes[size][0];
  frame->max_height = sizes[size][1];
  frame->max_planes = 1 + random_to(rand, 17);
  frame->lowest = random_to(rand, MIN(frame->max_planes - 1, 2));
  frame->num_blocks = 1 + random_to(rand, MAX_BLOCKS - 1);
  for (uint32_t b = 0; b < frame->num_blocks; b++)
    make_block(frame, rand, b);
  return frame;
}

/* Memory filled with what is no label, length or offset. */
static void *dirty(size_t size)
{
  return memset(g_malloc(size), 0xFF, size);
}

/* The arrays of a frame. The first one has what was allocated for the others. */
static Cj2kCudaMqCode make_job(const Frame *frame, GPtrArray *arrays)
{
  uint32_t num = frame->num_blocks, passes = CJ2K_CUDA_MQ_PASSES(frame->max_planes);
  uint64_t symbols = (uint64_t)num * MAX_SAMPLES * (frame->max_planes + 1) * 2;
  uint64_t room = cj2k_cuda_mq_whole_room(symbols, SYMBOL_ROOM, num, passes);
  Cj2kCudaMqCode job = {.contexts = {.blocks = frame->blocks,
                                     .coefficients = frame->coefficients[0],
                                     .quantisers = frame->quantisers,
                                     .num_blocks = num,
                                     .stride = 1,
                                     .lowest_plane = frame->lowest,
                                     .max_width = frame->max_width,
                                     .max_height = frame->max_height,
                                     .max_planes = frame->max_planes,
                                     .symbols = dirty(symbols + 64),
                                     .capacity = symbols,
                                     .mq_blocks = dirty(num * sizeof(Cj2kCudaMqBlock)),
                                     .distortions = dirty(num * passes * sizeof(uint64_t))},
                        .counts = g_new0(Cj2kCudaMqFrameCounts, 1),
                        .symbol_room = SYMBOL_ROOM,
                        .order = dirty(num * sizeof(uint32_t)),
                        .room = dirty(room),
                        .rooms = dirty(num * sizeof(uint64_t)),
                        .marks = dirty(num * passes * sizeof(Cj2kCudaMqMark)),
                        .bytes = dirty(num * MAX_BYTES),
                        .capacity = num * MAX_BYTES,
                        .coded = dirty(num * sizeof(Cj2kEncodedBlock)),
                        .passes = dirty(num * passes * sizeof(Cj2kPassLength)),
                        .pass_capacity = num * passes};
  void *all[] = {job.contexts.symbols,
                 job.contexts.mq_blocks,
                 job.contexts.distortions,
                 job.counts,
                 job.order,
                 job.room,
                 job.rooms,
                 job.marks,
                 job.bytes,
                 job.coded,
                 job.passes};

  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    g_ptr_array_add(arrays, all[i]);
  job.contexts.counts = &job.counts->modelled;
  return job;
}

/* Does the record of a block, with what belongs to it, say the same as the CPU's coder? */
static bool is_same(const Frame *frame, const Cj2kCudaMqCode *job, uint32_t b,
                    Cj2kBlockScratch *scratch)
{
  static uint8_t out[MAX_BYTES];
  const Cj2kCudaEncodeBlock *block = &frame->blocks[b];
  const Cj2kEncodedBlock *coded = &job->coded[b];
  const uint64_t *distortions =
      job->contexts.distortions + (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame->max_planes);
  Cj2kBlockSource source = {
      frame->samples[b],          block->stride,      block->width, block->height,
      (uint8_t)frame->max_planes, block->orientation, block->style, block->reversible};
  Cj2kPassEnd passes[CJ2K_MAX_PASSES];
  Cj2kBlockResult result;

  g_assert_true(cj2k_mq_encode_block(scratch, &source, (uint8_t)frame->lowest, out, MAX_BYTES,
                                     passes, &result));
  bool same = coded->num_passes == result.num_passes && coded->length == result.length &&
              coded->zero_bitplanes == result.zero_bitplanes &&
              memcmp(job->bytes + coded->offset, out, result.length) == 0;
  for (uint32_t p = 0; same && p < result.num_passes; p++) {
    Cj2kPassLength length = job->passes[coded->first_pass + p];
    same = length.length == passes[p].length && length.terminated == passes[p].terminated &&
           distortions[p] == passes[p].distortion;
  }
  if (!same)
    g_print("# block %u: %ux%u, style %u: %u bytes, %u passes in place of %u, %u\n", b,
            block->width, block->height, block->style, coded->length, coded->num_passes,
            result.length, result.num_passes);
  return same;
}

/* The room that the host reserves if the symbols have no more than they need. */
static uint64_t least_room(const Frame *frame, const Cj2kCudaMqCode *job)
{
  return cj2k_cuda_mq_whole_room(job->counts->modelled.symbols, SYMBOL_ROOM, frame->num_blocks,
                                 CJ2K_CUDA_MQ_PASSES(frame->max_planes));
}

static bool check(GRand *rand, Cj2kBlockScratch *scratch)
{
  Frame *frame = make_frame(rand);
  GPtrArray *arrays = g_ptr_array_new_with_free_func(g_free);
  Cj2kCudaMqCode job = make_job(frame, arrays);
  bool same = true;

  g_assert_true(cj2k_cuda_mq_contexts(&job.contexts, NULL) == cudaSuccess);
  g_assert_true(cj2k_cuda_mq_code(&job, NULL) == cudaSuccess);
  g_assert_cmpuint(job.counts->coded.failed, ==, 0);
  g_assert_cmpuint(job.counts->modelled.symbols, <=, job.contexts.capacity);
  g_assert_cmpuint(job.counts->room, <=, least_room(frame, &job));
  for (uint32_t b = 0; b < frame->num_blocks; b++)
    same &= is_same(frame, &job, b, scratch);
  g_ptr_array_unref(arrays);
  g_free(frame);
  return same;
}

int main(int argc, char **argv)
{
  guint64 rounds = argc > 1 ? g_ascii_strtoull(argv[1], NULL, 10) : 20;
  GRand *rand = g_rand_new_with_seed(argc > 2 ? (guint32)g_ascii_strtoull(argv[2], NULL, 10) : 1);
  Cj2kBlockScratch *scratch = cj2k_block_scratch_new();
  int failed = 0;

  for (guint64 i = 0; i < rounds; i++) {
    bool same = check(rand, scratch);
    g_print("%sok %" G_GUINT64_FORMAT " - frame\n", same ? "" : "not ", i + 1);
    failed += !same;
  }
  g_print("1..%" G_GUINT64_FORMAT "\n", rounds);
  cj2k_block_scratch_free(scratch);
  g_rand_free(rand);
  return failed != 0;
}
