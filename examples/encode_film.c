/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_film.h"

#include <string.h>

typedef struct {
  const EncodeFilm *film;
  Cj2kEncoderParams params;
  Cj2kEncoder *encoder; /* NULL: no frame was submitted yet */
  uint32_t first;       /* the number of the first frame that was submitted */
  EncodeInput shape;    /* its description, without a picture */
  bool warned;          /* the encoder's warning was printed */
} Encoding;

/* ToolFrame.data. */
typedef struct {
  EncodeInput input;
  Cj2kPacket packet;
  bool has_input, has_packet;
} Picture;

static ToolResult fail(ToolResult result, char *why, const char *text)
{
  g_strlcpy(why, text, TOOL_WHY);
  return result;
}

/* --------------------------------------------------------------------------------- read --- */

static ToolResult read_picture(void *ctx, ToolFrame *frame, char *why)
{
  const Encoding *encoding = ctx;
  Picture *picture = g_new0(Picture, 1);
  char reason[IMAGE_WHY];

  frame->data = picture;
  picture->has_input = encode_input_read(&picture->input, encoding->film->options,
                                         encoding->film->params, frame->in, reason);
  return picture->has_input ? TOOL_DONE : fail(TOOL_FRAME_FAILED, why, reason);
}

static void clear_input(Picture *picture)
{
  if (picture->has_input)
    encode_input_clear(&picture->input);
  picture->has_input = false;
}

static void clear_picture(void *ctx, ToolFrame *frame)
{
  Picture *picture = frame->data;

  (void)ctx;
  if (!picture)
    return;
  clear_input(picture);
  if (picture->has_packet)
    cj2k_encoder_release(NULL, &picture->packet);
  g_free(picture);
}

/* ------------------------------------------------------------------------------- submit --- */

static void keep_shape(Encoding *encoding, const EncodeInput *input, uint32_t number)
{
  EncodeInput *shape = &encoding->shape;
  uint32_t n = input->image.num_components;

  *shape = (EncodeInput){.image = input->image, .layout = input->layout};
  shape->components = g_memdup2(input->components, n * sizeof *input->components);
  shape->samples = g_memdup2(input->samples, n * sizeof *input->samples);
  shape->image.components = shape->components;
  shape->layout.samples = shape->samples;
  encoding->first = number;
}

static bool same_component(const Cj2kComponent *a, const Cj2kComponent *b)
{
  return a->x1 == b->x1 && a->y1 == b->y1 && a->dx == b->dx && a->dy == b->dy &&
         a->depth == b->depth && a->is_signed == b->is_signed;
}

static bool same_samples(const Cj2kSampleLayout *a, const Cj2kSampleLayout *b)
{
  bool same = a->plane == b->plane && a->unit_bytes == b->unit_bytes &&
              a->unit_samples == b->unit_samples && a->word_bytes == b->word_bytes &&
              a->big_endian == b->big_endian && a->is_signed == b->is_signed &&
              a->depth == b->depth;

  for (uint8_t i = 0; same && i < a->unit_samples; i++)
    same = a->at[i].offset == b->at[i].offset && a->at[i].shift == b->at[i].shift;
  return same;
}

static bool same_shape(const EncodeInput *a, const EncodeInput *b)
{
  bool same = a->image.width == b->image.width && a->image.height == b->image.height &&
              a->image.num_components == b->image.num_components &&
              a->image.colour == b->image.colour && a->layout.num_planes == b->layout.num_planes &&
              !a->image.channels == !b->image.channels;

  for (uint32_t c = 0; same && a->image.channels && c < a->image.num_components; c++)
    same = a->image.channels[c].type == b->image.channels[c].type;
  for (uint32_t c = 0; same && c < a->image.num_components; c++)
    same = same_component(&a->components[c], &b->components[c]) &&
           same_samples(&a->samples[c], &b->samples[c]);
  return same;
}

/* Writes what a picture is, such as "1920 x 1080, 3 components of 10 bits". */
static void describe(const EncodeInput *input, char *text, size_t size)
{
  g_snprintf(text, size, "%u x %u, %u component%s of %u bits", input->image.width,
             input->image.height, input->image.num_components,
             input->image.num_components == 1 ? "" : "s", input->components[0].depth);
}

static ToolResult refuse_shape(const Encoding *encoding, const char *in, const EncodeInput *input,
                               char *why)
{
  char own[80], first[80];

  describe(input, own, sizeof own);
  describe(&encoding->shape, first, sizeof first);
  if (strcmp(own, first) != 0)
    g_snprintf(why, TOOL_WHY, "%s: the picture is %s, but frame %u is %s", in, own, encoding->first,
               first);
  else
    g_snprintf(why, TOOL_WHY, "%s: the samples are not of the same kind as those of frame %u", in,
               encoding->first);
  return TOOL_FRAME_FAILED;
}

static ToolResult open_encoder(Encoding *encoding, uint32_t number, char *why)
{
  const ToolFilmJob *job = &encoding->film->job;
  Cj2kError error = {0};

  cj2k_encoder_close(encoding->encoder);
  encoding->params.first_frame = number;
  encoding->encoder =
      cj2k_encoder_open(&encoding->params, &encoding->shape.image, &encoding->shape.layout, &error);
  if (!encoding->encoder)
    return fail(error.code == CJ2K_ERROR_ARGUMENT ? TOOL_WRONG : TOOL_STOPPED, why, error.text);
  if (!encoding->warned && cj2k_encoder_warning(encoding->encoder))
    fprintf(stderr, "%s: warning: %s\n", job->tool, cj2k_encoder_warning(encoding->encoder));
  encoding->warned = true;
  return TOOL_DONE;
}

