/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stages.h"

#include "common/rate/steps.h"
#include "common/runtime/threads.h"

#include <stdio.h>
#include <string.h>

typedef enum { TRANSFORM, MEASURE, CODE, GATHER } Step;

/* The state of both back ends: a slot of each. */
typedef struct {
  Stages *stages;
  StageFrame *frame;
  Cj2kPlan *plan;
  Cj2kFrameSteps steps;
  Cj2kTransformJob transform;
  Cj2kMeasureJob measure;
  Cj2kCodeJob code;
  Cj2kGatherJob gather;
  void *backends[2];
  Cj2kEncodeSlot *slots[2];
  Cj2kEncodeResult results[2];
  uint64_t estimates[CJ2K_MOST_ESTIMATES]; /* of the last choice of steps */
  Comparison c;
} Encoding;

/* -------------------------------------------------------------------------------- steps --- */

static bool run_one(Encoding *e, uint32_t side, Step step)
{
  const Cj2kEncodeBackend *functions = e->stages->sides[side].encode;
  void *backend = e->backends[side];
  Cj2kEncodeSlot *slot = e->slots[side];
  Cj2kError error = {0};
  Cj2kStatus status = CJ2K_OK;

  switch (step) {
  case TRANSFORM: status = functions->transform(backend, slot, &e->transform, &error); break;
  case MEASURE: status = functions->measure(backend, slot, &e->measure, &error); break;
  case CODE: status = functions->code(backend, slot, &e->code, &error); break;
  case GATHER:
    if (!functions->gather) /* the bytes are there */
      return true;
    status = functions->gather(backend, slot, &e->gather, &error);
    break;
  }
  if (status == CJ2K_OK)
    status = functions->wait(backend, slot, &e->results[side], &error);
  cj2k_threads_rest(e->stages->sides[side].threads);
  if (status != CJ2K_OK)
    snprintf(e->c.why, sizeof e->c.why, "%s: %s", e->c.names[side], error.text);
  return status == CJ2K_OK;
}

static bool run(Encoding *e, Step step)
{
  return run_one(e, 0, step) && run_one(e, 1, step);
}

static void done(Encoding *e, const char *stage, bool ok)
{
  stage_done(e->stages, e->frame->title, stage, ok, e->c.why);
}

static void check_transform(Encoding *e)
{
  SlotArrays arrays[2] = {0};
  bool ok = run(e, TRANSFORM);

  for (uint32_t i = 0; i < 2 && ok; i++) {
    ok = e->stages->sides[i].read_encoded(e->slots[i], e->plan, &arrays[i]);
    if (!ok)
      snprintf(e->c.why, sizeof e->c.why, "the slot of %s cannot be read", e->c.names[i]);
  }
  done(e, "transform: images between levels", ok && compare_lowpass(&e->c, arrays));
  done(e, "transform: coefficients", ok && compare_coefficients(&e->c, arrays));
  slot_arrays_clear(&arrays[0]);
  slot_arrays_clear(&arrays[1]);
}

static void check_measure(Encoding *e, const char *stage, uint32_t stride, uint8_t first_plane,
                          uint8_t planes)
{
  e->measure = (Cj2kMeasureJob){.quantisers = e->steps.quantisers,
                                .stride = stride,
                                .first_plane = first_plane,
                                .num_planes = planes,
                                .distortions = true,
                                .band_errors = true};
  done(e, stage, run(e, MEASURE) && compare_measured(&e->c, e->results, first_plane, planes));
}

static void check_code(Encoding *e, const char *stage, unsigned parts)
{
  done(e, stage, run(e, CODE) && compare_coded(&e->c, e->results, parts, NULL));
}

/* The estimate, from all rows of quads and from some. */
static void check_estimate(Encoding *e, const char *stage, uint32_t quad_rows)
{
  e->measure =
      (Cj2kMeasureJob){.quantisers = e->steps.quantisers, .stride = 1, .quad_rows = quad_rows};
  done(e, stage, run(e, MEASURE) && compare_estimate(&e->c, e->results));
}

/* Code() leaves blocks out of which the estimate is one below the range, or one above it; it makes
 * them if the estimate is the only one in it. Then they are those without a range, which come
 * next. */
