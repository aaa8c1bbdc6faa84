/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend_several.h"

#include "common/runtime/error.h"

void cj2k_several_init(Cj2kSeveral *several)
{
  g_mutex_init(&several->lock);
}

void cj2k_several_empty(Cj2kSeveral *several)
{
  for (uint32_t i = 0; i < several->count; i++) {
    Cj2kSeveralDevice *device = &several->devices[i];
    for (guint k = 0; k < device->idle->len; k++)
      several->slot_free(device->data, device->idle->pdata[k]);
    device->slots -= device->idle->len;
    g_ptr_array_set_size(device->idle, 0);
  }
}

void cj2k_several_clear(Cj2kSeveral *several)
{
  cj2k_several_empty(several);
  for (uint32_t i = 0; i < several->count; i++)
    g_ptr_array_unref(several->devices[i].idle);
  g_mutex_clear(&several->lock);
}

void cj2k_several_add(Cj2kSeveral *several, int ordinal, void *data)
{
  several->devices[several->count++] =
      (Cj2kSeveralDevice){.ordinal = ordinal, .data = data, .idle = g_ptr_array_new()};
}

uint32_t cj2k_several_share(uint32_t frames_in_flight, uint32_t num_devices)
{
  /* A device that has more than one frame only now and then works as with two. */
  return frames_in_flight < 2 ? 1 : MAX((frames_in_flight + num_devices - 1) / num_devices, 2);
}

Cj2kSeveral *cj2k_several_opened(Cj2kSeveral *several, Cj2kDeviceSet *set,
                                 uint32_t frames_in_flight)
{
  bool left_out = several->count < set->count;

  if (!several->count || (left_out && !set->all)) {
    cj2k_several_close(several);
    return NULL;
  }
  if (left_out) /* the share of each is larger than when they were opened */
    cj2k_several_set_in_flight(several, frames_in_flight);
  set->count = several->count;
  for (uint32_t i = 0; i < set->count; i++)
    set->ordinals[i] = several->devices[i].ordinal;
  return several;
}

/* ------------------------------------------------------------------------------- choice --- */

/* A lost device keeps its memory, whose frames fail. Called with or without the lock. */
static Cj2kSeveralDevice *find_owner(Cj2kSeveral *several, const void *memory)
{
  for (uint32_t i = 0; several->memory.owns && i < several->count; i++)
    if (several->memory.owns(several->devices[i].data, memory))
      return &several->devices[i];
  return NULL;
}

/* The device that has the fewest frames in flight, or with by_slots the fewest slots. There is
 * always one, because the last device is never lost. Called with the lock held. */
static Cj2kSeveralDevice *find_least(Cj2kSeveral *several, bool by_slots)
{
  Cj2kSeveralDevice *least = NULL;

  for (uint32_t i = 0; i < several->count; i++) {
    Cj2kSeveralDevice *device = &several->devices[i];
    if (!device->lost && (!least || (by_slots ? device->slots < least->slots
                                              : device->in_flight < least->in_flight)))
      least = device;
  }
  return least;
}

/* The device whose memory this is; the one in use that has the fewest slots if there is none such.
 */
static Cj2kSeveralDevice *owner_of(Cj2kSeveral *several, const void *memory)
{
  Cj2kSeveralDevice *owner = find_owner(several, memory);

  g_mutex_lock(&several->lock);
  owner = owner ? owner : find_least(several, true);
  g_mutex_unlock(&several->lock);
  return owner;
}

/* Marks a device as lost. false: it is the last one. */
static bool lose(Cj2kSeveral *several, Cj2kSeveralDevice *device)
{
  g_mutex_lock(&several->lock);
  if (!device->lost && several->num_lost + 1 < several->count) {
    device->lost = true;
    several->num_lost++;
  }
  bool lost = device->lost;
  g_mutex_unlock(&several->lock);
  return lost;
}

uint32_t cj2k_several_num_lost(void *data)
{
  Cj2kSeveral *several = data;

  g_mutex_lock(&several->lock);
  uint32_t number = several->num_lost;
  g_mutex_unlock(&several->lock);
  return number;
}

/* -------------------------------------------------------------------------------- slots --- */

static void *create(Cj2kSeveral *several, Cj2kSeveralDevice *device, Cj2kError *error)
{
  void *slot = several->slot_new(device->data, error);

  g_mutex_lock(&several->lock);
  device->slots += slot != NULL;
  g_mutex_unlock(&several->lock);
  return slot;
}

