/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conversion between caps of codestreams (image/x-jpc), the payload header of RFC 9828, and the
 * parameters of its media type (section 10), which are fields of application/x-rtp caps and of SDP.
 */
#ifndef GST_CUDA_J2K_RTP_CAPS_H
#define GST_CUDA_J2K_RTP_CAPS_H

#include "common/rtp/image.h"
#include "common/rtp/payload_header.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Sets `has_colours` (S) and the colour fields from `colorimetry` and `sampling` of the
 * codestream's caps. Leaves S at 0 if the colours are not known. */
void gst_cuda_j2k_rtp_set_colours(const GstStructure *caps, const Cj2kRtpImage *image,
                                  Cj2kRtpHeader *header);

/* The parameters pixel, sample, width, height and signal, as far as RFC 9828 has values for this
 * stream, and the SDP attribute framerate if fps_n is not 0 (transfer full). `part` is TP of the
 * first codestream of a picture. */
GstStructure *gst_cuda_j2k_rtp_parameters(const Cj2kRtpImage *image, const Cj2kRtpHeader *header,
                                          guint8 part, gint fps_n, gint fps_d);

/* Caps of the codestreams that a receiver hands out (transfer full). `header` is the payload header
 * of the Main packets; `part` is TP of the first codestream of a picture. `rtp` are the caps of the
 * RTP packets: they give the frame rate, and the colours if the header has none. May be NULL.
 * `subframe` is the alignment. */
GstCaps *gst_cuda_j2k_rtp_stream_caps(const Cj2kRtpImage *image, const Cj2kRtpHeader *header,
                                      guint8 part, gboolean subframe, const GstStructure *rtp);

static inline gboolean gst_cuda_j2k_rtp_is_frame(guint8 part)
{
  return part == CJ2K_RTP_FRAME;
}
/* Whether this is the first of the two codestreams of a picture. */
static inline gboolean gst_cuda_j2k_rtp_is_first(guint8 part)
{
  return part % 2 == 1;
}

G_END_DECLS

#endif
