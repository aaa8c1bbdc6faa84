/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decoder element, inside. The streaming thread reads headers, negotiates, and submits
 * (gstcudaj2kdecinput.c); the output thread receives and finishes frames (gstcudaj2kdecoutput.c);
 * the element's class, properties and states are in gstcudaj2kdec.c.
 */
#ifndef GST_CUDA_J2K_DEC_PRIVATE_H
#define GST_CUDA_J2K_DEC_PRIVATE_H

#include "gstcudaj2kcaps.h"
#include "gstcudaj2kcodec.h"
#include "gstcudaj2kcommon.h"
#include "gstcudaj2kdec.h"
#include "gstcudaj2kframing.h"

#include <gst/video/gstvideodecoder.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_j2k_dec_debug);
#define GST_CAT_DEFAULT gst_cuda_j2k_dec_debug

/*
 * One output picture, mapped for writing. It is made of one part, or of several: the two fields of
 * an interlaced frame, or stripes that arrive as buffers of their own. Each part in flight holds a
 * reference, and so does the streaming thread while parts are to come.
 */
typedef struct {
  gint refs; /* atomic */
  GstBuffer *buffer;
  GstVideoFrame map;
  GstCudaJ2kMapped mapped;
  gboolean has_room; /* the fields need more rows than the buffer has, and are put into `room` */
  GstVideoFrame room;
  guint rows; /* submitted, of the first component; the streaming thread's */
  /* The output thread's: */
  guint good_parts;
  gboolean damaged; /* some part failed, was incomplete or is missing */
  Cj2kError error;  /* of the last part that failed */
} GstCudaJ2kDecPicture;

/* One codestream in flight: the `user` of the library. */
typedef struct {
  GstVideoCodecFrame *frame; /* NULL: the first of two fields, its frame comes with the second */
  GstBuffer *input;
  GstMapInfo map; /* of input; unused (data NULL) where another part of the same buffer has it */
  GstCudaJ2kDecPicture *picture;
  gint64 arrived;    /* the frame, at the sink pad */
  gboolean had_room; /* it did not wait for frames before it */
  gboolean last;     /* of its picture */
  gboolean is_field;
  gboolean incomplete; /* parts of the picture never arrived */
  Cj2kPlane planes[CJ2K_MAX_PLANES];
  Cj2kPicture target;
} GstCudaJ2kDecPart;

struct _GstCudaJ2kDec {
  GstVideoDecoder parent;

  Cj2kDecoderParams params; /* values of the properties; of codec.settings */
  GstCudaJ2kCodec codec;    /* its object is a Cj2kDecoder, from start to stop */
  GstBufferPool *pool;      /* of pictures; set by the streaming thread under the object lock */
  gint reconfigure; /* atomic: the output thread saw that downstream wants to negotiate anew */

  /* The streaming thread's. */
  GstCudaJ2kFraming framing; /* of a stream in bytes */
  GstVideoCodecState *input_state;
  gboolean input_changed;
  gboolean is_striped;
  guint num_stripes, stripe; /* of image/x-jpc-striped: how many, and the next one's number */
  gboolean two_fields;       /* the caps say that a buffer holds a codestream a field */
  GstCudaJ2kVideo video;     /* what was negotiated; width is 0 before */
  const GstCudaJ2kFormat *format;
  gboolean on_device; /* in CUDAMemory */
  Cj2kLayout layout;
  Cj2kSampleLayout samples[4];
  GstVideoInfo info;
  GstCudaJ2kDecPicture *picture; /* parts of it are still to come */
  gboolean warned_alpha;

  /* Guarded by the stream lock. */
  gboolean told_failed; /* that a frame could not be decoded */
  gboolean had_picture; /* one went out */
};
typedef struct _GstCudaJ2kDec GstCudaJ2kDec;
typedef struct _GstCudaJ2kDecClass {
  GstVideoDecoderClass parent_class;
} GstCudaJ2kDecClass;

/* gstcudaj2kdecinput.c */
GstFlowReturn gst_cuda_j2k_dec_handle_frame(GstVideoDecoder *decoder, GstVideoCodecFrame *frame);
/* Forgets a picture of which parts are missing. */
void gst_cuda_j2k_dec_drop_picture(GstCudaJ2kDec *self);

/* gstcudaj2kdec.c */
/* Replaces the pool that pictures come from (transfer full; NULL: none). */
void gst_cuda_j2k_dec_set_pool(GstCudaJ2kDec *self, GstBufferPool *pool);

/* gstcudaj2kdecoutput.c */
GstFlowReturn gst_cuda_j2k_dec_output(gpointer element);
void gst_cuda_j2k_dec_picture_unref(GstCudaJ2kDecPicture *picture);
/* Lets go of everything a part holds; its frame has to be finished or dropped before. */
void gst_cuda_j2k_dec_part_free(GstCudaJ2kDecPart *part);
/* Counts a frame that cannot be decoded, as GstVideoDecoder's max-errors has it, and drops it; the
 * first is a warning.
 * Takes the frame. GST_FLOW_ERROR when there were too many. */
GstFlowReturn gst_cuda_j2k_dec_fail(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                    const gchar *text);

G_END_DECLS

#endif
