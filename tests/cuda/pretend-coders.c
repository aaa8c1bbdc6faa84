/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Launchers of the encoding kernels in C, for programs that are linked with pretend-runtime.c. The
 * block coders are none: the bytes of a code-block follow from its number, and how many they are
 * from its step and its size, so that rate control finds what it expects. What puts bytes of blocks
 * to their places (pretend-packets.c) is like the kernels, and is what is tested: codestreams that
 * were put together in different ways must be equal.
 */
#include "pretend-coders.h"

#include "pretend.h"

#include "common/shared/hull.h"
#include "common/shared/mq_blocks.h"
#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/encode_kernels.h"
#include "tests/unit/header-words.h"

#include <math.h>
#include <string.h>

#define ALIGNMENT 16

/* --------------------------------------------------------------------------- transform --- */

const void *seen_plane;

static void transform_top(const void *arguments)
{
  const Cj2kCudaTopLevel *top = arguments;
  g_atomic_pointer_set(&seen_plane, top->planes[0].data);
}

/* The last transform of a slot. */
typedef struct {
  const void *lowpass;
  PretendMoment moment;
  bool whole; /* all rows */
} Transform;

static GHashTable *transforms; /* by the slot's coefficients */
static GMutex transforms_lock;

static void note_transform(const Cj2kCudaCoefficients *arrays, cudaStream_t stream, bool whole)
{
  const Transform this = {arrays->lowpass, cj2k_pretend_moment(stream), whole};

  g_mutex_lock(&transforms_lock);
  if (!transforms)
    transforms = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  g_hash_table_insert(transforms, arrays->coefficients, g_memdup2(&this, sizeof this));
  g_mutex_unlock(&transforms_lock);
}

/* A block coder may have the memory of the low-pass workspace and the picture, but only behind the
 * whole transform. */
static void check_workspace(const void *coefficients, const void *workspace, cudaStream_t stream)
{
  g_mutex_lock(&transforms_lock);
  const Transform *last = transforms ? g_hash_table_lookup(transforms, coefficients) : NULL;
  if (last && last->lowpass == workspace)
    g_assert_true(last->whole && cj2k_pretend_is_after(stream, &last->moment));
  g_mutex_unlock(&transforms_lock);
}

cudaError_t cj2k_cuda_fdwt_top(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                               cudaStream_t stream)
{
  note_transform(arrays, stream, top->end_pair == UINT32_MAX);
  return pretend_put(transform_top, top, sizeof *top);
}

/* ------------------------------------------------------------------------- code-blocks --- */

static uint32_t hash(uint32_t a, uint32_t b)
{
  uint32_t x = a * 2654435761u ^ b * 40503u;
  return (x ^ x >> 15) * 2246822519u >> 8;
}

/* Bit-planes of a block that have ones. */
static double planes_of(const Cj2kCudaEncodeBlock *block, const Cj2kFrameQuantiser *quantisers,
                        uint32_t b)
{
  double planes = block->reversible ? 6 : log2((double)quantisers[block->band].inv_scale) + 6;
  return planes + (double)(hash(b, 1) % 256) / 128 - 1;
}

/* Bytes of a block down to a bit-plane. */
static uint32_t length_at(const Cj2kCudaEncodeBlock *block, double planes, uint32_t plane)
{
  double bits = MIN(planes - plane, 12);
  return bits > 0 ? (uint32_t)(bits * block->width * block->height / 8) + 2 : 0;
}

/* What a block saves down to a bit-plane. */
static uint64_t gain_at(const Cj2kCudaEncodeBlock *block, double planes, uint32_t plane)
{
  double gain = pow(4, MAX(planes, 0)) - pow(4, plane);
  return gain > 0 ? (uint64_t)(gain * block->width * block->height) : 0;
}

static void write_bytes(uint8_t *to, uint32_t length, uint32_t b, uint32_t plane)
{
  for (uint32_t i = 0; i < length; i++)
    to[i] = (uint8_t)(hash(b * 32 + plane, i) & 0x7f);
}

