/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The profile that Rsiz names (T.800 A.5.1 and A.10), and whether the codestream conforms to it. */
#include "common/encoder/profile_rules.h"
#include "info.h"

#include <glib.h>
#include <math.h>

#define RSIZ_PART2 0x8000
#define RSIZ_CAP   0x4000 /* a CAP marker segment has more capabilities; HTJ2K: Ccap15 */

/* The checks add violations to `broken`, and what a file does not show to `unchecked`: arrays of
 * sentences. */
typedef struct {
  const InfoProfile *facts;
  const Cj2kHeader *header;
  InfoValue *broken, *unchecked;
} Check;

#define BROKEN(...)    info_add_text(check->broken, __VA_ARGS__)
#define UNCHECKED(...) info_add_text(check->unchecked, __VA_ARGS__)

static bool one_tile(const Cj2kHeader *header)
{
  return header->num_tiles_x == 1 && header->num_tiles_y == 1;
}

static bool has_offset(const Cj2kHeader *header)
{
  return header->x0 || header->y0 || header->tx0 || header->ty0;
}

/* --------------------------------------------------------------- Profile 0 and Profile 1 --- */

static void check_lowest(const Check *check, uint32_t c)
{
  const Cj2kComponent *component = &check->header->components[c];
  uint32_t levels = check->header->coding.coding[c].num_levels;
  uint64_t width = (((uint64_t)component->x1 - component->x0 - 1) >> MIN(levels, 32)) + 1;
  uint64_t height = (((uint64_t)component->y1 - component->y0 - 1) >> MIN(levels, 32)) + 1;
  if (one_tile(check->header) && (width > 128 || height > 128))
    BROKEN("the lowest resolution of component %u is %u x %u, at most 128 x 128 is allowed", c,
           (unsigned)width, (unsigned)height);
}

static void check_small(const Check *check, uint32_t profile)
{
  const Cj2kHeader *header = check->header;
  bool square = header->tdx == header->tdy;
  if (profile == 0 && has_offset(header))
    BROKEN("image or tile offset");
  if (!one_tile(header) && profile == 0 && (!square || header->tdx != 128))
    BROKEN("tiles of %u x %u, 128 x 128 or one tile is allowed", header->tdx, header->tdy);
  if (!one_tile(header) && profile == 1 && (!square || header->tdx > 1024))
    BROKEN("tiles of %u x %u, squares up to 1024 or one tile are allowed", header->tdx,
           header->tdy);
  for (uint32_t c = 0; c < header->num_components && info_count(check->broken) < 16; c++) {
    const Cj2kComponent *component = &header->components[c];
    const Cj2kCoding *coding = &header->coding.coding[c];
    uint32_t width = coding->log2_block_width, height = coding->log2_block_height;
    if (profile == 0 &&
        (component->dx == 3 || component->dx > 4 || component->dy == 3 || component->dy > 4))
      BROKEN("component %u has sub-sampling %u x %u, 1, 2 and 4 are allowed", c, component->dx,
             component->dy);
    if (profile == 0 ? width != height || width < 5 || width > 6 : width > 6 || height > 6)
      BROKEN("component %u has code-blocks of %u x %u", c, 1u << width, 1u << height);
    if (header->coding.roi_shift[c] > 37)
      BROKEN("component %u has a region of interest shifted by %u, at most 37 is allowed", c,
             header->coding.roi_shift[c]);
    check_lowest(check, c);
  }
}

/* ----------------------------------------------------------- cinema, broadcast and IMF --- */

static void check_components(const Check *check, const Cj2kProfileRules *rules)
{
  const Cj2kHeader *header = check->header;
  if (header->num_components > rules->max_components ||
      (rules->all_components && header->num_components != rules->max_components))
    BROKEN("%u components, %s%u are allowed", header->num_components,
           rules->all_components ? "" : "1 to ", rules->max_components);
  for (uint32_t c = 0; c < header->num_components && c < rules->max_components; c++) {
    const Cj2kComponent *component = &header->components[c];
    if (component->depth < rules->min_depth || component->depth > rules->max_depth ||
        component->is_signed)
      BROKEN("component %u has %u bits%s, %u to %u unsigned are allowed", c, component->depth,
             component->is_signed ? " signed" : "", rules->min_depth, rules->max_depth);
    bool colour_difference = c == 1 || c == 2;
    if (component->dx > cj2k_profile_max_dx(rules, colour_difference) ||
        component->dy > cj2k_profile_max_dy(rules, colour_difference))
      BROKEN("component %u has sub-sampling %u x %u", c, component->dx, component->dy);
  }
}

