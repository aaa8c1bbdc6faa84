/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "selection.h"

#include <glib.h>
#include <string.h>

#define BLOCKS_PER_TASK 256
/* Classes below a cut, at most two octaves, of which options fill up what the cut leaves, until
 * less than this part is left. */
#define REACH  512
#define FILLED 16384

void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_points)
{
  size_t n = (size_t)plan->num_blocks + 1;

  *hulls = (Cj2kHulls){.plan = plan, .max_points = max_points, .lowest = 1};
  hulls->first = g_new0(uint32_t, n);
  hulls->counts = g_new0(uint8_t, n);
  hulls->all_counts = g_new0(uint8_t, n);
  hulls->slopes = g_new(uint16_t, n * max_points);
  hulls->bytes = g_new(uint32_t, n * max_points);
  hulls->options = g_new(uint8_t, n * max_points);
  hulls->components = g_new(uint16_t, n);
  hulls->floors = g_new0(uint32_t, plan->num_components + 1u);
  hulls->above = g_new0(uint64_t, CJ2K_SLOPE_CLASSES);
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    uint32_t tile_comp = plan->bands[plan->blocks[b].band].tile_comp;
    hulls->components[b] = (uint16_t)plan->tile_comps[tile_comp].component;
  }
}

void cj2k_hulls_clear(Cj2kHulls *hulls)
{
  g_free(hulls->first);
  g_free(hulls->counts);
  g_free(hulls->all_counts);
  g_free(hulls->slopes);
  g_free(hulls->bytes);
  g_free(hulls->options);
  g_free(hulls->components);
  g_free(hulls->floors);
  g_free(hulls->above);
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

static void store_hull(Cj2kHulls *hulls, uint32_t b, const Point *stack, uint32_t n, double weight)
{
  size_t first = hulls->first[b];
  Point before = {0};
  uint16_t slope = UINT16_MAX;

  for (uint32_t i = 0; i < n; i++) {
    uint32_t bytes = stack[i].length - before.length;
    uint16_t own = slope_class((stack[i].gain - before.gain) * weight, bytes);
    slope = MIN(slope, own); /* rounding must not turn the order around */
    hulls->slopes[first + i] = slope;
    hulls->bytes[first + i] = bytes;
    hulls->options[first + i] = stack[i].option;
    before = stack[i];
  }
  hulls->counts[b] = hulls->all_counts[b] = (uint8_t)n;
}

/* Adds up the bytes of each class, then of all above it. What no cut can keep, class 0, does not
 * count. */
static void sum_up(Cj2kHulls *hulls)
{
  uint32_t lowest = CJ2K_SLOPE_CLASSES, highest = 0;
  uint64_t sum = 0, *above = hulls->above;

  if (hulls->lowest <= hulls->highest)
    memset(above + hulls->lowest, 0, (hulls->highest + 1 - hulls->lowest) * sizeof *above);
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    uint32_t n = hulls->counts[b], i = hulls->first[b], end = i + n;
    if (!n)
      continue;
    highest = MAX(highest, hulls->slopes[i]);
    lowest = MIN(lowest, hulls->slopes[end - 1]);
    for (; i < end; i++)
      above[hulls->slopes[i]] += hulls->bytes[i];
  }
  above[0] = 0;
  hulls->lowest = MAX(lowest, 1);
  hulls->highest = highest;
  for (uint32_t s = highest + 1; s-- > hulls->lowest;) {
    uint64_t own = above[s];
    above[s] = sum;
    sum += own;
  }
  hulls->total = sum;
}

void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope)
{
  hulls->floors[component] = slope;
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const uint16_t *slopes = hulls->slopes + hulls->first[b];
    uint32_t n = hulls->all_counts[b];
    if (hulls->components[b] != component)
      continue;
    while (slope && n && slopes[n - 1] <= slope)
      n--;
    hulls->counts[b] = (uint8_t)n;
  }
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

static uint32_t num_passes_of(const HullStage *stage, uint32_t b)
{
  return b % stage->stride ? 0 : MIN(stage->blocks[b].num_passes, stage->hulls->max_points);
}

static void passes_of_block(const HullStage *stage, uint32_t b)
{
  const Cj2kEncodedBlock *block = &stage->blocks[b];
  const Cj2kPassEnd *ends = stage->passes + block->first_pass;
  double weight = stage->weights[stage->hulls->plan->blocks[b].band];
  Point stack[CJ2K_MAX_PASSES];
  uint32_t n = 0, num_passes = num_passes_of(stage, b);

  for (uint32_t p = 0; p < num_passes; p++)
    n = push_point(stack, n, (Point){ends[p].length, (double)ends[p].distortion, (uint8_t)(p + 1)});
  store_hull(stage->hulls, b, stack, n, weight);
}

