/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part that encoder and decoder element have in common: the library's object and when it is
 * replaced, properties, statistics, latency, the CUDA context, and waiting on the streaming thread.
 */
#ifndef GST_CUDA_J2K_CODEC_H
#define GST_CUDA_J2K_CODEC_H

#include "gstcudaj2kinflight.h"
#include "gstcudaj2kmemory.h"
#include "gstcudaj2kmeter.h"
#include "gstcudaj2koptions.h"
#include "gstcudaj2koutput.h"

#include <gst/video/gstvideoutils.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* Properties that both elements have beside the options of the library. */
enum {
  GST_CUDA_J2K_PROP_ACTIVE_BACKEND = 1,
  GST_CUDA_J2K_PROP_STATS,
  GST_CUDA_J2K_PROP_STATS_INTERVAL,
  GST_CUDA_J2K_PROP_FIRST_OPTION, /* option i of the table has the id FIRST_OPTION + i */
};

/* Numeric options of the library that both elements have and that the shared code reads. */
typedef enum {
  GST_CUDA_J2K_BACKEND,
  GST_CUDA_J2K_CUDA_DEVICE_ID,
  GST_CUDA_J2K_FRAMES_IN_FLIGHT,
  GST_CUDA_J2K_NUM_SETTINGS,
} GstCudaJ2kSetting;

/* What differs between the two elements. `object` is a Cj2kEncoder or a Cj2kDecoder. */
typedef struct {
  const Cj2kOptionTable *options;
  void (*close)(gpointer object);
  Cj2kBackendKind (*backend)(gconstpointer object);
  const gchar *(*why_cpu)(gconstpointer object);
  void (*get_stats)(gpointer object, Cj2kStats *stats);
  Cj2kStatus (*set_in_flight)(gpointer object, uint32_t frames, Cj2kError *error);
  void (*set_latency)(GstElement *element, GstClockTime latency);
  GstCudaJ2kOutputFunc receive; /* runs on the output thread */
} GstCudaJ2kCodecType;

typedef struct {
  GstElement *element;
  const GstCudaJ2kCodecType *type;

  GstCudaJ2kSettings settings; /* values of the properties; guarded by the object lock */
  const Cj2kOption *shared[GST_CUDA_J2K_NUM_SETTINGS]; /* their rows in the table of options */
  gint live_changed; /* atomic: a property that may change while playing was set */

  gpointer object;      /* replaced under the object lock, with nothing in flight; NULL: closed */
  Cj2kStats past_stats; /* of objects closed since the last start; guarded by the object lock */
  GstCudaJ2kContext context; /* shared with other elements; NULL: no GPU, or not wanted */
  GstCudaJ2kOutput output;
  GstCudaJ2kMeter meter;
  gint has_frame_rate; /* atomic: the caps have a frame rate */
  GstCudaJ2kInFlight in_flight;
  /* Of the caps, for in_flight; the streaming thread's. */
  gint fps_n, fps_d;
  guint parts;          /* submissions for a frame */
  GstClockTime pts;     /* of the last frame; for streams without a frame rate */
  gint64 part_duration; /* microseconds that a submission may take; 0: not known */
  gint64 submitting;    /* when the frame came that is being submitted */

  gint reserved;      /* the GPU that was chosen, from READY on; -1: none */
  gchar *reserved_of; /* the value of cuda-devices for which it was; NULL: not set */

  gboolean cpu_warned;      /* that no GPU is usable, once in the element's life */
  gboolean fallback_warned; /* since start; the output thread's */
  guint known_devices;      /* GPUs in use, as last reported; the output thread's */
  guint reason_awaited;     /* results that may still say why a GPU failed; the output thread's */
  guint known_in_flight;    /* frames in flight, as last reported; the output thread's */
} GstCudaJ2kCodec;

/* `params` is the library's struct of parameters, in the element. */
void gst_cuda_j2k_codec_init(GstCudaJ2kCodec *codec, gpointer element,
                             const GstCudaJ2kCodecType *type, gpointer params,
                             GRecMutex *stream_lock);
void gst_cuda_j2k_codec_clear(GstCudaJ2kCodec *codec);

/* ---------------------------------------------------------------------------- properties --- */

void gst_cuda_j2k_codec_install_properties(GObjectClass *klass, const GstCudaJ2kCodecType *type);
void gst_cuda_j2k_codec_set_property(GstCudaJ2kCodec *codec, guint id, const GValue *value,
                                     GParamSpec *pspec);
void gst_cuda_j2k_codec_get_property(GstCudaJ2kCodec *codec, guint id, GValue *value,
                                     GParamSpec *pspec);
/* The value of an option that both elements have. Takes the object lock. */
gint gst_cuda_j2k_codec_setting(GstCudaJ2kCodec *codec, GstCudaJ2kSetting setting);

/* -------------------------------------------------------------------------------- states --- */

