/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an element measures of its own frames: how many it dropped and why, where frames wait, and
 * how long they take from the sink pad to the source pad.
 */
#ifndef GST_CUDA_J2K_METER_H
#define GST_CUDA_J2K_METER_H

#include "gstcudaj2koutput.h"

G_BEGIN_DECLS

#define GST_CUDA_J2K_METER_FRAMES 1024 /* remembered at most */
/* A receive() that takes longer, in microseconds, waited for the frame: it is done just now, and
 * not since some time at which the output thread was busy. */
#define GST_CUDA_J2K_METER_WAIT 50

typedef struct {
  GMutex lock;
  guint64 late, failed;                     /* frames dropped for qos, and because of errors */
  guint next, count;                        /* of the rings below */
  gint64 left[GST_CUDA_J2K_METER_FRAMES];   /* when a frame left, monotonic time */
  guint32 took[GST_CUDA_J2K_METER_FRAMES];  /* microseconds */
  gboolean free[GST_CUDA_J2K_METER_FRAMES]; /* it neither waited for room nor for downstream */
  guint interval;                           /* milliseconds between messages, 0: none; a property */
  gint64 last_message;
  GstClockTime told; /* latency that the base class was told; GST_CLOCK_TIME_NONE: none yet */
  guint since_told;  /* frames */
  gint waiting_input, waiting_output; /* atomic: frames that wait for room, and for downstream */
} GstCudaJ2kMeter;

void gst_cuda_j2k_meter_init(GstCudaJ2kMeter *meter);
void gst_cuda_j2k_meter_clear(GstCudaJ2kMeter *meter);
/* Forgets everything but the interval. */
void gst_cuda_j2k_meter_start(GstCudaJ2kMeter *meter);

void gst_cuda_j2k_meter_count_late(GstCudaJ2kMeter *meter);
void gst_cuda_j2k_meter_count_failed(GstCudaJ2kMeter *meter);
/* A frame that came at `arrived` (g_get_monotonic_time) leaves. */
void gst_cuda_j2k_meter_count_frame(GstCudaJ2kMeter *meter, gint64 arrived, gboolean is_free);

/* Should the base class be told another latency than the last time? For streams without a frame
 * rate: what 99 of 100 frames take that neither waited for room nor for downstream. */
gboolean gst_cuda_j2k_meter_new_latency(GstCudaJ2kMeter *meter, GstClockTime *latency);

/* The latency of `extra` frames in flight beside the first: each waits a frame duration for those
 * before it; without a frame rate what was measured, 0 before. */
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
