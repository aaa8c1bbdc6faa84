/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decoder element's parts. The streaming thread reads headers, negotiates, and submits
 * (gstcudaj2kdecinput.c); the output thread receives and finishes frames (gstcudaj2kdecoutput.c);
 * class, states, events and allocation are in gstcudaj2kdec.c.
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
 * One output picture, mapped for writing. It consists of one part, or of several: the two fields of
 * an interlaced frame, or stripes that arrive in separate buffers. Each part in flight holds a
 * reference, and so does the streaming thread while more parts are expected.
 */
typedef struct {
  gint refs; /* atomic */
  GstBuffer *buffer;
  GstVideoFrame map;
  GstCudaJ2kMapped mapped;
  gboolean has_room; /* the fields need more rows than the buffer has and are decoded into `room` */
  GstVideoFrame room;
  guint rows; /* of the first component, submitted so far; streaming thread only */
  /* Output thread only: */
  guint good_parts;
  gboolean damaged; /* a part failed, was incomplete or is missing */
  Cj2kError error;  /* of the last part that failed */
} GstCudaJ2kDecPicture;

/* One codestream in flight: the `user` of the library. */
typedef struct {
  GstVideoCodecFrame *frame; /* NULL in the first of two fields: the second one has it */
  GstBuffer *input;
  GstMapInfo map; /* of input; both unset in the first of two fields */
  GstCudaJ2kDecPicture *picture;
  gint64 arrived;    /* when the frame reached the sink pad (g_get_monotonic_time) */
  gboolean had_room; /* did not have to wait for the frames before it */
  gboolean last;     /* this is the last part of its picture */
  gboolean is_field;
  gboolean incomplete; /* parts of the picture never arrived */
  gboolean damaged;    /* the input buffer is flagged CORRUPTED */
  Cj2kPlane planes[CJ2K_MAX_PLANES];
  Cj2kPicture target;
} GstCudaJ2kDecPart;

/* A frame whose codestream arrives in several buffers (alignment=subframe), until its last one. */
typedef struct {
  GstVideoCodecFrame *frame; /* of the first buffer; NULL: no frame is unfinished */
  GstCudaJ2kDecPart *part;   /* the library decodes it; NULL: it waits for the main header */
  GByteArray *bytes;         /* until then */
  gsize size, limit;         /* bytes so far; the most that are plausible */
  gsize tried;               /* those of `bytes` in which the main header was not complete */
  gboolean damaged;          /* bytes are missing, or a buffer is flagged CORRUPTED */
  gboolean cut;              /* further bytes are ignored: those before them are missing */
  gboolean ignored;          /* so is the whole frame */
  gboolean late;             /* because it is too late */
  gchar *reason;             /* why it cannot be decoded; NULL: no reason so far */
} GstCudaJ2kDecUnfinished;

/* The pictures as negotiated with downstream. */
typedef struct {
  GstCudaJ2kVideo video; /* of the codestream; width is 0 while nothing is negotiated */
  const GstCudaJ2kFormat *format;
  gboolean on_device; /* they are CUDAMemory */
  Cj2kLayout layout;  /* has `samples` */
  Cj2kSampleLayout samples[4];
  GstVideoInfo info; /* of the caps */
} GstCudaJ2kDecOutput;

struct _GstCudaJ2kDec {
  GstVideoDecoder parent;

  Cj2kDecoderParams params; /* values of the properties; of codec.settings */
  GstCudaJ2kCodec codec;    /* its object is a Cj2kDecoder, from start to stop */
  GstBufferPool *pool; /* source of pictures; set by the streaming thread under the object lock */
  gint reconfigure;    /* atomic: negotiate before the next frame */

