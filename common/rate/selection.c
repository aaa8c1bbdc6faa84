/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "selection.h"

#include <glib.h>
#include <string.h>

#define BLOCKS_PER_TASK 256
/* Slope of the only option of a block that was not measured: the highest. */
#define FIXED_SLOPE UINT16_MAX
/* Up to so many blocks, to cut which takes about as long as waking threads for it; with a stride
 * hulls of even fewer are made. */
#define FEW_BLOCKS 12288

void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_planes, Cj2kThreads *threads)
{
  size_t n = (size_t)plan->num_blocks + 1;

  *hulls = (Cj2kHulls){.plan = plan, .threads = threads, .lowest = 1, .stride = 1};
  hulls->first = g_new0(uint32_t, n);
  hulls->counts = g_new0(uint8_t, n);
  hulls->all_counts = g_new0(uint8_t, n);
  hulls->own = g_new(Cj2kHullPoint, n * max_planes);
  hulls->own_size = n * max_planes;
  hulls->components = g_new(uint16_t, n);
  hulls->floors = g_new0(uint32_t, plan->num_components + 1u);
  hulls->sums = g_new0(uint64_t, CJ2K_SLOPE_CLASSES);
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
  g_free(hulls->own);
  g_free(hulls->components);
  g_free(hulls->floors);
  g_free(hulls->sums);
}

void cj2k_selection_init(Cj2kSelection *selection, uint32_t num_blocks)
{
  size_t n = (size_t)num_blocks + 1;

  *selection = (Cj2kSelection){.options = g_new0(uint8_t, n),
                               .lengths = g_new0(uint32_t, n),
                               .taken = g_new0(uint8_t, n),
                               .last = g_new0(uint16_t, n),
                               .next = g_new0(uint16_t, n)};
}

void cj2k_selection_clear(Cj2kSelection *selection)
{
  g_free(selection->options);
  g_free(selection->lengths);
  g_free(selection->taken);
  g_free(selection->last);
  g_free(selection->next);
}

void cj2k_selection_retain_all(Cj2kSelection *selection, const Cj2kEncodedBlock *blocks,
                               uint32_t num_blocks)
{
  uint8_t *options = selection->options;
  uint32_t *lengths = selection->lengths;

  for (uint32_t b = 0; b < num_blocks; b++) {
    options[b] = blocks[b].num_passes;
    lengths[b] = blocks[b].length;
  }
  selection->hulls = NULL;
}

/* --- hulls --- */

/* Sums up the bytes of all groups above each group of classes. */
static void accumulate(Cj2kHulls *hulls)
{
  uint64_t sum = 0;

  for (uint32_t g = CJ2K_SLOPE_GROUPS; g-- > 0;) {
    hulls->above[g] = sum;
    sum += hulls->groups[g];
  }
  hulls->total = sum;
}

/* Empties all classes. Few groups have any bytes: an octave is a group, and blocks that were not
 * measured are in the highest class, far above the others. */
static void clear_sums(Cj2kHulls *hulls)
{
  for (uint32_t g = 0; g < CJ2K_SLOPE_GROUPS; g++)
    if (hulls->groups[g])
      memset(hulls->sums + (size_t)g * CJ2K_SLOPE_GROUP, 0, CJ2K_SLOPE_GROUP * sizeof *hulls->sums);
  memset(hulls->groups, 0, sizeof hulls->groups);
}

/* Bytes of the blocks that were not measured. */
static uint64_t fixed_bytes(const Cj2kHulls *hulls)
{
  uint32_t num_blocks = hulls->plan->num_blocks;
  const uint32_t *fixed = hulls->fixed;
  uint64_t sum = 0;

  if (hulls->stride == 1)
    return 0;
  for (uint32_t b = 0; b < num_blocks; b++)
    sum += fixed[b];
  for (uint32_t b = 0; b < num_blocks; b += hulls->stride)
    sum -= fixed[b];
  return sum;
}

/* Sums up the bytes of each class and of groups. Class 0 is not counted, because no cut retains
 * it. */
