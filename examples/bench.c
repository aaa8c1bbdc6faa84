/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include "config.h"

#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *const bench_backends[3] = {"auto", "cpu", "cuda"};

/* ------------------------------------------------------------------------- options --- */

bool bench_find_backend(const char *name, Cj2kBackendKind *kind)
{
  for (unsigned i = 0; i < G_N_ELEMENTS(bench_backends); i++) {
    if (!strcmp(name, bench_backends[i])) {
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
      {"output", 0, 0, G_OPTION_ARG_STRING, &options->output, "host or device memory", "WHERE"},
      G_OPTION_ENTRY_NULL};
  g_option_context_add_main_entries(context, entries, NULL);
}

const char *bench_check_options(const BenchOptions *options)
{
  Cj2kBackendKind kind;
  if (options->frames < 1 || options->frames > 1000000)
    return "--frames must be 1 to 1000000";
  if (options->in_flight < 1 || options->in_flight > 16)
    return "--in-flight must be 1 to 16";
  if (options->threads < 0)
    return "--threads must not be negative";
  if (options->backend && !bench_find_backend(options->backend, &kind))
    return "--backend must be auto, cpu or cuda";
  if (options->output && strcmp(options->output, "host") && strcmp(options->output, "device"))
    return "--output must be host or device";
  return NULL;
}

/* ------------------------------------------------------------------------ pictures --- */

static void *allocate(Cj2kMemoryKind kind, size_t size)
{
  void *memory = NULL;
  switch (kind) {
  case CJ2K_MEMORY_HOST: return malloc(size);
#ifdef CJ2K_HAVE_CUDA
  case CJ2K_MEMORY_PINNED: return cudaMallocHost(&memory, size) == cudaSuccess ? memory : NULL;
  case CJ2K_MEMORY_CUDA: return cudaMalloc(&memory, size) == cudaSuccess ? memory : NULL;
#endif
  default: return memory;
  }
}

void bench_picture_free(BenchPicture *picture)
{
  switch (picture->picture.memory) {
#ifdef CJ2K_HAVE_CUDA
  case CJ2K_MEMORY_PINNED: cudaFreeHost(picture->memory); break;
  case CJ2K_MEMORY_CUDA: cudaFree(picture->memory); break;
#endif
  default: free(picture->memory); break;
  }
  g_free(picture->picture.planes);
  memset(picture, 0, sizeof *picture);
}

bool bench_picture_new(BenchPicture *picture, const Cj2kLayout *layout,
                       const Cj2kComponent *components, Cj2kMemoryKind memory)
{
  size_t size = 0;
  memset(picture, 0, sizeof *picture);
  Cj2kPlane *planes = g_new0(Cj2kPlane, layout->num_components);
  for (uint32_t c = 0; c < layout->num_components; c++) {
    size_t row = (size_t)(components[c].x1 - components[c].x0) * layout->samples[c].unit_bytes;
    planes[c].pitch = (row + 255) & ~(size_t)255; /* as GPUs like it */
    planes[c].data = (void *)(uintptr_t)size;     /* for now the offset */
    size += planes[c].pitch * (components[c].y1 - components[c].y0);
  }
  picture->memory = allocate(memory, MAX(size, 1));
  for (uint32_t c = 0; c < layout->num_components; c++)
    planes[c].data = (uint8_t *)picture->memory + (uintptr_t)planes[c].data;
  picture->picture = (Cj2kPicture){memory, layout->num_planes, planes};
  if (!picture->memory)
    bench_picture_free(picture);
  return picture->memory != NULL;
}

/* -------------------------------------------------------------------------- result --- */

static int compare_doubles(gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double percentile(const GArray *sorted, double part)
{
  guint i = (guint)(part * (sorted->len - 1) + 0.5);
  return g_array_index(sorted, double, i);
}

static void print_string(const char *key, const char *value)
{
  char *escaped = g_strescape(value, NULL);
  printf("\"%s\":\"%s\",", key, escaped);
  g_free(escaped);
}

void bench_print(const BenchResult *result)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double frames = result->latencies->len;
  g_array_sort(result->latencies, compare_doubles);
  putchar('{');
  print_string("operation", result->operation);
  print_string("file", result->file);
  print_string("backend", result->backend);
  print_string("version", cj2k_version());
  print_string("output", result->output);
  printf("\"in_flight\":%u,\"threads\":%u,\"frames\":%.0f,\"fps\":%.2f,\"ms_p50\":%.3f,"
         "\"ms_p99\":%.3f,\"bytes\":%.0f,\"bpp\":%.3f,\"peak_rss_mb\":%.1f,",
         result->in_flight, result->threads, frames, frames / result->seconds,
         percentile(result->latencies, 0.5), percentile(result->latencies, 0.99),
         (double)result->bytes / frames,
         (double)result->bytes * 8 / frames / (double)result->pixels,
         (double)usage.ru_maxrss / 1024);
  printf("\"ms_header\":%.3f,\"ms_packets\":%.3f,\"ms_block_coder\":%.3f,\"ms_transform\":%.3f,"
         "\"corrupt_blocks\":%llu,\"fallbacks\":%llu}\n",
         result->stats.ms_header / (double)result->stats.frames,
         result->stats.ms_packets / (double)result->stats.frames,
         result->stats.ms_block_coder / (double)result->stats.frames,
         result->stats.ms_transform / (double)result->stats.frames,
         (unsigned long long)result->stats.corrupt_blocks,
         (unsigned long long)result->stats.fallbacks);
  fflush(stdout);
}
