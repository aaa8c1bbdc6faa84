/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Launchers of the encoding kernels in C, for programs that are linked with pretend-runtime.c. The
 * block coders are none: the bytes of a code-block follow from its number, and how many they are
 * from its step and its size, so that rate control finds what it expects. What puts bytes of blocks
 * to their places is like the kernels, and is what is tested: codestreams that were put together in
 * different ways must be equal.
 */
#include "common/codestream/header_stuffing.h"
#include "common/shared/hull.h"
#include "common/shared/mq_blocks.h"
#include "cuda/mq/cut.h"
#include "cuda/shared/copy_small.h"
#include "cuda/shared/cut.h"
#include "cuda/shared/place.h"
#include "tests/unit/header-words.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ALIGNMENT 16

/* ------------------------------------------------------------------------------ graphs --- */

/* Work that a stream does: at once, or when a graph is launched that has captured it. So what has
 * changed since then, but is not in the key of the graph, is found. */
typedef struct {
  void (*run)(const void *arguments);
  void *arguments; /* a copy */
} Work;

static __thread GArray *capturing; /* Work; NULL: it is done at once */
static __thread bool in_graph;     /* it is being done by a graph */

static void clear_work(void *work)
{
  g_free(((Work *)work)->arguments);
}

static cudaError_t put(void (*run)(const void *arguments), const void *arguments, size_t size)
{
  if (capturing) {
    Work work = {run, g_memdup2(arguments, size)};
    g_array_append_val(capturing, work);
  } else {
    run(arguments);
  }
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void)stream, (void)mode;
  g_assert_null(capturing);
  capturing = g_array_new(FALSE, FALSE, sizeof(Work));
  g_array_set_clear_func(capturing, clear_work);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  (void)stream;
  *graph = (cudaGraph_t)(void *)capturing;
  capturing = NULL;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
  (void)flags;
  *exec = (cudaGraphExec_t)(void *)g_array_ref((GArray *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
  const GArray *works = (const GArray *)(const void *)exec;

  (void)stream;
  g_assert_null(capturing);
  in_graph = true;
  for (guint i = 0; i < works->len; i++) {
    const Work *work = &g_array_index(works, Work, i);
    work->run(work->arguments);
  }
  in_graph = false;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
  g_array_unref((GArray *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
  g_array_unref((GArray *)(void *)exec);
  return cudaSuccess;
}

/* ------------------------------------------------------------------------------ copies --- */

typedef struct {
  void *to, *clear;
  const void *from;
  size_t size, clear_size;
} Copy;

static void do_copy(const void *arguments)
{
  const Copy *copy = arguments;

  if (copy->size)
    memcpy(copy->to, copy->from, copy->size);
  if (copy->clear_size)
    memset(copy->clear, 0, copy->clear_size);
}

cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream)
{
  const Copy copy = {to, clear, from, size, clear_size};

  (void)stream;
  g_assert_cmpuint(((uintptr_t)to | (uintptr_t)from | (uintptr_t)clear) % 16, ==, 0);
  return put(do_copy, &copy, sizeof copy);
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  return cj2k_cuda_copy_and_clear(to, from, size, NULL, 0, stream);
}

/* As the kernel does, which reads target and size when it runs. */
typedef struct {
  const Cj2kCudaCopyTarget *target;
  const void *from;
  const uint64_t *size;
} KnownCopy;

static void do_known_copy(const void *arguments)
{
  const KnownCopy *known = arguments;

  if (*known->size <= known->target->most)
    memcpy(known->target->to, known->from, *known->size);
}

cudaError_t cj2k_cuda_copy_known(const Cj2kCudaCopyTarget *target, const void *from,
                                 const uint64_t *size, size_t room, cudaStream_t stream)
{
  const KnownCopy known = {target, from, size};

  (void)room, (void)stream;
  return put(do_known_copy, &known, sizeof known);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  const Copy copy = {.to = to, .from = from, .size = size};

  (void)kind, (void)stream;
  return put(do_copy, &copy, sizeof copy);
}

/* --------------------------------------------------------------------------- transform --- */

const void *seen_plane; /* the first one of the picture that was transformed last */

static void transform_top(const void *arguments)
{
  const Cj2kCudaTopLevel *top = arguments;
  g_atomic_pointer_set(&seen_plane, top->planes[0].data);
}

/* The last transform of a slot. */
typedef struct {
  const void *lowpass;
  cudaStream_t stream;
  bool whole; /* all rows */
} Transform;

static GHashTable *transforms; /* by the slot's coefficients */
static GMutex transforms_lock;

static void note_transform(const Cj2kCudaCoefficients *arrays, cudaStream_t stream, bool whole)
{
  const Transform this = {arrays->lowpass, stream, whole};

  g_mutex_lock(&transforms_lock);
  if (!transforms)
    transforms = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  g_hash_table_insert(transforms, arrays->coefficients, g_memdup2(&this, sizeof this));
  g_mutex_unlock(&transforms_lock);
}

/* A block coder may have the memory of the low-pass workspace and the picture, but only behind the
 * whole transform: on the same stream, or when the host has waited for it. */
static void check_workspace(const void *coefficients, const void *workspace, cudaStream_t stream,
                            bool waited)
{
  g_mutex_lock(&transforms_lock);
  const Transform *last = transforms ? g_hash_table_lookup(transforms, coefficients) : NULL;
  if (last && last->lowpass == workspace)
    g_assert_true(last->whole && (waited || last->stream == stream));
  g_mutex_unlock(&transforms_lock);
}

cudaError_t cj2k_cuda_fdwt_top(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                               cudaStream_t stream)
{
  note_transform(arrays, stream, top->end_pair == UINT32_MAX);
  return put(transform_top, top, sizeof *top);
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

gint num_graphs;        /* graphs that coded blocks */
gint num_chosen;        /* frames whose blocks were coded as chosen, into new room */
gint num_again;         /* lists of blocks that were coded again, into their room */
gint longer_when_again; /* blocks are then longer than measured */
gint num_estimates;     /* of what blocks take */
gint odd_estimate;      /* the number of one that is half as much again; 0: none is */
gint num_left_out;      /* frames that were not coded, because the estimate was out of range */

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
  uint32_t count = frame->num_listed ? *frame->num_listed : frame->num_blocks;

  g_atomic_int_add(&num_graphs, in_graph);
  g_atomic_int_add(&num_again, frame->list && count);
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
  check_workspace(frame->coefficients, frame->scratch, stream, frame->list != NULL);
  return put(ht_encode, frame, sizeof *frame);
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
      measure->lengths[at] = length_at(&frame->blocks[b], planes, plane);
      if (measure->distortions)
        measure->distortions[at] = gain_at(&frame->blocks[b], planes, plane);
    }
  }
}

