/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables for storing samples in the picture. A component is stored either directly into words of
 * its own, or into a plane of 16-bit words, from which whole units are packed afterwards.
 */
#include "decode.h"

#include "common/runtime/error.h"
#include "common/samples/layout_words.h"
#include "common/samples/pack.h"

#define MAX_PACKED 4 /* components that are packed into one plane */

static uint32_t out_width(const Cj2kPlan *plan, uint32_t c)
{
  return plan->component_out[c].x1 - plan->component_out[c].x0;
}

static uint32_t out_height(const Cj2kPlan *plan, uint32_t c)
{
  return plan->component_out[c].y1 - plan->component_out[c].y0;
}

uint32_t cj2k_cuda_decode_num_put_out(const Cj2kDecodeSlot *slot)
{
  return MIN(slot->tables.plan->num_components, slot->output.layout.num_components);
}

/* Does plane p need packing, because words are shared, unevenly spaced, or have bits to fill? */
static bool is_packed(const Cj2kDecodeSlot *slot, uint32_t p)
{
  if (slot->output.planes[p].shared)
    return true;
  for (uint32_t c = 0; c < cj2k_cuda_decode_num_put_out(slot); c++) {
    const Cj2kSampleLayout *s = &slot->output.layout.samples[c];
    bool padded = !s->is_signed && s->depth != 8 * s->word_bytes;
    if (s->plane == p && ((padded && slot->output.layout.fill) || !cj2k_layout_regular_stride(s)))
      return true;
  }
  return false;
}

/* Sets rows and bytes of a row of plane p from its largest component; if the image has none of its
 * components, from component 0. */
static void measure_plane(Cj2kDecodeSlot *slot, uint32_t p)
{
  const Cj2kLayout *layout = &slot->output.layout;
  slot->output.plane_rows[p] = 0;
  slot->output.plane_bytes[p] = 0;
  bool of_image = slot->output.planes[p].unit_bytes != 0;
  for (uint32_t c = 0; c < layout->num_components; c++) {
    if (layout->samples[c].plane != p || (of_image && c >= slot->tables.plan->num_components))
      continue;
    uint32_t model = of_image ? c : 0;
    slot->output.plane_rows[p] =
        MAX(slot->output.plane_rows[p], out_height(slot->tables.plan, model));
    slot->output.plane_bytes[p] = MAX(
        slot->output.plane_bytes[p],
        (size_t)cj2k_layout_row_bytes(&layout->samples[c], out_width(slot->tables.plan, model)));
  }
}

/* ------------------------------------------------------------------------------ stores --- */

static void set_conversion(Cj2kCudaStore *store, const Cj2kSampleLayout *layout,
                           const Cj2kPlanTileComp *tc)
{
  uint8_t depth = tc->depth;
  Cj2kConversion conversion = cj2k_layout_conversion(layout, depth, tc->is_signed);
  store->offset = conversion.offset;
  store->round = conversion.round;
  store->down = conversion.down;
  store->up = conversion.up;
  store->most = conversion.maximum;
  store->mask = conversion.mask;
  store->range.dc = tc->is_signed ? 0 : 1 << (depth - 1);
  store->range.lo = tc->is_signed ? -(1 << (depth - 1)) : 0;
  store->range.hi = tc->is_signed ? (1 << (depth - 1)) - 1 : (1 << depth) - 1;
  store->range.dc_f = (float)store->range.dc;
  store->range.lo_f = (float)store->range.lo;
  store->range.hi_f = (float)store->range.hi;
}

static Cj2kCudaStore store_of(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc)
{
  uint32_t c = tc->component;
  Cj2kCudaStore store = {.plane = UINT32_MAX};
  if (c >= cj2k_cuda_decode_num_put_out(slot))
    return store;
  const Cj2kSampleLayout *layout = &slot->output.layout.samples[c];
  set_conversion(&store, layout, tc);
  store.x = tc->out.x0 - slot->tables.plan->component_out[c].x0;
  store.y = tc->out.y0 - slot->tables.plan->component_out[c].y0;
  store.direct = !tc->is_signed && !layout->is_signed && layout->depth == tc->depth;
  if (is_packed(slot, layout->plane)) {
    store.plane = slot->output.layout.num_planes + c;
    store.stride = store.word_bytes = 2;
    store.mask &= 0xFFFF;
    return store;
  }
  store.plane = layout->plane;
  store.first = layout->at[0].offset;
  store.stride = (uint32_t)cj2k_layout_regular_stride(layout);
  store.word_bytes = layout->word_bytes;
  store.shift = layout->at[0].shift;
  store.swapped = cj2k_layout_is_swapped(layout);
  store.direct &= !store.shift && !store.swapped;
  return store;
}

