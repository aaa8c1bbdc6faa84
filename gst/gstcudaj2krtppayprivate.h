/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The payloader's parts. Class, properties, caps and whole frames are in gstcudaj2krtppay.c, frames
 * that arrive in several buffers in gstcudaj2krtppayparts.c. All of it runs on the streaming
 * thread.
 */
#ifndef GST_CUDA_J2K_RTP_PAY_PRIVATE_H
#define GST_CUDA_J2K_RTP_PAY_PRIVATE_H

#include "gstcudaj2kframing.h"
#include "gstcudaj2krtpcaps.h"
#include "gstcudaj2krtpsend.h"

#include "common/rtp/locate_parts.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_j2k_rtp_pay_debug);
#define GST_CAT_DEFAULT gst_cuda_j2k_rtp_pay_debug

/* A frame of which further buffers are to come (alignment=subframe). */
typedef struct {
  GstBuffer *first; /* its first buffer; NULL: no frame is unfinished */
  GByteArray *bytes;
  gboolean collects; /* it is sent when it is complete */
  gboolean drops;    /* the rest is not sent */
  guint room;        /* bytes of a codestream that fit into an RTP packet */
  gboolean unmarked; /* mark-precincts was not set when the frame began */
  guint8 part;       /* TP of the first codestream */
  /* The codestream that is being sent: */
  guint index; /* in the frame: 0, or 1 for the second field */
  gsize begin; /* in `bytes` */
  Cj2kRtpPartsLocator *locator;
  Cj2kRtpCursor cursor; /* how far it was sent */
  Cj2kRtpHeader main;   /* of its Main packets */
  GstClockTime paced;   /* with pacing: of its time, what the packets that were sent take */
} GstCudaJ2kRtpPayUnfinished;

typedef struct {
  GstRTPBasePayload parent;

  /* Properties, guarded by the object lock. */
  gboolean mark_precincts, header_reuse;
  gint eseq_offset; /* -1: random */
  guint repeat_resolutions;
  gdouble pacing;       /* multiple of the mean rate; 0: none */
  guint constant_bytes; /* of a buffer, with padding; 0: as they come */

  /* Streaming thread only. */
  GstStructure *caps; /* of the sink pad */
  GstVideoInfo info;  /* interlacing and frame rate of the caps */
  guint fields;       /* codestreams per buffer, from the caps */
  gboolean announced; /* the source pad's caps are set, from the next two */
  Cj2kRtpImage image;
  guint8 part;        /* TP of a buffer's first codestream */
  Cj2kRtpHeader main; /* the fields that are the same in all Main packets of the stream */
  Cj2kRtpLocator *locator;
  Cj2kRtpPayloads payloads;
  GByteArray *signature, *signature_before; /* of the headers that R announces to be the same */
  gboolean headers_differ;
  gboolean warned, warned_size, warned_more;
  GstCudaJ2kRtpSend sender;
  gboolean in_parts; /* alignment=subframe: a frame may consist of several buffers */
  GstCudaJ2kRtpPayUnfinished unfinished;
  guint64 last_size; /* of the last codestream that was sent in parts; 0: there was none */
} GstCudaJ2kRtpPay;

#define GST_CUDA_J2K_RTP_PAY(object) ((GstCudaJ2kRtpPay *)(object))

/* gstcudaj2krtppay.c */

/* Says once that a codestream cannot be sent. */
void gst_cuda_j2k_rtp_pay_warn(GstCudaJ2kRtpPay *self, const gchar *text);
/* TP of the first of `count` codestreams of a buffer. */
guint8 gst_cuda_j2k_rtp_pay_first_part(const GstCudaJ2kRtpPay *self, const GstBuffer *buffer,
                                       guint count);
/* Sets the caps of the source pad for this image unless they are set already. */
gboolean gst_cuda_j2k_rtp_pay_announce(GstCudaJ2kRtpPay *self, const Cj2kRtpImage *image,
                                       guint8 part);
/* Whether R may be announced: the user wants it, and all headers so far were the same, both those
 * of the codestreams and the payload headers. */
gboolean gst_cuda_j2k_rtp_pay_may_reuse(GstCudaJ2kRtpPay *self, const guint8 *data, gsize size,
                                        const Cj2kRtpHeader *main);
/* Pads a codestream of `size` bytes, one of the `count` of a buffer, to its share of
 * constant-bytes. */
void gst_cuda_j2k_rtp_pay_pad(GstCudaJ2kRtpPay *self, guint64 size, guint count, guint room);
/* Bytes of a codestream that fit into an RTP packet. */
guint gst_cuda_j2k_rtp_pay_room(const GstCudaJ2kRtpPay *self);
/* The RTP timestamp and sending times of codestream i of the `count` codestreams of a buffer. */
GstCudaJ2kRtpTimes gst_cuda_j2k_rtp_pay_times(GstCudaJ2kRtpPay *self, const GstBuffer *buffer,
                                              guint i, guint count, gboolean psf);
/* Sends a whole frame. Takes the buffer. `first`: of its two codestreams, that to begin with. */
GstFlowReturn gst_cuda_j2k_rtp_pay_send_buffer(GstCudaJ2kRtpPay *self, GstBuffer *buffer,
                                               guint first);

/* gstcudaj2krtppayparts.c */

void gst_cuda_j2k_rtp_pay_drop_unfinished(GstCudaJ2kRtpPay *self);
/* Takes a buffer of a frame that arrives in several. */
GstFlowReturn gst_cuda_j2k_rtp_pay_add_part(GstCudaJ2kRtpPay *self, GstBuffer *buffer);

G_END_DECLS

#endif