/* Takes room for a block's bytes, and writes them if there is any. */
static uint64_t put_bytes(uint8_t *bytes, uint64_t capacity, uint64_t *taken, uint32_t length,
                          uint32_t b, uint32_t plane)
{
  uint64_t offset = *taken;

  *taken += (length + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  if (*taken <= capacity)
    write_bytes(bytes + offset, length, b, plane);
  return offset;
}

/* ---------------------------------------------------------------------------------- HT --- */

gint num_graphs;
gint num_chosen;
gint num_again;
gint num_again_in_graphs;
gint longer_when_again;
gint num_estimates;
gint odd_estimate;
uint32_t odd_unit;
gint num_left_out;

/* Which block is the i-th one, and what was chosen for it. */
static Cj2kCudaAgain task(const Cj2kCudaEncodeBlocks *frame, uint32_t i)
{
  Cj2kCudaAgain task = {.block = frame->order ? frame->order[i] : i, .choice = {0, 1}};

  if (frame->list)
    return frame->list[i];
  if (frame->choices)
    task.choice = frame->choices[task.block];
  return task;
}

static void ht_encode(const void *arguments)
{
  const Cj2kCudaEncodeBlocks *frame = arguments;
  bool left_out = frame->counts->left_out && !frame->list;

  g_atomic_int_add(&num_left_out, left_out);
  uint32_t count =
      frame->num_listed ? MIN(*frame->num_listed, frame->num_blocks) : frame->num_blocks;

  g_atomic_int_add(&num_graphs, pretend_in_graph());
  g_atomic_int_add(&num_again, frame->list && count);
  g_atomic_int_add(&num_again_in_graphs, frame->list && count && pretend_in_graph());
  g_atomic_int_add(&num_chosen, !frame->list && frame->choices);
  for (uint32_t i = 0; i < count; i += frame->stride) {
    Cj2kCudaAgain this = task(frame, i);
    uint32_t b = this.block, plane = this.choice.plane;
    const Cj2kCudaEncodeBlock *block = &frame->blocks[b];
    double planes = planes_of(block, frame->quantisers, b);
    uint32_t length = this.choice.passes && !left_out ? length_at(block, planes, plane) : 0;
    length += frame->list && g_atomic_int_get(&longer_when_again);
    uint8_t all = frame->quantisers[block->band].num_bitplanes;
    uint64_t offset = frame->coded[b].offset;
    if (frame->list && length == this.length)
      write_bytes(frame->bytes + offset, length, b, plane);
    else
      offset = put_bytes(frame->bytes, frame->capacity, &frame->counts->bytes, length, b, plane);
    frame->counts->unlike += frame->list && length != this.length;
    frame->coded[b] =
        (Cj2kEncodedBlock){.offset = offset,
                           .length = length,
                           .first_pass = b,
                           .num_passes = length > 0,
                           .zero_bitplanes = (uint8_t)(length ? all - 1u - plane : all),
                           .is_ht = 1};
    frame->passes[b] = (Cj2kPassLength){.length = length, .terminated = 1};
    frame->lengths[b] = length;
  }
}

cudaError_t cj2k_cuda_ht_encode(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  check_workspace(frame->coefficients, frame->scratch, stream);
  return pretend_put(ht_encode, frame, sizeof *frame);
}

static void ht_measure(const void *arguments)
{
  const Cj2kCudaEncodeBlocks *frame = arguments;
  const Cj2kCudaMeasure *measure = &frame->measure;

  for (uint32_t i = 0; i < frame->num_blocks; i += frame->stride) {
    uint32_t b = frame->order ? frame->order[i] : i;
    double planes = planes_of(&frame->blocks[b], frame->quantisers, b);
    for (uint32_t p = 0; p < measure->num_planes; p++) {
      uint32_t plane = measure->first_plane + p;
      size_t at = (size_t)b * measure->num_planes + p;
      measure->lengths[at] = p || !measure->first_is_coded
                                 ? length_at(&frame->blocks[b], planes, plane)
                                 : 0xDEADBEEF; /* nobody may use it */
      if (measure->distortions)
        measure->distortions[at] = gain_at(&frame->blocks[b], planes, plane);
    }
  }
}

cudaError_t cj2k_cuda_ht_measure(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(ht_measure, frame, sizeof *frame);
}

typedef struct {
  Cj2kCudaEncodeBlocks frame;
  Cj2kCudaEstimate how;
} Estimate;

/* As if it were exact, in so many units. */
static uint64_t sum_of(const Cj2kCudaEncodeBlocks *frame, uint32_t unit, uint32_t quad_rows)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < frame->num_blocks; b++)
    sum += (uint64_t)unit *
           length_at(&frame->blocks[b], planes_of(&frame->blocks[b], frame->quantisers, b), 0) /
           quad_rows;
  return sum;
}

