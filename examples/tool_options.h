/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Command line options of the tools, made from the library's table of options. */
#ifndef EXAMPLES_TOOL_OPTIONS_H
#define EXAMPLES_TOOL_OPTIONS_H

#include "common/options/option.h"

#include <glib.h>

#define TOOL_MAX_OPTIONS 64

/* Options on the command line; their values go into `params`, the struct of the table. */
typedef struct {
  const Cj2kOptionTable *table;
  void *params;
  const char *given[TOOL_MAX_OPTIONS]; /* by index in the table: the value; NULL: not given */
  GPtrArray *texts;                    /* owned: texts of the help, and values */
} ToolOptions;

/* `params` hold the tool's defaults, which may differ from the library's. */
void tool_options_init(ToolOptions *options, const Cj2kOptionTable *table, void *params);
void tool_options_clear(ToolOptions *options);
/* The options as a group of a GOptionContext; `options` must stay where it is. A value that is out
 * of range makes parsing fail with a sentence that names option, value and range. */
GOptionGroup *tool_options_group(ToolOptions *options, const char *name, const char *title,
                                 const char *summary);
/* g_option_context_parse(), which would not notice that a switch was given a value ("--sop=false").
 */
bool tool_options_parse(const ToolOptions *options, GOptionContext *context, int *argc,
                        char ***argv, GError **error);
/* The value that was given for an option; NULL: none. */
const char *tool_options_given(const ToolOptions *options, const char *name);

/* For options of a tool's own: an integer in this range at `user_data`, from a callback's value.
 * False: *error says what is expected. */
bool tool_parse_integer(const char *option, const char *value, gint64 min, gint64 max,
                        gint64 *result, GError **error);

#endif
