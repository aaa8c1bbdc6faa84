/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k-bench, inside: what measuring the decoder and measuring the encoder have in common.
 */
#ifndef EXAMPLES_BENCH_H
#define EXAMPLES_BENCH_H

#include "cj2k.h"

#include <glib.h>

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 };

/* Options of both, but for the parameters of encoder and decoder. */
typedef struct {
  int frames;
  uint32_t threads; /* of the parameters */
  char *output;     /* host, device */
  char *timeline;   /* file for all spans */
  gboolean stages, together;
} BenchOptions;

/* The entries of BenchOptions; points into *options. */
void bench_add_options(GOptionContext *context, BenchOptions *options);
/* NULL, or what is wrong with them. */
const char *bench_check_options(const BenchOptions *options);
void bench_clear_options(BenchOptions *options);

/* --- bench_timeline.c: what the GPU did when --- */

typedef struct {
  GMutex lock;
  GArray *spans;
  bool on;
} BenchTimeline;

void bench_timeline_init(BenchTimeline *timeline, const BenchOptions *options);
void bench_timeline_clear(BenchTimeline *timeline);
/* A Cj2kTrace; NULL where none is wanted. */
Cj2kTrace bench_timeline_trace(const BenchTimeline *timeline);
/* Forgets what came so far. */
void bench_timeline_restart(BenchTimeline *timeline);
/* Members of the result's JSON object: milliseconds of each stage, and of copies, kernels, and both
 * at once, a frame. */
void bench_timeline_print(const BenchTimeline *timeline, double frames);
/* False: the file cannot be written. */
bool bench_timeline_write(const BenchTimeline *timeline, const char *path);

/* --- bench_memory.c --- */

/* Planes of a picture in host memory (page-locked when the back end is CUDA) or on the device. */
typedef struct {
  Cj2kPicture picture;
  void *memory;
} BenchPicture;
/* Room for the components (one for each of the layout, whose x and y are its columns and rows);
 * false: not possible in this build or no memory. */
bool bench_picture_new(BenchPicture *picture, const Cj2kLayout *layout,
                       const Cj2kComponent *components, Cj2kMemoryKind memory);
/* Copies planes in host memory into a picture of that shape; false: CUDA failed. */
bool bench_picture_fill(const BenchPicture *picture, const Cj2kLayout *layout,
                        const Cj2kComponent *components, const Cj2kPlane *from);
void bench_picture_free(BenchPicture *picture);

/* Memory in use now, in MB: of this process on the host, and of all on its GPU (0: none). */
typedef struct {
  double host, device;
} BenchMemory;
BenchMemory bench_memory(Cj2kBackendKind backend);

/* --- bench_run.c --- */

#define BENCH_MAX_IN_FLIGHT 16

/* An encoder or decoder under measurement. */
typedef struct BenchRun BenchRun;
struct BenchRun {
  Cj2kStatus (*submit)(BenchRun *run, uint32_t place, Cj2kError *error);
  Cj2kStatus (*receive)(BenchRun *run, Cj2kError *error); /* and release; the frame's status */
  void (*get_stats)(BenchRun *run, Cj2kStats *stats);
  const char *operation, *file, *output;
  Cj2kBackendKind backend;
  uint64_t pixels; /* of one frame */
  uint32_t in_flight;
  BenchPicture pictures[BENCH_MAX_IN_FLIGHT];
  gint64 submitted[BENCH_MAX_IN_FLIGHT];
  BenchTimeline *timeline;
};

/* Host or device memory for the pictures, by options and back end. */
Cj2kMemoryKind bench_memory_kind(const BenchRun *run, const BenchOptions *options);
/* Some frames to warm up, then those that count; the result as one JSON object on one line of
 * stdout. */
int bench_measure(BenchRun *run, const BenchOptions *options);
/* Says what went wrong with a file. */
int bench_fail(const char *path, const char *why);

/* --- bench_files.c --- */

/* Opens and closes the encoder or decoder of a file. */
typedef struct {
  BenchRun *(*open)(const void *options, const char *path,
                    BenchTimeline *timeline); /* NULL: said why */
  void (*close)(BenchRun *run);
  const void *options;
} BenchOpener;
/* Measures the files, one after the other or all together; BENCH_OK, or what the first that failed
 * returned. */
int bench_files(const BenchOptions *options, const BenchOpener *opener, char **paths, int count);

int bench_decode(int argc, char **argv);
int bench_encode(int argc, char **argv);
int bench_bus(int argc, char **argv);

#endif