/* In units of 128, but for one. */
static void ht_estimate(const void *arguments)
{
  const Estimate *estimate = arguments;
  const Cj2kCudaEncodeBlocks *frame = &estimate->frame;
  const Cj2kCudaEstimate *how = &estimate->how;
  uint32_t unit = g_atomic_int_add(&num_estimates, 1) + 1 == odd_estimate ? odd_unit : 128;
  Cj2kEstimateVerdict verdict = CJ2K_ESTIMATE_AGAIN;
  double base = how->range ? how->range->base : 0;

  for (uint32_t i = 0; verdict == CJ2K_ESTIMATE_AGAIN; i++) {
    uint64_t all = frame->counts->estimates[i] = sum_of(frame, unit, how->quad_rows);
    verdict = how->range ? cj2k_estimate_judge(how->range, i, all, &base) : CJ2K_ESTIMATE_IN;
    frame->counts->left_out = verdict == CJ2K_ESTIMATE_OUT;
    for (uint32_t b = 0; how->rules && !frame->counts->left_out && b < how->num_bands; b++)
      cj2k_step_choose(&how->rules[b], base, &how->quantisers[b], &how->weights[b]);
  }
}

cudaError_t cj2k_cuda_ht_estimate(const Cj2kCudaEncodeBlocks *frame, const Cj2kCudaEstimate *how,
                                  cudaStream_t stream)
{
  const Estimate estimate = {*frame, *how};

  (void)stream;
  return pretend_put(ht_estimate, &estimate, sizeof estimate);
}

/* ---------------------------------------------------------------------------------- MQ --- */

cudaError_t cj2k_cuda_mq_contexts(const Cj2kCudaMqContexts *frame, cudaStream_t stream)
{
  check_workspace(frame->coefficients, frame->symbols, stream);
  return cudaSuccess;
}

/* Puts words to where the lengths of passes or the bits are. false: they have no room. */
static bool put_words(const Cj2kCudaMqCode *frame, uint32_t count, const void *words)
{
  uint64_t first = frame->counts->passes;
  void *to = frame->header_bits ? (void *)(frame->header_bits + first) : frame->passes + first;

  frame->counts->passes += count;
  if (frame->counts->passes > frame->pass_capacity)
    return false;
  memcpy(to, words, count * sizeof(uint32_t));
  return true;
}

/* What a block saves with so many bits for each sample, in (step/16)^2: that of a bit is a quarter
 * of what the one before it saves, so that slopes suggest steps as they do for real blocks. */
static uint64_t saved_by(const Cj2kCudaEncodeBlock *block, double planes, double bits)
{
  double error = pow(4, planes) * 256 / 12 * block->width * block->height;
  return (uint64_t)(error - error * pow(4, -bits));
}

