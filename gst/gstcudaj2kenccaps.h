/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From raw video to the caps of JPEG 2000 streams. Muxers and payloaders differ in what they insist
 * on: mpegtsmux wants alignment and colorimetry, rtpj2kpay sampling, mxfmux colorspace, and none
 * asks for what it does not need, so everything is always set.
 */
#ifndef GST_CUDA_J2K_ENC_CAPS_H
#define GST_CUDA_J2K_ENC_CAPS_H

#include "gstcudaj2kformats.h"

G_BEGIN_DECLS

typedef enum {
  GST_CUDA_J2K_JPC, /* image/x-jpc: the codestream alone */
  GST_CUDA_J2K_J2C, /* image/x-j2c: in a jp2c box */
  GST_CUDA_J2K_JP2, /* image/jp2: a JP2 or JPH file */
} GstCudaJ2kMedia;

/* How a format is coded. */
typedef struct {
  GstCudaJ2kMedia media;
  const gchar *sampling, *colorspace;
  Cj2kColour colour;
  gboolean rgb_to_xyz; /* cinema: the library converts */
  gboolean fields;     /* two codestreams a frame, one a field, the first in time first */
} GstCudaJ2kEncStream;

/* Caps of the source pad template (transfer full). */
GstCaps *gst_cuda_j2k_enc_template_caps(void);

/* Chooses media type and names among what downstream allows. FALSE: this video cannot be coded with
 * the profile, and *reason says why (transfer full). */
gboolean gst_cuda_j2k_enc_stream_init(GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      const GstCaps *allowed, gchar **reason);

/* The caps of codestreams with this Rsiz, but for what the base class fills in (transfer full). */
GstCaps *gst_cuda_j2k_enc_stream_caps(const GstCudaJ2kEncStream *stream,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      guint16 rsiz);

/* The image of a frame, or of a field. components has room for 4, and the image points to it. */
void gst_cuda_j2k_enc_image(const GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                            const GstCudaJ2kFormat *format, Cj2kComponent components[4],
                            Cj2kEncoderImage *image);

G_END_DECLS

#endif
