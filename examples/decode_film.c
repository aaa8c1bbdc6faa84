/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode_film.h"

#include "decode_output.h"

#include <sys/stat.h>

typedef struct {
  const DecodeFilm *film;
  Cj2kDecoder *decoder;
} Decoding;

/* ToolFrame.data. */
typedef struct {
  Decoding *decoding;
  uint8_t *bytes;
  size_t size;
  Cj2kFrame frame;
  bool has_frame;
} Coded;

static ToolResult fail(ToolResult result, char *why, const char *text)
{
  g_strlcpy(why, text, TOOL_WHY);
  return result;
}

static ToolResult read_coded(void *ctx, ToolFrame *frame, char *why)
{
  Coded *coded = g_new0(Coded, 1);
  char reason[IMAGE_WHY];

  frame->data = coded;
  coded->decoding = ctx;
  coded->bytes = image_load_file(frame->in, &coded->size, reason);
  return coded->bytes ? TOOL_DONE : fail(TOOL_FRAME_FAILED, why, reason);
}

static void clear_coded(void *ctx, ToolFrame *frame)
{
  Coded *coded = frame->data;

  (void)ctx;
  if (!coded)
    return;
  if (coded->has_frame)
    cj2k_decoder_release(coded->decoding->decoder, &coded->frame);
  g_free(coded->bytes);
  g_free(coded);
}

static ToolResult submit_coded(void *ctx, ToolFrame *frame, bool anew, char *why)
{
  Decoding *decoding = ctx;
  const Coded *coded = frame->data;
  Cj2kError error = {0};

  (void)anew; /* frames do not depend on each other */
  if (cj2k_decoder_submit(decoding->decoder, coded->bytes, coded->size, NULL, NULL, NULL, &error) ==
      CJ2K_OK)
    return TOOL_DONE;
  return fail(TOOL_STOPPED, why, error.text);
}

static void warn(const DecodeFilm *film, const ToolFrame *tool, const Cj2kFrame *frame)
{
  if (frame->truncated || frame->corrupt_blocks)
    fprintf(stderr, "%s: frame %u: warning: %s: %llu packets missing, %u corrupt code-blocks\n",
            film->job.tool, tool->number, tool->in, (unsigned long long)frame->concealed_packets,
            frame->corrupt_blocks);
  if (frame->fallback)
    fprintf(stderr, "%s: frame %u: warning: done by the CPU: %s\n", film->job.tool, tool->number,
            frame->error.text);
}

static ToolResult receive_frame(void *ctx, ToolFrame *tool, char *why)
{
  const Decoding *decoding = ctx;
  Coded *coded = tool->data;
  Cj2kFrame *frame = &coded->frame;

  cj2k_decoder_receive(decoding->decoder, frame);
  coded->has_frame = true;
  g_clear_pointer(&coded->bytes, g_free);
  if (frame->status == CJ2K_OK) {
    warn(decoding->film, tool, frame);
    return TOOL_DONE;
  }
  bool all = frame->status == CJ2K_ERROR_DEVICE || frame->status == CJ2K_ERROR_MEMORY;
  g_snprintf(why, TOOL_WHY, "%s: %s", tool->in, frame->error.text);
  return all ? TOOL_STOPPED : TOOL_FRAME_FAILED;
}

static ToolResult write_frame(void *ctx, ToolFrame *tool, char *why)
{
  const Decoding *decoding = ctx;
  const Coded *coded = tool->data;
  const Cj2kImage *image = &coded->frame.image;
  char reason[IMAGE_WHY];

  if (!decode_write(&coded->frame, tool->out, decoding->film->output_format, reason))
    return fail(TOOL_STOPPED, why, reason);
  if (decoding->film->verbose)
    fprintf(stderr, "%s: %u x %u, %u components\n", tool->out, image->x1 - image->x0,
            image->y1 - image->y0, image->num_components);
  return TOOL_DONE;
}

/* Outputs get their names when they are whole. */
static bool is_whole(void *ctx, const char *path)
{
  const Decoding *decoding = ctx;
  char *name = decode_file_name(path, decoding->film->output_format);
  struct stat found;
  bool whole = stat(name, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0;

  g_free(name);
  return whole;
}

bool decode_film(const DecodeFilm *film, ToolResult *result, GError **error)
{
  static const ToolFilmWork work = {read_coded,  submit_coded, receive_frame,
                                    write_frame, clear_coded,  is_whole};
  Cj2kError why = {0};
  Decoding decoding = {.film = film};
  ToolFilmJob job = film->job;

  decoding.decoder = cj2k_decoder_open(&film->params, &why);
  if (!decoding.decoder) {
    fprintf(stderr, "%s: %s\n", job.tool, why.text);
    *result = why.code == CJ2K_ERROR_ARGUMENT ? TOOL_WRONG : TOOL_STOPPED;
    return true;
  }
  job.in_flight = film->params.frames_in_flight;
  job.work = &work;
  job.ctx = &decoding;
  bool ok = tool_film_run(&job, result, error);
  cj2k_decoder_close(decoding.decoder);
  return ok;
}
