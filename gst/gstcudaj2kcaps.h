/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conversion between caps of JPEG 2000 streams, images of the library, and raw video.
 *
 * A codestream does not say which colours its three components are. The first of these that applies
 * decides:
 *   1. sub-sampled chroma: Y'CbCr, whatever the caps say (demuxers guess);
 *   2. a cinema Rsiz (T.800 table A.10): X'Y'Z', unless the caps' colorimetry names other
 * primaries;
 *   3. `sampling` of the caps, then `colorspace`;
 *   4. the colr box of a JP2 file;
 *   5. a component transform that is on: RGB;
 *   6. otherwise RGB, which jpeg2000parse assumes, too.
 */
#ifndef GST_CUDA_J2K_CAPS_H
#define GST_CUDA_J2K_CAPS_H

#include "gstcudaj2kformats.h"

G_BEGIN_DECLS

/* The properties of an image that negotiation depends on. Compared with memcmp, so it is cleared
 * before it is filled in. */
typedef struct {
  guint width, height; /* of the first colour component */
  guint full_height;   /* without reduction: the default colorimetry depends on it */
  GstCudaJ2kFamily family;
  guint8 sub_x, sub_y;
  guint8 depth; /* of the deepest colour component */
  gboolean has_alpha;
  gboolean premultiplied; /* the colours have been multiplied by alpha */
  gboolean is_xyz;        /* RGB formats carry X'Y'Z' */
  gboolean is_full_range; /* sYCC of a JP2 file */
  /* By the code points of a JP2 or JPH file; GST_VIDEO_COLOR_RANGE_UNKNOWN: it has none. */
  GstVideoColorimetry colorimetry;
  guint8 num_components;   /* of the image, 1..4 */
  guint8 role[4];          /* index of each component in GstCudaJ2kFormat.samples */
  gboolean chroma_clipped; /* odd offsets: one chroma row or column less than video has */
} GstCudaJ2kVideo;

/* Describes an image as video. `caps` are those of the sink pad, or NULL. FALSE: no video format
 * can carry the image, and *reason says why (transfer full). */
gboolean gst_cuda_j2k_video_from_image(const Cj2kImage *image, const GstCaps *caps,
                                       GstCudaJ2kVideo *video, gchar **reason);

/* A text for messages, such as "4:2:2 Y'CbCr, 10 bit, 1920x1080" (transfer full). */
gchar *gst_cuda_j2k_video_describe(const GstCudaJ2kVideo *video);

/*
 * The best format of the table among those that `allowed` has in system memory (or, if not NULL,
 * with the caps feature `feature`). Family and sub-sampling must be those of the image; then, in
 * this order, no bits lost, alpha kept, no bits added, no alpha added, the table's order. NULL if
 * there is none.
 */
const GstCudaJ2kFormat *gst_cuda_j2k_video_choose(const GstCudaJ2kVideo *video,
                                                  const GstCaps *allowed, const gchar *feature);

/* How much a format differs from the image; the smallest cost is best. */
guint gst_cuda_j2k_video_cost(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format);

/* The layout for decoding such an image into a buffer of `format`. It points to `samples`. */
void gst_cuda_j2k_video_layout(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format,
                               Cj2kSampleLayout samples[4], Cj2kLayout *layout);

/* Whether downstream with these caps takes image/x-jpc with alignment=subframe, in which a frame
 * may consist of several buffers. It has to name it: elements that know nothing of it accept caps
 * with any further fields. */
gboolean gst_cuda_j2k_caps_take_subframes(const GstCaps *theirs);
/* Whether it takes whole frames. */
gboolean gst_cuda_j2k_caps_take_frames(const GstCaps *theirs);

/* Sets the colorimetry of `info`: that of the stream's caps if it fits the format, otherwise that
 * of the image, by its code points or its colour space, otherwise GStreamer's default for the
 * format. */
void gst_cuda_j2k_video_set_colorimetry(const GstCudaJ2kVideo *video, const GstCaps *caps,
                                        GstVideoInfo *info);

G_END_DECLS

#endif
