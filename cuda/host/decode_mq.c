/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/backend.h"
#include "common/runtime/error.h"
#include "common/shared/mq_blocks.h"

/* Largest shared memory of a warp, so that a multiprocessor holds several warps. */
#define WARP_BYTES (24u * 1024)

/* ------------------------------------------------------------------------------- warps --- */

/*
 * The more blocks a warp decodes at once, the longer a symbol of each takes, because all lanes go
 * through the steps that any of them needs, but the fewer instructions are issued in total. Time
 * (nanoseconds on an H200) and instructions for a symbol, by the binary logarithm of the number of
 * blocks. They were measured with an earlier decoder; with those of the present one warps are
 * filled more, which is slower (docs/measurements.md).
 */
#define MAX_LOG_LANES 5
static const struct {
  uint32_t time, instructions;
} symbol[MAX_LOG_LANES + 1] = {{117, 76},  {200, 106}, {260, 131},
                               {310, 154}, {370, 174}, {420, 189}};

/* Instructions that a multiprocessor issues in a nanosecond. */
#define ISSUE_RATE 5

typedef struct {
  const Cj2kDecodeSlot *slot;
  const uint32_t *work; /* of the group's blocks; most first */
  uint32_t count;
  uint32_t max_lanes; /* largest number of blocks of a warp, as a binary logarithm */
  uint32_t *warps;    /* output, by warp: its first block in the list */
  uint32_t num_warps;
  uint32_t lanes; /* number of blocks of the last warp, as a binary logarithm */
} Warps;

/* The number of raw magnitude refinement passes, which another kernel decodes. */
static uint32_t raw_planes(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t block)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint8_t style = plan->bands[plan->blocks[block].band].block_style;

  return style & CJ2K_STYLE_BYPASS ? CJ2K_CUDA_MQ_RAW_PLANES(coded->blocks[block].num_passes) : 0;
}

/* Estimated work, with an error of about 5 % at any rate: one byte equals 72 samples of a pass.
 * With raw passes that error is about 8 %: bytes count as if all passes had the same length and
 * only eight were read, and one of them equals 50 samples of a pass. */
static uint32_t work_of(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t block,
                        uint32_t raw)
{
  const Cj2kCodedBlock *b = &coded->blocks[block];
  uint32_t length = MIN(b->length, 1u << 24);
  uint32_t samples = slot->tables.octets[block] * 32u;

  if (!raw)
    return length + samples * b->num_passes / 72u;
  return length * 8 / b->num_passes + samples * (b->num_passes - raw) / 50u;
}

uint32_t cj2k_cuda_decode_mq_work(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  uint32_t block)
{
  return work_of(slot, coded, block, raw_planes(slot, coded, block));
}

/* Are there more warps than if all were full? */
static bool can_be_fewer(const Warps *plan)
{
  return plan->num_warps > (plan->count >> plan->max_lanes) + 1;
}

/* Gives each warp as many blocks as it can finish within `time`, at least one. Returns the number
 * of instructions that all warps issue; once it is above `limit` and there are more warps than full
 * ones would be, it stops. */
static uint64_t plan_warps(Warps *plan, uint64_t time, uint64_t limit)
{
  uint64_t issued = 0;
  plan->lanes = plan->num_warps = 0;
  for (uint32_t n = 0; n < plan->count; n += 1u << plan->lanes) {
    uint64_t work = plan->work[n];
    while (plan->lanes < plan->max_lanes && work * symbol[plan->lanes + 1].time <= time)
      plan->lanes++;
    plan->warps[plan->num_warps++] = n;
    issued += work * symbol[plan->lanes].instructions;
    if (issued > limit && can_be_fewer(plan))
      break;
  }
  plan->warps[plan->num_warps] = plan->count;
  return issued;
}

static bool has_large(const Cj2kDecodeSlot *slot)
{
  return slot->tables.mq_octets > CJ2K_CUDA_MQ_SMALL;
}

/* Has shared memory a window of each block, if warps have up to so many blocks? */
static bool has_window(const Cj2kDecodeSlot *slot, uint32_t log_lanes)
{
  return CJ2K_CUDA_MQ_HAS_WINDOW(slot->tables.mq_octets, 1u << log_lanes);
}

/* Words of a block's state in shared memory, if warps have up to so many blocks. */
static uint32_t words_of_block(const Cj2kDecodeSlot *slot, uint32_t log_lanes)
{
  uint32_t octets = slot->tables.mq_octets;
  return CJ2K_CUDA_MQ_WORDS(octets, has_window(slot, log_lanes) ? slot->tables.mq_window : octets);
}

/* The frames in flight that are counted: half of them, because the others are before or after this
 * stage. Large blocks take so long that most are in it, or all without a window. And one frame of
 * them shall not use more than half of the GPU's time, because few of their warps fit on a
 * multiprocessor. */
static uint32_t count_frames(const Warps *plan)
{
  uint32_t in_flight = plan->slot->backend->frames_in_flight;
  if (!has_large(plan->slot))
    return (in_flight + 1) / 2;
  return MAX(has_window(plan->slot, plan->max_lanes) ? in_flight * 3 / 4 : in_flight, 2);
}

/* Fills warps as full as still lets the longest block, alone in a warp, finish last. If the GPU
 * cannot do all frames that are counted in that time, warps are filled more. Returns the time that
 * these frames take. */
