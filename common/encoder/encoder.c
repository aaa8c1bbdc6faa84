/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

#include "common/codestream/progression.h"
#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <string.h>

#define DEFAULT_IN_FLIGHT 2

/* Rate control remembers what each frame in flight needs. */
G_STATIC_ASSERT(CJ2K_RATE_MEMORY > CJ2K_MAX_IN_FLIGHT + CJ2K_RATE_LAG + 1);

/* ------------------------------------------------------------------- open and close --- */

static void copy_layout(Cj2kEncoder *encoder, const Cj2kLayout *layout)
{
  encoder->samples = g_memdup2(layout->samples, layout->num_components * sizeof *layout->samples);
  encoder->layout = *layout;
  encoder->layout.samples = encoder->samples;
}

static Cj2kSeenAs seen_as(const Cj2kEncoderSetup *setup)
{
  if (setup->image.num_components < 3)
    return CJ2K_SEEN_AS_LUMA;
  switch (setup->image.colour) {
  case CJ2K_COLOUR_SYCC: return CJ2K_SEEN_AS_YCC;
  case CJ2K_COLOUR_XYZ: return CJ2K_SEEN_AS_XYZ;
  case CJ2K_COLOUR_SRGB: return CJ2K_SEEN_AS_RGB;
  default: return setup->mct ? CJ2K_SEEN_AS_RGB : CJ2K_SEEN_AS_LUMA;
  }
}

/* Tells rate control what does not change from frame to frame. */
static void open_rate(Cj2kEncoder *encoder)
{
  const Cj2kEncoderSetup *setup = &encoder->setup;
  const Cj2kEncoderParams *p = &setup->params;
  Cj2kRateEncoder *rate = &encoder->rate;

  cj2k_rate_encoder_init(rate, encoder->plan, p->block_coder, encoder->threads);
  rate->block_style = p->codeblock_style;
  rate->guard_bits = p->guard_bits;
  rate->reversible = p->reversible_transform;
  rate->mct = setup->mct;
  rate->colour_difference =
      setup->image.num_components >= 3 && (setup->mct || setup->image.colour == CJ2K_COLOUR_SYCC);
  rate->alone = p->frames_in_flight == 1;
  rate->history.period = p->slices ? 0 : p->rate_period;
  rate->slice_buffer = p->slice_buffer_lines;
  rate->history.first_film = p->first_frame;
  rate->layers = (Cj2kLayers){
      .count = p->num_layers, .width = setup->image.width, .height = setup->image.height};
  memcpy(rate->layers.rates, p->layer_rates, sizeof rate->layers.rates);
  if (p->visual_weights == CJ2K_VISUAL_CSF)
    cj2k_rate_encoder_set_visual(rate, seen_as(setup), p->viewing_distance);
}

static bool open_frames(Cj2kEncoder *encoder, Cj2kError *error)
{
  open_rate(encoder);
  return cj2k_encoder_make_slots(encoder, error) == CJ2K_OK &&
         cj2k_encoder_open_ring(encoder, error) == CJ2K_OK &&
         cj2k_encoder_find_least(encoder, error) == CJ2K_OK;
}

static uint64_t num_samples(const Cj2kEncoderImage *image)
{
  uint64_t samples = 0;

  for (uint32_t c = 0; c < image->num_components; c++)
    samples +=
        (uint64_t)image->width * image->height / image->components[c].dx / image->components[c].dy;
  return samples;
}

/* Each frame in flight on the GPU needs a thread, which waits while the GPU works. */
static uint32_t num_threads(const Cj2kEncoderParams *params)
{
  bool gpu = params->backend != CJ2K_BACKEND_CPU && cj2k_cuda_encode_backend();
  uint32_t n = params->num_threads ? params->num_threads : g_get_num_processors();

  return gpu ? MAX(n, params->frames_in_flight) : n;
}

/* Unless the caller has chosen a number of threads, or the CPU encodes some frames. */
static void limit_threads(Cj2kEncoder *encoder)
{
  const Cj2kEncoderSetup *setup = &encoder->setup;

  g_mutex_lock(&encoder->lock);
  bool cpu = encoder->backend.cpu_data;
  g_mutex_unlock(&encoder->lock);
  if (encoder->backend.kind == CJ2K_BACKEND_CUDA && !cpu && !setup->params.num_threads)
    cj2k_threads_limit(
        encoder->threads,
        cj2k_threads_beside_gpu(setup->params.frames_in_flight, num_samples(&setup->image)),
        setup->params.low_latency);
}

/* The comment in the character set of a COM marker segment's text, ISO 8859-15 (table A.44). */
static bool set_comment(Cj2kEncoder *encoder, const char *text, Cj2kError *error)
{
  encoder->comment = text ? g_convert(text, -1, "ISO-8859-15", "UTF-8", NULL, NULL, NULL) : NULL;
  encoder->setup.params.comment = encoder->comment;
  if (encoder->comment && strstr(encoder->comment, "\xff\xd9"))
    cj2k_setup_warn(&encoder->setup, "comment has the bytes FF D9, which some parsers take for the "
                                     "end of the codestream");
  if (encoder->comment || !text)
    return true;
  cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                 "comment: the text is not UTF-8, or has characters that ISO 8859-15 lacks");
  return false;
}

