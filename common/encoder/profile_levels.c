/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits of the main levels and sub-levels of broadcast and IMF profiles: docs/profiles.md. */
#include "profile_rules.h"

#include <math.h>

double cj2k_profile_level_samples(int main_level)
{
  static const double low[] = {HUGE_VAL, 65, 130, 195, 260, 520};
  return main_level < 6 ? low[main_level] : ldexp(1200, main_level - 6);
}

double cj2k_profile_level_mbit(const Cj2kProfileRules *rules, int main_level, int sub_level)
{
  static const double low[] = {HUGE_VAL, 200, 200, 200, 400, 800};

  if (rules->family == CJ2K_FAMILY_IMF)
    return sub_level ? ldexp(100, sub_level) : HUGE_VAL;
  return main_level < 6 ? low[main_level] : ldexp(1600, main_level - 6);
}

int cj2k_profile_max_sub_level(const Cj2kProfileRules *rules, int main_level)
{
  static const int most[CJ2K_MAX_MAIN_LEVEL + 1] = {0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  return rules->family == CJ2K_FAMILY_IMF ? most[main_level] : 0;
}

double cj2k_profile_cinema_rate(const Cj2kProfileRules *rules)
{
  return rules->rsiz == 4 ? 30 : 60;
}
