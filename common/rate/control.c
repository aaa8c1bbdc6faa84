/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control.h"

#include "control_ht.h"
#include "control_mq.h"

Cj2kStatus cj2k_rate_control(Cj2kRateFrame *frame, Cj2kError *error)
{
  const Cj2kExpectedSize *expected = &frame->layout.expected;

  frame->error = error;
  cj2k_rate_begin(frame);
  Cj2kStatus status = cj2k_coder_check(&frame->coder, error);
  if (status == CJ2K_OK)
    status = cj2k_ceilings_check(&frame->target.ceilings, &frame->encoder->least, error);
  if (status == CJ2K_OK)
    status =
        frame->encoder->coder == CJ2K_CODER_HT ? cj2k_control_ht(frame) : cj2k_control_mq(frame);
  if (status == CJ2K_OK) {
    if (!expected->to_backend || expected->least == expected->most)
      cj2k_rate_settle(frame);
  } else if (status != CJ2K_ERROR_MEMORY && status != CJ2K_ERROR_DEVICE) {
    /* With those two the frame may be done again, on other memory or another device. */
    cj2k_rate_give_up(frame);
  }
  return status;
}

void cj2k_rate_settle(Cj2kRateFrame *frame)
{
  frame->outcome.size = frame->layout.size.total;
  cj2k_bucket_record(&frame->encoder->bucket, frame->number, &frame->outcome);
}

bool cj2k_rate_accepts(const Cj2kRateFrame *frame)
{
  const Cj2kExpectedSize *expected = &frame->layout.expected;
  uint64_t total = frame->layout.size.total;

  return total >= expected->least && total <= expected->most;
}

void cj2k_rate_give_up(Cj2kRateFrame *frame)
{
  const Cj2kRateMemory nothing = {0};

  cj2k_history_record(&frame->encoder->history, frame->number, &nothing);
  cj2k_bucket_record(&frame->encoder->bucket, frame->number, &(Cj2kOutcome){0});
}
