/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/runtime/error.h"
#include "common/samples/layout.h"
#include "palette.h"

#include <string.h>

#define DEFAULT_MEMORY       (UINT64_C(768) << 20)
#define DEFAULT_MEMORY_RATIO 256 /* memory limit, as a multiple of the codestream's bytes */

static uint64_t memory_limit(const Cj2kDecoder *decoder, size_t size)
{
  if (decoder->params.max_memory)
    return decoder->params.max_memory;
  uint64_t by_size =
      size > UINT64_MAX / DEFAULT_MEMORY_RATIO ? UINT64_MAX : (uint64_t)size * DEFAULT_MEMORY_RATIO;
  return MAX(DEFAULT_MEMORY, by_size);
}

/* Makes the offset of an error count from the start of the submitted data instead of the
 * codestream. */
static Cj2kStatus shift_offset(Cj2kStatus status, const Cj2kJp2 *jp2, Cj2kError *error)
{
  if (error && status == CJ2K_ERROR_CODESTREAM)
    error->offset += jp2->codestream.offset;
  return status;
}

/* ------------------------------------------------------------------------- submit --- */

/* Makes a new plan and info from `header`. */
static Cj2kStatus renew(Cj2kDecoder *decoder, Cj2kHeader *header, bool same_header,
                        uint64_t max_memory, Cj2kJp2 *jp2, const uint8_t *data, Cj2kError *error)
{
  bool same_boxes =
      decoder->info && decoder->boxes->len == jp2->codestream.offset &&
      (decoder->boxes->len == 0 || !memcmp(decoder->boxes->data, data, decoder->boxes->len));
  Cj2kStatus status;
  if (!same_header || !decoder->plan) {
    g_clear_pointer(&decoder->plan, cj2k_plan_unref);
    status = cj2k_plan_new(header, decoder->params.reduce, max_memory, &decoder->plan, error);
    if (status != CJ2K_OK)
      return status;
    same_boxes = false;
  }
  if (same_boxes)
    return CJ2K_OK;
  g_clear_pointer(&decoder->info, cj2k_image_info_unref);
  g_byte_array_set_size(decoder->boxes, 0);
  g_byte_array_append(decoder->boxes, data, (guint)MIN(jp2->codestream.offset, G_MAXINT));
  return cj2k_image_info_new(header, jp2, decoder->params.reduce, decoder->params.strict,
                             &decoder->info, error);
}

static Cj2kStatus read_codestream(Cj2kDecoderFrame *frame, Cj2kJp2 *jp2, Cj2kError *error)
{
  Cj2kDecoder *decoder = frame->decoder;
  Cj2kHeader *header = NULL;
  bool same = false;
  frame->codestream = jp2->codestream;
  Cj2kStatus status = cj2k_header_read(
      decoder->header_reader, frame->data + frame->codestream.offset, frame->codestream.size,
      decoder->params.strict, frame->max_memory, &header, &same, &frame->tile_parts, error);
  if (status != CJ2K_OK)
    return shift_offset(status, jp2, error);
  status = renew(decoder, header, same, frame->max_memory, jp2, frame->data, error);
  if (status != CJ2K_OK)
    return status;
  frame->plan = cj2k_plan_ref(decoder->plan);
  frame->info = cj2k_image_info_ref(decoder->info);
  return CJ2K_OK;
}

Cj2kStatus cj2k_decoder_frame_headers(Cj2kDecoderFrame *frame, Cj2kError *error)
{
  Cj2kJp2 jp2 = {0};
  gint64 begin = g_get_monotonic_time();
  frame->max_memory = memory_limit(frame->decoder, frame->size);
  Cj2kStatus status =
      cj2k_jp2_read(frame->data, frame->size, frame->decoder->params.strict, &jp2, error);
  if (status == CJ2K_OK)
    status = read_codestream(frame, &jp2, error);
  cj2k_jp2_clear(&jp2);
  frame->ms_header = (double)(g_get_monotonic_time() - begin) / 1000;
  return status;
}

/* ----------------------------------------------------------------------- pictures --- */

static void copy_layout(Cj2kDecoderFrame *frame, const Cj2kLayout *layout)
{
  if (frame->max_samples < layout->num_components) {
    frame->samples = g_renew(Cj2kSampleLayout, frame->samples, layout->num_components);
    frame->max_samples = layout->num_components;
  }
  if (layout->samples != frame->samples)
    memcpy(frame->samples, layout->samples, layout->num_components * sizeof *layout->samples);
  frame->layout = *layout;
  frame->layout.samples = frame->samples;
}