/* ------------------------------------------------------------------------- last level --- */

static bool same_place(const Cj2kCudaLevel *a, const Cj2kCudaLevel *b)
{
  return a->width == b->width && a->height == b->height && a->odd_x == b->odd_x &&
         a->odd_y == b->odd_y && a->reversible == b->reversible && a->is_plane == b->is_plane &&
         a->narrow == b->narrow;
}

static void finish_one(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc,
                       Cj2kCudaFinish *finish, uint32_t k)
{
  cj2k_cuda_decode_level(slot, tc, tc->reduced_levels, &finish->level[k]);
  finish->store[k] = store_of(slot, tc);
}

#define KINDS 16

static uint32_t kind_index(Cj2kCudaKind kind)
{
  return (kind.narrow ? 8 : 0) | (kind.three ? 4 : 0) | (kind.reversible ? 2 : 0) |
         (kind.is_plane ? 1 : 0);
}

static Cj2kCudaKind kind_at(uint32_t number)
{
  return (Cj2kCudaKind){
      .narrow = number & 8, .three = number & 4, .reversible = number & 2, .is_plane = number & 1};
}

typedef struct {
  Cj2kDecodeSlot *slot;
  GArray *tables[KINDS];     /* Cj2kCudaFinish, by kind_index() */
  GArray *components[KINDS]; /* uint32_t: the first tile-component of each */
} Finishes;

static void add_finish(Finishes *finishes, const Cj2kCudaFinish *finish, bool three, uint32_t c)
{
  const Cj2kCudaLevel *level = &finish->level[0];
  if (!level->width || !level->height)
    return;
  uint32_t kind = kind_index((Cj2kCudaKind){.narrow = level->narrow,
                                            .three = three,
                                            .reversible = level->reversible,
                                            .is_plane = level->is_plane});
  g_array_append_vals(finishes->tables[kind], finish, 1);
  g_array_append_val(finishes->components[kind], c);
}

static Cj2kStatus add_tile(Finishes *finishes, const Cj2kPlanTile *tile, Cj2kError *error)
{
  Cj2kDecodeSlot *slot = finishes->slot;
  const Cj2kPlanTileComp *tcs = &slot->tables.plan->tile_comps[tile->first_tile_comp];
  uint32_t c = 0;
  if (tile->mct && slot->tables.plan->num_components >= 3) {
    Cj2kCudaFinish finish;
    for (uint32_t k = 0; k < 3; k++)
      finish_one(slot, &tcs[k], &finish, k);
    if (!same_place(&finish.level[0], &finish.level[1]) ||
        !same_place(&finish.level[0], &finish.level[2]))
      return cj2k_error_set(
          error, CJ2K_ERROR_UNSUPPORTED,
          "CUDA: a component transform over components of different size or filter");
    add_finish(finishes, &finish, true, tile->first_tile_comp);
    c = 3;
  }
  for (; c < cj2k_cuda_decode_num_put_out(slot); c++) {
    Cj2kCudaFinish finish = {0};
    finish_one(slot, &tcs[c], &finish, 0);
    add_finish(finishes, &finish, false, tile->first_tile_comp + c);
  }
  return CJ2K_OK;
}

