/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel that cuts HT frames against rate control: for made-up lengths and distortions both
 * must choose the same blocks and planes, or the kernel must leave it to the host where the host
 * goes another way. Prints TAP. cut-equal [ROUNDS [SEED]]
 */
#include "cuda/shared/cut.h"

#include "common/codestream/header_bits.h"
#include "common/rate/coding_ht.h"
#include "common/rate/fit.h"
#include "tests/cuda/shared-memory.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define ZEROS   5 /* zero bit-planes of blocks at plane 0 */
#define BANDS   5
#define CASES   25 /* of a round */
#define STRIDES 3

/* A frame, and memory that both sides can read. */
typedef struct {
  Cj2kPlan plan;
  Cj2kPlanBand bands[BANDS];
  Cj2kPlanTileComp tile_comp;
  Cj2kPlanBlock *plan_blocks;
  uint32_t num_precincts;
  Cj2kCudaCut cut;
  Cj2kCudaCutLimits *limits; /* of `cut` */
  Cj2kCudaEncodeBlock *blocks;
  Cj2kCudaEncodeCounts *counts;
  uint32_t *coded, *lengths;
  uint32_t *measured; /* `lengths` as the kernel gets them: at plane 0 nobody has measured them */
  uint64_t *distortions;
  Cj2kPacketSize *sizes;
  double *weights;
  Cj2kPacketStep *steps;
  uint64_t total, bodies;
} Frame;

/* What the host decides. */
typedef struct {
  Cj2kCudaCutState state;
  Cj2kHtBlocks ht;
  Cj2kSelection selection;
} Expected;

/* ---------------------------------------------------------------------------------- frames --- */

/* Few different values, so that slopes are equal and some blocks are left out, or many. A block may
 * be longer at plane 1, or gain nothing by plane 0. */
static void draw_block(Frame *frame, GRand *rand, uint32_t b, bool few)
{
  uint32_t *lengths = frame->lengths + 2 * (size_t)b, coarse = few ? 64 : 1;
  uint64_t *distortions = frame->distortions + 2 * (size_t)b;
  uint32_t length = (uint32_t)g_rand_int_range(rand, 0, 4096) / coarse * coarse;
  double gain = length * g_rand_double_range(rand, few ? 1e5 : 1e3, 1e6);

  frame->blocks[b].band = frame->plan_blocks[b].band = (uint32_t)g_rand_int_range(rand, 0, BANDS);
  if (g_rand_int_range(rand, 0, 12) == 0)
    length = 0;
  frame->coded[b] = lengths[0] = length;
  frame->measured[2 * (size_t)b] = UINT32_MAX;
  lengths[1] = length * 3 / 4 / coarse * coarse;
  if (g_rand_int_range(rand, 0, 20) == 0)
    lengths[1] = (uint32_t)g_rand_int_range(rand, 0, (int)length + 20);
  frame->measured[2 * (size_t)b + 1] = lengths[1];
  distortions[0] = few ? (uint64_t)length * 300000 : (uint64_t)gain;
  distortions[1] = distortions[0] / 10 * 9;
  if (g_rand_int_range(rand, 0, 20) == 0)
    distortions[1] = (uint64_t)(gain * g_rand_double_range(rand, 0, 1.2));
}

/* Divides the blocks among packets. */
static void draw_packets(Frame *frame, GRand *rand)
{
  uint32_t n = frame->num_precincts;

  g_assert_cmpuint(n, >, 0);
  for (uint32_t p = 0; p < n; p++) {
    frame->steps[p] = (Cj2kPacketStep){n - 1 - p, p ? 0 : 150};
    frame->sizes[p].header = (uint32_t)g_rand_int_range(rand, 1, 2000);
  }
  for (uint32_t b = 0; b < frame->plan.num_blocks; b++)
    frame->sizes[b % n].body += frame->coded[b];
}

/* Makes room for what is drawn of n blocks. */
static void get_lengths(Frame *frame, size_t n)
{
  frame->coded = get(n, sizeof *frame->coded);
  frame->lengths = get(2 * n, sizeof *frame->lengths);
  frame->measured = get(2 * n, sizeof *frame->measured);
  frame->distortions = get(2 * n, sizeof *frame->distortions);
}

