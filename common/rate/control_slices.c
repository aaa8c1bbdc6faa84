/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control_slices.h"

#include "base.h"
#include "budget.h"
#include "control.h"
#include "search_ht.h"

#define PLANES  6    /* bit-planes measured for a slice that is too long */
#define ROUNDS  24   /* layouts of such a slice */
#define AIM     0.97 /* part of the budget that a frame is expected to take */
#define RESERVE 0.9  /* part of what later slices are expected to take that is kept for them */
#define POWER   0.8  /* bytes are proportional to base^-POWER, unless more is known */
#define HEADERS 0.03 /* bytes of packet headers for a byte of code-blocks, before a layout */

/* The state of one frame. */
typedef struct {
  Cj2kRateFrame *frame;
  Cj2kCodestreamWriter *writer;
  const Cj2kSliceSink *sink;
  uint32_t count; /* slices */
  bool lists;     /* the back end codes slice by slice; else the whole frame before the first */
  bool budget;
  GArray *blocks;      /* uint32_t: code-blocks of the slice at hand */
  double *expected;    /* per slice: bytes, with a budget */
  double rest;         /* expected bytes of the slices behind the one at hand */
  uint64_t least_rest; /* their least bytes */
  uint64_t used;       /* bytes so far */
  Cj2kCodedBlocks coded;
  Cj2kMeasured measured; /* of all blocks or of the slice's; stride 0: not measured */
  bool reduced;          /* a choice is not plane 0 */
  uint64_t at_plane_0;   /* bytes of all slices at plane 0 */
  Cj2kRateMemory memory; /* for later frames */
  Cj2kHullPoint *points; /* [block of the slice][PLANES] */
  uint8_t *num_points;
} Slices;

static const uint32_t *block_list(const Slices *s)
{
  return (const uint32_t *)(void *)s->blocks->data;
}

/* ------------------------------------------------------------------------------- coding --- */

/* Codes the blocks of the slice, or all, at plane 0 or as was chosen. */
static Cj2kStatus code(Slices *s, bool all, bool chosen)
{
  Cj2kRateFrame *frame = s->frame;
  const Cj2kCodeJob job = {.quantisers = frame->steps.quantisers,
                           .stride = 1,
                           .blocks = all ? NULL : block_list(s),
                           .num_blocks = all ? 0 : s->blocks->len,
                           .pass_lengths = true,
                           .choices = chosen ? frame->ht.choices : NULL};
  uint64_t saturated;
  if (!all && !s->blocks->len)
    return CJ2K_OK;
  Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, &s->coded, &saturated, frame->error);
  if (status == CJ2K_OK)
    status = cj2k_rate_check_saturated(frame, saturated);
  if (status != CJ2K_OK || s->coded.bytes || !cj2k_coder_gathers(&frame->coder))
    return status;
  status = cj2k_coder_begin_gather(&frame->coder, &(Cj2kGatherJob){0}, frame->error);
  return status == CJ2K_OK ? cj2k_coder_end_gather(&frame->coder, &s->coded.bytes, frame->error)
                           : status;
}

/* Lays out the slice with blocks as they are described or coded; everything is retained. */
static uint64_t lay_out(Slices *s, uint32_t slice, const Cj2kEncodedBlock *blocks,
                        const Cj2kPassLength *passes, const uint8_t *bytes)
{
  Cj2kFrameLayout *layout = &s->frame->layout;
  const uint32_t *list = block_list(s);
  for (guint i = 0; i < s->blocks->len; i++) {
    layout->retained[list[i]] = blocks[list[i]].num_passes;
    s->frame->retained.lengths[list[i]] = blocks[list[i]].length;
  }
  cj2k_layout_set_source(layout, blocks, passes, bytes, &s->frame->retained);
  return cj2k_codestream_layout_slice(s->writer, slice, &layout->source,
                                      s->frame->encoder->threads);
}

/* ---------------------------------------------------------------------- choosing planes --- */

