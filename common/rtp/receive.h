/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From RTP packets to codestreams: orders packets by their sequence number of 24 bits, collects
 * those of a codestream, and repairs codestreams of which packets are missing.
 *
 * A codestream is handed out when all its packets have arrived, and otherwise when a number of
 * packets behind the missing ones have, and its last one.
 */
#ifndef CJ2K_RTP_RECEIVE_H
#define CJ2K_RTP_RECEIVE_H

#include "repair.h"

typedef struct {
  uint64_t received; /* packets, all of them: the sum of the next seven */
  uint64_t used;     /* in a codestream that was handed out */
  uint64_t unused;   /* of no use: what surrounds them is missing, or padding */
  uint64_t left_out; /* by max_resolution and max_layers */
  uint64_t late;     /* after their codestream was handed out, or before the first one */
  uint64_t duplicates;
  uint64_t malformed; /* no header, or a reserved value in it */
  uint64_t waiting;   /* in codestreams that have not been handed out yet */
  uint64_t lost;      /* numbers between the first and the last for which none has arrived */
  uint64_t intact;    /* codestreams: handed out as they were sent */
  uint64_t repaired;  /* handed out with empty packets in place of missing ones */
  uint64_t reduced;   /* handed out without what was left out, and with nothing missing */
  uint64_t failed;    /* of no use: their headers are missing */
  uint64_t filled;    /* packets (T.800 B.9) of repaired codestreams that are empty now */
  uint64_t restarts;  /* of the numbers */
} Cj2kRtpStats;

typedef struct {
  uint8_t *data; /* g_free */
  size_t size;
  uint32_t timestamp;
  uint64_t time;      /* of its first packet to arrive, as pushed */
  uint8_t part;       /* TP */
  bool repaired;      /* something is missing */
  Cj2kRtpHeader main; /* payload header of its Main packets */
} Cj2kRtpCodestream;

typedef struct {
  uint32_t window;        /* packets of later codestreams to wait for, 0: none */
  uint8_t max_resolution; /* RES of packets to keep; 7: all */
  uint8_t max_layers;     /* packets of layers from this number on are left out; 0: none */
} Cj2kRtpReceiverParams;

typedef struct Cj2kRtpReceiver Cj2kRtpReceiver;
Cj2kRtpReceiver *cj2k_rtp_receiver_new(const Cj2kRtpReceiverParams *params);
void cj2k_rtp_receiver_free(Cj2kRtpReceiver *receiver);
void cj2k_rtp_receiver_set_params(Cj2kRtpReceiver *receiver, const Cj2kRtpReceiverParams *params);

/* Takes a packet: sequence number, timestamp and marker of its RTP header, and the payload, which
 * is copied. `time` is handed out with the codestream. */
void cj2k_rtp_receiver_push(Cj2kRtpReceiver *receiver, uint16_t sequence, uint32_t timestamp,
                            bool marker, const uint8_t *payload, size_t size, uint64_t time);
/* The next codestream. false: there is none yet. Call it until then after each push. */
bool cj2k_rtp_receiver_pull(Cj2kRtpReceiver *receiver, Cj2kRtpCodestream *codestream);
/* No more packets will come for the codestreams that have begun: pull hands them out. */
void cj2k_rtp_receiver_end(Cj2kRtpReceiver *receiver);
/* Forgets all packets, and that any came; keeps the statistics. */
void cj2k_rtp_receiver_flush(Cj2kRtpReceiver *receiver);
void cj2k_rtp_receiver_stats(const Cj2kRtpReceiver *receiver, Cj2kRtpStats *stats);

#endif