static void sum_up(Cj2kHulls *hulls)
{
  uint32_t lowest = CJ2K_SLOPE_CLASSES, highest = 0;
  uint64_t fixed = fixed_bytes(hulls);

  clear_sums(hulls);
  if (fixed) {
    lowest = highest = FIXED_SLOPE;
    hulls->sums[FIXED_SLOPE] = hulls->groups[FIXED_SLOPE / CJ2K_SLOPE_GROUP] = fixed;
  }
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b += hulls->stride) {
    const Cj2kHullPoint *point = hulls->points + hulls->first[b], *end = point + hulls->counts[b];
    if (point == end)
      continue;
    highest = MAX(highest, point->slope);
    lowest = MIN(lowest, end[-1].slope);
    for (; point < end; point++) {
      hulls->sums[point->slope] += point->bytes;
      hulls->groups[point->slope / CJ2K_SLOPE_GROUP] += point->bytes;
    }
  }
  hulls->groups[0] -= hulls->sums[0];
  hulls->sums[0] = 0;
  hulls->lowest = MAX(lowest, 1);
  hulls->highest = highest;
  accumulate(hulls);
}

/* The same with sums that the caller has. */
static void copy_sums(Cj2kHulls *hulls, const Cj2kSlopeSums *sums)
{
  clear_sums(hulls);
  hulls->lowest = MAX(sums->lowest, 1);
  hulls->highest = sums->highest;
  for (uint32_t s = hulls->lowest; s <= hulls->highest; s++) {
    hulls->sums[s] = sums->bytes[s];
    hulls->groups[s / CJ2K_SLOPE_GROUP] += sums->bytes[s];
  }
  accumulate(hulls);
}

/* Leaves out a block's options at or below a slope. */
static void set_block_floor(Cj2kHulls *hulls, uint32_t b, uint32_t slope)
{
  const Cj2kHullPoint *points = hulls->points + hulls->first[b];
  uint32_t n = hulls->all_counts[b];

  while (slope && n && points[n - 1].slope <= slope)
    n--;
  hulls->counts[b] = (uint8_t)n;
}

void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope)
{
  hulls->version++;
  hulls->floors[component] = slope;
  hulls->stride = 1; /* it may leave out blocks that were not measured */
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++)
    if (hulls->components[b] == component)
      set_block_floor(hulls, b, slope);
  sum_up(hulls);
}

void cj2k_hulls_set_floors(Cj2kHulls *hulls, uint32_t slope)
{
  hulls->version++;
  for (uint32_t c = 0; c < hulls->plan->num_components; c++)
    hulls->floors[c] = slope;
  hulls->stride = 1;
  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++)
    set_block_floor(hulls, b, slope);
  sum_up(hulls);
}

typedef struct {
  Cj2kHulls *hulls;
  const Cj2kEncodedBlock *blocks; /* MQ */
  const double *weights;          /* HT, like the following members */
  uint32_t stride;
  const uint32_t *lengths, *fixed;
  const uint64_t *distortions;
  uint32_t num_planes;
} HullStage;

static void points_of_block(const HullStage *stage, uint32_t b)
{
  Cj2kHulls *hulls = stage->hulls;

  hulls->first[b] = stage->blocks[b].first_point;
  hulls->counts[b] = hulls->all_counts[b] = stage->blocks[b].num_points;
}

/* The hull of a measured block. */
static void planes_of_block(const HullStage *stage, uint32_t b)
{
  Cj2kHulls *hulls = stage->hulls;
  const uint32_t *lengths = stage->lengths + (size_t)b * stage->num_planes;
  const uint64_t *distortions = stage->distortions + (size_t)b * stage->num_planes;
  uint32_t first = b * stage->num_planes, n = 0;
  Cj2kHullOption options[CJ2K_MAX_PASSES];

  for (uint32_t i = 1; i <= stage->num_planes; i++) {
    uint32_t p = stage->num_planes - i;
    if (lengths[p])
      options[n++] =
          (Cj2kHullOption){lengths[p] + CJ2K_HULL_HEADER_BYTES, (uint8_t)i, (double)distortions[p]};
  }
  double weight = stage->weights[hulls->plan->blocks[b].band];
  if (hulls->block_weights)
    weight *= hulls->block_weights[b];
  n = cj2k_hull_of_options(options, n, weight, hulls->own + first);
  if (n)
    hulls->own[first].bytes -= CJ2K_HULL_HEADER_BYTES;
  hulls->first[b] = first;
  hulls->counts[b] = hulls->all_counts[b] = (uint8_t)n;
}

