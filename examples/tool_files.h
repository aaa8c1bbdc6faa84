/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files that a tool reads and writes, from the names on its command line. */
#ifndef EXAMPLES_TOOL_FILES_H
#define EXAMPLES_TOOL_FILES_H

#include <glib.h>
#include <stdbool.h>

/* One input and the file for its result. "-" is standard input or output; a result for TOOL_NOWHERE
 * is not written. */
typedef struct {
  char *in, *out;
} ToolFile;

#define TOOL_NOWHERE "/dev/null"

/* Whether an output's name is that of a folder, which need not exist if it ends in a slash. */
bool tool_is_folder(const char *name);

/* Whether writing `out` would replace the file `in`: they have the same name or, if both exist, are
 * the same file by two names. */
bool tool_is_same_file(const char *in, const char *out);
#define TOOL_SAME_FILE "%s would be overwritten by its own result"

/* What a tool reads and writes. */
typedef struct {
  const char *const
      *inputs;        /* endings of the files that are read from a folder; NULL ends the list */
  const char *ending; /* of result files in a folder, with its dot */
  /* Whether a name is that of a result file. For several results any other name is that of a
   * folder, which is made. */
  bool (*is_output)(const char *name);
} ToolKinds;

/*
 * Pairs inputs with outputs. `names` are the arguments, all of them inputs; when `output` is NULL
 * the last one is the output. An input folder stands for its files with one of the endings, sorted
 * by name. An output folder, or a name that ends in a slash, gets a file of each input's name with
 * kinds->ending. Several inputs need a folder, "-" or TOOL_NOWHERE as output. Returns an array of
 * ToolFile, to be freed with g_array_unref(); NULL with *error set on failure.
 */
GArray *tool_files_pair(char **names, const char *output, const ToolKinds *kinds, GError **error);

/* The same for inputs alone; `out` is NULL in each. */
GArray *tool_files_list(char **names, const char *const *inputs, GError **error);

/* Endings of codestreams, JP2 and JPH files. */
extern const char *const tool_coded_endings[];

#endif
