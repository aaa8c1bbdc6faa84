/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-info: describes a JPEG 2000 or HTJ2K codestream or file, and how many bytes each part takes.
 */
#include "common/codestream/markers.h"
#include "image.h"
#include "info.h"
#include "tool_files.h"
#include "tool_locale.h"

#include <glib.h>
#include <stdarg.h>
#include <string.h>

enum { EXIT_WHOLE = 0, EXIT_DAMAGED = 1, EXIT_USAGE = 2 };

#define TEXT_MOST 32 /* elements of a list that are printed as text without --all */

void info_error(const InfoContext *context, uint64_t offset, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  if (info_count(context->errors) < 100) {
    InfoValue *error = info_add(context->errors, info_object());
    info_put_int(error, "offset", (int64_t)offset);
    info_put_text(error, "text", "%s", text);
  }
  g_free(text);
}

void info_library_error(const InfoContext *context, uint64_t base, const Cj2kError *error)
{
  info_error(context, base + error->offset, "%s", error->text);
}

/* ------------------------------------------------------------------------ a codestream --- */

/* Parses strictly first, to find errors, then leniently, to read as much as possible. */
static Cj2kStatus read_headers(const InfoContext *context, InfoSpan span, Cj2kHeaderReader *reader,
                               Cj2kHeader **header, Cj2kTileParts *parts)
{
  Cj2kError error = {0};
  Cj2kStatus status = CJ2K_ERROR_CODESTREAM;
  bool same;
  for (int strict = 1; strict >= 0 && status == CJ2K_ERROR_CODESTREAM; strict--) {
    status = cj2k_header_read(reader, span.data + span.begin, (size_t)(span.end - span.begin),
                              strict, context->max_memory, header, &same, parts, &error);
    if (status != CJ2K_OK)
      info_library_error(context, span.begin, &error);
  }
  return status;
}

/* The main and tile headers, the packets, and the profile. */
static void describe_coding(const InfoContext *context, InfoSpan span, const InfoMarkers *markers,
                            InfoValue *out)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kTileParts parts = {0};
  Cj2kHeader *header;
  if (read_headers(context, span, reader, &header, &parts) == CJ2K_OK) {
    InfoProfile facts = {.header = header,
                         .bytes = span.end - span.begin,
                         .frame_rate = context->frame_rate,
                         .has_tlm = markers->num_tlm,
                         .has_packed_headers = markers->num_packed,
                         .num_tile_parts = markers->num_tile_parts};
    InfoValue *profile = info_put(out, "profile", info_object());
    info_header(header, out);
    info_packets(context, span, header, &parts, out, &facts.packets);
    info_profile(&facts, profile);
  }
  cj2k_tile_parts_clear(&parts);
  cj2k_header_reader_free(reader);
}

/* Describes one codestream. Returns where it ends. */
static uint64_t describe_codestream(const InfoContext *context, InfoSpan span, InfoValue *out)
{
  InfoValue *lists = info_object();
  InfoMarkers markers;
  uint64_t end = info_markers(context, span, lists, &markers);
  info_put_int(out, "offset", (int64_t)span.begin);
  info_put_int(out, "length", (int64_t)(end - span.begin));
  span.end = end;
  describe_coding(context, span, &markers, out);
  info_move(out, lists);
  return end;
}

/* ------------------------------------------------------------------------------ a file --- */

static bool is_codestream(InfoSpan span)
{
  const uint8_t *data = span.data + span.begin;
  return span.end - span.begin >= 4 && cj2k_get16(data) == CJ2K_SOC &&
         cj2k_get16(data + 2) == CJ2K_SIZ;
}

/* Codestreams one after the other, as in a file of moving pictures. */
static void describe_run(const InfoContext *context, InfoSpan span, InfoValue *codestreams)
{
  while (is_codestream(span)) {
    InfoValue *out = info_add(codestreams, info_object());
    span.begin = describe_codestream(context, span, out);
  }
  if (span.begin < span.end)
    info_error(context, span.begin, "%" G_GUINT64_FORMAT " bytes behind the codestream",
               span.end - span.begin);
}

