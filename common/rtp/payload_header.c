/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "payload_header.h"

#include <string.h>

/*
 * Main   0: MH(2) TP(3) ORDH(3)   1: P(1) XTRAC(3) PTSTAMP(4)   2: PTSTAMP(8)   3: ESEQ(8)
 *        4: R(1) S(1) C(1) reserved(4) RANGE(1)   5: PRIMS(8)   6: TRANS(8)   7: MAT(8)
 * Body   0: MH(2) TP(3) RES(3)    1: ORDB(1) QUAL(3) PTSTAMP(4) 2: PTSTAMP(8)   3: ESEQ(8)
 *        4 to 7: POS(12) PID(20)
 */

static void write_main(const Cj2kRtpHeader *header, uint8_t *bytes)
{
  bytes[0] |= header->order & 7;
  bytes[1] |= (uint8_t)(header->has_stamp << 7 | (header->num_extension & 7) << 4);
  bytes[4] = (uint8_t)(header->reuse << 7 | header->has_colours << 6 | header->caching << 5);
  if (!header->has_colours)
    return;
  bytes[4] |= header->full_range;
  bytes[5] = header->primaries;
  bytes[6] = header->transfer;
  bytes[7] = header->matrix;
}

static void write_body(const Cj2kRtpHeader *header, uint8_t *bytes)
{
  bytes[0] |= header->resolution & 7;
  bytes[1] |= (uint8_t)(header->marked << 7 | (header->layer & 7) << 4);
  if (!header->marked)
    return;
  uint32_t word =
      (uint32_t)(header->position & CJ2K_RTP_MAX_POS) << 20 | (header->precinct & CJ2K_RTP_MAX_PID);
  for (uint32_t i = 0; i < 4; i++)
    bytes[4 + i] = (uint8_t)(word >> (24 - 8 * i));
}

void cj2k_rtp_header_write(const Cj2kRtpHeader *header, uint8_t *bytes)
{
  memset(bytes, 0, CJ2K_RTP_HEADER_BYTES);
  bytes[0] = (uint8_t)((header->kind & 3) << 6 | (header->part & 7) << 3);
  bytes[1] = header->stamp >> 8 & 15;
  bytes[2] = (uint8_t)header->stamp;
  bytes[3] = header->extended;
  if (header->kind == CJ2K_RTP_BODY)
    write_body(header, bytes);
  else
    write_main(header, bytes);
}

static void read_main(Cj2kRtpHeader *header, const uint8_t *bytes)
{
  header->order = bytes[0] & 7;
  header->has_stamp = bytes[1] >> 7;
  header->num_extension = bytes[1] >> 4 & 7;
  header->reuse = bytes[4] >> 7;
  header->has_colours = bytes[4] >> 6 & 1;
  header->caching = bytes[4] >> 5 & 1;
  if (!header->has_colours)
    return;
  header->full_range = bytes[4] & 1;
  header->primaries = bytes[5];
  header->transfer = bytes[6];
  header->matrix = bytes[7];
}

static void read_body(Cj2kRtpHeader *header, const uint8_t *bytes)
{
  header->resolution = bytes[0] & 7;
  header->marked = bytes[1] >> 7;
  header->layer = bytes[1] >> 4 & 7;
  if (!header->marked)
    return;
  header->position = (uint16_t)(bytes[4] << 4 | bytes[5] >> 4);
  header->precinct = (uint32_t)(bytes[5] & 15) << 16 | (uint32_t)bytes[6] << 8 | bytes[7];
}

bool cj2k_rtp_header_read(Cj2kRtpHeader *header, const uint8_t *bytes, size_t size, size_t *payload)
{
  memset(header, 0, sizeof *header);
  if (size < CJ2K_RTP_HEADER_BYTES)
    return false;
  header->kind = bytes[0] >> 6;
  header->part = bytes[0] >> 3 & 7;
  header->stamp = (uint16_t)((bytes[1] & 15) << 8 | bytes[2]);
  header->extended = bytes[3];
  if (header->kind == CJ2K_RTP_BODY)
    read_body(header, bytes);
  else
    read_main(header, bytes);
  *payload = CJ2K_RTP_HEADER_BYTES + 4 * (size_t)header->num_extension;
  return header->part != CJ2K_RTP_TP_EXTENSION && *payload <= size;
}

bool cj2k_rtp_header_alike(const Cj2kRtpHeader *a, const Cj2kRtpHeader *b)
{
  return a->order == b->order && a->has_stamp == b->has_stamp && a->reuse == b->reuse &&
         a->has_colours == b->has_colours && a->caching == b->caching &&
         a->full_range == b->full_range && a->primaries == b->primaries &&
         a->transfer == b->transfer && a->matrix == b->matrix;
}
