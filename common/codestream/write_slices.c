/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codestreams that are written slice by slice. */
#include "plan_rows.h"
#include "progression.h"
#include "write_internal.h"
#include "write_markers.h"

/* The row of the reference grid at which the progression reaches a packet's precinct. */
static uint32_t packet_row(const Cj2kCodestreamWriter *writer, const Cj2kPacketId *id)
{
  const Cj2kPlan *plan = writer->plan;
  const Cj2kPlanResolution *resolution = &plan->resolutions[id->resolution_index];
  uint32_t precinct = id->precinct_index - resolution->first_precinct;
  const Cj2kPlanTileComp *tc = &plan->tile_comps[plan->tiles[0].first_tile_comp + id->component];

  return (uint32_t)(cj2k_precinct_position(plan, tc, id->resolution,
                                           precinct % resolution->precincts_x,
                                           precinct / resolution->precincts_x) >>
                    32);
}

uint32_t cj2k_codestream_num_slices(Cj2kCodestreamWriter *writer)
{
  uint32_t last = 0;

  if (!writer->slices) {
    writer->slices = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    writer->precincts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint64_t i = 0; i < writer->num_packets; i++) {
      uint32_t row = packet_row(writer, &writer->order[i]);
      if (i == 0 || row != last)
        g_array_append_val(writer->slices, i);
      last = row;
    }
    if (!writer->num_packets) {
      uint64_t none = 0;
      g_array_append_val(writer->slices, none);
    }
  }
  return writer->slices->len;
}

static uint64_t slice_begin(const Cj2kCodestreamWriter *writer, uint32_t slice)
{
  return slice < writer->slices->len ? g_array_index(writer->slices, uint64_t, slice)
                                     : writer->num_packets;
}

uint32_t cj2k_codestream_slice_row(const Cj2kCodestreamWriter *writer, uint32_t slice)
{
  uint64_t first = slice_begin(writer, slice);
  return first < writer->num_packets ? packet_row(writer, &writer->order[first])
                                     : writer->plan->header->y1;
}

const uint32_t *cj2k_codestream_slice_precincts(Cj2kCodestreamWriter *writer, uint32_t slice,
                                                uint32_t *count)
{
  g_array_set_size(writer->precincts, 0);
  for (uint64_t i = slice_begin(writer, slice); i < slice_begin(writer, slice + 1); i++)
    if (!writer->order[i].layer)
      g_array_append_val(writer->precincts, writer->order[i].precinct_index);
  *count = writer->precincts->len;
  return (const uint32_t *)(void *)writer->precincts->data;
}

uint32_t cj2k_codestream_slice_needs(Cj2kCodestreamWriter *writer, uint32_t slice)
{
  uint32_t rows = 0;

  if (slice + 1 >= cj2k_codestream_num_slices(writer))
    return cj2k_plan_rows_all(writer->plan);
  for (uint64_t i = slice_begin(writer, slice); i < slice_begin(writer, slice + 1); i++)
    rows = cj2k_plan_rows_needed(writer->plan, &writer->order[i], rows);
  return rows;
}

static void list_blocks(Cj2kCodestreamWriter *writer, uint32_t slice, GArray *blocks)
{
  uint32_t count;
  const uint32_t *precincts = cj2k_codestream_slice_precincts(writer, slice, &count);

  for (uint32_t i = 0; i < count; i++) {
    uint32_t first, n = cj2k_packet_blocks(writer->packet_writer, precincts[i], &first);
    for (uint32_t b = first; b < first + n; b++)
      g_array_append_val(blocks, b);
  }
}

void cj2k_codestream_slice_blocks(Cj2kCodestreamWriter *writer, uint32_t first, uint32_t end,
                                  GArray *blocks)
{
  g_array_set_size(blocks, 0);
  for (uint32_t i = first; i < end; i++)
    list_blocks(writer, i, blocks);
}

uint64_t cj2k_codestream_slice_least(const Cj2kCodestreamWriter *writer, uint32_t slice)
{
  uint64_t packets = slice_begin(writer, slice + 1) - slice_begin(writer, slice);
  return packets * (1 + cj2k_codestream_packet_markers(writer)) +
         (slice + 1 == writer->slices->len ? CJ2K_EOC_BYTES : 0);
}

void cj2k_codestream_begin_slices(Cj2kCodestreamWriter *writer,
                                  const Cj2kQuantisation *quantisation, Cj2kByteBuffer *out)
{
  Cj2kWriterPart part = {.count = 1}; /* Psot = 0: up to EOC (A.4.2) */
  uint8_t bytes[CJ2K_SOT_BYTES + CJ2K_SOD_BYTES];

  cj2k_write_main_header(out, writer->plan->header, quantisation, writer->comment);
  cj2k_writer_put_part_header(writer, &part, bytes);
  cj2k_put_bytes(out, bytes, sizeof bytes);
}

uint64_t cj2k_codestream_layout_slice(Cj2kCodestreamWriter *writer, uint32_t slice,
                                      const Cj2kPacketSource *source, Cj2kThreads *threads)
{
  uint32_t count;
  const uint32_t *precincts = cj2k_codestream_slice_precincts(writer, slice, &count);
  uint64_t size = 0;

  writer->packets =
      cj2k_packets_prepare_some(writer->packet_writer, source, precincts, count, threads);
  for (uint64_t i = slice_begin(writer, slice); i < slice_begin(writer, slice + 1); i++) {
    writer->offsets[i] = size;
    size += cj2k_writer_packet_size(writer, i);
  }
  return size + (slice + 1 == writer->slices->len ? CJ2K_EOC_BYTES : 0);
}

/* Of a slice that is being written. */
typedef struct {
  const Cj2kCodestreamWriter *writer;
  uint64_t first;
} SliceWriting;

static void write_slice_packet(void *ctx, uint32_t index, uint32_t lane)
{
  const SliceWriting *writing = ctx;
  const Cj2kCodestreamWriter *writer = writing->writer;
  uint64_t i = writing->first + index;
  uint32_t first,
      count = cj2k_packet_blocks(writer->packet_writer, writer->order[i].precinct_index, &first);

  (void)lane;
  cj2k_writer_put_packet(writer, i, i, first, count, true);
}

void cj2k_codestream_write_slice(Cj2kCodestreamWriter *writer, uint32_t slice,
                                 const Cj2kPacketSource *source, Cj2kThreads *threads, uint8_t *out)
{
  SliceWriting writing = {writer, slice_begin(writer, slice)};
  uint64_t end = slice_begin(writer, slice + 1);

  writer->writing = (Cj2kWriting){.source = source, .out = out, .headers = true};
  cj2k_parallel_for(threads, (uint32_t)(end - writing.first), write_slice_packet, &writing);
  if (slice + 1 < writer->slices->len)
    return;
  if (end > writing.first)
    out += writer->offsets[end - 1] + cj2k_writer_packet_size(writer, end - 1);
  cj2k_store16(out, CJ2K_EOC);
}
