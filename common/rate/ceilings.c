/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ceilings.h"

#include "common/runtime/error.h"

#include <glib.h>

Cj2kCeilings cj2k_ceilings(uint64_t frame, uint64_t component, uint32_t num_components,
                           bool without_highest)
{
  uint64_t useful = without_highest ? UINT64_MAX : component;
  bool unbounded = useful > UINT64_MAX / num_components;

  return (Cj2kCeilings){.frame = frame,
                        .component = component,
                        .num_components = num_components,
                        .without_highest = without_highest,
                        .useful_component = useful,
                        .useful_frame = unbounded ? frame : MIN(frame, useful * num_components)};
}

void cj2k_least_bytes_clear(Cj2kLeastBytes *least)
{
  g_clear_pointer(&least->components, g_free);
}

Cj2kStatus cj2k_ceilings_refuse_frame(const Cj2kCeilings *ceilings, uint64_t needed,
                                      Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes is too small: headers need %" G_GUINT64_FORMAT " bytes",
                        ceilings->frame, needed);
}

Cj2kStatus cj2k_ceilings_refuse_component(const Cj2kCeilings *ceilings, uint32_t c, uint64_t needed,
                                          Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes for a component is too small: headers of component %u need "
                        "%" G_GUINT64_FORMAT " bytes",
                        ceilings->component, c, needed);
}

Cj2kStatus cj2k_ceilings_check(const Cj2kCeilings *ceilings, const Cj2kLeastBytes *least,
                               Cj2kError *error)
{
  if (ceilings->frame < least->frame)
    return cj2k_ceilings_refuse_frame(ceilings, least->frame, error);
  for (uint32_t c = 0; c < ceilings->num_components; c++)
    if (ceilings->component < least->components[c])
      return cj2k_ceilings_refuse_component(ceilings, c, least->components[c], error);
  return CJ2K_OK;
}

uint64_t cj2k_ceilings_counted(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size,
                               uint32_t c)
{
  uint32_t n = size->num_resolutions, counted = ceilings->without_highest ? n - 1 : n;
  uint64_t sum = 0;

  for (uint32_t r = 0; r < counted; r++)
    sum += size->components[(size_t)c * n + r];
  return sum;
}

uint64_t cj2k_ceilings_useful(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size)
{
  uint64_t useful = size->total;

  for (uint32_t c = 0; c < ceilings->num_components && ceilings->component != UINT64_MAX; c++) {
    uint64_t bytes = cj2k_ceilings_counted(ceilings, size, c);
    useful -= bytes > ceilings->component ? bytes - ceilings->component : 0;
  }
  return useful;
}

uint32_t cj2k_ceilings_first_above(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size)
{
  uint32_t c = 0;

  if (ceilings->component == UINT64_MAX)
    return ceilings->num_components;
  while (c < ceilings->num_components &&
         cj2k_ceilings_counted(ceilings, size, c) <= ceilings->component)
    c++;
  return c;
}

bool cj2k_ceilings_fit(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size)
{
  return size->total <= ceilings->frame &&
         cj2k_ceilings_first_above(ceilings, size) == ceilings->num_components;
}
