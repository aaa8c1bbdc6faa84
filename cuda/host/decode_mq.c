/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode_records.h"

#include "common/backend.h"
#include "common/runtime/error.h"

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
  const Cj2kCudaMqClass *classes; /* of the group's blocks */
  uint32_t count;                 /* of the blocks */
  uint32_t most_work;             /* of one of them */
  uint32_t max_lanes;             /* largest number of blocks of a warp, as a binary logarithm */
  /* What plan_warps() finds: by class of a warp's first block the number of its blocks, as a binary
   * logarithm, which only grows; and how many warps there are. */
  uint8_t lanes[CJ2K_CUDA_CLASSES];
  uint32_t num_warps;
} Warps;

/* Are there more warps than if all were full? */
static bool can_be_fewer(const Warps *plan)
{
  return plan->num_warps > (plan->count >> plan->max_lanes) + 1;
}

/* Gives each warp as many blocks as it can finish within `time`, at least one. Returns the number
 * of instructions that all warps issue. */
static uint64_t plan_warps(Warps *plan, uint64_t time)
{
  uint64_t issued = 0;
  uint32_t lanes = 0, next = 0;
  plan->num_warps = 0;
  for (uint32_t c = 0; c < CJ2K_CUDA_CLASSES; c++) {
    const Cj2kCudaMqClass *these = &plan->classes[c];
    if (these->end > next) {
      while (lanes < plan->max_lanes && (uint64_t)these->work * symbol[lanes + 1].time <= time)
        lanes++;
      uint32_t warps = ((these->end - next - 1) >> lanes) + 1;
      issued += (uint64_t)these->work * symbol[lanes].instructions * warps;
      plan->num_warps += warps;
      next += warps << lanes;
    }
    plan->lanes[c] = (uint8_t)lanes;
  }
  return issued;
}

/* Writes, by warp, its first block in the list, and behind that the number of blocks. */
static void list_warps(const Warps *plan, uint32_t *first)
{
  uint32_t next = 0;
  for (uint32_t c = 0; c < CJ2K_CUDA_CLASSES; c++)
    for (; next < plan->classes[c].end; next += 1u << plan->lanes[c])
      *first++ = next;
  *first = plan->count;
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
  if (!cj2k_cuda_decode_has_large(plan->slot))
    return (in_flight + 1) / 2;
  return MAX(has_window(plan->slot, plan->max_lanes) ? in_flight * 3 / 4 : in_flight, 2);
}

/* Fills warps as full as still lets the longest block, alone in a warp, finish last. If the GPU
 * cannot do all frames that are counted in that time, warps are filled more. Returns the time that
 * these frames take. */
static uint64_t choose_warps(Warps *plan)
{
  uint64_t time = (uint64_t)plan->most_work * symbol[0].time, frames = count_frames(plan), issued;
  uint64_t rate = (uint64_t)ISSUE_RATE * plan->slot->backend->multiprocessors;
  while ((issued = plan_warps(plan, time)) > rate * time / frames && can_be_fewer(plan))
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
    plan_warps(plan, UINT64_MAX);
    return;
  }
  uint64_t longest = (uint64_t)plan->most_work * symbol[0].time;
  uint64_t without = choose_warps_up_to(plan, MAX_LOG_LANES - 1);
  if (without > longest && choose_warps_up_to(plan, MAX_LOG_LANES) * 4 / 3 > without)
    choose_warps_up_to(plan, MAX_LOG_LANES - 1);
}

void cj2k_cuda_decode_set_warps(const Cj2kDecodeSlot *slot,
                                const Cj2kCudaMqClass classes[CJ2K_CUDA_CLASSES],
                                uint32_t most_work, Cj2kCudaDecodeBlocks *frame)
{
  Warps plan = {.slot = slot, .classes = classes, .count = frame->mq.count, .most_work = most_work};
  if (cj2k_cuda_decode_has_large(slot))
    choose_warps_of_large(&plan);
  else
    choose_warps_up_to(&plan, MAX_LOG_LANES);
  list_warps(&plan, cj2k_cuda_decode_host_record(slot, frame->mq.warps));
  uint32_t lanes = plan.lanes[CJ2K_CUDA_CLASSES - 1];
  frame->mq.num_warps = plan.num_warps;
  frame->mq.lanes = MAX(1u << lanes, 4);
  frame->mq.max_octets = slot->tables.mq_octets;
  frame->mq.words = words_of_block(slot, lanes);
}

/* ------------------------------------------------------------------------------ memory --- */

/* Words of the decoded passes of a group; a multiple of four, for the alignment of what follows. */
static uint32_t pass_words(const Cj2kCudaDecodeBlocks *frame)
{
  return (frame->mq.count + 3) & ~3u;
}

Cj2kStatus cj2k_cuda_decode_reserve_mq(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frames,
                                       uint32_t count, Cj2kError *error)
{
  uint64_t words = 0;
  for (uint32_t g = 0; g < count; g++) {
    if (frames[g].mq.plane_words > UINT32_MAX) /* offsets have 32 bits */
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: bit-planes of more than 16 GiB");
    words += frames[g].mq.count ? pass_words(&frames[g]) + frames[g].mq.plane_words : 0;
  }
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
