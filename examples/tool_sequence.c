/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_sequence.h"

#include <string.h>

#define MAX_WIDTH  20
#define MAX_FRAMES 10000000

#define FAIL(...)                                                                                  \
  do {                                                                                             \
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, __VA_ARGS__);                     \
    return false;                                                                                  \
  } while (0)

/* --------------------------------------------------------------------------- patterns --- */

/* Reads the conversion behind a percent sign at `at`; returns its end, NULL: it is none. */
static const char *parse_conversion(const char *at, ToolPattern *pattern)
{
  guint64 width = 0;

  pattern->zeros = *at == '0';
  if (g_ascii_isdigit(*at)) {
    char *end;
    width = g_ascii_strtoull(at, &end, 10);
    at = end;
  }
  pattern->width = (unsigned)MIN(width, MAX_WIDTH + 1);
  return *at == 'd' && width <= MAX_WIDTH ? at + 1 : NULL;
}

static bool parse(ToolPattern *pattern, const char *text)
{
  GString *part = g_string_new(NULL);
  bool ok = true;

  *pattern = (ToolPattern){0};
  for (const char *at = text; ok && *at;) {
    if (*at != '%' || at[1] == '%') {
      g_string_append_c(part, *at);
      at += *at == '%' ? 2 : 1;
      continue;
    }
    at = pattern->before ? NULL : parse_conversion(at + 1, pattern);
    ok = at != NULL;
    if (ok) {
      pattern->before = g_string_free(part, FALSE);
      part = g_string_new(NULL);
    }
  }
  pattern->after = g_string_free(part, FALSE);
  if (ok && pattern->before)
    return true;
  tool_pattern_clear(pattern);
  return false;
}

bool tool_pattern_is(const char *name)
{
  ToolPattern pattern;

  if (g_file_test(name, G_FILE_TEST_EXISTS) || !parse(&pattern, name))
    return false;
  tool_pattern_clear(&pattern);
  return true;
}

bool tool_pattern_parse(ToolPattern *pattern, const char *text, GError **error)
{
  if (parse(pattern, text))
    return true;
  FAIL("%s: the name of a sequence has one number, such as %%d or %%07d", text);
}

void tool_pattern_clear(ToolPattern *pattern)
{
  g_clear_pointer(&pattern->before, g_free);
  g_clear_pointer(&pattern->after, g_free);
}

char *tool_pattern_name(const ToolPattern *pattern, uint32_t number)
{
  return pattern->zeros ? g_strdup_printf("%s%0*u%s", pattern->before, (int)pattern->width, number,
                                          pattern->after)
                        : g_strdup_printf("%s%*u%s", pattern->before, (int)pattern->width, number,
                                          pattern->after);
}

char *tool_pattern_in_folder(const char *pattern, const char *folder, const char *ending)
{
  char *name = g_path_get_basename(pattern), *dot = strrchr(name, '.');

  if (dot && dot != name && !strchr(dot, '%'))
    *dot = 0;
  char *file = g_strconcat(name, ending, NULL);
  GString *escaped = g_string_new(folder);
  for (gsize at = 0; at < escaped->len; at++)
    if (escaped->str[at] == '%')
      g_string_insert_c(escaped, (gssize)at++, '%');
  char *path = g_build_filename(escaped->str, file, NULL);
  g_string_free(escaped, TRUE);
  g_free(name);
  g_free(file);
  return path;
}

/* ---------------------------------------------------------------------------- numbers --- */

/* The number of a file in the pattern's folder; false: its name does not fit. */
static bool number_of(const ToolPattern *pattern, const char *folder, const char *file,
                      uint32_t *number)
{
  const char *slash = strrchr(pattern->before, '/');
  const char *start = slash ? slash + 1 : pattern->before;
  size_t length = strlen(start);

  if (strncmp(file, start, length) != 0)
    return false;
  const char *digits = file + length + strspn(file + length, " ");
  guint64 value = g_ascii_isdigit(*digits) ? g_ascii_strtoull(digits, NULL, 10) : G_MAXUINT64;
  if (value > TOOL_MAX_FRAME)
    return false;
  *number = (uint32_t)value;
  char *name = tool_pattern_name(pattern, *number);
  bool same = !strcmp(name + strlen(folder), file);
  g_free(name);
  return same;
}

/* The pattern of first components, for one of PGX pictures, whose components may be a file each.
 * Without `after`: it is another pattern. */
