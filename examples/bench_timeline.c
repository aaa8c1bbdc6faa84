/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times of stages on the GPU, as an encoder or decoder traces them, and sums over them. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { UPLOAD = 1, DOWNLOAD = 2, KERNEL = 4, COPY = UPLOAD | DOWNLOAD };

typedef struct {
  uint32_t stream, kind;
  const char *stage; /* interned */
  double begin, end;
} Span;

static uint32_t kind_of(const char *stage)
{
  if (!strcmp(stage, "upload"))
    return UPLOAD;
  return strcmp(stage, "download") ? KERNEL : DOWNLOAD;
}

static void trace(void *user, uint32_t stream, const char *stage, double begin, double end)
{
  BenchTimeline *timeline = user;
  Span span = {stream, kind_of(stage), g_intern_string(stage), begin, end};
  g_mutex_lock(&timeline->lock);
  g_array_append_val(timeline->spans, span);
  g_mutex_unlock(&timeline->lock);
}

void bench_timeline_init(BenchTimeline *timeline, const BenchOptions *options)
{
  timeline->on = options->stages || options->timeline;
  timeline->spans = g_array_new(FALSE, FALSE, sizeof(Span));
  g_mutex_init(&timeline->lock);
}

void bench_timeline_clear(BenchTimeline *timeline)
{
  g_array_unref(timeline->spans);
  g_mutex_clear(&timeline->lock);
}

Cj2kTrace bench_timeline_trace(const BenchTimeline *timeline)
{
  return timeline->on ? trace : NULL;
}

void bench_timeline_restart(BenchTimeline *timeline)
{
  g_mutex_lock(&timeline->lock);
  g_array_set_size(timeline->spans, 0);
  g_mutex_unlock(&timeline->lock);
}

/* -------------------------------------------------------------------------------- sums --- */

static gint by_begin(gconstpointer a, gconstpointer b)
{
  double x = ((const Span *)a)->begin, y = ((const Span *)b)->begin;
  return x < y ? -1 : x > y;
}

/* The time in which at least one span of these kinds was running. The time that a copy waits for
 * the bus adds nothing, since another copy is running then. */
static double covered(const GArray *sorted, uint32_t kinds)
{
  double sum = 0, until = 0;
  for (guint i = 0; i < sorted->len; i++) {
    const Span *span = &g_array_index(sorted, Span, i);
    if (!(span->kind & kinds) || span->end <= until)
      continue;
    sum += span->end - MAX(span->begin, until);
    until = span->end;
  }
  return sum;
}

static void print_stages(const GArray *spans, double frames)
{
  GHashTable *done = g_hash_table_new(NULL, NULL);
  printf(",\"stages_ms\":{");
  for (guint i = 0; i < spans->len; i++) {
    const char *stage = g_array_index(spans, Span, i).stage;
    double sum = 0;
    if (!g_hash_table_add(done, (gpointer)stage))
      continue;
    for (guint k = i; k < spans->len; k++) {
      const Span *span = &g_array_index(spans, Span, k);
      if (span->stage == stage)
        sum += span->end - span->begin;
    }
    printf("%s\"%s\":%.4f", i ? "," : "", stage, sum / frames);
  }
  putchar('}');
  g_hash_table_unref(done);
}

void bench_timeline_print(const BenchTimeline *timeline, double frames)
{
  if (!timeline->on || !timeline->spans->len)
    return;
  GArray *sorted = g_array_copy(timeline->spans);
  g_array_sort(sorted, by_begin);
  double copies = covered(sorted, COPY), kernels = covered(sorted, KERNEL);
  double up = covered(sorted, UPLOAD), down = covered(sorted, DOWNLOAD);
  double any = covered(sorted, COPY | KERNEL);
  print_stages(timeline->spans, frames);
  printf(",\"ms_upload\":%.4f,\"ms_download\":%.4f,\"ms_both_ways\":%.4f,\"ms_kernels\":%.4f,"
         "\"ms_copies_and_kernels\":%.4f,\"ms_any\":%.4f",
         up / frames, down / frames, (up + down - copies) / frames, kernels / frames,
         (copies + kernels - any) / frames, any / frames);
  g_array_unref(sorted);
}

bool bench_timeline_write(const BenchTimeline *timeline, const char *path)
{
  FILE *file = fopen(path, "w");
  if (!file)
    return false;
  fputs("{\"spans\":[", file);
  for (guint i = 0; i < timeline->spans->len; i++) {
    const Span *span = &g_array_index(timeline->spans, Span, i);
    fprintf(file, "%s\n{\"stream\":%u,\"stage\":\"%s\",\"begin\":%.4f,\"end\":%.4f}", i ? "," : "",
            span->stream, span->stage, span->begin, span->end);
  }
  fputs("\n]}\n", file);
  return fclose(file) == 0;
}
