/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Divides a codestream into RTP payloads (RFC 9828, 5 and 7). */
#ifndef CJ2K_RTP_PACKETISE_H
#define CJ2K_RTP_PACKETISE_H

#include "locate.h"

/* A payload: a range of bytes of the codestream, and the payload header in front of them. The
 * caller sets ESEQ and the header fields that are the same in all packets of a codestream. */
typedef struct {
  uint64_t offset;
  uint32_t size;    /* 0: nothing but padding */
  uint32_t padding; /* zeros behind the bytes of the codestream */
  uint8_t lowest;   /* lowest resolution of its packets; UINT8_MAX: it has bytes of none */
  Cj2kRtpHeader header;
} Cj2kRtpPayload;

typedef struct {
  Cj2kRtpPayload *payloads;
  uint32_t count, capacity;
} Cj2kRtpPayloads;

/*
 * Fills *out with payloads of 1 to max_size bytes. Main packets hold bytes of the headers only. If
 * map->order is not unmarked, every precinct begins a payload, which marks its resync point (ORDB,
 * POS = offset of its first packet header, PID); such a payload has bytes of no other precinct.
 * Later layers of several precincts may share a payload. Otherwise every tile-part begins a
 * payload.
 */
void cj2k_rtp_packetise(const Cj2kRtpMap *map, uint32_t max_size, Cj2kRtpPayloads *out);

/* How far a codestream that comes in parts has been divided. All zeros: not at all. */
typedef struct {
  uint64_t at;            /* bytes in front of it are in payloads */
  uint32_t first, behind; /* units of the run that is being divided, as far as they are known */
  uint32_t unit;          /* of them that at which the next payload begins */
  bool inside;            /* the run has begun; else the next one begins at unit `behind` */
  bool foreign;           /* it begins with a tile-part header, which every resolution needs */
  bool marked;            /* its resync point has been marked, or it has none */
} Cj2kRtpCursor;

/* Goes on from *cursor as far as the payloads are those of the whole codestream, whatever comes
 * behind map->end; if map->more is not set, up to the end. The first call makes the Main packets.
 * The units in front of map->num_units and max_size must be those of the calls before. *out has
 * only new payloads, perhaps none. */
void cj2k_rtp_packetise_on(const Cj2kRtpMap *map, Cj2kRtpCursor *cursor, uint32_t max_size,
                           Cj2kRtpPayloads *out);
/* Appends padding of so many bytes, which receivers ignore, behind the EOC (RFC 9828, 5.1): in the
 * last payload as far as it has less than max_size bytes, and the rest in payloads of their own. */
void cj2k_rtp_pad(Cj2kRtpPayloads *payloads, uint64_t padding, uint32_t max_size);
/* Index of the payload with the EOC. */
uint32_t cj2k_rtp_last_payload(const Cj2kRtpPayloads *payloads);
void cj2k_rtp_payloads_clear(Cj2kRtpPayloads *payloads);

#endif
