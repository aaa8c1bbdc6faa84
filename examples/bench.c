/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <string.h>

static const char *const backends[3] = {"auto", "cpu", "cuda"}; /* by Cj2kBackendKind */

bool bench_find_backend(const char *name, Cj2kBackendKind *kind)
{
  for (unsigned i = 0; i < G_N_ELEMENTS(backends); i++) {
    if (!strcmp(name, backends[i])) {
      *kind = (Cj2kBackendKind)i;
      return true;
    }
  }
  return false;
}

void bench_add_options(GOptionContext *context, BenchOptions *options)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options->frames, "Frames to measure (20)", "N"},
      {"in-flight", 0, 0, G_OPTION_ARG_INT, &options->in_flight, "Frames in flight, 1 to 16 (2)",
       "N"},
      {"threads", 0, 0, G_OPTION_ARG_INT, &options->threads, "Threads (0: one a core)", "N"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &options->backend, "auto, cpu or cuda", "NAME"},
      {"output", 0, 0, G_OPTION_ARG_STRING, &options->output,
       "Where pictures lie: host or device memory", "WHERE"},
      {"stages", 0, 0, G_OPTION_ARG_NONE, &options->stages,
       "Also the GPU's time for each stage, and for copies and kernels at once", NULL},
      {"timeline", 0, 0, G_OPTION_ARG_STRING, &options->timeline,
       "Write what each stream of the GPU did when, as JSON", "FILE"},
      {"together", 0, 0, G_OPTION_ARG_NONE, &options->together,
       "A frame is one of each FILE, each with an encoder or decoder of its own", NULL},
      G_OPTION_ENTRY_NULL};
  g_option_context_add_main_entries(context, entries, NULL);
}

const char *bench_check_options(const BenchOptions *options)
{
  Cj2kBackendKind kind;
  if (options->frames < 1 || options->frames > 1000000)
    return "--frames must be 1 to 1000000";
  if (options->in_flight < 1 || options->in_flight > BENCH_MAX_IN_FLIGHT)
    return "--in-flight must be 1 to 16";
  if (options->threads < 0)
    return "--threads must not be negative";
  if (options->backend && !bench_find_backend(options->backend, &kind))
    return "--backend must be auto, cpu or cuda";
  if (options->output && strcmp(options->output, "host") && strcmp(options->output, "device"))
    return "--output must be host or device";
  return NULL;
}

void bench_clear_options(BenchOptions *options)
{
  g_free(options->backend);
  g_free(options->output);
  g_free(options->timeline);
}

int bench_fail(const char *path, const char *why)
{
  g_printerr("cj2k-bench: %s: %s\n", path, why);
  return BENCH_FAILED;
}
