/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits for the time that a thread spends on what headers demand, and for the number of items that
 * it makes for them. A few bytes of a header can announce millions of tiles, precincts or packets;
 * the loops over these look at the limits of their thread, so that no function between them and the
 * decoder has to pass them on.
 */
#ifndef CJ2K_RUNTIME_DEADLINE_H
#define CJ2K_RUNTIME_DEADLINE_H

#include "error.h"

/* Begins a limit of so many milliseconds for the calling thread; 0: none. The number of items has
 * no limit at first. */
void cj2k_deadline_begin(uint32_t milliseconds);
/* Ends it. */
void cj2k_deadline_end(void);
/* Counts a step of `work` (1: some hundred nanoseconds) and looks at the clock once in a while.
 * CJ2K_ERROR_LIMIT: the time is over; *error says so. From then on every call returns that, until
 * the next begin or end. */
Cj2kStatus cj2k_deadline_check(uint32_t work, Cj2kError *error);
/* Limits the precincts and code-blocks that the thread makes, or looks at in packet headers, until
 * the next begin or end. */
void cj2k_deadline_limit_items(uint64_t items);
/* Counts so many more of them, before that is done. CJ2K_ERROR_LIMIT: they are too many; from then
 * on cj2k_deadline_check returns that. */
Cj2kStatus cj2k_deadline_count_items(uint64_t items, Cj2kError *error);
/* How many were counted since begin. */
uint64_t cj2k_deadline_items(void);

#endif
