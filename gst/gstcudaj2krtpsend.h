/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes RTP packets from the payloads of a codestream, without copying its bytes, and pushes them:
 * sequence numbers, pacing and repetition. */
#ifndef GST_CUDA_J2K_RTP_SEND_H
#define GST_CUDA_J2K_RTP_SEND_H

#include "common/rtp/packetise.h"

#include <gst/rtp/gstrtpbasepayload.h>

G_BEGIN_DECLS

typedef struct {
  GstRTPBasePayload *payload; /* the element */
  gboolean has_sequence;      /* the base class has numbered a packet of this stream */
  guint8 eseq;                /* of the last packet; without one, of the first packet to come */
  GArray *repeats;  /* guint, rising: which of the payloads are repeated at the codestream's end */
  guint repeated;   /* number of them that were pushed */
  GPtrArray *again; /* GstBuffer: packets of the codestream to be repeated that were sent once */
  guint sent;       /* number of the payloads that were pushed */
  gboolean last;    /* the list that is being pushed is the codestream's last one */
  GstClockTime leave; /* when the list leaves; NONE: its buffers keep their timestamps */
} GstCudaJ2kRtpSend;

/* When the packets of a codestream leave. */
typedef struct {
  GstClockTime pts;    /* gives the RTP timestamp; NONE: that of the previous codestream is used */
  GstClockTime leave;  /* when the first packet leaves; NONE: packets are not paced */
  GstClockTime spread; /* time from the first to the last packet; 0: all leave at once */
} GstCudaJ2kRtpTimes;

/* Initialises *send, and adds a probe to the element's source pad. */
void gst_cuda_j2k_rtp_send_init(GstCudaJ2kRtpSend *send, GstRTPBasePayload *payload);
void gst_cuda_j2k_rtp_send_clear(GstCudaJ2kRtpSend *send);
/* Begins a stream whose first packet has this ESEQ. */
void gst_cuda_j2k_rtp_send_start(GstCudaJ2kRtpSend *send, guint8 eseq);

/* Which of a codestream's payloads are pushed: the first ones, the last ones, or both. */
enum { GST_CUDA_J2K_RTP_FIRST = 1, GST_CUDA_J2K_RTP_LAST = 2 };

/*
 * Pushes payloads of a codestream that begins at byte `base` of `memory`, `which` of them. With
 * payloads from the middle of a codestream `base` may wrap around below 0. `main` is the payload
 * header of its Main packets; Body packets take only TP from it. If `repeats` is not 0, Main
 * packets and those of resolutions below `repeats` are sent twice.
 */
GstFlowReturn gst_cuda_j2k_rtp_send(GstCudaJ2kRtpSend *send, GstMemory *memory, gsize base,
                                    const Cj2kRtpPayloads *payloads, const Cj2kRtpHeader *main,
                                    const GstCudaJ2kRtpTimes *times, guint repeats, guint which);

G_END_DECLS

#endif