static void check_coding(const Check *check, const Cj2kProfileRules *rules, uint32_t c)
{
  const Cj2kCoding *coding = &check->header->coding.coding[c];
  const Cj2kQuantisation *q = &check->header->coding.quantisation[c];
  uint32_t width = 1u << coding->log2_block_width, height = 1u << coding->log2_block_height;
  if (coding->reversible != rules->reversible)
    BROKEN("component %u has the %s filter", c, coding->reversible ? "5/3" : "9/7");
  if (coding->num_levels < rules->min_levels || coding->num_levels > rules->max_levels)
    BROKEN("component %u has %u decomposition levels, %u to %u are allowed", c, coding->num_levels,
           rules->min_levels, rules->max_levels);
  if (width < 32 || height < 32 || width > rules->max_block || height > rules->max_block)
    BROKEN("component %u has code-blocks of %u x %u", c, width, height);
  if (coding->block_style & ~(CJ2K_STYLE_HT | CJ2K_STYLE_HT_MIXED))
    BROKEN("component %u has code-block style 0x%02X", c, coding->block_style);
  if (rules->guard_bits && q->guard_bits != rules->guard_bits)
    BROKEN("component %u has %u guard bits, %u are dictated", c, q->guard_bits, rules->guard_bits);
  for (uint32_t r = 0; r <= coding->num_levels; r++) {
    uint32_t side = r == 0 ? 7 : 8;
    if (coding->log2_precinct_width[r] != side || coding->log2_precinct_height[r] != side)
      BROKEN("component %u has precincts of %u x %u at resolution %u, %u x %u are dictated", c,
             1u << coding->log2_precinct_width[r], 1u << coding->log2_precinct_height[r], r,
             1u << side, 1u << side);
  }
  if (check->header->coding.roi_shift[c])
    BROKEN("component %u has a region of interest", c);
}

static void check_tiles(const Check *check, const Cj2kProfileRules *rules)
{
  const Cj2kHeader *header = check->header;
  uint32_t n = header->num_tiles_x * header->num_tiles_y;
  if (rules->max_width &&
      (header->x1 - header->x0 > rules->max_width || header->y1 - header->y0 > rules->max_height))
    BROKEN("picture of %u x %u, at most %u x %u is allowed", header->x1 - header->x0,
           header->y1 - header->y0, rules->max_width, rules->max_height);
  if (has_offset(header))
    BROKEN("image or tile offset");
  if (n > 1 && rules->tiles == CJ2K_TILES_ONE)
    BROKEN("%u tiles, one is allowed", n);
  if (n > 1 && n != 4 && rules->tiles == CJ2K_TILES_ONE_OR_FOUR)
    BROKEN("%u tiles, one or four are allowed", n);
  if (n > 1 && rules->tiles == CJ2K_TILES_ONE_OR_IMF &&
      (header->tdx != header->tdy ||
       (header->tdx != 1024 && header->tdx != 2048 && header->tdx != 4096)))
    BROKEN("tiles of %u x %u, squares of 1024, 2048 or 4096 are allowed", header->tdx, header->tdy);
}

/* Bytes that a bit rate allows for a frame. */
static uint64_t frame_bytes(double mbit, double rate)
{
  return (uint64_t)floor(mbit * 1e6 / 8 / rate);
}

/* The byte limits of cinema profiles. */
static void check_cinema_bytes(const Check *check, const Cj2kProfileRules *rules)
{
  double rate = MAX(check->facts->frame_rate, CJ2K_CINEMA_RATE);
  uint64_t frame = frame_bytes(CJ2K_CINEMA_MBIT, rate);
  uint64_t component = frame_bytes(CJ2K_CINEMA_COMPONENT_MBIT, rate);
  if (rate > cj2k_profile_cinema_rate(rules))
    BROKEN("%g frames/s, at most %g are allowed", rate, cj2k_profile_cinema_rate(rules));
  if (check->facts->bytes > frame)
    BROKEN("%" G_GUINT64_FORMAT " bytes, at most %" G_GUINT64_FORMAT " are allowed at %g frames/s",
           check->facts->bytes, frame, rate);
  if (check->facts->packets.component_bytes > component && check->header->rsiz == 3)
    BROKEN("%" G_GUINT64_FORMAT " bytes of a component, at most %" G_GUINT64_FORMAT
           " are allowed at %g frames/s",
           check->facts->packets.component_bytes, component, rate);
  if (!(check->facts->frame_rate > 0))
    UNCHECKED("bytes at more than %d frames/s: give --framerate", CJ2K_CINEMA_RATE);
}

/* ------------------------------------------------------------------------------- levels --- */

static uint64_t count_samples(const Cj2kHeader *header)
{
  uint64_t samples = 0;
  for (uint32_t c = 0; c < header->num_components; c++) {
    const Cj2kComponent *component = &header->components[c];
    samples += (uint64_t)(component->x1 - component->x0) * (component->y1 - component->y0);
  }
  return samples;
}

/* The limits of the levels at this frame rate. Broadcast has its bit rate in the main level, IMF in
 * the sub-level. */
