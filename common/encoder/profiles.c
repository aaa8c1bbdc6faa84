/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles of T.800 Annex A.10, SMPTE ST 429-4 (cinema) and their levels: docs/profiles.md. */
#include "common/runtime/error.h"
#include "params.h"
#include "profile_rules.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>

typedef Cj2kProfileRules Rules;

static const Rules profile_rules[] = {
    [CJ2K_PROFILE_CINEMA_2K] = {"cinema-2k", CJ2K_FAMILY_CINEMA, 0x0003, 3, 12, 12, true, 2048,
                                1080, 0, 5, false, 32, CJ2K_TILES_ONE, 1, 0},
    [CJ2K_PROFILE_CINEMA_4K] = {"cinema-4k", CJ2K_FAMILY_CINEMA, 0x0004, 3, 12, 12, true, 4096,
                                2160, 1, 6, false, 32, CJ2K_TILES_ONE, 2, 0},
    [CJ2K_PROFILE_BROADCAST_SINGLE] = {"broadcast-single", CJ2K_FAMILY_BROADCAST, 0x0100, 4, 8, 12,
                                       false, 0, 0, 1, 5, false, 128, CJ2K_TILES_ONE, 0, 11},
    [CJ2K_PROFILE_BROADCAST_MULTI] = {"broadcast-multi", CJ2K_FAMILY_BROADCAST, 0x0200, 4, 8, 12,
                                      false, 0, 0, 1, 5, false, 128, CJ2K_TILES_ONE_OR_FOUR, 0, 11},
    [CJ2K_PROFILE_BROADCAST_MULTI_R] = {"broadcast-multi-r", CJ2K_FAMILY_BROADCAST, 0x0300, 4, 8,
                                        12, false, 0, 0, 1, 5, true, 128, CJ2K_TILES_ONE_OR_FOUR, 0,
                                        11},
    [CJ2K_PROFILE_IMF_2K] = {"imf-2k", CJ2K_FAMILY_IMF, 0x0400, 3, 8, 16, false, 2048, 1556, 1, 5,
                             false, 32, CJ2K_TILES_ONE, 0, 11},
    [CJ2K_PROFILE_IMF_4K] = {"imf-4k", CJ2K_FAMILY_IMF, 0x0500, 3, 8, 16, false, 4096, 3112, 1, 6,
                             false, 32, CJ2K_TILES_ONE, 0, 11},
    [CJ2K_PROFILE_IMF_8K] = {"imf-8k", CJ2K_FAMILY_IMF, 0x0600, 3, 8, 16, false, 8192, 6224, 1, 7,
                             false, 32, CJ2K_TILES_ONE, 0, 11},
    [CJ2K_PROFILE_IMF_2K_R] = {"imf-2k-r", CJ2K_FAMILY_IMF, 0x0700, 3, 8, 16, false, 2048, 1556, 1,
                               5, true, 32, CJ2K_TILES_ONE_OR_IMF, 0, 11},
    [CJ2K_PROFILE_IMF_4K_R] = {"imf-4k-r", CJ2K_FAMILY_IMF, 0x0800, 3, 8, 16, false, 4096, 3112, 1,
                               6, true, 32, CJ2K_TILES_ONE_OR_IMF, 0, 11},
    [CJ2K_PROFILE_IMF_8K_R] = {"imf-8k-r", CJ2K_FAMILY_IMF, 0x0900, 3, 8, 16, false, 8192, 6224, 1,
                               7, true, 32, CJ2K_TILES_ONE_OR_IMF, 0, 11},
};

const Cj2kProfileRules *cj2k_profile_rules(uint16_t rsiz)
{
  static const uint16_t levels[] = {
      [CJ2K_FAMILY_CINEMA] = 0, [CJ2K_FAMILY_BROADCAST] = 0x000f, [CJ2K_FAMILY_IMF] = 0x00ff};

  for (size_t i = CJ2K_PROFILE_NONE + 1; i < G_N_ELEMENTS(profile_rules); i++)
    if ((rsiz & ~levels[profile_rules[i].family]) == profile_rules[i].rsiz)
      return &profile_rules[i];
  return NULL;
}

