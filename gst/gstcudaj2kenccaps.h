/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From raw video to the caps of JPEG 2000 streams. Muxers and payloaders require different fields:
 * mpegtsmux alignment and colorimetry, rtpj2kpay sampling, mxfmux colorspace. All of them ignore
 * the others, so every field is always set.
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
  gboolean xyz_is_pq;  /* X'Y'Z' has PQ, not the power of 2.6 */
  gboolean subframe;   /* alignment=subframe: a frame may consist of several buffers */
  gboolean in_slices;  /* it does: each slice is a buffer */
  gboolean fields; /* two codestreams for each frame, one for each field, the earlier field first */
} GstCudaJ2kEncStream;

/* Caps of the source pad template (transfer full). */
GstCaps *gst_cuda_j2k_enc_template_caps(void);

/* Chooses the media type and the names of sampling and colour from what downstream allows. FALSE:
 * the profile does not allow this video, and *reason says why (transfer full). */
gboolean gst_cuda_j2k_enc_stream_init(GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      const GstCaps *allowed, gchar **reason);

/* Chooses whether slices leave in buffers of their own, from the caps of downstream (ANY: it takes
 * whole frames). Downstream has to name alignment=subframe: elements that know nothing of it accept
 * caps with any further fields. `slices`: the encoder codes slices. */
void gst_cuda_j2k_enc_choose_alignment(GstCudaJ2kEncStream *stream, const GstCaps *theirs,
                                       gboolean slices);

/* The caps of codestreams with this Rsiz, without the fields that the base class fills in (transfer
 * full). */
GstCaps *gst_cuda_j2k_enc_stream_caps(const GstCudaJ2kEncStream *stream,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      guint16 rsiz);

/* Describes a frame or a field for the library. The image points to `components`. */
void gst_cuda_j2k_enc_image(const GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                            const GstCudaJ2kFormat *format, Cj2kComponent components[4],
                            Cj2kEncoderImage *image);

G_END_DECLS

#endif
