/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_internal.h"

#include "common/runtime/error.h"
#include "header_bits.h"
#include "progression.h"
#include "write_markers.h"

#include <string.h>

#define EPH_SIZE    2
#define MIN_PAD     7     /* bytes of the shortest COM that is not empty */
#define PLT_ROOM    65000 /* bytes of packet lengths in one PLT marker segment */
#define PLT_BEGIN   5     /* bytes of a PLT marker segment before them */
#define PLT_PACKETS 12000 /* whose lengths one surely takes */
#define TLM_ROOM    10000 /* tile-parts in one TLM marker segment */
#define COPY_BLOCKS 64    /* about the number of code-blocks that one task copies */

/* --- order of packets and tile-parts --- */

static bool starts_tile_part(const Cj2kPacketId *a, const Cj2kPacketId *b, uint8_t divide)
{
  return (divide & CJ2K_TILE_PARTS_RESOLUTION && a->resolution != b->resolution) ||
         (divide & CJ2K_TILE_PARTS_LAYER && a->layer != b->layer) ||
         (divide & CJ2K_TILE_PARTS_COMPONENT && a->component != b->component);
}

/* Appends the packets and tile-parts of one tile. */
static Cj2kStatus order_tile(Cj2kCodestreamWriter *writer, Cj2kPacketIterator *iterator,
                             uint32_t tile, uint8_t divide, GArray *order, GArray *parts,
                             Cj2kError *error)
{
  guint first_part = parts->len;
  uint32_t volume = 0;
  Cj2kPacketId last = {0}, id;
  Cj2kWriterPart part = {.tile = tile, .first_packet = order->len};

  cj2k_packet_iterator_start(iterator, writer->plan, tile);
  while (cj2k_packet_iterator_next(iterator, &id)) {
    bool divides = starts_tile_part(&last, &id, divide) || (divide && iterator->volume != volume);
    if (part.num_packets && divides) {
      g_array_append_val(parts, part);
      part = (Cj2kWriterPart){.tile = tile, .index = part.index + 1, .first_packet = order->len};
    }
    volume = iterator->volume;
    last = id;
    part.num_packets++;
    g_array_append_val(order, id);
  }
  g_array_append_val(parts, part);
  if (part.index >= 255)
    return cj2k_error_set(
        error, CJ2K_ERROR_ARGUMENT,
        "tile-parts: this progression would divide a tile into %u tile-parts, 255 are allowed",
        part.index + 1);
  for (guint i = first_part; i < parts->len; i++)
    g_array_index(parts, Cj2kWriterPart, i).count = part.index + 1;
  return CJ2K_OK;
}

static Cj2kStatus order_packets(Cj2kCodestreamWriter *writer, uint8_t divide, Cj2kError *error)
{
  GArray *order = g_array_new(FALSE, FALSE, sizeof(Cj2kPacketId));
  GArray *parts = g_array_new(FALSE, FALSE, sizeof(Cj2kWriterPart));
  Cj2kPacketIterator iterator = {0};
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t tile = 0; tile < writer->plan->num_tiles && status == CJ2K_OK; tile++)
    status = order_tile(writer, &iterator, tile, divide, order, parts, error);
  cj2k_packet_iterator_clear(&iterator);
  writer->num_packets = order->len;
  writer->num_tile_parts = parts->len;
  writer->order = (Cj2kPacketId *)(void *)g_array_free(order, FALSE);
  writer->tile_parts = (Cj2kWriterPart *)(void *)g_array_free(parts, FALSE);
  return status;
}

/* Cuts packets into pieces of about COPY_BLOCKS blocks. */
static void list_pieces(Cj2kCodestreamWriter *writer)
{
  GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Cj2kWriterPiece));
  Cj2kWriterPiece run = {0};
  uint32_t weight = 0;

  for (uint64_t i = 0; i < writer->num_packets; i++) {
    uint32_t first,
        n = cj2k_packet_blocks(writer->packet_writer, writer->order[i].precinct_index, &first);
    bool large = n > 2 * COPY_BLOCKS;
    if (run.num_packets && (large || weight >= COPY_BLOCKS)) {
      g_array_append_val(pieces, run);
      run = (Cj2kWriterPiece){.first_packet = i};
      weight = 0;
    }
    for (uint32_t done = 0; large && done < n; done += COPY_BLOCKS) {
      Cj2kWriterPiece part = {i, 1, first + done, MIN(COPY_BLOCKS, n - done)};
      g_array_append_val(pieces, part);
    }
    if (large) {
      run = (Cj2kWriterPiece){.first_packet = i + 1};
    } else {
      run.num_packets++;
      weight += n + 8;
    }
  }
  if (run.num_packets)
    g_array_append_val(pieces, run);
  writer->num_pieces = pieces->len;
  writer->pieces = (Cj2kWriterPiece *)(void *)g_array_free(pieces, FALSE);
}

