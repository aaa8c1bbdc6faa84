/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control_slices.h"

#include "base.h"
#include "budget.h"
#include "control.h"
#include "search_ht.h"
#include "slice_shares.h"

#include <math.h>

#define TOGETHER 8    /* HT slices that are coded with one call, if they are there */
#define PLANES   6    /* bit-planes measured at once for a slice that is too long */
#define ROUNDS   24   /* layouts of such a slice */
#define TRIALS   12   /* of steps for the first MQ frame */
#define AIM      0.97 /* part of the budget that a frame is expected to take */
#define RESERVE  0.9  /* part of what later slices are expected to take that is kept for them */
#define POWER    0.8  /* bytes are proportional to base^-POWER, unless more is known */
#define HEADERS  0.03 /* bytes of packet headers for a byte of code-blocks, before a layout */

/* The state of one frame. */
typedef struct {
  Cj2kRateFrame *frame;
  Cj2kCodestreamWriter *writer;
  const Cj2kSliceSink *sink;
  uint32_t count; /* slices */
  bool lists;     /* the back end codes slice by slice; else the whole frame before the first */
  bool budget;
  bool cuts;      /* MQ with a budget: a slice that is too long gives up passes, not planes */
  GArray *blocks; /* uint32_t: code-blocks of the slice at hand */
  Cj2kSliceShares shares;
  uint64_t least_rest; /* their least bytes */
  uint64_t used;       /* bytes so far */
  Cj2kCodedBlocks coded;
  Cj2kMeasured measured; /* of all blocks or of the slice's; stride 0: not measured */
  uint8_t first;         /* the lowest plane measured last */
  bool reduced;          /* a choice is not plane 0 */
  Cj2kRateMemory memory; /* for later frames */
  Cj2kHullPoint *points; /* [block of the slice][PLANES] */
  uint8_t *num_points;
} Slices;

static const uint32_t *block_list(const Slices *s)
{
  return (const uint32_t *)(void *)s->blocks->data;
}

/* ------------------------------------------------------------------------------- coding --- */

/* Fetches the bytes of the coded blocks, if the back end has not delivered them; lengths: as in
 * Cj2kGatherJob. */
static Cj2kStatus gather(Slices *s, const uint32_t *lengths)
{
  Cj2kFrameCoder *coder = &s->frame->coder;
  const Cj2kGatherJob job = {.retained_lengths = lengths};
  if (s->coded.bytes || !cj2k_coder_gathers(coder))
    return CJ2K_OK;
  Cj2kStatus status = cj2k_coder_begin_gather(coder, &job, s->frame->error);
  return status == CJ2K_OK ? cj2k_coder_end_gather(coder, &s->coded.bytes, s->frame->error)
                           : status;
}

/* Codes the blocks of the slice, or all, at plane 0 or as was chosen. If passes of the whole frame
 * may be given up, its bytes are fetched when that is decided. */
static Cj2kStatus code(Slices *s, bool all, bool chosen)
{
  Cj2kRateFrame *frame = s->frame;
  const Cj2kCodeJob job = {.quantisers = frame->steps.quantisers,
                           .stride = 1,
                           .blocks = all ? NULL : block_list(s),
                           .num_blocks = all ? 0 : s->blocks->len,
                           .pass_lengths = true,
                           .weights = s->cuts ? frame->steps.weights : NULL,
                           .choices = chosen ? frame->ht.choices : NULL};
  uint64_t saturated;
  if (!all && !s->blocks->len)
    return CJ2K_OK;
  Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, &s->coded, &saturated, frame->error);
  if (status == CJ2K_OK)
    status = cj2k_rate_check_saturated(frame, saturated);
  return status == CJ2K_OK && !(all && s->cuts) ? gather(s, NULL) : status;
}

/* Retains so many passes of a block. */
static void retain(Slices *s, uint32_t b, uint8_t passes, uint32_t bytes)
{
  s->frame->retained.hulls = NULL; /* it is no cut */
  s->frame->layout.retained[b] = passes;
  s->frame->retained.lengths[b] = bytes;
}

/* Retains everything that the slice's blocks have. */
static void retain_all(Slices *s, const Cj2kEncodedBlock *blocks)
{
  const uint32_t *list = block_list(s);
  for (guint i = 0; i < s->blocks->len; i++)
    retain(s, list[i], blocks[list[i]].num_passes, blocks[list[i]].length);
}