/* Uploads the entries of all kinds as one table and makes a launch for each kind. */
static Cj2kStatus upload_finishes(Finishes *finishes, Cj2kError *error)
{
  Cj2kDecodeSlot *slot = finishes->slot;
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaFinish));
  g_array_set_size(slot->output.finishes, 0);
  g_array_set_size(slot->output.finish_of, 0);
  for (uint32_t kind = 0; kind < KINDS; kind++) {
    GArray *table = finishes->tables[kind];
    Cj2kCudaLaunch launch = {.first = all->len,
                             .count = table->len,
                             .kind = kind_at(kind),
                             .words = !kind_at(kind).three};
    Cj2kCudaStrips *strips = &launch.strips;
    for (uint32_t i = 0; i < table->len; i++) {
      const Cj2kCudaFinish *finish = &g_array_index(table, Cj2kCudaFinish, i);
      strips->width = MAX(strips->width, finish->level[0].width);
      strips->height = MAX(strips->height, finish->level[0].height);
      launch.words &= cj2k_cuda_finish_has_words(finish, 0);
    }
    strips->rows = cj2k_cuda_decode_rows(strips->width, strips->height, launch.count);
    g_array_append_vals(all, table->data, table->len);
    g_array_append_vals(slot->output.finish_of, finishes->components[kind]->data, table->len);
    if (launch.count)
      g_array_append_val(slot->output.finishes, launch);
  }
  slot->output.is_only =
      all->len == 1 && g_array_index(slot->output.finishes, Cj2kCudaLaunch, 0).kind.three;
  if (slot->output.is_only)
    slot->output.only = g_array_index(all, Cj2kCudaFinish, 0);
  Cj2kStatus status = cj2k_cuda_decode_table(slot, &slot->output.finish_table, all->data,
                                             all->len * sizeof(Cj2kCudaFinish), error);
  g_array_unref(all);
  return status;
}

static Cj2kStatus set_finishes(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  Finishes finishes = {.slot = slot};
  for (uint32_t i = 0; i < KINDS; i++) {
    finishes.tables[i] = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaFinish));
    finishes.components[i] = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  }
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t t = 0; t < slot->tables.plan->num_tiles && status == CJ2K_OK; t++)
    status = add_tile(&finishes, &slot->tables.plan->tiles[t], error);
  if (status == CJ2K_OK)
    status = upload_finishes(&finishes, error);
  for (uint32_t i = 0; i < KINDS; i++) {
    g_array_unref(finishes.tables[i]);
    g_array_unref(finishes.components[i]);
  }
  return status;
}

/* ------------------------------------------------------------------------------- packs --- */

/* Makes the bits of one unit of plane p that no component of the image writes: unused bits, and
 * components that the image does not have, which get their maximum. */
static void fill_unit(const Cj2kDecodeSlot *slot, uint32_t p, Cj2kCudaPack *pack)
{
  const Cj2kLayout *layout = &slot->output.layout;
  uint32_t samples = 1;
  for (uint32_t c = 0; c < layout->num_components; c++)
    if (layout->samples[c].plane == p)
      samples = MAX(samples, layout->samples[c].unit_samples);
  cj2k_pack_begin_row(layout, p, pack->fill, samples, sizeof pack->fill);
  for (uint32_t c = slot->tables.plan->num_components; c < layout->num_components; c++) {
    const Cj2kSampleLayout *s = &layout->samples[c];
    if (s->plane != p)
      continue;
    uint8_t depth = MIN(s->depth, 31);
    int32_t opaque = (int32_t)cj2k_low_bits(depth - s->is_signed);
    for (uint32_t j = 0; j < s->unit_samples; j++)
      cj2k_pack_row(s, depth, s->is_signed, &opaque, j, 1, pack->fill);
  }
}

static Cj2kStatus add_pack(Cj2kDecodeSlot *slot, uint32_t p, bool packed, Cj2kError *error)
{
  const Cj2kLayout *layout = &slot->output.layout;
  Cj2kCudaPack pack = {.rows = slot->output.plane_rows[p]};
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const Cj2kSampleLayout *s = &layout->samples[c];
    if (s->plane != p)
      continue;
    pack.unit_bytes = s->unit_bytes;
    if (!packed || c >= cj2k_cuda_decode_num_put_out(slot))
      continue;
    if (pack.count == MAX_PACKED || s->depth > 16)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "CUDA: plane %u packs more than %d components, or more than 16 bits", p,
                            MAX_PACKED);
    pack.source[pack.count] = slot->output.samples[c];
    pack.width[pack.count] = out_width(slot->tables.plan, c);
    pack.height[pack.count] = out_height(slot->tables.plan, c);
    pack.layout[pack.count++] = *s;
  }
  if (!pack.unit_bytes)
    return CJ2K_OK;
  if (pack.unit_bytes > sizeof pack.fill)
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: units of %u bytes, more than %zu",
                          pack.unit_bytes, sizeof pack.fill);
  fill_unit(slot, p, &pack);
  pack.units = (uint32_t)(slot->output.plane_bytes[p] / pack.unit_bytes);
  g_array_append_val(slot->output.packs, pack);
  g_array_append_val(slot->output.plane_of_pack, p);
  return CJ2K_OK;
}

