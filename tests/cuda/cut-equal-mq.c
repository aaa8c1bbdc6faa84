/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernels that cut MQ frames against rate control: for made-up hulls both must retain the same
 * passes, or the kernels must leave it to the host where the host goes another way. Prints TAP.
 * cut-equal-mq [ROUNDS [SEED]]
 */
#include "cuda/mq/cut.h"

#include "common/rate/fit.h"
#include "common/rate/headers.h"
#include "common/rate/phases.h"
#include "cuda/host/encode_headers.h"
#include "tests/cuda/shared-memory.h"
#include "tests/unit/made-blocks.h"

#include <stdlib.h>

#define CASES       8 /* of a round */
#define MOST_PASSES 40
#define MANY_BLOCKS 3000
#define MOST_BLOCKS 8000
#define WORDS       14 /* of header bits for a block; they are not made here */

/* A frame, and memory that both sides can read. */
typedef struct {
  Kind kind;
  Cj2kPlan *plan;
  Cj2kCudaHeaderTables tables;
  Cj2kCudaMqCut cut;
  Cj2kEncodedBlock *blocks; /* as they were coded; the records are in cut.frame.coded */
  Cj2kPassLength *passes;
  Cj2kHullPoint *points;
  uint64_t *slope_bytes;
  Cj2kCudaEncodeBlock *bands; /* per block */
  Cj2kCudaHeaderPacket *packets;
  uint32_t num_passes, num_points;
  uint64_t total; /* bytes of all blocks */
} Frame;

/* What the host decides. */
typedef struct {
  Cj2kCudaCutState state;
  Cj2kHulls hulls;
  Cj2kSelection selection, cut;
  uint8_t *nodes;
  Cj2kFit fit;
} Expected;

/* ---------------------------------------------------------------------------------- frames --- */

/* The lengths of passes, if blocks may have several codeword segments. */
static const Cj2kPassLength *ends_of_frame(const Frame *frame)
{
  return frame->kind == MQ_PASSES ? NULL : frame->passes;
}

/* How hulls are drawn. */
typedef struct {
  Kind kind;           /* how many codeword segments blocks have */
  uint32_t most_bytes; /* of a pass */
  uint32_t top, fall;  /* the slope of the first point, and by how much it falls, at most */
  uint32_t in_of_16;   /* blocks that have passes */
  bool tiny;           /* most passes have hardly any bytes, so that cuts are filled up exactly */
} Hulls;

/* Passes of a block, of which some are on its hull. Slopes may be equal, and a point may have no
 * bytes. */
static void draw_passes(Frame *frame, Random *rand, const Hulls *draw, uint32_t b)
{
  Cj2kEncodedBlock *block = &frame->blocks[b];
  uint32_t last = 0, slope = 1 + random_below(rand, draw->top), n = 0;

  block->zero_bitplanes = (uint8_t)random_below(rand, 12);
  block->first_pass = frame->num_passes;
  block->first_point = frame->num_points;
  if (random_below(rand, 16) >= draw->in_of_16)
    return;
  n = 1 + random_below(rand, MOST_PASSES);
  for (uint32_t p = 0; p < n; p++) {
    Cj2kHullPoint *point = &frame->points[frame->num_points];
    bool tiny = draw->tiny && random_below(rand, 4);
    block->length += random_below(rand, tiny ? 3 : draw->most_bytes);
    bool ends = cj2k_pass_ends_segment(p, made_styles[draw->kind]) || p + 1 == n;
    frame->passes[frame->num_passes++] =
        (Cj2kPassLength){.length = block->length, .terminated = ends};
    if (random_below(rand, 3))
      continue;
    *point = (Cj2kHullPoint){block->length - last, (uint16_t)slope, (uint8_t)(p + 1), 0};
    frame->slope_bytes[slope] += point->bytes;
    last = block->length;
    uint32_t fall = random_below(rand, draw->fall);
    slope -= MIN(slope, fall);
    block->num_points++;
    frame->num_points++;
  }
  block->num_passes = (uint8_t)n;
  frame->total += block->length;
}

