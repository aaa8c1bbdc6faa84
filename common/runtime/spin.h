/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Permission to spin. A thread that spins while it waits goes on at once when the wait is over, but
 * keeps a core busy. Only a codec that is asked for low latency does it, and only where that pays:
 * with many codecs it would take the cores from the others' work. So every codec on a GPU announces
 * itself. A process with more of them than a quarter of the cores is crowded: nobody spins.
 * Otherwise the thread that waits for the GPU may spin, and beside it helpers: on three quarters of
 * the cores for one or two codecs, else on a quarter.
 */
#ifndef COMMON_RUNTIME_SPIN_H
#define COMMON_RUNTIME_SPIN_H

#include <stdbool.h>

/* Announces a codec on a GPU, until cj2k_spin_leave. */
void cj2k_spin_join(void);
void cj2k_spin_leave(void);

/* Are there too many codecs for spinning? */
bool cj2k_spin_crowded(void);
/* Takes permission for one helper. false: it has to sleep. Never waits. */
bool cj2k_spin_take(void);
/* Gives back what cj2k_spin_take gave. */
void cj2k_spin_give(void);

#endif