static void check_range(Encoding *e)
{
  uint64_t estimate = e->results[0].estimates[0];
  const Cj2kEstimateRange ranges[] = {
      {.quad_rows = 2, .least = estimate + 1, .most = UINT64_MAX},
      {.quad_rows = 2, .least = 0, .most = estimate ? estimate - 1 : 0},
      {.quad_rows = 2, .least = estimate, .most = estimate}};

  for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
    e->code.range = &ranges[i];
    bool is_in = i == 2;
    bool ok = run(e, CODE) && compare_estimate(&e->c, e->results);
    if (ok && e->results[0].estimates[0] != estimate) {
      snprintf(e->c.why, sizeof e->c.why, "code() makes another estimate than measure()");
      ok = false;
    }
    for (uint32_t k = 0; ok && !is_in && k < 2; k++)
      if (e->results[k].blocks) {
        snprintf(e->c.why, sizeof e->c.why, "%s has coded the blocks", e->c.names[k]);
        ok = false;
      }
    if (ok && is_in)
      ok = compare_coded(&e->c, e->results, CODED_BYTES | CODED_PASSES | CODED_SATURATED, NULL);
    done(e, is_in ? "code: in range" : "code: out of range", ok);
  }
  e->code.range = NULL;
}

/* The lengths of the blocks that a back end coded last. */
static GArray *lengths_of(const Encoding *e, uint32_t side)
{
  GArray *lengths = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (uint32_t b = 0; b < e->plan->num_blocks; b++)
    g_array_append_val(lengths, e->results[side].blocks[b].length);
  return lengths;
}

/* Codes with the base that the estimates ask for, and then with the same one without a
 * choice: the blocks must be the same. */
static bool chooses(Encoding *e, const Cj2kEstimateRange *range, double base, Cj2kFrameSteps *steps)
{
  GArray *chosen[2] = {NULL};

  e->code.range = range;
  bool ok = run(e, CODE) && compare_estimate(&e->c, e->results) &&
            compare_coded(&e->c, e->results, CODED_BYTES | CODED_PASSES | CODED_SATURATED, NULL);
  memcpy(e->estimates, e->results[0].estimates, sizeof e->estimates);
  for (uint32_t side = 0; ok && side < 2; side++)
    chosen[side] = lengths_of(e, side);
  e->code.range = NULL;
  cj2k_frame_steps_set(steps, e->plan, base, NULL);
  ok = ok && run(e, CODE);
  for (uint32_t side = 0; ok && side < 2; side++) {
    GArray *expected = lengths_of(e, side);
    ok = !memcmp(chosen[side]->data, expected->data, expected->len * sizeof(uint32_t));
    if (!ok)
      snprintf(e->c.why, sizeof e->c.why, "%s has chosen other steps", e->c.names[side]);
    g_array_unref(expected);
  }
  for (uint32_t side = 0; side < 2; side++)
    if (chosen[side])
      g_array_unref(chosen[side]);
  cj2k_frame_steps_set(steps, e->plan, e->frame->test->step, NULL);
  return ok;
}

/* Three bases, whatever the estimate. */
static Cj2kEstimateRange choice_of(double base)
{
  return (Cj2kEstimateRange){.quad_rows = 2,
                             .most = UINT64_MAX,
                             .sure_most = UINT64_MAX,
                             .base = base,
                             .least_base = base / 4,
                             .most_base = base * 64,
                             .near = {.count = 3, .ratios = {0.61, 1, 1.37}}};
}

/* Lets an estimate be for the i-th ratio. */
static void set_ends(Cj2kBaseRatios *ratios, uint32_t i, uint64_t estimate)
{
  for (uint32_t k = 0; k < ratios->count; k++)
    ratios->ends[k] = k >= i ? estimate : estimate - 1;
}

/* The estimate for another base. */
static bool estimate_other(Encoding *e, double base, uint64_t *estimate)
{
  cj2k_frame_steps_set(&e->steps, e->plan, base, NULL);
  e->measure = (Cj2kMeasureJob){.quantisers = e->steps.quantisers, .stride = 1, .quad_rows = 2};
  bool ok = run(e, MEASURE) && compare_estimate(&e->c, e->results);
  *estimate = e->results[0].estimates[0];
  cj2k_frame_steps_set(&e->steps, e->plan, e->frame->test->step, NULL);
  return ok;
}

/* All estimates but the `count`th one are out of range, and ask for finer or coarser steps (i 0 or
 * 2). That is in it, and asks for others again. */
