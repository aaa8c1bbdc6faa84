/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One table of the sums in Cj2kStats: the elements' property `stats` and all arithmetic with
 * statistics are made from it. */
#ifndef CJ2K_OPTIONS_STATS_H
#define CJ2K_OPTIONS_STATS_H

#include "common/cj2k.h"

typedef struct {
  const char *name; /* of the field of the property: lower case with hyphens */
  uint16_t offset;  /* in Cj2kStats */
  bool is_ms;       /* a double, in milliseconds; otherwise a uint64_t */
  bool is_state;    /* how things stand after the last frame; no sum */
} Cj2kStatsField;

/* The fields; the last has no name. frames_in_flight and devices are no sums and not in the table.
 */
extern const Cj2kStatsField cj2k_stats_fields[];

/* Adds each sum of `part`, the later one, to that of `stats`, or subtracts it. States become those
 * of the part that is added, and stay when one is subtracted. */
void cj2k_stats_add(Cj2kStats *stats, const Cj2kStats *part);
void cj2k_stats_subtract(Cj2kStats *stats, const Cj2kStats *part);

#endif