cudaError_t cj2k_cuda_ht_measure(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  return put(ht_measure, frame, sizeof *frame);
}

typedef struct {
  Cj2kCudaEncodeBlocks frame;
  uint32_t quad_rows;
  const Cj2kEstimateRange *range;
} Estimate;

/* As if it were exact, but for one. */
static void ht_estimate(const void *arguments)
{
  const Estimate *estimate = arguments;
  const Cj2kCudaEncodeBlocks *frame = &estimate->frame;
  uint32_t unit = g_atomic_int_add(&num_estimates, 1) + 1 == odd_estimate ? 192 : 128;

  for (uint32_t b = 0; b < frame->num_blocks; b++)
    frame->counts->estimate +=
        (uint64_t)unit *
        length_at(&frame->blocks[b], planes_of(&frame->blocks[b], frame->quantisers, b), 0) /
        estimate->quad_rows;
  frame->counts->left_out =
      estimate->range && !cj2k_estimate_is_in(estimate->range, frame->counts->estimate);
}

cudaError_t cj2k_cuda_ht_estimate(const Cj2kCudaEncodeBlocks *frame, uint32_t quad_rows,
                                  const Cj2kEstimateRange *range, cudaStream_t stream)
{
  const Estimate estimate = {*frame, quad_rows, range};

  (void)stream;
  return put(ht_estimate, &estimate, sizeof estimate);
}

/* --------------------------------------------------------------------------------- cut --- */

gint num_cut;      /* frames that the GPU has cut, or left whole */
gint cuts_another; /* it then leaves out a block more than the host */

/* The hulls of measured blocks, and what is taken of them. */
typedef struct {
  const Cj2kCudaCut *cut;
  uint32_t count; /* of measured blocks */
  Cj2kHullPoint (*points)[CJ2K_CUDA_CUT_PLANES];
  uint8_t *counts, *taken;
  uint64_t fixed, saved; /* bytes of other blocks; bytes that these save at plane 1 */
} Measured;