static void frame_init(Frame *frame, GRand *rand)
{
  static const uint32_t strides[STRIDES] = {CJ2K_HT_CUT_STRIDE, 11, 3};
  uint32_t stride = strides[g_rand_int_range(rand, 0, STRIDES)];
  uint32_t n = (uint32_t)g_rand_int_range(rand, 200, g_rand_int_range(rand, 201, 9000));
  bool few = g_rand_boolean(rand);

  *frame = (Frame){.num_precincts = (uint32_t)g_rand_int_range(rand, 1, 300)};
  frame->plan_blocks = g_new0(Cj2kPlanBlock, n);
  frame->plan = (Cj2kPlan){.num_blocks = n,
                           .num_bands = BANDS,
                           .num_components = 1,
                           .num_tile_comps = 1,
                           .bands = frame->bands,
                           .tile_comps = &frame->tile_comp,
                           .blocks = frame->plan_blocks};
  frame->blocks = get(n, sizeof *frame->blocks);
  frame->counts = get(1, sizeof *frame->counts);
  get_lengths(frame, n);
  frame->sizes = get(frame->num_precincts, sizeof *frame->sizes);
  frame->weights = get(BANDS, sizeof *frame->weights);
  frame->steps = get(frame->num_precincts, sizeof *frame->steps);
  for (uint32_t i = 0; i < BANDS; i++)
    frame->weights[i] = few ? 1e-9 : g_rand_double_range(rand, 1e-12, 1e-9);
  for (uint32_t b = 0; b < n; b++)
    draw_block(frame, rand, b, few);
  draw_packets(frame, rand);
  frame->limits = get(1, sizeof *frame->limits);
  frame->cut = (Cj2kCudaCut){.limits = frame->limits,
                             .blocks = frame->blocks,
                             .num_blocks = n,
                             .stride = stride,
                             .counts = frame->counts,
                             .capacity = 1000,
                             .coded = frame->coded,
                             .lengths = frame->measured,
                             .distortions = frame->distortions,
                             .sizes = frame->sizes,
                             .weights = frame->weights,
                             .steps = frame->steps,
                             .num_steps = frame->num_precincts,
                             .behind_header = 2,
                             .behind_all = 2,
                             .sop = 6,
                             .plt = g_rand_boolean(rand),
                             .result = get(1, sizeof *frame->cut.result),
                             .host_result = get(1, sizeof *frame->cut.host_result),
                             .records = get(n, sizeof *frame->cut.records),
                             .list = get(CJ2K_CUDA_CUT_BLOCKS, sizeof *frame->cut.list),
                             .host_list = get(CJ2K_CUDA_CUT_BLOCKS, sizeof *frame->cut.list),
                             .host_lengths = get(2 * (size_t)n, sizeof *frame->lengths),
                             .host_distortions = get(2 * (size_t)n, sizeof *frame->distortions)};
  frame->total = 150 + frame->cut.behind_all;
  for (uint32_t p = 0; p < frame->num_precincts; p++) {
    frame->bodies += frame->sizes[p].body;
    uint64_t packet = frame->sizes[p].header + frame->cut.behind_header + frame->sizes[p].body;
    frame->total += packet;
    frame->total += frame->cut.plt ? cj2k_length_entry_bytes(frame->cut.sop + packet) : 0;
  }
}

static void frame_clear(Frame *frame)
{
  void *const memory[] = {
      frame->limits,        frame->blocks,           frame->counts,
      frame->coded,         frame->lengths,          frame->distortions,
      frame->sizes,         frame->weights,          frame->steps,
      frame->cut.result,    frame->cut.host_result,  frame->cut.list,
      frame->cut.host_list, frame->cut.host_lengths, frame->cut.host_distortions,
      frame->cut.records,   frame->measured};

  for (guint i = 0; i < G_N_ELEMENTS(memory); i++)
    put(memory[i]);
  g_free(frame->plan_blocks);
}

/* ---------------------------------------------------------------------------------- the host ---
 */

/* The bytes that the measured blocks save at plane 1. */
static uint64_t can_save(const Frame *frame)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < frame->plan.num_blocks; b += frame->cut.stride) {
    const uint32_t *lengths = frame->lengths + 2 * (size_t)b;
    sum += lengths[0] - MIN(lengths[0], lengths[1]);
  }
  return sum;
}

