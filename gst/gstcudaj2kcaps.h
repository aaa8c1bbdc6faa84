/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the caps of JPEG 2000 streams, the images of the library, and raw video.
 *
 * Which colours three components have is nowhere in a codestream, so it is decided here, the first
 * of these that knows:
 *   1. sub-sampled chroma: Y'CbCr, whatever the caps say (demuxers guess);
 *   2. a cinema Rsiz (T.800 table A.10): X'Y'Z', unless the caps' colorimetry names other
 * primaries;
 *   3. `sampling` of the caps, then `colorspace`;
 *   4. the colr box of a JP2 file;
 *   5. a component transform that is on: RGB;
 *   6. else RGB, as jpeg2000parse assumes too.
 */
#ifndef GST_CUDA_J2K_CAPS_H
#define GST_CUDA_J2K_CAPS_H

#include "gstcudaj2kformats.h"

G_BEGIN_DECLS

/* An image as video: what negotiation depends on, and nothing else. Compared with memcmp: cleared
 * before it is filled in. */
typedef struct {
  guint width, height; /* of the first colour component */
  guint full_height;   /* likewise, without reduction: standards are told apart by it */
  GstCudaJ2kFamily family;
  guint8 sub_x, sub_y;
  guint8 depth; /* of the deepest colour component */
  gboolean has_alpha;
  gboolean is_xyz;        /* RGB formats carry X'Y'Z' */
  gboolean is_full_range; /* sYCC of a JP2 file */
  guint8 num_components;  /* of the image, 1..4 */
  guint8 role[4];         /* component to its place in GstCudaJ2kFormat.samples */
  gboolean
      chroma_clipped; /* odd offsets: the chroma rows or columns are one fewer than video has */
} GstCudaJ2kVideo;

/* `caps` are those of the sink pad, or NULL. FALSE: no video format carries such an image, and
 * *reason says why (transfer full). */
gboolean gst_cuda_j2k_video_from_image(const Cj2kImage *image, const GstCaps *caps,
                                       GstCudaJ2kVideo *video, gchar **reason);

/* "4:2:2 Y'CbCr, 10 bit, 1920x1080": for messages (transfer full). */
gchar *gst_cuda_j2k_video_describe(const GstCudaJ2kVideo *video);

/*
 * The best format of the table among those that `allowed` has in system memory (or with the caps
 * feature `feature` when not NULL): the same family and sub-sampling always; then, in this order,
 * no bits lost, alpha kept, no bits added, no alpha added, the table's order. NULL when there is
 * none.
 */
const GstCudaJ2kFormat *gst_cuda_j2k_video_choose(const GstCudaJ2kVideo *video,
                                                  const GstCaps *allowed, const gchar *feature);

/* How far a format is from the image: smaller is better. */
guint gst_cuda_j2k_video_cost(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format);

/* The layout to decode such an image into a buffer of `format`: samples has room for 4 and the
 * layout points to it. */
void gst_cuda_j2k_video_layout(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format,
                               Cj2kSampleLayout samples[4], Cj2kLayout *layout);

/* Makes the colorimetry of `info` one that fits its format: that of the stream's caps where it
 * does, else what the image says, else GStreamer's default for the format. */
void gst_cuda_j2k_video_set_colorimetry(const GstCudaJ2kVideo *video, const GstCaps *caps,
                                        GstVideoInfo *info);

G_END_DECLS

#endif
