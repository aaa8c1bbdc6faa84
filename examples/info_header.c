/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parameters of SIZ, CAP, COD, COC, QCD, QCC, RGN and POC (T.800 Annex A, T.814 A.3). */
#include "info.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Limits the output: a damaged or hostile file may have other parameters for each of thousands of
 * components and tiles. */
#define MAX_GROUPS 256
#define MAX_TILES  64

static const char *const orders[] = {"LRCP", "RLCP", "RPCL", "PCRL", "CPRL"};

static void put_range(InfoValue *out, uint32_t first, uint32_t last)
{
  if (first == last)
    info_put_text(out, "components", "%u", first);
  else
    info_put_text(out, "components", "%u-%u", first, last);
}

/* ------------------------------------------------------------------------------- SIZ --- */

/* Components with the same parameters are listed together. */
static void put_components(const Cj2kHeader *header, InfoValue *out)
{
  InfoValue *list = info_put(out, "components", info_array());
  for (uint32_t c = 0, next; c < header->num_components; c = next) {
    const Cj2kComponent *a = &header->components[c];
    for (next = c + 1; next < header->num_components; next++) {
      const Cj2kComponent *b = &header->components[next];
      if (a->depth != b->depth || a->is_signed != b->is_signed || a->dx != b->dx || a->dy != b->dy)
        break;
    }
    InfoValue *one = info_add(list, info_object());
    put_range(one, c, next - 1);
    info_put_int(one, "depth", a->depth);
    info_put_bool(one, "signed", a->is_signed);
    info_put_int(one, "dx", a->dx);
    info_put_int(one, "dy", a->dy);
    info_put_int(one, "width", (int64_t)a->x1 - a->x0);
    info_put_int(one, "height", (int64_t)a->y1 - a->y0);
  }
}

static void put_size(const Cj2kHeader *header, InfoValue *out)
{
  InfoValue *image = info_put(out, "image", info_object());
  info_put_int(image, "x", header->x0);
  info_put_int(image, "y", header->y0);
  info_put_int(image, "width", (int64_t)header->x1 - header->x0);
  info_put_int(image, "height", (int64_t)header->y1 - header->y0);
  info_put_int(image, "num_components", header->num_components);
  put_components(header, out);
  InfoValue *tiles = info_put(out, "tiles", info_object());
  info_put_int(tiles, "x", header->tx0);
  info_put_int(tiles, "y", header->ty0);
  info_put_int(tiles, "width", header->tdx);
  info_put_int(tiles, "height", header->tdy);
  info_put_int(tiles, "columns", header->num_tiles_x);
  info_put_int(tiles, "rows", header->num_tiles_y);
}

/* ------------------------------------------------------------------------------- CAP --- */

/* Parameter B of MAGB_B from the low five bits of Ccap15 (T.814 table A.4). */
static uint32_t magnitude_bound(uint32_t p)
{
  if (p == 0)
    return 8;
  if (p < 20)
    return p + 8;
  return p < 31 ? 4 * (p - 19) + 27 : 74;
}

static void put_capabilities(const Cj2kHeader *header, InfoValue *out)
{
  static const char *const coders[] = {"HTONLY", "reserved", "HTDECLARED", "MIXED"};
  InfoValue *cap = info_put(out, "capabilities", info_object());
  info_put_text(cap, "pcap", "0x%08X", header->pcap);
  InfoValue *parts = info_put(cap, "parts", info_array());
  for (int part = 1; part <= 32; part++)
    if (header->pcap >> (32 - part) & 1)
      info_add_int(parts, part);
  if (!(header->pcap >> (32 - 15) & 1))
    return;
  uint16_t c = header->ccap15;
  info_put_text(cap, "ccap15", "0x%04X", c);
  InfoValue *sets = info_put(cap, "ht_sets", info_array());
  info_add_text(sets, "%s", coders[c >> 14]);
  info_add_text(sets, "%s", c >> 13 & 1 ? "MULTIHT" : "SINGLEHT");
  info_add_text(sets, "%s", c >> 12 & 1 ? "RGN" : "RGNFREE");
  info_add_text(sets, "%s", c >> 11 & 1 ? "HETEROGENEOUS" : "HOMOGENEOUS");
  info_add_text(sets, "%s", c >> 5 & 1 ? "HTIRV" : "HTREV");
  info_add_text(sets, "MAGB%u", magnitude_bound(c & 31));
}

/* ------------------------------------------------------------------- coding of components --- */

static void put_styles(uint8_t style, InfoValue *out)
{
  static const char *const names[] = {"bypass", "reset",   "termall", "causal",
                                      "pterm",  "segmark", "ht",      "ht-mixed"};
  InfoValue *list = info_put(out, "block_style", info_array());
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
    if (style >> i & 1)
      info_add_text(list, "%s", names[i]);
}

static void put_precincts(const Cj2kCoding *coding, InfoValue *out)
{
  InfoValue *list = info_put(out, "precincts", info_array()); /* from the lowest resolution on */
  for (uint32_t r = 0; r <= coding->num_levels; r++)
    info_add_text(list, "%ux%u", 1u << coding->log2_precinct_width[r],
                  1u << coding->log2_precinct_height[r]);
}