/* A block that was not measured has one option, which comes first. */
static void fix_block(const HullStage *stage, uint32_t b)
{
  Cj2kHulls *hulls = stage->hulls;
  uint32_t first = hulls->first[b];

  hulls->bytes[first] = stage->fixed[b];
  hulls->slopes[first] = UINT16_MAX;
  hulls->options[first] = (uint8_t)stage->num_planes;
  hulls->counts[b] = hulls->all_counts[b] = stage->fixed[b] > 0;
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
      n = push_point(stack, n, (Point){lengths[p], (double)distortions[p], (uint8_t)i});
  }
  store_hull(stage->hulls, b, stack, n, weight);
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
  uint32_t num_blocks = stage->hulls->plan->num_blocks, first = 0;
  uint32_t tasks = (num_blocks + BLOCKS_PER_TASK - 1) / BLOCKS_PER_TASK;

  for (uint32_t b = 0; b < num_blocks; b++) {
    stage->hulls->first[b] = first;
    first += stage->blocks ? num_passes_of(stage, b) : stage->num_planes;
  }
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

uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope)
{
  return slope < hulls->lowest ? hulls->total : slope >= hulls->highest ? 0 : hulls->above[slope];
}

uint64_t cj2k_hulls_component_bytes(const Cj2kHulls *hulls, uint32_t component, uint32_t slope)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    uint32_t i = hulls->first[b], end = i + hulls->counts[b];
    if (hulls->components[b] == component)
      for (; i < end && hulls->slopes[i] > slope; i++)
        sum += hulls->bytes[i];
  }
  return sum;
}

uint32_t cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes)
{
  uint32_t low = hulls->lowest - 1, high = hulls->highest; /* the cut is above low, or is it */

  if (hulls->total <= bytes)
    return 0;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (cj2k_hulls_bytes(hulls, middle) <= bytes)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Keeps options above a cut and what of the class at the cut fits into the room that is left. */
static uint64_t apply(const Cj2kHulls *hulls, uint32_t slope, uint64_t room, uint8_t *options,
                      uint32_t *lengths)
{
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const uint16_t *slopes = hulls->slopes + hulls->first[b];
    const uint32_t *bytes = hulls->bytes + hulls->first[b];
    uint32_t n = hulls->counts[b], i = 0, length = 0;
    for (; i < n && slopes[i] > slope; i++)
      length += bytes[i];
    for (; i < n && slopes[i] == slope && bytes[i] <= room; i++) {
      length += bytes[i];
      room -= bytes[i];
    }
    lengths[b] = length;
    options[b] = i ? hulls->options[hulls->first[b] + i - 1] : 0;
  }
  return room;
}

void cj2k_hulls_apply(const Cj2kHulls *hulls, uint32_t slope, uint8_t *options, uint32_t *lengths)
{
  apply(hulls, slope, 0, options, lengths);
}

/* Adds what fits of options down to a slope. */
static uint64_t fill(const Cj2kHulls *hulls, uint32_t slope, uint64_t room, uint8_t *options,
                     uint32_t *lengths)
{
  for (uint32_t b = 0; b < hulls->plan->num_blocks && room; b++) {
    uint32_t i = hulls->first[b], end = i + hulls->counts[b];
    while (i < end && hulls->options[i] <= options[b])
      i++;
    for (; i < end && hulls->slopes[i] >= slope && hulls->bytes[i] <= room; i++) {
      room -= hulls->bytes[i];
      lengths[b] += hulls->bytes[i];
      options[b] = hulls->options[i];
    }
  }
  return room;
}

uint32_t cj2k_hulls_take(const Cj2kHulls *hulls, uint64_t bytes, uint8_t *options,
                         uint32_t *lengths, uint64_t *taken)
{
  uint32_t slope = cj2k_hulls_cut(hulls, bytes);
  uint64_t room = bytes - MIN(cj2k_hulls_bytes(hulls, slope), bytes), left;

  left = apply(hulls, slope, slope ? room : 0, options, lengths);
  for (uint32_t reach = 1; slope > REACH && reach <= REACH && left > bytes / FILLED; reach *= 8)
    left = fill(hulls, slope - reach, left, options, lengths);
  *taken = cj2k_hulls_bytes(hulls, slope) + (slope ? room - left : 0);
  return slope;
}
