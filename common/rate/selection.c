/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "selection.h"

#include <glib.h>
#include <string.h>

#define BLOCKS_PER_TASK 256

void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_points)
{
  size_t n = (size_t)plan->num_blocks + 1;

  *hulls = (Cj2kHulls){.plan = plan, .max_points = max_points};
  hulls->points = g_new(Cj2kHullPoint, n * max_points);
  hulls->counts = g_new0(uint8_t, n);
  hulls->components = g_new(uint16_t, n);
  hulls->histogram = g_new0(uint64_t, CJ2K_SLOPE_CLASSES);
  hulls->floors = g_new0(uint32_t, plan->num_components + 1u);
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    uint32_t tile_comp = plan->bands[plan->blocks[b].band].tile_comp;
    hulls->components[b] = (uint16_t)plan->tile_comps[tile_comp].component;
  }
}

void cj2k_hulls_clear(Cj2kHulls *hulls)
{
  g_free(hulls->points);
  g_free(hulls->counts);
  g_free(hulls->components);
  g_free(hulls->histogram);
  g_free(hulls->floors);
}

/* --- slopes --- */

/* Positive floats sort as their bits do: the exponent and 8 bits of the fraction are the class. */
static uint16_t slope_class(double gain, uint32_t bytes)
{
  float slope = bytes ? (float)(gain / bytes) : 3e38f;
  uint32_t bits;

  if (!(slope > 0))
    return 0;
  slope = slope < 3e38f ? slope : 3e38f;
  memcpy(&bits, &slope, sizeof bits);
  return (uint16_t)(bits >> 15);
}

double cj2k_slope_value(uint32_t slope)
{
  uint32_t bits = slope << 15;
  float value;

  memcpy(&value, &bits, sizeof value);
  return value;
}

/* --- hulls --- */

typedef struct {
  uint32_t length;
  double gain; /* error saved */
  uint8_t option;
} Point;

/* Appends a point to the hull stack of `n`, taking away those that fall below the line to it. */
static uint32_t push_point(Point *stack, uint32_t n, Point point)
{
  while (n) {
    double saved = point.gain - stack[n - 1].gain, before = n > 1 ? stack[n - 2].gain : 0;
    uint32_t from = n > 1 ? stack[n - 2].length : 0;
    if (saved <= 0)
      return n; /* costs bytes and saves nothing */
    /* slope from the last point to this one, against the slope to the last one */
    double up = saved * (stack[n - 1].length - from);
    double last = (stack[n - 1].gain - before) * (point.length - stack[n - 1].length);
    if (up < last)
      break;
    n--;
  }
  if (point.gain <= 0)
    return n;
  stack[n] = point;
  return n + 1;
}

static void store_hull(Cj2kHulls *hulls, uint32_t b, const Point *stack, uint32_t n)
{
  Cj2kHullPoint *out = hulls->points + (size_t)b * hulls->max_points;
  Point before = {0};
  uint16_t slope = UINT16_MAX;

  for (uint32_t i = 0; i < n; i++) {
    uint32_t bytes = stack[i].length - before.length;
    uint16_t own = slope_class(stack[i].gain - before.gain, bytes);
    slope = MIN(slope, own); /* rounding must not turn the order around */
    out[i] = (Cj2kHullPoint){.bytes = bytes,
                             .gain = (float)(stack[i].gain - before.gain),
                             .slope = slope,
                             .option = stack[i].option};
    before = stack[i];
  }
  hulls->counts[b] = (uint8_t)n;
}

/* Points of block b above its component's floor; slopes fall along the hull. */
static inline uint32_t num_points(const Cj2kHulls *hulls, uint32_t b)
{
  const Cj2kHullPoint *points = hulls->points + (size_t)b * hulls->max_points;
  uint32_t floor = hulls->floors[hulls->components[b]], n = hulls->counts[b];

  while (floor && n && points[n - 1].slope <= floor)
    n--;
  return n;
}

static void sum_up(Cj2kHulls *hulls)
{
  memset(hulls->histogram, 0, CJ2K_SLOPE_CLASSES * sizeof *hulls->histogram);
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *points = hulls->points + (size_t)b * hulls->max_points;
    for (uint32_t i = 0, n = num_points(hulls, b); i < n; i++)
      hulls->histogram[points[i].slope] += points[i].bytes;
  }
}

void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope)
{
  hulls->floors[component] = slope;
  sum_up(hulls);
}

typedef struct {
  Cj2kHulls *hulls;
  const double *weights;
  const Cj2kEncodedBlock *blocks; /* MQ */
  const Cj2kPassEnd *passes;
  uint32_t stride;
  const uint32_t *lengths, *fixed; /* HT */
  const uint64_t *distortions;
  uint32_t num_planes;
} HullStage;

static void passes_of_block(const HullStage *stage, uint32_t b)
{
  const Cj2kEncodedBlock *block = &stage->blocks[b];
  double weight = stage->weights[stage->hulls->plan->blocks[b].band];
  Point stack[CJ2K_MAX_PASSES];
  uint32_t n = 0, num_passes = b % stage->stride ? 0 : block->num_passes;

  for (uint32_t p = 0; p < num_passes; p++) {
    const Cj2kPassEnd *end = &stage->passes[block->first_pass + p];
    n = push_point(stack, n,
                   (Point){end->length, (double)end->distortion * weight, (uint8_t)(p + 1)});
  }
  store_hull(stage->hulls, b, stack, n);
}

