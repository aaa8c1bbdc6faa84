/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/samples/layout.h"

#define ALIGNMENT 64 /* of the start of each plane, in bytes */

static uint64_t align(uint64_t size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The area of component c of the layout. A component that the image does not have (alpha) has the
 * size of the first one. */
static const Cj2kComponent *component_of(const Cj2kComponent *components, uint32_t num_components,
                                         uint32_t c)
{
  return &components[c < num_components ? c : 0];
}

uint64_t cj2k_own_picture_size(const Cj2kLayout *layout, const Cj2kComponent *components,
                               uint32_t num_components)
{
  uint64_t size = ALIGNMENT;
  for (uint32_t c = 0; c < layout->num_components;
       c++) { /* an upper bound: a plane may hold several components */
    const Cj2kComponent *component = component_of(components, num_components, c);
    size += align(cj2k_layout_row_bytes(&layout->samples[c], component->x1 - component->x0) *
                  (component->y1 - component->y0));
  }
  return size;
}

/* Assigns each plane a place in the memory, of the size that its largest component needs. */
static void place_planes(Cj2kOwnPicture *picture, const Cj2kLayout *layout,
                         const Cj2kComponent *components, uint32_t num_components)
{
  if (picture->max_planes < layout->num_planes) {
    picture->planes = g_renew(Cj2kPlane, picture->planes, layout->num_planes);
    picture->rows = g_renew(uint32_t, picture->rows, layout->num_planes);
    picture->max_planes = layout->num_planes;
  }
  picture->num_planes = layout->num_planes;
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    picture->planes[p] = (Cj2kPlane){0};
    picture->rows[p] = 0;
  }
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const Cj2kComponent *component = component_of(components, num_components, c);
    const Cj2kSampleLayout *samples = &layout->samples[c];
    Cj2kPlane *plane = &picture->planes[samples->plane];
    uint64_t row = cj2k_layout_row_bytes(samples, component->x1 - component->x0);
    plane->pitch = MAX(plane->pitch, row);
    picture->rows[samples->plane] =
        MAX(picture->rows[samples->plane], component->y1 - component->y0);
  }
  uint8_t *at = picture->memory;
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    picture->planes[p].data = at;
    at += align(picture->planes[p].pitch * picture->rows[p]);
  }
}

/* Takes a free picture, preferably one that is large enough; the memory of any other is replaced.
 */
static Cj2kOwnPicture *take(Cj2kDecoder *decoder, uint64_t size)
{
  g_mutex_lock(&decoder->lock);
  Cj2kOwnPicture **link = &decoder->free_pictures;
  while (*link && (*link)->size < size && (*link)->next)
    link = &(*link)->next;
  Cj2kOwnPicture *picture = *link;
  if (picture)
    *link = picture->next;
  g_mutex_unlock(&decoder->lock);
  return picture ? picture : g_new0(Cj2kOwnPicture, 1);
}

Cj2kOwnPicture *cj2k_own_picture_get(Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                     const Cj2kComponent *components, uint32_t num_components)
{
  uint64_t size = cj2k_own_picture_size(layout, components, num_components);
  Cj2kOwnPicture *picture = take(decoder, size);
  if (picture->size < size) {
    cj2k_decoder_free(decoder, CJ2K_MEMORY_PINNED, picture->memory);
    picture->size = 0;
    picture->memory =
        size <= SIZE_MAX ? cj2k_decoder_alloc(decoder, CJ2K_MEMORY_PINNED, size) : NULL;
    if (!picture->memory) {
      cj2k_own_picture_free(decoder, picture);
      return NULL;
    }
    picture->size = size;
  }
  place_planes(picture, layout, components, num_components);
  return picture;
}

void cj2k_own_picture_put(Cj2kDecoder *decoder, Cj2kOwnPicture *picture)
{
  if (!picture)
    return;
  g_mutex_lock(&decoder->lock);
  picture->next = decoder->free_pictures;
  decoder->free_pictures = picture;
  g_mutex_unlock(&decoder->lock);
}

void cj2k_own_picture_free(Cj2kDecoder *decoder, Cj2kOwnPicture *picture)
{
  if (!picture)
    return;
  cj2k_decoder_free(decoder, CJ2K_MEMORY_PINNED, picture->memory);
  g_free(picture->planes);
  g_free(picture->rows);
  g_free(picture);
}

void cj2k_decoder_free_pictures(Cj2kDecoder *decoder)
{
  while (decoder->free_pictures) {
    Cj2kOwnPicture *picture = decoder->free_pictures;
    decoder->free_pictures = picture->next;
    cj2k_own_picture_free(decoder, picture);
  }
}

void cj2k_frame_staging_reset(Cj2kFrameStaging *staging, Cj2kDecoder *decoder)
{
  cj2k_own_picture_put(decoder, staging->own);
  staging->own = NULL;
}

const Cj2kPicture *cj2k_decoder_frame_host_picture(Cj2kDecoderFrame *frame)
{
  const Cj2kImage *image = &frame->headers.info->image;
  if (frame->target.picture.memory != CJ2K_MEMORY_CUDA)
    return &frame->target.picture;
  if (!frame->staging.own)
    frame->staging.own = cj2k_own_picture_get(frame->decoder, &frame->target.layout,
                                              image->components, image->num_components);
  if (!frame->staging.own)
    return NULL;
  frame->staging.picture = (Cj2kPicture){.memory = CJ2K_MEMORY_PINNED,
                                         .num_planes = frame->staging.own->num_planes,
                                         .planes = frame->staging.own->planes};
  return &frame->staging.picture;
}

Cj2kStatus cj2k_decoder_frame_unstage(Cj2kDecoderFrame *frame, Cj2kError *error)
{
  const Cj2kDecodeBackend *backend = frame->decoder->backend.functions;
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t p = 0;
       frame->staging.own && status == CJ2K_OK && p < frame->staging.own->num_planes; p++) {
    const Cj2kPlane *from = &frame->staging.own->planes[p];
    status = backend->memory.copy(frame->decoder->backend.data, frame->target.picture.cuda_stream,
                                  &frame->target.picture.planes[p], from, from->pitch,
                                  frame->staging.own->rows[p], error);
  }
  return status;
}
