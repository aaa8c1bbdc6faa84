/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encoding on several devices. The steps of a frame all run on the device that transformed it. When
 * that fails, the core begins the frame anew (recover). */
#include "backend_several.h"

static const Cj2kEncodeBackend *inner; /* of the devices, the same in all calls of a process */

struct Cj2kEncodeSlot {
  Cj2kLentSlot lent;
};

/* ------------------------------------------------------------------------ open and close --- */

static void *create(void *data, Cj2kError *error)
{
  return inner->slot_new(data, error);
}

static void destroy(void *data, void *slot)
{
  inner->slot_free(data, slot);
}

Cj2kSeveral *cj2k_several_encoders_open(Cj2kDeviceSet *set, const Cj2kEncoderParams *params,
                                        Cj2kPlan *plan, Cj2kThreads *threads, Cj2kError *error)
{
  Cj2kSeveral *several = g_new0(Cj2kSeveral, 1);

  cj2k_several_init(several);
  several->slot_new = create;
  several->slot_free = destroy;
  several->close = inner->close;
  several->set_in_flight = inner->set_in_flight;
  several->memory = inner->memory;
  for (uint32_t i = 0; i < set->count; i++) {
    Cj2kEncoderParams own = *params;
    own.cuda_device = set->ordinals[i];
    own.cuda_context = set->ordinals[i] == params->cuda_device ? params->cuda_context : NULL;
    own.frames_in_flight = cj2k_several_share(params->frames_in_flight, set->count);
    void *data = inner->open(&own, plan, threads, error);
    if (data)
      cj2k_several_add(several, set->ordinals[i], data);
    else if (!set->all)
      break;
  }
  return cj2k_several_opened(several, set, params->frames_in_flight);
}

/* -------------------------------------------------------------------------------- slots --- */

static Cj2kEncodeSlot *slot_new(void *data, Cj2kError *error)
{
  return cj2k_several_reserve(data, error) == CJ2K_OK ? g_new0(Cj2kEncodeSlot, 1) : NULL;
}

static void slot_free(void *data, Cj2kEncodeSlot *slot)
{
  if (!slot)
    return;
  cj2k_several_discard(data, &slot->lent);
  g_free(slot);
}

static void finish(void *data, Cj2kEncodeSlot *slot)
{
  if (slot->lent.slot && inner->finish)
    inner->finish(slot->lent.device->data, slot->lent.slot);
  cj2k_several_give(data, &slot->lent);
}

static bool recover(void *data, Cj2kEncodeSlot *slot)
{
  return cj2k_several_lose(data, &slot->lent);
}

/* -------------------------------------------------------------------------------- steps --- */

static Cj2kStatus transform(void *data, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                            Cj2kError *error)
{
  Cj2kStatus status = CJ2K_OK;

  if (!slot->lent.slot)
    status = cj2k_several_take(data, job->picture, &slot->lent, error);
  if (status != CJ2K_OK)
    return status;
  return inner->transform(slot->lent.device->data, slot->lent.slot, job, error);
}

static Cj2kStatus measure(void *data, Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                          Cj2kError *error)
{
  (void)data;
  return inner->measure(slot->lent.device->data, slot->lent.slot, job, error);
}

static Cj2kStatus code(void *data, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, Cj2kError *error)
{
  (void)data;
  return inner->code(slot->lent.device->data, slot->lent.slot, job, error);
}

static Cj2kStatus gather(void *data, Cj2kEncodeSlot *slot, const Cj2kGatherJob *job,
                         Cj2kError *error)
{
  (void)data;
  return inner->gather(slot->lent.device->data, slot->lent.slot, job, error);
}

static Cj2kStatus place(void *data, Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, Cj2kError *error)
{
  (void)data;
  return inner->place(slot->lent.device->data, slot->lent.slot, job, error);
}

static Cj2kStatus wait_done(void *data, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                            Cj2kError *error)
{
  (void)data;
  return inner->wait(slot->lent.device->data, slot->lent.slot, result, error);
}

const Cj2kEncodeBackend *cj2k_several_encode_backend(const Cj2kEncodeBackend *functions)
{
  static Cj2kEncodeBackend backend = {.name = "several",
                                      .close = cj2k_several_close,
                                      .slot_new = slot_new,
                                      .slot_free = slot_free,
                                      .transform = transform,
                                      .measure = measure,
                                      .code = code,
                                      .wait = wait_done,
                                      .finish = finish,
                                      .recover = recover,
                                      .lost = cj2k_several_num_lost,
                                      .set_in_flight = cj2k_several_set_in_flight};
  static gsize made;

  if (g_once_init_enter(&made)) {
    inner = functions;
    backend.converts_hlg = inner->converts_hlg;
    backend.gather = inner->gather ? gather : NULL;
    backend.place = inner->place ? place : NULL;
    if (inner->memory.alloc)
      backend.memory = (Cj2kBackendMemory){.alloc = cj2k_several_alloc, .free = cj2k_several_free};
    if (inner->memory.pin) {
      backend.memory.pin = cj2k_several_pin;
      backend.memory.unpin = cj2k_several_unpin;
    }
    g_once_init_leave(&made, 1);
  }
  return &backend;
}