uint32_t cj2k_profile_max_dx(const Cj2kProfileRules *rules, bool colour_difference)
{
  return rules->family != CJ2K_FAMILY_CINEMA && colour_difference ? 2 : 1;
}

uint32_t cj2k_profile_max_dy(const Cj2kProfileRules *rules, bool colour_difference)
{
  return rules->family == CJ2K_FAMILY_BROADCAST && colour_difference ? 2 : 1;
}

const char *cj2k_profile_name(Cj2kProfile profile)
{
  return profile == CJ2K_PROFILE_NONE ? "none" : profile_rules[profile].name;
}

bool cj2k_profile_is_cinema(Cj2kProfile profile)
{
  return profile != CJ2K_PROFILE_NONE && profile_rules[profile].family == CJ2K_FAMILY_CINEMA;
}

bool cj2k_profile_is_reversible(Cj2kProfile profile)
{
  return profile != CJ2K_PROFILE_NONE && profile_rules[profile].reversible;
}

/* The context in which a profile is applied. */
typedef struct {
  Cj2kEncoderSetup *setup;
  const Rules *rules;
  Cj2kError *error;
} Apply;

#define REFUSE(...) return cj2k_error_set(a->error, CJ2K_ERROR_ARGUMENT, __VA_ARGS__)

/*
 * Applies a value that the profile dictates to a parameter. A parameter with its default value
 * counts as left open and takes the dictated value; any other value is refused, or overruled with a
 * warning.
 */
static Cj2kStatus dictate(const Apply *a, const char *name, int64_t value, int64_t preset,
                          int64_t dictated)
{
  if (value == dictated || value == preset)
    return CJ2K_OK;
  if (!a->setup->params.profile_lenient)
    REFUSE("%s %" G_GINT64_FORMAT " contradicts profile %s, which has %" G_GINT64_FORMAT, name,
           value, a->rules->name, dictated);
  cj2k_setup_warn(a->setup,
                  "profile %s sets %s to %" G_GINT64_FORMAT " in place of %" G_GINT64_FORMAT,
                  a->rules->name, name, dictated, value);
  return CJ2K_OK;
}

#define DICTATE(field, name, dictated)                                                             \
  do {                                                                                             \
    Cj2kStatus status_ =                                                                           \
        dictate(a, name, (int64_t)a->setup->params.field, (int64_t)defaults.field, dictated);      \
    if (status_ != CJ2K_OK)                                                                        \
      return status_;                                                                              \
    a->setup->params.field = dictated;                                                             \
  } while (0)

/* Applies what all of these profiles dictate. */
static Cj2kStatus dictate_style(const Apply *a)
{
  Cj2kEncoderParams defaults;

  cj2k_encoder_params_init(&defaults);
  DICTATE(codeblock_style, "codeblock-style", 0);
  DICTATE(num_layers, "num-layers", 1);
  DICTATE(progression, "progression-order", CJ2K_CPRL);
  DICTATE(image_x0, "image offset x", 0);
  DICTATE(image_y0, "image offset y", 0);
  DICTATE(tile_x0, "tile offset x", 0);
  DICTATE(tile_y0, "tile offset y", 0);
  DICTATE(tile_parts, "tile-parts", CJ2K_TILE_PARTS_COMPONENT);
  if (a->rules->tiles == CJ2K_TILES_ONE) {
    DICTATE(tile_width, "tile-width", 0);
    DICTATE(tile_height, "tile-height", 0);
  }
  if (a->rules->guard_bits)
    DICTATE(guard_bits, "guard-bits", a->rules->guard_bits);
  if (a->rules->family == CJ2K_FAMILY_CINEMA)
    DICTATE(mct, "mct", CJ2K_MCT_ON);
  if (a->rules->reversible) {
    DICTATE(reversible_transform, "reversible-transform", true);
  } else if (a->setup->params.rate_control == CJ2K_RATE_LOSSLESS) {
    REFUSE("rate-control lossless contradicts profile %s, which is irreversible", a->rules->name);
  } else {
    DICTATE(reversible_transform, "reversible-transform", false);
  }
  a->setup->params.tlm = true;
  return CJ2K_OK;
}