/* Blocks [b, end) as if none were measured: they have one option, which comes first. */
static void fixed_planes(const HullStage *stage, uint32_t b, uint32_t end)
{
  Cj2kHulls *hulls = stage->hulls;
  const uint32_t *fixed = stage->fixed; /* variables, so that loops can be vectorised */
  uint32_t num_planes = stage->num_planes, *first = hulls->first;
  Cj2kHullPoint *own = hulls->own + (size_t)b * num_planes;
  uint8_t *counts = hulls->counts;

  for (uint32_t i = b; i < end; i++, own += num_planes)
    *own = (Cj2kHullPoint){.bytes = fixed[i], .slope = FIXED_SLOPE, .option = (uint8_t)num_planes};
  for (uint32_t i = b; i < end; i++)
    first[i] = i * num_planes;
  for (uint32_t i = b; i < end; i++)
    counts[i] = fixed[i] > 0;
  memcpy(hulls->all_counts + b, counts + b, end - b);
}

static void hull_task(void *ctx, uint32_t index, uint32_t lane)
{
  const HullStage *stage = ctx;
  uint32_t b = index * BLOCKS_PER_TASK;
  uint32_t end = MIN(b + BLOCKS_PER_TASK, stage->hulls->plan->num_blocks);

  (void)lane;
  if (stage->blocks) {
    for (; b < end; b++)
      points_of_block(stage, b);
    return;
  }
  if (stage->stride > 1)
    fixed_planes(stage, b, end);
  for (b = (b + stage->stride - 1) / stage->stride * stage->stride; b < end; b += stage->stride)
    planes_of_block(stage, b);
}

static uint32_t num_tasks(const Cj2kHulls *hulls)
{
  return (hulls->plan->num_blocks + BLOCKS_PER_TASK - 1) / BLOCKS_PER_TASK;
}

/* Calls fn for all tasks; other threads are woken for it unless it is `little` work. */
static void for_tasks(const Cj2kHulls *hulls, bool little,
                      void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  if (little && hulls->plan->num_blocks <= FEW_BLOCKS)
    cj2k_parallel_for_short(hulls->threads, num_tasks(hulls), fn, ctx);
  else
    cj2k_parallel_for(hulls->threads, num_tasks(hulls), fn, ctx);
}

static void set_hulls(HullStage *stage)
{
  Cj2kHulls *hulls = stage->hulls;

  for_tasks(hulls, stage->blocks || stage->stride > 4, hull_task, stage);
  memset(hulls->floors, 0, hulls->plan->num_components * sizeof *hulls->floors);
}

/* Replaces points that the caller keeps by own ones with the weights of blocks. */
static void weigh_points(Cj2kHulls *hulls)
{
  const uint32_t num_blocks = hulls->plan->num_blocks;
  size_t total = 0;

  for (uint32_t b = 0; b < num_blocks; b++)
    total += hulls->all_counts[b];
  if (total > hulls->own_size) {
    hulls->own_size = total + total / 4;
    g_free(hulls->own);
    hulls->own = g_new(Cj2kHullPoint, hulls->own_size);
  }
  Cj2kHullPoint *to = hulls->own;
  for (uint32_t b = 0; b < num_blocks; b++) {
    const Cj2kHullPoint *from = hulls->points + hulls->first[b];
    double weight = hulls->block_weights[b];
    hulls->first[b] = (uint32_t)(to - hulls->own);
    for (uint32_t i = 0; i < hulls->all_counts[b]; i++, to++) {
      *to = from[i];
      if (to->slope)
        to->slope = MAX(cj2k_slope_class(cj2k_slope_value(to->slope) * weight), 1);
    }
  }
  hulls->points = hulls->own;
}

void cj2k_hulls_set_points(Cj2kHulls *hulls, const Cj2kEncodedBlock *blocks,
                           const Cj2kHullPoint *points, const Cj2kSlopeSums *sums)
{
  HullStage stage = {.hulls = hulls, .blocks = blocks};

  hulls->version++;
  hulls->points = points;
  hulls->stride = 1;
  hulls->header_bytes = 0;
  set_hulls(&stage);
  if (hulls->block_weights)
    weigh_points(hulls);
  if (sums && !hulls->block_weights)
    copy_sums(hulls, sums);
  else
    sum_up(hulls);
}

