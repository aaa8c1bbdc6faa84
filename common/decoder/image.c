/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

#define MAX_DEPTH 31 /* of samples in int32_t */

/* Rsiz of the digital cinema profiles (T.800 table A.10). */
enum { RSIZ_CINEMA_2K = 3, RSIZ_CINEMA_LONG_TERM = 7 };

/* ceil(a / 2^reduce), B-15 */
static uint32_t ceil_shift(uint32_t a, uint8_t reduce)
{
  return reduce > 32 ? a > 0 : (uint32_t)(((uint64_t)a + (UINT64_C(1) << reduce) - 1) >> reduce);
}

static Cj2kComponent reduced(const Cj2kComponent *component, uint8_t reduce)
{
  Cj2kComponent result = *component;
  result.x0 = ceil_shift(component->x0, reduce);
  result.y0 = ceil_shift(component->y0, reduce);
  result.x1 = ceil_shift(component->x1, reduce);
  result.y1 = ceil_shift(component->y1, reduce);
  return result;
}

/* Fills in the channels that palette and component mapping produce (I.5.3.4, I.5.3.5). */
static Cj2kStatus map_components(Cj2kImageInfo *info, const Cj2kHeader *header, uint8_t reduce,
                                 Cj2kError *error)
{
  const Cj2kJp2 *jp2 = &info->jp2;
  for (uint32_t i = 0; i < jp2->num_channels; i++) {
    const Cj2kChannelMap *map = &jp2->channels[i];
    if (map->component >= header->num_components)
      return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                            "cmap box: channel %u is of component %u, there are %u", i,
                            map->component, header->num_components);
    info->components[i] = reduced(&header->components[map->component], reduce);
    if (!map->palette)
      continue;
    if (map->column >= jp2->num_columns)
      return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                            "cmap box: channel %u is of palette column %u, there are %u", i,
                            map->column, jp2->num_columns);
    uint8_t bits = jp2->column_bits[map->column];
    info->components[i].depth = (bits & 0x7f) + 1;
    info->components[i].is_signed = bits >> 7;
  }
  return CJ2K_OK;
}

static Cj2kStatus fill_components(Cj2kImageInfo *info, const Cj2kHeader *header, uint8_t reduce,
                                  Cj2kError *error)
{
  info->has_palette = info->jp2.num_entries && info->jp2.num_channels;
  uint32_t count = info->has_palette ? info->jp2.num_channels : header->num_components;
  info->components = g_new0(Cj2kComponent, count);
  info->channels = g_new0(Cj2kChannel, count);
  info->image.num_components = count;
  info->image.components = info->components;
  info->image.channels = info->channels;
  if (info->has_palette)
    return map_components(info, header, reduce, error);
  for (uint32_t c = 0; c < count; c++)
    info->components[c] = reduced(&header->components[c], reduce);
  return CJ2K_OK;
}

static void fill_colour(Cj2kImageInfo *info)
{
  Cj2kImage *image = &info->image;
  uint16_t profile = image->rsiz & 0xfff;
  cj2k_jp2_channels(&info->jp2, info->channels, image->num_components);
  image->colour = cj2k_jp2_colour(&info->jp2);
  if (image->colour == CJ2K_COLOUR_UNKNOWN && profile >= RSIZ_CINEMA_2K &&
      profile <= RSIZ_CINEMA_LONG_TERM)
    image->colour = CJ2K_COLOUR_XYZ;
  image->cicp = info->jp2.cicp;
  if (info->jp2.colour_method == 1)
    image->colour_enum = info->jp2.colour_enum;
  if (info->jp2.icc_size) {
    info->icc = g_memdup2(info->jp2.icc, info->jp2.icc_size);
    image->icc = info->icc;
    image->icc_size = info->jp2.icc_size;
  }
}

/* Summarises the coding parameters of all tile-components. */
static void fill_coding(Cj2kImage *image, const Cj2kHeader *header)
{
  uint32_t tiles = header->num_tiles_x * header->num_tiles_y;
  image->num_layers = header->coding.num_layers;
  image->mct = header->coding.mct;
  image->num_levels = CJ2K_MAX_LEVELS;
  image->reversible = true;
  for (uint32_t t = 0; t <= tiles; t++) {
    const Cj2kTileCoding *coding = t == 0 ? &header->coding : NULL;
    if (t > 0 && header->tiles)
      coding = header->tiles[t - 1];
    for (uint32_t c = 0; coding && c < header->num_components; c++) {
      image->num_levels = MIN(image->num_levels, coding->coding[c].num_levels);
      image->reversible &= coding->coding[c].reversible;
      image->is_ht |= (coding->coding[c].block_style & CJ2K_STYLE_HT) != 0;
    }
  }
}

static Cj2kStatus check_depths(const Cj2kHeader *header, const Cj2kImageInfo *info,
                               Cj2kError *error)
{
  for (uint32_t c = 0; c < header->num_components; c++) {
    if (header->components[c].depth > MAX_DEPTH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "component %u has a depth of %u bits; at most %u are supported", c,
                            header->components[c].depth, MAX_DEPTH);
  }
  for (uint32_t c = 0; c < info->image.num_components; c++) {
    if (info->components[c].depth > MAX_DEPTH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "the palette has a depth of %u bits; at most %u are supported",
                            info->components[c].depth, MAX_DEPTH);
  }
  return CJ2K_OK;
}

Cj2kStatus cj2k_image_info_new(const Cj2kHeader *header, Cj2kJp2 *jp2, uint8_t reduce, bool strict,
                               Cj2kImageInfo **result, Cj2kError *error)
{
  Cj2kImageInfo *info = g_new0(Cj2kImageInfo, 1);
  info->refs = 1;
  info->jp2 = *jp2;
  memset(jp2, 0, sizeof *jp2);
  info->image.x0 = header->x0;
  info->image.y0 = header->y0;
  info->image.x1 = header->x1;
  info->image.y1 = header->y1;
  info->image.rsiz = header->rsiz;
  info->image.num_tiles = header->num_tiles_x * header->num_tiles_y;

  Cj2kStatus status = strict ? cj2k_jp2_check(&info->jp2, header, error) : CJ2K_OK;
  if (status == CJ2K_OK)
    status = fill_components(info, header, reduce, error);
  if (status == CJ2K_OK)
    status = check_depths(header, info, error);
  if (status != CJ2K_OK) {
    cj2k_image_info_unref(info);
    return status;
  }
  fill_colour(info);
  fill_coding(&info->image, header);
  *result = info;
  return CJ2K_OK;
}

Cj2kImageInfo *cj2k_image_info_ref(Cj2kImageInfo *info)
{
  g_atomic_int_inc(&info->refs);
  return info;
}

void cj2k_image_info_unref(Cj2kImageInfo *info)
{
  if (!info || !g_atomic_int_dec_and_test(&info->refs))
    return;
  cj2k_jp2_clear(&info->jp2);
  g_free(info->components);
  g_free(info->channels);
  g_free(info->icc);
  g_free(info);
}
