/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coding.h"

#include "common/runtime/error.h"

#include <string.h>

/* Waits for the last verb to finish. */
static Cj2kStatus wait_for(Cj2kFrameCoder *coder, Cj2kEncodeResult *result, Cj2kError *error)
{
  Cj2kStatus status = coder->backend->wait(coder->data, coder->slot, result, error);

  coder->gathering = false;
  if (status == CJ2K_OK) {
    coder->ms_transform += result->ms_transform;
    coder->ms_block_coder += result->ms_block_coder;
  }
  return status;
}

Cj2kStatus cj2k_coder_check(const Cj2kFrameCoder *coder, Cj2kError *error)
{
  return coder->interrupted
             ? cj2k_error_set(error, CJ2K_ERROR_MEMORY, "an earlier frame needs the memory")
             : CJ2K_OK;
}

/* Prepares the slot for a verb: ends a gather that was not waited for. */
static Cj2kStatus make_ready(Cj2kFrameCoder *coder, Cj2kError *error)
{
  Cj2kEncodeResult result;
  Cj2kStatus status = cj2k_coder_check(coder, error);

  return status == CJ2K_OK && coder->gathering ? wait_for(coder, &result, error) : status;
}

Cj2kStatus cj2k_coder_transform(Cj2kFrameCoder *coder, const Cj2kTransformJob *job,
                                Cj2kError *error)
{
  Cj2kStatus status = coder->backend->transform(coder->data, coder->slot, job, error);
  Cj2kEncodeResult result;

  return status == CJ2K_OK ? wait_for(coder, &result, error) : status;
}

Cj2kStatus cj2k_coder_transform_rows(Cj2kFrameCoder *coder, const Cj2kTransformJob *job,
                                     uint32_t done, uint32_t rows, Cj2kError *error)
{
  Cj2kStatus status = make_ready(coder, error);
  Cj2kEncodeResult result;

  if (status == CJ2K_OK)
    status = coder->backend->transform_rows(coder->data, coder->slot, job, done, rows, error);
  return status == CJ2K_OK ? wait_for(coder, &result, error) : status;
}

Cj2kStatus cj2k_coder_measure(Cj2kFrameCoder *coder, const Cj2kMeasureJob *job,
                              Cj2kMeasured *measured, Cj2kError *error)
{
  Cj2kStatus status = make_ready(coder, error);
  Cj2kEncodeResult result;

  if (status == CJ2K_OK)
    status = coder->backend->measure(coder->data, coder->slot, job, error);
  if (status != CJ2K_OK || (status = wait_for(coder, &result, error)) != CJ2K_OK)
    return status;
  *measured = (Cj2kMeasured){.stride = job->stride,
                             .first_plane = job->first_plane,
                             .num_planes = job->num_planes,
                             .lengths = result.ht_lengths,
                             .distortions = result.ht_distortions,
                             .band_errors = result.band_errors,
                             .estimate = result.estimates[0]};
  return CJ2K_OK;
}

Cj2kStatus cj2k_coder_code(Cj2kFrameCoder *coder, const Cj2kCodeJob *job, Cj2kCodedBlocks *coded,
                           uint64_t *saturated, Cj2kError *error)
{
  Cj2kStatus status = make_ready(coder, error);
  Cj2kCodeJob own = *job;
  Cj2kEncodeResult result;

  own.may_place = coder->may_place;
  coder->again = NULL;
  coder->retain = NULL;
  coder->cut = false;
  if (status == CJ2K_OK)
    status = coder->backend->code(coder->data, coder->slot, &own, error);
  if (status != CJ2K_OK || (status = wait_for(coder, &result, error)) != CJ2K_OK)
    return status;
  coder->placed = result.placed;
  coder->keeps_room = result.keeps_room && coder->backend->place;
  coder->makes_packets = result.makes_packets;
  *coded = (Cj2kCodedBlocks){.blocks = result.blocks,
                             .passes = result.passes,
                             .lengths = result.lengths,
                             .header_bits = result.header_bits,
                             .points = result.points,
                             .slopes = result.slopes,
                             .cut = result.cut,
                             .cut_ahead = result.cut_ahead,
                             .bytes = result.bytes,
                             .packet_sizes = result.packet_sizes};
  *saturated = result.saturated;
  memcpy(coded->estimates, result.estimates, sizeof coded->estimates);
  return CJ2K_OK;
}

bool cj2k_coder_gathers(const Cj2kFrameCoder *coder)
{
  return coder->backend->gather && !coder->placed;
}

Cj2kStatus cj2k_coder_begin_gather(Cj2kFrameCoder *coder, const Cj2kGatherJob *job,
                                   Cj2kError *error)
{
  Cj2kStatus status = make_ready(coder, error);

  if (status == CJ2K_OK)
    status = coder->backend->gather(coder->data, coder->slot, job, error);
  coder->gathering = status == CJ2K_OK;
  return status;
}

Cj2kStatus cj2k_coder_end_gather(Cj2kFrameCoder *coder, const uint8_t **bytes, Cj2kError *error)
{
  Cj2kEncodeResult result;
  Cj2kStatus status = wait_for(coder, &result, error);

  if (status == CJ2K_OK)
    *bytes = result.bytes;
  return status;
}

Cj2kStatus cj2k_coder_begin_place(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job, Cj2kError *error)
{
  Cj2kStatus status = make_ready(coder, error);
  Cj2kPlaceJob own = *job;

  own.again = coder->again;
  own.retain = coder->retain;
  own.cut = coder->cut;
  if (status == CJ2K_OK)
    status = coder->backend->place(coder->data, coder->slot, &own, error);
  coder->gathering = status == CJ2K_OK;
  return status;
}

static Cj2kStatus end_place(Cj2kFrameCoder *coder, Cj2kEncodeResult *result, Cj2kError *error)
{
  Cj2kStatus status = wait_for(coder, result, error);

  return status == CJ2K_OK && result->unlike ? cj2k_coder_unlike(error) : status;
}

Cj2kStatus cj2k_coder_end_place(Cj2kFrameCoder *coder, Cj2kError *error)
{
  Cj2kEncodeResult result;

  return end_place(coder, &result, error);
}

Cj2kStatus cj2k_coder_place_packets(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job,
                                    const Cj2kPacketSize **sizes, Cj2kError *error)
{
  Cj2kStatus status = cj2k_coder_begin_place(coder, job, error);
  Cj2kEncodeResult result;

  if (status == CJ2K_OK)
    status = end_place(coder, &result, error);
  if (status == CJ2K_OK)
    *sizes = result.packet_sizes;
  return status;
}

Cj2kStatus cj2k_coder_place(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job, Cj2kError *error)
{
  Cj2kStatus status = cj2k_coder_begin_place(coder, job, error);

  return status == CJ2K_OK ? cj2k_coder_end_place(coder, error) : status;
}

Cj2kStatus cj2k_coder_unlike(Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_LIMIT, "HT code-blocks are not what was measured");
}

void cj2k_coder_finish(Cj2kFrameCoder *coder)
{
  Cj2kError ignored = {0};

  make_ready(coder, &ignored);
}
