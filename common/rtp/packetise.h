/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Divides a codestream into RTP payloads (RFC 9828, 5 and 7). */
#ifndef CJ2K_RTP_PACKETISE_H
#define CJ2K_RTP_PACKETISE_H

#include "locate.h"

/* A payload: some bytes of the codestream, and the header in front of them. The fields that are the
 * same for all packets of a codestream, and ESEQ, are left to the caller. */
typedef struct {
  uint64_t offset;
  uint32_t size;
  uint8_t lowest; /* resolution of its packets, 0 is the lowest; UINT8_MAX: it has none */
  Cj2kRtpHeader header;
} Cj2kRtpPayload;

typedef struct {
  Cj2kRtpPayload *payloads;
  uint32_t count, capacity;
} Cj2kRtpPayloads;

/*
 * Fills *out with payloads of at most max_size bytes, at least 1. Main packets hold bytes of the
 * headers only. With map->order every precinct begins a payload, which marks it (ORDB, POS = the
 * first byte of its packet header, PID), and no payload has bytes of two precincts unless it has
 * neither's first. Without it, every tile-part begins a payload.
 */
void cj2k_rtp_packetise(const Cj2kRtpMap *map, uint32_t max_size, Cj2kRtpPayloads *out);
void cj2k_rtp_payloads_clear(Cj2kRtpPayloads *payloads);

#endif
