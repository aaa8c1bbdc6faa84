/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A receiver turns RTP packets into codestreams: it orders packets by their sequence number of 24
 * bits, collects those of each codestream, and repairs codestreams of which packets are missing.
 *
 * A codestream is handed out as soon as all its packets have arrived. One with gaps is handed out
 * when its last packet has arrived and the gaps are more than `window` packets back, when more than
 * `window` packets of later codestreams have arrived, when the missing packets are known to be
 * lost, or when `deadline` has passed since its end.
 */
#ifndef CJ2K_RTP_RECEIVE_H
#define CJ2K_RTP_RECEIVE_H

#include "repair.h"

typedef struct {
  uint64_t received; /* all packets: the sum of the next seven */
  uint64_t used;     /* in a codestream that was handed out */
  uint64_t unused;   /* padding, or of no use because packets around them are missing */
  uint64_t left_out; /* by max_resolution and max_layers */
  uint64_t late;     /* came after their codestream was handed out, or numbered far off */
  uint64_t duplicates;
  uint64_t malformed; /* no header, or a reserved value in it */
  uint64_t waiting;   /* in codestreams that have not been handed out yet */
  uint64_t lost;      /* numbers between the first and the last packet that have not arrived */
  uint64_t intact;    /* codestreams: handed out as they were sent */
  uint64_t repaired;  /* handed out with empty packets in place of missing ones */
  uint64_t reduced;   /* handed out without the packets left out, and with nothing else missing */
  uint64_t failed;    /* not handed out, because their headers are missing or unusable */
  uint64_t filled;    /* empty packets (T.800 B.9) in repaired codestreams */
  uint64_t restarts;  /* times that the sender began to number anew */
} Cj2kRtpStats;

typedef struct {
  uint8_t *data; /* g_free */
  size_t size;
  uint32_t timestamp;
  uint64_t time;      /* pushed with the packet of it that arrived first; not UINT64_MAX if any
                         packet had another */
  uint8_t part;       /* TP */
  bool repaired;      /* something is missing */
  size_t given;       /* bytes that cj2k_rtp_receiver_pull_begin handed out before */
  Cj2kRtpHeader main; /* payload header of its Main packets */
} Cj2kRtpCodestream;

/* Bytes of a codestream that has not been handed out yet. */
typedef struct {
  const uint8_t *data; /* from the beginning of the codestream; valid until the next call */
  size_t size;
  size_t given; /* of them were handed out before */
  uint32_t timestamp;
  uint64_t time;
  uint8_t part; /* TP */
  Cj2kRtpHeader main;
} Cj2kRtpBegin;

typedef struct {
  uint32_t window;        /* packets to wait for behind missing ones; 0: none */
  uint64_t deadline;      /* longest wait for missing packets, as time of `advance`; 0: no limit */
  uint8_t max_resolution; /* highest RES of packets to keep; 7: all */
  uint8_t max_layers;     /* layers to keep; 0: all */
} Cj2kRtpReceiverParams;

typedef struct Cj2kRtpReceiver Cj2kRtpReceiver;
Cj2kRtpReceiver *cj2k_rtp_receiver_new(const Cj2kRtpReceiverParams *params);
void cj2k_rtp_receiver_free(Cj2kRtpReceiver *receiver);
void cj2k_rtp_receiver_set_params(Cj2kRtpReceiver *receiver, const Cj2kRtpReceiverParams *params);

/* Takes a packet: sequence number, timestamp and marker of its RTP header, and the payload, which
 * is copied. `time` is handed out with the codestream. */
void cj2k_rtp_receiver_push(Cj2kRtpReceiver *receiver, uint16_t sequence, uint32_t timestamp,
                            bool marker, const uint8_t *payload, size_t size, uint64_t time);
/*
 * Tells the time, in any unit. Where it goes back it counts on from there. Call it before packets
 * are pushed, and when cj2k_rtp_receiver_due is reached. A receiver that is never told the time has
 * no deadline.
 */
void cj2k_rtp_receiver_advance(Cj2kRtpReceiver *receiver, uint64_t now);
/* The time, as it was told last, at which the first codestream is handed out even if no more
 * packets arrive; UINT64_MAX: it is not limited. The wait for missing packets begins with the
 * codestream's last packet or with one of a later codestream. If neither arrives, it begins with
 * the last one that did, but not before the time has passed in which the codestream before was
 * sent. */
uint64_t cj2k_rtp_receiver_due(const Cj2kRtpReceiver *receiver);
/* Tells that the packet with this sequence number, and those before it, will not arrive if they
 * have not arrived yet. */
void cj2k_rtp_receiver_settle(Cj2kRtpReceiver *receiver, uint16_t sequence);
/* Hands out the next codestream. false: none is ready. Call it after each push until it returns
 * false. */
bool cj2k_rtp_receiver_pull(Cj2kRtpReceiver *receiver, Cj2kRtpCodestream *codestream);
/*
 * Hands out the beginning of the codestream that is next, up to the last precinct that is marked,
 * as far as no packet is missing. false: there is nothing new. What is handed out here stays the
 * beginning of the codestream, whatever is lost behind it; if the codestream fails, it is not
 * handed out any further. Only codestreams with marked precincts and Psot = 0 have a beginning:
 * where the sender knew the length of the tile-part, a repair would change it.
 */
bool cj2k_rtp_receiver_pull_begin(Cj2kRtpReceiver *receiver, Cj2kRtpBegin *begin);
/* Tells what pull_begin would hand out. */
bool cj2k_rtp_receiver_peek_begin(Cj2kRtpReceiver *receiver, Cj2kRtpBegin *begin);
/* Ends the wait for missing packets: pull then hands out all codestreams that have begun. */
void cj2k_rtp_receiver_end(Cj2kRtpReceiver *receiver);
/* Discards all packets and begins anew, as if none had come; keeps the statistics. */
void cj2k_rtp_receiver_flush(Cj2kRtpReceiver *receiver);
void cj2k_rtp_receiver_stats(const Cj2kRtpReceiver *receiver, Cj2kRtpStats *stats);

#endif
