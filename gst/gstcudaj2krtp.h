/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements rtpj2ksclpay and rtpj2kscldepay; built where gstreamer-rtp-1.0 is installed. */
#ifndef GST_CUDA_J2K_RTP_H
#define GST_CUDA_J2K_RTP_H

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_CUDA_J2K_RTP_CAPS                                                                      \
  "application/x-rtp, media = (string) video, clock-rate = (int) 90000, "                          \
  "encoding-name = (string) JPEG2000-SCL"

GType gst_cuda_j2k_rtp_pay_get_type(void);
GType gst_cuda_j2k_rtp_depay_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(rtpj2ksclpay)
GST_ELEMENT_REGISTER_DECLARE(rtpj2kscldepay)

G_END_DECLS

#endif