/* Lays out the slice with blocks as they are described or coded. */
static uint64_t lay_out(Slices *s, uint32_t slice, const Cj2kEncodedBlock *blocks,
                        const Cj2kPassLength *passes, const uint8_t *bytes)
{
  Cj2kFrameLayout *layout = &s->frame->layout;
  cj2k_layout_set_source(layout, blocks, passes, bytes, &s->frame->retained);
  return cj2k_codestream_layout_slice(s->writer, slice, &layout->source,
                                      s->frame->encoder->threads);
}

static uint64_t lay_out_coded(Slices *s, uint32_t slice)
{
  return lay_out(s, slice, s->coded.blocks, s->coded.passes, s->coded.bytes);
}

/* ---------------------------------------------------------------------- choosing planes --- */

/* Describes block number i of the slice at option n of the measured planes; 0: it is left out. */
static void describe(Slices *s, guint i, uint32_t n)
{
  Cj2kRateFrame *frame = s->frame;
  uint32_t b = block_list(s)[i], plane = s->first + PLANES - n;
  uint32_t planes = frame->steps.quantisers[frame->encoder->plan->blocks[b].band].num_bitplanes;
  uint32_t length = n ? s->measured.lengths[(size_t)b * PLANES + PLANES - n] : 0;

  n = length ? n : 0;
  frame->ht.choices[b] = (Cj2kHtChoice){.plane = (uint8_t)(n ? plane : 0), .passes = n > 0};
  frame->ht.blocks[b] = (Cj2kEncodedBlock){.length = length,
                                           .first_pass = b,
                                           .num_passes = n > 0,
                                           .zero_bitplanes = (uint8_t)(n ? planes - 1 - plane : 0),
                                           .is_ht = 1};
  frame->ht.passes[b] = (Cj2kPassLength){length, 1};
}

/* The same for the blocks at plane 0, as they were coded. */
static void describe_coded(Slices *s)
{
  Cj2kHtBlocks *ht = &s->frame->ht;
  for (guint i = 0; i < s->blocks->len; i++) {
    uint32_t b = block_list(s)[i];
    ht->blocks[b] = s->coded.blocks[b];
    ht->blocks[b].first_pass = b;
    ht->passes[b] = (Cj2kPassLength){ht->blocks[b].length, 1};
    ht->choices[b] = (Cj2kHtChoice){.plane = 0, .passes = 1};
  }
}

/* Measures the planes from s->first on. */
static Cj2kStatus measure(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  const Cj2kMeasureJob job = {.quantisers = frame->steps.quantisers,
                              .stride = 1,
                              .first_plane = s->first,
                              .num_planes = PLANES,
                              .blocks = s->lists ? block_list(s) : NULL,
                              .num_blocks = s->lists ? s->blocks->len : 0,
                              .distortions = true};
  if (!s->lists && s->measured.stride && s->measured.first_plane == s->first)
    return CJ2K_OK;
  return cj2k_coder_measure(&frame->coder, &job, &s->measured, frame->error);
}

/* Bytes of all blocks of the slice at plane s->first + p. */
static uint64_t measured_bytes(const Slices *s, uint32_t p)
{
  uint64_t bytes = 0;
  for (guint i = 0; i < s->blocks->len; i++)
    bytes += s->measured.lengths[(size_t)block_list(s)[i] * PLANES + p];
  return bytes;
}

/* Measures planes around `allowed` bytes: all blocks at the lowest one take more, unless that is
 * plane 0, and all blocks at the highest one do not. Begins with the planes of the slice before. */
static Cj2kStatus measure_around(Slices *s, uint64_t allowed)
{
  for (bool lowered = false, raised = false;;) {
    Cj2kStatus status = measure(s);
    if (status != CJ2K_OK)
      return status;
    if (s->first && !raised && measured_bytes(s, 0) <= allowed) {
      s->first = (uint8_t)(s->first - (PLANES - 1));
      lowered = true;
    } else if (s->first + 2 * PLANES <= CJ2K_SLICE_PLANES && !lowered &&
               measured_bytes(s, PLANES - 1) > allowed) {
      s->first = (uint8_t)(s->first + PLANES - 1);
      raised = true;
    } else {
      return CJ2K_OK;
    }
  }
}

/* Computes the hull of each block of the slice: option n is a cleanup pass at plane
 * s->first + PLANES - n. */