  /* Streaming thread only. */
  GstCudaJ2kFraming framing; /* of a byte stream */
  GstVideoCodecState *input_state;
  gboolean input_changed;
  gboolean is_striped;
  guint num_stripes, stripe; /* image/x-jpc-striped: stripes a frame, number of the next one */
  gboolean two_fields;  /* a buffer holds one codestream for each field: by the caps, or found */
  gboolean warned_more; /* that codestreams are ignored */
  gboolean in_parts;    /* alignment=subframe: a frame may consist of several buffers */
  GstCudaJ2kDecUnfinished unfinished;
  GstCudaJ2kDecOutput output;
  GstCudaJ2kDecPicture *picture; /* unfinished; NULL: none */
  gboolean warned_alpha;
  gchar *doubted; /* fault of the last frame's header, which may be damaged; NULL: it has none */

  /* Guarded by the stream lock. */
  gboolean failure_warned; /* that a frame could not be decoded */
  gboolean had_picture;    /* at least one was pushed */
};
typedef struct _GstCudaJ2kDec GstCudaJ2kDec;
typedef struct _GstCudaJ2kDecClass {
  GstVideoDecoderClass parent_class;
} GstCudaJ2kDecClass;

/* gstcudaj2kdecinput.c */
GstFlowReturn gst_cuda_j2k_dec_handle_frame(GstVideoDecoder *decoder, GstVideoCodecFrame *frame);
/* Drops the unfinished picture, if there is one. */
void gst_cuda_j2k_dec_drop_picture(GstCudaJ2kDec *self);
/* Decodes a frame whose codestreams are `input` (transfer full of both). */
GstFlowReturn gst_cuda_j2k_dec_decode_buffer(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                             GstBuffer *input);
/* Reads the header of a codestream, negotiates, and makes a picture for `part`, which is all of it.
 * If the stream is at fault, and not downstream, *reason is set (transfer full) and GST_FLOW_OK
 * returned. */
GstFlowReturn gst_cuda_j2k_dec_prepare(GstCudaJ2kDec *self, const GstCudaJ2kSpan *span,
                                       GstCudaJ2kDecPart *part, const GstBuffer *input,
                                       gchar **reason);
/* Ends a frame that cannot be decoded, for `reason` (transfer full; NULL: not the stream's fault),
 * once the frames before it are done. Takes the frame. */
GstFlowReturn gst_cuda_j2k_dec_give_up(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                       GstFlowReturn flow, gchar *reason);
/* Whether a frame is too late to be decoded. */
gboolean gst_cuda_j2k_dec_is_late(GstCudaJ2kDec *self, GstVideoCodecFrame *frame);
/* Counts and drops such a frame. Takes the frame. */
void gst_cuda_j2k_dec_drop_late(GstCudaJ2kDec *self, GstVideoCodecFrame *frame);

/* gstcudaj2kdecparts.c */
/* Takes a buffer of a frame that arrives in several. Takes the frame. */
GstFlowReturn gst_cuda_j2k_dec_add_part(GstCudaJ2kDec *self, GstVideoCodecFrame *frame);
/* No further buffer of the unfinished frame will arrive: decodes what is there of it. */
GstFlowReturn gst_cuda_j2k_dec_end_unfinished(GstCudaJ2kDec *self);
/* Forgets the unfinished frame. */
void gst_cuda_j2k_dec_drop_unfinished(GstCudaJ2kDec *self);

/* gstcudaj2kdecoutput.c */
GstFlowReturn gst_cuda_j2k_dec_output(gpointer element);
void gst_cuda_j2k_dec_picture_unref(GstCudaJ2kDecPicture *picture);
/* Frees a part and what it holds, except its frame, which has been finished or dropped before. */
void gst_cuda_j2k_dec_part_free(GstCudaJ2kDecPart *part);
/* Drops a frame that cannot be decoded and counts it for GstVideoDecoder's max-errors; the first
 * one posts a warning. Takes the frame. Returns GST_FLOW_ERROR if there were too many. */
GstFlowReturn gst_cuda_j2k_dec_fail(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                    const gchar *text);

G_END_DECLS

#endif