/* Sets precincts of 128 x 128 at the lowest resolution and of 256 x 256 above. */
static Cj2kStatus dictate_precincts(const Apply *a)
{
  Cj2kEncoderParams *p = &a->setup->params;

  for (uint32_t i = 0; i < p->num_resolutions; i++) {
    uint8_t side = i + 1u == p->num_resolutions ? 7 : 8;
    if (p->num_precincts && !p->profile_lenient) {
      uint32_t given = MIN(i, p->num_precincts - 1u);
      if (p->precinct_width[given] != side || p->precinct_height[given] != side)
        REFUSE(
            "precincts contradict profile %s, which has 128 x 128 at the lowest resolution and 256 x 256 above",
            a->rules->name);
    }
  }
  for (uint32_t i = 0; i < p->num_resolutions; i++)
    p->precinct_width[i] = p->precinct_height[i] = i + 1u == p->num_resolutions ? 7 : 8;
  p->num_precincts = p->num_resolutions;
  return CJ2K_OK;
}

static Cj2kStatus check_blocks(const Apply *a)
{
  Cj2kEncoderParams *p = &a->setup->params, defaults;

  cj2k_encoder_params_init(&defaults);
  if (a->rules->max_block == 32) {
    DICTATE(codeblock_width, "codeblock-width", 32);
    DICTATE(codeblock_height, "codeblock-height", 32);
    return CJ2K_OK;
  }
  if (p->codeblock_width < 32 || p->codeblock_width > a->rules->max_block ||
      p->codeblock_height < 32 || p->codeblock_height > a->rules->max_block)
    REFUSE("code-block %u x %u contradicts profile %s, which allows sides 32, 64 and 128",
           p->codeblock_width, p->codeblock_height, a->rules->name);
  return CJ2K_OK;
}

static Cj2kStatus refuse_depth(const Apply *a, uint32_t c, const Cj2kComponent *component)
{
  const Rules *rules = a->rules;
  char depths[32];

  if (rules->min_depth == rules->max_depth)
    snprintf(depths, sizeof depths, "%u", rules->max_depth);
  else
    snprintf(depths, sizeof depths, "%u to %u", rules->min_depth, rules->max_depth);
  REFUSE("component %u of %u bits%s contradicts profile %s, which has %s bits unsigned", c,
         component->depth, component->is_signed ? " signed" : "", rules->name, depths);
}

static Cj2kStatus check_image(const Apply *a)
{
  const Cj2kEncoderImage *image = &a->setup->image;
  const Rules *rules = a->rules;

  if (rules->max_width && (image->width > rules->max_width || image->height > rules->max_height))
    REFUSE("image of %u x %u contradicts profile %s, which has at most %u x %u", image->width,
           image->height, rules->name, rules->max_width, rules->max_height);
  if (image->num_components > rules->max_components ||
      (rules->all_components && image->num_components != rules->max_components))
    REFUSE("%u components contradict profile %s, which has %s%u", image->num_components,
           rules->name, rules->all_components ? "" : "at most ", rules->max_components);
  for (uint32_t c = 0; c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    bool colour_difference = c == 1 || c == 2;
    uint32_t max_dx = cj2k_profile_max_dx(rules, colour_difference);
    uint32_t max_dy = cj2k_profile_max_dy(rules, colour_difference);
    if (component->depth < rules->min_depth || component->depth > rules->max_depth ||
        component->is_signed)
      return refuse_depth(a, c, component);
    if (component->dx > max_dx || component->dy > max_dy)
      REFUSE("component %u with sub-sampling %u x %u contradicts profile %s", c, component->dx,
             component->dy, rules->name);
  }
  return CJ2K_OK;
}

static Cj2kStatus check_levels(const Apply *a)
{
  uint32_t levels = a->setup->params.num_resolutions - 1u;

  if (levels < a->rules->min_levels || levels > a->rules->max_levels)
    REFUSE("num-resolutions %u contradicts profile %s, which has %u to %u", levels + 1,
           a->rules->name, a->rules->min_levels + 1u, a->rules->max_levels + 1u);
  return CJ2K_OK;
}

