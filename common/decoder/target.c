/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a frame's samples go to: the caller's picture, planes of the decoder, or the indices of a
 * palette. */
#include "decoder.h"

#include "common/runtime/error.h"
#include "common/samples/layout.h"
#include "palette.h"

#include <string.h>

void cj2k_frame_target_reset(Cj2kFrameTarget *target, Cj2kDecoder *decoder)
{
  cj2k_own_picture_put(decoder, target->own);
  *target = (Cj2kFrameTarget){.samples = target->samples, .max_samples = target->max_samples};
}

void cj2k_frame_target_clear(Cj2kFrameTarget *target)
{
  g_free(target->samples);
}

static void reserve_samples(Cj2kFrameTarget *target, uint32_t num_components)
{
  if (target->max_samples >= num_components)
    return;
  target->samples = g_renew(Cj2kSampleLayout, target->samples, num_components);
  target->max_samples = num_components;
}

static void copy_layout(Cj2kFrameTarget *target, const Cj2kLayout *layout)
{
  reserve_samples(target, layout->num_components);
  if (layout->samples != target->samples)
    memcpy(target->samples, layout->samples, layout->num_components * sizeof *layout->samples);
  target->layout = *layout;
  target->layout.samples = target->samples;
}

static Cj2kStatus own_planes(Cj2kDecoderFrame *frame, Cj2kError *error)
{
  const Cj2kImage *image = &frame->headers.info->image;
  reserve_samples(&frame->target, image->num_components);
  cj2k_layout_planar(image, frame->target.samples, &frame->target.layout);
  frame->target.own = cj2k_own_picture_get(frame->decoder, &frame->target.layout, image->components,
                                           image->num_components);
  if (!frame->target.own)
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for the picture");
  frame->target.picture = (Cj2kPicture){.memory = CJ2K_MEMORY_PINNED,
                                        .num_planes = image->num_components,
                                        .planes = frame->target.own->planes};
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
  const Cj2kHeader *header = frame->headers.plan->header;
  reserve_samples(&frame->indices, header->num_components);
  cj2k_palette_index_layout(header, frame->indices.samples, &frame->indices.layout);
  Cj2kComponent *components = plan_components(frame->headers.plan);
  if (used + cj2k_own_picture_size(&frame->indices.layout, components, header->num_components) <=
      frame->headers.max_memory)
    frame->indices.own = cj2k_own_picture_get(frame->decoder, &frame->indices.layout, components,
                                              header->num_components);
  g_free(components);
  if (!frame->indices.own || !cj2k_decoder_frame_host_picture(frame))
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT, "no memory for the palette's indices");
  frame->indices.picture = (Cj2kPicture){.memory = CJ2K_MEMORY_PINNED,
                                         .num_planes = header->num_components,
                                         .planes = frame->indices.own->planes};
  return CJ2K_OK;
}

/* Checks the memory that the frame needs besides the plan, which cj2k_plan_new has checked. */
static Cj2kStatus check_memory(const Cj2kDecoderFrame *frame, bool own, uint64_t *used,
                               Cj2kError *error)
{
  const Cj2kImage *image = &frame->headers.info->image;
  *used = (frame->headers.plan->num_coefficients + frame->headers.plan->num_lowpass) * 4;
  for (uint32_t c = 0; own && c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    uint32_t bytes = component->depth <= 8 ? 1 : component->depth <= 16 ? 2 : 4;
    *used += (uint64_t)(component->x1 - component->x0) * (component->y1 - component->y0) * bytes;
    if (*used > frame->headers.max_memory)
      break;
  }
  if (*used > frame->headers.max_memory)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "the frame needs more than the %" G_GUINT64_FORMAT " MiB it may have",
                          (guint64)(frame->headers.max_memory >> 20));
  return CJ2K_OK;
}

Cj2kStatus cj2k_decoder_frame_picture(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                                      const Cj2kPicture *picture, Cj2kError *error)
{
  const Cj2kImage *image = &frame->headers.info->image;
  uint64_t used;
  Cj2kStatus status = check_memory(frame, !picture, &used, error);
  if (status != CJ2K_OK)
    return status;
  if (picture) {
    status =
        cj2k_layout_check_picture(layout, picture, image->components, image->num_components, error);
    copy_layout(&frame->target, layout);
    frame->target.picture = *picture;
  } else {
    status = own_planes(frame, error);
  }
  if (status == CJ2K_OK && frame->headers.info->has_palette)
    status = index_planes(frame, used, error);
  return status;
}
