/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the bytes of a film are shared by its frames when their demands are known. */
#ifndef EXAMPLES_ENCODE_SHARES_H
#define EXAMPLES_ENCODE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  double average;  /* bytes a frame */
  double peak;     /* most bytes of a frame; INFINITY: no limit */
  uint32_t window; /* any k successive frames take at most k + window times the average */
} EncodeShareRule;

/*
 * Shares average * n bytes out. `demands`: the bytes of n frames at equal quality. Shares are
 * proportional to them, as far as neither the peak nor the window is exceeded; what a frame may not
 * take goes to the others. A frame with a demand gets at least the lesser of it and an eighth of
 * the average. The sum may be less than average * n where all frames have the peak.
 */
void encode_shares(const EncodeShareRule *rule, const uint64_t *demands, size_t n,
                   uint64_t *shares);

#endif
