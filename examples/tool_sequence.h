/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sequences: files whose names differ in a frame number, named by a pattern as in.%07d.dpx. */
#ifndef EXAMPLES_TOOL_SEQUENCE_H
#define EXAMPLES_TOOL_SEQUENCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define TOOL_MAX_FRAME INT32_MAX

/* A name with one %d, %Nd or %0Nd; %% stands for a percent sign. */
typedef struct {
  char *before, *after;
  unsigned width; /* least number of characters of the number */
  bool zeros;     /* it is filled with zeros, not with spaces */
} ToolPattern;

/* Whether this is a pattern and not the name of a file that is there. */
bool tool_pattern_is(const char *name);
/* False with *error set: `text` is not a pattern. */
bool tool_pattern_parse(ToolPattern *pattern, const char *text, GError **error);
void tool_pattern_clear(ToolPattern *pattern);
/* The name of a frame. Free with g_free(). */
char *tool_pattern_name(const ToolPattern *pattern, uint32_t number);
/* The pattern itself, with `folder` (NULL: its own) and `ending` in place of the name's. */
char *tool_pattern_in_folder(const char *pattern, const char *folder, const char *ending);

/* First and last frame of a sequence. */
typedef struct {
  uint32_t first, last;
} ToolFrames;

/* Options of the tools for sequences. */
typedef struct {
  char *frames; /* --frames; NULL: not given */
  gboolean overwrite, progress;
} ToolSequenceOptions;

/* Adds the options to the main ones; `options` must stay where it is. */
void tool_sequence_add_options(ToolSequenceOptions *options, GOptionContext *context);
/* Whether one of them was given; without a sequence that is an error, TOOL_NO_SEQUENCE. */
bool tool_sequence_given(const ToolSequenceOptions *options);
#define TOOL_NO_SEQUENCE                                                                           \
  "--frames, --overwrite and --progress are for a sequence: one input with a number in its name, " \
  "such as in.%07d.dpx"
void tool_sequence_options_clear(ToolSequenceOptions *options);

/* The frames of --frames: "A-B", "A-" to the last file that is there, "A" alone. Without the
 * option, all from the lowest to the highest number that a file has. */
bool tool_sequence_frames(const ToolSequenceOptions *options, const ToolPattern *pattern,
                          ToolFrames *frames, GError **error);

#endif