/* True for four equal tiles, in two rows of two or all in one column. */
static bool is_quarter(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;
  uint32_t width = setup->image.width, height = setup->image.height;
  bool full = !p->tile_width || p->tile_width == width;

  return (full && (uint64_t)p->tile_height * 4 == height) ||
         ((uint64_t)p->tile_width * 2 == width && (uint64_t)p->tile_height * 2 == height);
}

static Cj2kStatus check_tiles(const Apply *a)
{
  const Cj2kEncoderParams *p = &a->setup->params;
  bool one = (!p->tile_width || p->tile_width >= a->setup->image.width) &&
             (!p->tile_height || p->tile_height >= a->setup->image.height);
  uint32_t levels = p->num_resolutions - 1u;

  if (one)
    return CJ2K_OK;
  if (a->rules->tiles == CJ2K_TILES_ONE_OR_FOUR && !is_quarter(a->setup))
    REFUSE(
        "tiles of %u x %u contradict profile %s, which has one tile or four equal ones (2 x 2 or 1 x 4)",
        p->tile_width, p->tile_height, a->rules->name);
  if (a->rules->tiles == CJ2K_TILES_ONE_OR_IMF) {
    uint32_t max_levels = p->tile_width == 1024   ? 4
                          : p->tile_width == 2048 ? 5
                          : p->tile_width == 4096 ? 6
                                                  : 0;
    if (p->tile_width != p->tile_height || !max_levels || p->tile_width > 2 * a->rules->max_width)
      REFUSE(
          "tiles of %u x %u contradict profile %s, which has one tile or squares of 1024, 2048 or 4096",
          p->tile_width, p->tile_height, a->rules->name);
    if (levels > max_levels)
      REFUSE("num-resolutions %u contradicts profile %s with tiles of %u, which has at most %u",
             levels + 1, a->rules->name, p->tile_width, max_levels + 1);
  }
  return CJ2K_OK;
}

/* ---------------------------------------------------------------------------- levels --- */

/* Million samples per second of the image; 0 without a frame rate. */
static double samples_rate(const Cj2kEncoderSetup *setup)
{
  double samples = 0;
  for (uint32_t c = 0; c < setup->image.num_components; c++) {
    const Cj2kComponent *component = &setup->components[c];
    samples += (double)(component->x1 - component->x0) * (component->y1 - component->y0);
  }
  return samples * setup->params.frame_rate / 1e6;
}

/* Mbit/s that the levels must allow: those of the budget, or of the uncompressed samples if coding
 * is lossless; 0 in other cases. */
static double needed_mbit(const Cj2kEncoderSetup *setup)
{
  uint64_t budget = cj2k_setup_user_bytes(setup);
  double bits = 0;

  if (budget != UINT64_MAX) {
    bits = (double)budget * 8;
  } else if (setup->params.rate_control == CJ2K_RATE_LOSSLESS) {
    for (uint32_t c = 0; c < setup->image.num_components; c++) {
      const Cj2kComponent *component = &setup->components[c];
      bits += (double)(component->x1 - component->x0) * (component->y1 - component->y0) *
              component->depth;
    }
  }
  return bits * setup->params.frame_rate / 1e6;
}

/* The lowest main level that allows the samples and Mbit/s; CJ2K_MAX_MAIN_LEVEL + 1 if there is
 * none. */
static int lowest_main_level(const Apply *a, double mbit)
{
  int level = 1;

  while (level <= CJ2K_MAX_MAIN_LEVEL &&
         (samples_rate(a->setup) > cj2k_profile_level_samples(level) ||
          mbit > cj2k_profile_level_mbit(a->rules, level,
                                         a->rules->family == CJ2K_FAMILY_IMF
                                             ? cj2k_profile_max_sub_level(a->rules, level)
                                             : 0)))
    level++;
  return level;
}

/* The lowest sub-level that allows the Mbit/s. Without a budget the highest that the main level
 * allows, because a lower one would be an arbitrary limit. */
static int lowest_sub_level(const Apply *a, double mbit)
{
  /* A number, no character: -1 stands for the lowest level. */
  // NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c)
  int main_level = a->setup->params.main_level,
      highest = cj2k_profile_max_sub_level(a->rules, main_level), level = 1;

  if (mbit <= 0)
    return highest;
  while (level < highest && mbit > cj2k_profile_level_mbit(a->rules, main_level, level))
    level++;
  return level;
}

