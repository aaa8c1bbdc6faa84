/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-encode: pictures to JPEG 2000 or HTJ2K codestreams or files. */
#include "encode_input.h"
#include "encode_passes.h"
#include "tool_files.h"
#include "tool_locale.h"

#include <string.h>

#define IN_FLIGHT    4   /* of a sequence, by default */
#define PERIOD       240 /* frames: a film may be cut at its multiples, by default */
#define WRONG_ENDING "the output's name must end in .j2c, .j2k, .jpc, .jhc, .jp2 or .jph"

enum { EXIT_ENCODED = TOOL_DONE, EXIT_NOT_ENCODABLE = TOOL_FRAME_FAILED, EXIT_USAGE = 2 };

typedef struct {
  EncodeOptions encode;
  ToolSequenceOptions sequence;
  EncodePasses passes;
  gboolean verbose, version;
  char *output, *output_format;
  char **names;
} Options;

static const struct {
  const char *ending;
  Cj2kFileFormat format;
} coded_formats[] = {{".j2c", CJ2K_FILE_J2K}, {".j2k", CJ2K_FILE_J2K}, {".jpc", CJ2K_FILE_J2K},
                     {".jhc", CJ2K_FILE_J2K}, {".jp2", CJ2K_FILE_JP2}, {".jph", CJ2K_FILE_JPH}};

/* Index in coded_formats by the ending of `name`, which may be an ending alone; -1: none. */
static int find_format(const char *name)
{
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < G_N_ELEMENTS(coded_formats); i++)
    if (!g_ascii_strcasecmp(dot, coded_formats[i].ending))
      return (int)i;
  return -1;
}

static bool is_coded(const char *name)
{
  return find_format(name) >= 0;
}

static int fail(int status, const char *why)
{
  fprintf(stderr, "cj2k-encode: %s\n", why);
  if (status == EXIT_USAGE)
    fputs("Try cj2k-encode --help.\n", stderr);
  return status;
}

static bool parse(int argc, char **argv, Options *options, GError **error)
{
  const GOptionEntry entries[] = {
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose, "Print size and times", NULL},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
       "Output in place of the last argument; - is standard output, /dev/null writes nothing",
       "OUT"},
      {"output-format", 0, 0, G_OPTION_ARG_STRING, &options->output_format,
       "j2c, j2k, jpc, jhc, jp2 or jph, for outputs without such an ending (j2c)", "NAME"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Print the version", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->names, NULL, NULL},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("IN... OUT");
  GOptionGroup *encode = encode_options_group(&options->encode);

  g_option_context_add_main_entries(context, entries, NULL);
  tool_sequence_add_options(&options->sequence, context);
  encode_passes_add_options(&options->passes, context);
  g_option_context_add_group(context, encode);
  g_option_context_set_summary(
      context,
      "Encode pictures to JPEG 2000 or HTJ2K.\n"
      "\n"
      "IN is a PPM, PGM, PNG, PGX, DPX, TIFF or EXR file, or a .raw file of one frame that\n"
      "--width, --height and --format describe; - is standard input, a folder stands for the\n"
      "pictures in it. OUT ends in .j2c, .j2k, .jpc or .jhc for a codestream, .jp2 for a JP2\n"
      "file, .jph for a JPH file; with several pictures it is a folder, which gets a NAME.j2c\n"
      "for each.\n"
      "The samples of a PPM or PGM file whose maximum is not 2^n - 1 are scaled to n bits.\n"
      "--help-encode lists the options for encoding.\n"
      "\n"
      "IN and OUT with a number, such as in.%07d.dpx and out.%07d.j2c, are a sequence: several\n"
      "frames are encoded at the same time, and those whose output is there are skipped. Names\n"
      "give the frames' numbers for --rate-period.");
  g_option_context_set_description(
      context, "Exit status:\n"
               "  0  encoded\n"
               "  1  a picture was not encoded, the others were; the reason is on standard error\n"
               "  2  wrong options\n"
               "  3  a sequence was stopped: no output can be written, memory ran out, or the GPU\n"
               "     failed\n"
               "\n"
               "Examples:\n"
               "  cj2k-encode picture.png picture.jp2\n"
               "  cj2k-encode --block-coder=ht --bits-per-pixel=4 picture.ppm picture.jph\n"
               "  cj2k-encode --output-format=jp2 --output=coded/ *.png\n"
               "  cj2k-encode in.%07d.dpx out.%07d.j2c --frames=0-1439 --profile=cinema-2k");
  bool ok = tool_options_parse(&options->encode.tool, context, &argc, &argv, error);
  g_option_context_free(context);
  return ok;
}

