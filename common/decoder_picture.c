/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "layout.h"

#define ALIGNMENT 64 /* of every plane */

static uint64_t plane_size(const Cj2kSampleLayout *samples, const Cj2kComponent *component)
{
  uint64_t row = cj2k_layout_row_bytes(samples, component->x1 - component->x0);
  uint64_t bytes = row * (component->y1 - component->y0);
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t cj2k_own_picture_size(const Cj2kLayout *layout, const Cj2kComponent *components)
{
  uint64_t size = ALIGNMENT;
  for (uint32_t c = 0; c < layout->num_components; c++)
    size += plane_size(&layout->samples[c], &components[c]);
  return size;
}

/* Takes a free picture that is large enough, else any: its memory is replaced. */
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
                                     const Cj2kComponent *components)
{
  uint64_t size = cj2k_own_picture_size(layout, components);
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
  if (picture->num_planes < layout->num_components) {
    picture->planes = g_renew(Cj2kPlane, picture->planes, layout->num_components);
    picture->num_planes = layout->num_components;
  }
  uint8_t *at = picture->memory;
  for (uint32_t c = 0; c < layout->num_components; c++) {
    picture->planes[c].data = at;
    picture->planes[c].pitch =
        cj2k_layout_row_bytes(&layout->samples[c], components[c].x1 - components[c].x0);
    at += plane_size(&layout->samples[c], &components[c]);
  }
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
  g_free(picture);
}
