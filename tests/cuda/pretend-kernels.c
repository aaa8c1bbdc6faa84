/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The launchers of the decoding kernels (decode_kernels.h) in C, for programs that are linked with
 * pretend-runtime.c and pretend-graphs.c: they do at once, or in a graph with what they were given
 * when it was captured, with the functions of the CPU back end, what the kernels do with the same
 * structs. So the samples that "cuda" decodes without a GPU are right if the host
 * side is: lists, tables, offsets, ranges of rows, copies. What the structs say of the launch is
 * checked. The kernels themselves are not tested.
 */
#include "common/cpu/blockcoder.h"
#include "common/cpu/dwt/transform.h"
#include "common/shared/mq_blocks.h"
#include "cuda/shared/copy_small.h"
#include "cuda/shared/decode_kernels.h"
#include "pretend-graphs.h"
#include "pretend.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

cudaError_t cj2k_cuda_ht_init(void)
{
  return cudaSuccess;
}

/* told: where the size is, which is then the most; NULL: it is known. */
typedef struct {
  void *to;
  const void *from;
  const uint64_t *told;
  size_t size;
} Copy;

static void copy(const void *arguments)
{
  const Copy *c = arguments;
  size_t size = c->told ? *c->told : c->size;

  g_assert_cmpuint(((uintptr_t)c->to | (uintptr_t)c->from) % 16, ==, 0);
  g_assert_cmpuint(size, <=, c->size);
  g_assert_true(cj2k_pretend_holds(c->to, size) && cj2k_pretend_holds(c->from, size));
  memcpy(c->to, c->from, size);
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  const Copy c = {to, from, NULL, size};

  (void)stream;
  return pretend_put(copy, &c, sizeof c);
}

cudaError_t cj2k_cuda_copy_told(void *to, const void *from, const uint64_t *size, size_t room,
                                cudaStream_t stream)
{
  const Copy c = {to, from, size, room};

  (void)stream;
  return pretend_put(copy, &c, sizeof c);
}

/* ------------------------------------------------------------------------- code-blocks --- */

static uint32_t number_of(const Cj2kCudaDecodeBlocks *frame, uint32_t i)
{
  return frame->numbers ? frame->numbers[i] : i;
}

static const Cj2kCudaBlock *block_of(const Cj2kCudaDecodeBlocks *frame, uint32_t i)
{
  return &frame->blocks[number_of(frame, i)];
}

static bool has_passes(const Cj2kCudaDecodeBlocks *frame, uint32_t i)
{
  const Cj2kCodedBlock *coded = &frame->coded[i];
  return block_of(frame, i)->offset != UINT64_MAX && coded->num_passes && !coded->corrupt;
}

static void clear(const Cj2kCudaDecodeBlocks *frame, uint32_t i)
{
  const Cj2kCudaBlock *block = block_of(frame, i);
  size_t size = block->narrow ? sizeof(int16_t) : sizeof(uint32_t);
  uint8_t *out = (uint8_t *)frame->coefficients + block->offset * size;
  for (uint32_t y = 0; y < block->height; y++)
    memset(out + (size_t)y * block->stride * size, 0, block->width * size);
}

/* Stores the samples of a block, which are half units with a sign in the highest bit, as
 * coefficients. */
static void store(const Cj2kCudaDecodeBlocks *frame, const Cj2kCudaBlock *block,
                  const uint32_t *samples)
{
  if (!block->narrow) {
    cj2k_reconstruct(samples, block->width, block->width, block->height, block->roi_shift,
                     block->reversible, frame->steps[block->band].scale,
                     (uint32_t *)frame->coefficients + block->offset, block->stride);
    return;
  }
  g_assert_cmpuint(block->roi_shift, ==, 0);
  int16_t *out = (int16_t *)frame->coefficients + block->offset;
  for (uint32_t y = 0; y < block->height; y++)
    for (uint32_t x = 0; x < block->width; x++) {
      uint32_t sample = samples[(size_t)y * block->width + x];
      int32_t magnitude = (int32_t)(sample & 0x7FFFFFFF) >> block->reversible;
      g_assert_cmpint(magnitude, <=, G_MAXINT16);
      out[(size_t)y * block->stride + x] = (int16_t)(sample >> 31 ? -magnitude : magnitude);
    }
}