static void draw_hulls(Frame *frame, Random *rand)
{
  static const uint32_t tops[] = {3, 600, 20000, 65000}, falls[] = {2, 40, 3000};
  uint32_t n = frame->plan->num_blocks;
  Hulls draw = {.kind = frame->kind,
                .most_bytes = 2 + 1600000 / n,
                .top = tops[random_below(rand, G_N_ELEMENTS(tops))],
                .fall = falls[random_below(rand, G_N_ELEMENTS(falls))],
                .in_of_16 = 4 + 4 * random_below(rand, 4),
                .tiny = random_below(rand, 2)};
  Cj2kCudaMqFrameCounts *counts = frame->cut.frame.counts;

  if (n >= MANY_BLOCKS) /* more of a slope than kernels list at once */
    draw = (Hulls){.kind = frame->kind,
                   .most_bytes = 600,
                   .top = 6,
                   .fall = 2,
                   .in_of_16 = 16,
                   .tiny = draw.tiny};
  for (uint32_t b = 0; b < n; b++) {
    draw_passes(frame, rand, &draw, b);
    frame->bands[b].band = frame->plan->blocks[b].band;
  }
  for (uint32_t s = 0; s < CJ2K_SLOPE_CLASSES; s++)
    if (frame->slope_bytes[s]) {
      counts->highest_slope = s;
      counts->lowest_slope_below = MAX(counts->lowest_slope_below, CJ2K_SLOPE_CLASSES - s);
    }
  counts->lengths = frame->total;
  counts->passes = frame->num_passes;
  counts->points = frame->num_points;
}

/* A plan of not too many blocks. */
static Cj2kPlan *draw_plan(Random *rand, Kind kind, bool many)
{
  Cj2kPlan *plan = random_plan(rand, kind);

  while (plan->num_blocks > MOST_BLOCKS || plan->num_blocks < (many ? MANY_BLOCKS : 1)) {
    cj2k_plan_unref(plan);
    plan = random_plan(rand, kind);
  }
  return plan;
}

static void frame_init(Frame *frame, Random *rand, uint32_t round)
{
  static const Kind kinds[] = {MQ_PASSES, BYPASS_PASSES, TERMALL_PASSES};

  memset(frame, 0, sizeof *frame);
  frame->kind = kinds[round % G_N_ELEMENTS(kinds)];
  frame->plan = draw_plan(rand, frame->kind, round % 4 == 1);
  const Cj2kPlan *plan = frame->plan;
  size_t n = plan->num_blocks;
  g_assert_true(cj2k_cuda_header_tables_init(&frame->tables, plan, WORDS, round % 2 ? 0 : 40));
  frame->blocks = g_new0(Cj2kEncodedBlock, n);
  frame->passes = get(n * MOST_PASSES, sizeof *frame->passes);
  frame->points = get(n * MOST_PASSES, sizeof *frame->points);
  frame->slope_bytes = get(CJ2K_SLOPE_CLASSES, sizeof *frame->slope_bytes);
  frame->bands = get(n, sizeof *frame->bands);
  frame->packets = get(plan->num_precincts, sizeof *frame->packets);
  memcpy(frame->packets, frame->tables.packets, plan->num_precincts * sizeof *frame->packets);
  frame->cut =
      (Cj2kCudaMqCut){.frame = {.contexts = {.blocks = frame->bands,
                                             .num_blocks = plan->num_blocks,
                                             .stride = 1,
                                             .capacity = 1000},
                                .counts = get(1, sizeof(Cj2kCudaMqFrameCounts)),
                                .capacity = 1000,
                                .coded = get(n, sizeof(Cj2kEncodedBlock)),
                                .passes = frame->passes,
                                .pass_capacity = n * MOST_PASSES,
                                .points = frame->points,
                                .slope_bytes = frame->slope_bytes},
                      .packets = {.packets = frame->packets,
                                  .num_packets = plan->num_precincts,
                                  .num_large = frame->tables.num_large,
                                  .pass_lengths = ends_of_frame(frame),
                                  .nodes = get(frame->tables.num_nodes, sizeof(Cj2kHeaderNode))},
                      .num_bands = plan->num_bands,
                      .plt = round % 3 == 1,
                      .markers = 4 * random_below(rand, 3),
                      .taken = get(n, sizeof(Cj2kCudaMqTaken)),
                      .state = get(1, sizeof(Cj2kCudaMqCutState)),
                      .host_state = get(1, sizeof(Cj2kCudaMqCutState)),
                      .bands = get(plan->num_bands, sizeof(uint64_t)),
                      .host_bands = get(plan->num_bands, sizeof(uint64_t)),
                      .host_counts = get(1, sizeof(Cj2kCudaMqFrameCounts))};
  frame->cut.packets.blocks = frame->cut.frame.coded;
  draw_hulls(frame, rand);
}

static void frame_clear(Frame *frame)
{
  void *const memory[] = {frame->passes,          frame->points,         frame->slope_bytes,
                          frame->bands,           frame->packets,        frame->cut.frame.counts,
                          frame->cut.frame.coded, frame->cut.taken,      frame->cut.packets.nodes,
                          frame->cut.state,       frame->cut.host_state, frame->cut.bands,
                          frame->cut.host_bands,  frame->cut.host_counts};

  for (guint i = 0; i < G_N_ELEMENTS(memory); i++)
    put(memory[i]);
  cj2k_cuda_header_tables_clear(&frame->tables);
  cj2k_plan_unref(frame->plan);
  g_free(frame->blocks);
}