static void make_hull(Measured *measured, uint32_t i)
{
  const Cj2kCudaCut *cut = measured->cut;
  uint32_t b = i * cut->stride, n = 0;
  const uint32_t *lengths = cut->lengths + 2 * (size_t)b;
  const uint64_t *distortions = cut->distortions + 2 * (size_t)b;
  Cj2kHullOption options[2];

  for (uint32_t p = 2; p-- > 0;)
    if (lengths[p])
      options[n++] = (Cj2kHullOption){lengths[p] + 2, (uint8_t)(2 - p), (double)distortions[p]};
  Cj2kHullPoint *points = measured->points[i];
  measured->counts[i] =
      (uint8_t)cj2k_hull_of_options(options, n, cut->weights[cut->blocks[b].band], points);
  if (measured->counts[i])
    points[0].bytes -= 2;
  measured->fixed -= cut->coded[b];
  measured->saved += lengths[0] - MIN(lengths[0], lengths[1]);
  memcpy(cut->host_lengths + 2 * (size_t)b, lengths, 2 * sizeof *lengths);
  memcpy(cut->host_distortions + 2 * (size_t)b, distortions, 2 * sizeof *distortions);
}

/* The bytes above a slope, which are taken. */
static uint64_t take_above(Measured *measured, uint32_t slope)
{
  uint64_t sum = measured->fixed;

  for (uint32_t i = 0; i < measured->count; i++) {
    uint8_t n = 0;
    for (; n < measured->counts[i] && measured->points[i][n].slope > slope; n++)
      sum += measured->points[i][n].bytes;
    measured->taken[i] = n;
  }
  return sum;
}

static uint64_t fill(Measured *measured, uint32_t slope, uint64_t room)
{
  for (uint32_t i = 0; i < measured->count && room; i++)
    for (uint8_t n = measured->taken[i]; n < measured->counts[i]; n++) {
      const Cj2kHullPoint *point = &measured->points[i][n];
      if (point->slope < slope || point->bytes > room)
        break;
      room -= point->bytes;
      measured->taken[i]++;
    }
  return room;
}

/* Takes what `bytes` allow. Returns the slope of the cut. */
static uint32_t take(Measured *measured, uint64_t bytes)
{
  uint32_t slope = 0;

  while (slope < UINT16_MAX && take_above(measured, slope) > bytes)
    slope++;
  uint64_t above = take_above(measured, slope);
  uint64_t left = slope ? fill(measured, slope, bytes - MIN(above, bytes)) : 0;
  for (uint32_t reach = 1; slope && reach <= 16384; reach *= reach < 512 ? 8 : 2) {
    if (left <= bytes / (reach <= 512 ? 16384 : 256))
      break;
    left = fill(measured, slope > reach ? slope - reach : 1, left);
  }
  return slope;
}

/* Lists the blocks that are not taken as a whole. false: one is longer than its room. */
static bool list_blocks(const Measured *measured)
{
  const Cj2kCudaCut *cut = measured->cut;
  bool another = g_atomic_int_get(&cuts_another), fits = true;

  for (uint32_t i = 0; i < measured->count; i++) {
    const Cj2kHullPoint *points = measured->points[i];
    uint32_t b = i * cut->stride, length = 0;
    uint8_t n = measured->taken[i], plane = n ? (uint8_t)(2 - points[n - 1].option) : 0;
    for (uint8_t k = 0; k < n; k++)
      length += points[k].bytes;
    if (another && cut->coded[b] && n && !plane) {
      another = false;
      n = 0;
      length = 0;
    }
    fits &= length <= cut->coded[b];
    if (cut->coded[b] && (plane || !n))
      cut->list[cut->result->count++] = (Cj2kCudaAgain){b, length, {plane, n > 0}};
  }
  memcpy(cut->host_list, cut->list, cut->result->count * sizeof *cut->list);
  return fits;
}

