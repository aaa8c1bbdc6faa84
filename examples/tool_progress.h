/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a tool says on standard error about a sequence of frames: progress, failures, a summary. The
 * caller's lock guards it. */
#ifndef EXAMPLES_TOOL_PROGRESS_H
#define EXAMPLES_TOOL_PROGRESS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const char *tool;
  bool terminal, lines;      /* progress is overwritten on a terminal, or printed in lines */
  uint32_t frames;           /* of the sequence */
  uint32_t there;            /* of these, those that need not be done */
  uint32_t again;            /* of the latter, those that are coded, but not written */
  uint32_t done;             /* in this run */
  gint64 start, shown;       /* monotonic, microseconds; shown 0: not yet */
  GArray *failed, *left_out; /* numbers of frames, uint32_t */
} ToolProgress;

/* lines: print progress also where standard error is not a terminal. */
void tool_progress_init(ToolProgress *progress, const char *tool, bool lines);
void tool_progress_clear(ToolProgress *progress);
/* Begins to measure time. `frames` and `there` are set. */
void tool_progress_start(ToolProgress *progress);
/* A frame is done. */
void tool_progress_done(ToolProgress *progress);
/* A frame has failed. why NULL: what caused it has been reported. */
void tool_progress_fail(ToolProgress *progress, uint32_t number, const char *why);
/* A frame was not tried, because of an earlier one. */
void tool_progress_leave_out(ToolProgress *progress, uint32_t number);
/* Prints the summary. stopped: not all frames were tried. True if a frame has failed or was left
 * out. */
bool tool_progress_end(ToolProgress *progress, bool stopped);

#endif
