/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds what a sender has to know of a codestream: where its headers end, and the position of each
 * packet (T.800 B.9). The positions come from PLT marker segments if every tile-part has them,
 * their lengths add up, and no tile-part is missing; otherwise from the packet headers.
 */
#ifndef CJ2K_RTP_LOCATE_H
#define CJ2K_RTP_LOCATE_H

#include "common/codestream/coded.h"
#include "payload_header.h"

#include <glib.h>

/* A packet. */
typedef struct {
  uint64_t offset;   /* of the first byte, which is that of SOP if there is one */
  uint32_t size;     /* below 2^32, because Psot has 32 bits */
  uint32_t precinct; /* PID; larger than CJ2K_RTP_MAX_PID: none can be given */
  uint16_t layer;
  uint8_t resolution; /* RES */
  uint8_t r;          /* resolution, 0 is the lowest */
  uint8_t header;     /* offset of the packet header in the packet: 0, or 6 after SOP */
} Cj2kRtpUnit;

typedef struct {
  uint64_t header_bytes;    /* from SOC up to and including the first SOD */
  uint64_t end;             /* of the codestream: one past EOC */
  uint8_t order;            /* ORDH: the progression, if there is one tile and every packet was
                               found and has a PID; otherwise unmarked */
  const Cj2kRtpUnit *units; /* in the order of their bytes; none if they could not be found */
  uint32_t num_units;
  const Cj2kHeader *header;
  uint64_t total_units; /* packets of the whole codestream; 0: they are `units` */
  /* Of a codestream that comes in parts: */
  bool more;        /* bytes behind `end` are to come, and units with them */
  bool has_next;    /* what the next unit will be is known, which is: */
  Cj2kRtpUnit next; /* without size; offset = `end` if it directly follows the last unit */
} Cj2kRtpMap;

/* A locator keeps header, plan and arrays from one codestream to the next, so that nothing is
 * allocated in steady state. */
typedef struct Cj2kRtpLocator Cj2kRtpLocator;
Cj2kRtpLocator *cj2k_rtp_locator_new(void);
void cj2k_rtp_locator_free(Cj2kRtpLocator *locator);

/* Fills *map, which is valid until the next call. A codestream without EOC is an error; one whose
 * packets cannot be found has no units. */
Cj2kStatus cj2k_rtp_locate(Cj2kRtpLocator *locator, const uint8_t *data, size_t size,
                           Cj2kRtpMap *map, Cj2kError *error);

/* Whether the packets of the last codestream were found by PLT. */
bool cj2k_rtp_locator_used_plt(const Cj2kRtpLocator *locator);

/* Limit of memory for a codestream of `size` bytes, as cj2k_plan_new counts it: that of a decoder
 * by default, so that a short codestream of very many tiles or precincts does not take all memory.
 */
uint64_t cj2k_rtp_max_memory(size_t size);
/* Begins the limit of precincts and code-blocks that the calling thread makes and looks at for a
 * codestream of `size` bytes, less those that it has before; cj2k_deadline_end() ends it. */
void cj2k_rtp_limit_items(size_t size, uint64_t before);
/* Whether all tile-components have equally many decomposition levels. */
bool cj2k_rtp_same_levels(const Cj2kPlan *plan);
/* A packet at this place, except for `header`. */
Cj2kRtpUnit cj2k_rtp_unit(const Cj2kPlan *plan, bool same_levels, const Cj2kPacketId *packet,
                          uint64_t offset, uint64_t size);
/* PID of a precinct of tile 0 (RFC 9828, 5.4; T.808 A.3.2.1). */
uint64_t cj2k_rtp_precinct_id(const Cj2kPlan *plan, const Cj2kPacketId *packet);

/* Appends to `signature` the parts of the headers that must be equal in all codestreams of a stream
 * that announces header reuse (R): all marker segments up to the first SOD except SOT, COM, TLM,
 * PLM and PLT. false: the data does not begin with SOC, or ends before SOD. */
bool cj2k_rtp_header_signature(const uint8_t *data, size_t size, GByteArray *signature);

#endif