/* Decodes and dequantises a block; what the decoder may not read is not there. scratch: one for all
 * blocks of a launch, because the allocator of a sanitizer takes longer for its 300 KB than the
 * decoder for the block. */
static bool decode(const Cj2kCudaDecodeBlocks *frame, Cj2kBlockScratch *scratch, uint32_t i)
{
  const Cj2kCudaBlock *block = block_of(frame, i);
  const Cj2kCodedBlock *coded = &frame->coded[i];
  const Cj2kCudaBandStep *step = &frame->steps[block->band];
  uint8_t *data = g_memdup2(frame->data + coded->offset, MAX(coded->length, 1));
  uint32_t *samples = g_new(uint32_t, (gsize)block->width * block->height);
  const Cj2kBlockInput in = {.data = data,
                             .length = coded->length,
                             .segments = frame->segments + coded->first_segment,
                             .num_segments = coded->num_segments,
                             .num_passes = coded->num_passes,
                             .zero_bitplanes = coded->zero_bitplanes,
                             .num_bitplanes = (uint8_t)step->num_bitplanes,
                             .orientation = block->orientation,
                             .style = block->style,
                             .width = block->width,
                             .height = block->height};
  bool good = coded->zero_bitplanes < step->num_bitplanes &&
              (coded->is_ht ? cj2k_ht_decode_block(scratch, &in, samples, block->width)
                            : cj2k_mq_decode_block(scratch, &in, samples, block->width));
  if (good)
    store(frame, block, samples);
  frame->corrupt_flags[i] = !good;
  *frame->corrupt += !good;
  g_free(samples);
  g_free(data);
  return good;
}

/* Of a list that is longer than there are blocks, the blocks. */
static uint32_t count_blocks(const uint32_t *list, uint32_t count)
{
  uint32_t blocks = 0;
  while (blocks < count && list[blocks] != CJ2K_CUDA_NO_BLOCK)
    blocks++;
  for (uint32_t k = blocks; k < count; k++)
    g_assert_cmpuint(list[k], ==, CJ2K_CUDA_NO_BLOCK);
  return blocks;
}

/* The list has `count` blocks, each one once, and all that are like this. */
static void check_list(const Cj2kCudaDecodeBlocks *frame, const uint32_t *list, uint32_t count,
                       bool is_ht, uint32_t least_passes)
{
  uint8_t *listed = g_new0(uint8_t, frame->num_blocks + 1);
  for (uint32_t k = 0; k < count; k++) {
    g_assert_cmpuint(list[k], <, frame->num_blocks);
    g_assert_false(listed[list[k]]);
    listed[list[k]] = 1;
  }
  for (uint32_t i = 0; i < frame->num_blocks; i++) {
    const Cj2kCodedBlock *coded = &frame->coded[i];
    bool wanted =
        has_passes(frame, i) && !coded->is_ht == !is_ht && coded->num_passes >= least_passes;
    g_assert_cmpint(listed[i], ==, wanted);
  }
  g_free(listed);
}

/* All that the kernels of code-blocks read or write is in device memory, or pinned. */
static void check_memory(const Cj2kCudaDecodeBlocks *frame)
{
  size_t count = frame->num_blocks, mq = frame->mq.count;
  const struct {
    const void *memory;
    size_t size;
  } used[] = {{frame->coded, count * sizeof *frame->coded},
              {frame->corrupt_flags, count},
              {frame->corrupt, sizeof *frame->corrupt},
              {frame->zeros, frame->zeros ? count : 0},
              {frame->blocks, count * sizeof *frame->blocks},
              {frame->numbers, frame->numbers ? count * sizeof *frame->numbers : 0},
              {frame->ht.order, frame->ht.count * sizeof *frame->ht.order},
              {frame->ht.refined, frame->ht.num_refined * sizeof *frame->ht.refined},
              {frame->mq.order, mq * sizeof *frame->mq.order},
              {frame->mq.offsets, mq * sizeof *frame->mq.offsets},
              {frame->mq.warps, mq ? (frame->mq.num_warps + 1) * sizeof *frame->mq.warps : 0},
              {frame->mq.passes, mq * sizeof *frame->mq.passes},
              {frame->mq.planes, frame->mq.plane_words * sizeof *frame->mq.planes}};

  for (size_t i = 0; i < G_N_ELEMENTS(used); i++)
    g_assert_true(!used[i].size || cj2k_pretend_holds(used[i].memory, used[i].size));
  for (uint32_t i = 0; i < frame->num_blocks; i++)
    if (has_passes(frame, i)) {
      const Cj2kCodedBlock *coded = &frame->coded[i];
      g_assert_true(cj2k_pretend_holds(frame->data + coded->offset, coded->length));
      g_assert_true(cj2k_pretend_holds(frame->segments + coded->first_segment,
                                       coded->num_segments * sizeof(Cj2kSegment)));
    }
}

