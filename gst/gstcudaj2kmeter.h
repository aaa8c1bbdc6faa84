/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An element's measurements of its frames: how many were dropped and why, where frames wait, and
 * how long they take from the sink pad to the source pad.
 */
#ifndef GST_CUDA_J2K_METER_H
#define GST_CUDA_J2K_METER_H

#include "gstcudaj2koutput.h"

G_BEGIN_DECLS

#define GST_CUDA_J2K_METER_FRAMES 1024 /* frames in the rings below */
/* Microseconds. A receive() that takes longer had to wait for the frame, so the frame has only just
 * been finished. A shorter one finds a frame that waited for a busy output thread. */
#define GST_CUDA_J2K_METER_WAIT 50

typedef struct {
  GMutex lock;
  guint64 late, failed;                        /* frames dropped for qos, and because of errors */
  guint next, count;                           /* next entry of the rings, and number of entries */
  gint64 left_at[GST_CUDA_J2K_METER_FRAMES];   /* when a frame left, monotonic time */
  guint32 latency[GST_CUDA_J2K_METER_FRAMES];  /* microseconds */
  gboolean is_free[GST_CUDA_J2K_METER_FRAMES]; /* waited neither for room nor for downstream */
  guint interval; /* milliseconds between messages, 0: none; a property */
  gint64 last_message;
  GstClockTime reported; /* latency last reported to the base class; GST_CLOCK_TIME_NONE: none */
  guint since_report;    /* free frames since then */
  gint waiting_input, waiting_output; /* atomic: frames that wait for room, and for downstream */
} GstCudaJ2kMeter;

void gst_cuda_j2k_meter_init(GstCudaJ2kMeter *meter);
void gst_cuda_j2k_meter_clear(GstCudaJ2kMeter *meter);
/* Resets everything except the interval. */
void gst_cuda_j2k_meter_start(GstCudaJ2kMeter *meter);

void gst_cuda_j2k_meter_count_late(GstCudaJ2kMeter *meter);
void gst_cuda_j2k_meter_count_failed(GstCudaJ2kMeter *meter);
/* Records that a frame leaves which arrived at `arrived` (g_get_monotonic_time). */
void gst_cuda_j2k_meter_count_frame(GstCudaJ2kMeter *meter, gint64 arrived, gboolean is_free);

/* For streams without a frame rate: has the latency changed so much that it must be reported again?
 * It is the 99th percentile of frames that waited neither for room nor for downstream. */
gboolean gst_cuda_j2k_meter_new_latency(GstCudaJ2kMeter *meter, GstClockTime *latency);

/* The latency with `extra` frames in flight beside the first: one frame duration for each. Without
 * a frame rate it is the measured one, and 0 before the first measurement. */
GstClockTime gst_cuda_j2k_meter_latency(GstCudaJ2kMeter *meter, guint extra, gint fps_n,
                                        gint fps_d);

/* Is it time for a message with statistics? */
gboolean gst_cuda_j2k_meter_is_due(GstCudaJ2kMeter *meter);
void gst_cuda_j2k_meter_set_interval(GstCudaJ2kMeter *meter, guint interval);
guint gst_cuda_j2k_meter_get_interval(GstCudaJ2kMeter *meter);

/* Adds the fields "dropped-qos", "dropped-errors", "frames-in-flight", "waiting-input",
 * "waiting-output", "latency-p50-ms" and "latency-p99-ms". */
void gst_cuda_j2k_meter_add_fields(GstCudaJ2kMeter *meter, GstCudaJ2kOutput *output,
                                   GstStructure *stats);

/* The property stats-interval of both elements. */
GParamSpec *gst_cuda_j2k_meter_interval_pspec(void);

G_END_DECLS

#endif