static void cut_frame(const void *arguments)
{
  const Cj2kCudaCut *cut = arguments;
  Measured measured = {.cut = cut};
  uint64_t total = cut->behind_all, bodies = 0;

  if (cut->lengths)
    measured.count = (cut->num_blocks + cut->stride - 1) / cut->stride;
  g_assert_cmpuint(measured.count, <=, CJ2K_CUDA_CUT_BLOCKS);
  measured.points = g_malloc0_n(measured.count, sizeof *measured.points);
  measured.counts = g_new0(uint8_t, measured.count);
  measured.taken = g_new0(uint8_t, measured.count);
  *cut->result = (Cj2kCudaCutResult){0};
  for (uint32_t i = 0; i < cut->num_steps; i++) {
    const Cj2kPacketSize *size = &cut->sizes[cut->steps[i].precinct];
    total += (uint64_t)cut->steps[i].before + size->header + cut->behind_header + size->body;
    bodies += size->body;
  }
  measured.fixed = bodies;
  for (uint32_t i = 0; i < measured.count; i++)
    make_hull(&measured, i);
  uint64_t over = total > cut->limits->budget ? total - cut->limits->budget : 0;
  bool coded = cut->counts->bytes <= cut->capacity && !cut->counts->failed;
  uint64_t headers = total - bodies + cut->limits->margin;
  if (coded && !over && total >= cut->limits->least) {
    cut->result->state = CJ2K_CUDA_CUT_WHOLE;
  } else if (coded && over && total <= cut->limits->most && measured.saved > over + over / 4) {
    uint32_t slope = take(&measured, cut->limits->budget - MIN(headers, cut->limits->budget));
    cut->result->state = slope && slope < UINT16_MAX ? CJ2K_CUDA_CUT_SOME : CJ2K_CUDA_CUT_NONE;
    if (cut->result->state == CJ2K_CUDA_CUT_SOME && !list_blocks(&measured))
      *cut->result = (Cj2kCudaCutResult){0};
  }
  g_atomic_int_add(&num_cut, cut->result->state != CJ2K_CUDA_CUT_NONE);
  *cut->host_result = *cut->result;
  g_free(measured.points);
  g_free(measured.counts);
  g_free(measured.taken);
}

cudaError_t cj2k_cuda_ht_cut(const Cj2kCudaCut *cut, cudaStream_t stream)
{
  (void)stream;
  return put(cut_frame, cut, sizeof *cut);
}

/* ---------------------------------------------------------------------------------- MQ --- */