static Cj2kStatus own_planes(Cj2kDecoderFrame *frame, Cj2kError *error)
{
  const Cj2kImage *image = &frame->info->image;
  if (frame->max_samples < image->num_components) {
    frame->samples = g_renew(Cj2kSampleLayout, frame->samples, image->num_components);
    frame->max_samples = image->num_components;
  }
  cj2k_layout_planar(image, frame->samples, &frame->layout);
  frame->own = cj2k_own_picture_get(frame->decoder, &frame->layout, image->components,
                                    image->num_components);
  if (!frame->own)
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for the picture");
  frame->picture = (Cj2kPicture){.memory = CJ2K_MEMORY_PINNED,
                                 .num_planes = image->num_components,
                                 .planes = frame->own->planes};
  return CJ2K_OK;
}

/* Sizes of the components as the codestream has them, without palette. */
static Cj2kComponent *plan_components(const Cj2kPlan *plan)
{
  Cj2kComponent *components = g_new0(Cj2kComponent, plan->num_components);
  for (uint32_t c = 0; c < plan->num_components; c++) {
    const Cj2kRect *out = &plan->component_out[c];
    components[c] = (Cj2kComponent){.x0 = out->x0, .y0 = out->y0, .x1 = out->x1, .y1 = out->y1};
  }
  return components;
}

static Cj2kStatus index_planes(Cj2kDecoderFrame *frame, uint64_t used, Cj2kError *error)
{
  const Cj2kHeader *header = frame->plan->header;
  frame->index_samples = g_renew(Cj2kSampleLayout, frame->index_samples, header->num_components);
  cj2k_palette_index_layout(header, frame->index_samples, &frame->index_layout);
  Cj2kComponent *components = plan_components(frame->plan);
  if (used + cj2k_own_picture_size(&frame->index_layout, components, header->num_components) <=
      frame->max_memory)
    frame->indices = cj2k_own_picture_get(frame->decoder, &frame->index_layout, components,
                                          header->num_components);
  g_free(components);
  if (!frame->indices || !cj2k_decoder_frame_host_picture(frame))
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT, "no memory for the palette's indices");
  frame->index_picture = (Cj2kPicture){.memory = CJ2K_MEMORY_PINNED,
                                       .num_planes = header->num_components,
                                       .planes = frame->indices->planes};
  return CJ2K_OK;
}

/* Checks the memory that the frame needs besides the plan, which cj2k_plan_new has checked. */
static Cj2kStatus check_memory(const Cj2kDecoderFrame *frame, bool own, uint64_t *used,
                               Cj2kError *error)
{
  const Cj2kImage *image = &frame->info->image;
  *used = (frame->plan->num_coefficients + frame->plan->num_lowpass) * 4;
  for (uint32_t c = 0; own && c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    uint32_t bytes = component->depth <= 8 ? 1 : component->depth <= 16 ? 2 : 4;
    *used += (uint64_t)(component->x1 - component->x0) * (component->y1 - component->y0) * bytes;
    if (*used > frame->max_memory)
      break;
  }
  if (*used > frame->max_memory)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "the frame needs more than the %" G_GUINT64_FORMAT " MiB it may have",
                          (guint64)(frame->max_memory >> 20));
  return CJ2K_OK;
}

Cj2kStatus cj2k_decoder_frame_picture(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                                      const Cj2kPicture *picture, Cj2kError *error)
{
  const Cj2kImage *image = &frame->info->image;
  uint64_t used;
  Cj2kStatus status = check_memory(frame, !picture, &used, error);
  if (status != CJ2K_OK)
    return status;
  if (picture) {
    status =
        cj2k_layout_check_picture(layout, picture, image->components, image->num_components, error);
    copy_layout(frame, layout);
    frame->picture = *picture;
  } else {
    status = own_planes(frame, error);
  }
  if (status == CJ2K_OK && frame->info->has_palette)
    status = index_planes(frame, used, error);
  return status;
}

/* -------------------------------------------------------------------- read_header --- */

Cj2kStatus cj2k_decoder_read_header(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                    Cj2kImage *image, Cj2kError *error)
{
  Cj2kJp2 jp2 = {0};
  Cj2kHeader *header = NULL;
  bool same = false;
  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_jp2_read(data, size, decoder->params.strict, &jp2, error);
  if (status == CJ2K_OK)
    status =
        shift_offset(cj2k_header_read(decoder->header_reader, data + jp2.codestream.offset,
                                      jp2.codestream.size, decoder->params.strict,
                                      memory_limit(decoder, size), &header, &same, NULL, error),
                     &jp2, error);
  if (status == CJ2K_OK) {
    g_clear_pointer(&decoder->read_info, cj2k_image_info_unref);
    status = cj2k_image_info_new(header, &jp2, decoder->params.reduce, decoder->params.strict,
                                 &decoder->read_info, error);
  }
  if (status == CJ2K_OK)
    *image = decoder->read_info->image;
  cj2k_jp2_clear(&jp2);
  return status;
}
