/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts the sequence numbers of RTP packets, of 24 bits with ESEQ (RFC 9828), without wrapping;
 * remembers which of them have arrived, and finds out when a sender begins to number anew.
 */
#ifndef CJ2K_RTP_SEQUENCE_H
#define CJ2K_RTP_SEQUENCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define CJ2K_RTP_SEEN (1u << 16) /* numbers whose arrival is remembered */

typedef struct {
  bool running;         /* a packet has arrived: the numbers below are valid */
  int64_t highest;      /* highest number so far */
  int64_t base;         /* number of the packet at which counting began */
  int64_t settled;      /* missing numbers up to this one will not arrive any more */
  uint32_t raw_highest; /* `highest` as sent, in 24 bits */
  uint32_t jump;        /* 1 + number, as sent, of a packet far from the others; 0: none */
  uint32_t suspects;    /* strange packets in succession; see cj2k_rtp_sequence_suspect */
  uint64_t lost;        /* numbers between base and highest that have not arrived */
  uint64_t restarts;    /* times that counting began anew because of the numbers */
  uint8_t seen[CJ2K_RTP_SEEN / 8];
} Cj2kRtpSequence;

/* Begins anew, as if no packet had arrived. Later numbers are higher than all before, and `lost`
 * and `restarts` go on. */
void cj2k_rtp_sequence_reset(Cj2kRtpSequence *sequence);

/*
 * The number of a packet sent as `raw` (24 bits). -1: the packet is to be dropped. A packet far
 * from the others is dropped, unless it directly follows another such packet: then the sender has
 * restarted, and *restarted is set. *first: no packet with this number has arrived before. Packets
 * so far behind that their arrival is not remembered count as first.
 */
int64_t cj2k_rtp_sequence_take(Cj2kRtpSequence *sequence, uint32_t raw, bool *first,
                               bool *restarted);

/*
 * Notes that the packet sent as `raw`, which is too late or came before, belongs to a codestream
 * that is not known. Returns its number if there were so many of these in succession that the
 * sender must have restarted not far behind the numbers it had reached; otherwise -1.
 */
int64_t cj2k_rtp_sequence_suspect(Cj2kRtpSequence *sequence, uint32_t raw);

/* Whether a packet with this number, one of the last CJ2K_RTP_SEEN, has arrived. */
bool cj2k_rtp_sequence_seen(const Cj2kRtpSequence *sequence, int64_t number);

/* Notes that the packet with these 16 bits of its number, and those before it, will not arrive if
 * they have not arrived yet. */
void cj2k_rtp_sequence_settle(Cj2kRtpSequence *sequence, uint16_t low);

#endif