typedef struct {
  uint64_t first, end;
} Range;

static int compare_ranges(const void *a, const void *b)
{
  const Range *first = a, *second = b;
  return (first->first > second->first) - (first->first < second->first);
}

/* The bit-planes of the MQ blocks cover `planes` without gaps or overlaps. */
static void check_mq_planes(const Cj2kCudaDecodeBlocks *frame)
{
  Range *ranges = g_new(Range, frame->mq.count);

  for (uint32_t k = 0; k < frame->mq.count; k++) {
    const Cj2kCudaBlock *block = block_of(frame, frame->mq.order[k]);
    uint32_t octets = CJ2K_CUDA_MQ_OCTETS(block->width, block->height);
    uint32_t passes = frame->coded[frame->mq.order[k]].num_passes;
    uint32_t raw = block->style & CJ2K_STYLE_BYPASS ? CJ2K_CUDA_MQ_RAW_PLANES(passes) : 0;
    uint64_t size =
        CJ2K_CUDA_MQ_PLANE_WORDS(octets, passes, frame->mq.max_octets > CJ2K_CUDA_MQ_SMALL) +
        raw * sizeof(Cj2kCudaRawBits) / 4;
    g_assert_cmpuint(frame->mq.offsets[k] % 4, ==, 0);
    g_assert_cmpuint(raw, <=, frame->mq.raw_planes);
    ranges[k] = (Range){frame->mq.offsets[k], frame->mq.offsets[k] + size};
  }
  qsort(ranges, frame->mq.count, sizeof *ranges, compare_ranges);
  g_assert_cmpuint(ranges[0].first, ==, 0);
  for (uint32_t k = 0; k < frame->mq.count; k++)
    g_assert_cmpuint(ranges[k].end, ==,
                     k + 1 < frame->mq.count ? ranges[k + 1].first : frame->mq.plane_words);
  g_free(ranges);
}

/* What the launch of the MQ decoder follows from. */
static void check_mq_launch(const Cj2kCudaDecodeBlocks *frame)
{
  uint32_t lanes = frame->mq.lanes;

  g_assert_true(lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32);
  g_assert_cmpuint(frame->mq.num_warps, >, 0);
  g_assert_cmpuint(frame->mq.warps[0], ==, 0);
  g_assert_cmpuint(frame->mq.warps[frame->mq.num_warps], ==, frame->mq.count);
  for (uint32_t w = 0; w < frame->mq.num_warps; w++) {
    g_assert_cmpuint(frame->mq.warps[w], <, frame->mq.warps[w + 1]);
    g_assert_cmpuint(frame->mq.warps[w + 1] - frame->mq.warps[w], <=, lanes);
  }
  for (uint32_t k = 0; k < frame->mq.count; k++) {
    const Cj2kCudaBlock *block = block_of(frame, frame->mq.order[k]);
    uint32_t octets = CJ2K_CUDA_MQ_OCTETS(block->width, block->height);
    g_assert_cmpuint(octets, <=, frame->mq.max_octets);
    bool has_window = CJ2K_CUDA_MQ_HAS_WINDOW(frame->mq.max_octets, lanes);
    uint32_t height = has_window ? MIN(block->height, 4 * CJ2K_CUDA_MQ_WINDOW) : block->height;
    g_assert_cmpuint(frame->mq.words, >=,
                     CJ2K_CUDA_MQ_WORDS(octets, CJ2K_CUDA_MQ_OCTETS(block->width, height)));
  }
  check_mq_planes(frame);
}

/*
 * Overwrites the workspaces of block decoders, so that what else lies there is lost. The blocks of
 * all slices but the first are decoded at any time until the second slice is made: their workspace
 * is overwritten again with every launch behind it.
 */