static void check_chain(Encoding *e, double base, uint64_t first, uint32_t i, uint32_t count)
{
  static const char *const names[2][3] = {
      {"code: two estimates, finer steps", NULL, "code: two estimates, coarser steps"},
      {"code: three estimates, finer steps", NULL, "code: three estimates, coarser steps"}};
  Cj2kEstimateRange range = choice_of(base);
  uint64_t estimates[CJ2K_MOST_ESTIMATES] = {first};
  bool ok = true;

  range.far = range.near;
  range.far.ends[0] = 0;
  range.far.ends[1] = i ? 0 : UINT64_MAX;
  if (!i)
    range.far.ends[0] = UINT64_MAX;
  for (uint32_t k = 1; ok && k < count; k++) {
    base *= range.far.ratios[i];
    ok = estimate_other(e, base, &estimates[k]);
    if (ok && estimates[k] == estimates[k - 1]) /* reversible, or hardly anything to code */
      return;
  }
  range.least = range.most = range.sure_least = range.sure_most = estimates[count - 1];
  set_ends(&range.near, 2 - i, range.most);
  ok = ok && chooses(e, &range, base * range.near.ratios[2 - i], &e->steps);
  if (ok && memcmp(e->estimates, estimates, sizeof estimates) != 0) {
    snprintf(e->c.why, sizeof e->c.why, "code() makes other estimates than measure()");
    ok = false;
  }
  done(e, names[count - 2][i], ok);
}

/* The finest base that a range may lead to, for which there must be room. */
static void check_finest(Encoding *e, double base, uint64_t first)
{
  Cj2kEstimateRange range = choice_of(base);
  double other = base / 2;
  bool ok = estimate_other(e, other, &range.most);

  if (ok && range.most == first)
    return;
  range.least = range.sure_least = range.sure_most = range.most;
  range.far = (Cj2kBaseRatios){1, {0.5}, {0}};
  range.near = (Cj2kBaseRatios){1, {0.5}, {0}};
  done(e, "code: the finest base", ok && chooses(e, &range, other / 2, &e->steps));
}

/* An estimate within the limits that is not sure is followed by one for the base that it asks for.
 */
static void check_unsure(Encoding *e, double base, uint64_t first)
{
  Cj2kEstimateRange range = choice_of(base);
  double other = base * range.near.ratios[2];
  uint64_t second;
  bool ok = estimate_other(e, other, &second);

  if (ok && second == first)
    return;
  range.sure_least = range.sure_most = second;
  range.near.ends[0] = second - 1;
  range.near.ends[1] = second;
  done(e, "code: an estimate that is not sure", ok && chooses(e, &range, other, &e->steps));
}

/* The estimate of the steps of the job may choose among these and coarser and finer ones. */
static void check_choice(Encoding *e)
{
  static const char *const names[] = {"code: chooses finer steps", "code: chooses the steps",
                                      "code: chooses coarser steps"};
  uint64_t estimate = e->results[0].estimates[0];
  double base = e->frame->test->step;
  Cj2kStepRule *rules;

  if (!estimate) /* none is smaller */
    return;
  rules = g_new(Cj2kStepRule, e->plan->num_bands);
  cj2k_frame_steps_rules(&e->steps, e->plan, rules);
  e->code.rules = rules;
  for (uint32_t i = 0; i < 3; i++) {
    Cj2kEstimateRange range = choice_of(base);
    set_ends(&range.near, i, estimate);
    done(e, names[i], chooses(e, &range, base * range.near.ratios[i], &e->steps));
  }
  for (uint32_t i = 0; i < 3; i += 2)
    for (uint32_t count = 2; count <= CJ2K_MOST_ESTIMATES; count++)
      check_chain(e, base, estimate, i, count);
  check_unsure(e, base, estimate);
  check_finest(e, base, estimate);
  e->code.rules = NULL;
  g_free(rules);
}

/* ---------------------------------------------------------------- input of the decoder --- */

static void append_segment(Coded *coded, uint32_t length, uint32_t passes)
{
  Cj2kSegment segment = {.length = length, .passes = passes};
  g_array_append_val(coded->segments, segment);
}

/* Appends the first `count` passes of a block. */
static void append_block(Coded *coded, const Cj2kEncodeResult *result, uint32_t b, uint32_t count)
{
  const Cj2kEncodedBlock *from = &result->blocks[b];
  const Cj2kPassLength *passes = result->passes + from->first_pass;
  Cj2kCodedBlock block = {.offset = coded->bytes->len,
                          .length = count ? passes[count - 1].length : 0,
                          .first_segment = coded->segments->len,
                          .num_passes = (uint8_t)count,
                          .zero_bitplanes = from->zero_bitplanes,
                          .is_ht = from->is_ht};
  uint32_t begin = 0, first = 0;

  for (uint32_t p = 0; p < count; p++) {
    bool ends = p == count - 1 || (from->is_ht ? p == 0 : passes[p].terminated);
    if (!ends)
      continue;
    append_segment(coded, passes[p].length - begin, p + 1 - first);
    begin = passes[p].length;
    first = p + 1;
  }
  block.num_segments = (uint16_t)(coded->segments->len - block.first_segment);
  if (block.length)
    g_byte_array_append(coded->bytes, result->bytes + from->offset, block.length);
  g_array_append_val(coded->blocks, block);
}