void cj2k_hulls_set_planes(Cj2kHulls *hulls, const uint32_t *lengths, const uint64_t *distortions,
                           uint32_t num_planes, const double *weights, uint32_t stride,
                           const uint32_t *fixed)
{
  HullStage stage = {.hulls = hulls,
                     .weights = weights,
                     .lengths = lengths,
                     .distortions = distortions,
                     .num_planes = num_planes,
                     .stride = stride,
                     .fixed = fixed};

  hulls->version++;
  hulls->points = hulls->own;
  hulls->stride = stride;
  hulls->fixed = fixed;
  hulls->fixed_option = (uint8_t)num_planes;
  hulls->header_bytes = CJ2K_HULL_HEADER_BYTES;
  set_hulls(&stage);
  sum_up(hulls);
}

/* --- cuts --- */

uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope)
{
  if (slope < hulls->lowest)
    return hulls->total;
  if (slope >= hulls->highest)
    return 0;
  uint32_t group = slope / CJ2K_SLOPE_GROUP, end = (group + 1) * CJ2K_SLOPE_GROUP;
  uint64_t bytes = hulls->above[group];
  for (uint32_t s = slope + 1; s < end; s++)
    bytes += hulls->sums[s];
  return bytes;
}

uint64_t cj2k_hulls_component_bytes(const Cj2kHulls *hulls, uint32_t component, uint32_t slope)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *point = hulls->points + hulls->first[b], *end = point + hulls->counts[b];
    if (hulls->components[b] == component)
      for (; point < end && point->slope > slope; point++)
        sum += point->bytes;
  }
  return sum;
}

Cj2kHullGains cj2k_hulls_gains(const Cj2kHulls *hulls, const Cj2kSelection *cut)
{
  Cj2kHullGains gains = {0};

  for (uint32_t b = 0; b < hulls->plan->num_blocks; b++) {
    const Cj2kHullPoint *points = hulls->points + hulls->first[b];
    for (uint32_t i = 0; i < hulls->all_counts[b]; i++) {
      double slope =
          (cj2k_slope_value(points[i].slope) + cj2k_slope_value(points[i].slope + 1)) / 2;
      uint32_t bytes = points[i].bytes + (i ? 0 : hulls->header_bytes);
      *(i < cut->taken[b] ? &gains.taken : &gains.left) += bytes * slope;
    }
  }
  return gains;
}

