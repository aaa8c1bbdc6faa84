/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Division of the TRANSFORM stage into strips for the threads, made once for a plan and a layout.
 * The samples do not depend on it.
 */
#include "decode.h"

#include <string.h>

/* Smaller strips cost much: each one filters rows of its neighbours again. */
#define MIN_STRIP_ROWS 32

void cj2k_decode_levels_init(Cj2kDecodeLevels *levels)
{
  levels->strips = g_array_new(FALSE, FALSE, sizeof(Cj2kDecodeStrip));
}

void cj2k_decode_levels_clear(Cj2kDecodeLevels *levels)
{
  g_array_unref(levels->strips);
}

void cj2k_decode_finish_init(Cj2kDecodeFinish *finish)
{
  finish->strips = g_array_new(FALSE, FALSE, sizeof(Cj2kFinishStrip));
  g_mutex_init(&finish->packing);
}

/* Frees what belongs to a layout. */
static void forget_layout(Cj2kDecodeFinish *finish)
{
  g_free(finish->planes);
  g_free(finish->components);
  g_free(finish->groups);
  g_free(finish->group_components);
}

void cj2k_decode_finish_clear(Cj2kDecodeFinish *finish)
{
  g_array_unref(finish->strips);
  g_free((void *)finish->layout.samples);
  forget_layout(finish);
  g_mutex_clear(&finish->packing);
}

/* Height of the strips for `rows` rows. */
static uint32_t strip_rows(const Cj2kDecodeSlot *slot, uint32_t rows)
{
  uint32_t threads = cj2k_threads_count(slot->threads);
  return threads == 1 ? MAX(rows, 1) : MAX(rows / (4 * threads), MIN_STRIP_ROWS);
}

/* Appends the strips of resolution r. Returns how many tile-components have further levels above.
 */
static uint32_t cut_level(Cj2kDecodeSlot *slot, uint32_t r)
{
  const Cj2kPlan *plan = slot->plan;
  uint32_t deeper = 0;
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
    if (r >= tc->reduced_levels)
      continue;
    deeper++;
    const Cj2kRect *rect = &plan->resolutions[tc->first_resolution + r].rect;
    if (rect->x0 == rect->x1)
      continue;
    uint32_t step = strip_rows(slot, rect->y1 - rect->y0);
    for (uint32_t y = rect->y0; y < rect->y1; y += MIN(step, rect->y1 - y)) {
      Cj2kDecodeStrip strip = {i, r, y, y + MIN(step, rect->y1 - y)};
      g_array_append_val(slot->levels.strips, strip);
    }
  }
  return deeper;
}

void cj2k_decode_list_strips(Cj2kDecodeSlot *slot)
{
  g_array_set_size(slot->levels.strips, 0);
  memset(slot->levels.ends, 0, sizeof slot->levels.ends);
  uint32_t r = 1;
  while (r <= CJ2K_MAX_LEVELS && cut_level(slot, r))
    slot->levels.ends[r++] = slot->levels.strips->len;
  for (; r <= CJ2K_MAX_LEVELS; r++)
    slot->levels.ends[r] = slot->levels.strips->len;
}

/* Gives components that must be processed together the same label, the number of one of them. */
static uint32_t *label_components(const Cj2kPlan *plan, const Cj2kLayout *layout, uint32_t *count)
{
  uint32_t laid_out = MIN(plan->num_components, layout->num_components);
  bool mct = false;
  for (uint32_t t = 0; t < plan->num_tiles; t++)
    mct |= plan->tiles[t].mct;
  mct &= plan->num_components >= 3;
  *count = mct ? MAX(laid_out, 3) : laid_out;

  uint32_t *labels = g_new(uint32_t, MAX(*count, 1));
  uint32_t *plane_label = g_new(uint32_t, layout->num_planes);
  memset(plane_label, 0xff, layout->num_planes * sizeof *plane_label);
  for (uint32_t c = 0; c < *count; c++) {
    labels[c] = c;
    if (c >= laid_out)
      continue;
    uint32_t *owner = &plane_label[layout->samples[c].plane];
    if (*owner == UINT32_MAX)
      *owner = c;
    labels[c] = *owner;
  }
  g_free(plane_label);
  uint32_t one = mct ? labels[1] : 0, two = mct ? labels[2] : 0;
  for (uint32_t c = 0; mct && c < *count; c++) {
    if (labels[c] == one || labels[c] == two)
      labels[c] = 0;
  }
  return labels;
}

