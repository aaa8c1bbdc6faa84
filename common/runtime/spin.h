/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Permission to spin. A thread that spins while it waits goes on at once when the wait is over, but
 * keeps a core busy. That pays for a few codecs with idle cores beside them; with many it takes the
 * cores from the others' work. So the codecs of a process that want to spin announce themselves: no
 * more than a quarter of the cores spin at a time, and none if there are more such codecs than
 * that.
 */
#ifndef COMMON_RUNTIME_SPIN_H
#define COMMON_RUNTIME_SPIN_H

#include <stdbool.h>

/* Announces a codec whose threads will ask for permission, until cj2k_spin_leave. */
void cj2k_spin_join(void);
void cj2k_spin_leave(void);

/* Takes permission for one thread. false: the thread has to sleep. Never waits. */
bool cj2k_spin_take(void);
/* Gives back what cj2k_spin_take gave. */
void cj2k_spin_give(void);

#endif
