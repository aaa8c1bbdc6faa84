/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Coded code-blocks: the data format between the block coders and the packets, in both directions.
 * Plain structs in flat arrays, indexed by the plan's block number, so that they can cross PCIe as
 * they are.
 */
#ifndef CJ2K_CODED_H
#define CJ2K_CODED_H

#include "progression.h"

#define CJ2K_MAX_PASSES 164 /* T.800 table B.4 */

/*
 * A codeword segment (B.10.7): passes that share one length.
 *
 * In an HT block (T.814 B.3) pass n, counted from 0 with the placeholder passes, is a cleanup pass
 * when n % 3 is 0:
 *   - all leading placeholder passes and the first cleanup pass are one segment of 3 * P0 + 1
 * passes; placeholder passes that came in packets of their own may also be segments of length 0
 * before it, in any split;
 *   - SigProp and MagRef of an HT set are one segment of 1 or 2 passes; when they came in different
 * layers they may be two segments of 1 pass;
 *   - every later cleanup pass is a segment of 1 pass. Empty HT sets keep their segments, of length
 * 0. zero_bitplanes is what the packet header says; the decoder adds one plane for each HT set that
 * it skips.
 */
typedef struct {
  uint32_t length; /* bytes */
  uint32_t passes;
} Cj2kSegment;

/* A code-block as the packets gave it. An HT block is reduced to what has to be decoded: one
 * cleanup segment of one pass and at most one refinement segment of one or two passes, of the last
 * HT set that has bytes; placeholder passes and earlier sets are counted in zero_bitplanes. All its
 * bytes are contiguous: either in the codestream itself, or, when several packets contributed,
 * gathered in the frame's side buffer, whose offsets follow the codestream's (offset >= codestream
 * size means side buffer at offset - codestream size). */
typedef struct {
  uint64_t offset;
  uint32_t length;        /* all segments together */
  uint32_t first_segment; /* in the frame's segment array */
  uint16_t num_segments;
  uint8_t num_passes;     /* 0: not included, all coefficients are zero */
  uint8_t zero_bitplanes; /* P of B.10.5: missing most significant bit-planes, 0..74 */
  uint8_t is_ht;          /* this block is HT-coded (always, or by T.814 B.3 in mixed mode) */
  uint8_t corrupt;        /* set by packets or block decoder */
} Cj2kCodedBlock;

typedef struct {
  const uint8_t *codestream;
  size_t codestream_size;
  uint8_t *side;
  size_t side_size;
  Cj2kCodedBlock *blocks; /* plan->num_blocks */
  Cj2kSegment *segments;
  uint32_t num_segments;
  uint32_t corrupt_blocks;
  uint64_t unread_bytes; /* of tile-parts, behind the last packet of their tile */
  bool truncated;        /* packets are missing, or cut */
} Cj2kCodedFrame;

/* Byte address of a block's data. */
static inline const uint8_t *cj2k_coded_data(const Cj2kCodedFrame *frame,
                                             const Cj2kCodedBlock *block)
{
  return block->offset < frame->codestream_size
             ? frame->codestream + block->offset
             : frame->side + (block->offset - frame->codestream_size);
}

/* Reads all packets of all tile-parts (T.800 B.9..B.12) into `frame`. The reader keeps its arrays
 * between frames: no allocation in steady state. max_layers 0: all. A packet header that cannot be
 * right, or data that ends, ends its tile (strict: error); what came before is kept. */
typedef struct Cj2kPacketReader Cj2kPacketReader;
Cj2kPacketReader *cj2k_packet_reader_new(void);
void cj2k_packet_reader_free(Cj2kPacketReader *reader);
Cj2kStatus cj2k_packets_read(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                             const Cj2kTileParts *tile_parts, const uint8_t *data, size_t size,
                             uint16_t max_layers, bool strict, uint64_t max_memory,
                             Cj2kCodedFrame **frame, Cj2kError *error);
/* *frame belongs to the reader, valid until its next read. */

/* Is told of each packet that was read whole: bytes of its header with SOP and EPH, and of its
 * body. NULL: nobody is. */
typedef void (*Cj2kPacketObserver)(void *user, const Cj2kPacketId *packet, uint64_t header_bytes,
                                   uint64_t body_bytes);
void cj2k_packet_reader_observe(Cj2kPacketReader *reader, Cj2kPacketObserver observer, void *user);

/* --- encoder --- */

/* The end of a coding pass, as a block coder gives it: where the codestream may be cut, and what
 * has been gained up to there. */
typedef struct {
  uint32_t length; /* bytes from the block's start that decode passes 0..this one exactly (an upper
                      bound when the segment is not terminated here) */
  uint32_t terminated; /* a codeword segment ends here */
  uint64_t
      distortion; /* cumulative decrease of the block's squared error, in units of (step / 16)^2 */
} Cj2kPassEnd;

/* What packets need of it. */
typedef struct {
  uint32_t length : 31;
  uint32_t terminated : 1;
} Cj2kPassLength;

/* A point on the convex hull of a block's options (common/shared/hull.h). */
typedef struct {
  uint32_t bytes; /* more than the point before */
  uint16_t slope; /* class of the error that it saves per byte; falls along the hull */
  uint8_t option; /* as it is counted where options are made; not 0 */
  uint8_t pad;
} Cj2kHullPoint;

typedef struct {
  uint64_t offset;      /* of the first byte, in the frame's block bytes */
  uint32_t length;      /* of all passes */
  uint32_t first_pass;  /* in the frame's pass array */
  uint32_t first_point; /* in the frame's hull points */
  uint8_t num_points;
  uint8_t num_passes;
  uint8_t zero_bitplanes;
  uint8_t is_ht;
} Cj2kEncodedBlock;

#endif