void coded_init(Coded *coded)
{
  coded->bytes = g_byte_array_new();
  coded->segments = g_array_new(FALSE, FALSE, sizeof(Cj2kSegment));
  coded->blocks = g_array_new(FALSE, FALSE, sizeof(Cj2kCodedBlock));
  coded->frame = (Cj2kCodedFrame){0};
}

void coded_clear(Coded *coded)
{
  g_byte_array_unref(coded->bytes);
  g_array_unref(coded->segments);
  g_array_unref(coded->blocks);
}

/* Appends the blocks that the first back end coded last. */
static void hand_over(const Encoding *e, Coded *coded)
{
  const Cj2kEncodeResult *result = &e->results[0];

  for (uint32_t b = 0; b < e->plan->num_blocks; b++) {
    uint32_t count = result->blocks[b].num_passes;
    if (e->frame->test->drop_divisor)
      count -= count / e->frame->test->drop_divisor;
    append_block(coded, result, b, count);
  }
  coded->frame = (Cj2kCodedFrame){.codestream = coded->bytes->data,
                                  .codestream_size = coded->bytes->len,
                                  .blocks = (Cj2kCodedBlock *)(void *)coded->blocks->data,
                                  .segments = (Cj2kSegment *)(void *)coded->segments->data,
                                  .num_segments = coded->segments->len};
}

/* ----------------------------------------------------------------------- block coders --- */

static void check_ht(Encoding *e, Coded *coded)
{
  uint32_t n = e->plan->num_blocks;
  Cj2kHtChoice *choices = g_new0(Cj2kHtChoice, n + 1);

  check_measure(e, "measure: bit-planes 0 to 2", 1, 0, 3);
  check_measure(e, "measure: bit-plane 1 of each third block", 3, 1, 1);
  check_estimate(e, "estimate: all rows of quads", 1);
  check_estimate(e, "estimate: one in 16", 16);
  check_estimate(e, "estimate: one in 2", 2);
  check_range(e);
  if (e->frame->test->step > 0 && !e->frame->test->missing_planes)
    check_choice(e);
  check_code(e, "code", CODED_BYTES | CODED_PASSES);
  hand_over(e, coded);
  for (uint32_t b = 0; b < n; b++)
    choices[b] = (Cj2kHtChoice){.plane = b % 4 == 1 ? 1 + b / 4 % 2 : 0, .passes = b % 7 != 3};
  e->code.choices = choices;
  check_code(e, "code: some blocks at other bit-planes", CODED_BYTES | CODED_PASSES);
  check_measure(e, "measure: blocks that are coded", 1, 0, 2);
  for (uint32_t b = 0; b < n; b++)
    choices[b] = (Cj2kHtChoice){.plane = 1 + (b & 1), .passes = 1};
  check_code(e, "code: all blocks at other bit-planes", CODED_BYTES | CODED_PASSES);
  for (uint32_t b = 0; b < n; b++)
    choices[b] = (Cj2kHtChoice){.plane = 1, .passes = 3};
  if (e->frame->test->refined && run_one(e, 0, CODE)) { /* only the CPU codes refinement passes */
    coded_clear(coded);
    coded_init(coded);
    hand_over(e, coded);
  }
  e->code.choices = NULL;
  g_free(choices);
}

/* Bytes up to a point of each block's hull that changes from block to block; for some blocks
 * none. */
static void choose_retained(const Encoding *e, uint32_t *retained)
{
  const Cj2kEncodeResult *result = &e->results[0];

  for (uint32_t b = 0; b < e->plan->num_blocks; b++) {
    const Cj2kEncodedBlock *block = &result->blocks[b];
    retained[b] = 0;
    for (uint32_t i = 0; i < b % (block->num_points + 1u); i++)
      retained[b] += result->points[block->first_point + i].bytes;
  }
}

/* retained: bytes of each block; NULL: all. */
static void check_gather(Encoding *e, const char *stage, const uint32_t *retained)
{
  e->gather.retained_lengths = retained;
  done(e, stage,
       run(e, GATHER) && compare_coded(&e->c, e->results, CODED_BYTES | CODED_PASSES, retained));
}

