/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

static uint32_t place_of(const Cj2kDecoderFrame *frame)
{
  return (uint32_t)(frame - frame->decoder->ring.frames);
}

static void *create(void *ctx, Cj2kError *error)
{
  const Cj2kDecoderFrame *frame = ctx;
  return frame->decoder->backend.functions->slot_new(frame->decoder->backend.data, error);
}

static void destroy(void *ctx, void *slot)
{
  const Cj2kDecoderFrame *frame = ctx;
  frame->decoder->backend.functions->slot_free(frame->decoder->backend.data, slot);
}

/* Finishes a later frame that has a slot, because it would keep the slot until it is received,
 * which is after this frame. Receive waits meanwhile, as for any unfinished frame. */
static bool reclaim(void *ctx)
{
  const Cj2kDecoderFrame *frame = ctx;
  Cj2kDecoder *decoder = frame->decoder;
  Cj2kDecoderFrame *later = NULL;
  for (uint32_t i = 0; i < decoder->ring.size; i++) {
    Cj2kDecoderFrame *other = &decoder->ring.frames[i];
    /* The number is compared first: receive gives the slot of an earlier frame back meanwhile. */
    if (other->state == CJ2K_FRAME_DONE && other->number > frame->number && other->coding.slot)
      later = other;
  }
  if (!later)
    return false;
  later->state = CJ2K_FRAME_BUSY;
  g_mutex_unlock(&decoder->lock);
  cj2k_decoder_frame_finish(later);
  g_mutex_lock(&decoder->lock);
  later->state = CJ2K_FRAME_DONE;
  g_cond_broadcast(&decoder->changed);
  return true;
}

static Cj2kSlotMaker maker(Cj2kDecoderFrame *frame)
{
  return (Cj2kSlotMaker){.ctx = frame, .create = create, .destroy = destroy, .reclaim = reclaim};
}

Cj2kDecodeSlot *cj2k_decoder_frame_take_slot(Cj2kDecoderFrame *frame)
{
  const Cj2kSlotMaker slots = maker(frame);
  frame->coding.slot =
      cj2k_slots_take(&frame->decoder->slots, place_of(frame), &slots, &frame->error);
  return frame->coding.slot;
}

void cj2k_decoder_frame_give_slot(Cj2kDecoderFrame *frame)
{
  const Cj2kDecoderBackend *backend = &frame->decoder->backend;

  if (frame->coding.slot && backend->functions->finish)
    backend->functions->finish(backend->data, frame->coding.slot);
  cj2k_slots_give(&frame->decoder->slots, place_of(frame), g_steal_pointer(&frame->coding.slot));
}

bool cj2k_decoder_frame_drop_slot(Cj2kDecoderFrame *frame)
{
  const Cj2kSlotMaker slots = maker(frame);
  return cj2k_slots_drop(&frame->decoder->slots, place_of(frame), frame->number,
                         g_steal_pointer(&frame->coding.slot), &slots);
}

void cj2k_decoder_clear_slots(Cj2kDecoder *decoder)
{
  const Cj2kSlotMaker slots = maker(&decoder->ring.frames[0]);
  cj2k_slots_clear(&decoder->slots, &slots);
}
