/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_files.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

const char *const tool_coded_endings[] = {".j2c", ".j2k", ".jpc", ".jhc", ".jp2",
                                          ".jph", ".j2h", ".jpf", ".jpx", NULL};

static bool fail(GError **error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(GError **error, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, text);
  g_free(text);
  return false;
}

static void clear_file(gpointer data)
{
  ToolFile *file = data;
  g_free(file->in);
  g_free(file->out);
}

static GArray *new_list(void)
{
  GArray *files = g_array_new(FALSE, FALSE, sizeof(ToolFile));
  g_array_set_clear_func(files, clear_file);
  return files;
}

static bool is_folder(const char *name)
{
  return g_file_test(name, G_FILE_TEST_IS_DIR);
}

bool tool_is_folder(const char *name)
{
  return is_folder(name) || g_str_has_suffix(name, "/");
}

static bool is_stream(const char *name)
{
  return !strcmp(name, "-") || !strcmp(name, TOOL_NOWHERE);
}

/* ----------------------------------------------------------------------------- inputs --- */

static bool has_ending(const char *name, const char *const *endings)
{
  const char *dot = strrchr(name, '.');
  for (; dot && *endings; endings++)
    if (!g_ascii_strcasecmp(dot, *endings))
      return true;
  return false;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
  return strcmp(((const ToolFile *)a)->in, ((const ToolFile *)b)->in);
}

static bool add_folder(GArray *files, const char *folder, const char *const *inputs, GError **error)
{
  GError *reason = NULL;
  GDir *dir = g_dir_open(folder, 0, &reason);
  if (!dir) {
    fail(error, "%s: %s", folder, reason->message);
    g_error_free(reason);
    return false;
  }
  GArray *found = g_array_new(FALSE, FALSE, sizeof(ToolFile));
  const char *name;
  while ((name = g_dir_read_name(dir))) {
    ToolFile file = {g_build_filename(folder, name, NULL), NULL};
    if (has_ending(name, inputs) && g_file_test(file.in, G_FILE_TEST_IS_REGULAR))
      g_array_append_val(found, file);
    else
      g_free(file.in);
  }
  g_dir_close(dir);
  g_array_sort(found, by_name);
  if (found->len)
    g_array_append_vals(files, found->data, found->len);
  else
    fail(error, "%s: no file in this folder has an ending that can be read", folder);
  bool any = found->len;
  g_array_unref(found); /* its elements moved to `files` */
  return any;
}

static bool add_inputs(GArray *files, char **names, guint count, const char *const *inputs,
                       GError **error)
{
  bool ok = true;
  for (guint i = 0; ok && i < count; i++) {
    if (is_folder(names[i])) {
      ok = add_folder(files, names[i], inputs, error);
    } else {
      ToolFile file = {g_strdup(names[i]), NULL};
      g_array_append_val(files, file);
    }
  }
  return ok;
}

GArray *tool_files_list(char **names, const char *const *inputs, GError **error)
{
  GArray *files = new_list();
  if (add_inputs(files, names, g_strv_length(names), inputs, error))
    return files;
  g_array_unref(files);
  return NULL;
}

/* ---------------------------------------------------------------------------- outputs --- */

bool tool_is_same_file(const char *in, const char *out)
{
  struct stat of_in, of_out;

  if (is_stream(in) || is_stream(out))
    return false;
  return !strcmp(in, out) ||
         (stat(out, &of_out) == 0 && S_ISREG(of_out.st_mode) && stat(in, &of_in) == 0 &&
          of_in.st_dev == of_out.st_dev && of_in.st_ino == of_out.st_ino);
}

/* FOLDER/NAME.ending for an input with the name NAME. */
static char *name_in_folder(const char *folder, const char *input, const char *ending)
{
  char *name = g_path_get_basename(input), *dot = strrchr(name, '.');
  if (dot && dot != name)
    *dot = 0;
  char *file = g_strconcat(name, ending, NULL), *path = g_build_filename(folder, file, NULL);
  g_free(name);
  g_free(file);
  return path;
}

static bool fill_folder(GArray *files, const char *folder, const char *ending, GError **error)
{
  GHashTable *taken = g_hash_table_new(g_str_hash, g_str_equal); /* output -> input */
  bool ok = true;
  if (g_mkdir_with_parents(folder, 0777))
    ok = fail(error, "%s: %s", folder, g_strerror(errno));
  for (guint i = 0; ok && i < files->len; i++) {
    ToolFile *file = &g_array_index(files, ToolFile, i);
    if (!strcmp(file->in, "-")) {
      ok = fail(error, "standard input needs a file's name for its result, %s is a folder", folder);
      continue;
    }
    file->out = name_in_folder(folder, file->in, ending);
    const char *other = g_hash_table_lookup(taken, file->out);
    if (other)
      ok = fail(error, "%s and %s would both become %s", other, file->in, file->out);
    else if (tool_is_same_file(file->in, file->out))
      ok = fail(error, TOOL_SAME_FILE, file->in);
    g_hash_table_insert(taken, file->out, file->in);
  }
  g_hash_table_unref(taken);
  return ok;
}

static bool set_outputs(GArray *files, const char *output, bool several, const ToolKinds *kinds,
                        GError **error)
{
  bool folder = tool_is_folder(output);
  if (several && !folder && !is_stream(output)) {
    if (g_file_test(output, G_FILE_TEST_EXISTS) || kinds->is_output(output))
      return fail(error, "%s: several inputs need a folder for their results", output);
    folder = true;
  }
  if (folder)
    return fill_folder(files, output, kinds->ending, error);
  for (guint i = 0; i < files->len; i++) {
    ToolFile *file = &g_array_index(files, ToolFile, i);
    file->out = g_strdup(output);
    if (tool_is_same_file(file->in, file->out))
      return fail(error, TOOL_SAME_FILE, file->in);
  }
  return true;
}

GArray *tool_files_pair(char **names, const char *output, const ToolKinds *kinds, GError **error)
{
  guint count = names ? g_strv_length(names) : 0;
  if (count < (output ? 1 : 2)) {
    fail(error, "an input and an output are needed");
    return NULL;
  }
  if (!output)
    output = names[--count];
  GArray *files = new_list();
  if (add_inputs(files, names, count, kinds->inputs, error) &&
      set_outputs(files, output, count > 1 || is_folder(names[0]), kinds, error))
    return files;
  g_array_unref(files);
  return NULL;
}