static __thread struct {
  uint32_t *quads;
  size_t count;
} beside;

static void overwrite_quads(const Cj2kCudaDecodeBlocks *frame)
{
  size_t end = 0;
  for (uint32_t k = 0; k < count_blocks(frame->ht.order, frame->ht.count); k++) {
    const Cj2kCudaBlock *block = block_of(frame, frame->ht.order[k]);
    size_t size = (size_t)CJ2K_CUDA_QUAD_STRIDE(block->width) * ((block->height + 1u) / 2);
    g_assert_true(cj2k_pretend_holds(frame->ht.quads + block->quads, size * sizeof(uint32_t)));
    memset(frame->ht.quads + block->quads, 0xA5, size * sizeof(uint32_t));
    end = MAX(end, block->quads + size);
  }
  beside.quads = frame->ht.quads;
  beside.count = frame->aim == CJ2K_CUDA_AIM_LEAVE_ROOM ? end : 0;
}

static void overwrite_beside(void)
{
  if (beside.count)
    memset(beside.quads, 0xA5, beside.count * sizeof *beside.quads);
}

static void decode_quads(const void *arguments)
{
  const Cj2kCudaDecodeBlocks *frame = arguments;

  check_memory(frame);
  overwrite_quads(frame);
  check_list(frame, frame->ht.order, count_blocks(frame->ht.order, frame->ht.count), true, 1);
  check_list(frame, frame->mq.order, frame->mq.count, false, 1);
  for (uint32_t i = 0; i < frame->num_blocks; i++)
    g_assert_cmpuint(frame->corrupt_flags[i], ==, 0);
}

cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(decode_quads, frame, sizeof *frame);
}

/* HT blocks become coefficients, all others zeros. */
static void decode_magsgn(const void *arguments)
{
  const Cj2kCudaDecodeBlocks *frame = arguments;
  Cj2kBlockScratch *scratch = cj2k_block_scratch_new();

  for (uint32_t i = 0; i < frame->num_blocks; i++) {
    if (block_of(frame, i)->offset == UINT64_MAX)
      continue;
    uint8_t unknown = 0, *zeros = frame->zeros ? &frame->zeros[number_of(frame, i)] : &unknown;
    bool is_ht = frame->coded[i].is_ht, coded = has_passes(frame, i);
    bool good = coded && is_ht && decode(frame, scratch, i);
    if (!good && (!*zeros || (coded && is_ht)))
      clear(frame, i);
    *zeros = !good && !(coded && !is_ht);
  }
  cj2k_block_scratch_free(scratch);
}

cudaError_t cj2k_cuda_ht_decode_magsgn(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(decode_magsgn, frame, sizeof *frame);
}

#define MOST_JOINT 64 /* so that tests have both ways */

bool cj2k_cuda_ht_is_joint(const Cj2kCudaDecodeBlocks *frame)
{
  return frame->aim == CJ2K_CUDA_AIM_LATENCY && frame->max_width <= 64 &&
         frame->ht.count <= MOST_JOINT && frame->num_blocks / 2 <= frame->ht.count &&
         frame->ht.count;
}

static void decode_joint(const void *arguments)
{
  decode_quads(arguments);
  decode_magsgn(arguments);
}

cudaError_t cj2k_cuda_ht_decode_joint(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  g_assert_true(cj2k_cuda_ht_is_joint(frame));
  return pretend_put(decode_joint, frame, sizeof *frame);
}

static void decode_refine(const void *arguments)
{
  const Cj2kCudaDecodeBlocks *frame = arguments;

  check_list(frame, frame->ht.refined, frame->ht.num_refined, true, 2);
}

cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(decode_refine, frame, sizeof *frame);
}

static void decode_mq(const void *arguments)
{
  const Cj2kCudaDecodeBlocks *frame = arguments;

  if (!frame->mq.count)
    return;
  check_mq_launch(frame);
  memset(frame->mq.planes, 0xA5, frame->mq.plane_words * sizeof *frame->mq.planes);
  memset(frame->mq.passes, 0xA5, frame->mq.count * sizeof *frame->mq.passes);
  Cj2kBlockScratch *scratch = cj2k_block_scratch_new();
  for (uint32_t k = 0; k < frame->mq.count; k++) {
    if (!decode(frame, scratch, frame->mq.order[k]))
      clear(frame, frame->mq.order[k]);
  }
  cj2k_block_scratch_free(scratch);
}

