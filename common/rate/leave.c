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

bool cj2k_leave_finish(Cj2kRateFrame *frame)
{
  const Cj2kFrameLayout *layout = &frame->layout;
  uint64_t total = layout->size.total;

  if (layout->expected.left || !layout->sized)
    return true;
  bool left = layout->as_listed && cj2k_can_leave(frame);
  frame->layout.expected = (Cj2kExpectedSize){.left = left, .least = total, .most = total};
  return left;
}
