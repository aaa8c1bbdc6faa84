/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files share that write a codestream, whole or slice by slice. */
#ifndef CJ2K_CODESTREAM_WRITE_INTERNAL_H
#define CJ2K_CODESTREAM_WRITE_INTERNAL_H

#include "write_codestream.h"

/* Bytes of the markers. */
#define CJ2K_SOD_BYTES 2
#define CJ2K_EOC_BYTES 2

/* A tile-part. */
typedef struct {
  uint32_t tile;
  uint32_t index, count; /* TPsot, TNsot */
  uint64_t first_packet, num_packets;
  /* of the current layout: */
  uint32_t pad;         /* bytes of a comment that keeps 0xFFD9 out of Psot and TLM */
  uint64_t size;        /* Psot */
  size_t plt, plt_size; /* in writer->plt_bytes */
  uint64_t offset;      /* in the codestream */
} Cj2kWriterPart;

/* What one task writes: whole packets, or a part of the blocks of one. */
typedef struct {
  uint64_t first_packet;
  uint32_t num_packets;
  uint32_t first_block, num_blocks; /* 0 blocks: all of all packets */
} Cj2kWriterPiece;

/* Of a running write. */
typedef struct {
  const Cj2kPacketSource *source;
  uint8_t *out;
  bool headers; /* of packets, too */
} Cj2kWriting;

struct Cj2kCodestreamWriter {
  Cj2kPlan *plan;
  char *comment;
  bool tlm, plt;
  uint16_t num_layers; /* the most of any tile */
  Cj2kPacketWriter *packet_writer;
  uint64_t num_packets;
  Cj2kPacketId *order;
  uint32_t num_tile_parts;
  Cj2kWriterPart *tile_parts;
  uint32_t num_pieces;
  Cj2kWriterPiece *pieces;
  /* of the current layout: */
  const Cj2kWrittenPacket *packets;
  Cj2kWrittenPacket *sized; /* those of layout_sizes(), without headers; NULL: never used */
  Cj2kPacketStep *steps;    /* of list_steps(); NULL: never listed */
  uint64_t *offsets;        /* of each packet in the codestream */
  Cj2kByteBuffer main_header, plt_bytes;
  uint64_t *components;
  uint32_t num_resolutions;
  uint64_t total;
  Cj2kWriting writing;
  GArray *runs;      /* Cj2kByteRun: of the current layout; NULL: never listed */
  GArray *slices;    /* uint64_t: first packet of each slice; NULL: not listed yet */
  GArray *precincts; /* uint32_t: of the slice at hand */
};

/* Bytes of packet i in the order of the codestream, as it was laid out, with SOP and EPH. */
uint64_t cj2k_writer_packet_size(const Cj2kCodestreamWriter *writer, uint64_t i);
/* Writes SOT, PLT, a comment if there is one, and SOD. */
void cj2k_writer_put_part_header(const Cj2kCodestreamWriter *writer, const Cj2kWriterPart *part,
                                 uint8_t *out);
/* Writes blocks [first, first + count) of the body of packet i, and with `headers` what comes
 * before the body. `number` counts the packets of the tile. */
void cj2k_writer_put_packet(const Cj2kCodestreamWriter *writer, uint64_t i, uint64_t number,
                            uint32_t first, uint32_t count, bool headers);

#endif
