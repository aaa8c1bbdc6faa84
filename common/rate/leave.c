/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leave.h"

bool cj2k_may_leave(const Cj2kRateFrame *frame)
{
  return frame->may_leave && frame->encoder->layers.count == 1 &&
         frame->target.ceilings.component == UINT64_MAX;
}

bool cj2k_can_leave(const Cj2kRateFrame *frame)
{
  return frame->coder.makes_packets && cj2k_may_leave(frame);
}

bool cj2k_leave_ahead(Cj2kRateFrame *frame, uint64_t size, Cj2kPacketSteps *packets,
                      Cj2kPlaceJob *place)
{
  const Cj2kPlaceTarget *target = &frame->coder.target;

  if (!target->out || size > target->size || !cj2k_may_leave(frame) || frame->regions.count ||
      frame->target.average.rate)
    return false;
  *place = (Cj2kPlaceJob){
      .packets = packets, .out = target->out, .pinned = target->pinned, .size = size};
  return cj2k_codestream_list_steps(frame->layout.writer, frame->steps.components, packets);
}

bool cj2k_leave_finish(Cj2kRateFrame *frame)
{
  const Cj2kFrameLayout *layout = &frame->layout;
  uint64_t total = layout->size.total;

  if (layout->expected.to_backend || !layout->sized)
    return true;
  bool left = layout->as_listed && cj2k_can_leave(frame);
  frame->layout.expected = (Cj2kExpectedSize){.to_backend = left, .least = total, .most = total};
  return left;
}

void cj2k_leave_cut(Cj2kRateFrame *frame, uint64_t least)
{
  frame->coder.cut = true;
  frame->layout.expected =
      (Cj2kExpectedSize){.to_backend = true, .least = least, .most = frame->target.ceilings.frame};
}