/* Code-blocks a packet from which on PLT is a trifle: a length takes up to five bytes. */
#define BLOCKS_PER_PACKET 16

/* Decides on PLT: it pays where reading packets is much of what a decoder does, and where several
 * threads can do it for it (packets_runs.c). With BYPASS packets take longest to read, and of a
 * frame of HT they are the longest part that the host does. */
static void choose_plt(Cj2kEncoder *encoder)
{
  Cj2kEncoderParams *p = &encoder->setup.params;
  uint32_t blocks = encoder->plan->num_blocks / encoder->plan->num_tiles;
  uint8_t style = p->codeblock_style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL);

  if (p->plt != CJ2K_PLT_AUTO)
    return;
  bool is_long = p->block_coder == CJ2K_CODER_HT || style == CJ2K_STYLE_BYPASS;
  bool pays = is_long && p->num_layers == 1 && !p->sop && !p->slices &&
              blocks >= CJ2K_DIVIDED_BLOCKS &&
              cj2k_tile_num_packets(encoder->plan, 0) <= blocks / BLOCKS_PER_PACKET;
  p->plt = pays ? CJ2K_PLT_ON : CJ2K_PLT_OFF;
}

static bool open_encoder(Cj2kEncoder *encoder, const Cj2kEncoderParams *params,
                         const Cj2kEncoderImage *image, const Cj2kLayout *layout, Cj2kError *error)
{
  if (cj2k_setup_init(&encoder->setup, params, image, layout, error) != CJ2K_OK)
    return false;
  if (!encoder->setup.params.frames_in_flight)
    encoder->setup.params.frames_in_flight = DEFAULT_IN_FLIGHT;
  if (!set_comment(encoder, params->comment, error))
    return false;
  copy_layout(encoder, layout);
  encoder->header = cj2k_setup_header(&encoder->setup);
  if (cj2k_plan_new(encoder->header, 0, 0, &encoder->plan, error) != CJ2K_OK)
    return false;
  choose_plt(encoder);
  encoder->threads = cj2k_threads_new(num_threads(&encoder->setup.params));
  if (!encoder->threads) {
    cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no thread could be started");
    return false;
  }
  if (!cj2k_encoder_open_backend(encoder, error))
    return false;
  encoder->setup.params.cuda_devices = NULL; /* the text is the caller's */
  limit_threads(encoder);
  if (!encoder->setup.params.slices) /* their bytes grow from slice to slice */
    cj2k_outputs_pin(encoder->outputs, &encoder->backend.functions->memory, encoder->backend.data,
                     cj2k_plan_likely_bytes(encoder->plan));
  return open_frames(encoder, error);
}

/* Refuses ceilings, and the least ceiling that an average gives a frame, without room for headers.
 */
static Cj2kStatus check_target(const Cj2kEncoder *encoder, const Cj2kRateTarget *target,
                               Cj2kError *error)
{
  const Cj2kLeastBytes *least = &encoder->rate.least;
  Cj2kStatus status = cj2k_ceilings_check(&target->ceilings, least, error);

  if (status != CJ2K_OK || !target->average.rate ||
      cj2k_average_least(target->average.rate) >= least->frame)
    return status;
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "average-bitrate: a frame may get only %" G_GUINT64_FORMAT
                        " bytes, half the average, but headers need %" G_GUINT64_FORMAT,
                        cj2k_average_least(target->average.rate), least->frame);
}

/* A ceiling without room for headers is the error of a frame; an average, of which each frame's
 * ceiling is made, is refused at once. */
static bool check_average(const Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kRateTarget target = cj2k_encoder_rate_target(&encoder->setup);

  return !target.average.rate || check_target(encoder, &target, error) == CJ2K_OK;
}

Cj2kEncoder *cj2k_encoder_open(const Cj2kEncoderParams *params, const Cj2kEncoderImage *image,
                               const Cj2kLayout *layout, Cj2kError *error)
{
  Cj2kEncoder *encoder = g_new0(Cj2kEncoder, 1);

  cj2k_error_clear(error);
  encoder->outputs = cj2k_outputs_new();
  g_mutex_init(&encoder->lock);
  g_cond_init(&encoder->changed);
  if (open_encoder(encoder, params, image, layout, error) && check_average(encoder, error))
    return encoder;
  cj2k_encoder_close(encoder);
  return NULL;
}

