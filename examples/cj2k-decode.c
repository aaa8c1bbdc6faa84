/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-decode: JPEG 2000 and HTJ2K pictures to files of samples. */
#include "decode_film.h"
#include "decode_output.h"
#include "image.h"
#include "tool_files.h"
#include "tool_locale.h"
#include "tool_options.h"

#include "common/options/decoder_options.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_FLIGHT 4 /* of a sequence, by default */

enum { EXIT_DECODED = TOOL_DONE, EXIT_NOT_DECODABLE = TOOL_FRAME_FAILED, EXIT_USAGE = 2 };

#define WRONG_ENDING "the output's name must end in .ppm, .pgm, .png, .dpx, .tif, .raw or .pgx"

typedef struct {
  ToolOptions tool;
  Cj2kDecoderParams params;
  ToolSequenceOptions sequence;
  gboolean verbose, version;
  char *output, *output_format;
  char **names;
} Options;

/* --------------------------------------------------------------------- command line --- */

static int usage(const char *why)
{
  fprintf(stderr, "cj2k-decode: %s\nTry cj2k-decode --help.\n", why);
  return EXIT_USAGE;
}

static bool parse(int argc, char **argv, Options *options, GError **error)
{
  const GOptionEntry entries[] = {
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
       "Print what was decoded, how, and in what time", NULL},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
       "Output in place of the last argument; - is standard output, /dev/null writes nothing",
       "OUT"},
      {"output-format", 0, 0, G_OPTION_ARG_STRING, &options->output_format,
       "ppm, pgm, pnm, png, pgx, dpx, tif, raw, yuv or rgb, for outputs without such an ending (png; pnm for -)",
       "NAME"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Print the version", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->names, NULL, NULL},
      G_OPTION_ENTRY_NULL};
  GOptionGroup *decode =
      tool_options_group(&options->tool, "decode", "Decoding:", "Decoding options");
  GOptionContext *context = g_option_context_new("IN... OUT");
  g_option_context_add_main_entries(context, entries, NULL);
  tool_sequence_add_options(&options->sequence, context);
  g_option_context_add_group(context, decode);
  g_option_context_set_summary(
      context,
      "Decode JPEG 2000 or HTJ2K pictures.\n"
      "\n"
      "IN is a codestream, .jp2 or .jph file; - is standard input, a folder stands for its\n"
      "files. OUT ends in .ppm, .pgm, .png (8 or 16 bit), .dpx (8, 10, 12 or 16 bit), .tif\n"
      "(8 or 16 bit), .raw (planes, little-endian) or .pgx (out.pgx writes out_0.pgx,\n"
      "out_1.pgx ..., one for each component); with several pictures it is a folder, which gets\n"
      "a NAME.png for each.\n"
      "\n"
      "IN and OUT with a number, such as in.%07d.j2c and out.%07d.dpx, are a sequence: several\n"
      "frames are decoded at the same time, and those whose output is there are skipped.");
  g_option_context_set_description(context,
                                   "Exit status:\n"
                                   "  0  decoded\n"
                                   "  1  a picture is not decodable, the others were decoded; the\n"
                                   "     reason is on standard error\n"
                                   "  2  wrong options\n"
                                   "  3  a sequence was stopped: no output can be written, memory\n"
                                   "     ran out, or the GPU failed\n"
                                   "\n"
                                   "Examples:\n"
                                   "  cj2k-decode picture.jp2 picture.png\n"
                                   "  cj2k-decode --reduce=1 picture.jp2 half.ppm\n"
                                   "  cj2k-decode --output-format=ppm --output=out/ *.j2k\n"
                                   "  cj2k-decode --output=/dev/null --verbose *.jp2");
  bool ok = tool_options_parse(&options->tool, context, &argc, &argv, error);
  g_option_context_free(context);
  return ok;
}

/* ------------------------------------------------------------------------- progress --- */

/* Shows the seconds so far on a terminal, from the first second on. */
typedef struct {
  GMutex lock;
  GCond stop;
  bool stopped;
} Progress;

