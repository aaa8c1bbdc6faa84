/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"
#include "common/options/stats.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
  uint32_t frames, threads;
  double seconds;    /* from the first submit to the last receive */
  double processor;  /* seconds of all threads of the process in that time */
  GArray *latencies; /* double: milliseconds from submit to receive of each frame */
  Cj2kStats stats;
  BenchMemory before, after;
} Result;

Cj2kMemoryKind bench_memory_kind(Cj2kBackendKind backend, const BenchOptions *options)
{
  if (options->output && !strcmp(options->output, "device"))
    return CJ2K_MEMORY_CUDA;
  return backend == CJ2K_BACKEND_CUDA ? CJ2K_MEMORY_PINNED : CJ2K_MEMORY_HOST;
}

/* Processes `frames` frames with as many in flight as allowed. */
static Cj2kStatus process(BenchRun *run, uint32_t frames, GArray *latencies, Cj2kError *error)
{
  uint32_t submitted = 0, received = 0;
  Cj2kStatus status = CJ2K_OK;
  while (received < frames && status == CJ2K_OK) {
    if (submitted < frames && submitted - received < run->in_flight) {
      uint32_t index = submitted++ % run->in_flight;
      run->submitted[index] = g_get_monotonic_time();
      status = run->submit(run, index, error);
      continue;
    }
    status = run->receive(run, error);
    gint64 since = run->submitted[received++ % run->in_flight];
    double ms = (double)(g_get_monotonic_time() - since) / 1000;
    g_array_append_val(latencies, ms);
  }
  return status;
}

/* -------------------------------------------------------------------------------- JSON --- */

static int compare_doubles(gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

void bench_sort(GArray *values)
{
  g_array_sort(values, compare_doubles);
}

double bench_percentile(const GArray *sorted, double part)
{
  if (!sorted->len)
    return 0;
  return g_array_index(sorted, double, (guint)(part * (sorted->len - 1) + 0.5));
}

static void print_string(const char *key, const char *value)
{
  char *escaped = g_strescape(value, NULL);
  printf("\"%s\":\"%s\",", key, escaped);
  g_free(escaped);
}

static void print_stats(const Cj2kStats *stats)
{
  double frames = (double)stats->frames;
  printf("\"ms_header\":%.3f,\"ms_packets\":%.3f,\"ms_block_coder\":%.3f,\"ms_transform\":%.3f,"
         "\"corrupt_blocks\":%llu,\"fallbacks\":%llu",
         stats->ms_header / frames, stats->ms_packets / frames, stats->ms_block_coder / frames,
         stats->ms_transform / frames, (unsigned long long)stats->corrupt_blocks,
         (unsigned long long)stats->fallbacks);
}

/* Processor time of the process so far, in seconds. */
static double processor_time(void)
{
  struct rusage usage;

  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void print(const BenchRun *run, const Result *result)
{
  struct rusage usage;
  double frames = result->frames, bytes = (double)result->stats.bytes / frames;
  getrusage(RUSAGE_SELF, &usage);
  bench_sort(result->latencies);
  putchar('{');
  print_string("operation", run->operation);
  print_string("file", run->file);
  print_string("backend", run->backend == CJ2K_BACKEND_CUDA ? "cuda" : "cpu");
  print_string("version", cj2k_version());
  print_string("output", run->output);
  printf("\"in_flight\":%u,\"threads\":%u,\"frames\":%.0f,\"fps\":%.2f,\"ms_p50\":%.3f,"
         "\"ms_p99\":%.3f,\"cpu_ms\":%.3f,\"bytes\":%.0f,\"bpp\":%.3f,\"peak_rss_mb\":%.1f,",
         run->in_flight, result->threads, frames, frames / result->seconds,
         bench_percentile(result->latencies, 0.5), bench_percentile(result->latencies, 0.99),
         result->processor / frames * 1000, bytes, bytes * 8 / (double)run->pixels,
         (double)usage.ru_maxrss / 1024);
  printf("\"rss_mb\":[%.2f,%.2f],\"device_mb\":[%.2f,%.2f],", result->before.host,
         result->after.host, result->before.device, result->after.device);
  print_stats(&result->stats);
  bench_timeline_print(run->timeline, frames);
  puts("}");
  fflush(stdout);
}

/* ----------------------------------------------------------------------------- measure --- */

static Cj2kStatus measure(BenchRun *run, Result *result, Cj2kError *error)
{
  Cj2kStats before;
  /* Warms up until every slot and every packet buffer has its final size, and slots have made their
   * CUDA graphs, with their third frame. */
  Cj2kStatus status = process(run, 4 * MAX(run->in_flight, 2), result->latencies, error);
  if (status != CJ2K_OK)
    return status;
  g_array_set_size(result->latencies, 0);
  bench_timeline_restart(run->timeline);
  run->get_stats(run, &before);
  result->before = bench_memory(run->backend);
  double processor = processor_time();
  gint64 begin = g_get_monotonic_time();
  status = process(run, result->frames, result->latencies, error);
  result->seconds = (double)(g_get_monotonic_time() - begin) / 1e6;
  result->processor = processor_time() - processor;
  result->after = bench_memory(run->backend);
  run->get_stats(run, &result->stats);
  cj2k_stats_subtract(&result->stats, &before);
  return status;
}

int bench_measure(BenchRun *run, const BenchOptions *options)
{
  Cj2kError error = {0};
  Result result = {.frames = (uint32_t)options->frames,
                   .threads = options->threads ? options->threads : g_get_num_processors()};
  result.latencies = g_array_sized_new(FALSE, TRUE, sizeof(double), result.frames + 64);
  Cj2kStatus status = measure(run, &result, &error);
  if (status == CJ2K_OK)
    print(run, &result);
  g_array_unref(result.latencies);
  if (status != CJ2K_OK)
    return bench_fail(run->file, error.text);
  if (options->timeline && !bench_timeline_write(run->timeline, options->timeline))
    return bench_fail(options->timeline, "cannot be written");
  return BENCH_OK;
}
