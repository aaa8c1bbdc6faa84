/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of cj2k-bench: what the measurements of decoder and encoder share.
 */
#ifndef EXAMPLES_BENCH_H
#define EXAMPLES_BENCH_H

#include "cj2k.h"

#include <glib.h>

enum { BENCH_OK = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 };

/* Options of both operations, apart from encoder and decoder parameters. */
typedef struct {
  int frames;
  uint32_t threads; /* of the parameters */
  char *output;     /* host, device */
  char *timeline;   /* file for all spans */
  gboolean stages, together;
} BenchOptions;

/* Adds the options; `options` must stay valid until they are parsed. */
void bench_add_options(GOptionContext *context, BenchOptions *options);
/* Checks the values. Returns a message, or NULL when they are valid. */
const char *bench_check_options(const BenchOptions *options);
void bench_clear_options(BenchOptions *options);

/* --- bench_timeline.c: times of copies and kernels on the GPU --- */

typedef struct {
  GMutex lock;
  GArray *spans;
  bool on;
} BenchTimeline;

void bench_timeline_init(BenchTimeline *timeline, const BenchOptions *options);
void bench_timeline_clear(BenchTimeline *timeline);
/* The trace callback for encoder and decoder; NULL: no option needs it. */
Cj2kTrace bench_timeline_trace(const BenchTimeline *timeline);
/* Drops all spans so far. */
void bench_timeline_restart(BenchTimeline *timeline);
/* Prints members of the result's JSON object: milliseconds per frame of each stage, of copies, of
 * kernels, and of both at once. */
void bench_timeline_print(const BenchTimeline *timeline, double frames);
/* False: the file cannot be written. */
bool bench_timeline_write(const BenchTimeline *timeline, const char *path);

/* --- bench_memory.c --- */

/* Planes of a picture in host memory (page-locked when the back end is CUDA) or on the device. */
typedef struct {
  Cj2kPicture picture;
  void *memory;
} BenchPicture;
/* Allocates a picture for a layout; x1 and y1 of its components are columns and rows. false: out of
 * memory, or not possible in this build. */
bool bench_picture_new(BenchPicture *picture, const Cj2kLayout *layout,
                       const Cj2kComponent *components, Cj2kMemoryKind memory);
/* Copies planes in host memory into the picture. false: CUDA failed. */
bool bench_picture_fill(const BenchPicture *picture, const Cj2kLayout *layout,
                        const Cj2kComponent *components, const Cj2kPlane *from);
void bench_picture_free(BenchPicture *picture);

/* Memory in use, in MB: of this process on the host, and of all processes on its GPU (0: no GPU).
 */
typedef struct {
  double host, device;
} BenchMemory;
BenchMemory bench_memory(Cj2kBackendKind backend);

/* --- bench_run.c --- */

/* An encoder or decoder under measurement. */
typedef struct BenchRun BenchRun;
struct BenchRun {
  Cj2kStatus (*submit)(BenchRun *run, uint32_t index, Cj2kError *error);
  Cj2kStatus (*receive)(BenchRun *run,
                        Cj2kError *error); /* also releases; returns the frame's status */
  void (*get_stats)(BenchRun *run, Cj2kStats *stats);
  const char *operation, *file, *output;
  Cj2kBackendKind backend;
  uint64_t pixels; /* of one frame */
  uint32_t in_flight;
  BenchPicture pictures[CJ2K_MAX_IN_FLIGHT];
  gint64 submitted[CJ2K_MAX_IN_FLIGHT];
  BenchTimeline *timeline;
};

/* Sorts doubles, and the value that a part (0..1) of sorted ones does not exceed; 0 for none. */
void bench_sort(GArray *values);
double bench_percentile(const GArray *sorted, double part);
/* Pictures are in the memory of the codec's GPU, or pinned there. In the memory of a GPU they lie
 * on one, which becomes GPU 0 if it was not chosen (-1). */
void bench_choose_gpu(const BenchOptions *options, int *cuda_device);
/* The kind of memory for the pictures, by options and back end. */
Cj2kMemoryKind bench_memory_kind(Cj2kBackendKind backend, const BenchOptions *options);
/* Processes some frames to warm up, then those that are measured. Prints the result as one JSON
 * object on a line of standard output. */
int bench_measure(BenchRun *run, const BenchOptions *options);
/* Prints an error message about a file. Returns BENCH_FAILED. */
int bench_fail(const char *path, const char *why);

/* --- bench_files.c --- */

/* Opens and closes the encoder or decoder of a file. */
typedef struct {
  /* NULL: failed, with a message; *status is then the exit status. */
  BenchRun *(*open)(const void *options, const char *path, BenchTimeline *timeline, int *status);
  void (*close)(BenchRun *run);
  const void *options;
} BenchOpener;
/* Measures the files one after the other, or all together. Returns BENCH_OK, or the status of the
 * first failure. */
int bench_files(const BenchOptions *options, const BenchOpener *opener, char **paths, int count);

int bench_decode(int argc, char **argv);
int bench_encode(int argc, char **argv);
int bench_live(int argc, char **argv);
int bench_bus(int argc, char **argv);

#endif