/* Limits the frame that is submitted next to its share of the film. */
static ToolResult set_share(Encoding *encoding, uint32_t number, bool anew, char *why)
{
  const EncodeFilm *film = encoding->film;
  uint64_t share = film->share(film->passes, number), most = film->params->max_frame_bytes;
  Cj2kError error = {0};

  if (!share)
    return fail(TOOL_FRAME_FAILED, why, "the statistics of the first pass do not have this frame");
  encoding->params.max_frame_bytes = most ? MIN(share, most) : share;
  if (anew || cj2k_encoder_set_rate(encoding->encoder, &encoding->params, &error) == CJ2K_OK)
    return TOOL_DONE;
  return fail(TOOL_FRAME_FAILED, why, error.text);
}

static ToolResult submit_picture(void *ctx, ToolFrame *frame, bool anew, char *why)
{
  Encoding *encoding = ctx;
  Picture *picture = frame->data;
  Cj2kError error = {0};

  if (!encoding->shape.components)
    keep_shape(encoding, &picture->input, frame->number);
  if (!same_shape(&encoding->shape, &picture->input))
    return refuse_shape(encoding, frame->in, &picture->input, why);
  ToolResult result = TOOL_DONE;
  if (encoding->film->share)
    result = set_share(encoding, frame->number, anew, why);
  if (result == TOOL_DONE && anew)
    result = open_encoder(encoding, frame->place, why);
  if (result != TOOL_DONE)
    return result;
  if (cj2k_encoder_submit(encoding->encoder, &picture->input.picture, NULL, &error) == CJ2K_OK)
    return TOOL_DONE;
  return fail(TOOL_STOPPED, why, error.text);
}

/* ---------------------------------------------------------------------- receive and write --- */

static ToolResult receive_packet(void *ctx, ToolFrame *frame, char *why)
{
  Encoding *encoding = ctx;
  Picture *picture = frame->data;
  Cj2kPacket *packet = &picture->packet;

  cj2k_encoder_receive(encoding->encoder, packet);
  picture->has_packet = true;
  clear_input(picture);
  if (packet->fallback && packet->status == CJ2K_OK)
    fprintf(stderr, "%s: frame %u: warning: done by the CPU: %s\n", encoding->film->job.tool,
            frame->number, packet->error.text);
  if (packet->status == CJ2K_OK) {
    if (encoding->film->measured)
      encoding->film->measured(encoding->film->passes, frame->number, &encoding->shape,
                               packet->size);
    return TOOL_DONE;
  }
  bool all = packet->status == CJ2K_ERROR_DEVICE || packet->status == CJ2K_ERROR_MEMORY;
  return fail(all ? TOOL_STOPPED : TOOL_FRAME_FAILED, why, packet->error.text);
}

static ToolResult write_packet(void *ctx, ToolFrame *frame, char *why)
{
  const Encoding *encoding = ctx;
  const Cj2kPacket *packet = &((Picture *)frame->data)->packet;
  char reason[IMAGE_WHY];
  ImageOutput output;

  if (!image_output_open(&output, frame->out, reason) ||
      !image_output_close(
          &output, fwrite(packet->data, 1, packet->size, output.file) == packet->size, reason))
    return fail(TOOL_STOPPED, why, reason);
  if (encoding->film->verbose)
    fprintf(stderr, "%s: %zu bytes\n", frame->out, packet->size);
  return TOOL_DONE;
}

/* Whether a file begins with a codestream or a JP2 signature box and ends with EOC. Outputs get
 * their names when they are whole, so that this only finds files that were damaged elsewhere. */
static bool is_whole(void *ctx, const char *path)
{
  static const uint8_t soc[] = {0xFF, 0x4F}, box[] = {0, 0, 0, 12, 'j', 'P', ' ', ' '},
                       eoc[] = {0xFF, 0xD9};
  uint8_t first[8], last[2];
  FILE *file = fopen(path, "rb");

  (void)ctx;
  if (!file)
    return false;
  bool ok = fread(first, 1, sizeof first, file) == sizeof first &&
            fseek(file, -(long)sizeof last, SEEK_END) == 0 &&
            fread(last, 1, sizeof last, file) == sizeof last &&
            (!memcmp(first, soc, sizeof soc) || !memcmp(first, box, sizeof box)) &&
            !memcmp(last, eoc, sizeof eoc);
  fclose(file);
  return ok;
}

/* ---------------------------------------------------------------------------------- all --- */

/* Whether a frame's bytes depend on earlier frames: only a budget or an average makes them. */
static bool learns(const Cj2kEncoderParams *p)
{
  bool cinema = p->profile == CJ2K_PROFILE_CINEMA_2K || p->profile == CJ2K_PROFILE_CINEMA_4K;

  if (p->average_bitrate)
    return true;
  if (p->rate_control != CJ2K_RATE_AUTO)
    return p->rate_control == CJ2K_RATE_CBR;
  return p->bitrate || p->bits_per_pixel > 0 || p->max_frame_bytes || cinema;
}

bool encode_film(const EncodeFilm *film, ToolResult *result, GError **error)
{
  static const ToolFilmWork work = {read_picture, submit_picture, receive_packet,
                                    write_packet, clear_picture,  is_whole};
  Encoding encoding = {.film = film, .params = *film->params};
  ToolFilmJob job = film->job;

  job.in_flight = encoding.params.frames_in_flight;
  job.learns = learns(film->params);
  job.period = film->params->rate_period;
  if (tool_options_given(&film->options->tool, "first-frame"))
    job.first_place = &film->params->first_frame;
  job.work = &work;
  job.ctx = &encoding;
  bool ok = tool_film_run(&job, result, error);
  cj2k_encoder_close(encoding.encoder);
  g_free(encoding.shape.components);
  g_free(encoding.shape.samples);
  return ok;
}