static gpointer show_progress(gpointer data)
{
  Progress *progress = data;
  gint64 second = g_get_monotonic_time();
  int seconds = 0;
  g_mutex_lock(&progress->lock);
  while (!progress->stopped) {
    second += G_TIME_SPAN_SECOND;
    while (!progress->stopped && g_cond_wait_until(&progress->stop, &progress->lock, second))
      ;
    if (!progress->stopped)
      fprintf(stderr, "\rdecoding, %d s", ++seconds);
  }
  g_mutex_unlock(&progress->lock);
  if (seconds)
    fputs("\r\033[K", stderr);
  return NULL;
}

static GThread *start_progress(Progress *progress)
{
  memset(progress, 0, sizeof *progress);
  return isatty(STDERR_FILENO) ? g_thread_new("progress", show_progress, progress) : NULL;
}

static void stop_progress(Progress *progress, GThread *thread)
{
  if (!thread)
    return;
  g_mutex_lock(&progress->lock);
  progress->stopped = true;
  g_cond_signal(&progress->stop);
  g_mutex_unlock(&progress->lock);
  g_thread_join(thread);
}

/* --------------------------------------------------------------------------- decode --- */

static void print_error(const char *path, const Cj2kError *error)
{
  fprintf(stderr, "cj2k-decode: %s: %s", path, error->text);
  if (error->code == CJ2K_ERROR_CODESTREAM && error->marker)
    fprintf(stderr, " (marker segment %04X, offset %llu)", error->marker,
            (unsigned long long)error->offset);
  else if (error->code == CJ2K_ERROR_CODESTREAM && error->offset)
    fprintf(stderr, " (offset %llu)", (unsigned long long)error->offset);
  fputc('\n', stderr);
}

static void report(const Options *options, const char *in, Cj2kDecoder *decoder,
                   const Cj2kFrame *frame)
{
  static const char *const backends[] = {"auto", "cpu", "cuda"};
  if (frame->truncated || frame->corrupt_blocks)
    fprintf(stderr,
            "cj2k-decode: %s: warning: %s%llu packets of %llu code-blocks missing, %u corrupt "
            "code-blocks\n",
            in, frame->truncated ? "incomplete, " : "",
            (unsigned long long)frame->concealed_packets,
            (unsigned long long)frame->concealed_blocks, frame->corrupt_blocks);
  if (frame->fallback)
    fprintf(stderr, "cj2k-decode: %s: warning: done by the CPU: %s\n", in, frame->error.text);
  if (!options->verbose)
    return;
  Cj2kStats stats;
  cj2k_decoder_get_stats(decoder, &stats);
  fprintf(stderr,
          "%s: %u x %u, %u components, %s, %u tiles, back end %s; "
          "headers %.2f ms, packets %.2f ms, blocks %.2f ms, transform %.2f ms, all %.2f ms\n",
          in, frame->image.x1 - frame->image.x0, frame->image.y1 - frame->image.y0,
          frame->image.num_components, frame->image.is_ht ? "HT" : "MQ", frame->image.num_tiles,
          backends[frame->fallback ? CJ2K_BACKEND_CPU : cj2k_decoder_backend(decoder)],
          stats.ms_header, stats.ms_packets, stats.ms_block_coder, stats.ms_transform,
          stats.ms_total);
}

static int decode(const Options *options, const ToolFile *file, Cj2kDecoder *decoder,
                  const uint8_t *data, size_t size)
{
  Cj2kFrame frame;
  Cj2kError error;
  char why[IMAGE_WHY];
  int result = EXIT_NOT_DECODABLE;
  if (cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error) != CJ2K_OK) {
    print_error(file->in, &error);
    return result;
  }
  cj2k_decoder_receive(decoder, &frame);
  if (frame.status == CJ2K_OK) {
    report(options, file->in, decoder, &frame);
    if (decode_write(&frame, file->out, options->output_format, why))
      result = EXIT_DECODED;
    else
      fprintf(stderr, "cj2k-decode: %s\n", why);
  } else {
    print_error(file->in, &frame.error);
  }
  cj2k_decoder_release(decoder, &frame);
  return result;
}

