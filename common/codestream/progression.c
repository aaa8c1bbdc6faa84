/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progression.h"

#include "common/runtime/deadline.h"

#include <glib.h>
#include <string.h>

/*
 * The loops of the five progressions (B.12.1.1 to B.12.1.5). Each walks over the resolutions of the
 * tile's components, sorted by resolution or by component. `grouped` ones finish everything with
 * the same first sort key before they go on. `by_position` ones visit precincts in order of their
 * position, with layers as the innermost loop; in the others layers are the outermost loop.
 */
static const struct {
  bool resolution_first, grouped, by_position;
} progressions[] = {
    [CJ2K_LRCP] = {true, false, false}, [CJ2K_RLCP] = {true, true, false},
    [CJ2K_RPCL] = {true, true, true},   [CJ2K_PCRL] = {false, false, true},
    [CJ2K_CPRL] = {false, true, true},
};

static uint64_t num_precincts(const Cj2kPlanResolution *resolution)
{
  return (uint64_t)resolution->precincts_x * resolution->precincts_y;
}

/* First and one past the last resolution of a tile. */
static void tile_resolutions(const Cj2kPlan *plan, uint32_t tile, uint32_t *first, uint32_t *end)
{
  const Cj2kPlanTileComp *tile_comps = &plan->tile_comps[plan->tiles[tile].first_tile_comp];
  const Cj2kPlanTileComp *last = &tile_comps[plan->num_components - 1];

  *first = tile_comps->first_resolution;
  *end = last->first_resolution + last->num_levels + 1;
}

uint64_t cj2k_tile_num_packets(const Cj2kPlan *plan, uint32_t tile)
{
  uint32_t first, end;
  uint64_t precincts = 0;

  tile_resolutions(plan, tile, &first, &end);
  for (uint32_t i = first; i < end; i++)
    precincts += num_precincts(&plan->resolutions[i]);
  return precincts * plan->tiles[tile].num_layers;
}

/* One direction of cj2k_precinct_position. A first precinct that begins before its resolution is
 * reached at the edge of the tile, every other one at its own corner, scaled to the reference grid.
 */
static uint64_t position(uint32_t p, uint32_t resolution_start, uint32_t log2_precinct,
                         uint32_t levels_above, uint32_t sub_sampling, uint32_t tile_start)
{
  uint64_t number = (uint64_t)(resolution_start >> log2_precinct) + p;

  if (p == 0 && (resolution_start & (((uint32_t)1 << log2_precinct) - 1)) != 0)
    return tile_start;
  return ((number << log2_precinct) << levels_above) * sub_sampling;
}

uint64_t cj2k_precinct_position(const Cj2kPlan *plan, const Cj2kPlanTileComp *tile_comp, uint32_t r,
                                uint32_t px, uint32_t py)
{
  const Cj2kPlanResolution *resolution = &plan->resolutions[tile_comp->first_resolution + r];
  const Cj2kComponent *component = &plan->header->components[tile_comp->component];
  const Cj2kRect *tile = &plan->tiles[tile_comp->tile].rect;
  uint32_t levels_above = tile_comp->num_levels - r;
  uint64_t x = position(px, resolution->rect.x0, resolution->log2_precinct_width, levels_above,
                        component->dx, tile->x0);
  uint64_t y = position(py, resolution->rect.y0, resolution->log2_precinct_height, levels_above,
                        component->dy, tile->y0);

  return y << 32 | x;
}

/* --- the heap: entries of the group by position, then by loop order --- */

static bool comes_before(const Cj2kPacketIterator *it, uint32_t a, uint32_t b)
{
  uint64_t key_a = it->entries[a].key, key_b = it->entries[b].key;

  return key_a < key_b || (key_a == key_b && a < b);
}

static void sift_down(Cj2kPacketIterator *it, uint32_t at)
{
  uint32_t moving = it->heap[at];

  for (;;) {
    uint32_t child = 2 * at + 1;

    if (child >= it->heap_size)
      break;
    if (child + 1 < it->heap_size && comes_before(it, it->heap[child + 1], it->heap[child]))
      child++;
    if (!comes_before(it, it->heap[child], moving))
      break;
    it->heap[at] = it->heap[child];
    at = child;
  }
  it->heap[at] = moving;
}

