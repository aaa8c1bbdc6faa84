/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many precincts and code-blocks the headers of a codestream may announce and look at, for the
 * number of its bytes, unless the user has set limits: a few bytes can announce so many that a
 * thread would be busy for seconds. They are given to cj2k_deadline_limit_items().
 */
#ifndef CJ2K_CODESTREAM_LIMITS_H
#define CJ2K_CODESTREAM_LIMITS_H

#include <stdint.h>

/* Precincts and code-blocks of the plan. One takes up to 70 ns, its packets included. Each packet
 * has a byte, and a small precinct three code-blocks. */
static inline uint64_t cj2k_most_items(uint64_t size)
{
  return (UINT64_C(1) << 18) + 4 * size;
}

/* Code-blocks that packet headers look at, in each layer again, 3 to 5 ns each. 4K has 8000 of 64 x
 * 64. Where a block has been included, each look takes a bit. */
static inline uint64_t cj2k_most_visits(uint64_t size)
{
  return (UINT64_C(1) << 21) + 16 * size;
}

#endif
