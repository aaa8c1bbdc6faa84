/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Selections within ceilings, with a made-up layout function: neither pictures nor a back end are
 * needed. */
#include "common/rate/fit.h"

#include <glib.h>
#include <string.h>

#define BLOCKS 200
#define PASSES 12
/* Bytes by which one pass enlarges a component whose headers are as large as its passes. */
#define MOST_PASS (2 * 60 + 2)
#define EMPTY     150 /* bytes of a codestream without any block */

/* Two components whose blocks alternate. */
typedef struct {
  Cj2kPlan plan;
  Cj2kPlanBand bands[2];
  Cj2kPlanTileComp tile_comps[2];
  Cj2kPlanBlock plan_blocks[BLOCKS];
  Cj2kEncodedBlock blocks[BLOCKS];
  Cj2kHullPoint points[BLOCKS * PASSES];
  Cj2kHulls hulls;
  Cj2kSelection selection;
  uint64_t all; /* bytes of all passes */
  uint64_t components[2];
  uint32_t header_part; /* headers take 1/header_part of the blocks, and two bytes per block */
  uint32_t layouts, fails_at;
} Frame;

static void frame_init(Frame *frame, guint32 seed)
{
  GRand *rand = g_rand_new_with_seed(seed);

  *frame = (Frame){.header_part = 40};
  frame->plan = (Cj2kPlan){.num_blocks = BLOCKS,
                           .num_components = 2,
                           .bands = frame->bands,
                           .tile_comps = frame->tile_comps,
                           .blocks = frame->plan_blocks};
  for (uint32_t i = 0; i < 2; i++) {
    frame->bands[i].tile_comp = i;
    frame->tile_comps[i].component = i;
  }
  for (uint32_t b = 0; b < BLOCKS; b++) {
    uint32_t slope = (uint32_t)g_rand_int_range(rand, 30000, 50000), first = b * PASSES;
    frame->plan_blocks[b].band = b % 2;
    frame->blocks[b].first_point = first;
    frame->blocks[b].num_points = (uint8_t)g_rand_int_range(rand, 0, PASSES + 1);
    for (uint32_t i = first; i < first + frame->blocks[b].num_points; i++) {
      frame->points[i] = (Cj2kHullPoint){.bytes = (uint32_t)g_rand_int_range(rand, 1, 60),
                                         .slope = (uint16_t)slope,
                                         .option = (uint8_t)(i - first + 1)};
      frame->all += frame->points[i].bytes;
      slope -= (uint32_t)g_rand_int_range(rand, 1, 900);
    }
  }
  cj2k_hulls_init(&frame->hulls, &frame->plan, 0, NULL);
  cj2k_hulls_set_points(&frame->hulls, frame->blocks, frame->points, NULL);
  cj2k_selection_init(&frame->selection, BLOCKS);
  g_rand_free(rand);
}

static void frame_clear(Frame *frame)
{
  cj2k_hulls_clear(&frame->hulls);
  cj2k_selection_clear(&frame->selection);
}

static Cj2kStatus lay_out(void *ctx, const Cj2kSelection *selection, Cj2kCodestreamSize *size)
{
  Frame *frame = ctx;

  if (++frame->layouts == frame->fails_at)
    return CJ2K_ERROR_LIMIT;
  memset(frame->components, 0, sizeof frame->components);
  for (uint32_t b = 0; b < BLOCKS; b++)
    if (selection->options[b])
      frame->components[b % 2] +=
          selection->lengths[b] + selection->lengths[b] / frame->header_part + 2;
  *size = (Cj2kCodestreamSize){.total = EMPTY + frame->components[0] + frame->components[1],
                               .components = frame->components,
                               .num_resolutions = 1};
  return CJ2K_OK;
}

static Cj2kStatus fit(Frame *frame, const Cj2kCeilings *ceilings, Cj2kFit *result, Cj2kError *error)
{
  const Cj2kFitTask task = {
      .ceilings = ceilings, .least_bytes = EMPTY, .lay_out = lay_out, .ctx = frame};
  Cj2kStatus status = cj2k_fit_frame(&task, &frame->hulls, &frame->selection, result);

  return status == CJ2K_OK
             ? cj2k_fit_components(&task, &frame->hulls, &frame->selection, result, error)
             : status;
}

/* The result is what was laid out last. It fits, and leaves less than one pass of a block of any
 * budget unused, whatever size of the headers was expected. */
