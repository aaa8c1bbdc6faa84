/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HT blocks as they will be when coded at chosen bit-planes, described from measured lengths. */
#ifndef CJ2K_RATE_HT_BLOCKS_H
#define CJ2K_RATE_HT_BLOCKS_H

#include "common/backend.h"
#include "selection.h"

typedef struct {
  Cj2kHtChoice *choices;         /* per block */
  const Cj2kEncodedBlock *coded; /* all blocks at plane 0, if that was the last code() */
  Cj2kEncodedBlock *blocks; /* their bytes are not known yet; offset: where they are in `coded` */
  Cj2kPassLength *passes;   /* one for each block */
  uint32_t *at_plane_0;     /* per block: its length when last coded at plane 0 */
  bool all_coded;           /* the last code() was for all blocks, at plane 0 */
  Cj2kFrameQuantiser *quantisers; /* per band: those of that code() */
  const uint8_t *bytes;           /* of that code(); NULL: not on the host */
  Cj2kAgainJob again;             /* the described blocks, if place() codes them */
  bool ahead;                     /* it has begun to */
} Cj2kHtBlocks;

void cj2k_ht_blocks_init(Cj2kHtBlocks *ht, const Cj2kPlan *plan);
void cj2k_ht_blocks_clear(Cj2kHtBlocks *ht);

/* Takes note that all blocks were coded at plane 0; they must stay valid until the next code().
 * lengths: theirs, NULL: in `blocks`. Returns their bytes. */
uint64_t cj2k_ht_blocks_coded(Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                              const Cj2kFrameQuantiser *quantisers, const Cj2kEncodedBlock *blocks,
                              const uint32_t *lengths);
/* Sets the choices of a selection whose options are those of cj2k_hulls_set_planes for `num_planes`
 * planes from `first_plane` on. */
void cj2k_ht_blocks_choose(Cj2kHtBlocks *ht, const Cj2kPlan *plan, uint32_t first_plane,
                           uint32_t num_planes, const Cj2kSelection *selection);
/* The same, and describes its blocks. */
void cj2k_ht_blocks_describe(Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                             const Cj2kFrameQuantiser *quantisers, uint32_t first_plane,
                             uint32_t num_planes, const Cj2kSelection *selection);
/* True if the chosen blocks, of these lengths, can be coded into the room that they have: all were
 * coded last with these quantisers, none has become longer, and those that stay at plane 0 are as
 * long as they were.
 */
bool cj2k_ht_blocks_have_room(const Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                              const Cj2kFrameQuantiser *quantisers, const uint32_t *lengths);
/* True if the coded blocks have the same packet headers as the described ones. */
bool cj2k_ht_blocks_match(const Cj2kHtBlocks *ht, const Cj2kEncodedBlock *coded,
                          uint32_t num_blocks);

#endif
