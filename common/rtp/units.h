/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The array in which the locator collects packets. */
#ifndef CJ2K_RTP_UNITS_H
#define CJ2K_RTP_UNITS_H

#include "locate.h"

typedef struct {
  Cj2kRtpUnit *units;
  uint32_t count, capacity;
} Cj2kRtpUnits;

void cj2k_rtp_units_add(Cj2kRtpUnits *units, const Cj2kRtpUnit *unit);
/* Notes which units, from this one on, begin with SOP. `data` is the codestream. */
void cj2k_rtp_note_sop(Cj2kRtpUnits *units, uint32_t from, const uint8_t *data);
void cj2k_rtp_units_clear(Cj2kRtpUnits *units);

#endif