/* On fibers the kernel itself is in the program. */
__attribute__((weak)) cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame,
                                                      cudaStream_t stream)
{
  (void)stream;
  return pretend_put(decode_mq, frame, sizeof *frame);
}

/* -------------------------------------------------------------------------------- levels --- */

static Cj2kRect rect_of(const Cj2kCudaLevel *level)
{
  uint32_t x = level->is_plane ? 0 : level->odd_x, y = level->is_plane ? 0 : level->odd_y;
  return (Cj2kRect){x, y, x + level->width, y + level->height};
}

/* A copy of narrow band b with 32 bits a coefficient. */
static void *widen(const Cj2kCudaLevel *level, const Cj2kCudaBandStep *steps, uint32_t b,
                   uint32_t rows)
{
  size_t count = (size_t)level->band[b].stride * rows;
  const int16_t *narrow = level->band[b].data;
  float scale = steps[level->first_step + b - CJ2K_HL].scale;
  uint32_t *wide = aligned_alloc(64, count * sizeof *wide + 64);

  for (size_t i = 0; i < count; i++) {
    float value = (float)narrow[i] * scale;
    memcpy(&wide[i], &value, sizeof value);
    if (level->reversible)
      wide[i] = (uint32_t)narrow[i];
  }
  return wide;
}

/* The bands of a level for the functions of the CPU. */
static Cj2kBands bands_of(const Cj2kCudaLevel *level, const Cj2kCudaBandStep *steps)
{
  Cj2kRect all = rect_of(level);
  Cj2kBands bands;
  for (uint32_t b = 0; b < 4; b++) {
    uint32_t x = b & 1 ? 0 : 1, y = b & 2 ? 0 : 1; /* low-pass bands are rounded up */
    bands.band[b] = (Cj2kSamples){
        .data = level->band[b].data,
        .stride = level->band[b].stride,
        .rect = {(all.x0 + x) / 2, (all.y0 + y) / 2, (all.x1 + x) / 2, (all.y1 + y) / 2}};
    if (level->narrow && b != CJ2K_LL)
      bands.band[b].data = widen(level, steps, b, bands.band[b].rect.y1 - bands.band[b].rect.y0);
  }
  return bands;
}

static void clear_bands(const Cj2kCudaLevel *level, Cj2kBands *bands)
{
  for (uint32_t b = CJ2K_HL; level->narrow && b <= CJ2K_HH; b++)
    free(bands->band[b].data);
}

static void *new_scratch(uint32_t width)
{
  return aligned_alloc(64, (cj2k_dwt_scratch_size(width) + 63) / 64 * 64);
}

/* The rows of an entry, in the coordinates of rect_of(). */
static Cj2kCudaRows rows_of(const Cj2kCudaLevel *level, const Cj2kCudaRows *range)
{
  Cj2kRect all = rect_of(level);
  if (!range)
    return (Cj2kCudaRows){all.y0, all.y1};
  if (range->first < range->end) {
    g_assert_cmpuint(range->first, >=, all.y0);
    g_assert_cmpuint(range->end, <=, all.y1);
  }
  return *range;
}

static Cj2kCudaRows rows_of_entry(const Cj2kCudaLevel *level, const Cj2kCudaStrips *strips,
                                  uint32_t i)
{
  Cj2kCudaRows rows = rows_of(level, strips->ranges ? &strips->ranges[i] : NULL);
  g_assert_cmpuint(strips->rows % 2, ==, 0);
  g_assert_cmpuint(strips->width, >=, level->width);
  g_assert_cmpuint(strips->height, >=, rows.end - rows.first);
  return rows;
}

typedef struct {
  const Cj2kCudaLevel *levels;
  uint32_t count;
  Cj2kCudaKind kind;
  Cj2kCudaStrips strips;
  const Cj2kCudaBandStep *steps;
} Levels;

