/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a legal codestream from what arrived of one. Packets (T.800 B.9) that arrived whole are
 * kept, missing and broken ones become empty packets. After a gap the place in the progression is
 * found again at resync points (RFC 9828, ORDB and PID), at SOP marker segments, and at the headers
 * of tile-parts. Each tile becomes one tile-part; TLM, PLM and PLT, which would be wrong, are left
 * out.
 */
#ifndef CJ2K_RTP_REPAIR_H
#define CJ2K_RTP_REPAIR_H

#include "payload_header.h"

#include <glib.h>

/* A payload that arrived. */
typedef struct {
  const uint8_t *data; /* codestream bytes */
  uint32_t size;       /* 0: the payload was left out on purpose */
  bool gap;            /* payloads in front of it are missing */
  bool used;           /* result: some of its bytes are in the output */
  Cj2kRtpHeader header;
} Cj2kRtpArrived;

typedef struct {
  uint64_t packets; /* of the codestream */
  uint64_t filled;  /* of these, replaced by empty ones */
} Cj2kRtpRepaired;

/* Keeps header, plan and arrays from codestream to codestream. */
typedef struct Cj2kRtpRepairer Cj2kRtpRepairer;
Cj2kRtpRepairer *cj2k_rtp_repairer_new(void);
void cj2k_rtp_repairer_free(Cj2kRtpRepairer *repairer);

/*
 * Appends the repaired codestream to `out`. `arrived` is in the order of sending. `kept`: the bytes
 * from SOC to the first SOD of an earlier codestream, which are used if those of this one did not
 * arrive whole; NULL: there are none, or they may not be used. false: nothing can be made of it,
 * because headers are missing or damaged, or because packet headers are packed (PPM, PPT).
 */
bool cj2k_rtp_repair(Cj2kRtpRepairer *repairer, Cj2kRtpArrived *arrived, uint32_t count,
                     const GByteArray *kept, GByteArray *out, Cj2kRtpRepaired *result);

/* Bytes from SOC up to and including the first SOD. 0: the data does not begin with such headers,
 * or ends inside them. */
size_t cj2k_rtp_headers_size(const uint8_t *data, size_t size);

#endif
