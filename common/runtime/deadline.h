/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A limit for the time that a thread spends on what headers demand. A few bytes of a header can
 * announce millions of tiles, precincts or packets; the loops over these look at the deadline of
 * their thread, so that no function between them and the decoder has to pass it on.
 */
#ifndef CJ2K_RUNTIME_DEADLINE_H
#define CJ2K_RUNTIME_DEADLINE_H

#include "error.h"

/* Begins a limit of so many milliseconds for the calling thread; 0: none. */
void cj2k_deadline_begin(uint32_t milliseconds);
/* Ends it. */
void cj2k_deadline_end(void);
/* Counts a step of `work` (1: some hundred nanoseconds) and looks at the clock once in a while.
 * CJ2K_ERROR_LIMIT: the time is over; *error says so. From then on every call returns that, until
 * the next begin or end. */
Cj2kStatus cj2k_deadline_check(uint32_t work, Cj2kError *error);

#endif