/* Describes block number i of the slice at option n of the measured planes; 0: it is left out. */
static void describe(Slices *s, guint i, uint32_t n)
{
  Cj2kRateFrame *frame = s->frame;
  uint32_t b = block_list(s)[i], plane = n ? PLANES - n : 0;
  uint32_t planes = frame->steps.quantisers[frame->encoder->plan->blocks[b].band].num_bitplanes;
  uint32_t length = n ? s->measured.lengths[(size_t)b * PLANES + plane] : 0;

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

static Cj2kStatus measure(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  const Cj2kMeasureJob job = {.quantisers = frame->steps.quantisers,
                              .stride = 1,
                              .num_planes = PLANES,
                              .blocks = s->lists ? block_list(s) : NULL,
                              .num_blocks = s->lists ? s->blocks->len : 0,
                              .distortions = true};
  if (!s->lists && s->measured.stride)
    return CJ2K_OK;
  return cj2k_coder_measure(&frame->coder, &job, &s->measured, frame->error);
}

/* Computes the hull of each block of the slice: option n is a cleanup pass at plane PLANES - n. */
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

/* Bytes of all options above a slope. */
static uint64_t bytes_above(const Slices *s, uint32_t slope)
{
  uint64_t bytes = 0;
  for (guint i = 0; i < s->blocks->len; i++)
    for (uint32_t p = 0; p < s->num_points[i] && s->points[i * PLANES + p].slope > slope; p++)
      bytes += s->points[i * PLANES + p].bytes;
  return bytes;
}

/* Describes the options above the lowest slope with which they have at most `bytes`. Returns how
 * many they have. */
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
    uint32_t n = 0;
    for (uint32_t p = 0; p < s->num_points[i] && !none; p++)
      if (s->points[i * PLANES + p].slope > low)
        n = s->points[i * PLANES + p].option;
    describe(s, i, n);
  }
  return none ? 0 : kept;
}

/* Chooses planes with which the slice has at most `allowed` bytes. */
static Cj2kStatus choose(Slices *s, uint32_t slice, uint64_t allowed, uint64_t *size)
{
  uint64_t limit = allowed;
  Cj2kStatus status = measure(s);
  if (status != CJ2K_OK)
    return status;
  make_hulls(s);
  for (uint32_t round = 0; round <= ROUNDS; round++) {
    uint64_t kept = cut(s, round < ROUNDS ? limit : 0);
    *size = lay_out(s, slice, s->frame->ht.blocks, s->frame->ht.passes, NULL);
    if (*size <= allowed)
      break;
    uint64_t over = *size - allowed;
    /* From what was kept: below the limit, a smaller limit may keep the same again. */
    limit = kept > over ? kept - over : 0;
  }
  s->reduced = true;
  return CJ2K_OK;
}

/* Bytes that the slice may take. */
static uint64_t allowance(const Slices *s, uint32_t slice)
{
  double left = (double)(s->frame->target.ceilings.frame - s->used);
  double wanted = s->expected[slice] + s->rest, most = left - (double)s->least_rest;
  double reserve = RESERVE * s->rest * MIN(1, wanted > 0 ? left / wanted : 1);
  double least = (double)cj2k_codestream_slice_least(s->writer, slice);
  return (uint64_t)MAX(least, MIN(most, left - reserve));
}

/* Decides what of a slice is kept, whose blocks were coded at plane 0. */
static Cj2kStatus decide(Slices *s, uint32_t slice)
{
  Cj2kStatus status = CJ2K_OK;
  uint64_t size = lay_out(s, slice, s->coded.blocks, s->coded.passes, s->coded.bytes);
  s->memory.slices[(uint64_t)slice * CJ2K_RATE_SLICES / s->count] += (float)size;
  s->at_plane_0 += size;
  if (!s->budget) {
    s->used += size;
    return CJ2K_OK;
  }
  describe_coded(s);
  s->rest -= s->expected[slice];
  s->least_rest -= cj2k_codestream_slice_least(s->writer, slice);
  uint64_t allowed = allowance(s, slice);
  if (size > allowed)
    status = choose(s, slice, allowed, &size);
  s->used += size;
  return status;
}

/* Hands out a slice, whose blocks are coded as decided. */
static void hand_out(Slices *s, uint32_t slice)
{
  uint64_t size = lay_out(s, slice, s->coded.blocks, s->coded.passes, s->coded.bytes);
  s->sink->take(s->sink->ctx, slice, size);
}

/* -------------------------------------------------------------------------------- steps --- */