/* The record, passes and distortions of a block. */
static void code_block(const Cj2kCudaMqCode *frame, uint32_t b)
{
  const Cj2kCudaMqContexts *contexts = &frame->contexts;
  const Cj2kCudaEncodeBlock *block = &contexts->blocks[b];
  uint64_t *distortions =
      contexts->distortions + (size_t)b * CJ2K_CUDA_MQ_PASSES(contexts->max_planes);
  uint32_t all = contexts->quantisers[block->band].num_bitplanes, lowest = contexts->lowest_plane;
  double planes = planes_of(block, contexts->quantisers, b);
  uint32_t ones = planes > lowest ? MIN((uint32_t)(planes - lowest) + 1, all - lowest) : 0;
  uint32_t length = ones ? length_at(block, planes, lowest) : 0, n = length ? 3 * ones - 2 : 0;
  Cj2kEncodedBlock *coded = &frame->coded[b];
  Cj2kPassLength passes[CJ2K_MAX_PASSES];
  uint32_t words[MAX_HEADER_WORDS];

  *coded = (Cj2kEncodedBlock){.length = length,
                              .first_pass = (uint32_t)frame->counts->passes,
                              .num_passes = (uint8_t)n,
                              .zero_bitplanes = (uint8_t)(all - ones - (n ? lowest : 0))};
  coded->offset =
      put_bytes(frame->bytes, frame->capacity, &frame->counts->coded.bytes, length, b, 0);
  for (uint32_t p = 0; p < n; p++) {
    bool ends = p + 1 == n || cj2k_pass_ends_segment(p, block->style);
    passes[p] =
        (Cj2kPassLength){.length = (uint32_t)((uint64_t)length * (p + 1) / n), .terminated = ends};
    distortions[p] = saved_by(block, planes, (planes - lowest) * (p + 1) / n);
  }
  if (!frame->header_bits)
    put_words(frame, n, passes);
  else if (!put_words(frame, n ? make_header_words(passes, n, words) : 0, words))
    coded->num_passes = 0;
}

cudaError_t cj2k_cuda_mq_code(const Cj2kCudaMqCode *frame, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t i = 0; i < frame->contexts.num_blocks; i += frame->contexts.stride)
    code_block(frame, frame->contexts.numbers ? frame->contexts.numbers[i] : i);
  return cudaSuccess;
}

cudaError_t cj2k_cuda_mq_hulls(const Cj2kCudaMqCode *frame, cudaStream_t stream)
{
  const Cj2kCudaMqContexts *contexts = &frame->contexts;
  Cj2kCudaMqFrameCounts *counts = frame->counts;

  (void)stream;
  for (uint32_t i = 0; i < contexts->num_blocks && counts->passes <= frame->pass_capacity;
       i += contexts->stride) {
    uint32_t b = contexts->numbers ? contexts->numbers[i] : i;
    Cj2kEncodedBlock *coded = &frame->coded[b];
    const uint64_t *distortions =
        contexts->distortions + (size_t)b * CJ2K_CUDA_MQ_PASSES(contexts->max_planes);
    Cj2kHullPoint *points = frame->points + counts->points;
    Cj2kPassEnd ends[CJ2K_MAX_PASSES];
    for (uint32_t p = 0; p < coded->num_passes; p++)
      ends[p] = (Cj2kPassEnd){.length = frame->passes[coded->first_pass + p].length,
                              .distortion = distortions[p]};
    uint32_t n = cj2k_hull_of_passes(ends, coded->num_passes,
                                     frame->weights[contexts->blocks[b].band], points);
    coded->first_point = (uint32_t)counts->points;
    coded->num_points = (uint8_t)n;
    counts->points += n;
    counts->lengths += coded->length;
    for (uint32_t p = 0; p < n; p++) {
      frame->slope_bytes[points[p].slope] += points[p].bytes;
      counts->highest_slope = MAX(counts->highest_slope, points[p].slope);
      counts->lowest_slope_below =
          MAX(counts->lowest_slope_below, CJ2K_SLOPE_CLASSES - (uint32_t)points[p].slope);
    }
  }
  return cudaSuccess;
}
