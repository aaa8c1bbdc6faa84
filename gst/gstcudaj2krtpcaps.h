/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conversion between caps of codestreams (image/x-jpc), the payload header of RFC 9828, and the
 * parameters of its media type (10), which caps of application/x-rtp carry and SDP repeats.
 */
#ifndef GST_CUDA_J2K_RTP_CAPS_H
#define GST_CUDA_J2K_RTP_CAPS_H

#include "common/rtp/image.h"
#include "common/rtp/payload_header.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Sets `has_colours` and what follows it from colorimetry and sampling of the codestream's caps; S
 * stays 0 if they are not known. */
void gst_cuda_j2k_rtp_set_colours(const GstStructure *caps, const Cj2kRtpImage *image,
                                  Cj2kRtpHeader *header);

/* The parameters pixel, sample, width, height and signal, as far as they have values for this
 * stream, and the attribute framerate of SDP if fps_n is not 0. `part` is TP of its first
 * codestream (transfer full). */
GstStructure *gst_cuda_j2k_rtp_parameters(const Cj2kRtpImage *image, const Cj2kRtpHeader *header,
                                          guint8 part, gint fps_n, gint fps_d);

/* Caps of the codestreams that a receiver hands out (transfer full). `header` is that of the Main
 * packets; `rtp` are the caps of the RTP packets, which help if the header has no colours. */
GstCaps *gst_cuda_j2k_rtp_stream_caps(const Cj2kRtpImage *image, const Cj2kRtpHeader *header,
                                      guint8 part, const GstStructure *rtp);

static inline gboolean gst_cuda_j2k_rtp_is_frame(guint8 part)
{
  return part == CJ2K_RTP_FRAME;
}
/* The first of the two codestreams of a picture. */
static inline gboolean gst_cuda_j2k_rtp_is_first(guint8 part)
{
  return part % 2 == 1;
}

G_END_DECLS

#endif
