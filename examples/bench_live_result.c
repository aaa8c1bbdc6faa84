/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench_live.h"

#include "bench_gpus.h"

#include <stdio.h>
#include <sys/resource.h>

/* Prints the latencies of a direction: of all streams, and the p99 of the median and of the worst
 * stream. Sorts the arrays. */
static void print_latencies(const Live *live, const char *name, bool encode)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(double)),
         *p99 = g_array_new(FALSE, FALSE, sizeof(double));
  double period = 1000 / live->options->fps;
  uint64_t late = 0, late_at_start = 0;
  for (int s = 0; s < live->options->streams; s++) {
    const LiveStream *stream = &live->streams[s];
    GArray *one = encode ? stream->encode_ms : stream->decode_ms;
    late_at_start += encode ? stream->late_encoding : stream->late_decoding;
    bench_sort(one);
    double own = bench_percentile(one, 0.99);
    g_array_append_val(p99, own);
    g_array_append_vals(all, one->data, one->len);
  }
  bench_sort(all);
  bench_sort(p99);
  for (guint i = 0; i < all->len; i++)
    late += g_array_index(all, double, i) > period;
  printf("\"%s\":{\"frames\":%u,\"late\":%llu,\"late_at_start\":%llu,"
         "\"ms_p50\":%.3f,\"ms_p99\":%.3f,\"ms_p99.9\":%.3f,"
         "\"ms_max\":%.3f,\"ms_p99_median_stream\":%.3f,\"ms_p99_worst_stream\":%.3f},",
         name, all->len, (unsigned long long)late, (unsigned long long)late_at_start,
         bench_percentile(all, 0.5), bench_percentile(all, 0.99), bench_percentile(all, 0.999),
         bench_percentile(all, 1), bench_percentile(p99, 0.5), bench_percentile(p99, 1));
  g_array_unref(all);
  g_array_unref(p99);
}

static double processor_seconds(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

LiveUsage live_usage(void)
{
  return (LiveUsage){(double)g_get_monotonic_time() / 1e6, processor_seconds(),
                     bench_gpus_energy()};
}

void live_print(const Live *live, const LiveUsage *before, const LiveUsage *after)
{
  const LiveOptions *options = live->options;
  const Cj2kEncoderParams *params = &options->encode.params;
  double streams = options->streams, seconds = after->seconds - before->seconds;
  double frames = (double)options->bench.frames * streams; /* since `before` */
  double everywhere = streams * options->processes;        /* streams of all processes */
  double processor = after->processor - before->processor, bytes = 0, all = frames;
  for (int s = 0; s < options->streams; s++) {
    bytes += (double)live->streams[s].bytes;
    all += live_warm_up(&live->streams[s]);
  }
  printf(
      "{\"operation\":\"live\",\"backend\":\"%s\",\"version\":\"%s\",\"direction\":\"%s\",\"elements\":%s,"
      "\"cut_together\":%s,"
      "\"streams\":%.0f,\"processes\":%d,\"fps\":%g,\"width\":%u,\"height\":%u,\"in_flight\":%u,\"threads\":%u,",
      live->backend == CJ2K_BACKEND_CUDA ? "cuda" : "cpu", cj2k_version(), options->direction,
      options->elements ? "true" : "false", options->cut_together ? "true" : "false", streams,
      options->processes, options->fps, live->film.image.width, live->film.image.height,
      params->frames_in_flight, params->num_threads);
  if (options->encodes) {
    print_latencies(live, "encode", true);
    printf("\"bytes\":%.0f,", bytes / all);
  }
  if (options->decodes)
    print_latencies(live, "decode", false);
  printf("\"cores\":%.3f,\"cores_per_stream\":%.4f,\"processor_ms_per_frame\":%.3f,"
         "\"host_mb_per_stream\":%.1f,\"device_mb_per_stream\":%.1f",
         processor / seconds, processor / seconds / streams, processor * 1000 / frames,
         (live->after.host - live->before.host) / streams,
         (live->after.device - live->before.device) / everywhere);
  if (before->energy >= 0)
    printf(",\"joule_per_frame\":%.4f",
           (after->energy - before->energy) / frames / options->processes);
  puts("}");
  fflush(stdout);
}