/* ---------------------------------------------------------------------------------- the host ---
 */

typedef struct {
  const Frame *frame;
  Expected *expected;
} Context;

static uint64_t count_headers(void *ctx, const Cj2kSelection *selection)
{
  const Context *context = ctx;
  const Frame *frame = context->frame;
  const Cj2kHeaderSource source = {.plan = frame->plan,
                                   .blocks = frame->blocks,
                                   .passes = selection->options,
                                   .lengths = selection->lengths,
                                   .ends = ends_of_frame(frame),
                                   .plt = frame->cut.plt,
                                   .markers = frame->cut.markers};

  return frame->cut.empty_bytes + cj2k_headers_count(&source, context->expected->nodes);
}

/* Sets the job's bounds. false: the host would not ask for it. */
static bool set_bounds(Cj2kCudaMqCut *cut)
{
  const Cj2kCeilings ceilings = {.frame = cut->budget};
  const Cj2kFitTask task = {.ceilings = &ceilings};

  cut->least = cj2k_fit_least(&task);
  return cj2k_fit_margin(&task, &cut->margin);
}

static void decide(const Frame *frame, Expected *expected)
{
  const Cj2kCudaMqCut *cut = &frame->cut;
  const Cj2kCeilings ceilings = {.frame = cut->budget};
  Context context = {frame, expected};
  const Cj2kFitTask task = {.ceilings = &ceilings,
                            .least_bytes = cut->empty_bytes,
                            .count_headers = count_headers,
                            .ctx = &context};
  uint64_t least;

  expected->fit = (Cj2kFit){.header_bytes = cut->header_bytes};
  bool first =
      frame->total > cut->budget &&
      cj2k_fit_first(&task, &expected->hulls, &expected->selection, &expected->fit, &least);
  expected->state = first ? CJ2K_CUDA_CUT_SOME : CJ2K_CUDA_CUT_NONE;
}

/* ----------------------------------------------------------------------------------- compare ---
 */

/* The records have what is retained of blocks, and else what they had. */
static bool same_records(const Frame *frame, const Expected *expected)
{
  for (uint32_t b = 0; b < frame->plan->num_blocks; b++) {
    Cj2kEncodedBlock block = frame->blocks[b];
    if (expected->state == CJ2K_CUDA_CUT_SOME) {
      block.num_passes = expected->selection.options[b];
      block.length = expected->selection.lengths[b];
    }
    if (memcmp(&block, &frame->cut.frame.coded[b], sizeof block) != 0)
      return false;
  }
  return true;
}

/* Bytes per band are those of the cut, and so are the factors of steps that follow from them. */
static bool same_bands(const Frame *frame, Expected *expected)
{
  uint64_t *bands = g_new0(uint64_t, frame->plan->num_bands + 1);
  Cj2kStepFactors factors[2];

  cj2k_hulls_apply(&expected->hulls, expected->fit.first_slope, &expected->cut);
  for (uint32_t b = 0; b < frame->plan->num_blocks; b++)
    bands[frame->plan->blocks[b].band] += expected->cut.lengths[b];
  bool same = memcmp(bands, frame->cut.host_bands, frame->plan->num_bands * sizeof *bands) == 0;
  g_free(bands);
  cj2k_phase_factors(frame->plan, expected->cut.lengths, 1, &factors[0]);
  cj2k_phase_factors_of_bands(frame->plan, frame->cut.host_bands, &factors[1]);
  for (guint i = 0; i < G_N_ELEMENTS(factors[0].of); i++)
    same &= factors[0].of[i] == factors[1].of[i];
  return same;
}

static bool same_state(const Frame *frame, Expected *expected)
{
  const Cj2kCudaMqCutState *state = frame->cut.host_state;

  if (state->result.state != expected->state || frame->cut.state->result.state != expected->state)
    return false;
  if (memcmp(frame->cut.host_counts, frame->cut.frame.counts, sizeof *frame->cut.host_counts) != 0)
    return false;
  return expected->state != CJ2K_CUDA_CUT_SOME ||
         (state->slope == expected->fit.first_slope && state->all == expected->hulls.total &&
          frame->cut.empty_bytes + state->headers == expected->fit.first_header_bytes &&
          same_bands(frame, expected));
}

static void run_kernels(Frame *frame)
{
  const Cj2kCudaMqCut *cut = &frame->cut;

  memcpy(cut->frame.coded, frame->blocks, frame->plan->num_blocks * sizeof *frame->blocks);
  memset(cut->state, 0xa5, sizeof *cut->state);
  memset(cut->taken, 0xa5, frame->plan->num_blocks * sizeof *cut->taken);
  memset(cut->bands, 0xa5, frame->plan->num_bands * sizeof *cut->bands);
  g_assert_cmpint(cj2k_cuda_mq_cut(cut, NULL), ==, cudaSuccess);
#ifndef ON_CPU
  g_assert_cmpint(cudaStreamSynchronize(NULL), ==, cudaSuccess);
#endif
}