static Cj2kCudaCutState decide(Frame *frame, Cj2kHulls *hulls, Expected *expected)
{
  const Cj2kCudaCut *cut = &frame->cut;
  const Cj2kFrameQuantiser quantisers[BANDS] = {0};
  const Cj2kCudaCutLimits *limits = frame->limits;
  const Cj2kCeilings ceilings = cj2k_ceilings(limits->budget, UINT64_MAX, 1, false);
  const Cj2kFitTask task = {.ceilings = &ceilings, .least_bytes = 100, .ht = true};
  Cj2kFit fit = {.header_bytes = frame->total - frame->bodies};
  uint64_t over = frame->total - limits->budget, least;

  if (frame->total <= limits->budget)
    return frame->total >= limits->least ? CJ2K_CUDA_CUT_WHOLE : CJ2K_CUDA_CUT_NONE;
  if (frame->total > limits->most || can_save(frame) <= over + over / 4)
    return CJ2K_CUDA_CUT_NONE;
  cj2k_ht_blocks_coded(&expected->ht, &frame->plan, quantisers, NULL, frame->coded);
  cj2k_hulls_set_planes(hulls, frame->lengths, frame->distortions, 2, frame->weights, cut->stride,
                        frame->coded);
  if (!cj2k_fit_first(&task, hulls, &expected->selection, &fit, &least))
    return CJ2K_CUDA_CUT_NONE;
  cj2k_ht_blocks_choose(&expected->ht, &frame->plan, 0, 2, &expected->selection);
  return cj2k_ht_blocks_have_room(&expected->ht, &frame->plan, quantisers,
                                  expected->selection.lengths)
             ? CJ2K_CUDA_CUT_SOME
             : CJ2K_CUDA_CUT_NONE;
}

/* ----------------------------------------------------------------------------------- compare ---
 */

static bool same_list(const Frame *frame, const Expected *expected)
{
  const Cj2kCudaCut *cut = &frame->cut;
  uint32_t count = 0;

  for (uint32_t b = 0; b < cut->num_blocks; b++) {
    Cj2kHtChoice choice = expected->ht.choices[b];
    count += frame->coded[b] && (choice.plane || !choice.passes);
  }
  if (cut->result->count != count)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    Cj2kCudaAgain again = cut->list[i], host = cut->host_list[i];
    Cj2kHtChoice choice = expected->ht.choices[again.block];
    if (again.choice.plane != choice.plane || again.choice.passes != choice.passes ||
        again.length != expected->selection.lengths[again.block] || host.block != again.block ||
        host.length != again.length || host.choice.plane != again.choice.plane ||
        host.choice.passes != again.choice.passes)
      return false;
  }
  return true;
}

/* The records of blocks at plane 0. */
static void set_records(const Frame *frame)
{
  for (uint32_t b = 0; b < frame->cut.num_blocks; b++)
    frame->cut.records[b] = (Cj2kEncodedBlock){.offset = 16 * (uint64_t)b,
                                               .length = frame->coded[b],
                                               .num_passes = frame->coded[b] > 0,
                                               .zero_bitplanes = frame->coded[b] ? ZEROS : 0};
}

/* Records are as coding the listed blocks again makes them, and stay as they were if none is. */
static bool same_records(const Frame *frame, const Expected *expected)
{
  for (uint32_t b = 0; b < frame->cut.num_blocks; b++) {
    const Cj2kEncodedBlock *record = &frame->cut.records[b];
    bool cut = expected->state == CJ2K_CUDA_CUT_SOME && frame->coded[b];
    Cj2kHtChoice choice = cut ? expected->ht.choices[b] : (Cj2kHtChoice){0, 1};
    uint32_t length = cut ? expected->selection.lengths[b] : frame->coded[b];
    bool any = choice.passes && frame->coded[b];
    if (record->length != length || record->num_passes != any ||
        record->offset != 16 * (uint64_t)b ||
        record->zero_bitplanes != (any ? ZEROS - choice.plane : 0))
      return false;
  }
  return true;
}

/* What was measured has been copied for the host. */
static bool same_copies(const Frame *frame)
{
  const Cj2kCudaCut *cut = &frame->cut;

  for (uint32_t b = 0; b < cut->num_blocks; b += cut->stride)
    for (size_t at = 2 * (size_t)b; at < 2 * (size_t)b + 2; at++)
      if (cut->host_lengths[at] != frame->lengths[at] ||
          cut->host_distortions[at] != frame->distortions[at])
        return false;
  return true;
}

