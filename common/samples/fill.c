/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fill.h"

#include "pack.h"

#include <glib.h>

static void fill_component(const Cj2kSampleLayout *samples, const Cj2kPlane *plane, uint32_t width,
                           uint32_t height)
{
  uint8_t depth = MIN(samples->depth, 31);
  int32_t opaque = (int32_t)((UINT32_C(1) << (depth - (samples->is_signed ? 1 : 0))) - 1);
  int32_t *row = g_new(int32_t, width);
  for (uint32_t x = 0; x < width; x++)
    row[x] = opaque;
  for (uint32_t y = 0; y < height; y++)
    cj2k_pack_row(samples, depth, samples->is_signed, row, 0, width,
                  (uint8_t *)plane->data + y * plane->pitch);
  g_free(row);
}

void cj2k_fill_plane(const Cj2kLayout *layout, uint32_t p, const Cj2kPlaneUse *use,
                     const Cj2kPicture *picture, const Cj2kComponent *components,
                     uint32_t num_components)
{
  const Cj2kPlane *plane = &picture->planes[p];
  uint32_t width, height;
  if (use->covered || !plane->data ||
      !cj2k_layout_plane_size(layout, p, components, num_components, &width, &height))
    return;
  for (uint32_t y = 0; y < height; y++)
    cj2k_pack_begin_row(layout, p, (uint8_t *)plane->data + y * plane->pitch, width,
                        cj2k_plane_row_bytes(plane));
  for (uint32_t c = num_components; c < layout->num_components; c++) {
    if (layout->samples[c].plane == p)
      fill_component(&layout->samples[c], plane, width, height);
  }
}