/* Step size, and Mb, of each band (E-2 to E-5). */
static void put_bands(const Cj2kCoding *coding, const Cj2kQuantisation *q, uint8_t depth,
                      InfoValue *out)
{
  static const char *const names[] = {"LL", "HL", "LH", "HH"};
  static const int gains[] = {0, 1, 1, 2};
  InfoValue *list = info_put(out, "bands", info_array());
  for (int b = 0; b <= 3 * coding->num_levels; b++) {
    int resolution = (b + 2) / 3, orientation = b ? (b - 1) % 3 + 1 : 0;
    int level = b ? coding->num_levels - resolution + 1 : coding->num_levels;
    int exponent = q->exponent[b], mantissa = q->mantissa[b];
    if (q->style == 1) { /* derived from the first band */
      exponent = MAX(q->exponent[0] - (coding->num_levels - level), 0);
      mantissa = q->mantissa[0];
    } else if (b >= q->num_steps) {
      return; /* the marker segment has no more step sizes */
    }
    InfoValue *band = info_add(list, info_object());
    info_put_text(band, "band", "%s%d", names[orientation], level);
    info_put_int(band, "exponent", exponent);
    if (q->style) {
      info_put_int(band, "mantissa", mantissa);
      info_put_double(band, "step",
                      ldexp(1 + mantissa / 2048.0, depth + gains[orientation] - exponent));
    }
    info_put_int(band, "bit_planes", MAX(q->guard_bits + exponent - 1, 0));
  }
}

static bool same_component(const Cj2kHeader *header, const Cj2kTileCoding *tile, uint32_t a,
                           uint32_t b)
{
  return !memcmp(&tile->coding[a], &tile->coding[b], sizeof tile->coding[a]) &&
         !memcmp(&tile->quantisation[a], &tile->quantisation[b], sizeof tile->quantisation[a]) &&
         tile->roi_shift[a] == tile->roi_shift[b] &&
         header->components[a].depth == header->components[b].depth;
}

static void put_component_coding(const Cj2kHeader *header, const Cj2kTileCoding *tile,
                                 InfoValue *out)
{
  static const char *const quantisations[] = {"none", "derived", "expounded"};
  InfoValue *list = info_put(out, "component_coding", info_array());
  for (uint32_t c = 0, next; c < header->num_components && info_count(list) < MAX_GROUPS;
       c = next) {
    for (next = c + 1; next < header->num_components && same_component(header, tile, c, next);)
      next++;
    const Cj2kCoding *coding = &tile->coding[c];
    const Cj2kQuantisation *q = &tile->quantisation[c];
    InfoValue *one = info_add(list, info_object());
    put_range(one, c, next - 1);
    info_put_int(one, "levels", coding->num_levels);
    info_put_text(one, "filter", "%s", coding->reversible ? "5/3" : "9/7");
    info_put_text(one, "block", "%ux%u", 1u << coding->log2_block_width,
                  1u << coding->log2_block_height);
    put_styles(coding->block_style, one);
    put_precincts(coding, one);
    info_put_text(one, "quantisation", "%s", quantisations[q->style]);
    info_put_int(one, "guard_bits", q->guard_bits);
    info_put_int(one, "roi_shift", tile->roi_shift[c]);
    put_bands(coding, q, header->components[c].depth, one);
  }
}

/* --------------------------------------------------------------------------- a tile's --- */

static void put_volumes(const Cj2kTileCoding *tile, InfoValue *out)
{
  if (!tile->num_volumes)
    return;
  InfoValue *list = info_put(out, "progression_changes", info_array());
  for (uint32_t i = 0; i < tile->num_volumes; i++) {
    const Cj2kProgressionVolume *volume = &tile->volumes[i];
    InfoValue *one = info_add(list, info_object());
    info_put_text(one, "progression", "%s", orders[MIN(volume->order, 4)]);
    info_put_int(one, "resolution_start", volume->res_start);
    info_put_int(one, "resolution_end", volume->res_end);
    info_put_int(one, "component_start", volume->comp_start);
    info_put_int(one, "component_end", volume->comp_end);
    info_put_int(one, "layer_end", volume->layer_end);
  }
}

static void put_coding(const Cj2kHeader *header, const Cj2kTileCoding *tile, InfoValue *out)
{
  info_put_text(out, "progression", "%s", orders[MIN(tile->progression, 4)]);
  info_put_int(out, "layers", tile->num_layers);
  info_put_text(out, "component_transform", "%s",
                !tile->mct                   ? "none"
                : tile->coding[0].reversible ? "RCT"
                                             : "ICT");
  info_put_bool(out, "sop", tile->sop);
  info_put_bool(out, "eph", tile->eph);
  put_component_coding(header, tile, out);
  put_volumes(tile, out);
}

void info_header(const Cj2kHeader *header, InfoValue *out)
{
  put_size(header, out);
  if (header->has_cap)
    put_capabilities(header, out);
  put_coding(header, &header->coding, info_put(out, "coding", info_object()));
  if (!header->tiles)
    return;
  uint32_t own = 0;
  InfoValue *list = info_put(out, "tiles_with_own_coding", info_array());
  for (uint32_t t = 0; t < header->num_tiles_x * header->num_tiles_y; t++) {
    if (!header->tiles[t] || own++ >= MAX_TILES)
      continue;
    InfoValue *tile = info_add(list, info_object());
    info_put_int(tile, "tile", t);
    put_coding(header, header->tiles[t], tile);
  }
  info_put_int(out, "num_tiles_with_own_coding", own);
}