/* Replaces levels of -1 by the lowest that fit. */
static Cj2kStatus find_levels(const Apply *a)
{
  Cj2kEncoderParams *p = &a->setup->params;
  double mbit = needed_mbit(a->setup);

  if (p->main_level >= 0 && p->sub_level >= 0)
    return CJ2K_OK;
  if (!(p->frame_rate > 0))
    REFUSE("main-level and sub-level -1 need a frame rate");
  if (p->main_level < 0)
    p->main_level = (int8_t)lowest_main_level(a, mbit);
  if (p->main_level > CJ2K_MAX_MAIN_LEVEL)
    REFUSE("%.1f million samples a second with %.0f Mbit/s exceed every main-level of profile %s",
           samples_rate(a->setup), mbit, a->rules->name);
  if (p->sub_level < 0)
    p->sub_level = (int8_t)(p->main_level ? lowest_sub_level(a, mbit) : 0);
  return CJ2K_OK;
}

static Cj2kStatus check_main_level(const Apply *a)
{
  const Cj2kEncoderParams *p = &a->setup->params;
  double rate = samples_rate(a->setup);

  if (rate > cj2k_profile_level_samples(p->main_level)) {
    int fits = lowest_main_level(a, 0);
    if (fits > CJ2K_MAX_MAIN_LEVEL)
      REFUSE("%.1f million samples a second exceed every main-level of profile %s", rate,
             a->rules->name);
    REFUSE("%.1f million samples a second exceed main-level %d of profile %s; use %d", rate,
           p->main_level, a->rules->name, fits);
  }
  if (a->rules->family != CJ2K_FAMILY_IMF && p->sub_level)
    REFUSE("sub-level %d contradicts profile %s, which has none", p->sub_level, a->rules->name);
  if (p->sub_level > cj2k_profile_max_sub_level(a->rules, p->main_level))
    REFUSE("sub-level %d contradicts main-level %d of profile %s, which allows at most %d",
           p->sub_level, p->main_level, a->rules->name,
           cj2k_profile_max_sub_level(a->rules, p->main_level));
  return CJ2K_OK;
}

/* Sets the cinema limits: 250 Mbit/s at 24 or 48 frames per second, and four fifths of it for each
 * component. */
static Cj2kStatus set_cinema_limits(const Apply *a)
{
  Cj2kEncoderSetup *setup = a->setup;
  double rate = MAX(setup->params.frame_rate, CJ2K_CINEMA_RATE);

  if (rate > cj2k_profile_cinema_rate(a->rules))
    REFUSE("frame-rate %g contradicts profile %s", rate, a->rules->name);
  if (setup->params.main_level || setup->params.sub_level)
    REFUSE("main-level and sub-level contradict profile %s, which has none", a->rules->name);
  setup->profile_frame_bytes = cj2k_whole_bytes(CJ2K_CINEMA_MBIT * 1e6 / 8 / rate);
  setup->profile_component_bytes = cj2k_whole_bytes(CJ2K_CINEMA_COMPONENT_MBIT * 1e6 / 8 / rate);
  return CJ2K_OK;
}

static Cj2kStatus set_limits(const Apply *a)
{
  Cj2kEncoderSetup *setup = a->setup;
  const Cj2kEncoderParams *p = &setup->params;
  Cj2kStatus status;

  if (a->rules->family == CJ2K_FAMILY_CINEMA)
    return set_cinema_limits(a);
  if (a->rules->family == CJ2K_FAMILY_BROADCAST && p->sub_level == -1)
    setup->params.sub_level = 0;
  if ((status = find_levels(a)) != CJ2K_OK || (status = check_main_level(a)) != CJ2K_OK)
    return status;
  double mbit = cj2k_profile_level_mbit(a->rules, p->main_level, p->sub_level);
  if (isfinite(mbit) && p->frame_rate > 0)
    setup->profile_frame_bytes = cj2k_whole_bytes(mbit * 1e6 / 8 / p->frame_rate);
  setup->rsiz |= (uint16_t)(p->main_level | p->sub_level << 4);
  return CJ2K_OK;
}