static void update_key(Cj2kPacketIterator *it, Cj2kProgressionEntry *entry)
{
  const Cj2kPlan *plan = it->plan;
  const Cj2kPlanTileComp *tile_comp =
      &plan->tile_comps[plan->tiles[it->tile].first_tile_comp + entry->component];
  uint32_t precincts_x = plan->resolutions[entry->resolution_index].precincts_x;

  entry->key = cj2k_precinct_position(plan, tile_comp, entry->resolution,
                                      entry->precinct % precincts_x, entry->precinct / precincts_x);
}

/* --- volumes and groups --- */

static Cj2kProgressionVolume current_volume(const Cj2kPacketIterator *it)
{
  const Cj2kTileCoding *coding = cj2k_header_tile(it->plan->header, it->tile);
  Cj2kProgressionVolume whole = {.res_end = CJ2K_MAX_LEVELS + 1,
                                 .comp_end = (uint16_t)it->plan->num_components,
                                 .layer_end = coding->num_layers,
                                 .order = coding->progression};

  return it->volumes ? it->volumes[it->volume] : whole;
}

static void add_entry(Cj2kPacketIterator *it, uint32_t component, uint32_t r)
{
  const Cj2kPlan *plan = it->plan;
  const Cj2kPlanTileComp *tile_comps = &plan->tile_comps[plan->tiles[it->tile].first_tile_comp];
  uint32_t index = tile_comps[component].first_resolution + r;
  uint64_t precincts;
  uint16_t first_layer;

  if (r > tile_comps[component].num_levels)
    return;
  precincts = num_precincts(&plan->resolutions[index]);
  first_layer = it->layers_done[index - tile_comps->first_resolution];
  if (precincts == 0 || first_layer >= it->layer_end)
    return;
  it->entries[it->num_entries++] = (Cj2kProgressionEntry){.resolution_index = index,
                                                          .component = component,
                                                          .num_precincts = (uint32_t)precincts,
                                                          .first_layer = first_layer,
                                                          .resolution = (uint8_t)r};
}

static void begin_volume(Cj2kPacketIterator *it)
{
  Cj2kProgressionVolume volume = current_volume(it);
  uint32_t res_end = MIN(volume.res_end, CJ2K_MAX_LEVELS + 1);
  uint32_t comp_end = MIN(volume.comp_end, it->plan->num_components);

  it->order = volume.order;
  it->layer_end = MIN(volume.layer_end, it->plan->tiles[it->tile].num_layers);
  it->num_entries = 0;
  it->group_end = 0;
  it->in_volume = true;
  if (progressions[it->order].resolution_first) {
    for (uint32_t r = volume.res_start; r < res_end; r++)
      for (uint32_t c = volume.comp_start; c < comp_end; c++)
        add_entry(it, c, r);
  } else {
    for (uint32_t c = volume.comp_start; c < comp_end; c++)
      for (uint32_t r = volume.res_start; r < res_end; r++)
        add_entry(it, c, r);
  }
}

static void end_volume(Cj2kPacketIterator *it)
{
  uint32_t first, end;

  tile_resolutions(it->plan, it->tile, &first, &end);
  for (uint32_t i = 0; i < it->num_entries; i++)
    it->layers_done[it->entries[i].resolution_index - first] = (uint16_t)it->layer_end;
  it->in_volume = false;
}

static uint32_t group_key(const Cj2kPacketIterator *it, uint32_t entry)
{
  return progressions[it->order].resolution_first ? it->entries[entry].resolution
                                                  : it->entries[entry].component;
}

/* The next round of the outer loop. false: the volume is done. */
static bool begin_group(Cj2kPacketIterator *it)
{
  it->group = it->group_end;
  if (it->group == it->num_entries)
    return false;
  it->group_end = it->num_entries;
  if (progressions[it->order].grouped) {
    it->group_end = it->group + 1;
    while (it->group_end < it->num_entries &&
           group_key(it, it->group_end) == group_key(it, it->group))
      it->group_end++;
  }
  if (progressions[it->order].by_position) {
    it->heap_size = it->group_end - it->group;
    for (uint32_t i = 0; i < it->heap_size; i++) {
      it->heap[i] = it->group + i;
      update_key(it, &it->entries[it->group + i]);
    }
    for (uint32_t i = it->heap_size / 2; i-- > 0;)
      sift_down(it, i);
    it->layer = it->entries[it->heap[0]].first_layer;
  } else {
    it->entry = it->group;
    it->layer = it->layer_end;
    for (uint32_t i = it->group; i < it->group_end; i++)
      it->layer = MIN(it->layer, it->entries[i].first_layer);
  }
  return true;
}