static int decode_file(const Options *options, const ToolFile *file, Cj2kDecoder *decoder)
{
  size_t size;
  char why[IMAGE_WHY];
  uint8_t *data = image_load_file(file->in, &size, why);
  int result = EXIT_NOT_DECODABLE;
  if (data)
    result = decode(options, file, decoder, data, size);
  else
    fprintf(stderr, "cj2k-decode: %s\n", why);
  g_free(data);
  return result;
}

static int decode_all(const Options *options, const GArray *files)
{
  Cj2kError error;
  Progress progress;
  Cj2kDecoderParams params = options->params;
  params.frames_in_flight = 1;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder) {
    fprintf(stderr, "cj2k-decode: %s\n", error.text);
    return EXIT_NOT_DECODABLE;
  }
  GThread *thread = start_progress(&progress);
  int result = EXIT_DECODED;
  for (guint i = 0; i < files->len; i++) {
    int status = decode_file(options, &g_array_index(files, ToolFile, i), decoder);
    result = MAX(result, status);
  }
  stop_progress(&progress, thread);
  cj2k_decoder_close(decoder);
  return result;
}

static bool is_picture(const char *name)
{
  return image_can_write(image_format_of(name));
}

/* Whether the output's name or --output-format says in which format to write. */
static bool has_format(const Options *options, const char *out)
{
  return options->output_format || is_picture(out) || !strcmp(out, "-") ||
         !strcmp(out, TOOL_NOWHERE);
}

/* A sequence. */
static int run_film(const Options *options, const ToolFile *names, const char *ending)
{
  DecodeFilm film = {.params = options->params,
                     .output_format = options->output_format,
                     .verbose = options->verbose,
                     .job = {.tool = "cj2k-decode",
                             .in = names->in,
                             .out = names->out,
                             .ending = ending,
                             .options = &options->sequence}};
  GError *error = NULL;
  ToolResult result;

  if (!tool_is_folder(names->out) && !has_format(options, names->out))
    return usage(WRONG_ENDING);
  if (decode_film(&film, &result, &error))
    return (int)result;
  int status = usage(error->message);
  g_error_free(error);
  return status;
}

static int run_files(const Options *options, const char *ending)
{
  ToolKinds kinds = {tool_coded_endings, ending, is_picture};
  GError *error = NULL;
  GArray *files = tool_files_pair(options->names, options->output, &kinds, &error);
  const char *out = files ? g_array_index(files, ToolFile, 0).out : NULL;
  int result;
  if (!files)
    result = usage(error->message);
  else if (!has_format(options, out))
    result = usage(WRONG_ENDING);
  else
    result = decode_all(options, files);
  if (files)
    g_array_unref(files);
  g_clear_error(&error);
  return result;
}

static int run(const Options *options)
{
  char *ending = g_strconcat(".", options->output_format ? options->output_format : "png", NULL);
  ToolFile film;
  int result;
  if (!is_picture(ending))
    result = usage("--output-format must be ppm, pgm, pnm, png, pgx, dpx, tif, raw, yuv or rgb");
  else if (tool_film_names(options->names, options->output, &film))
    result = run_film(options, &film, ending);
  else if (tool_sequence_given(&options->sequence))
    result = usage(TOOL_NO_SEQUENCE);
  else
    result = run_files(options, ending);
  g_free(ending);
  return result;
}

int main(int argc, char **argv)
{
  Options options = {0};
  GError *error = NULL;
  tool_begin();
  cj2k_decoder_params_init(&options.params);
  options.params.frames_in_flight = IN_FLIGHT;
  tool_options_init(&options.tool, &cj2k_decoder_options, &options.params);
  int result;
  if (!parse(argc, argv, &options, &error)) {
    result = usage(error->message);
    g_error_free(error);
  } else if (options.version) {
    printf("cj2k-decode %s\n", cj2k_version());
    result = EXIT_DECODED;
  } else {
    result = run(&options);
  }
  tool_options_clear(&options.tool);
  tool_sequence_options_clear(&options.sequence);
  g_free(options.output);
  g_free(options.output_format);
  g_strfreev(options.names);
  return result;
}
