/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoding on several devices. A frame on a device that fails begins anew on another one, with the
 * same codestream and picture. */
#include "backend_several.h"

#include "common/runtime/error.h"

static const Cj2kDecodeBackend *inner; /* of the devices, the same in all calls of a process */

struct Cj2kDecodeSlot {
  Cj2kLentSlot lent;
  Cj2kDecodeJob job;    /* of the frame that was started */
  bool redone;          /* a device has failed with it */
  Cj2kError why_redone; /* with redone: the error of that device */
};

static void *slot_of(const Cj2kDecodeSlot *slot)
{
  return slot->lent.device->data;
}

/* ------------------------------------------------------------------------ open and close --- */

static void *create(void *data, Cj2kError *error)
{
  return inner->slot_new(data, error);
}

static void destroy(void *data, void *slot)
{
  inner->slot_free(data, slot);
}

Cj2kSeveral *cj2k_several_decoders_open(Cj2kDeviceSet *set, const Cj2kDecoderParams *params,
                                        Cj2kThreads *threads, Cj2kError *error)
{
  Cj2kSeveral *several = g_new0(Cj2kSeveral, 1);

  cj2k_several_init(several);
  several->slot_new = create;
  several->slot_free = destroy;
  several->close = inner->close;
  several->set_in_flight = inner->set_in_flight;
  several->memory = inner->memory;
  for (uint32_t i = 0; i < set->count; i++) {
    Cj2kDecoderParams own = *params;
    own.cuda_device = set->ordinals[i];
    own.cuda_context = set->ordinals[i] == params->cuda_device ? params->cuda_context : NULL;
    own.frames_in_flight = cj2k_several_share(params->frames_in_flight, set->count);
    void *data = inner->open(&own, threads, error);
    if (data)
      cj2k_several_add(several, set->ordinals[i], data);
    else if (!set->all)
      break;
  }
  return cj2k_several_opened(several, set, params->frames_in_flight);
}

/* -------------------------------------------------------------------------------- slots --- */

static Cj2kDecodeSlot *slot_new(void *data, Cj2kError *error)
{
  return cj2k_several_reserve(data, error) == CJ2K_OK ? g_new0(Cj2kDecodeSlot, 1) : NULL;
}

static void slot_free(void *data, Cj2kDecodeSlot *slot)
{
  if (!slot)
    return;
  cj2k_several_discard(data, &slot->lent);
  g_free(slot);
}

/* Without a slot, start() tries again and says why. */
static void prepare(void *data, Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  Cj2kError ignored = {0};
  cj2k_several_take(data, picture, &slot->lent, &ignored);
}

static void finish(void *data, Cj2kDecodeSlot *slot)
{
  cj2k_several_give(data, &slot->lent);
}

/* -------------------------------------------------------------------------------- frames --- */

static void prefetch(void *data, Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size)
{
  (void)data;
  if (slot->lent.slot && inner->prefetch)
    inner->prefetch(slot_of(slot), slot->lent.slot, codestream, size);
}

static void abandon(void *data, Cj2kDecodeSlot *slot)
{
  (void)data;
  if (slot->lent.slot && inner->abandon)
    inner->abandon(slot_of(slot), slot->lent.slot);
}

/* The device of the frame has failed: what was announced to it is taken back. */
static bool move_on(void *data, Cj2kDecodeSlot *slot, const Cj2kError *why)
{
  Cj2kLentSlot failed = slot->lent;

  if (!cj2k_several_lose(data, &slot->lent))
    return false;
  if (inner->abandon)
    inner->abandon(failed.device->data, failed.slot);
  slot->redone = true;
  slot->why_redone = *why;
  return true;
}

static Cj2kStatus begin(void *data, Cj2kDecodeSlot *slot, Cj2kError *error)
{
  Cj2kStatus status = CJ2K_OK;

  do {
    cj2k_error_clear(error);
    if (!slot->lent.slot)
      status = cj2k_several_take(data, slot->job.picture, &slot->lent, error);
    if (status == CJ2K_OK)
      status = inner->start(slot_of(slot), slot->lent.slot, &slot->job, error);
  } while (status == CJ2K_ERROR_DEVICE && move_on(data, slot, error));
  return status;
}

static Cj2kStatus start(void *data, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                        Cj2kError *error)
{
  slot->job = *job;
  slot->redone = false;
  return begin(data, slot, error);
}

static Cj2kStatus wait_frame(void *data, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                             Cj2kError *error)
{
  Cj2kStatus status = inner->wait(slot_of(slot), slot->lent.slot, result, error);

  while (status == CJ2K_ERROR_DEVICE && move_on(data, slot, error)) {
    status = begin(data, slot, error);
    if (status == CJ2K_OK)
      status = inner->wait(slot_of(slot), slot->lent.slot, result, error);
  }
  if (status == CJ2K_OK && slot->redone)
    *error = slot->why_redone;
  result->redone = slot->redone;
  return status;
}

const Cj2kDecodeBackend *cj2k_several_decode_backend(const Cj2kDecodeBackend *functions)
{
  static Cj2kDecodeBackend backend = {.name = "several",
                                      .close = cj2k_several_close,
                                      .slot_new = slot_new,
                                      .slot_free = slot_free,
                                      .prepare = prepare,
                                      .finish = finish,
                                      .lost = cj2k_several_num_lost,
                                      .set_in_flight = cj2k_several_set_in_flight,
                                      .prefetch = prefetch,
                                      .abandon = abandon,
                                      .start = start,
                                      .wait = wait_frame};
  static gsize made;

  if (g_once_init_enter(&made)) {
    inner = functions;
    if (inner->memory.alloc)
      backend.memory =
          (Cj2kBackendMemory){cj2k_several_alloc, cj2k_several_free, cj2k_several_copy, NULL};
    g_once_init_leave(&made, 1);
  }
  return &backend;
}
