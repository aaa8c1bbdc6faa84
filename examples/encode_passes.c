/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first pass codes all frames with the same step sizes and keeps their numbers of bytes. The
 * step is searched before with some frames, so that the film has about its average rate, because
 * shares then hardly depend on how bytes follow from steps. The file between the passes is text: a
 * line of what it is, then a line of number and bytes for each frame.
 */
#include "encode_passes.h"

#include "encode_shares.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TITLE "# cj2k-encode --pass=1: number of a frame, bytes at equal quality"

#define SAMPLES    9 /* frames with which the step is searched, spread over the film */
#define FIRST_STEP (1.0 / 512)
#define MIN_STEP   1e-7
#define MAX_STEP   0.4
#define SEARCHES   6
#define NEAR       0.08 /* of the average; shares make up for it */
#define POWER      0.9  /* bytes are about proportional to step^-POWER */

typedef struct {
  uint32_t number;
  uint64_t demand, share;
} Frame;

typedef struct {
  GArray *frames; /* Frame, by number */
  double pixels;  /* of a picture; 0: no frame was coded */
} Passes;

/* -------------------------------------------------------------------------- first pass --- */

static void add_frame(void *data, uint32_t number, const EncodeInput *shape, size_t bytes)
{
  Passes *passes = data;
  const Frame frame = {number, bytes, 0};

  passes->pixels = (double)shape->image.width * shape->image.height;
  g_array_append_val(passes->frames, frame);
}

/* Codes frames with a step, without writing. `frames` is what --frames would have; NULL: all. */
static bool measure(const EncodeFilm *film, double step, const char *frames, Passes *passes,
                    ToolResult *result, GError **error)
{
  Cj2kEncoderParams params = *film->params;
  ToolSequenceOptions options = *film->job.options;
  EncodeFilm measuring = *film;

  params.rate_control = CJ2K_RATE_QSTEP;
  params.quant_step = step;
  params.bitrate = params.average_bitrate = params.max_frame_bytes = params.max_component_bytes = 0;
  params.bits_per_pixel = 0;
  params.num_regions = 0;
  params.rate_effort = CJ2K_EFFORT_FAST;
  if (frames) {
    options.frames = (char *)frames;
    options.progress = FALSE;
  }
  measuring.params = &params;
  measuring.measured = add_frame;
  measuring.passes = passes;
  measuring.job.out = TOOL_NOWHERE;
  measuring.job.options = &options;
  return encode_film(&measuring, result, error);
}

static bool frames_of(const EncodeFilm *film, ToolFrames *frames, GError **error)
{
  ToolPattern pattern = {0};
  bool ok = tool_pattern_parse(&pattern, film->job.in, error) &&
            tool_sequence_frames(film->job.options, &pattern, frames, error);

  tool_pattern_clear(&pattern);
  return ok;
}

/* Bytes of the average frame. */
static double average_of(const EncodeFilm *film)
{
  return (double)film->params->average_bitrate * 125 / film->params->frame_rate;
}

/* The frames with which the step is searched. */
typedef struct {
  uint32_t numbers[SAMPLES], count;
} Samples;

static Samples choose_samples(ToolFrames all)
{
  Samples samples = {.count = MIN(all.last - all.first + 1, SAMPLES)};

  for (uint32_t i = 0; i < samples.count; i++)
    samples.numbers[i] = all.first + (uint32_t)((uint64_t)(all.last - all.first) * (2 * i + 1) /
                                                ((uint64_t)2 * samples.count));
  return samples;
}

/* Codes the samples with a step, and leaves out those that fail from now on. *mean: bytes a frame;
 * 0: all have failed. */
static bool measure_samples(const EncodeFilm *film, Samples *samples, double step, double *mean,
                            ToolResult *result, GError **error)
{
  Passes passes = {g_array_new(FALSE, FALSE, sizeof(Frame)), 0};
  uint32_t coded = 0;
  bool ok = true;
  double sum = 0;

  *result = TOOL_DONE;
  for (uint32_t i = 0; i < samples->count && ok && *result <= TOOL_FRAME_FAILED; i++) {
    char *frames = g_strdup_printf("%u", samples->numbers[i]);
    ok = measure(film, step, frames, &passes, result, error);
    if (ok && *result == TOOL_DONE)
      samples->numbers[coded++] = samples->numbers[i];
    g_free(frames);
  }
  samples->count = coded;
  for (guint i = 0; i < passes.frames->len; i++)
    sum += (double)g_array_index(passes.frames, Frame, i).demand;
  *mean = coded ? sum / coded : 0;
  g_array_unref(passes.frames);
  return ok;
}