uint32_t cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes)
{
  uint32_t low = hulls->lowest - 1, high = hulls->highest; /* the cut is in (low, high] */

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

typedef struct {
  const Cj2kHulls *hulls;
  uint32_t slope;
  Cj2kSelection *selection;
} CutStage;

/* Sets that the first i options of a block, of so many bytes, are retained. */
static inline void retain(const Cj2kHulls *hulls, uint32_t b, uint32_t i, uint32_t length,
                          Cj2kSelection *selection)
{
  const Cj2kHullPoint *points = hulls->points + hulls->first[b];

  selection->lengths[b] = length;
  selection->options[b] = i ? points[i - 1].option : 0;
  selection->taken[b] = (uint8_t)i;
  selection->last[b] = i ? points[i - 1].slope : UINT16_MAX;
  selection->next[b] = i < hulls->counts[b] ? points[i].slope : 0;
}

static inline void cut_block(const Cj2kHulls *hulls, uint32_t b, uint32_t slope,
                             Cj2kSelection *selection)
{
  const Cj2kHullPoint *points = hulls->points + hulls->first[b];
  uint32_t n = hulls->counts[b], i = 0, length = 0;

  for (; i < n && points[i].slope > slope; i++)
    length += points[i].bytes;
  retain(hulls, b, i, length, selection);
}

/* The same of a block that has been cut at another slope, mostly a close one. */
static inline void move_cut(const Cj2kHulls *hulls, uint32_t b, uint32_t slope,
                            Cj2kSelection *selection)
{
  if (selection->last[b] > slope && selection->next[b] <= slope)
    return;
  const Cj2kHullPoint *points = hulls->points + hulls->first[b];
  uint32_t n = hulls->counts[b], i = selection->taken[b], length = selection->lengths[b];

  for (; i && points[i - 1].slope <= slope; i--)
    length -= points[i - 1].bytes;
  for (; i < n && points[i].slope > slope; i++)
    length += points[i].bytes;
  retain(hulls, b, i, length, selection);
}

static void cut_task(void *ctx, uint32_t index, uint32_t lane)
{
  const CutStage *stage = ctx;
  const Cj2kHulls *hulls = stage->hulls;
  uint32_t first = index * BLOCKS_PER_TASK;
  uint32_t end = MIN(first + BLOCKS_PER_TASK, hulls->plan->num_blocks);
  Cj2kSelection *selection = stage->selection;

  (void)lane;
  if (selection->hulls == hulls && selection->version == hulls->version)
    for (uint32_t b = first; b < end; b++)
      move_cut(hulls, b, stage->slope, selection);
  else
    for (uint32_t b = first; b < end; b++)
      cut_block(hulls, b, stage->slope, selection);
}

/* The stride of blocks on which a cut, and what fills it up, depend. All others are retained,
 * unless even their slope is cut off. */
static uint32_t stride_of_cut(const Cj2kHulls *hulls, uint32_t slope)
{
  return slope < FIXED_SLOPE ? hulls->stride : 1;
}

/* The same for hulls of which few blocks were measured. */
static void cut_measured(const Cj2kHulls *hulls, uint32_t slope, Cj2kSelection *selection)
{
  const uint32_t *fixed = hulls->fixed;
  uint32_t num_blocks = hulls->plan->num_blocks;
  uint8_t option = hulls->fixed_option, *taken = selection->taken, *options = selection->options;

  memcpy(selection->lengths, fixed, num_blocks * sizeof *fixed);
  memset(selection->last, 0xff, num_blocks * sizeof *selection->last);
  memset(selection->next, 0, num_blocks * sizeof *selection->next);
  for (uint32_t b = 0; b < num_blocks; b++)
    taken[b] = fixed[b] > 0;
  for (uint32_t b = 0; b < num_blocks; b++)
    options[b] = taken[b] ? option : 0;
  for (uint32_t b = 0; b < num_blocks; b += hulls->stride)
    cut_block(hulls, b, slope, selection);
}

void cj2k_hulls_apply(const Cj2kHulls *hulls, uint32_t slope, Cj2kSelection *selection)
{
  CutStage stage = {hulls, slope, selection};

  if (stride_of_cut(hulls, slope) > 1) {
    cut_measured(hulls, slope, selection);
    selection->hulls = NULL;
    return;
  }
  for_tasks(hulls, true, cut_task, &stage);
  selection->hulls = hulls;
  selection->version = hulls->version;
}

/* Adds options that are not taken and fit into `room`, down to a slope, of each stride-th block. */
static uint64_t fill(const Cj2kHulls *hulls, uint32_t stride, uint32_t slope, uint64_t room,
                     Cj2kSelection *selection)
{
  for (uint32_t b = 0; b < hulls->plan->num_blocks && room; b += stride) {
    const Cj2kHullPoint *points = hulls->points + hulls->first[b];
    uint32_t n = hulls->counts[b], i = selection->taken[b];
    if (selection->next[b] < slope)
      continue;
    uint32_t length = selection->lengths[b];
    for (; i < n && points[i].slope >= slope && points[i].bytes <= room; i++) {
      room -= points[i].bytes;
      length += points[i].bytes;
    }
    if (i > selection->taken[b])
      retain(hulls, b, i, length, selection);
  }
  return room;
}

uint32_t cj2k_hulls_take(const Cj2kHulls *hulls, uint64_t bytes, Cj2kSelection *selection,
                         uint64_t *taken)
{
  uint32_t slope = cj2k_hulls_cut(hulls, bytes), stride = stride_of_cut(hulls, slope);
  uint64_t above = cj2k_hulls_bytes(hulls, slope),
           room = slope && above < bytes ? bytes - above : 0;

  cj2k_hulls_apply(hulls, slope, selection);
  uint64_t left = fill(hulls, stride, slope, room, selection);
  for (uint32_t reach = 1; slope && reach <= CJ2K_CUT_FAR; reach *= reach < CJ2K_CUT_NEAR ? 8 : 2) {
    if (left <= bytes / (reach <= CJ2K_CUT_NEAR ? CJ2K_CUT_FILLED : CJ2K_CUT_NEARLY_FILLED))
      break;
    left = fill(hulls, stride, slope > reach ? slope - reach : 1, left, selection);
  }
  *taken = above + room - left;
  return slope;
}