static void make_hulls(Slices *s)
{
  const Cj2kPlan *plan = s->frame->encoder->plan;
  s->points = g_renew(Cj2kHullPoint, s->points, (size_t)s->blocks->len * PLANES + 1);
  s->num_points = g_renew(uint8_t, s->num_points, s->blocks->len + 1);
  for (guint i = 0; i < s->blocks->len; i++) {
    uint32_t b = block_list(s)[i], count = 0, before = 0;
    Cj2kHullOption options[PLANES];
    for (uint32_t n = 1; n <= PLANES; n++) {
      size_t at = (size_t)b * PLANES + PLANES - n;
      uint32_t length = s->measured.lengths[at];
      if (length > before)
        options[count++] =
            (Cj2kHullOption){length, (uint8_t)n, (double)s->measured.distortions[at]};
      before = MAX(before, length);
    }
    s->num_points[i] = (uint8_t)cj2k_hull_of_options(
        options, count, s->frame->steps.weights[plan->blocks[b].band], s->points + i * PLANES);
  }
}

/* Bytes of the first n passes of a block that was coded. */
static uint32_t bytes_of_passes(const Slices *s, uint32_t b, uint32_t n)
{
  return n ? s->coded.passes[s->coded.blocks[b].first_pass + n - 1].length : 0;
}

/* Keeps option n of block number i of the slice; 0: nothing. */
static void keep(Slices *s, guint i, uint32_t n)
{
  uint32_t b = block_list(s)[i];
  if (s->cuts)
    retain(s, b, (uint8_t)n, bytes_of_passes(s, b, n));
  else
    describe(s, i, n);
}

/* The hull of block number i of the slice. */
static const Cj2kHullPoint *hull_of(const Slices *s, guint i, uint32_t *count)
{
  const Cj2kEncodedBlock *block = &s->coded.blocks[block_list(s)[i]];
  *count = s->cuts ? block->num_points : s->num_points[i];
  return s->cuts ? s->coded.points + block->first_point : s->points + i * PLANES;
}

/* Bytes of all options above a slope. */
static uint64_t bytes_above(const Slices *s, uint32_t slope)
{
  uint64_t bytes = 0;
  for (guint i = 0; i < s->blocks->len; i++) {
    uint32_t count;
    const Cj2kHullPoint *points = hull_of(s, i, &count);
    for (uint32_t p = 0; p < count && points[p].slope > slope; p++)
      bytes += points[p].bytes;
  }
  return bytes;
}

/* Keeps the options above the lowest slope with which they have at most `bytes`. Returns how many
 * they have. */
static uint64_t cut(Slices *s, uint64_t bytes)
{
  uint32_t low = 0, high = CJ2K_SLOPE_CLASSES - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (bytes_above(s, middle) <= bytes)
      high = middle;
    else
      low = middle + 1;
  }
  uint64_t kept = bytes_above(s, low);
  bool none = kept > bytes;
  for (guint i = 0; i < s->blocks->len; i++) {
    uint32_t n = 0, count;
    const Cj2kHullPoint *points = hull_of(s, i, &count);
    for (uint32_t p = 0; p < count && points[p].slope > low && !none; p++)
      n = points[p].option;
    keep(s, i, n);
  }
  return none ? 0 : kept;
}

/* Lays out the slice with what is kept of it. */
static uint64_t lay_out_kept(Slices *s, uint32_t slice)
{
  const Cj2kHtBlocks *ht = &s->frame->ht;
  if (s->cuts)
    return lay_out_coded(s, slice);
  retain_all(s, ht->blocks);
  return lay_out(s, slice, ht->blocks, ht->passes, NULL);
}

/* Chooses planes or passes with which the slice has at most `allowed` bytes. */
static Cj2kStatus choose(Slices *s, uint32_t slice, uint64_t allowed, uint64_t *size)
{
  uint64_t limit = allowed;
  Cj2kStatus status = s->cuts ? CJ2K_OK : measure_around(s, allowed);
  if (status != CJ2K_OK)
    return status;
  if (!s->cuts)
    make_hulls(s);
  for (uint32_t round = 0; round <= ROUNDS; round++) {
    uint64_t kept = cut(s, round < ROUNDS ? limit : 0);
    *size = lay_out_kept(s, slice);
    if (*size <= allowed)
      break;
    uint64_t over = *size - allowed;
    /* From what was kept: below the limit, a smaller limit may keep the same again. */
    limit = kept > over ? kept - over : 0;
  }
  s->reduced = !s->cuts;
  return CJ2K_OK;
}

/* Bytes that the frame may have at the end of the slice: a link of constant rate sends them while
 * the picture's lines up to there come, and those of the buffer. */
