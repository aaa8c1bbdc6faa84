/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kmeter.h"

#include <stdlib.h>
#include <string.h>

#define SPAN          (5 * G_USEC_PER_SEC) /* age of the oldest frame that counts */
#define REPORT_FRAMES 16                   /* free frames between two checks of the latency */

void gst_cuda_j2k_meter_init(GstCudaJ2kMeter *meter)
{
  memset(meter, 0, sizeof *meter);
  g_mutex_init(&meter->lock);
  meter->reported = GST_CLOCK_TIME_NONE;
}

void gst_cuda_j2k_meter_clear(GstCudaJ2kMeter *meter)
{
  g_mutex_clear(&meter->lock);
}

void gst_cuda_j2k_meter_start(GstCudaJ2kMeter *meter)
{
  g_mutex_lock(&meter->lock);
  meter->late = meter->failed = 0;
  meter->next = meter->count = meter->since_report = 0;
  meter->reported = GST_CLOCK_TIME_NONE;
  meter->last_message = g_get_monotonic_time();
  g_mutex_unlock(&meter->lock);
}

static void count(GstCudaJ2kMeter *meter, guint64 *counter)
{
  g_mutex_lock(&meter->lock);
  ++*counter;
  g_mutex_unlock(&meter->lock);
}

void gst_cuda_j2k_meter_count_late(GstCudaJ2kMeter *meter)
{
  count(meter, &meter->late);
}

void gst_cuda_j2k_meter_count_failed(GstCudaJ2kMeter *meter)
{
  count(meter, &meter->failed);
}

void gst_cuda_j2k_meter_count_frame(GstCudaJ2kMeter *meter, gint64 arrived, gboolean is_free)
{
  gint64 now = g_get_monotonic_time();
  g_mutex_lock(&meter->lock);
  meter->left_at[meter->next] = now;
  meter->latency[meter->next] = (guint32)CLAMP(now - arrived, 0, G_MAXUINT32);
  meter->is_free[meter->next] = is_free;
  meter->next = (meter->next + 1) % GST_CUDA_J2K_METER_FRAMES;
  meter->count = MIN(meter->count + 1, GST_CUDA_J2K_METER_FRAMES);
  meter->since_report += is_free;
  g_mutex_unlock(&meter->lock);
}

static int compare(const void *a, const void *b)
{
  guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
  return (x > y) - (x < y);
}

/* The latencies of recent frames, all or only the free ones, in ascending order; returns their
 * number. Called with the lock held. */
static guint recent_latencies(const GstCudaJ2kMeter *meter, gboolean only_free, guint32 *times)
{
  gint64 since = g_get_monotonic_time() - SPAN;
  guint n = 0;
  for (guint i = 0; i < meter->count; i++)
    if (meter->left_at[i] >= since && (meter->is_free[i] || !only_free))
      times[n++] = meter->latency[i];
  /* The loop has filled the n elements that are sorted. */
  // cppcheck-suppress uninitvar
  qsort(times, n, sizeof *times, compare);
  return n;
}

static guint32 percentile(const guint32 *times, guint n, guint percent)
{
  return n ? times[(n - 1) * percent / 100] : 0;
}

gboolean gst_cuda_j2k_meter_new_latency(GstCudaJ2kMeter *meter, GstClockTime *latency)
{
  guint32 times[GST_CUDA_J2K_METER_FRAMES];
  gboolean is_new = FALSE;
  g_mutex_lock(&meter->lock);
  gboolean first = meter->reported == GST_CLOCK_TIME_NONE;
  if (meter->since_report >= (first ? 1 : REPORT_FRAMES)) {
    guint n = recent_latencies(meter, TRUE, times);
    meter->since_report = 0;
    /* In whole milliseconds, and only if it differs by a quarter: each report makes the whole
     * pipeline recalculate its latency. */
    *latency = (percentile(times, n, 99) / 1000 + 1) * GST_MSECOND;
    is_new = n && (first || *latency > meter->reported + meter->reported / 4 ||
                   *latency < meter->reported - meter->reported / 4);
    if (is_new)
      meter->reported = *latency;
  }
  g_mutex_unlock(&meter->lock);
  return is_new;
}

GstClockTime gst_cuda_j2k_meter_latency(GstCudaJ2kMeter *meter, guint extra, gint fps_n, gint fps_d)
{
  if (fps_n > 0)
    return gst_util_uint64_scale(GST_SECOND * extra, (guint64)fps_d, (guint64)fps_n);
  g_mutex_lock(&meter->lock);
  GstClockTime latency = meter->reported == GST_CLOCK_TIME_NONE ? 0 : meter->reported;
  g_mutex_unlock(&meter->lock);
  return latency;
}

gboolean gst_cuda_j2k_meter_is_due(GstCudaJ2kMeter *meter)
{
  gint64 now = g_get_monotonic_time();
  g_mutex_lock(&meter->lock);
  gint64 passed = now - meter->last_message; /* negative: the clock was set back */
  gboolean due = meter->interval && (passed < 0 || passed >= (gint64)meter->interval * 1000);
  if (due)
    meter->last_message = now;
  g_mutex_unlock(&meter->lock);
  return due;
}

void gst_cuda_j2k_meter_set_interval(GstCudaJ2kMeter *meter, guint interval)
{
  g_mutex_lock(&meter->lock);
  meter->interval = interval;
  g_mutex_unlock(&meter->lock);
}

guint gst_cuda_j2k_meter_get_interval(GstCudaJ2kMeter *meter)
{
  g_mutex_lock(&meter->lock);
  guint interval = meter->interval;
  g_mutex_unlock(&meter->lock);
  return interval;
}

void gst_cuda_j2k_meter_add_fields(GstCudaJ2kMeter *meter, GstCudaJ2kOutput *output,
                                   GstStructure *stats)
{
  guint32 times[GST_CUDA_J2K_METER_FRAMES];
  g_mutex_lock(&meter->lock);
  guint64 late = meter->late, failed = meter->failed;
  guint n = recent_latencies(meter, FALSE, times);
  g_mutex_unlock(&meter->lock);
  gst_structure_set(stats, "dropped-qos", G_TYPE_UINT64, late, "dropped-errors", G_TYPE_UINT64,
                    failed, "frames-in-flight", G_TYPE_UINT, gst_cuda_j2k_output_pending(output),
                    "waiting-input", G_TYPE_UINT, (guint)g_atomic_int_get(&meter->waiting_input),
                    "waiting-output", G_TYPE_UINT, (guint)g_atomic_int_get(&meter->waiting_output),
                    "latency-p50-ms", G_TYPE_DOUBLE, percentile(times, n, 50) / 1000.0,
                    "latency-p99-ms", G_TYPE_DOUBLE, percentile(times, n, 99) / 1000.0, NULL);
}

GParamSpec *gst_cuda_j2k_meter_interval_pspec(void)
{
  return g_param_spec_uint(
      "stats-interval", "Statistics interval",
      "Milliseconds between element messages that hold the property stats; "
      "0 = none",
      0, G_MAXUINT, 0,
      (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
}
