/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a legal codestream from the payloads of one that have arrived. Packets (T.800 B.9) that
 * arrived whole are kept; missing and broken ones are replaced by empty packets. After a gap the
 * next packet is identified by a resync point (RFC 9828, ORDB and PID), an SOP marker segment or
 * the header of a tile-part, or with packed packet headers (PPM, PPT) by the lengths that they
 * tell. These headers are put in front of the packets that they belong to. Each tile becomes one
 * tile-part, whose length stays open (Psot = 0) if the sender left that of the only tile open. TLM,
 * PLM and PLT are left out, because their lengths would be wrong.
 */
#ifndef CJ2K_RTP_REPAIR_H
#define CJ2K_RTP_REPAIR_H

#include "payload_header.h"

#include <glib.h>

/* A payload that arrived. */
typedef struct {
  const uint8_t *data; /* codestream bytes */
  uint32_t size;       /* 0: the payload was left out on purpose */
  bool gap;            /* payloads directly before it are missing */
  uint32_t lost;       /* with `gap`, their number; 0: not known */
  bool used;           /* result: some of its bytes are in the output */
  Cj2kRtpHeader header;
} Cj2kRtpArrived;

typedef struct {
  uint64_t packets; /* number of packets in the codestream */
  uint64_t filled;  /* number of them that were replaced by empty ones */
} Cj2kRtpRepaired;

/* A repairer keeps header, plan and arrays from one codestream to the next. */
typedef struct Cj2kRtpRepairer Cj2kRtpRepairer;
Cj2kRtpRepairer *cj2k_rtp_repairer_new(void);
void cj2k_rtp_repairer_free(Cj2kRtpRepairer *repairer);

/*
 * Appends the repaired codestream to `out`. `arrived` is in the order of sending. `kept`: the bytes
 * from SOC to the first SOD of an earlier codestream, which are used if those of this one did not
 * arrive whole; NULL: there are none, or they may not be used. false: the codestream cannot be
 * repaired, because headers are missing or damaged, a later tile-part changes the coding of its
 * tile, packet headers are packed and a tile has several tile-parts, or, in PPM, a tile-part header
 * is missing, or there are too many packets.
 */
bool cj2k_rtp_repair(Cj2kRtpRepairer *repairer, Cj2kRtpArrived *arrived, uint32_t count,
                     const GByteArray *kept, GByteArray *out, Cj2kRtpRepaired *result);

/* Bytes from SOC up to and including the first SOD. 0: the data does not begin with such headers,
 * or ends inside them. */
size_t cj2k_rtp_headers_size(const uint8_t *data, size_t size);

#endif
