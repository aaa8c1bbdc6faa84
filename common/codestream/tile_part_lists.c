/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tile_part_lists.h"

#include <glib.h>
#include <string.h>

static void make_room(Cj2kTilePartLists *lists, uint32_t num_tiles, uint32_t num_parts)
{
  if (num_tiles > lists->tiles_capacity) {
    lists->first = g_renew(uint32_t, lists->first, num_tiles);
    lists->last = g_renew(uint32_t, lists->last, num_tiles);
    lists->tiles_capacity = num_tiles;
  }
  if (num_parts > lists->parts_capacity) {
    lists->next = g_renew(uint32_t, lists->next, num_parts);
    lists->parts_capacity = num_parts;
  }
}

bool cj2k_tile_part_lists_make(Cj2kTilePartLists *lists, uint32_t num_tiles,
                               const Cj2kTileParts *tile_parts)
{
  bool complete = true;

  make_room(lists, num_tiles, tile_parts->num_tile_parts);
  memset(lists->first, 0xff, num_tiles * sizeof *lists->first);
  memset(lists->last, 0xff, num_tiles * sizeof *lists->last);
  for (uint32_t i = 0; i < tile_parts->num_tile_parts; i++) {
    const Cj2kTilePart *part = &tile_parts->tile_parts[i];
    uint32_t last = lists->last[part->tile];

    lists->next[i] = UINT32_MAX;
    /* TPsot has 8 bits; some writers let it wrap around. */
    if (part->index != (last == UINT32_MAX ? 0 : (tile_parts->tile_parts[last].index + 1) % 256)) {
      complete = false;
      continue;
    }
    if (last == UINT32_MAX)
      lists->first[part->tile] = i;
    else
      lists->next[last] = i;
    lists->last[part->tile] = i;
  }
  return complete;
}

void cj2k_tile_part_lists_clear(Cj2kTilePartLists *lists)
{
  g_free(lists->first);
  g_free(lists->last);
  g_free(lists->next);
  *lists = (Cj2kTilePartLists){0};
}