cudaError_t cj2k_cuda_mq_contexts(const Cj2kCudaMqContexts *frame, cudaStream_t stream)
{
  check_workspace(frame->coefficients, frame->symbols, stream, false);
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

/* ------------------------------------------------------------------------------ MQ: cut --- */

gint cuts_nothing; /* the GPU then leaves it to the host */
gint retains_less; /* without every second block */

static bool leaves_out(uint32_t b)
{
  return b % 2 && g_atomic_int_get(&retains_less);
}

static const Cj2kHullPoint *points_of(const Cj2kCudaMqCut *cut, uint32_t b)
{
  return cut->frame.points + cut->frame.coded[b].first_point;
}

/* Takes a point more of a block. */
static void take_point(const Cj2kCudaMqCut *cut, uint32_t b)
{
  Cj2kCudaMqTaken *taken = &cut->taken[b];
  const Cj2kHullPoint *point = points_of(cut, b) + taken->taken++;

  taken->length += point->bytes;
  taken->passes = point->option;
}

/* Adds points down to a slope. Returns the room that is left. */
static uint64_t add_points(const Cj2kCudaMqCut *cut, uint32_t slope, uint64_t room)
{
  for (uint32_t b = 0; b < cut->frame.contexts.num_blocks && room; b++)
    while (cut->taken[b].taken < cut->frame.coded[b].num_points) {
      const Cj2kHullPoint *point = points_of(cut, b) + cut->taken[b].taken;
      if (point->slope < slope || point->bytes > room)
        break;
      room -= point->bytes;
      take_point(cut, b);
    }
  return room;
}

/* Takes what `bytes` allow; the state's slope is that of the cut. Returns the bytes of all. */
static uint64_t take_points(const Cj2kCudaMqCut *cut, uint64_t bytes)
{
  uint64_t sum = 0;
  uint32_t slope = CJ2K_SLOPE_CLASSES - 1;

  while (slope && sum + cut->frame.slope_bytes[slope] <= bytes)
    sum += cut->frame.slope_bytes[slope--];
  cut->state->slope = slope;
  memset(cut->bands, 0, cut->num_bands * sizeof *cut->bands);
  for (uint32_t b = 0; b < cut->frame.contexts.num_blocks; b++) {
    cut->taken[b] = (Cj2kCudaMqTaken){0};
    while (cut->taken[b].taken < cut->frame.coded[b].num_points &&
           points_of(cut, b)[cut->taken[b].taken].slope > slope)
      take_point(cut, b);
    cut->bands[cut->frame.contexts.blocks[b].band] += cut->taken[b].length;
  }
  if (!slope)
    return sum;
  uint64_t left = add_points(cut, slope, bytes - sum);
  for (uint32_t reach = 1; reach <= 16384; reach *= reach < 512 ? 8 : 2) {
    if (left <= bytes / (reach <= 512 ? 16384 : 256))
      break;
    left = add_points(cut, slope > reach ? slope - reach : 1, left);
  }
  return bytes - left;
}

/* The bits of a band's blocks. */
static uint32_t count_band(const Cj2kCudaMqCut *cut, const Cj2kCudaHeaderPacket *packet,
                           const Cj2kCudaHeaderBand *band, bool *any)
{
  const Cj2kHeaderTree *tree = &band->tree;
  Cj2kHeaderNode *nodes = cut->packets.nodes + packet->first_node + band->first_node;
  uint32_t count = tree->width * tree->height, bits = 0;

  for (uint32_t i = 0; i < count; i++) {
    uint32_t b = band->first_block + i;
    nodes[i] = cj2k_header_leaf(cut->taken[b].passes, i, cut->packets.blocks[b].zero_bitplanes);
    *any |= cut->taken[b].passes > 0;
  }
  for (uint32_t level = 1; level < tree->num_levels; level++)
    for (uint32_t i = 0; i < cj2k_header_level_nodes(tree, level); i++)
      nodes[tree->offset[level] + i] = cj2k_header_inner(tree, nodes, level, i);
  for (uint32_t i = 0; i < count; i++) {
    const Cj2kCudaMqTaken *taken = &cut->taken[band->first_block + i];
    Cj2kHeaderTrees trees = cj2k_header_trees(tree, nodes, i % tree->width, i / tree->width);
    const Cj2kHeaderBlock block = {
        .passes = taken->passes, .first_passes = taken->passes, .lengths = {taken->length}};
    bits += cj2k_header_block_size(&trees, &block);
  }
  return bits;
}

cudaError_t cj2k_cuda_mq_count(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t i = 0; i < cut->packets.num_packets; i++) {
    const Cj2kCudaHeaderPacket *packet = &cut->packets.packets[i];
    uint64_t bits = 1;
    bool any = false;
    for (uint32_t k = 0; k < packet->num_bands; k++)
      bits += count_band(cut, packet, &packet->bands[k], &any);
    cut->state->headers += any ? (bits + bits / 2048 + 7) / 8 - 1 : 0;
  }
  return cudaSuccess;
}

static void set_records(const Cj2kCudaMqCut *cut)
{
  for (uint32_t b = 0; b < cut->frame.contexts.num_blocks; b++) {
    cut->frame.coded[b].num_passes = leaves_out(b) ? 0 : cut->taken[b].passes;
    cut->frame.coded[b].length = leaves_out(b) ? 0 : cut->taken[b].length;
  }
}

/* The rounds. Returns whether what is retained is enough. */
static bool cut_passes(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  const Cj2kCudaMqFrameCounts *counts = cut->frame.counts;
  uint64_t headers = cut->header_bytes, bodies = 0;

  if (counts->modelled.symbols > cut->frame.contexts.capacity || counts->coded.failed ||
      counts->coded.bytes > cut->frame.capacity || counts->passes > cut->frame.pass_capacity ||
      counts->lengths <= cut->budget || g_atomic_int_get(&cuts_nothing))
    return false;
  for (uint32_t s = 1; s < CJ2K_SLOPE_CLASSES; s++)
    cut->state->all += cut->frame.slope_bytes[s];
  for (uint32_t round = 0; round < 2; round++) {
    bodies = take_points(cut, cut->budget - MIN(headers + cut->margin, cut->budget));
    if (!round)
      cj2k_cuda_mq_count(cut, stream);
    headers = cut->empty_bytes + cut->state->headers;
  }
  return cut->state->slope && bodies + headers >= cut->least;
}

