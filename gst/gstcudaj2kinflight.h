/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many frames may be in flight when the property frames-in-flight leaves it to the element
 * (auto). A live stream begins with one, which has the lowest latency. If a quarter of the last
 * results took longer than frames may take, the number is doubled; it falls only when new caps
 * begin. A stream that is not live has no latency to care about and gets a fixed number for the
 * sake of throughput.
 *
 * What is measured is the time that a frame has a place in the codec: from its submission, or from
 * when the frame was done that had the place before it, to its result. With n frames in flight it
 * may take n frame durations. Waiting for upstream or downstream does not count.
 *
 * Nothing here asks a clock: times are given, in microseconds.
 */
#ifndef GST_CUDA_J2K_IN_FLIGHT_H
#define GST_CUDA_J2K_IN_FLIGHT_H

#include "common/cj2k.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* Most that a live stream gets: more are hardly faster, but each adds a frame duration of latency.
 */
#define GST_CUDA_J2K_MOST_LIVE   8
#define GST_CUDA_J2K_LIVE_WINDOW 32 /* results that are looked at */
#define GST_CUDA_J2K_LIVE_SLOW   8  /* slow ones among them that are too many */

/* Submissions and results come from different threads. */
typedef struct {
  GMutex lock;
  gboolean adapts;
  guint number;                             /* frames that may be in flight */
  guint most;                               /* that memory is known to hold */
  guint wanted;                             /* `number` as it should be */
  guint32 slow;                             /* one bit for each of the last results */
  gint64 submitted[2 * CJ2K_MAX_IN_FLIGHT]; /* of those without a result, a ring */
  gint64 duration[2 * CJ2K_MAX_IN_FLIGHT];  /* that each may take; 0: not known */
  guint first, count;
  gint64 done[CJ2K_MAX_IN_FLIGHT]; /* times of the last results, a ring */
  guint results;
} GstCudaJ2kInFlight;

void gst_cuda_j2k_in_flight_init(GstCudaJ2kInFlight *self);
void gst_cuda_j2k_in_flight_clear(GstCudaJ2kInFlight *self);

/* A codec was opened for `number` frames; none is in flight. */
void gst_cuda_j2k_in_flight_start(GstCudaJ2kInFlight *self, guint number);
/* New caps: `number` frames from now on, and more if `adapts`. */
void gst_cuda_j2k_in_flight_begin(GstCudaJ2kInFlight *self, guint number, gboolean adapts);
/* No more than so many fit in memory. */
void gst_cuda_j2k_in_flight_limit(GstCudaJ2kInFlight *self, guint most);
/* The number in use, and the one that should be. */
guint gst_cuda_j2k_in_flight_get(GstCudaJ2kInFlight *self);
guint gst_cuda_j2k_in_flight_wanted(GstCudaJ2kInFlight *self);
/* The wanted number is in use now; nothing is in flight. */
void gst_cuda_j2k_in_flight_change(GstCudaJ2kInFlight *self, guint number);
/* A frame that may take this long is being submitted since `now`. */
void gst_cuda_j2k_in_flight_submitted(GstCudaJ2kInFlight *self, gint64 now, gint64 duration);
/* A result has come, in order of submission. */
void gst_cuda_j2k_in_flight_received(GstCudaJ2kInFlight *self, gint64 now);

G_END_DECLS

#endif