static void test_frame(void)
{
  Cj2kError error = {0};

  for (guint32 seed = 1; seed < 40; seed++)
    for (uint64_t budget = EMPTY; budget < 60000; budget += budget / 3) {
      const Cj2kCeilings ceilings = cj2k_ceilings(budget, UINT64_MAX, 2, false);
      Cj2kFit result = {.header_bytes = seed % 3 ? budget / (seed % 3 * 10) : 0};
      Cj2kCodestreamSize size = {0};
      Frame frame;
      frame_init(&frame, seed);
      g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_OK);
      g_assert_cmpuint(result.size.total, <=, budget);
      g_assert_cmpuint(frame.layouts, <=, 49);
      lay_out(&frame, &frame.selection, &size);
      g_assert_cmpuint(size.total, ==, result.size.total);
      if (result.slope)
        g_assert_cmpuint(result.size.total + MAX(70, budget / 500), >=, budget);
      uint64_t retained = 0;
      for (uint32_t b = 0; b < BLOCKS; b++)
        retained += frame.selection.lengths[b];
      g_assert_cmpuint(result.header_bytes, ==, size.total - retained);
      if (!result.slope)
        g_assert_cmpuint(retained, ==, frame.all);
      frame_clear(&frame);
    }
}

/* Without a ceiling everything is retained, after one layout. */
static void test_all(void)
{
  const Cj2kCeilings ceilings = cj2k_ceilings(UINT64_MAX, UINT64_MAX, 2, false);
  Cj2kError error = {0};
  Cj2kFit result = {0};
  Frame frame;

  frame_init(&frame, 7);
  g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_OK);
  g_assert_cmpuint(result.slope, ==, 0);
  g_assert_cmpuint(frame.layouts, ==, 1);
  for (uint32_t b = 0; b < BLOCKS; b++)
    g_assert_cmpuint(frame.selection.taken[b], ==, frame.blocks[b].num_points);
  frame_clear(&frame);
}

/* A component that has exactly as many bytes as its ceiling allows keeps all of them. */
static void test_exact(void)
{
  Cj2kError error = {0};

  for (guint32 seed = 1; seed < 20; seed++) {
    uint64_t larger = UINT64_MAX;
    for (uint32_t less = 0; less < 3; less++) { /* no ceiling, the exact one, one byte less */
      const Cj2kCeilings ceilings =
          cj2k_ceilings(UINT64_MAX, less == 2 ? larger - 1 : larger, 2, false);
      Cj2kFit result = {0};
      Frame frame;
      frame_init(&frame, seed);
      g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_OK);
      uint64_t found = MAX(frame.components[0], frame.components[1]);
      if (less == 0)
        larger = found;
      else if (less == 1)
        g_assert_cmpuint(found, ==, larger);
      else
        g_assert_cmpuint(found, <, larger);
      frame_clear(&frame);
    }
  }
}

/* A component stays below its ceiling, and the other one uses the rest. */
static void test_components(void)
{
  Cj2kError error = {0};

  for (guint32 seed = 1; seed < 40; seed++) {
    const Cj2kCeilings ceilings = cj2k_ceilings(20000, 9000, 2, false);
    Cj2kFit result = {0};
    Frame frame;
    frame_init(&frame, seed);
    /* The blocks of one component have the larger gains. */
    for (uint32_t i = 0; i < BLOCKS * PASSES; i++)
      if (i / PASSES % 2)
        frame.points[i].slope = (uint16_t)(frame.points[i].slope + 9000);
    cj2k_hulls_set_points(&frame.hulls, frame.blocks, frame.points, NULL);
    g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_OK);
    g_assert_cmpuint(frame.components[1], <=, 9000);
    g_assert_cmpuint(frame.components[1], >=, 8700);
    g_assert_cmpuint(frame.components[0], >=, 8700);
    frame_clear(&frame);
  }
}

/* However large headers are, and however far the frame's budget is above the ceilings of
 * components, a component that loses passes to its ceiling has room for less than one more. */
static void test_floors(void)
{
  Cj2kError error = {0};

  for (guint32 seed = 1; seed < 40; seed++) {
    uint64_t before[2] = {0};
    for (uint64_t budget = 6000; budget < 200000; budget += budget / 4) {
      const Cj2kCeilings ceilings = cj2k_ceilings(budget, 6000, 2, false);
      Cj2kFit result = {0};
      Frame frame;
      frame_init(&frame, seed);
      frame.header_part = 1;
      g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_OK);
      for (uint32_t c = 0; c < 2; c++) {
        g_assert_cmpuint(frame.components[c], <=, 6000);
        g_assert_cmpuint(frame.components[c] + MOST_PASS, >=, before[c]);
        if (budget > 40000) /* both have more passes than that */
          g_assert_cmpuint(frame.components[c] + MOST_PASS, >=, 6000);
        before[c] = frame.components[c];
      }
      frame_clear(&frame);
    }
  }
}