Cj2kStatus cj2k_codestream_writer_new(Cj2kPlan *plan, const Cj2kWriteOptions *options,
                                      Cj2kCodestreamWriter **result, Cj2kError *error)
{
  Cj2kCodestreamWriter *writer = g_new0(Cj2kCodestreamWriter, 1);

  writer->plan = cj2k_plan_ref(plan);
  writer->comment = g_strdup(options->comment);
  writer->tlm = options->tlm;
  writer->plt = options->plt;
  for (uint32_t t = 0; t < plan->num_tiles; t++)
    writer->num_layers = MAX(writer->num_layers, plan->tiles[t].num_layers);
  for (uint32_t t = 0; t < plan->num_tile_comps; t++)
    writer->num_resolutions = MAX(writer->num_resolutions, plan->tile_comps[t].num_levels + 1u);
  Cj2kStatus status = order_packets(writer, options->tile_parts, error);
  if (status != CJ2K_OK) {
    cj2k_codestream_writer_free(writer);
    return status;
  }
  writer->packet_writer = cj2k_packet_writer_new(plan, writer->num_layers);
  list_pieces(writer);
  writer->offsets = g_new(uint64_t, writer->num_packets + 1);
  writer->components = g_new(uint64_t, (size_t)plan->num_components * writer->num_resolutions);
  *result = writer;
  return CJ2K_OK;
}

void cj2k_codestream_writer_free(Cj2kCodestreamWriter *writer)
{
  if (!writer)
    return;
  cj2k_packet_writer_free(writer->packet_writer);
  cj2k_plan_unref(writer->plan);
  g_free(writer->comment);
  g_free(writer->order);
  g_free(writer->tile_parts);
  g_free(writer->pieces);
  g_free(writer->sized);
  g_free(writer->steps);
  g_free(writer->offsets);
  g_free(writer->components);
  g_free(writer->main_header.data);
  g_free(writer->plt_bytes.data);
  g_clear_pointer(&writer->runs, g_array_unref);
  g_clear_pointer(&writer->slices, g_array_unref);
  g_clear_pointer(&writer->precincts, g_array_unref);
  g_free(writer);
}

/* --- layout --- */

uint32_t cj2k_codestream_packet_markers(const Cj2kCodestreamWriter *writer)
{
  const Cj2kTileCoding *coding = &writer->plan->header->coding;
  return (coding->sop ? CJ2K_SOP_BYTES : 0) + (coding->eph ? EPH_SIZE : 0);
}

/* Packet i in the order of the codestream, as it was laid out. */
static const Cj2kWrittenPacket *written_packet(const Cj2kCodestreamWriter *writer, uint64_t i)
{
  const Cj2kPacketId *id = &writer->order[i];
  return &writer->packets[(size_t)id->precinct_index * writer->num_layers + id->layer];
}

uint64_t cj2k_writer_packet_size(const Cj2kCodestreamWriter *writer, uint64_t i)
{
  const Cj2kWrittenPacket *packet = written_packet(writer, i);
  return cj2k_codestream_packet_markers(writer) + packet->header_size + packet->body_size;
}

/* A packet length in PLT (A.7.3): 7 bits a byte, most significant first, bit 7 says that more
 * follows. */
static uint32_t encode_length(uint64_t length, uint8_t bytes[10])
{
  uint32_t n = cj2k_length_entry_bytes(length);
  for (uint32_t i = 0; i < n; i++)
    bytes[i] = (uint8_t)((length >> 7 * (n - 1 - i) & 0x7f) | (i + 1 < n ? 0x80 : 0));
  return n;
}

/* Writes the PLT marker segments of one tile-part. They are left out if they would contain 0xFFD9:
 * they are optional, and the lengths of packets cannot be changed. */
