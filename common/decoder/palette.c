/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "palette.h"

#include "common/samples/fill.h"
#include "common/samples/pack.h"

#include <glib.h>

void cj2k_palette_index_layout(const Cj2kHeader *header, Cj2kSampleLayout *samples,
                               Cj2kLayout *layout)
{
  for (uint32_t c = 0; c < header->num_components; c++)
    samples[c] = (Cj2kSampleLayout){.plane = (uint16_t)c,
                                    .unit_bytes = 4,
                                    .unit_samples = 1,
                                    .word_bytes = 4,
                                    .is_signed = header->components[c].is_signed,
                                    .depth = header->components[c].depth};
  *layout = (Cj2kLayout){.num_components = header->num_components,
                         .num_planes = header->num_components,
                         .samples = samples};
}

/* Makes a row of one channel by look-up or by copying. Returns how many indices are beyond the
 * palette. */
static uint64_t map_row(const Cj2kJp2 *jp2, const Cj2kChannelMap *map, const int32_t *in,
                        int32_t *out, uint32_t n)
{
  uint64_t beyond = 0;

  for (uint32_t x = 0; x < n; x++) {
    if (!map->palette) {
      out[x] = in[x];
      continue;
    }
    int32_t entry = CLAMP(in[x], 0, jp2->num_entries - 1);
    beyond += entry != in[x];
    out[x] = (int32_t)jp2->entries[(size_t)entry * jp2->num_columns + map->column];
  }
  return beyond;
}

static uint64_t map_channel(const Cj2kImageInfo *info, uint32_t channel, const Cj2kPicture *indices,
                            const Cj2kSampleLayout *samples, bool whole, const Cj2kPicture *picture)
{
  const Cj2kChannelMap *map = &info->jp2.channels[channel];
  const Cj2kComponent *component = &info->components[channel];
  uint32_t width = component->x1 - component->x0;
  const Cj2kPlane *from = &indices->planes[map->component];
  const Cj2kPlane *to = &picture->planes[samples->plane];
  int32_t *row = g_new(int32_t, MAX(width, 1));
  uint64_t beyond = 0;

  for (uint32_t y = 0; y < component->y1 - component->y0; y++) {
    beyond += map_row(&info->jp2, map,
                      (const int32_t *)((const uint8_t *)from->data + y * from->pitch), row, width);
    (whole ? cj2k_pack_row_whole : cj2k_pack_row)(samples, component->depth, component->is_signed,
                                                  row, 0, width,
                                                  (uint8_t *)to->data + y * to->pitch);
  }
  g_free(row);
  return beyond;
}

uint64_t cj2k_palette_apply(const Cj2kImageInfo *info, const Cj2kPicture *indices,
                            const Cj2kLayout *layout, const Cj2kPicture *picture)
{
  uint32_t channels = info->image.num_components;
  uint64_t beyond = 0;
  Cj2kPlaneUse *uses = g_new(Cj2kPlaneUse, layout->num_planes);
  cj2k_layout_plane_use(layout, channels, uses);
  for (uint32_t p = 0; p < layout->num_planes; p++)
    cj2k_fill_plane(layout, p, &uses[p], picture, info->components, channels);
  for (uint32_t i = 0; i < MIN(channels, layout->num_components); i++)
    beyond += map_channel(info, i, indices, &layout->samples[i],
                          uses[layout->samples[i].plane].covered, picture);
  g_free(uses);
  return beyond;
}