InfoValue *info_file(const char *path, const uint8_t *data, size_t size, uint64_t max_memory,
                     double frame_rate, bool *damaged)
{
  InfoContext context = {max_memory ? max_memory : MAX(UINT64_C(768) << 20, UINT64_C(256) * size),
                         frame_rate, info_array()};
  InfoSpan whole = {data, 0, size};
  InfoValue *out = info_object(), *codestreams = info_array();
  info_put_text(out, "file", "%s", path);
  info_put_int(out, "size", (int64_t)size);
  if (is_codestream(whole)) {
    info_put_text(out, "format", "codestream");
    describe_run(&context, whole, codestreams);
  } else {
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(InfoSpan));
    info_put_text(out, "format", "boxes");
    info_put(out, "boxes", info_boxes(&context, whole, spans));
    for (guint i = 0; i < spans->len; i++) {
      InfoSpan span = g_array_index(spans, InfoSpan, i);
      if (is_codestream(span))
        describe_run(&context, span, codestreams);
      else
        info_error(&context, span.begin, "no codestream in the jp2c box");
    }
    if (!spans->len)
      info_error(&context, 0, "no codestream");
    g_array_unref(spans);
  }
  info_put(out, "codestreams", codestreams);
  *damaged = info_count(context.errors) > 0;
  info_put(out, "errors", context.errors);
  return out;
}

/* ------------------------------------------------------------------------ command line --- */

typedef struct {
  gboolean json, all, version;
  gint64 max_memory;
  double frame_rate;
  char **names;
} Options;

static bool parse(int argc, char **argv, Options *options, GError **error)
{
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_NONE, &options->json,
       "Print a JSON array with one object per file", NULL},
      {"all", 0, 0, G_OPTION_ARG_NONE, &options->all, "Print long lists in full, in text as well",
       NULL},
      {"max-memory", 0, 0, G_OPTION_ARG_INT64, &options->max_memory,
       "Memory limit for reading packets (0 = the larger of 768 MiB and 256 times the file)",
       "MIB"},
      {"framerate", 0, 0, G_OPTION_ARG_DOUBLE, &options->frame_rate,
       "Codestreams per second (fields, where each field has one), for the limits of profiles; 0 = "
       "unknown",
       "X"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Print the version", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->names, NULL, NULL},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("FILE...");
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_set_summary(
      context,
      "Describe JPEG 2000 or HTJ2K codestreams and files.\n"
      "\n"
      "Boxes, profile, coding parameters, tile-parts, markers with their offsets, and the bytes\n"
      "of each resolution, layer and component. FILE may be - for standard input, or a folder,\n"
      "which stands for the codestreams and files in it. A damaged file is described as far as it\n"
      "can be read; the damage is listed under errors. A profile's broken rules are listed under\n"
      "broken, what a file does not show under unchecked.");
  g_option_context_set_description(context, "Exit status:\n"
                                            "  0  described\n"
                                            "  1  a file is damaged or cannot be read\n"
                                            "  2  wrong options");
  bool ok = g_option_context_parse(context, &argc, &argv, error);
  g_option_context_free(context);
  return ok;
}

static int describe_all(const Options *options, const GArray *paths)
{
  InfoValue *files = info_array();
  char why[IMAGE_WHY];
  bool damaged = false, any = false;
  for (guint i = 0; i < paths->len; i++) {
    const char *path = g_array_index(paths, ToolFile, i).in;
    size_t size;
    uint8_t *data = image_load_file(path, &size, why);
    if (!data) {
      fprintf(stderr, "cj2k-info: %s\n", why);
      any = true;
      continue;
    }
    InfoValue *file = info_file(path, data, size, (uint64_t)options->max_memory << 20,
                                options->frame_rate, &damaged);
    any |= damaged;
    if (options->json) {
      info_add(files, file);
    } else {
      info_print_text(file, options->all ? UINT32_MAX : TEXT_MOST, stdout);
      info_free(file);
    }
    g_free(data);
  }
  if (options->json)
    info_print_json(files, stdout);
  info_free(files);
  return any ? EXIT_DAMAGED : EXIT_WHOLE;
}

static int usage(const char *why)
{
  fprintf(stderr, "cj2k-info: %s\nTry cj2k-info --help.\n", why);
  return EXIT_USAGE;
}

int main(int argc, char **argv)
{
  Options options = {0};
  GError *error = NULL;
  int result = EXIT_WHOLE;
  tool_begin();
  if (!parse(argc, argv, &options, &error)) {
    result = usage(error->message);
    g_error_free(error);
  } else if (options.version) {
    printf("cj2k-info %s\n", cj2k_version());
  } else if (!options.names) {
    result = usage("a file is needed");
  } else if (options.max_memory < 0 || options.max_memory > INT64_C(1) << 40) {
    result = usage("--max-memory must be 0 to 1099511627776");
  } else if (!(options.frame_rate >= 0 && options.frame_rate <= CJ2K_MAX_FRAME_RATE)) {
    result = usage("--framerate must be 0 to 1000000");
  } else {
    GArray *paths = tool_files_list(options.names, tool_coded_endings, &error);
    result = paths ? describe_all(&options, paths) : usage(error->message);
    g_clear_error(&error);
    if (paths)
      g_array_unref(paths);
  }
  g_strfreev(options.names);
  return result;
}