static void write_plt(Cj2kCodestreamWriter *writer, Cj2kWriterPart *part)
{
  Cj2kByteBuffer *out = &writer->plt_bytes;
  uint32_t index = 0;

  part->plt = out->size;
  for (uint64_t i = part->first_packet; i < part->first_packet + part->num_packets; index++) {
    size_t begin = out->size;
    cj2k_put16(out, CJ2K_PLT);
    cj2k_put16(out, 0);
    cj2k_put8(out, index & 0xff);
    for (; i < part->first_packet + part->num_packets && out->size - begin < PLT_ROOM; i++) {
      uint8_t bytes[10];
      cj2k_put_bytes(out, bytes, encode_length(cj2k_writer_packet_size(writer, i), bytes));
    }
    cj2k_store16(out->data + begin + 2, (uint32_t)(out->size - begin - 2));
  }
  if (index > 256 ||
      (out->size > part->plt && cj2k_contains_eoc(out->data + part->plt, out->size - part->plt)))
    out->size = part->plt;
  part->plt_size = out->size - part->plt;
}

/* A.4.2 */
static void store_sot(const Cj2kWriterPart *part, uint8_t sot[CJ2K_SOT_BYTES])
{
  uint8_t *at = cj2k_store16(sot, CJ2K_SOT);
  at = cj2k_store16(at, CJ2K_SOT_BYTES - 2);
  at = cj2k_store16(at, part->tile);
  at = cj2k_store32(at, (uint32_t)part->size);
  at[0] = (uint8_t)part->index;
  at[1] = (uint8_t)part->count;
}

/* Lengthens the tile-part by a comment in its header, or the comment by one byte if it has one. */
static void lengthen(Cj2kWriterPart *part)
{
  uint32_t more = part->pad ? 1 : MIN_PAD;
  part->pad += more;
  part->size += more;
}

static void avoid_eoc_in_sot(Cj2kWriterPart *part)
{
  uint8_t sot[CJ2K_SOT_BYTES];
  store_sot(part, sot);
  /* Checks Psot and what follows. A tile number of 0xFFD9, or tile-part 0xFF of 0xD9, cannot be
   * avoided. */
  while (cj2k_contains_eoc(sot + 6, 5)) {
    lengthen(part);
    store_sot(part, sot);
  }
}

static Cj2kStatus layout_tile_part(Cj2kCodestreamWriter *writer, Cj2kWriterPart *part,
                                   Cj2kError *error)
{
  part->pad = 0;
  part->plt_size = 0;
  part->size = CJ2K_SOT_BYTES + CJ2K_SOD_BYTES;
  for (uint64_t i = part->first_packet; i < part->first_packet + part->num_packets; i++) {
    const Cj2kPacketId *id = &writer->order[i];
    uint64_t size = cj2k_writer_packet_size(writer, i);
    writer->components[(size_t)id->component * writer->num_resolutions + id->resolution] += size;
    part->size += size;
  }
  if (writer->plt)
    write_plt(writer, part);
  part->size += part->plt_size;
  if (part->size > UINT32_MAX - 64)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "tile-part %u of tile %u would have 4 GiB or more", part->index,
                          part->tile);
  avoid_eoc_in_sot(part);
  return CJ2K_OK;
}

/* TLM (A.7.1) with tile indices of one byte where they fit, lengths of four. */
static void write_tlm(Cj2kCodestreamWriter *writer)
{
  Cj2kByteBuffer *out = &writer->main_header;
  bool wide = writer->plan->num_tiles > 255;
  uint32_t entry = wide ? 6 : 5;

  for (uint32_t i = 0, index = 0; i < writer->num_tile_parts; index++) {
    uint32_t n = MIN(writer->num_tile_parts - i, (uint32_t)TLM_ROOM);
    cj2k_put16(out, CJ2K_TLM);
    cj2k_put16(out, 4 + n * entry);
    cj2k_put8(out, index & 0xff);
    cj2k_put8(out, wide ? 0x60 : 0x50);
    for (uint32_t end = i + n; i < end; i++) {
      const Cj2kWriterPart *part = &writer->tile_parts[i];
      if (wide)
        cj2k_put16(out, part->tile);
      else
        cj2k_put8(out, part->tile);
      cj2k_put32(out, (uint32_t)part->size);
    }
  }
}

/* Lengthens tile-parts until TLM has no 0xFFD9: inside a length, or between it and the next tile's
 * index. */
