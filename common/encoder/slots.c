/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

static uint32_t place_of(const Cj2kEncoderFrame *frame)
{
  return (uint32_t)(frame - frame->encoder->ring.frames);
}

/* Who wants a slot. */
typedef struct {
  Cj2kEncoder *encoder;
  uint64_t number; /* of the frame; 0: none */
  bool asked;      /* a later frame was asked to yield */
} Owner;

static void *create(void *ctx, Cj2kError *error)
{
  const Cj2kEncoder *encoder = ((const Owner *)ctx)->encoder;
  return encoder->backend.functions->slot_new(encoder->backend.data, error);
}

static void destroy(void *ctx, void *slot)
{
  const Cj2kEncoder *encoder = ((const Owner *)ctx)->encoder;
  encoder->backend.functions->slot_free(encoder->backend.data, slot);
}

/* A frame that ran out of memory waits for a slot, while later ones have slots and may wait for
 * what rate control learns from this one: one of those has to yield. It does so later, if at all.
 */
static bool reclaim(void *ctx)
{
  Owner *owner = ctx;
  owner->asked = true;
  cj2k_rate_interrupt(&owner->encoder->rate, owner->number);
  return false;
}

static Cj2kSlotMaker maker(Owner *owner)
{
  return (Cj2kSlotMaker){.ctx = owner, .create = create, .destroy = destroy, .reclaim = reclaim};
}

Cj2kStatus cj2k_encoder_make_slots(Cj2kEncoder *encoder, Cj2kError *error)
{
  const Cj2kSlotMaker slots = maker(&(Owner){.encoder = encoder});

  g_mutex_lock(&encoder->lock); /* statistics may be read meanwhile */
  cj2k_slots_init(&encoder->slots, &encoder->lock, &encoder->changed,
                  encoder->setup.params.frames_in_flight);
  g_mutex_unlock(&encoder->lock);
  return cj2k_slots_fill(&encoder->slots, &slots, error);
}

void cj2k_encoder_clear_slots(Cj2kEncoder *encoder)
{
  const Cj2kSlotMaker slots = maker(&(Owner){.encoder = encoder});
  cj2k_slots_clear(&encoder->slots, &slots);
}

bool cj2k_encoder_frame_take_slot(Cj2kEncoderFrame *frame)
{
  Owner owner = {frame->encoder, frame->rate.number, false};
  const Cj2kSlotMaker slots = maker(&owner);
  frame->slot = cj2k_slots_take(&frame->encoder->slots, place_of(frame), &slots, &frame->error);
  if (owner.asked)
    cj2k_rate_withdraw(&frame->encoder->rate, owner.number);
  return frame->slot != NULL;
}

/* Tells the back end that the frame no longer uses its slot. */
static void finish(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderBackend *backend = &frame->encoder->backend;

  if (frame->slot && backend->functions->finish)
    backend->functions->finish(backend->data, frame->slot);
}

void cj2k_encoder_frame_give_slot(Cj2kEncoderFrame *frame)
{
  finish(frame);
  cj2k_slots_give(&frame->encoder->slots, place_of(frame), g_steal_pointer(&frame->slot));
}

void cj2k_encoder_frame_yield_slot(Cj2kEncoderFrame *frame)
{
  finish(frame);
  cj2k_slots_yield(&frame->encoder->slots, place_of(frame), frame->rate.number,
                   g_steal_pointer(&frame->slot));
}

bool cj2k_encoder_frame_drop_slot(Cj2kEncoderFrame *frame)
{
  const Cj2kSlotMaker slots = maker(&(Owner){.encoder = frame->encoder});
  return cj2k_slots_drop(&frame->encoder->slots, place_of(frame), frame->rate.number,
                         g_steal_pointer(&frame->slot), &slots);
}
