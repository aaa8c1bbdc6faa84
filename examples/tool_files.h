/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files that a tool reads and writes, from the names on its command line. */
#ifndef EXAMPLES_TOOL_FILES_H
#define EXAMPLES_TOOL_FILES_H

#include <glib.h>
#include <stdbool.h>

/* One input, and where its result goes: "-" is standard input and output, TOOL_NOWHERE leaves the
 * result out. */
typedef struct {
  char *in, *out;
} ToolFile;

#define TOOL_NOWHERE "/dev/null"

/* What a tool reads and writes. */
typedef struct {
  const char *const
      *inputs;        /* endings of names that are taken from a folder, with NULL behind them */
  const char *ending; /* of names in a folder of results, with its dot */
  /* Can the name be that of a file of results? Else, where several are to be written, it is a
   * folder's to be made. */
  bool (*is_output)(const char *name);
} ToolKinds;

/*
 * Pairs inputs with outputs. `names` are the arguments: inputs, and with `output` NULL the last one
 * is the output. An input that is a folder stands for the files in it with one of the endings, by
 * name. With one input the output is a file; a folder, or a name that ends in a slash, gets a file
 * of the input's name with kinds->ending; and so do several inputs, which need a folder, "-" or
 * TOOL_NOWHERE. Returns an array of ToolFile to be freed with g_array_unref; NULL: *error says what
 * is wrong.
 */
GArray *tool_files_pair(char **names, const char *output, const ToolKinds *kinds, GError **error);

/* Inputs alone: `out` is NULL in each. */
GArray *tool_files_list(char **names, const char *const *inputs, GError **error);

/* Names of codestreams, JP2 and JPH files. */
extern const char *const tool_coded_endings[];

#endif
