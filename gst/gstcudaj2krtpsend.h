/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pushes the packets of a codestream: numbers, sharing of memory, pacing and repetition. */
#ifndef GST_CUDA_J2K_RTP_SEND_H
#define GST_CUDA_J2K_RTP_SEND_H

#include "common/rtp/packetise.h"

#include <gst/rtp/gstrtpbasepayload.h>

G_BEGIN_DECLS

typedef struct {
  GstRTPBasePayload *payload; /* the element */
  gboolean has_sequence;      /* the base class has numbered a packet */
  guint8 eseq;                /* of that packet, or of the first one */
  GArray *repeats;    /* guint: packets of the codestream that are sent again at its end, rising */
  GPtrArray *again;   /* GstBuffer: those of them that were sent once */
  guint sent;         /* packets of the codestream that were pushed */
  gboolean last;      /* the list that is being pushed is the last one */
  GstClockTime leave; /* when the list leaves; NONE: its buffers have a timestamp */
} GstCudaJ2kRtpSend;

/* When the packets of a codestream leave. */
typedef struct {
  GstClockTime pts;    /* the RTP timestamp follows from it; NONE: that of the last codestream */
  GstClockTime leave;  /* the first packet */
  GstClockTime spread; /* from the first to the last packet; 0: at once */
} GstCudaJ2kRtpTimes;

/* Adds a probe to the element's source pad, which exists. */
void gst_cuda_j2k_rtp_send_init(GstCudaJ2kRtpSend *send, GstRTPBasePayload *payload);
void gst_cuda_j2k_rtp_send_clear(GstCudaJ2kRtpSend *send);
/* Begins a stream; the first value of ESEQ. */
void gst_cuda_j2k_rtp_send_start(GstCudaJ2kRtpSend *send, guint8 eseq);

/*
 * Pushes the payloads of a codestream that begins at byte `base` of `memory`. `main` is the payload
 * header of its Main packets; TP counts for all. Main packets and those of resolutions below
 * `repeats` are sent twice if that is not 0.
 */
GstFlowReturn gst_cuda_j2k_rtp_send(GstCudaJ2kRtpSend *send, GstMemory *memory, gsize base,
                                    const Cj2kRtpPayloads *payloads, const Cj2kRtpHeader *main,
                                    const GstCudaJ2kRtpTimes *times, guint repeats);

G_END_DECLS

#endif