/* Sets the file format by --output-format or the ending of the name. JPH implies the HT coder. */
static bool set_file_format(const Options *options, const char *out, Cj2kEncoderParams *params)
{
  char *name = g_strconcat(".", options->output_format ? options->output_format : "j2c", NULL);
  bool no_name = options->output_format || !strcmp(out, "-") || !strcmp(out, TOOL_NOWHERE);
  int found = find_format(no_name ? name : out);
  g_free(name);
  if (found < 0)
    return false;
  params->file_format = coded_formats[found].format;
  if (params->file_format == CJ2K_FILE_JPH &&
      !tool_options_given(&options->encode.tool, "block-coder"))
    params->block_coder = CJ2K_CODER_HT;
  return true;
}

static int write_packet(const char *path, const Cj2kPacket *packet)
{
  char why[IMAGE_WHY];
  ImageOutput output;

  if (image_output_open(&output, path, why) &&
      image_output_close(&output,
                         fwrite(packet->data, 1, packet->size, output.file) == packet->size, why))
    return EXIT_ENCODED;
  return fail(EXIT_NOT_ENCODABLE, why);
}

static void report(const Options *options, const ToolFile *file, Cj2kEncoder *encoder,
                   const EncodeInput *input, const Cj2kPacket *packet)
{
  double pixels = (double)input->image.width * input->image.height;
  Cj2kStats stats;

  if (cj2k_encoder_warning(encoder))
    fprintf(stderr, "cj2k-encode: %s: warning: %s\n", file->in, cj2k_encoder_warning(encoder));
  if (packet->fallback)
    fprintf(stderr, "cj2k-encode: %s: warning: done by the CPU: %s\n", file->in,
            packet->error.text);
  if (!options->verbose)
    return;
  cj2k_encoder_get_stats(encoder, &stats);
  fprintf(stderr,
          "%s: %zu bytes, %.4f bits per pixel; transform %.2f ms, blocks %.2f ms, packets %.2f ms, "
          "all %.2f ms\n",
          file->out, packet->size, (double)packet->size * 8 / pixels, stats.ms_transform,
          stats.ms_block_coder, stats.ms_packets, stats.ms_total);
}

static int fail_file(int status, const ToolFile *file, const Cj2kError *error)
{
  fprintf(stderr, "cj2k-encode: %s: %s\n", file->in, error->text);
  if (status == EXIT_USAGE)
    fputs("Try cj2k-encode --help.\n", stderr);
  return status;
}

static int encode(const Options *options, const ToolFile *file, const Cj2kEncoderParams *params,
                  const EncodeInput *input)
{
  Cj2kError error = {0};
  Cj2kPacket packet = {0};
  int result = EXIT_NOT_ENCODABLE;
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &input->image, &input->layout, &error);

  if (!encoder)
    return fail_file(error.code == CJ2K_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_NOT_ENCODABLE, file,
                     &error);
  if (cj2k_encoder_submit(encoder, &input->picture, NULL, &error) == CJ2K_OK) {
    cj2k_encoder_receive(encoder, &packet);
    if (packet.status == CJ2K_OK) {
      report(options, file, encoder, input, &packet);
      result = write_packet(file->out, &packet);
    } else {
      fail_file(result, file, &packet.error);
    }
    cj2k_encoder_release(encoder, &packet);
  } else {
    fail_file(result, file, &error);
  }
  cj2k_encoder_close(encoder);
  return result;
}