/* Leaves exactly as much for blocks as a cut has. */
static void take_rest(Frame *frame, Expected *expected)
{
  Cj2kCudaMqCut *cut = &frame->cut;
  const Cj2kFit *fit = &expected->fit;

  decide(frame, expected);
  if (expected->state == CJ2K_CUDA_CUT_SOME)
    cut->empty_bytes += cut->budget - fit->first_header_bytes - cut->margin -
                        cj2k_hulls_bytes(&expected->hulls, fit->first_slope);
}

/* Cuts to a budget. */
static bool run_case(Frame *frame, Random *rand, Expected *expected, uint32_t *states)
{
  Cj2kCudaMqCut *cut = &frame->cut;

  cut->empty_bytes = 100 + frame->plan->num_precincts;
  cut->header_bytes = cut->empty_bytes + random_below(rand, 6 * frame->plan->num_blocks);
  cut->budget = frame->total / 64 * (2 + random_below(rand, 64));
  if (!set_bounds(cut))
    return true;
  if (!random_below(rand, 4))
    take_rest(frame, expected);
  run_kernels(frame);
  decide(frame, expected);
  states[expected->state]++;
  return same_state(frame, expected) && same_records(frame, expected);
}

/* What had no room is left to the host. */
static bool refuses(Frame *frame)
{
  Cj2kCudaMqFrameCounts *counts = frame->cut.frame.counts, before = *counts;
  const Expected none = {.state = CJ2K_CUDA_CUT_NONE};
  bool all = true;

  frame->cut.budget = frame->total / 2;
  if (!set_bounds(&frame->cut))
    return true;
  for (uint32_t i = 0; i < 4; i++) {
    counts->modelled.symbols = i == 0 ? frame->cut.frame.contexts.capacity + 1 : 0;
    counts->coded.failed = i == 1;
    counts->coded.bytes = i == 2 ? frame->cut.frame.capacity + 1 : 0;
    counts->passes = i == 3 ? frame->cut.frame.pass_capacity + 1 : 0;
    run_kernels(frame);
    all &= frame->cut.host_state->result.state == CJ2K_CUDA_CUT_NONE && same_records(frame, &none);
  }
  *counts = before;
  return all;
}

static bool run_round(Random *rand, uint32_t round, uint32_t *states)
{
  Frame frame;
  Expected expected;
  bool same = true;

  frame_init(&frame, rand, round);
  uint32_t n = frame.plan->num_blocks;
  cj2k_hulls_init(&expected.hulls, frame.plan, 0, NULL);
  cj2k_selection_init(&expected.selection, n);
  cj2k_selection_init(&expected.cut, n);
  cj2k_hulls_set_points(&expected.hulls, frame.blocks, frame.points, NULL);
  expected.nodes = g_malloc0(n + 1);
  for (uint32_t i = 0; i < CASES; i++) {
    bool one = run_case(&frame, rand, &expected, states);
    if (!one)
      g_print("# round %u, case %u: %u blocks, budget %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
              ": state %u of %d, slope %u of %u\n",
              round, i, n, frame.cut.budget, frame.total, frame.cut.host_state->result.state,
              expected.state, frame.cut.host_state->slope, expected.fit.first_slope);
    same &= one;
  }
  same &= refuses(&frame);
  g_print("%sok %u - %u blocks, %u packets, %u large, %u points\n", same ? "" : "not ", round + 1,
          n, frame.plan->num_precincts, frame.tables.num_large, frame.num_points);
  cj2k_hulls_clear(&expected.hulls);
  cj2k_selection_clear(&expected.selection);
  cj2k_selection_clear(&expected.cut);
  g_free(expected.nodes);
  frame_clear(&frame);
  return same;
}

int main(int argc, char **argv)
{
  uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20, states[3] = {0};
  Random random = {argc > 2 ? (uint64_t)atoi(argv[2]) : 1};
  bool all = true;

#ifndef ON_CPU
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    g_print("1..0 # SKIP no GPU\n");
    return 0;
  }
#endif
  for (uint32_t round = 0; round < rounds; round++)
    all &= run_round(&random, round, states);
  g_print("# left to the host %u, cut %u\n", states[CJ2K_CUDA_CUT_NONE],
          states[CJ2K_CUDA_CUT_SOME]);
  bool each = states[CJ2K_CUDA_CUT_SOME] && states[CJ2K_CUDA_CUT_NONE];
  g_print("%sok %u - each case occurs\n1..%u\n", each ? "" : "not ", rounds + 1, rounds + 1);
  return !(all && each);
}