/* gstcudaj2kdevices.c. From NULL to READY: chooses a GPU; and back. */
void gst_cuda_j2k_codec_open(GstCudaJ2kCodec *codec);
void gst_cuda_j2k_codec_close(GstCudaJ2kCodec *codec);
/* The number of the GPU for contexts; -1: any. */
gint gst_cuda_j2k_codec_gpu(GstCudaJ2kCodec *codec);
/* The property cuda-devices (transfer full); NULL: it is not set. */
gchar *gst_cuda_j2k_codec_devices(GstCudaJ2kCodec *codec);
/* Finds or makes a CUDA context, unless the property `backend` asks for the CPU. */
void gst_cuda_j2k_codec_find_gpu(GstCudaJ2kCodec *codec);
/* Clears the statistics and starts the output thread, named `thread_name`. FALSE: it cannot be
 * started, and the element has posted an error. */
gboolean gst_cuda_j2k_codec_start(GstCudaJ2kCodec *codec, const gchar *thread_name);
/* Closes the object and releases the context, after the output thread has been stopped. */
void gst_cuda_j2k_codec_stop(GstCudaJ2kCodec *codec);
/* Closes the object and sets a new one (transfer full, may be NULL); nothing may be in flight. */
void gst_cuda_j2k_codec_replace(GstCudaJ2kCodec *codec, gpointer object);
/* Warns when backend=auto took the CPU. */
void gst_cuda_j2k_codec_check_cpu(GstCudaJ2kCodec *codec);

/* ---------------------------------------------------- gstcudaj2klatency.c: frames in flight --- */

/* New caps, with frames of so many parts: reports the latency, and chooses how many frames may be
 * in flight if the property leaves that to the element. Asks upstream whether it is live. */
void gst_cuda_j2k_codec_begin_format(GstCudaJ2kCodec *codec, const GstVideoInfo *info, guint parts);
/* Frames in flight, as they should be from the next frame on. */
guint gst_cuda_j2k_codec_in_flight(GstCudaJ2kCodec *codec);
/* A frame has come. */
void gst_cuda_j2k_codec_note_frame(GstCudaJ2kCodec *codec, const GstVideoCodecFrame *frame);
/* Before a frame is submitted: changes the number of frames in flight if it should be another, when
 * those in flight are done. */
void gst_cuda_j2k_codec_adapt(GstCudaJ2kCodec *codec);
/* A frame was submitted: the output thread may receive it. */
void gst_cuda_j2k_codec_added(GstCudaJ2kCodec *codec, gint64 since);
/* Reports that fewer frames fit in memory than were known to. */
void gst_cuda_j2k_codec_check_memory(GstCudaJ2kCodec *codec);

/* ------------------------------------------------------------------------------- context --- */

gboolean gst_cuda_j2k_codec_query(GstCudaJ2kCodec *codec, GstQuery *query);
void gst_cuda_j2k_codec_set_context(GstCudaJ2kCodec *codec, GstContext *given);
/* For the GPU that the object works on (transfer full); NULL if it works on the CPU. */
GstAllocator *gst_cuda_j2k_codec_pinned_allocator(GstCudaJ2kCodec *codec);

/* ------------------------------------------------------------------------------- threads --- */

/* Bracket what the streaming thread may wait in: the base class's stream lock is released. */
void gst_cuda_j2k_codec_begin_wait(GstCudaJ2kCodec *codec);
void gst_cuda_j2k_codec_end_wait(GstCudaJ2kCodec *codec);
/* Bracket a submit. begin returns whether the codec has room, so that the frame need not wait for
 * those before it. */
gboolean gst_cuda_j2k_codec_begin_submit(GstCudaJ2kCodec *codec);
void gst_cuda_j2k_codec_end_submit(GstCudaJ2kCodec *codec, gboolean submitted);

/* Dropping a frame moves or sends the events of the frames up to it, including those in flight. If
 * one of the base class's frames (transfer full) has events, waits until nothing is in flight, so
 * that no event overtakes a frame that came before it. */
void gst_cuda_j2k_codec_wait_before_events(GstCudaJ2kCodec *codec, GList *frames);

/* Called on the output thread for each result. Counts a frame that arrived at `arrived`, if this
 * result ends it (`is_free`: it waited neither for room nor for downstream), and reports latency,
 * frames in flight and statistics. The caller holds no lock, because an application may query the
 * element in its message handler. */
void gst_cuda_j2k_codec_measure(GstCudaJ2kCodec *codec, gboolean ends_frame, gint64 arrived,
                                gboolean is_free);
/* Warns when the CPU did a frame instead of the GPU, for the first such frame since start. */
void gst_cuda_j2k_codec_check_fallback(GstCudaJ2kCodec *codec, gboolean fallback,
                                       const Cj2kError *why);

/* Warns when GPUs have failed and others are left, once for each or for all that failed since.
 * Called for each good result: a flush may have discarded those that were done again, or there was
 * none. `why` is the reason if another GPU did this one again. */
void gst_cuda_j2k_codec_check_gpus(GstCudaJ2kCodec *codec, gboolean redone, const Cj2kError *why);

G_END_DECLS

#endif