static void make_levels(const void *arguments)
{
  const Levels *launch = arguments;

  overwrite_beside();
  for (uint32_t i = 0; i < launch->count; i++) {
    const Cj2kCudaLevel *level = &launch->levels[i];
    Cj2kCudaRows rows = rows_of_entry(level, &launch->strips, i);
    Cj2kBands bands = bands_of(level, launch->steps);
    g_assert_cmpint(level->reversible, ==, launch->kind.reversible);
    g_assert_cmpint(level->narrow, ==, launch->kind.narrow);
    Cj2kSamples out = {level->out.data, level->out.stride, rect_of(level)};
    void *scratch = new_scratch(level->width);
    if (rows.first < rows.end)
      cj2k_idwt_level(level->reversible, &bands, &out, rows.first, rows.end, scratch);
    clear_bands(level, &bands);
    free(scratch);
  }
}

cudaError_t cj2k_cuda_idwt(const Cj2kCudaLevel *levels, uint32_t count, Cj2kCudaKind kind,
                           const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                           cudaStream_t stream)
{
  const Levels launch = {levels, count, kind, *strips, steps};

  (void)stream;
  return pretend_put(make_levels, &launch, sizeof launch);
}

/* ---------------------------------------------------------------------------- last level --- */

/* An entry of the last level; where its rows go to: outputs, or if that is NULL `direct`. */
typedef struct {
  const Cj2kCudaFinish *finish;
  const Cj2kCudaBandStep *steps;
  const Cj2kCudaOutput *outputs;
  const Cj2kCudaDirect *direct;
  uint32_t count; /* of components */
  bool reversible;
  cudaStream_t stream;
} Entry;

static int32_t to_sample(const void *row, uint32_t x, bool reversible, const Cj2kCudaRange *range)
{
  if (reversible)
    return CLAMP((int32_t)((uint32_t)((const int32_t *)row)[x] + (uint32_t)range->dc), range->lo,
                 range->hi);
  float v = ((const float *)row)[x] + range->dc_f;
  v = v > range->lo_f ? v : range->lo_f;
  return (int32_t)lrintf(v < range->hi_f ? v : range->hi_f);
}

static uint32_t to_word(int32_t v, const Cj2kCudaStore *store)
{
  uint32_t bits = ((uint32_t)v + store->offset) << store->up;
  if (store->direct)
    return (uint32_t)v;
  if (store->down)
    bits = (uint32_t)MIN((int32_t)((uint32_t)v + store->offset + store->round) >> store->down,
                         store->most);
  bits = (bits & store->mask) << store->shift;
  if (store->swapped)
    bits = store->word_bytes == 2 ? GUINT16_SWAP_LE_BE((uint16_t)bits) : GUINT32_SWAP_LE_BE(bits);
  return bits;
}

/* Where row y, from the component's first one, of component k goes to; NULL: it is not stored. */
static uint8_t *place_of_row(const Entry *entry, uint32_t k, uint32_t y)
{
  const Cj2kCudaStore *store = &entry->finish->store[k];
  if (store->plane == UINT32_MAX)
    return NULL;
  if (!entry->outputs)
    return entry->direct->row[k] + (size_t)y * entry->direct->pitch[k];
  return entry->outputs[store->plane].data +
         (size_t)(store->y + y) * entry->outputs[store->plane].pitch + store->first +
         (size_t)store->x * store->stride;
}

static void store_row(const Entry *entry, uint32_t k, const void *row, uint32_t y)
{
  const Cj2kCudaStore *store = &entry->finish->store[k];
  uint8_t *to = place_of_row(entry, k, y);
  if (!to)
    return;
  cj2k_pretend_writes(
      to, (size_t)(entry->finish->level[0].width - 1) * store->stride + store->word_bytes,
      entry->stream);
  for (uint32_t x = 0; x < entry->finish->level[0].width; x++) {
    uint32_t word = to_word(to_sample(row, x, entry->reversible, &store->range), store);
    memcpy(to + (size_t)x * store->stride, &word, store->word_bytes);
  }
}

/* A kernel may store any row before it reads anything. */
static void overwrite_rows(const Entry *entry, Cj2kCudaRows rows)
{
  for (uint32_t y = rows.first; y < rows.end; y++)
    for (uint32_t k = 0; k < entry->count; k++) {
      const Cj2kCudaStore *store = &entry->finish->store[k];
      uint8_t *to = place_of_row(entry, k, y - rect_of(&entry->finish->level[0]).y0);
      for (uint32_t x = 0; to && x < entry->finish->level[0].width; x++)
        memset(to + (size_t)x * store->stride, 0xA5, store->word_bytes);
    }
}

