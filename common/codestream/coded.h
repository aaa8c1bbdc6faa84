/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Coded code-blocks: the data that block coders and packets exchange, in both directions. They are
 * plain structs in flat arrays, indexed by the block number of the plan, so that they can be copied
 * to a GPU unchanged.
 */
#ifndef CJ2K_CODESTREAM_CODED_H
#define CJ2K_CODESTREAM_CODED_H

#include "common/runtime/threads.h"
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
 *
 * It takes one word, because with BYPASS and TERMALL a frame has several of them for each block. An
 * MQ segment may also be several entries, one for each layer that contributes, or because it is
 * longer than an entry can say; all but the last of these may have no passes.
 */
typedef struct {
  uint32_t length : 24; /* bytes */
  uint32_t passes : 8;
} Cj2kSegment;

#define CJ2K_SEGMENT_MAX_LENGTH 0xffffffu

/* A code-block as it was read from the packets. An HT block is reduced to what has to be decoded:
 * one cleanup segment of one pass and at most one refinement segment of one or two passes, of the
 * last HT set that has bytes; placeholder passes and earlier sets are counted in zero_bitplanes.
 * All its bytes are contiguous: either in the codestream itself, or, when several packets
 * contributed, gathered in the frame's side buffer, whose offsets follow the codestream's (offset
 * >= codestream size means side buffer at offset - codestream size). */
typedef struct {
  uint64_t offset;
  uint32_t length;        /* bytes of all segments together */
  uint32_t first_segment; /* in the frame's segment array */
  uint16_t num_segments;
  uint8_t num_passes;     /* 0: not included, all coefficients are zero */
  uint8_t zero_bitplanes; /* P of B.10.5: missing most significant bit-planes, 0..74 */
  uint8_t is_ht;          /* this block is HT-coded (always, or by T.814 B.3 in mixed mode) */
  uint8_t corrupt;        /* set by the packet reader or the block decoder */
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
  uint64_t unread_bytes;            /* bytes of tile-parts after the last packet of their tile */
  bool truncated;                   /* packets are missing or incomplete */
  uint64_t concealed_packets;       /* missing packets: their code-blocks get nothing from them */
  uint64_t concealed_blocks;        /* code-blocks of the precincts of such packets */
  const uint8_t *missing_precincts; /* of the plan: 1 if such a packet is of it; NULL: none is */
} Cj2kCodedFrame;

/* Address of the bytes of a block. */
static inline const uint8_t *cj2k_coded_data(const Cj2kCodedFrame *frame,
                                             const Cj2kCodedBlock *block)
{
  return block->offset < frame->codestream_size
             ? frame->codestream + block->offset
             : frame->side + (block->offset - frame->codestream_size);
}

/* Reads all packets of all tile-parts (T.800 B.9 to B.12). The reader keeps its arrays between
 * frames, so that it allocates nothing in steady state. max_layers 0: all layers. An invalid packet
 * header or missing data ends the reading of its tile, and the packets before it are used; if the
 * packets have SOP marker segments, reading goes on at the next one. Without them, packets with
 * packed headers are not used if bytes are missing somewhere in their tile-part. With `strict` all
 * that is an error.
 */
typedef struct Cj2kPacketReader Cj2kPacketReader;
Cj2kPacketReader *cj2k_packet_reader_new(void);
void cj2k_packet_reader_free(Cj2kPacketReader *reader);
/* Lets other threads read packets of a tile, too, where it is known before the packets in front of
 * them have been read where they begin (packets_runs.c). NULL: none. The result is the same.
 * least_blocks: code-blocks of a tile for which they are asked; 0: CJ2K_DIVIDED_BLOCKS, and for HT
 * more if threads are not awake. */