/* Memory for the 16-bit planes of components that are packed. */
static Cj2kStatus set_samples(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  size_t size = 0;
  for (uint32_t pass = 0; pass < 2; pass++) {
    size = 0;
    for (uint32_t c = 0; c < cj2k_cuda_decode_num_put_out(slot); c++) {
      slot->output.samples[c] = (Cj2kCudaOutput){0};
      if (!is_packed(slot, slot->output.layout.samples[c].plane))
        continue;
      size_t pitch = ((size_t)out_width(slot->tables.plan, c) * 2 + 255) & ~(size_t)255;
      slot->output.samples[c].data = (uint8_t *)slot->output.sample_planes.data + size;
      slot->output.samples[c].pitch = pitch;
      size += pitch * out_height(slot->tables.plan, c);
    }
    Cj2kStatus status = cj2k_cuda_check(
        &slot->backend->device,
        cj2k_cuda_reserve(&slot->backend->device, &slot->output.sample_planes, size),
        "memory for samples to be packed", error);
    if (status != CJ2K_OK)
      return status;
  }
  return CJ2K_OK;
}

static Cj2kStatus set_packs(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  g_array_set_size(slot->output.packs, 0);
  g_array_set_size(slot->output.plane_of_pack, 0);
  Cj2kStatus status = set_samples(slot, error);
  for (uint32_t p = 0; p < slot->output.layout.num_planes && status == CJ2K_OK; p++) {
    bool packed = is_packed(slot, p);
    if (packed || !slot->output.planes[p].covered)
      status = add_pack(slot, p, packed, error);
  }
  return status;
}

Cj2kStatus cj2k_cuda_decode_set_layout(Cj2kDecodeSlot *slot, const Cj2kLayout *layout,
                                       Cj2kError *error)
{
  cj2k_layout_copy(&slot->output.layout, layout);
  slot->output.num_outputs = layout->num_planes + cj2k_cuda_decode_num_put_out(slot);
  slot->output.planes = g_renew(Cj2kPlaneUse, slot->output.planes, layout->num_planes);
  slot->output.plane_rows = g_renew(uint32_t, slot->output.plane_rows, layout->num_planes);
  slot->output.plane_bytes = g_renew(size_t, slot->output.plane_bytes, layout->num_planes);
  slot->output.plane_offsets = g_renew(size_t, slot->output.plane_offsets, layout->num_planes);
  slot->output.samples =
      g_renew(Cj2kCudaOutput, slot->output.samples, MAX(cj2k_cuda_decode_num_put_out(slot), 1));
  slot->output.outputs = g_renew(Cj2kCudaOutput, slot->output.outputs,
                                 (size_t)slot->output.num_outputs * CJ2K_CUDA_OVERLAY_SLICES);
  cj2k_layout_plane_use(layout, slot->tables.plan->num_components, slot->output.planes);
  for (uint32_t p = 0; p < layout->num_planes; p++)
    measure_plane(slot, p);
  Cj2kStatus status = set_packs(slot, error);
  if (status == CJ2K_OK)
    status = set_finishes(slot, error);
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_set_shares(slot, error);
  if (status != CJ2K_OK) { /* without samples the next frame makes the tables again */
    g_free((void *)slot->output.layout.samples);
    slot->output.layout.samples = NULL;
  }
  return status;
}

void cj2k_cuda_decode_output_init(Cj2kDecodeSlot *slot)
{
  slot->output.finishes = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLaunch));
  slot->output.finish_of = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  slot->output.packs = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaPack));
  slot->output.plane_of_pack = g_array_new(FALSE, FALSE, sizeof(uint32_t));
}

void cj2k_cuda_decode_output_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeOutput *output = &slot->output;

  cj2k_cuda_release(&output->sample_planes);
  cj2k_cuda_release(&output->finish_table);
  g_array_unref(output->finishes);
  g_array_unref(output->finish_of);
  g_array_unref(output->packs);
  g_array_unref(output->plane_of_pack);
  g_free((void *)output->layout.samples);
  g_free(output->planes);
  g_free(output->plane_rows);
  g_free(output->plane_bytes);
  g_free(output->plane_offsets);
  g_free(output->samples);
  g_free(output->outputs);
}