static void finish_entry(const Entry *entry, Cj2kCudaRows rows)
{
  const Cj2kCudaLevel *levels = entry->finish->level;
  Cj2kRect all = rect_of(&levels[0]);
  Cj2kIdwtRows state[3];
  Cj2kBands bands[3];
  void *scratch[3], *row[3];

  for (uint32_t k = 0; k < entry->count; k++) {
    Cj2kSamples plane = {levels[k].band[CJ2K_LL].data, levels[k].band[CJ2K_LL].stride, all};
    g_assert_cmpint(levels[k].narrow, ==, levels[0].narrow);
    bands[k] = bands_of(&levels[k], entry->steps);
    scratch[k] = new_scratch(levels[k].width);
    if (levels[k].is_plane)
      cj2k_idwt_rows_init_plane(&state[k], entry->reversible, &plane, rows.first, rows.end,
                                scratch[k]);
    else
      cj2k_idwt_rows_init(&state[k], entry->reversible, &bands[k], &all, rows.first, rows.end,
                          scratch[k]);
  }
  for (uint32_t y = rows.first; y < rows.end; y++) {
    for (uint32_t k = 0; k < entry->count; k++)
      row[k] = cj2k_idwt_rows_next(&state[k]);
    if (entry->count == 3)
      cj2k_inverse_mct(entry->reversible, row[0], row[1], row[2], levels[0].width);
    for (uint32_t k = 0; k < entry->count; k++)
      store_row(entry, k, row[k], y - all.y0);
  }
  for (uint32_t k = 0; k < entry->count; k++) {
    clear_bands(&levels[k], &bands[k]);
    free(scratch[k]);
  }
}

typedef struct {
  Entry first;
  uint32_t count; /* of entries */
  Cj2kCudaKind kind;
  Cj2kCudaStrips strips;
} Finishes;

/* Entry i of a launch, and its rows. */
static Entry entry_of(const Finishes *launch, uint32_t i, Cj2kCudaRows *rows)
{
  Entry entry = launch->first;

  entry.finish += i;
  *rows = rows_of_entry(&entry.finish->level[0], &launch->strips, i);
  g_assert_cmpint(entry.finish->level[0].is_plane, ==, launch->kind.is_plane);
  g_assert_cmpint(entry.finish->level[0].narrow, ==, launch->kind.narrow);
  return entry;
}

static void finish_entries(const void *arguments)
{
  const Finishes *launch = arguments;
  Cj2kCudaRows rows;

  overwrite_beside();
  for (uint32_t i = 0; i < launch->count; i++) {
    const Entry entry = entry_of(launch, i, &rows);
    overwrite_rows(&entry, rows);
  }
  for (uint32_t i = 0; i < launch->count; i++) {
    const Entry entry = entry_of(launch, i, &rows);
    if (rows.first < rows.end)
      finish_entry(&entry, rows);
  }
}

cudaError_t cj2k_cuda_finish(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                             const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                             const Cj2kCudaOutput *outputs, cudaStream_t stream)
{
  const Entry first = {finish, steps, outputs, NULL, kind.three ? 3 : 1, kind.reversible, stream};
  const Finishes launch = {first, count, kind, *strips};

  return pretend_put(finish_entries, &launch, sizeof launch);
}

cudaError_t cj2k_cuda_finish_words(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                                   const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                                   const Cj2kCudaOutput *outputs, cudaStream_t stream)
{
  g_assert_false(kind.three || kind.is_plane);
  return cj2k_cuda_finish(finish, count, kind, strips, steps, outputs, stream);
}

bool cj2k_cuda_finish_has_words(const Cj2kCudaFinish *finish, uint32_t k)
{
  const Cj2kCudaStore *store = &finish->store[k];
  return !finish->level[0].is_plane && store->plane != UINT32_MAX && store->direct &&
         store->stride == 2 && store->word_bytes == 2;
}

bool cj2k_cuda_finish_is_aligned(const Cj2kCudaOutput *outputs, uint32_t count)
{
  (void)outputs, (void)count;
  return true;
}