static bool first_pass(const EncodeFilm *film, Passes *passes, ToolResult *result, GError **error)
{
  double step = FIRST_STEP, wanted = average_of(film), mean = 0;
  ToolFrames all;

  if (!frames_of(film, &all, error))
    return false;
  Samples samples = choose_samples(all);
  for (int i = 0; i < SEARCHES && samples.count && fabs(mean / wanted - 1) > NEAR; i++) {
    step = mean > 0 ? CLAMP(step * pow(mean / wanted, 1 / POWER), MIN_STEP, MAX_STEP) : step;
    if (!measure_samples(film, &samples, step, &mean, result, error))
      return false;
    if (*result > TOOL_FRAME_FAILED)
      return true;
  }
  return measure(film, step, film->job.options->frames, passes, result, error);
}

/* --------------------------------------------------------------------------- the file --- */

static bool write_stats(ImageOutput *output, const Passes *passes, char *why)
{
  GString *text = g_string_new(TITLE "\n");

  for (guint i = 0; i < passes->frames->len; i++) {
    const Frame *frame = &g_array_index(passes->frames, Frame, i);
    g_string_append_printf(text, "%u %" G_GUINT64_FORMAT "\n", frame->number, frame->demand);
  }
  g_string_append_printf(text, "pixels %.0f\n", passes->pixels);
  bool ok =
      image_output_close(output, fwrite(text->str, 1, text->len, output->file) == text->len, why);
  g_string_free(text, TRUE);
  return ok;
}

/* A line of number and bytes; frames are in order, so that each occurs once. */
static bool read_line(const char *line, Passes *passes)
{
  gchar **words = g_strsplit(line, " ", 3);
  guint64 number, bytes;
  guint len = passes->frames->len;
  bool ok = g_strv_length(words) == 2;

  if (ok && !strcmp(words[0], "pixels")) {
    ok = g_ascii_string_to_unsigned(words[1], 10, 1, G_MAXUINT64, &bytes, NULL);
    passes->pixels = ok ? (double)bytes : 0;
  } else if (ok) {
    ok = g_ascii_string_to_unsigned(words[0], 10, 0, TOOL_MAX_FRAME, &number, NULL) &&
         g_ascii_string_to_unsigned(words[1], 10, 1, G_MAXUINT32, &bytes, NULL) &&
         (!len || g_array_index(passes->frames, Frame, len - 1).number < number);
    const Frame frame = {(uint32_t)number, bytes, 0};
    if (ok)
      g_array_append_val(passes->frames, frame);
  }
  g_strfreev(words);
  return ok;
}

static bool read_stats(const char *path, Passes *passes, GError **error)
{
  gchar *text = NULL;

  if (!g_file_get_contents(path, &text, NULL, error))
    return false;
  gchar **lines = g_strsplit(text, "\n", -1);
  guint bad = lines[0] && !strcmp(lines[0], TITLE) ? 0 : 1;
  for (guint i = 1; !bad && lines[i]; i++)
    if (*lines[i] && !read_line(lines[i], passes))
      bad = i + 1;
  if (bad || !passes->frames->len || !(passes->pixels > 0))
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s, line %u: these are not the statistics of a first pass", path, MAX(bad, 1));
  g_strfreev(lines);
  g_free(text);
  return !bad && passes->frames->len && passes->pixels > 0;
}

/* The first pass and its file, which is opened before, so that no work is lost if it cannot be. */
static bool first_pass_to(const char *path, const EncodeFilm *film, Passes *passes,
                          ToolResult *result, GError **error)
{
  char why[IMAGE_WHY];
  ImageOutput output;

  if (!path)
    return first_pass(film, passes, result, error);
  image_output_set_durable(true);
  bool opened = image_output_open(&output, path, why), written = opened;
  bool ok = !opened || first_pass(film, passes, result, error);
  if (opened && ok && *result <= TOOL_FRAME_FAILED && passes->frames->len)
    written = write_stats(&output, passes, why);
  else if (opened)
    image_output_drop(&output);
  if (!written) {
    fprintf(stderr, "%s: %s\n", film->job.tool, why);
    *result = TOOL_STOPPED;
  }
  return ok;
}

/* ------------------------------------------------------------------------- second pass --- */