/* A block that was not measured has one option, which comes first. */
static void fix_block(const HullStage *stage, uint32_t b)
{
  uint32_t bytes = stage->fixed[b];

  stage->hulls->points[(size_t)b * stage->hulls->max_points] =
      (Cj2kHullPoint){.bytes = bytes, .slope = UINT16_MAX, .option = (uint8_t)stage->num_planes};
  stage->hulls->counts[b] = bytes > 0;
}

static void planes_of_block(const HullStage *stage, uint32_t b)
{
  const uint32_t *lengths = stage->lengths + (size_t)b * stage->num_planes;
  const uint64_t *distortions = stage->distortions + (size_t)b * stage->num_planes;
  double weight = stage->weights[stage->hulls->plan->blocks[b].band];
  Point stack[CJ2K_MAX_PASSES];
  uint32_t n = 0;

  if (b % stage->stride) {
    fix_block(stage, b);
    return;
  }
  for (uint32_t i = 1; i <= stage->num_planes; i++) {
    uint32_t p = stage->num_planes - i;
    if (lengths[p])
      n = push_point(stack, n, (Point){lengths[p], (double)distortions[p] * weight, (uint8_t)i});
  }
  store_hull(stage->hulls, b, stack, n);
}

static void hull_task(void *ctx, uint32_t index, uint32_t lane)
{
  const HullStage *stage = ctx;
  uint32_t end = MIN((index + 1) * BLOCKS_PER_TASK, stage->hulls->plan->num_blocks);

  (void)lane;
  for (uint32_t b = index * BLOCKS_PER_TASK; b < end; b++)
    if (stage->blocks)
      passes_of_block(stage, b);
    else
      planes_of_block(stage, b);
}

static void run(HullStage *stage, Cj2kThreads *threads)
{
  uint32_t tasks = (stage->hulls->plan->num_blocks + BLOCKS_PER_TASK - 1) / BLOCKS_PER_TASK;
  cj2k_parallel_for(threads, tasks, hull_task, stage);
  memset(stage->hulls->floors, 0,
         stage->hulls->plan->num_components * sizeof *stage->hulls->floors);
  sum_up(stage->hulls);
}

void cj2k_hulls_set_passes(Cj2kHulls *hulls, const Cj2kEncodedBlock *blocks,
                           const Cj2kPassEnd *passes, const double *weights, uint32_t stride,
                           Cj2kThreads *threads)
{
  HullStage stage = {
      .hulls = hulls, .weights = weights, .blocks = blocks, .passes = passes, .stride = stride};
  run(&stage, threads);
}

void cj2k_hulls_set_planes(Cj2kHulls *hulls, const uint32_t *lengths, const uint64_t *distortions,
                           uint32_t num_planes, const double *weights, uint32_t stride,
                           const uint32_t *fixed, Cj2kThreads *threads)
{
  HullStage stage = {.hulls = hulls,
                     .weights = weights,
                     .lengths = lengths,
                     .distortions = distortions,
                     .num_planes = num_planes,
                     .stride = stride,
                     .fixed = fixed};
  run(&stage, threads);
}

/* --- cuts --- */

Cj2kCut cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes)
{
  uint64_t sum = 0;

  for (uint32_t slope = CJ2K_SLOPE_CLASSES - 1; slope > 0; slope--) {
    sum += hulls->histogram[slope];
    if (sum > bytes)
      return (Cj2kCut){.slope = slope};
  }
  return (Cj2kCut){0};
}

uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope)
{
  uint64_t sum = 0;

  for (uint32_t s = slope + 1; s < CJ2K_SLOPE_CLASSES; s++)
    sum += hulls->histogram[s];
  return sum;
}

double cj2k_hulls_gain(const Cj2kHulls *hulls, uint32_t slope)
{
  double sum = 0;

  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *points = hulls->points + (size_t)b * hulls->max_points;
    for (uint32_t i = 0, n = num_points(hulls, b); i < n && points[i].slope > slope; i++)
      sum += points[i].gain;
  }
  return sum;
}

Cj2kCut cj2k_hulls_fill(const Cj2kHulls *hulls, Cj2kCut cut, uint64_t bytes, uint32_t overhead)
{
  uint64_t sum = 0;

  cut.extra = 0;
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *points = hulls->points + (size_t)b * hulls->max_points;
    for (uint32_t i = 0, n = num_points(hulls, b); i < n; i++) {
      if (points[i].slope != cut.slope)
        continue;
      sum += points[i].bytes + overhead;
      if (sum > bytes)
        return cut;
      cut.extra++;
    }
  }
  return cut;
}

void cj2k_hulls_apply(const Cj2kHulls *hulls, Cj2kCut cut, uint8_t *options)
{
  uint64_t extra = cut.extra;

  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *points = hulls->points + (size_t)b * hulls->max_points;
    uint32_t n = num_points(hulls, b), i = 0;
    while (i < n && points[i].slope > cut.slope)
      i++;
    for (; i < n && points[i].slope == cut.slope && extra; i++)
      extra--;
    options[b] = i ? points[i - 1].option : 0;
  }
}