static void check_rates(const Check *check, const Cj2kProfileRules *rules, int main_level,
                        int sub_level)
{
  double rate = check->facts->frame_rate, mbit, most;
  double samples = (double)count_samples(check->header) * rate / 1e6;
  bool imf = rules->family == CJ2K_FAMILY_IMF;
  most = cj2k_profile_level_samples(main_level);
  if (samples > most)
    BROKEN("%.1f million samples a second, main level %d allows %g", samples, main_level, most);
  mbit = cj2k_profile_level_mbit(rules, main_level, sub_level);
  if (isfinite(mbit) && check->facts->bytes > frame_bytes(mbit, rate))
    BROKEN("%" G_GUINT64_FORMAT " bytes are %.1f Mbit/s at %g frames/s, %s level %d allows %g",
           check->facts->bytes, (double)check->facts->bytes * 8 * rate / 1e6, rate,
           imf ? "sub" : "main", imf ? sub_level : main_level, mbit);
}

static void check_levels(const Check *check, const Cj2kProfileRules *rules)
{
  int main_level = check->header->rsiz & 15;
  int sub_level = rules->family == CJ2K_FAMILY_IMF ? check->header->rsiz >> 4 & 15 : 0;
  if (main_level > rules->max_main_level) {
    BROKEN("main level %d, 0 to %d are defined", main_level, rules->max_main_level);
    return;
  }
  if (sub_level > cj2k_profile_max_sub_level(rules, main_level))
    BROKEN("sub level %d, main level %d allows 0 to %d", sub_level, main_level,
           cj2k_profile_max_sub_level(rules, main_level));
  if (!main_level && !sub_level)
    return;
  if (check->facts->frame_rate > 0)
    check_rates(check, rules, main_level, sub_level);
  else
    UNCHECKED("samples and bits a second of the levels: give --framerate");
  UNCHECKED("bit rate of the whole stream: this is one codestream of it");
}

/* --------------------------------------------------------------------------------- all --- */

static void check_video(const Check *check, const Cj2kProfileRules *rules)
{
  const Cj2kHeader *header = check->header;
  const Cj2kTileCoding *coding = &header->coding;
  check_components(check, rules);
  check_tiles(check, rules);
  for (uint32_t c = 0; c < header->num_components && c < rules->max_components; c++)
    check_coding(check, rules, c);
  if (coding->progression != CJ2K_CPRL)
    BROKEN("progression %u, CPRL is dictated", coding->progression);
  if (coding->num_layers != 1)
    BROKEN("%u layers, one is dictated", coding->num_layers);
  if (coding->num_volumes && rules->rsiz != 4)
    BROKEN("progression order changes");
  if (rules->rsiz == 4 && coding->num_volumes != 2 && coding->coding[0].num_levels)
    BROKEN("%u progression order changes, two are dictated", coding->num_volumes);
  if (header->tiles)
    BROKEN("tiles with parameters of their own");
  if (check->facts->has_packed_headers)
    BROKEN("packed packet headers");
  if (!check->facts->has_tlm)
    BROKEN("no TLM");
  uint32_t parts = header->num_components * header->num_tiles_x * header->num_tiles_y;
  parts *= rules->rsiz == 4 ? 2 : 1;
  if (check->facts->num_tile_parts != parts)
    BROKEN("%u tile-parts, %u are dictated", check->facts->num_tile_parts, parts);
  if (rules->family == CJ2K_FAMILY_CINEMA)
    check_cinema_bytes(check, rules);
  else
    check_levels(check, rules);
}

static void put_video(const Check *check, const Cj2kProfileRules *rules, uint16_t rsiz,
                      InfoValue *out)
{
  info_put_text(out, "name", "%s", rules->name);
  if (rules->family != CJ2K_FAMILY_CINEMA)
    info_put_int(out, "main_level", rsiz & 15);
  if (rules->family == CJ2K_FAMILY_IMF)
    info_put_int(out, "sub_level", rsiz >> 4 & 15);
  check_video(check, rules);
}

void info_profile(const InfoProfile *facts, InfoValue *profile)
{
  const Cj2kHeader *header = facts->header;
  uint16_t rsiz = header->rsiz & ~(RSIZ_PART2 | RSIZ_CAP);
  Check check = {facts, header, info_array(), info_array()};
  const Cj2kProfileRules *rules = cj2k_profile_rules(rsiz);
  info_put_text(profile, "rsiz", "0x%04X", header->rsiz);
  if (header->rsiz & RSIZ_PART2)
    info_put_bool(profile, "part_2", true);
  if (rules) {
    put_video(&check, rules, rsiz, profile);
  } else if (rsiz == 1 || rsiz == 2) {
    info_put_text(profile, "name", "Profile-%u", rsiz - 1);
    check_small(&check, rsiz - 1u);
  } else {
    info_put_text(profile, "name", "%s", rsiz ? "unknown" : "none");
  }
  if (header->rsiz & RSIZ_CAP && !header->has_cap)
    info_add_text(check.broken, "Rsiz tells of a CAP marker segment, there is none");
  if (rules || rsiz == 1 || rsiz == 2 || info_count(check.broken))
    info_put_bool(profile, "kept", !info_count(check.broken));
  info_put(profile, "broken", check.broken);
  info_put(profile, "unchecked", check.unchecked);
}