static double buffered(const Slices *s, uint32_t slice)
{
  const Cj2kHeader *header = s->frame->encoder->plan->header;
  double budget = (double)s->frame->target.ceilings.frame;
  double lines = s->frame->encoder->slice_buffer, height = header->y1 - header->y0;
  double rows = cj2k_codestream_slice_row(s->writer, slice + 1) - header->y0;
  return lines > 0 ? budget * MIN(1, (rows + lines) / height) : budget;
}

/* Bytes that the slice may take. */
static uint64_t allowance(const Slices *s, uint32_t slice)
{
  const Cj2kSliceShares *shares = &s->shares;
  double left = (double)(s->frame->target.ceilings.frame - s->used);
  double rest = cj2k_slice_shares_behind(shares, slice), wanted = shares->expected[slice] + rest;
  double most = MIN(left - (double)s->least_rest, buffered(s, slice) - (double)s->used);
  double reserve = RESERVE * rest * MIN(1, wanted > 0 ? left / wanted : 1);
  double least = (double)cj2k_codestream_slice_least(s->writer, slice);
  return (uint64_t)MAX(least, MIN(most, left - reserve));
}

/* Bytes of all blocks of the slice at plane p, without the three passes of each plane below. */
static uint64_t bytes_at_plane(const Slices *s, uint32_t p)
{
  uint64_t bytes = 0;
  for (guint i = 0; i < s->blocks->len; i++) {
    uint32_t b = block_list(s)[i], passes = s->coded.blocks[b].num_passes;
    bytes += bytes_of_passes(s, b, passes - MIN(passes, 3 * p));
  }
  return bytes;
}

/* Notes what the MQ slice takes at each plane, `size` bytes at plane 0. */
static void note_passes(Slices *s, uint32_t slice, uint64_t size)
{
  double least = (double)cj2k_codestream_slice_least(s->writer, slice);
  double bytes[CJ2K_SLICE_PLANES] = {(double)size};
  for (uint32_t p = 1; p < CJ2K_SLICE_PLANES; p++)
    bytes[p] = MIN(bytes[p - 1], (1 + HEADERS) * (double)bytes_at_plane(s, p) + least);
  cj2k_slice_shares_note(&s->shares, slice, bytes);
}

/* Notes what the HT slice takes at each plane, `size` bytes at plane 0: as was measured, in a line
 * down to plane 0, and above as bytes usually depend on steps. */
static void note(Slices *s, uint32_t slice, uint64_t size, bool measured)
{
  double least = (double)cj2k_codestream_slice_least(s->writer, slice);
  double bytes[CJ2K_SLICE_PLANES] = {(double)size};
  for (uint32_t p = 1; p < CJ2K_SLICE_PLANES; p++) {
    uint32_t known = MAX(p, s->first);
    if (!measured || known - s->first >= PLANES) {
      bytes[p] = MAX(least, bytes[p - 1] * exp2(-s->memory.power));
      continue;
    }
    double there = (1 + HEADERS) * (double)measured_bytes(s, known - s->first) + least;
    bytes[p] = MIN(bytes[p - 1], bytes[0] + (there - bytes[0]) * p / known);
  }
  cj2k_slice_shares_note(&s->shares, slice, bytes);
}

/* Decides what of a slice is kept, whose blocks were coded at plane 0. */
static Cj2kStatus decide(Slices *s, uint32_t slice)
{
  Cj2kStatus status = CJ2K_OK;
  retain_all(s, s->coded.blocks);
  uint64_t size = lay_out_coded(s, slice);
  if (!s->budget) {
    s->used += size;
    return CJ2K_OK;
  }
  if (!s->cuts)
    describe_coded(s);
  s->least_rest -= cj2k_codestream_slice_least(s->writer, slice);
  uint64_t allowed = allowance(s, slice), coded = size;
  if (size > allowed)
    status = choose(s, slice, allowed, &size);
  if (status == CJ2K_OK && s->cuts)
    note_passes(s, slice, coded);
  else if (status == CJ2K_OK)
    note(s, slice, coded, coded > allowed);
  s->used += size;
  return status;
}

/* Hands out a slice, whose blocks are coded as decided. */
static void hand_out(Slices *s, uint32_t slice)
{
  if (!s->cuts)
    retain_all(s, s->coded.blocks);
  uint64_t size = lay_out_coded(s, slice);
  s->sink->take(s->sink->ctx, slice, size);
}

/* -------------------------------------------------------------------------------- steps --- */