static void avoid_eoc_in_tlm(Cj2kCodestreamWriter *writer)
{
  bool wide = writer->plan->num_tiles > 255;

  for (uint32_t i = 0; i < writer->num_tile_parts; i++) {
    Cj2kWriterPart *part = &writer->tile_parts[i];
    bool last = i + 1 == writer->num_tile_parts || (i + 1) % TLM_ROOM == 0;
    uint32_t next = last ? 0 : writer->tile_parts[i + 1].tile;
    for (;;) {
      uint8_t bytes[5];
      cj2k_store32(bytes, (uint32_t)part->size);
      bytes[4] = (uint8_t)(wide ? next >> 8 : next);
      if (!cj2k_contains_eoc(bytes, 5))
        break;
      lengthen(part);
      avoid_eoc_in_sot(part);
    }
  }
}

/* Bytes before the first packet, from the start of the tile-part. */
static uint64_t tile_part_header_size(const Cj2kWriterPart *part)
{
  return CJ2K_SOT_BYTES + part->plt_size + part->pad + CJ2K_SOD_BYTES;
}

static void place(Cj2kCodestreamWriter *writer)
{
  uint64_t offset = writer->main_header.size;

  for (uint32_t t = 0; t < writer->num_tile_parts; t++) {
    Cj2kWriterPart *part = &writer->tile_parts[t];
    uint64_t at = offset + tile_part_header_size(part);
    part->offset = offset;
    for (uint64_t i = part->first_packet; i < part->first_packet + part->num_packets; i++) {
      writer->offsets[i] = at;
      at += cj2k_writer_packet_size(writer, i);
    }
    if (part->num_packets) {
      const Cj2kPacketId *id = &writer->order[part->first_packet];
      writer->components[(size_t)id->component * writer->num_resolutions + id->resolution] +=
          tile_part_header_size(part);
    }
    offset += part->size;
  }
  writer->total = offset + CJ2K_EOC_BYTES;
}

/* Writes the main header without TLM. */
static void write_main_header(Cj2kCodestreamWriter *writer, const Cj2kQuantisation *quantisation)
{
  writer->main_header.size = 0;
  cj2k_write_main_header(&writer->main_header, writer->plan->header, quantisation, writer->comment);
}

uint64_t cj2k_codestream_main_header_size(Cj2kCodestreamWriter *writer,
                                          const Cj2kQuantisation *quantisation)
{
  write_main_header(writer, quantisation);
  return writer->main_header.size;
}

/* Lays out the packets, whose sizes are known. */
static Cj2kStatus lay_out(Cj2kCodestreamWriter *writer, const Cj2kQuantisation *quantisation,
                          Cj2kCodestreamSize *size, Cj2kError *error)
{
  writer->plt_bytes.size = 0;
  memset(writer->components, 0,
         (size_t)writer->plan->num_components * writer->num_resolutions *
             sizeof writer->components[0]);
  write_main_header(writer, quantisation);
  for (uint32_t t = 0; t < writer->num_tile_parts; t++) {
    Cj2kStatus status = layout_tile_part(writer, &writer->tile_parts[t], error);
    if (status != CJ2K_OK)
      return status;
  }
  if (writer->tlm) {
    avoid_eoc_in_tlm(writer);
    write_tlm(writer);
  }
  place(writer);
  *size = (Cj2kCodestreamSize){.total = writer->total,
                               .components = writer->components,
                               .num_resolutions = writer->num_resolutions};
  return CJ2K_OK;
}

Cj2kStatus cj2k_codestream_layout(Cj2kCodestreamWriter *writer,
                                  const Cj2kQuantisation *quantisation,
                                  const Cj2kPacketSource *source, Cj2kThreads *threads,
                                  Cj2kCodestreamSize *size, Cj2kError *error)
{
  writer->packets = cj2k_packets_prepare(writer->packet_writer, source, threads);
  return lay_out(writer, quantisation, size, error);
}

/* --- packets whose headers somebody else makes --- */

bool cj2k_codestream_can_list(const Cj2kCodestreamWriter *writer)
{
  for (uint32_t t = 0; t < writer->num_tile_parts && writer->plt; t++)
    if (writer->tile_parts[t].num_packets > PLT_PACKETS)
      return false;
  return writer->num_layers == 1 && writer->num_packets <= UINT32_MAX;
}