static void check_mq(Encoding *e, Coded *coded)
{
  uint32_t *retained = g_new0(uint32_t, e->plan->num_blocks + 1);

  e->code.pass_lengths = true;
  check_code(e, "code", CODED_PASSES | CODED_SATURATED);
  check_gather(e, "gather: all", NULL);
  hand_over(e, coded);
  e->code.lowest_plane = 2;
  e->code.stride = 3;
  check_code(e, "code: each third block down to bit-plane 2", CODED_PASSES);
  check_gather(e, "gather: each third block", NULL);
  e->code.lowest_plane = 0;
  e->code.stride = 1;
  e->code.weights = e->steps.weights;
  check_code(e, "code: lengths of passes, hulls by distortions", CODED_PASSES | CODED_HULLS);
  choose_retained(e, retained);
  check_gather(e, "gather: some passes", retained);
  for (uint32_t b = 0; b < e->plan->num_blocks; b++)
    retained[b] = e->results[0].blocks[b].length;
  check_gather(e, "gather: then all passes", retained);
  e->code.weights = NULL;
  e->code.header_bits = true;
  check_code(e, "code: bits of packet headers", CODED_HEADER_BITS);
  g_free(retained);
}

/* ------------------------------------------------------------------------------- frames --- */

static bool open_sides(Encoding *e)
{
  Cj2kError error = {0};

  for (uint32_t i = 0; i < 2; i++) {
    const Side *side = &e->stages->sides[i];
    e->c.names[i] = side->name;
    e->backends[i] = side->encode->open(&e->frame->setup.params, e->plan, side->threads, &error);
    if (e->backends[i])
      e->slots[i] = side->encode->slot_new(e->backends[i], &error);
    if (!e->slots[i]) {
      snprintf(e->c.why, sizeof e->c.why, "%s: %s", side->name, error.text);
      return false;
    }
  }
  return true;
}

static void close_sides(Encoding *e)
{
  for (uint32_t i = 0; i < 2; i++) {
    const Cj2kEncodeBackend *functions = e->stages->sides[i].encode;
    if (e->slots[i])
      functions->slot_free(e->backends[i], e->slots[i]);
    if (e->backends[i])
      functions->close(e->backends[i]);
  }
}

/* Sets the step sizes of the frame in the job, and in the header for the decoder. */
static void set_steps(Encoding *e)
{
  const Case *test = e->frame->test;

  cj2k_frame_steps_init(&e->steps, e->plan, NULL, 0);
  if (test->step > 0)
    cj2k_frame_steps_set(&e->steps, e->plan, test->step, NULL);
  for (uint32_t c = 0; c < e->plan->num_components; c++)
    e->frame->header->coding.quantisation[c] = e->steps.components[c];
  for (uint32_t b = 0; b < e->plan->num_bands; b++) {
    Cj2kFrameQuantiser *quantiser = &e->steps.quantisers[b];
    quantiser->num_bitplanes -= MIN(test->missing_planes, quantiser->num_bitplanes - 1);
  }
}

void check_encoding(Stages *stages, StageFrame *frame, Coded *coded)
{
  const Case *test = frame->test;
  Encoding e = {.stages = stages, .frame = frame};
  Cj2kError error = {0};
  Picture picture;

  if (cj2k_plan_new(frame->header, 0, 0, &e.plan, &error) != CJ2K_OK) {
    stage_done(stages, frame->title, "plan", false, error.text);
    return;
  }
  e.c.plan = e.plan;
  picture_init(&picture, frame->format, test->width, test->height);
  set_steps(&e);
  e.transform = (Cj2kTransformJob){.layout = &frame->layout,
                                   .picture = &picture.picture,
                                   .rgb_to_xyz = test->xyz,
                                   .xyz_transfer = frame->setup.params.xyz_transfer,
                                   .xyz_primaries = frame->setup.params.xyz_primaries};
  e.code = (Cj2kCodeJob){.quantisers = e.steps.quantisers, .stride = 1};
  if (open_sides(&e)) {
    check_transform(&e);
    if (test->mq)
      check_mq(&e, coded);
    else
      check_ht(&e, coded);
  } else {
    done(&e, "encoder", false);
  }
  close_sides(&e);
  cj2k_frame_steps_clear(&e.steps);
  picture_clear(&picture);
  cj2k_plan_unref(e.plan);
}
