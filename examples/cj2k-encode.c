/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-encode: one image to a JPEG 2000 or HTJ2K codestream or file. */
#include "encode_input.h"

#include <errno.h>
#include <string.h>

enum { EXIT_ENCODED = 0, EXIT_NOT_ENCODABLE = 1, EXIT_USAGE = 2 };

typedef struct {
  EncodeOptions encode;
  gboolean verbose, version;
  const char *in, *out;
} Options;

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
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose, "Say size and times", NULL},
      {"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Print the version", NULL},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("IN OUT");
  GOptionGroup *encode = encode_options_group(&options->encode);

  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, encode);
  g_option_context_set_summary(
      context,
      "Encode a picture to JPEG 2000 or HTJ2K.\n"
      "\n"
      "IN ends in .ppm, .pgm, .png or .pgx, or it is a .raw file and --width, --height and\n"
      "--format describe it. OUT ends in .j2c, .j2k, .jpc or .jhc for a codestream, .jp2 for a\n"
      "JP2 file, .jph for a JPH file. --help-encode lists the options for encoding.");
  g_option_context_set_description(
      context, "Exit status:\n"
               "  0  encoded\n"
               "  1  not encoded; the reason is on standard error\n"
               "  2  wrong options\n"
               "\n"
               "Examples:\n"
               "  cj2k-encode picture.png picture.jp2\n"
               "  cj2k-encode --block-coder=ht --bits-per-pixel=4 picture.ppm picture.jph");
  bool ok = tool_options_parse(&options->encode.tool, context, &argc, &argv, error);
  g_option_context_free(context);
  options->in = ok && argc == 3 ? argv[1] : NULL;
  options->out = ok && argc == 3 ? argv[2] : NULL;
  return ok;
}

/* The file format by the end of the name; HT is the default of .jph. */
static bool set_file_format(const Options *options, Cj2kEncoderParams *params)
{
  const char *dot = strrchr(options->out, '.');
  static const struct {
    const char *end;
    Cj2kFileFormat format;
  } ends[] = {{".j2c", CJ2K_FILE_J2K}, {".j2k", CJ2K_FILE_J2K}, {".jpc", CJ2K_FILE_J2K},
              {".jhc", CJ2K_FILE_J2K}, {".jp2", CJ2K_FILE_JP2}, {".jph", CJ2K_FILE_JPH}};
  for (size_t i = 0; dot && i < G_N_ELEMENTS(ends); i++)
    if (!g_ascii_strcasecmp(dot, ends[i].end)) {
      params->file_format = ends[i].format;
      if (params->file_format == CJ2K_FILE_JPH &&
          !tool_options_given(&options->encode.tool, "block-coder"))
        params->block_coder = CJ2K_CODER_HT;
      return true;
    }
  return false;
}

static int write_packet(const Options *options, const Cj2kPacket *packet)
{
  FILE *file = fopen(options->out, "wb");
  bool ok = file && fwrite(packet->data, 1, packet->size, file) == packet->size;

  if (file && fclose(file))
    ok = false;
  if (ok)
    return EXIT_ENCODED;
  fprintf(stderr, "cj2k-encode: %s: %s\n", options->out, g_strerror(errno));
  return EXIT_NOT_ENCODABLE;
}

static void report(const Options *options, Cj2kEncoder *encoder, const EncodeInput *input,
                   const Cj2kPacket *packet)
{
  double pixels = (double)input->image.width * input->image.height;
  Cj2kStats stats;

  if (cj2k_encoder_warning(encoder))
    fprintf(stderr, "cj2k-encode: warning: %s\n", cj2k_encoder_warning(encoder));
  if (packet->fallback)
    fprintf(stderr, "cj2k-encode: warning: done by the CPU: %s\n", packet->error.text);
  if (!options->verbose)
    return;
  cj2k_encoder_get_stats(encoder, &stats);
  fprintf(stderr,
          "%s: %zu bytes, %.4f bits per pixel; transform %.2f ms, blocks %.2f ms, packets %.2f ms, "
          "all %.2f ms\n",
          options->out, packet->size, (double)packet->size * 8 / pixels, stats.ms_transform,
          stats.ms_block_coder, stats.ms_packets, stats.ms_total);
}

static int encode(const Options *options, const Cj2kEncoderParams *params, const EncodeInput *input)
{
  Cj2kError error = {0};
  Cj2kPacket packet = {0};
  int result = EXIT_NOT_ENCODABLE;
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &input->image, &input->layout, &error);

  if (!encoder)
    return fail(error.code == CJ2K_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_NOT_ENCODABLE, error.text);
  if (cj2k_encoder_submit(encoder, &input->picture, NULL, &error) == CJ2K_OK) {
    cj2k_encoder_receive(encoder, &packet);
    if (packet.status == CJ2K_OK) {
      report(options, encoder, input, &packet);
      result = write_packet(options, &packet);
    } else {
      fail(result, packet.error.text);
    }
    cj2k_encoder_release(encoder, &packet);
  } else {
    fail(result, error.text);
  }
  cj2k_encoder_close(encoder);
  return result;
}

static int run(const Options *options)
{
  Cj2kEncoderParams params;
  EncodeInput input;
  char why[IMAGE_WHY];

  if (!options->in)
    return fail(EXIT_USAGE, "one input and one output are needed");
  params = options->encode.params;
  if (!set_file_format(options, &params))
    return fail(EXIT_USAGE, "the output's name must end in .j2c, .j2k, .jpc, .jhc, .jp2 or .jph");
  params.frames_in_flight = 1;
  if (!encode_input_read(&input, &options->encode, &params, options->in, why))
    return fail(EXIT_NOT_ENCODABLE, why);
  int result = encode(options, &params, &input);
  encode_input_clear(&input);
  return result;
}

int main(int argc, char **argv)
{
  Options options = {0};
  GError *error = NULL;
  int result = EXIT_ENCODED;

  encode_options_init(&options.encode);
  if (!parse(argc, argv, &options, &error)) {
    result = fail(EXIT_USAGE, error->message);
    g_error_free(error);
  } else if (options.version) {
    printf("cj2k-encode %s\n", cj2k_version());
  } else {
    result = run(&options);
  }
  encode_options_clear(&options.encode);
  return result;
}
