/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control.h"

#include "control_ht.h"
#include "control_mq.h"

Cj2kStatus cj2k_rate_control(Cj2kRateFrame *frame, Cj2kError *error)
{
  frame->error = error;
  cj2k_rate_begin(frame);
  Cj2kStatus status = cj2k_coder_check(&frame->coder, error);
  if (status == CJ2K_OK)
    status = cj2k_ceilings_check(&frame->target.ceilings, &frame->encoder->least, error);
  if (status == CJ2K_OK)
    status =
        frame->encoder->coder == CJ2K_CODER_HT ? cj2k_control_ht(frame) : cj2k_control_mq(frame);
  if (status == CJ2K_OK) {
    frame->outcome.size = frame->layout.size.total;
    cj2k_bucket_record(&frame->encoder->bucket, frame->number, &frame->outcome);
  } else if (status != CJ2K_ERROR_MEMORY && status != CJ2K_ERROR_DEVICE) {
    /* With those two the frame may be done again, on other memory or another device. */
    cj2k_rate_give_up(frame);
  }
  return status;
}

void cj2k_rate_give_up(Cj2kRateFrame *frame)
{
  const Cj2kRateMemory nothing = {0};

  cj2k_history_record(&frame->encoder->history, frame->number, &nothing);
  cj2k_bucket_record(&frame->encoder->bucket, frame->number, &(Cj2kOutcome){0});
}
