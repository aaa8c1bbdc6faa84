/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares code-blocks that two readers have read of the same codestream. */
#ifndef TESTS_SUPPORT_SAME_BLOCKS_H
#define TESTS_SUPPORT_SAME_BLOCKS_H

#include "common/codestream/coded.h"

#include <string.h>

/* True if code-block `number` has the same bytes, passes and segments in both frames, wherever the
 * segments lie in the frames' arrays. */
static inline bool same_block(const Cj2kCodedFrame *a, const Cj2kCodedFrame *b, uint32_t number)
{
  const Cj2kCodedBlock *x = &a->blocks[number], *y = &b->blocks[number];

  if (x->num_passes != y->num_passes || x->corrupt != y->corrupt)
    return false;
  return !x->num_passes ||
         (x->offset == y->offset && x->length == y->length && x->is_ht == y->is_ht &&
          x->zero_bitplanes == y->zero_bitplanes && x->num_segments == y->num_segments &&
          !memcmp(a->segments + x->first_segment, b->segments + y->first_segment,
                  x->num_segments * sizeof *a->segments));
}

#endif
