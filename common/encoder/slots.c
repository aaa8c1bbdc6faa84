/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

static uint32_t place_of(const Cj2kEncoderFrame *frame)
{
  return (uint32_t)(frame - frame->encoder->ring.frames);
}

static void *create(void *ctx, Cj2kError *error)
{
  const Cj2kEncoder *encoder = ctx;
  return encoder->backend.functions->slot_new(encoder->backend.data, error);
}

static void destroy(void *ctx, void *slot)
{
  const Cj2kEncoder *encoder = ctx;
  encoder->backend.functions->slot_free(encoder->backend.data, slot);
}

static Cj2kSlotMaker maker(Cj2kEncoder *encoder)
{
  return (Cj2kSlotMaker){.ctx = encoder, .create = create, .destroy = destroy};
}

Cj2kStatus cj2k_encoder_make_slots(Cj2kEncoder *encoder, Cj2kError *error)
{
  const Cj2kSlotMaker slots = maker(encoder);

  cj2k_slots_init(&encoder->slots, &encoder->lock, &encoder->changed,
                  encoder->setup.params.frames_in_flight);
  return cj2k_slots_fill(&encoder->slots, &slots, error);
}

void cj2k_encoder_clear_slots(Cj2kEncoder *encoder)
{
  const Cj2kSlotMaker slots = maker(encoder);
  cj2k_slots_clear(&encoder->slots, &slots);
}

bool cj2k_encoder_frame_take_slot(Cj2kEncoderFrame *frame)
{
  const Cj2kSlotMaker slots = maker(frame->encoder);
  frame->slot = cj2k_slots_take(&frame->encoder->slots, place_of(frame), &slots, &frame->error);
  return frame->slot != NULL;
}

void cj2k_encoder_frame_give_slot(Cj2kEncoderFrame *frame)
{
  cj2k_slots_give(&frame->encoder->slots, place_of(frame), g_steal_pointer(&frame->slot));
}

bool cj2k_encoder_frame_drop_slot(Cj2kEncoderFrame *frame)
{
  const Cj2kSlotMaker slots = maker(frame->encoder);
  return cj2k_slots_drop(&frame->encoder->slots, place_of(frame), frame->rate.number,
                         g_steal_pointer(&frame->slot), &slots);
}
