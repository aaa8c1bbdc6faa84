/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels that cut a frame to its budget, of both coders, and that set what is retained. */
#include "common/codestream/header_bits.h"
#include "common/shared/hull.h"
#include "cuda/mq/cut.h"
#include "cuda/shared/cut.h"
#include "pretend-coders.h"

#include <string.h>

/* --------------------------------------------------------------------------------- cut --- */

gint num_cut;
gint num_cut_in_graphs;
gint cuts_another;
gint cuts_nothing;

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
  const uint32_t lengths[2] = {cut->coded[b], cut->lengths[2 * (size_t)b + 1]};
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
  memcpy(cut->host_lengths + 2 * (size_t)b, lengths, sizeof lengths);
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

/* What coding the listed blocks again makes of their records. */
static void set_cut_records(const Cj2kCudaCut *cut)
{
  for (uint32_t i = 0; i < cut->result->count; i++) {
    const Cj2kCudaAgain *again = &cut->list[i];
    Cj2kEncodedBlock *record = &cut->records[again->block];
    record->length = again->length;
    record->num_passes = again->choice.passes;
    record->zero_bitplanes =
        (uint8_t)(again->choice.passes ? record->zero_bitplanes - again->choice.plane : 0);
  }
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
    uint64_t packet = (uint64_t)size->header + cut->behind_header + size->body;
    total += cut->steps[i].before + packet;
    total += cut->plt ? cj2k_length_entry_bytes(cut->sop + packet) : 0;
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
  } else if (coded && over && total <= cut->limits->most && measured.saved > over + over / 4 &&
             !g_atomic_int_get(&cuts_nothing)) {
    uint32_t slope = take(&measured, cut->limits->budget - MIN(headers, cut->limits->budget));
    cut->result->state = slope && slope < UINT16_MAX ? CJ2K_CUDA_CUT_SOME : CJ2K_CUDA_CUT_NONE;
    if (cut->result->state == CJ2K_CUDA_CUT_SOME && !list_blocks(&measured))
      *cut->result = (Cj2kCudaCutResult){0};
  }
  set_cut_records(cut);
  bool is_cut = cut->result->state != CJ2K_CUDA_CUT_NONE;
  g_atomic_int_add(&num_cut, is_cut);
  g_atomic_int_add(&num_cut_in_graphs, is_cut && pretend_in_graph());
  *cut->host_result = *cut->result;
  g_free(measured.points);
  g_free(measured.counts);
  g_free(measured.taken);
}

cudaError_t cj2k_cuda_ht_cut(const Cj2kCudaCut *cut, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(cut_frame, cut, sizeof *cut);
}

/* ------------------------------------------------------------------------------ MQ: cut --- */

gint retains_less;

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
    uint32_t b = band->first_block + i;
    const Cj2kCudaMqTaken *taken = &cut->taken[b];
    const Cj2kPassLength *ends = cut->packets.pass_lengths;
    Cj2kHeaderTrees trees = cj2k_header_trees(tree, nodes, i % tree->width, i / tree->width);
    const Cj2kHeaderBlock block = {
        .passes = taken->passes,
        .first_passes = taken->passes,
        .lengths = {taken->length},
        .ends = ends && taken->passes > 1 ? ends + cut->frame.coded[b].first_pass : NULL};
    bits += cj2k_header_block_size(&trees, &block);
  }
  return bits;
}

cudaError_t cj2k_cuda_mq_count(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t i = 0; i < cut->packets.num_packets; i++) {
    const Cj2kCudaHeaderPacket *packet = &cut->packets.packets[i];
    uint64_t bits = 1, body = 0;
    bool any = false;
    for (uint32_t k = 0; k < packet->num_bands; k++)
      bits += count_band(cut, packet, &packet->bands[k], &any);
    for (uint32_t b = packet->first_block; b < packet->first_block + packet->num_blocks; b++)
      body += cut->taken[b].passes ? cut->taken[b].length : 0;
    uint64_t header = any ? (bits + bits / 2048 + 7) / 8 : 1;
    cut->state->headers += header - 1;
    if (cut->plt)
      cut->state->headers += cj2k_length_entry_more(header, body, cut->markers);
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
