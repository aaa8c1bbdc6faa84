/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the packets of a codestream whose bytes come in parts, as soon as they are there, so that a
 * sender can send them before the rest has come. The payloads are those that the whole codestream
 * would be divided into.
 */
#ifndef CJ2K_RTP_LOCATE_PARTS_H
#define CJ2K_RTP_LOCATE_PARTS_H

#include "locate.h"

typedef enum {
  CJ2K_RTP_PARTS_MORE,  /* the headers are not complete */
  CJ2K_RTP_PARTS_READY, /* *map was filled in */
  CJ2K_RTP_PARTS_WHOLE, /* nothing can be sent before all bytes are there */
} Cj2kRtpPartsState;

typedef struct Cj2kRtpPartsLocator Cj2kRtpPartsLocator;
Cj2kRtpPartsLocator *cj2k_rtp_parts_locator_new(void);
void cj2k_rtp_parts_locator_free(Cj2kRtpPartsLocator *locator);

/* Begins a codestream. */
void cj2k_rtp_parts_begin(Cj2kRtpPartsLocator *locator);
/*
 * Goes on in data[0..size), which begins with the bytes that it had before; with `last` no more
 * will come. *map has all packets that are complete, and map->end is the end of the last of them,
 * or that of the codestream. It is valid until the next call. If a packet is broken, or the header
 * of a later tile-part changes how packets are read, the bytes from there on come with the end of
 * the codestream, and without units.
 *
 * WHOLE is the answer for streams with packed packet headers, and for those with a change of the
 * progression order that the main header and the first tile-part header do not describe to its end.
 * READY is never followed by WHOLE.
 */
Cj2kRtpPartsState cj2k_rtp_parts_locate(Cj2kRtpPartsLocator *locator, const uint8_t *data,
                                        size_t size, bool last, Cj2kRtpMap *map);
/* Where the codestream ends, if it has all packets in data[0..size), which was the data of the last
 * call; 0: that is not known, perhaps because EOC does not follow them. */
uint64_t cj2k_rtp_parts_end(const Cj2kRtpPartsLocator *locator, const uint8_t *data, size_t size);

#endif
