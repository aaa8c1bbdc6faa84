/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many bytes a frame and each of its components may have. Pure functions.
 */
#ifndef CJ2K_RATE_CEILINGS_H
#define CJ2K_RATE_CEILINGS_H

#include "common/codestream/write_codestream.h"

typedef struct {
  uint64_t frame, component; /* UINT64_MAX: none */
  uint32_t num_components;
  bool without_highest; /* a component's ceiling leaves its highest resolution out (4K cinema) */
  /* For the search of steps: what a component may have, and all together. Ceilings that leave the
   * highest resolution out do not count there. */
  uint64_t useful_component, useful_frame;
} Cj2kCeilings;

Cj2kCeilings cj2k_ceilings(uint64_t frame, uint64_t component, uint32_t num_components,
                           bool without_highest);
/* The smallest codestream of an encoder, headers around empty code-blocks: what each ceiling must
 * leave room for. */
typedef struct {
  uint64_t frame;
  uint64_t *components; /* of each component, what its ceiling counts */
} Cj2kLeastBytes;
void cj2k_least_bytes_clear(Cj2kLeastBytes *least);

/* Refuse a ceiling of the frame, or of component c, that headers alone exceed, which take `needed`
 * bytes. */
Cj2kStatus cj2k_ceilings_refuse_frame(const Cj2kCeilings *ceilings, uint64_t needed,
                                      Cj2kError *error);
Cj2kStatus cj2k_ceilings_refuse_component(const Cj2kCeilings *ceilings, uint32_t c, uint64_t needed,
                                          Cj2kError *error);
/* Refuses what is smaller than the least. */
Cj2kStatus cj2k_ceilings_check(const Cj2kCeilings *ceilings, const Cj2kLeastBytes *least,
                               Cj2kError *error);

/* Is there any? */
bool cj2k_ceilings_exist(const Cj2kCeilings *ceilings);
/* Bytes of component c that its ceiling counts. */
uint64_t cj2k_ceilings_counted(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size,
                               uint32_t c);
/* Bytes of the codestream without those of components above their ceiling. */
uint64_t cj2k_ceilings_useful(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);
/* The first component above its ceiling; num_components: none is. */
uint32_t cj2k_ceilings_first_above(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);
/* Within all of them? */
bool cj2k_ceilings_fit(const Cj2kCeilings *ceilings, const Cj2kCodestreamSize *size);

#endif