#define CJ2K_DIVIDED_BLOCKS 4096u
void cj2k_packet_reader_use(Cj2kPacketReader *reader, Cj2kThreads *threads, uint32_t least_blocks);
/* Would threads that are awake have been used in the last frame? */
bool cj2k_packet_reader_can_divide(const Cj2kPacketReader *reader);
Cj2kStatus cj2k_packets_read(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                             const Cj2kTileParts *tile_parts, const uint8_t *data, size_t size,
                             uint16_t max_layers, bool strict, uint64_t max_memory,
                             Cj2kCodedFrame **frame, Cj2kError *error);
/* *frame belongs to the reader and is valid until its next read. */

/* Gives a code-block of the frame that was read last, which has no data, that of another frame. Of
 * *block, offset and first_segment are ignored. */
void cj2k_packets_supply(Cj2kPacketReader *reader, uint32_t number, const Cj2kCodedBlock *block,
                         const uint8_t *data, const Cj2kSegment *segments);

/* Called for each packet that was read completely, with its offset in the codestream, and the bytes
 * of its header (SOP and EPH included) and of its body. NULL: no calls. */
typedef void (*Cj2kPacketObserver)(void *user, const Cj2kPacketId *packet, uint64_t offset,
                                   uint64_t header_bytes, uint64_t body_bytes);
void cj2k_packet_reader_observe(Cj2kPacketReader *reader, Cj2kPacketObserver observer, void *user);

/* --- encoder --- */

/* The end of a coding pass, as a block coder reports it: a possible end of the retained passes, and
 * the distortion saved up to it. */
typedef struct {
  uint32_t length; /* bytes from the block's start that decode passes 0..this one exactly (an upper
                      bound when the segment is not terminated here) */
  uint32_t terminated; /* a codeword segment ends here */
  uint64_t
      distortion; /* cumulative decrease of the block's squared error, in units of (step / 16)^2 */
} Cj2kPassEnd;

/* The part of Cj2kPassEnd that packets need. */
typedef struct {
  uint32_t length : 31;
  uint32_t terminated : 1;
} Cj2kPassLength;

/* A point on the convex hull of a block's options (common/shared/hull.h). */
typedef struct {
  uint32_t bytes; /* bytes more than at the point before */
  uint16_t slope; /* class of the squared error saved per byte; falls along the hull */
  uint8_t option; /* number of the option as its maker counts them; not 0 */
  uint8_t pad;
} Cj2kHullPoint;

typedef struct {
  uint64_t offset;      /* of the first byte, in the frame's block bytes */
  uint32_t length;      /* bytes of all passes */
  uint32_t first_pass;  /* in the frame's pass array, or in its header bits */
  uint32_t first_point; /* in the frame's hull points */
  uint8_t num_points;
  uint8_t num_passes;
  uint8_t zero_bitplanes;
  uint8_t is_ht;
} Cj2kEncodedBlock;

/* A run of bytes of a block that is one piece in the codestream. */
typedef struct {
  uint64_t from; /* in the frame's block bytes */
  uint64_t to;   /* in the codestream */
  uint32_t length, pad;
} Cj2kByteRun;

/* Bytes of the packet of a precinct in the only layer. */
typedef struct {
  uint64_t body;
  uint32_t header; /* without SOP and EPH */
  uint32_t pad;
} Cj2kPacketSize;

/* A packet of the only layer in the order of the codestream. */
typedef struct {
  uint32_t precinct;
  uint32_t before;   /* bytes between the body of the packet before it, or the begin of the
                        codestream, and its header: markers, and of the first one the main header.
                        Entries of PLT are not counted */
  uint32_t part_end; /* packets up to the end of its tile-part */
} Cj2kPacketStep;

/* All packets: where they go follows from their sizes. */
typedef struct {
  const Cj2kPacketStep *steps;
  uint32_t count;
  uint32_t behind_header; /* bytes between each header and its body: EPH */
  uint32_t behind_all;    /* bytes behind the last packet */
  uint32_t sop;           /* bytes of SOP, which are in `before` of each packet */
  bool plt; /* before the first packet of each tile-part there is an entry for each of its packets,
               which takes cj2k_length_entry_bytes() of its size with SOP and EPH */
} Cj2kPacketSteps;

#endif