Cj2kStatus cj2k_several_reserve(Cj2kSeveral *several, Cj2kError *error)
{
  for (;;) {
    g_mutex_lock(&several->lock);
    Cj2kSeveralDevice *device = find_least(several, true);
    g_mutex_unlock(&several->lock);
    cj2k_error_clear(error);
    void *slot = create(several, device, error);
    if (!slot && error->code == CJ2K_ERROR_DEVICE && lose(several, device))
      continue;
    if (!slot)
      return error->code ? error->code : CJ2K_ERROR_MEMORY;
    g_mutex_lock(&several->lock);
    g_ptr_array_add(device->idle, slot);
    g_mutex_unlock(&several->lock);
    return CJ2K_OK;
  }
}

Cj2kStatus cj2k_several_take(Cj2kSeveral *several, const Cj2kPicture *picture, Cj2kLentSlot *lent,
                             Cj2kError *error)
{
  bool placed = picture->memory == CJ2K_MEMORY_CUDA;
  Cj2kSeveralDevice *owner = placed ? find_owner(several, picture->planes[0].data) : NULL;

  if (placed && !owner)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "the picture lies in the memory of a GPU that is not in use");
  for (;;) {
    g_mutex_lock(&several->lock);
    Cj2kSeveralDevice *device = owner ? owner : find_least(several, false);
    bool lost = device->lost;
    if (!lost)
      device->in_flight++;
    void *slot = lost || !device->idle->len
                     ? NULL
                     : g_ptr_array_remove_index_fast(device->idle, device->idle->len - 1);
    g_mutex_unlock(&several->lock);
    if (lost)
      return cj2k_error_set(error, CJ2K_ERROR_DEVICE,
                            "the picture lies in the memory of GPU %d, which has failed",
                            device->ordinal);
    if (!slot)
      slot = create(several, device, error);
    *lent = (Cj2kLentSlot){device, slot};
    if (slot)
      return CJ2K_OK;
    g_mutex_lock(&several->lock);
    device->in_flight--;
    g_mutex_unlock(&several->lock);
    if (error->code != CJ2K_ERROR_DEVICE || !lose(several, device))
      return error->code ? error->code : CJ2K_ERROR_MEMORY;
  }
}

void cj2k_several_give(Cj2kSeveral *several, Cj2kLentSlot *lent)
{
  if (!lent->slot)
    return;
  g_mutex_lock(&several->lock);
  lent->device->in_flight--;
  g_ptr_array_add(lent->device->idle, lent->slot);
  g_mutex_unlock(&several->lock);
  lent->slot = NULL;
}

void cj2k_several_discard(Cj2kSeveral *several, Cj2kLentSlot *lent)
{
  if (!lent->slot)
    return;
  g_mutex_lock(&several->lock);
  lent->device->in_flight--;
  lent->device->slots--;
  g_mutex_unlock(&several->lock);
  several->slot_free(lent->device->data, lent->slot);
  lent->slot = NULL;
}

bool cj2k_several_lose(Cj2kSeveral *several, Cj2kLentSlot *lent)
{
  if (!lent->slot || !lose(several, lent->device))
    return false;
  cj2k_several_give(several, lent);
  return true;
}

/* ----------------------------------------------------- functions of both directions --- */

void cj2k_several_close(void *data)
{
  Cj2kSeveral *several = data;

  cj2k_several_clear(several);
  for (uint32_t i = 0; i < several->count; i++)
    several->close(several->devices[i].data);
  g_free(several);
}

void cj2k_several_set_in_flight(void *data, uint32_t frames_in_flight)
{
  Cj2kSeveral *several = data;

  cj2k_several_empty(several);
  for (uint32_t i = 0; several->set_in_flight && i < several->count; i++)
    several->set_in_flight(several->devices[i].data,
                           cj2k_several_share(frames_in_flight, several->count));
}

void *cj2k_several_alloc(void *data, Cj2kMemoryKind kind, size_t size)
{
  Cj2kSeveral *several = data;
  return several->memory.alloc(owner_of(several, NULL)->data, kind, size);
}

void cj2k_several_free(void *data, Cj2kMemoryKind kind, void *memory)
{
  Cj2kSeveral *several = data;
  several->memory.free(owner_of(several, memory)->data, kind, memory);
}

bool cj2k_several_pin(void *data, void *memory, size_t size)
{
  Cj2kSeveral *several = data;
  return several->memory.pin(several->devices[0].data, memory, size);
}

void cj2k_several_unpin(void *data, void *memory)
{
  Cj2kSeveral *several = data;
  several->memory.unpin(several->devices[0].data, memory);
}

Cj2kStatus cj2k_several_copy(void *data, void *cuda_stream, const Cj2kPlane *to,
                             const Cj2kPlane *from, size_t row_bytes, uint32_t rows,
                             Cj2kError *error)
{
  Cj2kSeveral *several = data;
  return several->memory.copy(owner_of(several, to->data)->data, cuda_stream, to, from, row_bytes,
                              rows, error);
}
