/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The encoder element's parts: class, states and formats in gstcudaj2kenc.c, the library's
 * parameters in gstcudaj2kencparams.c, frames in and out in gstcudaj2kencframe.c.
 */
#ifndef GST_CUDA_J2K_ENC_PRIVATE_H
#define GST_CUDA_J2K_ENC_PRIVATE_H

#include "gstcudaj2kcodec.h"
#include "gstcudaj2kcommon.h"
#include "gstcudaj2kenc.h"
#include "gstcudaj2kenccaps.h"

#include <gst/video/gstvideoencoder.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_j2k_enc_debug);
#define GST_CAT_DEFAULT gst_cuda_j2k_enc_debug

/* A picture in flight: a frame, or one of its two fields. The `user` of the library. */
typedef struct {
  GstVideoCodecFrame *frame; /* NULL in the first of two fields: the second one has it */
  GstVideoFrame map;         /* of the input; unset in the first of two fields */
  gint64 arrived;            /* when the frame reached the sink pad (g_get_monotonic_time) */
  gboolean had_room;         /* did not have to wait for the frames before it */
  Cj2kPlane planes[CJ2K_MAX_PLANES];
  Cj2kPicture source;
} GstCudaJ2kEncPart;

/* A slice that was coded. */
typedef struct {
  GstVideoCodecFrame *frame;
  GstBuffer *buffer; /* NULL: the frame has failed */
  gboolean last;     /* of its frame */
} GstCudaJ2kEncSlice;

struct _GstCudaJ2kEnc {
  GstVideoEncoder parent;

  Cj2kEncoderParams params; /* values of the properties, without texts; of codec.settings */
  GstCudaJ2kCodec codec;    /* its object is a Cj2kEncoder, from set_format() on */

  /* Copies of codec.settings; streaming thread only. `tried`: as they were when they were last
   * given to the library; `accepted`: as they were when it last took them. */
  Cj2kEncoderParams tried_params, accepted_params;
  GstCudaJ2kSettings tried, accepted;
  gboolean has_accepted; /* since start() */
  Cj2kError posted;      /* the last error about them since start(); text "": none */

  gboolean started;                     /* between start() and stop() */
  guint64 frames;                       /* submitted since start(); streaming thread only */
  Cj2kRegion regions[CJ2K_MAX_REGIONS]; /* of the last buffer's metadata; streaming thread only */
  guint num_regions;                    /* the same */
  gboolean regions_refused;             /* the same: they are ignored, and a warning said so */
  gboolean segment_pending; /* the base class holds a segment or the start of a stream back for the
                               next frame; streaming thread only */

  /* Set by the streaming thread with nothing in flight. */
  GstVideoCodecState *input_state; /* of the last caps that were not refused; NULL: none */
  gboolean configured;             /* the encoder and the next three are those of input_state */
  GstVideoInfo info;
  const GstCudaJ2kFormat *format;
  GstCudaJ2kEncStream stream;

  GAsyncQueue *slices; /* GstCudaJ2kEncSlice: from threads of the encoder to the output thread */

  /* Output thread only. */
  GstBuffer *first_field; /* its codestream, until the second field is coded; NULL: none */
};
typedef struct _GstCudaJ2kEnc GstCudaJ2kEnc;
typedef struct _GstCudaJ2kEncClass {
  GstVideoEncoderClass parent_class;
} GstCudaJ2kEncClass;

/* The warning for settings that are refused while there is an encoder; with the reason. */
#define GST_CUDA_J2K_RATE_STAYS "The rate stays as it was: %s."

/* gstcudaj2kencparams.c */
/* Fills in the library's parameters from the settings, the frame rate of `info`, and `stream`.
 * `frames`: how many were encoded since the start, by other encoders if the caps have changed.
 * FALSE: they are not valid, and *reason says why (transfer full). params->comment points into the
 * settings. */
gboolean gst_cuda_j2k_enc_make_params(const GstCudaJ2kSettings *settings, const GstVideoInfo *info,
                                      const GstCudaJ2kEncStream *stream, guint64 frames,
                                      Cj2kEncoderParams *params, gchar **reason);
/* Whether the library can convert R'G'B' with the primaries of `info`; others, of which the element
 * warns, are taken for those of BT.709. */
gboolean gst_cuda_j2k_enc_knows_primaries(const GstVideoInfo *info);

/* gstcudaj2kencregions.c */
/* Reads the regions of a buffer's metadata into self->regions. TRUE: they are others than those of
 * the buffer before. */
gboolean gst_cuda_j2k_enc_take_regions(GstCudaJ2kEnc *self, GstBuffer *buffer);
/* Adds self->regions to those of the parameters. */
void gst_cuda_j2k_enc_add_regions(const GstCudaJ2kEnc *self, Cj2kEncoderParams *params);
/* Converts regions of a frame to regions of what is encoded: a frame or a field. */
void gst_cuda_j2k_enc_fit_regions(const GstCudaJ2kEncStream *stream, Cj2kEncoderParams *params);

/* gstcudaj2kenctags.c */
/* Sends tags with the codec and, if frames have a budget, the bit rate. */
void gst_cuda_j2k_enc_send_tags(GstCudaJ2kEnc *self, const Cj2kEncoderParams *params);

/* gstcudaj2kenc.c */
/* Copies the settings of the properties to self->tried, and that to self->accepted. */
void gst_cuda_j2k_enc_try(GstCudaJ2kEnc *self);
void gst_cuda_j2k_enc_accept(GstCudaJ2kEnc *self);
/* Before a frame: caps may have been refused since the last one, and those before them returned. */
GstFlowReturn gst_cuda_j2k_enc_ensure_configured(GstCudaJ2kEnc *self);

/* gstcudaj2kencframe.c */
GstFlowReturn gst_cuda_j2k_enc_handle_frame(GstVideoEncoder *encoder, GstVideoCodecFrame *frame);
GstFlowReturn gst_cuda_j2k_enc_output(gpointer element);

/* gstcudaj2kencslices.c */
/* The library's call-back for slices; `element` is the encoder. */
void gst_cuda_j2k_enc_take_slice(void *element, void *user, const uint8_t *data, size_t size,
                                 bool last);
/* Pushes the slices of the next frame as they come, all but the last one, which becomes *last
 * (transfer full; NULL: the frame has failed, or is discarded). Returns the flow return of
 * downstream. Output thread only. */
GstFlowReturn gst_cuda_j2k_enc_push_slices(GstCudaJ2kEnc *self, GstBuffer **last);

G_END_DECLS

#endif
