/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k-bench, inside: what measuring the decoder and measuring the encoder have in common.
 */
#ifndef EXAMPLES_BENCH_H
#define EXAMPLES_BENCH_H

#include "cj2k.h"

#include <glib.h>

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 };

/* Options of both. */
typedef struct {
  int frames, in_flight, threads;
  char *backend; /* auto, cpu, cuda */
  char *output;  /* host, device */
} BenchOptions;

extern const char *const bench_backends[3]; /* by Cj2kBackendKind */
/* False: not one of them. */
bool bench_find_backend(const char *name, Cj2kBackendKind *kind);
/* The entries of BenchOptions; points into *options. */
void bench_add_options(GOptionContext *context, BenchOptions *options);
/* NULL, or what is wrong with them. */
const char *bench_check_options(const BenchOptions *options);

/* Planes of a picture in host memory (page-locked when the back end is CUDA) or on the device. */
typedef struct {
  Cj2kPicture picture;
  void *memory;
} BenchPicture;
/* Room for the components in cj2k_layout_planar's shape; false: not possible in this build or no
 * memory. */
bool bench_picture_new(BenchPicture *picture, const Cj2kLayout *layout,
                       const Cj2kComponent *components, Cj2kMemoryKind memory);
void bench_picture_free(BenchPicture *picture);

/* Times of frames, in milliseconds. */
typedef struct {
  const char *operation, *file, *backend, *output;
  uint32_t in_flight, threads;
  uint64_t bytes;    /* of codestreams, all frames */
  uint64_t pixels;   /* of one frame */
  double seconds;    /* from the first submit to the last receive */
  GArray *latencies; /* double, one a frame: submit to receive */
  Cj2kStats stats;
} BenchResult;
/* One JSON object on one line of stdout. */
void bench_print(const BenchResult *result);

int bench_decode(int argc, char **argv);
int bench_encode(int argc, char **argv);

#endif
