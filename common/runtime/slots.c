/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slots.h"

#include "error.h"

void cj2k_slots_init(Cj2kSlots *slots, GMutex *lock, GCond *changed, uint32_t wanted)
{
  *slots = (Cj2kSlots){.lock = lock, .changed = changed, .wanted = wanted, .allowed = wanted};
}

void cj2k_slots_expect(Cj2kSlots *slots, uint32_t place, uint64_t number)
{
  slots->lacking[place] = number;
}

/* Where slots are scarce the oldest frame without one comes first. */
static bool is_turn(const Cj2kSlots *slots, uint32_t place)
{
  if (slots->allowed >= slots->wanted)
    return true;
  for (uint32_t i = 0; i < slots->wanted; i++)
    if (slots->lacking[i] && slots->lacking[i] < slots->lacking[place])
      return false;
  return true;
}

/* A slot that is there and free; first the one that the last frame in this place had. -1: none. */
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

/* Makes one more, preferably for this place. -1: not possible; with *error unless memory for it
 * was missing and others are there, which then are all that is allowed. */
static int make(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker, Cj2kError *error)
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
    make(slots, slots->alive, maker, error);
  g_mutex_unlock(slots->lock);
  return error->code;
}

/* -1 and no error: one has to be waited for. */
static int find_or_make(Cj2kSlots *slots, uint32_t place, const Cj2kSlotMaker *maker,
                        Cj2kError *error)
{
  bool own = slots->slots[place] && !slots->busy[place], more = slots->alive < slots->allowed;
  int found = own || !more ? find_free(slots, place) : -1;
  return found < 0 && more ? make(slots, place, maker, error) : found;
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
    slots->alone[found] = slots->allowed == 1;
  }
  slots->lacking[place] = 0;
  g_cond_broadcast(slots->changed);
  g_mutex_unlock(slots->lock);
  return found >= 0 ? slots->slots[found] : NULL;
}

void cj2k_slots_give(Cj2kSlots *slots, uint32_t place, void *slot)
{
  g_mutex_lock(slots->lock);
  for (uint32_t i = 0; slot && i < slots->wanted; i++)
    if (slots->slots[i] == slot)
      slots->busy[i] = false;
  slots->lacking[place] = 0;
  g_cond_broadcast(slots->changed);
  g_mutex_unlock(slots->lock);
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
    others = !slots->alone[i];
    slots->slots[i] = NULL;
    slots->busy[i] = false;
    slots->alive--;
    slots->allowed = MAX(slots->alive, 1);
    break;
  }
  slots->lacking[place] = others ? number : 0;
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