static Cj2kStatus prepare(const Slices *s, uint32_t slice)
{
  return s->sink->prepare(s->sink->ctx, slice);
}

/* Searches steps for a budget with the whole HT frame, and what slices are expected to take. */
static Cj2kStatus search_ht_steps(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  Cj2kHtSearch search;
  Cj2kStatus status = cj2k_ht_search(frame, &search);
  if (status == CJ2K_OK && !search.coded.fits)
    status = cj2k_ht_search_below(frame, false, &search);
  if (status != CJ2K_OK)
    return status;
  s->memory.base = search.coded.base;
  s->memory.power = search.search.power;
  for (uint32_t i = 0; i < s->count; i++) {
    double bytes = 0;
    cj2k_codestream_slice_blocks(s->writer, i, i + 1, s->blocks);
    for (guint b = 0; b < s->blocks->len; b++)
      bytes += frame->ht.at_plane_0[block_list(s)[b]];
    s->shares.expected[i] =
        bytes * (1 + HEADERS) + (double)cj2k_codestream_slice_least(s->writer, i);
  }
  return status;
}

/* Lays out all slices of the coded frame with all passes, which is what they are expected to take.
 * Returns the bytes of the frame. */
static double lay_out_frame(Slices *s)
{
  double bytes = (double)s->frame->encoder->least.frame;
  for (uint32_t i = 0; i < s->count; i++) {
    cj2k_codestream_slice_blocks(s->writer, i, i + 1, s->blocks);
    retain_all(s, s->coded.blocks);
    s->shares.expected[i] = (double)lay_out_coded(s, i);
    bytes += s->shares.expected[i] - (double)cj2k_codestream_slice_least(s->writer, i);
  }
  return bytes;
}

/* Bytes of the first MQ frame with all its passes, relative to the budget: what it is above that is
 * given up, what it is below stays unused. */
static const struct {
  double aim, least, most;
} first_mq = {1.006, 0.999, 1.012};

/* The same with the whole MQ frame. */
static Cj2kStatus search_mq_steps(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  double budget = (double)frame->target.ceilings.frame, base = cj2k_guess_base(frame);
  Cj2kBaseSearch search = cj2k_base_search(cj2k_least_base(frame), POWER);
  for (uint32_t trial = 0;; trial++) {
    cj2k_set_base(frame, base);
    Cj2kStatus status = code(s, true, false);
    if (status != CJ2K_OK)
      return status;
    double bytes = lay_out_frame(s);
    s->memory.base = base;
    cj2k_base_search_bound(&search, base, bytes <= budget);
    base = cj2k_base_search_next(&search, base, bytes, budget * first_mq.aim, trial);
    s->memory.power = search.power;
    if ((bytes >= budget * first_mq.least && bytes <= budget * first_mq.most) ||
        base == s->memory.base || trial == TRIALS)
      return CJ2K_OK;
  }
}

/* Searches steps for a budget with the whole frame, for want of an earlier one. */
static Cj2kStatus search_steps(Slices *s)
{
  Cj2kStatus status = prepare(s, s->count - 1);
  if (status != CJ2K_OK)
    return status;
  return s->cuts ? search_mq_steps(s) : search_ht_steps(s);
}

/* Fixes the steps, and what each slice is expected to take. */
static Cj2kStatus fix_steps(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  Cj2kRateMemory memory;
  if (!s->budget) {
    Cj2kStatus status = frame->target.mode == CJ2K_RATE_PSNR ? prepare(s, s->count - 1) : CJ2K_OK;
    return status == CJ2K_OK ? cj2k_steps_for_target(frame) : status;
  }
  bool recalled = cj2k_history_recall(&frame->encoder->history, frame->number, &memory, NULL);
  if (!recalled)
    return search_steps(s);
  double aim = AIM * (double)frame->target.ceilings.frame;
  Cj2kBaseSearch search = cj2k_base_search(cj2k_least_base(frame), memory.power);
  s->memory.base = cj2k_base_search_secant(&search, memory.base, memory.total, aim);
  s->memory.power = memory.power;
  cj2k_set_base(frame, s->memory.base);
  cj2k_slice_shares_recall(&s->shares, &memory, aim);
  return CJ2K_OK;
}

static Cj2kStatus begin(Slices *s)
{
  Cj2kStatus status = fix_steps(s);
  Cj2kByteBuffer header = {0};
  cj2k_codestream_begin_slices(s->writer, s->frame->steps.components, &header);
  s->used = header.size;
  g_free(header.data);
  for (uint32_t i = 0; i < s->count; i++)
    s->least_rest += cj2k_codestream_slice_least(s->writer, i);
  return status;
}