static uint64_t choose_warps(Warps *plan)
{
  uint64_t time = (uint64_t)plan->work[0] * symbol[0].time, frames = count_frames(plan), issued;
  uint64_t rate = (uint64_t)ISSUE_RATE * plan->slot->backend->multiprocessors;
  while ((issued = plan_warps(plan, time, rate * time / frames)) > rate * time / frames &&
         can_be_fewer(plan))
    time += time / 8 + 1;
  return MAX(time, issued * frames / rate);
}

/* The same with up to so many blocks in a warp, or fewer if shared memory is too small for them. */
static uint64_t choose_warps_up_to(Warps *plan, uint32_t log_lanes)
{
  while (log_lanes > 2 &&
         (words_of_block(plan->slot, log_lanes) * sizeof(uint32_t) << log_lanes) > WARP_BYTES)
    log_lanes--;
  plan->max_lanes = log_lanes;
  return choose_warps(plan);
}

/* Without a window large blocks are decoded faster, in warps that are half full at most. A window
 * is used if such warps would take more than 4/3 of the time of those with a window. */
static void choose_warps_of_large(Warps *plan)
{
  if (cj2k_backend_test.full_warps) {
    plan->max_lanes = MAX_LOG_LANES;
    plan_warps(plan, UINT64_MAX, UINT64_MAX);
    return;
  }
  uint64_t longest = (uint64_t)plan->work[0] * symbol[0].time;
  uint64_t without = choose_warps_up_to(plan, MAX_LOG_LANES - 1);
  if (without > longest && choose_warps_up_to(plan, MAX_LOG_LANES) * 4 / 3 > without)
    choose_warps_up_to(plan, MAX_LOG_LANES - 1);
}

/* ------------------------------------------------------------------------------ memory --- */

/* Sets the work of the group's blocks, and the places of their bit-planes. Both follow from records
 * all over the frame, which are therefore visited once. */
static void list_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, const uint32_t *numbers,
                        Cj2kCudaDecodeBlocks *frame)
{
  const uint32_t *list = cj2k_cuda_decode_host_record(slot, frame->mq.order);
  uint32_t *offsets = cj2k_cuda_decode_host_record(slot, frame->mq.offsets);

  for (uint32_t n = 0; n < frame->mq.count; n++) {
    uint32_t number = numbers ? numbers[list[n]] : list[n];
    uint32_t raw = raw_planes(slot, coded, number);
    slot->tables.work[n] = work_of(slot, coded, number, raw);
    offsets[n] = (uint32_t)frame->mq.plane_words;
    frame->mq.plane_words +=
        CJ2K_CUDA_MQ_PLANE_WORDS(slot->tables.octets[number], coded->blocks[number].num_passes,
                                 has_large(slot)) +
        raw * (sizeof(Cj2kCudaRawBits) / sizeof(uint32_t));
    frame->mq.raw_planes = MAX(frame->mq.raw_planes, raw);
  }
}

Cj2kStatus cj2k_cuda_decode_place_mq(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                     const uint32_t *numbers, Cj2kCudaDecodeBlocks *frame,
                                     Cj2kError *error)
{
  if (frame->mq.count == 0)
    return CJ2K_OK;
  list_blocks(slot, coded, numbers, frame);
  Warps plan = {.slot = slot,
                .work = slot->tables.work,
                .count = frame->mq.count,
                .warps = cj2k_cuda_decode_host_record(slot, frame->mq.warps)};
  if (has_large(slot))
    choose_warps_of_large(&plan);
  else
    choose_warps_up_to(&plan, MAX_LOG_LANES);
  frame->mq.num_warps = plan.num_warps;
  frame->mq.lanes = MAX(1u << plan.lanes, 4);
  frame->mq.max_octets = slot->tables.mq_octets;
  frame->mq.words = words_of_block(slot, plan.lanes);
  if (frame->mq.plane_words > UINT32_MAX) /* offsets have 32 bits */
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: bit-planes of more than 16 GiB");
  return CJ2K_OK;
}

/* Words of the decoded passes of a group; a multiple of four, for the alignment of what follows. */
static uint32_t pass_words(const Cj2kCudaDecodeBlocks *frame)
{
  return (frame->mq.count + 3) & ~3u;
}

Cj2kStatus cj2k_cuda_decode_reserve_mq(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frames,
                                       uint32_t count, Cj2kError *error)
{
  uint64_t words = 0;
  for (uint32_t g = 0; g < count; g++)
    words += frames[g].mq.count ? pass_words(&frames[g]) + frames[g].mq.plane_words : 0;
  if (!words)
    return CJ2K_OK;
  cudaError_t result = cudaSuccess;
  uint32_t *next = cj2k_cuda_decode_workspace(slot, words * sizeof(uint32_t));
  if (!next) {
    result = cj2k_cuda_reserve_more(&slot->backend->device, &slot->upload.mq_planes,
                                    words * sizeof(uint32_t));
    next = slot->upload.mq_planes.data;
  }
  for (uint32_t g = 0; g < count && result == cudaSuccess; g++) {
    frames[g].mq.passes = next;
    frames[g].mq.planes = next + pass_words(&frames[g]);
    next = frames[g].mq.planes + frames[g].mq.plane_words;
  }
  return cj2k_cuda_check(&slot->backend->device, result, "memory for bit-planes", error);
}
