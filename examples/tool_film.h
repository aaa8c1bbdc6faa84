/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encodes or decodes a sequence of frames: several are read, coded and written at the same time,
 * frames whose output is there are skipped, and each failure names its frame.
 */
#ifndef EXAMPLES_TOOL_FILM_H
#define EXAMPLES_TOOL_FILM_H

#include "tool_files.h"
#include "tool_sequence.h"

/* How a step of a frame, and a whole film, ended; also the exit status of the tools. */
typedef enum {
  TOOL_DONE = 0,
  TOOL_FRAME_FAILED = 1, /* this frame; others are not affected */
  TOOL_WRONG = 2,        /* the options do not fit the pictures; nothing more can be done */
  TOOL_STOPPED = 3,      /* nothing more can be done: no room on the disk, or the GPU failed */
} ToolResult;

typedef struct {
  uint32_t number; /* in the names */
  uint32_t place;  /* in the film: the number for which rate-period counts */
  char *in, *out;
  /* False: the output is there, and the frame is coded only because later ones learn from it. */
  bool wanted;
  void *data; /* of the functions below */
} ToolFrame;

#define TOOL_WHY 320 /* bytes of `why` */

/* What is done with a frame. Each function writes a sentence into `why` if it fails. */
typedef struct {
  /* Reads frame->in. Several threads do this at once. */
  ToolResult (*read)(void *ctx, ToolFrame *frame, char *why);
  /* Hands the frame to the codec; one thread, in order. anew: the frame does not follow the one
   * before it, and none is being coded. */
  ToolResult (*submit)(void *ctx, ToolFrame *frame, bool anew, char *why);
  /* Receives the oldest frame that was submitted; another thread, in order. */
  ToolResult (*receive)(void *ctx, ToolFrame *frame, char *why);
  /* Writes frame->out. Several threads do this at once. */
  ToolResult (*write)(void *ctx, ToolFrame *frame, char *why);
  /* Frees frame->data, which may be NULL. */
  void (*clear)(void *ctx, ToolFrame *frame);
  /* Whether the output of a frame is there and whole. */
  bool (*is_there)(void *ctx, const char *out);
} ToolFilmWork;

typedef struct {
  const char *tool;   /* for messages, as "cj2k-encode" */
  const char *in;     /* pattern */
  const char *out;    /* pattern, a folder, or TOOL_NOWHERE */
  const char *ending; /* of files in an output folder */
  const ToolSequenceOptions *options;
  uint32_t in_flight; /* of the codec */
  /* Each frame learns from earlier ones, but not from those before a number that is a multiple of
   * `period`; 0: there is no such number. Frames are submitted so that they have the bytes of a
   * film that was coded at once. */
  bool learns;
  uint32_t period;
  const uint32_t *first_place; /* place of the first frame; NULL: its number */
  const ToolFilmWork *work;
  void *ctx;
} ToolFilmJob;

/* Whether the command line has one input, which is a sequence, and an output. Their names stay the
 * caller's. */
bool tool_film_names(char **names, const char *output, ToolFile *film);

/* False with *error set: the names or numbers are wrong; an output that is its own input is, too.
 */
bool tool_film_check(const ToolFilmJob *job, GError **error);

/* Does it. False with *error set: the names or numbers are wrong, and nothing was done. */
bool tool_film_run(const ToolFilmJob *job, ToolResult *result, GError **error);

#endif
