/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/runtime/error.h"
#include "common/shared/mq_blocks.h"

/* Shared memory of a warp, at most, so that a multiprocessor has room for several. */
#define WARP_BYTES (24u * 1024)

/* ------------------------------------------------------------------------------- warps --- */

/*
 * The more blocks a warp decodes at once, the longer a symbol of each takes, because all go through
 * what any of them needs, but the fewer instructions are issued. Nanoseconds (on an H200) and
 * instructions for a symbol, by the binary logarithm of their number.
 */
#define MAX_LOG_LANES 5
static const struct {
  uint32_t time, instructions;
} symbol[MAX_LOG_LANES + 1] = {{117, 76},  {200, 106}, {260, 131},
                               {310, 154}, {370, 174}, {420, 189}};

/* Instructions that a multiprocessor issues in a nanosecond. */
#define ISSUED 5

typedef struct {
  const Cj2kDecodeSlot *slot;
  const Cj2kCodedFrame *coded;
  const uint32_t *list; /* blocks, those with most work first */
  uint32_t count;
  uint32_t most;   /* logarithm of the number of blocks of a warp, at most */
  uint32_t *warps; /* out: first in the list */
  uint32_t num_warps;
  uint32_t lanes; /* logarithm, of the last warp */
} Warps;

/* What it takes to decode blocks follows from this, wrong by some 5 %, at any rate: a byte as much
 * as 72 samples of a pass. Raw bits are quick; then it is the bytes of ten passes that count, were
 * all passes alike. */
uint32_t cj2k_cuda_decode_mq_work(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  uint32_t block)
{
  const Cj2kCodedBlock *b = &coded->blocks[block];
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t passes = b->num_passes, length = MIN(b->length, 1u << 24);
  if (passes > 10 && (plan->bands[plan->blocks[block].band].block_style & CJ2K_STYLE_BYPASS))
    length = length * 10 / passes;
  return length + slot->tables.octets[block] * 32u * passes / 72u;
}

static uint64_t work_of(const Warps *plan, uint32_t n)
{
  return cj2k_cuda_decode_mq_work(plan->slot, plan->coded, plan->list[n]);
}

/* Each warp gets as many blocks as let it be ready by `time`, if any do. Returns what all together
 * issue. */
static uint64_t plan_warps(Warps *plan, uint64_t time)
{
  uint64_t issued = 0;
  plan->lanes = plan->num_warps = 0;
  for (uint32_t n = 0; n < plan->count; n += 1u << plan->lanes) {
    uint64_t work = work_of(plan, n);
    while (plan->lanes < plan->most && work * symbol[plan->lanes + 1].time <= time)
      plan->lanes++;
    plan->warps[plan->num_warps++] = n;
    issued += work * symbol[plan->lanes].instructions;
  }
  plan->warps[plan->num_warps] = plan->count;
  return issued;
}

/* The frame is to be ready when its longest block is, alone in a warp, if the GPU gets through all
 * that is in flight by then; half of that is before this stage or after it. One frame of large
 * blocks, of which few warps have room, shall not use more than half the GPU's time. */
static void choose_warps(Warps *plan)
{
  uint64_t time = work_of(plan, 0) * symbol[0].time;
  uint64_t frames = MAX((plan->slot->backend->frames_in_flight + 1) / 2,
                        plan->slot->tables.mq_octets > 32 ? 2u : 1u);
  uint64_t rate = (uint64_t)ISSUED * plan->slot->backend->multiprocessors;
  while (plan_warps(plan, time) * frames > rate * time &&
         plan->num_warps > (plan->count >> plan->most) + 1)
    time += time / 8 + 1;
}

/* ------------------------------------------------------------------------------ memory --- */

/* Words of a block: two of state, signs and the bit-planes that have passes; even, since the first
 * two are read at once. */
static uint32_t plane_words(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t i)
{
  return ((4 + cj2k_pass_depth(coded->blocks[i].num_passes - 1u)) * slot->tables.octets[i] + 1) &
         ~1u;
}

Cj2kStatus cj2k_cuda_decode_place_mq(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                     Cj2kCudaDecodeBlocks *frame, Cj2kError *error)
{
  uint8_t *upload = slot->upload.h_records.data;
  const uint32_t *mq = (const uint32_t *)(upload + slot->upload.parts.mq);
  uint32_t *offsets = (uint32_t *)(upload + slot->upload.parts.mq_offsets);
  if (frame->num_mq == 0)
    return CJ2K_OK;
  frame->mq_octets = slot->tables.mq_octets;
  frame->mq_words = CJ2K_CUDA_MQ_WORDS(slot->tables.mq_octets);
  uint32_t most = MAX_LOG_LANES;
  while (most > 2 && ((uint64_t)frame->mq_words * sizeof(uint32_t) << most) > WARP_BYTES)
    most--;
  Warps plan = {.slot = slot,
                .coded = coded,
                .list = mq,
                .count = frame->num_mq,
                .most = most,
                .warps = (uint32_t *)(upload + slot->upload.parts.mq_warps)};
  choose_warps(&plan);
  frame->num_mq_warps = plan.num_warps;
  frame->mq_lanes = MAX(1u << plan.lanes, 4);

  frame->mq_plane_words = 0;
  for (uint32_t n = 0; n < frame->num_mq; n++) {
    offsets[n] = (uint32_t)frame->mq_plane_words;
    frame->mq_plane_words += plane_words(slot, coded, mq[n]);
  }
  if (frame->mq_plane_words > UINT32_MAX) /* more than the offsets can say */
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: bit-planes of more than 16 GiB");
  uint32_t passes = (frame->num_mq + 1) & ~1u;
  size_t size = (passes + frame->mq_plane_words) * sizeof(uint32_t);
  cudaError_t result = cj2k_cuda_reserve_more(&slot->upload.mq_planes, size);
  frame->mq_passes = slot->upload.mq_planes.data;
  frame->mq_planes = frame->mq_passes + passes;
  return cj2k_cuda_check(result, "memory for bit-planes", error);
}