bool cj2k_codestream_list_steps(Cj2kCodestreamWriter *writer, const Cj2kQuantisation *quantisation,
                                Cj2kPacketSteps *steps)
{
  const Cj2kTileCoding *coding = &writer->plan->header->coding;
  uint32_t sop = coding->sop ? CJ2K_SOP_BYTES : 0, n = 0;

  if (!cj2k_codestream_can_list(writer))
    return false;
  if (!writer->steps)
    writer->steps = g_new(Cj2kPacketStep, writer->num_packets + 1);
  write_main_header(writer, quantisation);
  if (writer->tlm)
    write_tlm(writer);
  uint32_t before = (uint32_t)writer->main_header.size;
  for (uint32_t t = 0; t < writer->num_tile_parts; t++) {
    const Cj2kWriterPart *part = &writer->tile_parts[t];
    before += CJ2K_SOT_BYTES + CJ2K_SOD_BYTES + (writer->plt && part->num_packets ? PLT_BEGIN : 0);
    uint32_t part_end = n + (uint32_t)part->num_packets;
    for (uint64_t i = 0; i < part->num_packets; i++, before = 0, n++)
      writer->steps[n] =
          (Cj2kPacketStep){.precinct = writer->order[part->first_packet + i].precinct_index,
                           .before = before + sop,
                           .part_end = part_end};
  }
  *steps = (Cj2kPacketSteps){.steps = writer->steps,
                             .count = n,
                             .behind_header = coding->eph ? EPH_SIZE : 0,
                             .behind_all = before + CJ2K_EOC_BYTES,
                             .sop = sop,
                             .plt = writer->plt};
  return true;
}

Cj2kStatus cj2k_codestream_layout_sizes(Cj2kCodestreamWriter *writer,
                                        const Cj2kQuantisation *quantisation,
                                        const Cj2kPacketSize *sizes, Cj2kCodestreamSize *size,
                                        bool *as_listed, Cj2kError *error)
{
  uint32_t n = writer->plan->num_precincts;

  if (!writer->sized)
    writer->sized = g_new0(Cj2kWrittenPacket, (size_t)n + 1);
  for (uint32_t p = 0; p < n; p++) {
    writer->sized[p].header_size = sizes[p].header;
    writer->sized[p].body_size = sizes[p].body;
  }
  writer->packets = writer->sized;
  Cj2kStatus status = lay_out(writer, quantisation, size, error);
  *as_listed = status == CJ2K_OK;
  for (uint32_t t = 0; t < writer->num_tile_parts && *as_listed; t++) {
    const Cj2kWriterPart *part = &writer->tile_parts[t];
    *as_listed = !part->pad && (part->plt_size || !part->num_packets || !writer->plt);
  }
  return status;
}

/* --- write --- */

void cj2k_writer_put_part_header(const Cj2kCodestreamWriter *writer, const Cj2kWriterPart *part,
                                 uint8_t *out)
{
  store_sot(part, out);
  out += CJ2K_SOT_BYTES;
  if (part->plt_size)
    memcpy(out, writer->plt_bytes.data + part->plt, part->plt_size);
  out += part->plt_size;
  if (part->pad) {
    Cj2kByteBuffer comment = {0};
    cj2k_write_padding_comment(&comment, part->pad);
    memcpy(out, comment.data, comment.size);
    g_free(comment.data);
  }
  cj2k_store16(out + part->pad, CJ2K_SOD);
}

/* The place of a packet's body in the codestream. */
static uint64_t body_offset(const Cj2kCodestreamWriter *writer, uint64_t i)
{
  return writer->offsets[i] + cj2k_writer_packet_size(writer, i) -
         written_packet(writer, i)->body_size;
}

/* Writes SOP, packet header and EPH (A.8, B.10). `number` counts the packets of the tile. */
static void write_packet_header(const Cj2kCodestreamWriter *writer, uint64_t i, uint64_t number,
                                uint8_t *codestream)
{
  const Cj2kTileCoding *coding = &writer->plan->header->coding;
  const Cj2kWrittenPacket *packet = written_packet(writer, i);
  uint8_t *out = codestream + writer->offsets[i];

  if (coding->sop) {
    out = cj2k_store16(out, CJ2K_SOP);
    out = cj2k_store16(out, CJ2K_SOP_BYTES - 2);
    out = cj2k_store16(out, (uint32_t)(number & 0xffff));
  }
  if (packet->header)
    memcpy(out, packet->header, packet->header_size);
  if (coding->eph)
    cj2k_store16(out + packet->header_size, CJ2K_EPH);
}

