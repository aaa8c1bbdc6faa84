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
/* The same for the bytes from `from` on, where packet `unit` begins; with from = 0 the Main packets
 * too. Payloads so made of consecutive ranges are those of the whole, if each range ends with a
 * precinct. */
void cj2k_rtp_packetise_from(const Cj2kRtpMap *map, uint64_t from, uint32_t unit, uint32_t max_size,
                             Cj2kRtpPayloads *out);
/* Appends padding of so many bytes, which receivers ignore, behind the EOC (RFC 9828, 5.1): in the
 * last payload as far as it has less than max_size bytes, and the rest in payloads of their own. */
void cj2k_rtp_pad(Cj2kRtpPayloads *payloads, uint64_t padding, uint32_t max_size);
/* Index of the payload with the EOC. */
uint32_t cj2k_rtp_last_payload(const Cj2kRtpPayloads *payloads);
void cj2k_rtp_payloads_clear(Cj2kRtpPayloads *payloads);

#endif
