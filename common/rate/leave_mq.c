/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leave_mq.h"

#include "fit.h"
#include "leave.h"

bool cj2k_mq_counts_headers(const Cj2kRateFrame *frame)
{
  return frame->encoder->layers.count == 1;
}

uint64_t cj2k_mq_empty_bytes(const Cj2kRateFrame *frame)
{
  const Cj2kLeastBytes *least = &frame->encoder->least;

  return least->frame - least->main_header +
         cj2k_codestream_main_header_size(frame->layout.writer, frame->steps.components);
}

bool cj2k_mq_foresee(Cj2kRateFrame *frame, uint64_t header_bytes, Cj2kPacketSteps *packets,
                     Cj2kAheadJob *job)
{
  const Cj2kFitTask task = {.ceilings = &frame->target.ceilings};
  uint64_t budget = frame->target.ceilings.frame;

  *job = (Cj2kAheadJob){.budget = budget, .header_bytes = header_bytes};
  if (!header_bytes || !cj2k_mq_counts_headers(frame) || !cj2k_fit_margin(&task, &job->margin) ||
      !cj2k_leave_ahead(frame, budget, packets, &job->place))
    return false;
  job->least = cj2k_fit_least(&task);
  job->empty_bytes = cj2k_mq_empty_bytes(frame);
  job->place.cut = true;
  return true;
}