static void share_out(const EncodeFilm *film, Passes *passes)
{
  const Cj2kEncoderParams *p = film->params;
  guint n = passes->frames->len;
  uint64_t *demands = g_new(uint64_t, n), *shares = g_new(uint64_t, n);
  EncodeShareRule rule = {average_of(film), INFINITY, p->average_window};

  if (p->bitrate)
    rule.peak = (double)p->bitrate * 125 / p->frame_rate;
  if (p->max_frame_bytes)
    rule.peak = MIN(rule.peak, (double)p->max_frame_bytes);
  if (p->bits_per_pixel > 0)
    rule.peak = MIN(rule.peak, p->bits_per_pixel * passes->pixels / 8);
  for (guint i = 0; i < n; i++)
    demands[i] = g_array_index(passes->frames, Frame, i).demand;
  encode_shares(&rule, demands, n, shares);
  for (guint i = 0; i < n; i++)
    g_array_index(passes->frames, Frame, i).share = shares[i];
  g_free(demands);
  g_free(shares);
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
  uint32_t x = ((const Frame *)a)->number, y = ((const Frame *)b)->number;

  return x < y ? -1 : x > y;
}

static uint64_t share_of(void *data, uint32_t number)
{
  Passes *passes = data;
  const Frame key = {.number = number};
  guint at;

  if (!g_array_binary_search(passes->frames, &key, compare_numbers, &at))
    return 0;
  return g_array_index(passes->frames, Frame, at).share;
}

static bool second_pass(const EncodeFilm *film, Passes *passes, ToolResult *result, GError **error)
{
  Cj2kEncoderParams params = *film->params;
  EncodeFilm second = *film;

  share_out(film, passes);
  params.rate_control = CJ2K_RATE_CBR;
  params.average_bitrate = 0;
  second.params = &params;
  second.share = share_of;
  second.passes = passes;
  return encode_film(&second, result, error);
}

/* --------------------------------------------------------------------------------- all --- */

static bool check(const EncodePasses *passes, const EncodeFilm *film, GError **error)
{
  const Cj2kEncoderParams *p = film->params;
  const ToolOptions *given = &film->options->tool;
  bool other = (p->rate_control != CJ2K_RATE_AUTO && p->rate_control != CJ2K_RATE_CBR) ||
               tool_options_given(given, "quality") || tool_options_given(given, "psnr") ||
               tool_options_given(given, "quant-step");
  const char *why = NULL;

  if (!passes->pass)
    why = "--stats needs --pass=1, --pass=2 or --pass=both";
  else if (strcmp(passes->pass, "1") != 0 && strcmp(passes->pass, "2") != 0 &&
           strcmp(passes->pass, "both") != 0)
    why = "--pass must be 1, 2 or both";
  else if (strcmp(passes->pass, "both") != 0 && !passes->stats)
    why = "--pass=1 and --pass=2 need --stats=FILE";
  else if (!p->average_bitrate || !(p->frame_rate > 0))
    why = "--pass needs --average-bitrate and --framerate";
  else if (other)
    why = "--pass goes with --rate-control=cbr: a quality, step or PSNR needs no second pass";
  else if (p->reversible_transform || p->slices)
    why = "--pass goes neither with --reversible-transform nor with --slices";
  if (why)
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, why);
  return !why;
}

bool encode_passes(const EncodePasses *passes, const EncodeFilm *film, ToolResult *result,
                   GError **error)
{
  Passes work = {g_array_new(FALSE, FALSE, sizeof(Frame)), 0};

  *result = TOOL_DONE;
  bool ok = check(passes, film, error) &&
            (!strcmp(passes->pass, "1") || tool_film_check(&film->job, error));
  if (ok && !strcmp(passes->pass, "2"))
    ok = read_stats(passes->stats, &work, error);
  else if (ok)
    ok = first_pass_to(passes->stats, film, &work, result, error);
  ToolResult first = *result;
  if (ok && first <= TOOL_FRAME_FAILED && work.frames->len && strcmp(passes->pass, "1") != 0)
    ok = second_pass(film, &work, result, error);
  *result = MAX(*result, first);
  g_array_unref(work.frames);
  return ok;
}

void encode_passes_add_options(EncodePasses *passes, GOptionContext *context)
{
  const GOptionEntry entries[] = {
      {"pass", 0, 0, G_OPTION_ARG_STRING, &passes->pass,
       "Of a sequence with --average-bitrate: 1 finds what each frame needs and writes it to "
       "--stats, 2 encodes by it, both does both",
       "1|2|both"},
      {"stats", 0, 0, G_OPTION_ARG_FILENAME, &passes->stats, "The file between the passes", "FILE"},
      G_OPTION_ENTRY_NULL};

  g_option_context_add_main_entries(context, entries, NULL);
}

void encode_passes_clear(EncodePasses *passes)
{
  g_free(passes->pass);
  g_free(passes->stats);
}
