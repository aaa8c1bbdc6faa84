/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The eight bytes in front of each RTP payload of the media type jpeg2000-scl (RFC 9828, 5.3 and
 * 5.4). A Main packet has bytes of the codestream's headers, from SOC up to and including the first
 * SOD; a Body packet has none of these.
 */
#ifndef CJ2K_RTP_PAYLOAD_HEADER_H
#define CJ2K_RTP_PAYLOAD_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CJ2K_RTP_HEADER_BYTES 8
#define CJ2K_RTP_MAX_PID      ((1u << 20) - 1)
#define CJ2K_RTP_MAX_POS      ((1u << 12) - 1)

/* MH: whether this is a Body packet, or which of the codestream's Main packets it is. */
typedef enum {
  CJ2K_RTP_BODY = 0,
  CJ2K_RTP_MAIN_MORE = 1, /* another Main packet follows */
  CJ2K_RTP_MAIN_LAST = 2, /* the last of several Main packets */
  CJ2K_RTP_MAIN_ONLY = 3,
} Cj2kRtpKind;

/* TP: which part of the picture the codestream is. LINE1 and LINE2 name the first line of the
 * picture that a field holds. */
typedef enum {
  CJ2K_RTP_FRAME = 0,
  CJ2K_RTP_FIELD1_LINE1 = 1,
  CJ2K_RTP_FIELD2_LINE2 = 2,
  CJ2K_RTP_FIELD1_LINE2 = 3,
  CJ2K_RTP_FIELD2_LINE1 = 4,
  CJ2K_RTP_PSF1 = 5,
  CJ2K_RTP_PSF2 = 6,
  CJ2K_RTP_TP_EXTENSION = 7, /* reserved: receivers discard such packets */
} Cj2kRtpPart;

/* ORDH: the progression order, if packets mark their resync points. */
typedef enum {
  CJ2K_RTP_ORDER_UNMARKED = 0,
  CJ2K_RTP_ORDER_LRCP = 1,
  CJ2K_RTP_ORDER_RLCP = 2,
  CJ2K_RTP_ORDER_RPCL = 3,
  CJ2K_RTP_ORDER_PCRL = 4,
  CJ2K_RTP_ORDER_CPRL = 5,
  CJ2K_RTP_ORDER_PRCL = 6,    /* of Part 2 */
  CJ2K_RTP_ORDER_CHANGES = 7, /* POC changes the progression */
} Cj2kRtpOrder;

typedef struct {
  uint8_t kind;     /* MH, Cj2kRtpKind */
  uint8_t part;     /* TP, Cj2kRtpPart */
  uint16_t stamp;   /* PTSTAMP, 12 bits */
  uint8_t extended; /* ESEQ: the upper 8 bits of the sequence number of 24 bits */

  /* Main packets */
  uint8_t order;         /* ORDH, Cj2kRtpOrder */
  bool has_stamp;        /* P */
  uint8_t num_extension; /* XTRAC: words of 4 bytes between this header and the payload */
  bool reuse;            /* R: main headers are the same in all codestreams */
  bool has_colours;      /* S: the four colour fields below are set */
  bool caching;          /* C: code-blocks that did not change may be left out */
  bool full_range;       /* RANGE */
  uint8_t primaries, transfer, matrix; /* PRIMS, TRANS, MAT: Rec. ITU-T H.273 */

  /* Body packets */
  uint8_t resolution; /* RES: the lowest in the payload; 7 is the highest, 0 may be any */
  uint8_t layer;      /* QUAL: the lowest in the payload */
  bool marked;        /* ORDB: the payload has a resync point */
  uint16_t position;  /* POS: offset of the first resync point in the payload */
  uint32_t precinct;  /* PID of the precinct that begins there */
} Cj2kRtpHeader;

/* Writes CJ2K_RTP_HEADER_BYTES bytes. Fields that a packet of this kind does not have are ignored.
 * num_extension has to be 0. */
void cj2k_rtp_header_write(const Cj2kRtpHeader *header, uint8_t *bytes);

/* Reads the header and sets *payload to the offset of the codestream's bytes. false: the packet has
 * to be discarded, because it is too short or has a reserved value of TP. Reserved bits are
 * ignored, as 8.1 demands. */
bool cj2k_rtp_header_read(Cj2kRtpHeader *header, const uint8_t *bytes, size_t size,
                          size_t *payload);

/* Whether two Main packets announce the same codestream parameters. All fields are compared except
 * TP, MH, ESEQ, PTSTAMP and XTRAC. */
bool cj2k_rtp_header_alike(const Cj2kRtpHeader *a, const Cj2kRtpHeader *b);

/* RES for resolution r of a tile-component with `levels` decomposition levels. */
static inline uint8_t cj2k_rtp_resolution(uint32_t r, uint32_t levels)
{
  return levels - r >= 7 ? 0 : (uint8_t)(7 - (levels - r));
}

#endif
