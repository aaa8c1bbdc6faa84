/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units.h"

#include "common/codestream/markers.h"

#include <string.h>

void cj2k_rtp_units_add(Cj2kRtpUnits *units, const Cj2kRtpUnit *unit)
{
  if (units->count == units->capacity) {
    units->capacity = 2 * units->capacity + 256;
    units->units = g_renew(Cj2kRtpUnit, units->units, units->capacity);
  }
  units->units[units->count++] = *unit;
}

void cj2k_rtp_note_sop(Cj2kRtpUnits *units, uint32_t from, const uint8_t *data)
{
  for (uint32_t i = from; i < units->count; i++)
    if (units->units[i].size >= 6 && cj2k_get16(data + units->units[i].offset) == CJ2K_SOP)
      units->units[i].header = 6;
}

void cj2k_rtp_units_clear(Cj2kRtpUnits *units)
{
  g_free(units->units);
  memset(units, 0, sizeof *units);
}