/* The share of a slice in what an earlier frame took. */
static double expected_share(const Slices *s, const Cj2kRateMemory *memory, uint32_t slice)
{
  uint32_t part = (uint32_t)((uint64_t)slice * CJ2K_RATE_SLICES / s->count), n = 0;
  for (uint32_t i = 0; i < s->count; i++)
    n += (uint64_t)i * CJ2K_RATE_SLICES / s->count == part;
  return memory->slices[part] / n;
}

static Cj2kStatus prepare(const Slices *s, uint32_t slice)
{
  return s->sink->prepare(s->sink->ctx, slice);
}

/* Searches steps for a budget with the whole frame, for want of an earlier one. */
static Cj2kStatus search_steps(Slices *s)
{
  Cj2kRateFrame *frame = s->frame;
  Cj2kHtSearch search;
  Cj2kStatus status = prepare(s, s->count - 1);
  if (status == CJ2K_OK)
    status = cj2k_ht_search(frame, &search);
  if (status == CJ2K_OK && !search.coded.fits)
    status = cj2k_ht_search_below(frame, false, &search);
  if (status != CJ2K_OK)
    return status;
  s->memory.base = search.coded.base;
  s->memory.power = search.search.power;
  for (uint32_t i = 0; i < s->count; i++) {
    double bytes = 0;
    cj2k_codestream_slice_blocks(s->writer, i, s->blocks);
    for (guint b = 0; b < s->blocks->len; b++)
      bytes += frame->ht.at_plane_0[block_list(s)[b]];
    s->expected[i] = bytes * (1 + HEADERS) + (double)cj2k_codestream_slice_least(s->writer, i);
  }
  return status;
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
  for (uint32_t i = 0; i < s->count; i++)
    s->expected[i] = expected_share(s, &memory, i) * aim / memory.total;
  return CJ2K_OK;
}

static Cj2kStatus begin(Slices *s)
{
  Cj2kStatus status = fix_steps(s);
  Cj2kByteBuffer header = {0};
  cj2k_codestream_begin_slices(s->writer, s->frame->steps.components, &header);
  s->used = header.size;
  g_free(header.data);
  for (uint32_t i = 0; i < s->count; i++) {
    s->least_rest += cj2k_codestream_slice_least(s->writer, i);
    s->rest += s->expected[i];
  }
  return status;
}

/* ---------------------------------------------------------------------------- the frame --- */

/* Codes, decides and hands out slice by slice. */
static Cj2kStatus run_slices(Slices *s)
{
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t i = 0; i < s->count && status == CJ2K_OK; i++) {
    s->reduced = false;
    cj2k_codestream_slice_blocks(s->writer, i, s->blocks);
    status = prepare(s, i);
    if (status == CJ2K_OK)
      status = code(s, false, false);
    if (status == CJ2K_OK)
      status = decide(s, i);
    if (status == CJ2K_OK && s->reduced)
      status = code(s, false, true);
    if (status == CJ2K_OK)
      hand_out(s, i);
  }
  return status;
}

/* The same decisions, with a back end that codes whole frames. */
static Cj2kStatus run_whole(Slices *s)
{
  Cj2kStatus status = prepare(s, s->count - 1);
  if (status == CJ2K_OK)
    status = code(s, true, false);
  for (uint32_t i = 0; i < s->count && status == CJ2K_OK; i++) {
    cj2k_codestream_slice_blocks(s->writer, i, s->blocks);
    status = decide(s, i);
  }
  if (status == CJ2K_OK && s->reduced)
    status = code(s, true, true);
  for (uint32_t i = 0; i < s->count && status == CJ2K_OK; i++) {
    cj2k_codestream_slice_blocks(s->writer, i, s->blocks);
    hand_out(s, i);
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
  s->memory.total = (double)s->at_plane_0;
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
  frame->error = error;
  cj2k_rate_begin(frame);
  s.count = cj2k_codestream_num_slices(s.writer);
  s.blocks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  s.expected = g_new0(double, s.count);
  Cj2kStatus status = cj2k_ceilings_check(&frame->target.ceilings, &frame->encoder->least, error);
  if (status == CJ2K_OK)
    status = begin(&s);
  if (status == CJ2K_OK)
    status = s.lists ? run_slices(&s) : run_whole(&s);
  finish(&s, status);
  g_array_unref(s.blocks);
  g_free(s.expected);
  g_free(s.points);
  g_free(s.num_points);
  return status;
}