/* Cuts to a budget, which is `part` of the bytes at plane 0. */
static bool run_case(Frame *frame, Cj2kHulls *hulls, Expected *expected, double part,
                     uint32_t *states)
{
  Cj2kCudaCut *cut = &frame->cut;
  Cj2kCudaCutLimits *limits = frame->limits;

  limits->budget = (uint64_t)((double)frame->total * part);
  const Cj2kCeilings ceilings = {.frame = limits->budget};
  if (!cj2k_fit_margin(&(Cj2kFitTask){.ceilings = &ceilings, .ht = true}, &limits->margin))
    return true;
  limits->least = limits->budget - limits->budget / 64;
  limits->most = limits->budget + limits->budget / 64;
  *cut->result = (Cj2kCudaCutResult){99, 99};
  set_records(frame);
  g_assert_cmpint(cj2k_cuda_ht_cut(cut, NULL), ==, cudaSuccess);
#ifndef ON_CPU
  g_assert_cmpint(cudaStreamSynchronize(NULL), ==, cudaSuccess);
#endif
  expected->state = decide(frame, hulls, expected);
  bool same = cut->result->state == expected->state && cut->host_result->state == expected->state &&
              cut->host_result->count == cut->result->count && same_copies(frame) &&
              same_records(frame, expected);
  states[expected->state]++;
  if (expected->state == CJ2K_CUDA_CUT_SOME)
    return same && same_list(frame, expected);
  return same && !cut->result->count;
}

/* Blocks that had no room, or are not coded legally: the host finds out itself. */
static bool refuses(Frame *frame, uint64_t bytes, uint64_t failed)
{
  Cj2kCudaCut *cut = &frame->cut;

  *frame->counts = (Cj2kCudaEncodeCounts){.bytes = bytes, .failed = failed};
  g_assert_cmpint(cj2k_cuda_ht_cut(cut, NULL), ==, cudaSuccess);
#ifndef ON_CPU
  g_assert_cmpint(cudaStreamSynchronize(NULL), ==, cudaSuccess);
#endif
  *frame->counts = (Cj2kCudaEncodeCounts){0};
  return cut->result->state == CJ2K_CUDA_CUT_NONE && same_copies(frame);
}

static bool run_round(GRand *rand, uint32_t round, uint32_t *states)
{
  Frame frame;
  Expected expected;
  Cj2kHulls hulls;
  bool same = true;

  frame_init(&frame, rand);
  cj2k_hulls_init(&hulls, &frame.plan, 2, NULL);
  cj2k_selection_init(&expected.selection, frame.plan.num_blocks);
  cj2k_ht_blocks_init(&expected.ht, &frame.plan);
  for (uint32_t i = 0; i < CASES; i++) {
    bool one = run_case(&frame, &hulls, &expected, g_rand_double_range(rand, 0.98, 1.02), states);
    if (!one)
      g_print("# round %u, case %u: %u blocks, stride %u, budget %" G_GUINT64_FORMAT
              " of %" G_GUINT64_FORMAT ": state %u of %d, %u blocks\n",
              round, i, frame.plan.num_blocks, frame.cut.stride, frame.limits->budget, frame.total,
              frame.cut.result->state, expected.state, frame.cut.result->count);
    same &= one;
  }
  same &= refuses(&frame, frame.cut.capacity + 1, 0) && refuses(&frame, 0, 1);
  cj2k_hulls_clear(&hulls);
  cj2k_selection_clear(&expected.selection);
  cj2k_ht_blocks_clear(&expected.ht);
  frame_clear(&frame);
  return same;
}

int main(int argc, char **argv)
{
  uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20, states[3] = {0};
  bool all = true;

#ifndef ON_CPU
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    g_print("1..0 # SKIP no GPU\n");
    return 0;
  }
#endif
  GRand *rand = g_rand_new_with_seed(argc > 2 ? (guint32)atoi(argv[2]) : 1);
  for (uint32_t round = 0; round < rounds; round++) {
    bool ok = run_round(rand, round, states);
    g_print("%sok %u - round %u\n", ok ? "" : "not ", round + 1, round);
    all &= ok;
  }
  g_print("# left to the host %u, whole %u, cut %u\n", states[0], states[1], states[2]);
  bool each =
      states[CJ2K_CUDA_CUT_WHOLE] && states[CJ2K_CUDA_CUT_SOME] && states[CJ2K_CUDA_CUT_NONE];
  g_print("%sok %u - each case occurs\n1..%u\n", each ? "" : "not ", rounds + 1, rounds + 1);
  g_rand_free(rand);
  return !(all && each);
}
