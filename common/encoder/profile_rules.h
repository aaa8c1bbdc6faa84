/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the profiles of T.800 Annex A.10 and of digital cinema dictate and limit (docs/profiles.md).
 * The encoder keeps these rules, and cj2k-info checks them.
 */
#ifndef CJ2K_ENCODER_PROFILE_RULES_H
#define CJ2K_ENCODER_PROFILE_RULES_H

#include "common/cj2k.h"

typedef enum { CJ2K_FAMILY_CINEMA, CJ2K_FAMILY_BROADCAST, CJ2K_FAMILY_IMF } Cj2kProfileFamily;
typedef enum {
  CJ2K_TILES_ONE,
  CJ2K_TILES_ONE_OR_FOUR,
  CJ2K_TILES_ONE_OR_IMF /* squares of 1024, 2048 or 4096 */
} Cj2kProfileTiles;

typedef struct {
  const char *name;
  Cj2kProfileFamily family;
  uint16_t rsiz; /* without levels */
  uint8_t max_components, min_depth, max_depth;
  bool all_components;            /* exactly max_components */
  uint32_t max_width, max_height; /* 0: no limit */
  uint8_t min_levels, max_levels;
  bool reversible;
  uint8_t max_block; /* sides are 32..max_block, 32 by default */
  Cj2kProfileTiles tiles;
  uint8_t guard_bits; /* 0: not dictated */
  uint8_t max_main_level;
} Cj2kProfileRules;

/* The profile that Rsiz names, apart from the bits of Part 2 and CAP; NULL: none of these profiles.
 */
const Cj2kProfileRules *cj2k_profile_rules(uint16_t rsiz);
#define CJ2K_MAX_MAIN_LEVEL 11

/* Limits of main levels 0 to CJ2K_MAX_MAIN_LEVEL of broadcast and IMF profiles: million samples per
 * second; Mbit/s, of the main level for broadcast, of the sub-level for IMF; the highest sub-level
 * that a main level allows. Infinite: no limit. */
double cj2k_profile_level_samples(int main_level);
double cj2k_profile_level_mbit(const Cj2kProfileRules *rules, int main_level, int sub_level);
int cj2k_profile_max_sub_level(const Cj2kProfileRules *rules, int main_level);

/* Bytes of a frame and of a component are limited in cinema profiles by 250 and 200 Mbit/s, at this
 * rate or at more frames a second, up to a highest rate. */
#define CJ2K_CINEMA_RATE           24
#define CJ2K_CINEMA_MBIT           250
#define CJ2K_CINEMA_COMPONENT_MBIT 200
double cj2k_profile_cinema_rate(const Cj2kProfileRules *rules);

/* The largest sub-sampling of components 1 and 2 (colour_difference) or of the others. */
uint32_t cj2k_profile_max_dx(const Cj2kProfileRules *rules, bool colour_difference);
uint32_t cj2k_profile_max_dy(const Cj2kProfileRules *rules, bool colour_difference);

#endif
