/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of reading the packets of one tile, shared by the files that read packets. A tile
 * reader works on one tile at a time and does not depend on others, so that several can work at
 * once.
 */
#ifndef CJ2K_CODESTREAM_TILE_READER_H
#define CJ2K_CODESTREAM_TILE_READER_H

#include "bitreader.h"
#include "coded.h"
#include "progression.h"
#include "tagtree.h"

/* The bytes that one packet gives to one codeword segment of one code-block, or to all its segments
 * (MQ, if Cj2kSegment can say their lengths: with BYPASS or TERMALL there are many). */
typedef struct {
  uint64_t offset; /* in the codestream */
  uint32_t length;
  uint32_t next;          /* the block's next piece, 0: none */
  uint32_t first_segment; /* in the reader's segments */
  uint8_t num_segments;   /* 0: one, of this length and these passes */
  uint8_t passes;         /* passes that are complete with this piece; 0: the piece is dropped */
  bool begins; /* begins a new codeword segment; else it first continues that of the piece before */
} Cj2kPiece;

/* Which block coder a code-block uses. It is not known in mixed mode as long as there are only
 * placeholder passes (T.814 annex B). */
typedef enum { CJ2K_BLOCK_MQ = 0, CJ2K_BLOCK_HT, CJ2K_BLOCK_UNDECIDED } Cj2kBlockKind;

/* What the packet headers read so far say of a code-block. */
typedef struct {
  uint32_t first_piece, last_piece; /* 0: none */
  uint16_t passes;                  /* in all packets so far, placeholders included */
  uint8_t lblock;                   /* B.10.7.1; 0: not included yet */
  uint8_t zero_bitplanes;
  uint8_t kind; /* Cj2kBlockKind */
} Cj2kBlockState;

typedef struct {
  const Cj2kPlan *plan;
  const uint8_t *data; /* the codestream */
  uint32_t tile;
  uint32_t first_block, num_blocks; /* of the tile */
  uint32_t first_node, num_nodes;

  Cj2kPacketIterator iterator;
  Cj2kBlockState *states; /* per block of the tile */
  uint32_t states_capacity;
  Cj2kTagNode *inclusion, *zero_bitplanes; /* per node of the tile */
  uint32_t nodes_capacity;
  Cj2kPiece *pieces; /* [0] is not used */
  uint32_t num_pieces, pieces_capacity;
  Cj2kSegment *segments; /* of pieces with several */
  uint32_t num_segments, segments_capacity;
} Cj2kTileReader;

/* A segment of at most CJ2K_SEGMENT_MAX_LENGTH bytes. Compilers write bit-fields one by one. */
static inline Cj2kSegment cj2k_segment(uint32_t length, uint32_t passes)
{
  uint32_t word = G_BYTE_ORDER == G_LITTLE_ENDIAN ? passes << 24 | length : length << 8 | passes;
  Cj2kSegment segment;

  G_STATIC_ASSERT(sizeof segment == sizeof word);
  memcpy(&segment, &word, sizeof word);
  return segment;
}

/* Segments behind the last one that may be read or written, so that a few are copied at once. */
#define CJ2K_SEGMENTS_SLACK 16u

/* Begins the packets of a tile: no code-block is included yet, and the iterator stands before the
 * first packet. The reader's memory is kept from tile to tile; set it to all zeros first.
 * CJ2K_ERROR_LIMIT: the tile needs more than max_memory bytes (0: no limit). */
Cj2kStatus cj2k_tile_reader_begin(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error);
/* The same, and clears what is known of code-blocks and of the nodes of tag trees, as
 * cj2k_packet_header_read needs it. */
Cj2kStatus cj2k_tile_reader_start(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error);
void cj2k_tile_reader_clear(Cj2kTileReader *reader);

/*
 * Decodes the packet header at `bits` (B.10) and appends the pieces it announces, in the order of
 * their bytes, with offsets still to be filled in. false: the bits cannot be a packet header.
 */
bool cj2k_packet_header_read(Cj2kTileReader *reader, const Cj2kPacketId *packet,
                             Cj2kBitReader *bits);

#endif