cudaError_t cj2k_cuda_mq_cut(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  *cut->state = (Cj2kCudaMqCutState){0};
  if (cut_passes(cut, stream)) {
    cut->state->result.state = CJ2K_CUDA_CUT_SOME;
    set_records(cut);
    g_atomic_int_inc(&num_cut);
  }
  memcpy(cut->host_bands, cut->bands, cut->num_bands * sizeof *cut->bands);
  *cut->host_state = *cut->state;
  *cut->host_counts = *cut->frame.counts;
  return cudaSuccess;
}

/* -------------------------------------------------------------------------------- places --- */

cudaError_t cj2k_cuda_mq_retain(const Cj2kCudaMqRetain *retain, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t b = 0; b < retain->num_blocks; b++) {
    g_assert_cmpuint(retain->passes[b], <=, retain->blocks[b].num_passes);
    g_assert_cmpuint(retain->lengths[b], <=, retain->blocks[b].length);
    retain->blocks[b].num_passes = leaves_out(b) ? 0 : retain->passes[b];
    retain->blocks[b].length = leaves_out(b) ? 0 : retain->lengths[b];
  }
  return cudaSuccess;
}

cudaError_t cj2k_cuda_mq_gather(const Cj2kCudaMqGather *gather, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t b = 0; b < gather->num_blocks; b++)
    memcpy(gather->out + gather->retained[b].to, gather->bytes + gather->blocks[b].offset,
           gather->retained[b].length);
  return cudaSuccess;
}

gint num_placed; /* frames of which there was something to place */
gint num_made;   /* of them, those whose packets were made */
gint no_room;    /* headers of large packets then have none */

static Cj2kHeaderBlock header_block(const Cj2kCudaHeaders *frame, const Cj2kEncodedBlock *coded)
{
  bool made = frame->header_bits && coded->num_passes > 1;

  return (Cj2kHeaderBlock){.passes = coded->num_passes,
                           .first_passes = coded->num_passes,
                           .lengths = {coded->length},
                           .words = made ? frame->header_bits + coded->first_pass : NULL};
}

/* Writes the bits of a band's blocks from bit `at` on. Returns their end. */
static uint32_t put_band(const Cj2kCudaHeaders *frame, const Cj2kCudaHeaderPacket *packet,
                         const Cj2kCudaHeaderBand *band, uint32_t *words, uint32_t at,
                         uint64_t *body)
{
  const Cj2kHeaderTree *tree = &band->tree;
  Cj2kHeaderNode *nodes = frame->nodes + packet->first_node + band->first_node;
  const Cj2kEncodedBlock *blocks = frame->blocks + band->first_block;
  uint32_t count = tree->width * tree->height;

  for (uint32_t i = 0; i < count; i++)
    nodes[i] = cj2k_header_leaf(blocks[i].num_passes, i, blocks[i].zero_bitplanes);
  for (uint32_t level = 1; level < tree->num_levels; level++)
    for (uint32_t i = 0; i < cj2k_header_level_nodes(tree, level); i++)
      nodes[tree->offset[level] + i] = cj2k_header_inner(tree, nodes, level, i);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t x = i % tree->width, y = i / tree->width;
    Cj2kHeaderBlock block = header_block(frame, &blocks[i]);
    Cj2kHeaderTrees trees = cj2k_header_trees(tree, nodes, x, y);
    cj2k_header_put_block(tree, nodes, x, y, &block, words, at);
    at += cj2k_header_block_size(&trees, &block);
    frame->starts[band->first_block + i] = *body;
    *body += block.passes ? blocks[i].length : 0;
  }
  return at;
}

/* Makes a header in memory of its own, which is large enough, and copies it if it has room. */
static void make_header(const Cj2kCudaHeaders *frame, const Cj2kCudaHeaderPacket *packet)
{
  uint32_t *words = g_new0(uint32_t, 32 * (size_t)packet->num_blocks + 4), bits = 1, size = 0;
  uint64_t body = 0;

  words[0] = 1u << 31;
  for (uint32_t i = 0; i < packet->num_bands; i++)
    bits = put_band(frame, packet, &packet->bands[i], words, bits, &body);
  if (!body) {
    words[0] = 0;
    bits = 1;
  }
  bool fits = cj2k_stuff_chunks(bits) + 1 <= packet->num_words;
  if (g_atomic_int_get(&no_room) && packet->num_blocks > 1)
    fits = false;
  uint8_t *out = frame->bytes + (size_t)packet->first_word * CJ2K_CUDA_HEADER_BYTES;
  uint32_t state = CJ2K_STUFF_BEGIN;
  for (uint32_t i = 0; fits && i < cj2k_stuff_chunks(bits); i++) {
    uint64_t window = cj2k_stuff_window(words, i);
    uint32_t chunk = cj2k_stuff_size(bits, i);
    size += cj2k_stuff_write(window, chunk, state, out + size);
    state = cj2k_stuff_pass(window, chunk, state);
  }
  if (fits && cj2k_stuff_end(state))
    out[size++] = 0;
  frame->sizes[packet->precinct] =
      (Cj2kPacketSize){.body = body, .header = fits ? size : CJ2K_CUDA_HEADER_LONG};
  g_free(words);
}