/* Headers that exceed a ceiling are an error, and so is a layout that fails. */
static void test_refused(void)
{
  const Cj2kCeilings small = cj2k_ceilings(EMPTY, UINT64_MAX, 2, false),
                     component = cj2k_ceilings(20000, 2, 2, false);
  Cj2kError error = {0};
  Cj2kFit result = {0};
  Frame frame;

  frame_init(&frame, 3);
  g_assert_cmpint(fit(&frame, &small, &result, &error), ==, CJ2K_OK); /* nothing is retained */
  g_assert_cmpuint(result.size.total, ==, EMPTY);
  g_assert_cmpint(fit(&frame, &component, &result, &error), ==, CJ2K_OK);
  g_assert_cmpuint(frame.components[0] + frame.components[1], ==, 0);
  for (uint32_t call = 1; call < 4; call++) {
    const Cj2kCeilings ceilings = cj2k_ceilings(9000, 4000, 2, false);
    cj2k_hulls_set_points(&frame.hulls, frame.blocks, frame.points, NULL); /* resets the floors */
    frame.layouts = 0;
    frame.fails_at = call;
    result = (Cj2kFit){0};
    g_assert_cmpint(fit(&frame, &ceilings, &result, &error), ==, CJ2K_ERROR_LIMIT);
  }
  frame_clear(&frame);
}

static void compare_selections(const Cj2kSelection *a, const Cj2kSelection *b)
{
  g_assert_cmpmem(a->options, BLOCKS, b->options, BLOCKS);
  g_assert_cmpmem(a->taken, BLOCKS, b->taken, BLOCKS);
  g_assert_cmpmem(a->lengths, BLOCKS * sizeof *a->lengths, b->lengths, BLOCKS * sizeof *b->lengths);
  g_assert_cmpmem(a->next, BLOCKS * sizeof *a->next, b->next, BLOCKS * sizeof *b->next);
}

/* Both take the same for so many bytes. */
static void compare_takes(const Cj2kHulls *a, const Cj2kHulls *b, uint64_t bytes)
{
  Cj2kSelection first, second;
  uint64_t taken[2];

  cj2k_selection_init(&first, BLOCKS);
  cj2k_selection_init(&second, BLOCKS);
  memset(first.next, 0xff, BLOCKS * sizeof *first.next);
  g_assert_cmpuint(cj2k_hulls_take(a, bytes, &first, &taken[0]), ==,
                   cj2k_hulls_take(b, bytes, &second, &taken[1]));
  g_assert_cmpuint(taken[0], ==, taken[1]);
  compare_selections(&first, &second);
  cj2k_selection_clear(&first);
  cj2k_selection_clear(&second);
}

/* A selection that has had other cuts, of the same hulls, of hulls with floors, or of others, is
 * what a new one is. */
static void test_moved(void)
{
  GRand *rand = g_rand_new_with_seed(11);
  Frame frame, other;
  Cj2kSelection moved;

  frame_init(&frame, 1);
  frame_init(&other, 2);
  cj2k_selection_init(&moved, BLOCKS);
  for (uint32_t round = 0; round < 3000; round++) {
    const Cj2kHulls *hulls = g_rand_int_range(rand, 0, 8) ? &frame.hulls : &other.hulls;
    uint64_t bytes = (uint64_t)g_rand_int_range(rand, 0, (gint32)hulls->total + 100), taken[2];
    Cj2kSelection fresh;
    cj2k_selection_init(&fresh, BLOCKS);
    if (round % 16 == 7)
      cj2k_hulls_set_floor(&frame.hulls, round % 2, (uint32_t)g_rand_int_range(rand, 0, 40000));
    if (round % 64 == 9)
      cj2k_hulls_set_points(&frame.hulls, frame.blocks, frame.points, NULL);
    if (round % 32 == 5)
      cj2k_selection_retain_all(&moved, frame.blocks, BLOCKS);
    uint32_t cut = cj2k_hulls_take(hulls, bytes, &fresh, &taken[0]);
    g_assert_cmpuint(cj2k_hulls_take(hulls, bytes, &moved, &taken[1]), ==, cut);
    g_assert_cmpuint(taken[0], ==, taken[1]);
    compare_selections(&fresh, &moved);
    cj2k_hulls_apply(hulls, cut / 2, &fresh);
    cj2k_hulls_apply(hulls, cut / 2, &moved);
    compare_selections(&fresh, &moved);
    cj2k_selection_clear(&fresh);
  }
  cj2k_selection_clear(&moved);
  frame_clear(&frame);
  frame_clear(&other);
  g_rand_free(rand);
}

