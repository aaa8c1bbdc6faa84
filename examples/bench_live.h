/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of cj2k-bench live: a stream, and the two ways in which its frames are coded, by the
 * library and by the elements.
 */
#ifndef EXAMPLES_BENCH_LIVE_H
#define EXAMPLES_BENCH_LIVE_H

#include "bench_film.h"

#define LIVE_MAX_PLANES 4
/* More frames than are on their way at once in a stream. */
#define LIVE_RING (4 * CJ2K_MAX_IN_FLIGHT)

#define LIVE_WARM_UP 60 /* frames of the stream that starts last before frames are counted */
#define LIVE_STORED  (2 * BENCH_FILM_SHOT) /* codestreams that are decoded over and over */

typedef struct {
  BenchOptions bench;
  EncodeOptions encode;
  char *direction, *size;
  int streams; /* of each process */
  int processes;
  double fps;
  gboolean elements, cut_together;
  /* of the above */
  bool encodes, decodes;
  uint32_t width, height;
} LiveOptions;

/* A codestream. */
typedef struct {
  uint8_t *data;
  size_t size, capacity;
} LiveBytes;

typedef struct Live Live;

typedef struct {
  Live *live;
  uint32_t number;
  void *codec; /* encoder and decoder, of the LiveWay */
  GThread *threads[3];
  gint warm; /* atomic: its first frame has been coded */
  /* When frame i % LIVE_RING was due (0: before the clock), and when it reached the decoder. */
  gint64 due[LIVE_RING], handed_over[LIVE_RING];
  GArray *encode_ms, *decode_ms;         /* double: latency of each frame after the warm-up */
  uint32_t late_encoding, late_decoding; /* late frames of the warm-up */
  uint64_t bytes;
} LiveStream;

/* A way to code frames. */
typedef struct {
  /* Opens encoder and decoder of a stream. false: *error says why not; close() in any case. */
  bool (*open)(LiveStream *stream, Cj2kError *error);
  /* Starts the threads of the stream; the first one calls live_pace(). All end after the last
   * frame. */
  void (*start)(LiveStream *stream);
  /* Hands frame i over: a picture, or a codestream if the stream only decodes. false: failed. */
  bool (*submit)(LiveStream *stream, uint32_t i);
  void (*close)(LiveStream *stream);
} LiveWay;

extern const LiveWay live_library;
/* The elements cudaj2kenc and cudaj2kdec. NULL: this build is without GStreamer. */
const LiveWay *live_elements(void);

struct Live {
  const LiveOptions *options;
  const LiveWay *way;
  BenchFilm film;
  LiveStream *streams;
  LiveBytes stored[LIVE_STORED];
  int process, channel; /* number, and to the parent; -1: there is one process alone */
  GMutex lock;          /* of what follows, and of the streams' becoming warm */
  GCond changed;
  gint64 begin; /* when frame 0 of stream 0 is due; 0: not all streams are warm */
  gint failed;  /* atomic */
  BenchMemory before, after;
  Cj2kBackendKind backend;
};

typedef struct {
  double seconds, processor, energy; /* energy in joule; below 0: unknown */
} LiveUsage;

/* Says once why the measurement ends, and ends it. */
void live_fail(Live *live, const char *doing, const char *why);
void live_store(LiveBytes *bytes, const uint8_t *data, size_t size);
/* Frames of a stream that are not counted: all streams must run, which start one after the other, a
 * frame apart. */
uint32_t live_warm_up(const LiveStream *stream);
/* Sets planes[] to frame i of a stream. Streams of all processes have different films. */
void live_frame(const LiveStream *stream, uint32_t i, Cj2kPlane *planes);
/* The codestream of frame i of a stream that only decodes: all streams have the same film then. */
const LiveBytes *live_codestream(const LiveStream *stream, uint32_t i);
/* Hands frames over until the first one has been coded, with which a codec allocates its memory.
 * When all streams of all processes have come to this point, it hands the others over at the pace
 * of the frame rate, those of the streams spread evenly over its period. Returns after the last
 * one, or after a failure. */
void live_pace(LiveStream *stream);
/* Frame i has left the encoder (or the decoder). */
void live_encoded(LiveStream *stream, uint32_t i, size_t size);
void live_decoded(LiveStream *stream, uint32_t i);

/* --- bench_live_processes.c --- */

/* What a process does; its channel is for live_meet(). Returns the exit status. */
typedef int (*LiveProcess)(void *ctx, int number, int channel);
/* Runs `count` processes. If one of them fails, however it ends, the others are ended. Returns
 * BENCH_OK, or BENCH_FAILED with a message. Must be called before there are threads, and before
 * CUDA is used, which a process cannot inherit. */
int live_processes(int count, LiveProcess run, void *ctx);
/* Waits until all processes have called it as often as this one. Returns a time that is the same
 * for all of them; below 0: the others have failed. With a channel of -1 there are no others. */
gint64 live_meet(int channel);

/* --- bench_live_result.c --- */

LiveUsage live_usage(void);
/* Prints the result as one JSON object; before: when the streams had warmed up. */
void live_print(const Live *live, const LiveUsage *before, const LiveUsage *after);

#endif