static void make_headers(const void *arguments)
{
  const Cj2kCudaHeaders *headers = arguments;

  if (headers->cut && headers->cut->state != CJ2K_CUDA_CUT_SOME)
    return;
  for (uint32_t i = 0; i < headers->num_packets; i++)
    make_header(headers, &headers->packets[i]);
}

cudaError_t cj2k_cuda_headers(const Cj2kCudaHeaders *headers, cudaStream_t stream)
{
  (void)stream;
  return put(make_headers, headers, sizeof *headers);
}

static void find_places(const void *arguments)
{
  const Cj2kCudaPacketPlaces *places = arguments;
  uint64_t at = 0;

  for (uint32_t i = 0; i < places->count && at != CJ2K_CUDA_NO_ROOM; i++) {
    const Cj2kPacketStep *step = &places->steps[i];
    const Cj2kPacketSize *size = &places->sizes[step->precinct];
    uint64_t header = at + step->before, body = header + size->header + places->behind_header;
    places->places[step->precinct] = (Cj2kCudaPacketPlace){header, body};
    places->host_sizes[step->precinct] = *size;
    at = size->header == CJ2K_CUDA_HEADER_LONG ? CJ2K_CUDA_NO_ROOM : body + size->body;
  }
  bool known = !places->cut || places->cut->state != CJ2K_CUDA_CUT_NONE;
  bool fits = known && at != CJ2K_CUDA_NO_ROOM && at + places->behind_all <= places->room;
  *places->end = *places->host_end = fits ? at + places->behind_all : CJ2K_CUDA_NO_ROOM;
  *places->host_counts = *places->counts;
}

cudaError_t cj2k_cuda_packet_places(const Cj2kCudaPacketPlaces *places, cudaStream_t stream)
{
  (void)stream;
  return put(find_places, places, sizeof *places);
}

static void place_packets(const void *arguments)
{
  const Cj2kCudaPlacePackets *place = arguments;

  if (*place->end == CJ2K_CUDA_NO_ROOM)
    return;
  g_atomic_int_inc(&num_made);
  for (uint32_t b = 0; b < place->num_blocks; b++) {
    const Cj2kEncodedBlock *block = &place->blocks[b];
    if (block->num_passes)
      memcpy(place->out + place->places[place->precincts[b]].body + place->starts[b],
             place->bytes + block->offset, block->length);
  }
  for (uint32_t i = 0; i < place->num_pieces; i++) {
    const Cj2kCudaHeaderPiece *piece = &place->pieces[i];
    uint32_t size = place->sizes[piece->precinct].header;
    if (piece->at < size)
      memcpy(place->out + place->places[piece->precinct].header + piece->at,
             place->headers + piece->from + piece->at,
             MIN(size - piece->at, CJ2K_CUDA_HEADER_PIECE));
  }
}

cudaError_t cj2k_cuda_place_packets(const Cj2kCudaPlacePackets *place, cudaStream_t stream)
{
  (void)stream;
  return put(place_packets, place, sizeof *place);
}

cudaError_t cj2k_cuda_place(const Cj2kCudaPlace *place, cudaStream_t stream)
{
  (void)stream;
  g_assert_cmpuint(((uintptr_t)place->bytes | (uintptr_t)place->out) % 4, ==, 0);
  g_atomic_int_add(&num_placed, place->num_runs > 0);
  for (uint32_t i = 0; i < place->num_runs; i++)
    memcpy(place->out + place->runs[i].to, place->bytes + place->runs[i].from,
           place->runs[i].length);
  return cudaSuccess;
}