/* Refuses a budget above the limit of the profile. The error names the level that allows it, or the
 * limit. */
static Cj2kStatus refuse_budget(const Apply *a, uint64_t bytes)
{
  const Cj2kEncoderParams *p = &a->setup->params;
  uint64_t limit = a->setup->profile_frame_bytes;
  double mbit = needed_mbit(a->setup);
  char advice[64] = "";

  if (a->rules->family == CJ2K_FAMILY_IMF)
    /* A number, no character. */
    // NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c)
    for (int sub = p->sub_level;
         sub <= cj2k_profile_max_sub_level(a->rules, p->main_level) && !advice[0]; sub++)
      if (mbit <= cj2k_profile_level_mbit(a->rules, p->main_level, sub))
        snprintf(advice, sizeof advice, " of sub-level %d; use %d", p->sub_level, sub);
  if (!advice[0] && a->rules->max_main_level && lowest_main_level(a, mbit) <= CJ2K_MAX_MAIN_LEVEL)
    snprintf(advice, sizeof advice, " of main-level %d; use %d", p->main_level,
             lowest_main_level(a, mbit));
  REFUSE("%s of %" G_GUINT64_FORMAT
         " bytes a frame exceeds profile %s, which has %" G_GUINT64_FORMAT "%s",
         p->max_frame_bytes ? "max-frame-bytes"
         : p->bitrate       ? "bitrate"
                            : "bits-per-pixel",
         bytes, a->rules->name, limit, advice);
}

/* Checks the budget against the profile. Lossless coding has no budget; a frame that exceeds the
 * limit fails. */
static Cj2kStatus check_budget(const Apply *a)
{
  const Cj2kEncoderParams *p = &a->setup->params;
  const uint64_t limit = a->setup->profile_frame_bytes,
                 component = a->setup->profile_component_bytes,
                 bytes = cj2k_setup_user_bytes(a->setup);

  if (p->profile_lenient)
    return CJ2K_OK;
  if (limit && bytes != UINT64_MAX && bytes > limit)
    return refuse_budget(a, bytes);
  if (component && p->max_component_bytes > component)
    REFUSE("max-component-bytes %" G_GUINT64_FORMAT
           " exceeds profile %s, which has %" G_GUINT64_FORMAT,
           p->max_component_bytes, a->rules->name, component);
  return CJ2K_OK;
}

Cj2kStatus cj2k_profile_check_budget(const Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderSetup same = *setup;
  Apply apply = {&same, &profile_rules[setup->params.profile], error};

  return setup->params.profile == CJ2K_PROFILE_NONE ? CJ2K_OK : check_budget(&apply);
}

static void warn_without_levels(Cj2kEncoderSetup *setup)
{
  if (setup->params.main_level)
    cj2k_setup_warn(setup, "main-level has no effect without a broadcast or IMF profile");
  if (setup->params.sub_level)
    cj2k_setup_warn(setup, "sub-level has no effect without an IMF profile");
}

Cj2kStatus cj2k_profile_apply(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kStatus status;

  if (setup->params.profile == CJ2K_PROFILE_NONE) {
    warn_without_levels(setup);
    return CJ2K_OK;
  }
  Apply apply = {setup, &profile_rules[setup->params.profile], error}, *a = &apply;
  if (setup->params.block_coder == CJ2K_CODER_HT && a->rules->family == CJ2K_FAMILY_CINEMA)
    REFUSE("block-coder ht contradicts profile %s", a->rules->name);
  setup->rsiz = a->rules->rsiz;
  if ((status = check_image(a)) != CJ2K_OK || (status = check_levels(a)) != CJ2K_OK ||
      (status = dictate_style(a)) != CJ2K_OK || (status = dictate_precincts(a)) != CJ2K_OK ||
      (status = check_blocks(a)) != CJ2K_OK || (status = check_tiles(a)) != CJ2K_OK ||
      (status = set_limits(a)) != CJ2K_OK)
    return status;
  if (a->rules->family == CJ2K_FAMILY_CINEMA)
    setup->mct = true;
  return check_budget(a);
}