/* --- the walk --- */

static void emit(Cj2kPacketIterator *it, const Cj2kProgressionEntry *entry, Cj2kPacketId *packet)
{
  const Cj2kPlanResolution *resolution = &it->plan->resolutions[entry->resolution_index];

  packet->component = entry->component;
  packet->resolution_index = entry->resolution_index;
  packet->precinct_index = resolution->first_precinct + entry->precinct;
  packet->layer = (uint16_t)it->layer;
  packet->resolution = entry->resolution;
  it->packets_left--;
}

/* Next packet in order of position, with layers as the innermost loop. false: the group is done. */
static bool next_by_position(Cj2kPacketIterator *it, Cj2kPacketId *packet)
{
  while (it->heap_size > 0) {
    Cj2kProgressionEntry *entry = &it->entries[it->heap[0]];

    if (it->layer < it->layer_end) {
      emit(it, entry, packet);
      it->layer++;
      return true;
    }
    if (++entry->precinct < entry->num_precincts)
      update_key(it, entry);
    else
      it->heap[0] = it->heap[--it->heap_size];
    if (it->heap_size > 0) {
      sift_down(it, 0);
      it->layer = it->entries[it->heap[0]].first_layer;
    }
  }
  return false;
}

/* Next packet with layers as the outermost loop and precincts in raster order. false: the group is
 * done. */
static bool next_by_layer(Cj2kPacketIterator *it, Cj2kPacketId *packet)
{
  for (; it->layer < it->layer_end; it->layer++, it->entry = it->group) {
    for (; it->entry < it->group_end; it->entry++) {
      Cj2kProgressionEntry *entry = &it->entries[it->entry];

      if (it->layer >= entry->first_layer && entry->precinct < entry->num_precincts) {
        emit(it, entry, packet);
        entry->precinct++;
        return true;
      }
      entry->precinct = 0;
    }
  }
  return false;
}

bool cj2k_packet_iterator_next(Cj2kPacketIterator *it, Cj2kPacketId *packet)
{
  while (it->packets_left > 0) {
    bool in_group = it->in_volume && it->group_end > 0;

    if (in_group && (progressions[it->order].by_position ? next_by_position(it, packet)
                                                         : next_by_layer(it, packet)))
      return true;
    if (it->in_volume && !begin_group(it)) {
      end_volume(it);
      it->volume++;
    }
    if (!it->in_volume) {
      /* Whoever has set a deadline looks at it, too. */
      if (it->volume == it->num_volumes || cj2k_deadline_check(64, NULL) != CJ2K_OK)
        return false;
      begin_volume(it);
    }
  }
  return false;
}

void cj2k_packet_iterator_start(Cj2kPacketIterator *it, const Cj2kPlan *plan, uint32_t tile)
{
  const Cj2kTileCoding *coding = cj2k_header_tile(plan->header, tile);
  uint32_t first, end, count;

  tile_resolutions(plan, tile, &first, &end);
  count = end - first;
  if (count > it->capacity) {
    it->layers_done = g_renew(uint16_t, it->layers_done, count);
    it->entries = g_renew(Cj2kProgressionEntry, it->entries, count);
    it->heap = g_renew(uint32_t, it->heap, count);
    it->capacity = count;
  }
  memset(it->layers_done, 0, count * sizeof *it->layers_done);
  it->plan = plan;
  it->tile = tile;
  it->packets_left = cj2k_tile_num_packets(plan, tile);
  it->volumes = coding->num_volumes > 0 ? coding->volumes : NULL;
  it->num_volumes = coding->num_volumes > 0 ? coding->num_volumes : 1;
  it->volume = 0;
  it->in_volume = false;
  it->num_entries = it->group = it->group_end = it->heap_size = 0;
}

void cj2k_packet_iterator_clear(Cj2kPacketIterator *it)
{
  g_free(it->layers_done);
  g_free(it->entries);
  g_free(it->heap);
  memset(it, 0, sizeof *it);
}
