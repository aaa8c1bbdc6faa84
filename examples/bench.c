/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <string.h>

void bench_add_options(GOptionContext *context, BenchOptions *options)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options->frames,
       "Frames to measure (1..1000000; default 20)", "N"},
      {"output", 0, 0, G_OPTION_ARG_STRING, &options->output,
       "Memory of the pictures: host or device", "WHERE"},
      {"stages", 0, 0, G_OPTION_ARG_NONE, &options->stages,
       "Print GPU times of each stage, and of overlapping copies and kernels", NULL},
      {"timeline", 0, 0, G_OPTION_ARG_FILENAME, &options->timeline,
       "Write begin and end of each stage on each stream of the GPU, as JSON", "FILE"},
      {"together", 0, 0, G_OPTION_ARG_NONE, &options->together,
       "Process all FILEs as one frame, each by an encoder or decoder of its own", NULL},
      G_OPTION_ENTRY_NULL};
  g_option_context_add_main_entries(context, entries, NULL);
}

const char *bench_check_options(const BenchOptions *options)
{
  if (options->frames < 1 || options->frames > 1000000)
    return "--frames must be 1 to 1000000";
  if (options->output && strcmp(options->output, "host") != 0 &&
      strcmp(options->output, "device") != 0)
    return "--output must be host or device";
  return NULL;
}

void bench_clear_options(BenchOptions *options)
{
  g_free(options->output);
  g_free(options->timeline);
}

int bench_fail(const char *path, const char *why)
{
  g_printerr("cj2k-bench: %s: %s\n", path, why);
  return BENCH_FAILED;
}