bool cj2k_cuda_finish_is_direct(const Cj2kCudaFinish *finish, const Cj2kCudaOutput *outputs,
                                Cj2kCudaDirect *direct)
{
  for (uint32_t k = 0; k < 3; k++) {
    const Cj2kCudaStore *store = &finish->store[k];
    if (!cj2k_cuda_finish_has_words(finish, k))
      return false;
    const Cj2kCudaOutput *output = &outputs[store->plane];
    direct->row[k] =
        output->data + store->y * output->pitch + store->first + (size_t)store->x * store->stride;
    direct->pitch[k] = (uint32_t)output->pitch;
  }
  return true;
}

typedef struct {
  Cj2kCudaFinish finish;
  Cj2kCudaDirect direct;
  Cj2kCudaRows rows;
  const Cj2kCudaBandStep *steps;
  cudaStream_t stream;
} Direct;

static void store_direct(const void *arguments)
{
  const Direct *launch = arguments;
  const Entry entry = {
      &launch->finish, launch->steps, NULL, &launch->direct, 3, launch->finish.level[0].reversible,
      launch->stream};

  overwrite_beside();
  overwrite_rows(&entry, launch->rows);
  finish_entry(&entry, launch->rows);
}

cudaError_t cj2k_cuda_finish_direct(const Cj2kCudaFinish *finish, const Cj2kCudaDirect *direct,
                                    uint32_t rows, const Cj2kCudaRows *range,
                                    const Cj2kCudaBandStep *steps, cudaStream_t stream)
{
  const Direct launch = {*finish, *direct, rows_of(&finish->level[0], range), steps, stream};

  g_assert_cmpuint(rows % 2, ==, 0);
  return pretend_put(store_direct, &launch, sizeof launch);
}

/* ------------------------------------------------------------------------------- packing --- */

/* Adds the samples of component k to a unit. */
static void pack_component(const Cj2kCudaPack *pack, uint32_t k, uint32_t unit, uint32_t y,
                           uint8_t *bytes)
{
  const Cj2kSampleLayout *layout = &pack->layout[k];
  const uint8_t *row = pack->source[k].data + (size_t)y * pack->source[k].pitch;
  for (uint32_t j = 0; j < layout->unit_samples; j++) {
    uint32_t x = unit * layout->unit_samples + j;
    uint16_t sample;
    if (x >= pack->width[k] || y >= pack->height[k])
      return;
    memcpy(&sample, row + 2 * (size_t)x, sizeof sample);
    uint32_t word = (uint32_t)sample << layout->at[j].shift;
    for (uint32_t i = 0; i < layout->word_bytes; i++)
      bytes[layout->at[j].offset + i] |=
          (uint8_t)(word >> 8 * (layout->big_endian ? layout->word_bytes - 1 - i : i));
  }
}

typedef struct {
  Cj2kCudaPack pack;
  Cj2kCudaOutput plane;
  size_t row_bytes;
  cudaStream_t stream;
} Pack;

static void pack_row(const Pack *launch, uint32_t y)
{
  const Cj2kCudaPack *pack = &launch->pack;
  uint8_t *row = launch->plane.data + (size_t)y * launch->plane.pitch;

  cj2k_pretend_writes(row, launch->row_bytes, launch->stream);
  for (uint32_t unit = 0; unit < pack->units; unit++) {
    uint8_t bytes[sizeof pack->fill];
    size_t at = (size_t)unit * pack->unit_bytes;
    memcpy(bytes, pack->fill, sizeof bytes);
    for (uint32_t k = 0; k < pack->count; k++)
      pack_component(pack, k, unit, y, bytes);
    if (at < launch->row_bytes)
      memcpy(row + at, bytes, MIN(pack->unit_bytes, launch->row_bytes - at));
  }
}

static void pack_rows(const void *arguments)
{
  const Pack *launch = arguments;

  for (uint32_t y = launch->pack.first_row; y < launch->pack.rows; y++)
    pack_row(launch, y);
}

cudaError_t cj2k_cuda_pack(const Cj2kCudaPack *pack, const Cj2kCudaOutput *plane, size_t row_bytes,
                           cudaStream_t stream)
{
  const Pack launch = {*pack, *plane, row_bytes, stream};

  return pretend_put(pack_rows, &launch, sizeof launch);
}