static void list_groups(Cj2kDecodeSlot *slot)
{
  uint32_t count;
  uint32_t *labels = label_components(slot->plan, &slot->finish.layout, &count);
  uint32_t *sizes = g_new0(uint32_t, MAX(count, 1));
  for (uint32_t c = 0; c < count; c++)
    sizes[labels[c]]++;

  slot->finish.groups = g_new(Cj2kComponentGroup, MAX(count, 1));
  slot->finish.group_components = g_new(uint32_t, MAX(count, 1));
  slot->finish.num_groups = slot->finish.max_group = 0;
  uint32_t first = 0;
  uint32_t *group_of = g_new(uint32_t, MAX(count, 1));
  for (uint32_t c = 0; c < count; c++) {
    if (!sizes[c])
      continue;
    group_of[c] = slot->finish.num_groups;
    slot->finish.groups[slot->finish.num_groups++] = (Cj2kComponentGroup){first, 0};
    slot->finish.max_group = MAX(slot->finish.max_group, sizes[c]);
    first += sizes[c];
  }
  for (uint32_t c = 0; c < count; c++) {
    /* each label has a size. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript) */
    Cj2kComponentGroup *group = &slot->finish.groups[group_of[labels[c]]];
    slot->finish.group_components[group->first + group->count++] = c;
  }
  g_free(group_of);
  g_free(sizes);
  g_free(labels);
}

static void cut_group(Cj2kDecodeSlot *slot, uint32_t tile, uint32_t group)
{
  const Cj2kPlan *plan = slot->plan;
  uint32_t row0 = UINT32_MAX, row1 = 0;
  for (uint32_t i = 0; i < slot->finish.groups[group].count; i++) {
    uint32_t c = slot->finish.group_components[slot->finish.groups[group].first + i];
    const Cj2kRect *out = &plan->tile_comps[plan->tiles[tile].first_tile_comp + c].out;
    if (out->x0 == out->x1 || out->y0 == out->y1)
      continue;
    row0 = MIN(row0, out->y0 - plan->component_out[c].y0);
    row1 = MAX(row1, out->y1 - plan->component_out[c].y0);
  }
  if (row0 >= row1)
    return;
  uint32_t step = strip_rows(slot, row1 - row0);
  for (uint32_t y = row0; y < row1; y += MIN(step, row1 - y)) {
    Cj2kFinishStrip strip = {tile, group, y, y + MIN(step, row1 - y)};
    g_array_append_val(slot->finish.strips, strip);
  }
}

void cj2k_decode_list_finish(Cj2kDecodeSlot *slot, const Cj2kLayout *layout)
{
  const Cj2kPlan *plan = slot->plan;
  cj2k_layout_copy(&slot->finish.layout, layout);
  forget_layout(&slot->finish);
  slot->finish.planes = g_new(Cj2kPlaneUse, layout->num_planes);
  cj2k_layout_plane_use(layout, plan->num_components, slot->finish.planes);
  slot->finish.components = g_new0(Cj2kComponent, plan->num_components);
  for (uint32_t c = 0; c < plan->num_components; c++) {
    const Cj2kRect *out = &plan->component_out[c];
    slot->finish.components[c].x0 = out->x0;
    slot->finish.components[c].y0 = out->y0;
    slot->finish.components[c].x1 = out->x1;
    slot->finish.components[c].y1 = out->y1;
  }
  list_groups(slot);

  g_array_set_size(slot->finish.strips, 0);
  for (uint32_t t = 0; t < plan->num_tiles; t++)
    for (uint32_t g = 0; g < slot->finish.num_groups; g++)
      cut_group(slot, t, g);

  slot->finish.serial_packing = false;
  for (uint32_t p = 0; p < layout->num_planes && plan->num_tiles > 1; p++)
    slot->finish.serial_packing |= slot->finish.planes[p].shared;
}