/* Hulls of which only some blocks were measured are cut as if all of their points were given. */
static void test_measured(void)
{
  enum { PLANES = 3 };
  uint32_t lengths[BLOCKS * PLANES], fixed[BLOCKS];
  uint64_t distortions[BLOCKS * PLANES];
  const double weights[2] = {1, 3};

  for (guint32 seed = 1; seed < 60; seed++) {
    GRand *rand = g_rand_new_with_seed(seed);
    Frame frame;
    Cj2kHulls measured;
    frame_init(&frame, seed);
    for (uint32_t b = 0; b < BLOCKS; b++) {
      fixed[b] = (uint32_t)g_rand_int_range(rand, 0, 4) * (uint32_t)g_rand_int_range(rand, 0, 400);
      for (uint32_t p = 0; p < PLANES; p++) {
        lengths[b * PLANES + p] = fixed[b] / (p + 1);
        distortions[b * PLANES + p] = (uint64_t)g_rand_int_range(rand, 1, 1 << 20) * (PLANES - p);
      }
    }
    cj2k_hulls_init(&measured, &frame.plan, PLANES, NULL);
    cj2k_hulls_set_planes(&measured, lengths, distortions, PLANES, weights, 1 + seed % 17, fixed);
    uint64_t total = 0;
    for (uint32_t b = 0; b < BLOCKS; b++) {
      frame.blocks[b].first_point = measured.first[b];
      frame.blocks[b].num_points = measured.all_counts[b];
      for (uint32_t i = 0; i < measured.all_counts[b]; i++)
        total += measured.points[measured.first[b] + i].bytes;
    }
    cj2k_hulls_set_points(&frame.hulls, frame.blocks, measured.points, NULL);
    g_assert_cmpuint(cj2k_hulls_bytes(&measured, 0), ==, total);
    for (uint32_t i = 0; i <= 40; i++)
      compare_takes(&measured, &frame.hulls, total * i / 40);
    cj2k_hulls_set_floor(&measured, 1, CJ2K_SLOPE_CLASSES - 1);
    cj2k_hulls_set_floor(&frame.hulls, 1, CJ2K_SLOPE_CLASSES - 1);
    for (uint32_t i = 0; i <= 4; i++)
      compare_takes(&measured, &frame.hulls, total * i / 4);
    cj2k_hulls_clear(&measured);
    frame_clear(&frame);
    g_rand_free(rand);
  }
}

/* What is tried first is the result if its size is within the bounds, and only then; the expected
 * size of the headers may be too large or too small. */
static void test_first(void)
{
  uint32_t accepted = 0, refused = 0;

  for (guint32 seed = 1; seed < 40; seed++) {
    Frame frame;
    frame_init(&frame, seed);
    for (uint32_t i = 0; i < BLOCKS * PASSES; i++)
      frame.points[i].bytes *= 40;
    cj2k_hulls_set_points(&frame.hulls, frame.blocks, frame.points, NULL);
    for (uint64_t budget = 5000; budget < 2000000; budget += budget / 3) {
      const Cj2kCeilings ceilings = cj2k_ceilings(budget, UINT64_MAX, 2, false);
      const Cj2kFitTask task = {.ceilings = &ceilings,
                                .least_bytes = EMPTY,
                                .ht = true,
                                .lay_out = lay_out,
                                .ctx = &frame};
      uint64_t headers = budget / 41 + EMPTY + 2 * BLOCKS - 300 + seed * 10, least = 0;
      Cj2kFit result = {.header_bytes = headers};
      Cj2kCodestreamSize size = {0};
      frame.layouts = 0;
      g_assert_cmpint(cj2k_fit_frame(&task, &frame.hulls, &frame.selection, &result), ==, CJ2K_OK);
      uint32_t layouts = frame.layouts;
      lay_out(&frame, &frame.selection, &size);
      uint64_t total = size.total;
      Cj2kFit first = {.header_bytes = headers};
      if (!cj2k_fit_first(&task, &frame.hulls, &frame.selection, &first, &least))
        continue;
      g_assert_cmpuint(first.first_slope, ==, result.first_slope);
      g_assert_cmpuint(first.first_header_bytes, ==, result.first_header_bytes);
      lay_out(&frame, &frame.selection, &size);
      bool accepts = size.total >= least && size.total <= budget;
      g_assert_cmpint(accepts, ==, layouts == 1);
      if (accepts)
        g_assert_cmpuint(size.total, ==, total);
      accepted += accepts;
      refused += !accepts;
    }
    frame_clear(&frame);
  }
  g_assert_cmpuint(accepted, >, 20);
  g_assert_cmpuint(refused, >, 20);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate-fit/frame", test_frame);
  g_test_add_func("/rate-fit/all", test_all);
  g_test_add_func("/rate-fit/exact", test_exact);
  g_test_add_func("/rate-fit/components", test_components);
  g_test_add_func("/rate-fit/floors", test_floors);
  g_test_add_func("/rate-fit/refused", test_refused);
  g_test_add_func("/rate-fit/moved", test_moved);
  g_test_add_func("/rate-fit/measured", test_measured);
  g_test_add_func("/rate-fit/first", test_first);
  return g_test_run();
}
