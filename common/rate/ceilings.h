/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Upper limits of the bytes of a frame and of each component. Pure functions.
 */
#ifndef CJ2K_RATE_CEILINGS_H
#define CJ2K_RATE_CEILINGS_H

#include "common/codestream/write_codestream.h"

typedef struct {
  uint64_t frame, component; /* UINT64_MAX: none */
  uint32_t num_components;
  bool without_highest; /* component ceilings do not count the highest resolution (4K cinema) */
  /* For the search of steps: limits of a component, and of all together. Ceilings that do not count
   * the highest resolution are ignored there. */
  uint64_t useful_component, useful_frame;
} Cj2kCeilings;

Cj2kCeilings cj2k_ceilings(uint64_t frame, uint64_t component, uint32_t num_components,
                           bool without_highest);
/* The size of an encoder's smallest codestream, with headers for empty code-blocks only: no ceiling
 * may be smaller. */
typedef struct {
  uint64_t frame;
  uint64_t main_header; /* that part of it that depends on quantisation */
  uint64_t *components; /* per component: the bytes that its ceiling counts */
} Cj2kLeastBytes;
void cj2k_least_bytes_clear(Cj2kLeastBytes *least);

/* Report that headers alone, which take `needed` bytes, exceed the ceiling of the frame or of
 * component c. */
Cj2kStatus cj2k_ceilings_refuse_frame(const Cj2kCeilings *ceilings, uint64_t needed,
                                      Cj2kError *error);
Cj2kStatus cj2k_ceilings_refuse_component(const Cj2kCeilings *ceilings, uint32_t c, uint64_t needed,
                                          Cj2kError *error);
/* Refuses ceilings that are smaller than the least codestream. */
Cj2kStatus cj2k_ceilings_check(const Cj2kCeilings *ceilings, const Cj2kLeastBytes *least,
                               Cj2kError *error);

/* Bytes of component c that its ceiling counts. */
uint64_t cj2k_ceilings_counted(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size,
                               uint32_t c);
/* Bytes of the codestream without those by which components exceed their ceilings. */
uint64_t cj2k_ceilings_useful(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);
/* The first component that exceeds its ceiling; num_components: none does. */
uint32_t cj2k_ceilings_first_above(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);
/* True if no ceiling is exceeded. */
bool cj2k_ceilings_fit(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);

#endif
