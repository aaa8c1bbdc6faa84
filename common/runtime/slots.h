/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The slots of a back end, lent to frames in flight: one each, or fewer when memory runs out. Then
 * frames get theirs in the order of submission, so that none waits for a later one.
 */
#ifndef CJ2K_SLOTS_H
#define CJ2K_SLOTS_H

#include "common/cj2k.h"

#include <glib.h>

#define CJ2K_MAX_IN_FLIGHT 16

/* How the owner makes slots, called with the lock held. */
typedef struct {
  void *ctx;
  void *(*create)(void *ctx, Cj2kError *error); /* NULL: *error says why */
  void (*destroy)(void *ctx, void *slot);
  /* NULL, or tries to have a slot given back, and may let go of the lock in between. False: nothing
   * happened. */
  bool (*reclaim)(void *ctx);
} Cj2kSlotMaker;

/* All but lock, changed and wanted is guarded by the lock. Places are those of the ring of frames.
 */
typedef struct {
  GMutex *lock; /* the owner's, and the condition for all that it guards */
  GCond *changed;
  uint32_t wanted;  /* frames in flight */
  uint32_t allowed; /* slots that memory is believed to hold */
  uint32_t alive;
  void *slots[CJ2K_MAX_IN_FLIGHT];
  bool busy[CJ2K_MAX_IN_FLIGHT];
  bool alone[CJ2K_MAX_IN_FLIGHT];       /* no other slot was allowed when this one was lent */
  uint64_t lacking[CJ2K_MAX_IN_FLIGHT]; /* by place: a frame in flight without a slot, or 0 */
} Cj2kSlots;

void cj2k_slots_init(Cj2kSlots *slots, GMutex *lock, GCond *changed, uint32_t wanted);
/* Makes all slots now, or as many as memory holds; fewer than one is an error. */
Cj2kStatus cj2k_slots_fill(Cj2kSlots *slots, const Cj2kSlotMaker *maker, Cj2kError *error);
/* Frame `number` (from 1, rising) was submitted; the lock is held. */
void cj2k_slots_expect(Cj2kSlots *slots, uint32_t place, uint64_t number);
/* A slot for the frame in this place, waiting for one where there are too few. NULL and *error. */
void *cj2k_slots_take(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                      Cj2kError *error);
/* The frame in this place needs its slot no longer, or (NULL) will take none. */
void cj2k_slots_give(Cj2kSlots *slots, uint32_t place, void *slot);
/* Memory did not suffice for this slot of frame `number`: destroys it. True: there were others, and
 * the frame can take one of those. */
bool cj2k_slots_drop(Cj2kSlots *slots, uint32_t place, uint64_t number, void *slot,
                     const Cj2kSlotMaker *maker);
/* Destroys all; none is lent any more. */
void cj2k_slots_clear(Cj2kSlots *slots, const Cj2kSlotMaker *maker);

#endif
