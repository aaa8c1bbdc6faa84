/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lends the slots of a back end to frames in flight: one for each frame, or fewer if memory runs
 * out. In that case frames get slots in the order of submission, so that none waits for a later
 * one.
 */
#ifndef CJ2K_RUNTIME_SLOTS_H
#define CJ2K_RUNTIME_SLOTS_H

#include "common/cj2k.h"

#include <glib.h>

/* How the owner creates slots. The functions are called with the lock held. */
typedef struct {
  void *ctx;
  void *(*create)(void *ctx, Cj2kError *error); /* returns NULL and fills *error on failure */
  void (*destroy)(void *ctx, void *slot);
  /* Optional. Tries to have a slot given back, and may release the lock meanwhile. Returns false if
   * nothing happened. */
  bool (*reclaim)(void *ctx);
} Cj2kSlotMaker;

/* The lock guards everything but lock, changed and wanted. A place is an index into the owner's
 * ring of frames. */
typedef struct {
  GMutex *lock;     /* the owner's */
  GCond *changed;   /* signalled whenever something that the lock guards has changed */
  uint32_t wanted;  /* frames in flight */
  uint32_t allowed; /* most slots that memory is known to hold, `wanted` at first */
  uint32_t alive;   /* slots that exist */
  void *slots[CJ2K_MAX_IN_FLIGHT];
  bool busy[CJ2K_MAX_IN_FLIGHT];
  bool was_only[CJ2K_MAX_IN_FLIGHT];    /* by slot: no other one was allowed when it was lent */
  uint64_t waiting[CJ2K_MAX_IN_FLIGHT]; /* by place: number of a frame in flight that has no slot
                                           yet, or 0 */
} Cj2kSlots;

void cj2k_slots_init(Cj2kSlots *slots, GMutex *lock, GCond *changed, uint32_t wanted);
/* Creates all slots now, or as many as memory holds. It is an error if there is not even one. */
Cj2kStatus cj2k_slots_fill(Cj2kSlots *slots, const Cj2kSlotMaker *maker, Cj2kError *error);
/* Says that frame `number` (rising from 1) was submitted in this place. Call it with the lock held.
 */
void cj2k_slots_announce(Cj2kSlots *slots, uint32_t place, uint64_t number);
/* Lends a slot to the frame in this place, and waits for one if there are too few. Returns NULL and
 * fills *error on failure. */
void *cj2k_slots_take(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                      Cj2kError *error);
/* Takes back the slot of the frame in this place. NULL: the frame will not take one. */
void cj2k_slots_give(Cj2kSlots *slots, uint32_t place, void *slot);
/* Takes back the slot of frame `number`, which an earlier one needs; the frame takes one again. */
void cj2k_slots_yield(Cj2kSlots *slots, uint32_t place, uint64_t number, void *slot);
/* Destroys the slot of frame `number`, which ran out of memory in it. Returns true if there were
 * other slots, so that the frame can take one of those. */
bool cj2k_slots_drop(Cj2kSlots *slots, uint32_t place, uint64_t number, void *slot,
                     const Cj2kSlotMaker *maker);
/* Destroys all slots. None may be lent any more. */
void cj2k_slots_clear(Cj2kSlots *slots, const Cj2kSlotMaker *maker);

#endif