void cj2k_encoder_close(Cj2kEncoder *encoder)
{
  Cj2kPacket packet;

  if (!encoder)
    return;
  cj2k_encoder_drop(encoder);
  while (cj2k_encoder_receive(encoder, &packet) == CJ2K_OK)
    cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close_ring(encoder);
  cj2k_encoder_clear_slots(encoder);
  cj2k_outputs_unpin(encoder->outputs);
  cj2k_encoder_close_backend(encoder);
  if (encoder->rate.plan)
    cj2k_rate_encoder_clear(&encoder->rate);
  cj2k_threads_free(encoder->threads);
  cj2k_outputs_unref(encoder->outputs);
  g_clear_pointer(&encoder->plan, cj2k_plan_unref);
  g_clear_pointer(&encoder->header, cj2k_header_unref);
  cj2k_setup_clear(&encoder->setup);
  g_free(encoder->comment);
  g_free(encoder->samples);
  g_mutex_clear(&encoder->lock);
  g_cond_clear(&encoder->changed);
  g_free(encoder);
}

void *cj2k_encoder_alloc(Cj2kEncoder *encoder, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_memory_alloc(&encoder->backend.functions->memory, encoder->backend.data, kind, size);
}

void cj2k_encoder_free(Cj2kEncoder *encoder, Cj2kMemoryKind kind, void *memory)
{
  cj2k_memory_free(&encoder->backend.functions->memory, encoder->backend.data, kind, memory);
}

Cj2kBackendKind cj2k_encoder_backend(const Cj2kEncoder *encoder)
{
  return encoder->backend.kind;
}

const char *cj2k_encoder_why_cpu(const Cj2kEncoder *encoder)
{
  return encoder->backend.why_cpu.code ? encoder->backend.why_cpu.text : NULL;
}

const char *cj2k_encoder_warning(const Cj2kEncoder *encoder)
{
  return encoder->setup.warning[0] ? encoder->setup.warning : NULL;
}

Cj2kRateControl cj2k_encoder_rate_control(const Cj2kEncoder *encoder)
{
  return encoder->setup.params.rate_control;
}

uint16_t cj2k_encoder_rsiz(const Cj2kEncoder *encoder)
{
  return encoder->header->rsiz;
}

Cj2kStatus cj2k_encoder_set_rate(Cj2kEncoder *encoder, const Cj2kEncoderParams *params,
                                 Cj2kError *error)
{
  cj2k_error_clear(error);
  Cj2kEncoderSetup changed =
      encoder->setup; /* read without the lock: only this thread writes setup */
  Cj2kStatus status = cj2k_setup_change_rate(&changed, params, error);
  const Cj2kRateTarget target = cj2k_encoder_rate_target(&changed);
  if (status == CJ2K_OK)
    status = check_target(encoder, &target, error);
  if (status != CJ2K_OK)
    return status;
  /* Only the parameters: another thread may read the image at this moment. */
  g_mutex_lock(&encoder->lock);
  encoder->setup.params = changed.params;
  g_mutex_unlock(&encoder->lock);
  return CJ2K_OK;
}

Cj2kStatus cj2k_encoder_set_frames_in_flight(Cj2kEncoder *encoder, uint32_t frames,
                                             Cj2kError *error)
{
  const Cj2kEncoderBackend *backend = &encoder->backend;

  cj2k_error_clear(error);
  if (frames == encoder->ring.size)
    return CJ2K_OK;
  if (frames - 1 >= CJ2K_MAX_IN_FLIGHT)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "frames-in-flight is 1 to %d",
                          CJ2K_MAX_IN_FLIGHT);
  if (encoder->ring.count || encoder->parts.frame) /* only this thread raises it */
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "frames are in flight");
  cj2k_encoder_close_ring(encoder);
  cj2k_encoder_clear_slots(encoder);
  g_mutex_lock(&encoder->lock);
  encoder->setup.params.frames_in_flight = frames;
  g_mutex_unlock(&encoder->lock);
  encoder->rate.alone = frames == 1;
  if (backend->functions->set_in_flight)
    backend->functions->set_in_flight(backend->data, frames);
  limit_threads(encoder);
  Cj2kStatus status = cj2k_encoder_make_slots(encoder, error); /* or frames fail */
  Cj2kStatus opened = cj2k_encoder_open_ring(encoder, status == CJ2K_OK ? error : NULL);
  return status == CJ2K_OK ? opened : status;
}

void cj2k_encoder_get_stats(Cj2kEncoder *encoder, Cj2kStats *stats)
{
  g_mutex_lock(&encoder->lock);
  *stats = encoder->stats;
  const Cj2kEncoderBackend *backend = &encoder->backend;
  stats->frames_in_flight = encoder->slots.allowed;
  uint32_t lost = backend->functions->lost ? backend->functions->lost(backend->data) : 0;
  stats->lost_devices = lost;
  stats->devices = backend->devices.count - lost;
  const Cj2kBucketState bucket = cj2k_bucket_state(&encoder->rate.bucket);
  stats->average_bytes = bucket.rate;
  stats->bucket_bytes = bucket.capacity;
  stats->bucket_level = bucket.level;
  g_mutex_unlock(&encoder->lock);
}
