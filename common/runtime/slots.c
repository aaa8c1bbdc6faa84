/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slots.h"

#include "error.h"

void cj2k_slots_init(Cj2kSlots *slots, GMutex *lock, GCond *changed, uint32_t wanted)
{
  *slots = (Cj2kSlots){.lock = lock, .changed = changed, .wanted = wanted, .allowed = wanted};
}

void cj2k_slots_announce(Cj2kSlots *slots, uint32_t place, uint64_t number)
{
  slots->waiting[place] = number;
}

/* If slots are scarce, only the oldest frame without a slot may take one. */
static bool is_turn(const Cj2kSlots *slots, uint32_t place)
{
  if (slots->allowed >= slots->wanted)
    return true;
  for (uint32_t i = 0; i < slots->wanted; i++)
    if (slots->waiting[i] && slots->waiting[i] < slots->waiting[place])
      return false;
  return true;
}

/* Finds an existing free slot, preferably the one of this place. Returns -1 if there is none. */
static int find_free(const Cj2kSlots *slots, uint32_t place)
{
  for (uint32_t k = 0; k < slots->wanted; k++) {
    uint32_t i = (place + k) % slots->wanted;
    if (slots->slots[i] && !slots->busy[i])
      return (int)i;
  }
  return -1;
}

static int find_empty(const Cj2kSlots *slots, uint32_t place)
{
  for (uint32_t k = 0;; k++)
    if (!slots->slots[(place + k) % slots->wanted])
      return (int)((place + k) % slots->wanted);
}

/* Creates a slot, preferably for this place. Returns -1 on failure and fills *error, except if
 * memory ran out while other slots exist: then those are all that is allowed from now on. */
static int create_slot(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                       Cj2kError *error)
{
  int found = -1;
  void *slot = maker->create(maker->ctx, error);
  if (slot) {
    found = find_empty(slots, place);
    slots->slots[found] = slot;
    slots->alive++;
  } else if (slots->alive && error->code == CJ2K_ERROR_MEMORY) {
    slots->allowed = slots->alive;
    cj2k_error_clear(error);
  } else if (!error->code) {
    cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for a frame");
  }
  return found;
}

Cj2kStatus cj2k_slots_fill(Cj2kSlots *slots, const Cj2kSlotMaker *maker, Cj2kError *error)
{
  Cj2kError own;
  error = error ? error : &own;
  cj2k_error_clear(error);
  g_mutex_lock(slots->lock);
  while (slots->alive < slots->allowed && !error->code)
    create_slot(slots, slots->alive, maker, error);
  g_mutex_unlock(slots->lock);
  return error->code;
}

/* Returns -1 without an error if the frame has to wait for a slot. */
static int find_or_make(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                        Cj2kError *error)
{
  bool own = slots->slots[place] && !slots->busy[place], more = slots->alive < slots->allowed;
  int found = own || !more ? find_free(slots, place) : -1;
  return found < 0 && more ? create_slot(slots, place, maker, error) : found;
}

void *cj2k_slots_take(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                      Cj2kError *error)
{
  int found = -1;
  cj2k_error_clear(error);
  g_mutex_lock(slots->lock);
  while (found < 0 && !error->code) {
    bool turn = is_turn(slots, place);
    uint32_t allowed = slots->allowed;
    if (turn)
      found = find_or_make(slots, place, maker, error);
    if (found >= 0 || error->code || allowed != slots->allowed)
      continue;
    if (!turn || !maker->reclaim || !maker->reclaim(maker->ctx))
      g_cond_wait(slots->changed, slots->lock);
  }
  if (found >= 0) {
    slots->busy[found] = true;
    slots->was_only[found] = slots->allowed == 1;
  }
  slots->waiting[place] = 0;
  g_cond_broadcast(slots->changed);
  g_mutex_unlock(slots->lock);
  return found >= 0 ? slots->slots[found] : NULL;
}

void cj2k_slots_yield(Cj2kSlots *slots, uint32_t place, uint64_t number, void *slot)
{
  g_mutex_lock(slots->lock);
  for (uint32_t i = 0; slot && i < slots->wanted; i++)
    if (slots->slots[i] == slot)
      slots->busy[i] = false;
  slots->waiting[place] = number;
  g_cond_broadcast(slots->changed);
  g_mutex_unlock(slots->lock);
}

void cj2k_slots_give(Cj2kSlots *slots, uint32_t place, void *slot)
{
  cj2k_slots_yield(slots, place, 0, slot);
}

bool cj2k_slots_drop(Cj2kSlots *slots, uint32_t place, uint64_t number, void *slot,
                     const Cj2kSlotMaker *maker)
{
  bool others = false;
  g_mutex_lock(slots->lock);
  maker->destroy(maker->ctx, slot);
  for (uint32_t i = 0; i < slots->wanted; i++) {
    if (slots->slots[i] != slot)
      continue;
    others = !slots->was_only[i];
    slots->slots[i] = NULL;
    slots->busy[i] = false;
    slots->alive--;
    slots->allowed = MAX(slots->alive, 1);
    break;
  }
  slots->waiting[place] = others ? number : 0;
  g_cond_broadcast(slots->changed);
  g_mutex_unlock(slots->lock);
  return others;
}

void cj2k_slots_clear(Cj2kSlots *slots, const Cj2kSlotMaker *maker)
{
  for (uint32_t i = 0; i < slots->wanted; i++)
    if (slots->slots[i])
      maker->destroy(maker->ctx, slots->slots[i]);
}
