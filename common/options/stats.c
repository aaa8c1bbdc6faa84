/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/options/stats.h"

#include <stddef.h>

#define COUNT(name, field)                                                                         \
  {                                                                                                \
    name, offsetof(Cj2kStats, field), false, false                                                 \
  }
#define STATE(name, field)                                                                         \
  {                                                                                                \
    name, offsetof(Cj2kStats, field), false, true                                                  \
  }
#define TIME(name, field)                                                                          \
  {                                                                                                \
    name, offsetof(Cj2kStats, field), true, false                                                  \
  }

const Cj2kStatsField cj2k_stats_fields[] = {
    COUNT("frames", frames),
    COUNT("failed-frames", failed_frames),
    COUNT("corrupt-blocks", corrupt_blocks),
    COUNT("concealed-frames", concealed_frames),
    COUNT("concealed-packets", concealed_packets),
    COUNT("concealed-blocks", concealed_blocks),
    COUNT("restored-blocks", restored_blocks),
    COUNT("fallbacks", fallbacks),
    COUNT("limited-frames", limited_frames),
    COUNT("redone-frames", redone_frames),
    COUNT("lost-gpus", lost_devices),
    STATE("average-bytes", average_bytes),
    STATE("bucket-bytes", bucket_bytes),
    STATE("bucket-level", bucket_level),
    COUNT("bytes", bytes),
    TIME("header-ms", ms_header),
    TIME("packets-ms", ms_packets),
    TIME("block-coder-ms", ms_block_coder),
    TIME("transform-ms", ms_transform),
    TIME("total-ms", ms_total),
    {NULL, 0, false, false},
};

/* Adds the sums `sign` times. */
static void combine(Cj2kStats *stats, const Cj2kStats *part, int sign)
{
  for (const Cj2kStatsField *field = cj2k_stats_fields; field->name; field++) {
    void *to = (char *)stats + field->offset;
    const void *from = (const char *)part + field->offset;
    if (field->is_ms)
      *(double *)to += sign * *(const double *)from;
    else if (!field->is_state)
      *(uint64_t *)to += (uint64_t)sign * *(const uint64_t *)from; /* modulo 2^64 */
    else if (sign > 0)
      *(uint64_t *)to = *(const uint64_t *)from;
  }
}

void cj2k_stats_add(Cj2kStats *stats, const Cj2kStats *part)
{
  combine(stats, part, 1);
}

void cj2k_stats_subtract(Cj2kStats *stats, const Cj2kStats *part)
{
  combine(stats, part, -1);
}