void cj2k_writer_put_packet(const Cj2kCodestreamWriter *writer, uint64_t i, uint64_t number,
                            uint32_t first, uint32_t count, bool headers)
{
  const Cj2kWriting *writing = &writer->writing;

  if (headers)
    write_packet_header(writer, i, number, writing->out);
  if (written_packet(writer, i)->body_size)
    cj2k_packet_copy_blocks(writer->packet_writer, writing->source, first, count,
                            writer->order[i].layer, writing->out + body_offset(writer, i));
}

static uint64_t first_packet_of_tile(const Cj2kCodestreamWriter *writer, uint32_t part)
{
  return writer->tile_parts[part - writer->tile_parts[part].index].first_packet;
}

/* Writes one piece, whose packets may belong to several tile-parts. */
static void write_piece(void *ctx, uint32_t index, uint32_t lane)
{
  const Cj2kCodestreamWriter *writer = ctx;
  const Cj2kWriterPiece *piece = &writer->pieces[index];
  uint32_t part = 0, above = writer->num_tile_parts;

  (void)lane;
  while (above - part > 1) { /* the last tile-part that begins at or before the piece */
    uint32_t middle = part + (above - part) / 2;
    if (writer->tile_parts[middle].first_packet <= piece->first_packet)
      part = middle;
    else
      above = middle;
  }
  for (uint64_t i = piece->first_packet; i < piece->first_packet + piece->num_packets; i++) {
    uint32_t first,
        count = cj2k_packet_blocks(writer->packet_writer, writer->order[i].precinct_index, &first);
    bool whole = piece->num_blocks == 0;
    while (part + 1 < writer->num_tile_parts && writer->tile_parts[part + 1].first_packet <= i)
      part++;
    cj2k_writer_put_packet(writer, i, i - first_packet_of_tile(writer, part),
                           whole ? first : piece->first_block, whole ? count : piece->num_blocks,
                           writer->writing.headers && (whole || piece->first_block == first));
  }
}

/* Writes what is outside of packets. */
static void write_frame(const Cj2kCodestreamWriter *writer, uint8_t *out)
{
  memcpy(out, writer->main_header.data, writer->main_header.size);
  for (uint32_t t = 0; t < writer->num_tile_parts; t++)
    cj2k_writer_put_part_header(writer, &writer->tile_parts[t], out + writer->tile_parts[t].offset);
  cj2k_store16(out + writer->total - CJ2K_EOC_BYTES, CJ2K_EOC);
}

void cj2k_codestream_write(Cj2kCodestreamWriter *writer, const Cj2kPacketSource *source,
                           Cj2kThreads *threads, uint8_t *out)
{
  write_frame(writer, out);
  writer->writing = (Cj2kWriting){.source = source, .out = out, .headers = true};
  cj2k_parallel_for(threads, writer->num_pieces, write_piece, writer);
}

void cj2k_codestream_write_bodies(Cj2kCodestreamWriter *writer, const Cj2kPacketSource *source,
                                  Cj2kThreads *threads, uint8_t *out)
{
  writer->writing = (Cj2kWriting){.source = source, .out = out};
  cj2k_parallel_for(threads, writer->num_pieces, write_piece, writer);
}

const GArray *cj2k_codestream_list_runs(Cj2kCodestreamWriter *writer,
                                        const Cj2kPacketSource *source)
{
  if (!writer->runs)
    writer->runs = g_array_new(FALSE, FALSE, sizeof(Cj2kByteRun));
  g_array_set_size(writer->runs, 0);
  for (uint64_t i = 0; i < writer->num_packets; i++) {
    const Cj2kPacketId *id = &writer->order[i];
    uint32_t first, count = cj2k_packet_blocks(writer->packet_writer, id->precinct_index, &first);
    if (written_packet(writer, i)->body_size)
      cj2k_packet_list_runs(writer->packet_writer, source, first, count, id->layer,
                            body_offset(writer, i), writer->runs);
  }
  return writer->runs;
}

void cj2k_codestream_write_headers(Cj2kCodestreamWriter *writer, uint8_t *out)
{
  write_frame(writer, out);
  for (uint32_t t = 0; t < writer->num_tile_parts; t++) {
    const Cj2kWriterPart *part = &writer->tile_parts[t];
    for (uint64_t i = part->first_packet; i < part->first_packet + part->num_packets; i++)
      write_packet_header(writer, i, i - first_packet_of_tile(writer, t), out);
  }
}