static ToolPattern first_component(const ToolPattern *pattern)
{
  ToolPattern first = *pattern;
  size_t length = strlen(pattern->after), ending = strlen(".pgx");
  bool is_pgx = length >= ending && !g_ascii_strcasecmp(pattern->after + length - ending, ".pgx");

  first.after =
      is_pgx ? g_strdup_printf("%.*s_0.pgx", (int)(length - ending), pattern->after) : NULL;
  return first;
}

/* Finds the lowest and the highest number of the files that are there. */
static bool scan(const ToolPattern *pattern, ToolFrames *frames, GError **error)
{
  const char *slash = strrchr(pattern->before, '/');
  char *folder = slash ? g_strndup(pattern->before, (gsize)(slash + 1 - pattern->before)) : NULL;
  GError *reason = NULL;
  bool any = false;

  if (strchr(pattern->after, '/')) {
    g_free(folder);
    FAIL("%s%%d%s: the number must be in the file's name; else use --frames", pattern->before,
         pattern->after);
  }
  ToolPattern component = first_component(pattern);
  GDir *dir = g_dir_open(folder ? folder : ".", 0, &reason);
  for (const char *file; dir && (file = g_dir_read_name(dir));) {
    uint32_t number;
    if (!number_of(pattern, folder ? folder : "", file, &number) &&
        (!component.after || !number_of(&component, folder ? folder : "", file, &number)))
      continue;
    frames->first = any ? MIN(frames->first, number) : number;
    frames->last = any ? MAX(frames->last, number) : number;
    any = true;
  }
  if (dir)
    g_dir_close(dir);
  g_free(component.after);
  g_free(folder);
  if (any)
    return true;
  if (reason) {
    g_propagate_error(error, reason);
    return false;
  }
  FAIL("no file has a name like %s%%d%s", pattern->before, pattern->after);
}

/* Reads a number at *at and moves *at behind it. */
static bool parse_number(const char **at, uint32_t *number)
{
  char *end;
  guint64 value = g_ascii_isdigit(**at) ? g_ascii_strtoull(*at, &end, 10) : G_MAXUINT64;

  if (value > TOOL_MAX_FRAME)
    return false;
  *number = (uint32_t)value;
  *at = end;
  return true;
}

/* The frames, however many. */
static bool find_frames(const ToolSequenceOptions *options, const ToolPattern *pattern,
                        ToolFrames *frames, GError **error)
{
  const char *at = options->frames;
  ToolFrames found;

  if (!at)
    return scan(pattern, frames, error);
  bool ok = parse_number(&at, &frames->first);
  frames->last = frames->first;
  if (ok && !strcmp(at, "-")) {
    if (!scan(pattern, &found, error))
      return false;
    if (found.last < frames->first)
      FAIL("--frames=%s: the last file has the number %u", options->frames, found.last);
    frames->last = found.last;
    return true;
  }
  if (ok && *at == '-') {
    at++;
    ok = parse_number(&at, &frames->last);
  }
  if (!ok || *at || frames->last < frames->first)
    FAIL("--frames: %.40s is not a range such as 0-1439, 1440- or 17", options->frames);
  return true;
}

bool tool_sequence_frames(const ToolSequenceOptions *options, const ToolPattern *pattern,
                          ToolFrames *frames, GError **error)
{
  if (!find_frames(options, pattern, frames, error))
    return false;
  if (frames->last - frames->first >= MAX_FRAMES)
    FAIL("%s%%d%s: from frame %u to %u these are more than %d frames", pattern->before,
         pattern->after, frames->first, frames->last, MAX_FRAMES);
  return true;
}

/* ---------------------------------------------------------------------------- options --- */

void tool_sequence_add_options(ToolSequenceOptions *options, GOptionContext *context)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_STRING, &options->frames,
       "Sequence: numbers of the first and last frame, as 0-1439 or 1440- (all that are there)",
       "A-B"},
      {"overwrite", 0, 0, G_OPTION_ARG_NONE, &options->overwrite,
       "Sequence: make frames again whose output is there, in place of skipping them", NULL},
      {"progress", 0, 0, G_OPTION_ARG_NONE, &options->progress,
       "Sequence: print progress also where standard error is no terminal, a line a second", NULL},
      G_OPTION_ENTRY_NULL};

  g_option_context_add_main_entries(context, entries, NULL);
}

bool tool_sequence_given(const ToolSequenceOptions *options)
{
  return options->frames || options->overwrite || options->progress;
}

void tool_sequence_options_clear(ToolSequenceOptions *options)
{
  g_free(options->frames);
}