/* ---------------------------------------------------------------------------- the frame --- */

/* Codes slices [first, end) with one call, decides what is kept of each, and hands them out. What
 * is decided does not depend on how many are coded together. */
static Cj2kStatus run(Slices *s, uint32_t first, uint32_t end)
{
  bool all = !s->lists;
  s->reduced = false;
  cj2k_codestream_slice_blocks(s->writer, first, end, s->blocks);
  Cj2kStatus status = code(s, all, false);
  for (uint32_t i = first; i < end && status == CJ2K_OK; i++) {
    cj2k_codestream_slice_blocks(s->writer, i, i + 1, s->blocks);
    status = decide(s, i);
  }
  if (status == CJ2K_OK && s->reduced) {
    cj2k_codestream_slice_blocks(s->writer, first, end, s->blocks);
    status = code(s, all, true);
  }
  if (status == CJ2K_OK && all && s->cuts)
    status = gather(s, s->frame->retained.lengths);
  for (uint32_t i = first; i < end && status == CJ2K_OK; i++) {
    cj2k_codestream_slice_blocks(s->writer, i, i + 1, s->blocks);
    hand_out(s, i);
  }
  return status;
}

/* The end of the slices that are coded together from `first` on. Those that are there can be, if a
 * call costs the back end more than a few slices: else it would fall behind. A list of MQ blocks
 * takes hardly longer if it is longer. */
static uint32_t end_of_run(const Slices *s, uint32_t first)
{
  const Cj2kRateFrame *frame = s->frame;
  if (!s->lists)
    return s->count;
  if (!frame->coder.backend->rows_at_once)
    return first + 1;
  uint32_t end = s->sink->made(s->sink->ctx, first);
  return frame->encoder->coder == CJ2K_CODER_MQ ? end : MIN(end, first + TOGETHER);
}

/* Codes, decides and hands out slice by slice, several at a time, or all. */
static Cj2kStatus run_slices(Slices *s)
{
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t i = 0, end; i < s->count && status == CJ2K_OK; i = end) {
    status = prepare(s, s->lists ? i : s->count - 1);
    end = end_of_run(s, i);
    if (status == CJ2K_OK)
      status = run(s, i, end);
  }
  return status;
}

static void finish(Slices *s, Cj2kStatus status)
{
  Cj2kRateFrame *frame = s->frame;
  if (status != CJ2K_OK) {
    cj2k_coder_finish(&frame->coder);
    if (status != CJ2K_ERROR_DEVICE) /* another device may do the frame again */
      cj2k_rate_give_up(frame);
    return;
  }
  if (s->budget)
    cj2k_slice_shares_remember(&s->shares, s->memory.base,
                               AIM * (double)frame->target.ceilings.frame, &s->memory);
  cj2k_history_record(&frame->encoder->history, frame->number, &s->memory);
  frame->outcome.size = s->used;
  cj2k_bucket_record(&frame->encoder->bucket, frame->number, &frame->outcome);
}

static bool takes_lists(const Cj2kRateFrame *frame)
{
  const Cj2kEncodeBackend *backend = frame->coder.backend;
  return frame->encoder->coder == CJ2K_CODER_HT ? backend->takes_ht_blocks
                                                : backend->takes_mq_blocks;
}

Cj2kStatus cj2k_rate_control_slices(Cj2kRateFrame *frame, const Cj2kSliceSink *sink,
                                    Cj2kError *error)
{
  Slices s = {.frame = frame,
              .writer = frame->layout.writer,
              .sink = sink,
              .lists = takes_lists(frame),
              .budget = frame->target.ceilings.frame != UINT64_MAX,
              .memory = {.power = POWER}};
  s.cuts = s.budget && frame->encoder->coder == CJ2K_CODER_MQ;
  frame->error = error;
  cj2k_rate_begin(frame);
  s.count = cj2k_codestream_num_slices(s.writer);
  s.blocks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  cj2k_slice_shares_init(&s.shares, s.count);
  Cj2kStatus status = cj2k_ceilings_check(&frame->target.ceilings, &frame->encoder->least, error);
  if (status == CJ2K_OK)
    status = begin(&s);
  if (status == CJ2K_OK)
    status = run_slices(&s);
  finish(&s, status);
  g_array_unref(s.blocks);
  cj2k_slice_shares_clear(&s.shares);
  g_free(s.points);
  g_free(s.num_points);
  return status;
}