static int encode_file(const Options *options, const ToolFile *file)
{
  Cj2kEncoderParams params = options->encode.params;
  EncodeInput input;
  char why[IMAGE_WHY];

  if (!set_file_format(options, file->out, &params))
    return fail(EXIT_USAGE, WRONG_ENDING);
  if (!encode_input_check(&options->encode, file->in, why))
    return fail(EXIT_USAGE, why);
  params.frames_in_flight = 1;
  if (!encode_input_read(&input, &options->encode, &params, file->in, why))
    return fail(EXIT_NOT_ENCODABLE, why);
  int result = encode(options, file, &params, &input);
  encode_input_clear(&input);
  return result;
}

/* A sequence. */
static int run_film(const Options *options, const ToolFile *names, const char *ending)
{
  Cj2kEncoderParams params = options->encode.params;
  EncodeFilm film = {.options = &options->encode,
                     .params = &params,
                     .verbose = options->verbose,
                     .job = {.tool = "cj2k-encode",
                             .in = names->in,
                             .out = names->out,
                             .ending = ending,
                             .options = &options->sequence}};
  GError *error = NULL;
  ToolResult result;
  char why[IMAGE_WHY];

  if (!set_file_format(options, tool_is_folder(names->out) ? ending : names->out, &params))
    return fail(EXIT_USAGE, WRONG_ENDING);
  if (!encode_input_check(&options->encode, names->in, why))
    return fail(EXIT_USAGE, why);
  bool passes = options->passes.pass || options->passes.stats;
  if (passes ? encode_passes(&options->passes, &film, &result, &error)
             : encode_film(&film, &result, &error))
    return (int)result;
  int status = fail(EXIT_USAGE, error->message);
  g_error_free(error);
  return status;
}

static int run(const Options *options)
{
  char *ending = g_strconcat(".", options->output_format ? options->output_format : "j2c", NULL);
  char **pictures = image_endings(true);
  ToolKinds kinds = {(const char *const *)pictures, ending, is_coded};
  GError *error = NULL;
  GArray *files = NULL;
  ToolFile film;
  int result = EXIT_ENCODED;

  if (!is_coded(ending))
    result = fail(EXIT_USAGE, "--output-format must be j2c, j2k, jpc, jhc, jp2 or jph");
  else if (tool_film_names(options->names, options->output, &film))
    result = run_film(options, &film, ending);
  else if (tool_sequence_given(&options->sequence))
    result = fail(EXIT_USAGE, TOOL_NO_SEQUENCE);
  else if (options->passes.pass || options->passes.stats)
    result = fail(EXIT_USAGE, "--pass and --stats are for a sequence: one input with a number in "
                              "its name, such as in.%07d.dpx");
  else if (!(files = tool_files_pair(options->names, options->output, &kinds, &error)))
    result = fail(EXIT_USAGE, error->message);
  for (guint i = 0; files && i < files->len; i++) {
    int status = encode_file(options, &g_array_index(files, ToolFile, i));
    result = MAX(result, status);
  }
  if (files)
    g_array_unref(files);
  g_clear_error(&error);
  g_strfreev(pictures);
  g_free(ending);
  return result;
}

int main(int argc, char **argv)
{
  Options options = {0};
  GError *error = NULL;
  int result = EXIT_ENCODED;

  tool_begin();
  encode_options_init(&options.encode);
  options.encode.params.frames_in_flight = IN_FLIGHT;
  options.encode.params.rate_period = PERIOD;
  if (!parse(argc, argv, &options, &error)) {
    result = fail(EXIT_USAGE, error->message);
    g_error_free(error);
  } else if (options.version) {
    printf("cj2k-encode %s\n", cj2k_version());
  } else {
    result = run(&options);
  }
  encode_options_clear(&options.encode);
  tool_sequence_options_clear(&options.sequence);
  encode_passes_clear(&options.passes);
  g_free(options.output);
  g_free(options.output_format);
  g_strfreev(options.names);
  return result;
}
