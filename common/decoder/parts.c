/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames whose bytes come in parts. As long as the codestream is intact and of the usual kind, the
 * submitting thread decodes it while it comes, in a slot of its own. Else, and with a back end that
 * has no parts, the frame is submitted as a whole when its last bytes are there.
 */
#include "decoder.h"

#include "common/runtime/deadline.h"
#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <string.h>

/* -------------------------------------------------------------------- begin, drop, clear --- */

Cj2kStatus cj2k_decoder_begin(Cj2kDecoder *decoder, const Cj2kLayout *layout,
                              const Cj2kPicture *picture, void *user, Cj2kRowsReady rows,
                              void *rows_user, Cj2kError *error)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_decoder_check_arguments(decoder, layout, picture, error);
  if (status != CJ2K_OK)
    return status;
  Cj2kDecoderFrame *frame = cj2k_decoder_wait_for_place(decoder);
  frame->input.user = user;
  frame->input.submitted = g_get_monotonic_time();
  frame->parts.rows = rows;
  frame->parts.rows_user = rows_user;
  parts->frame = frame;
  parts->has_picture = picture != NULL;
  if (picture) {
    cj2k_layout_copy(&parts->layout, layout);
    parts->picture = *picture;
  }
  parts->header = (Cj2kPartsHeader){0};
  parts->has_plan = false;
  parts->ready = 0;
  parts->whole =
      !decoder->backend.functions->begin_parts || decoder->params.conceal == CJ2K_CONCEAL_PREVIOUS;
  return CJ2K_OK;
}

/* Afterwards the back end uses neither the slot nor the picture. */
static void settle(Cj2kDecoder *decoder)
{
  Cj2kDecodeResult result;
  Cj2kError ignored;
  if (decoder->parts.unfinished)
    decoder->backend.functions->wait(decoder->backend.data, decoder->parts.slot, &result, &ignored);
  decoder->parts.unfinished = false;
}

void cj2k_decoder_drop(Cj2kDecoder *decoder)
{
  settle(decoder);
  if (decoder->parts.frame)
    cj2k_decoder_frame_reset(decoder->parts.frame);
  decoder->parts.frame = NULL;
}

void cj2k_decoder_parts_clear(Cj2kDecoder *decoder)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  cj2k_decoder_drop(decoder);
  if (parts->slot)
    decoder->backend.functions->slot_free(decoder->backend.data, parts->slot);
  cj2k_parts_reader_free(parts->reader);
  cj2k_plan_parts_clear(&parts->rows);
  g_free((void *)parts->layout.samples);
}

/* ------------------------------------------------------------------------------- rows --- */

/* Rows of the image on the reference grid, after `reduce`. */
static uint32_t image_rows(const Cj2kPlan *plan)
{
  uint64_t round = ((uint64_t)1 << plan->reduce) - 1;
  return (uint32_t)(((plan->header->y1 + round) >> plan->reduce) -
                    ((plan->header->y0 + round) >> plan->reduce));
}

static void report(const Cj2kDecoderFrame *frame, uint32_t first, uint32_t end)
{
  if (frame->parts.rows && end > first)
    frame->parts.rows(frame->parts.rows_user, &frame->target.picture, first, end);
}

void cj2k_decoder_report_rows(Cj2kDecoderFrame *frame)
{
  if (frame->status == CJ2K_OK && frame->parts.rows)
    report(frame, 0, image_rows(frame->headers.plan));
  frame->parts.rows = NULL;
}

/* --------------------------------------------------------------------- decoding in parts --- */

/* Reads the headers, which are complete, and prepares reader and back end. */
static Cj2kStatus start(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  Cj2kDecoderFrame *frame = parts->frame;
  const Cj2kDecodeBackend *backend = decoder->backend.functions;
  size_t size = frame->input.size;

  frame->input.size = parts->header.at;
  frame->input.is_part = true;
  Cj2kStatus status = cj2k_decoder_frame_headers(frame, error);
  frame->input.size = size;
  if (status == CJ2K_OK)
    status = cj2k_decoder_frame_picture(frame, parts->has_picture ? &parts->layout : NULL,
                                        parts->has_picture ? &parts->picture : NULL, error);
  if (status != CJ2K_OK)
    return status;
  if (frame->headers.info->has_palette || frame->headers.plan->num_tiles != 1)
    return CJ2K_ERROR_UNSUPPORTED;
  if (!parts->reader)
    parts->reader = cj2k_parts_reader_new();
  if (cj2k_parts_reader_begin(parts->reader, frame->headers.plan, 0, &parts->header,
                              frame->input.data, decoder->params.max_layers,
                              frame->headers.max_memory) == CJ2K_PARTS_WHOLE)
    return CJ2K_ERROR_UNSUPPORTED;
  if (!parts->slot && !(parts->slot = backend->slot_new(decoder->backend.data, error)))
    return CJ2K_ERROR_MEMORY;
  parts->job = (Cj2kDecodeJob){.plan = frame->headers.plan,
                               .coded = cj2k_parts_reader_frame(parts->reader),
                               .layout = &frame->target.layout,
                               .picture = &frame->target.picture};
  parts->has_plan = true;
  parts->noted = parts->possible = 0;
  if (backend->few_parts)
    cj2k_plan_parts_begin(&parts->rows, frame->headers.plan);
  return backend->begin_parts(decoder->backend.data, parts->slot, &parts->job, error);
}

/* Whether the precincts that were read are worth a call of the back end: with them rows of the
 * picture are possible, and it is not busy with those before. */
static bool is_time(Cj2kDecoder *decoder, const Cj2kPacketId *precincts, uint32_t count)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  const Cj2kDecodeBackend *backend = decoder->backend.functions;
  if (!backend->few_parts)
    return true;
  for (; parts->noted < count; parts->noted++)
    cj2k_plan_parts_add(&parts->rows, &precincts[parts->noted], NULL);
  uint32_t possible = cj2k_plan_parts_take_all(&parts->rows);
  if (possible <= parts->possible ||
      (parts->unfinished && backend->is_busy(decoder->backend.data, parts->slot)))
    return false;
  parts->possible = possible;
  return true;
}

/* Decodes precincts that are complete, and reports rows. If nobody asks for the rows, the back end
 * works while the next bytes are on their way. `last`: all bytes are there. */
static Cj2kStatus add(Cj2kDecoder *decoder, const Cj2kPacketId *precincts, uint32_t count,
                      bool last, Cj2kError *error)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  const Cj2kDecodeBackend *backend = decoder->backend.functions;
  bool waits = last || parts->frame->parts.rows || !backend->few_parts;
  uint32_t rows = 0;
  if (!count && !(last && parts->unfinished))
    return CJ2K_OK;
  if (!last && !is_time(decoder, precincts, count))
    return CJ2K_OK;
  cj2k_parts_reader_take(parts->reader);
  parts->noted = 0;
  Cj2kStatus status = backend->add_parts(decoder->backend.data, parts->slot, &parts->job, precincts,
                                         count, waits ? &rows : NULL, error);
  parts->unfinished = !waits && status == CJ2K_OK;
  if (status != CJ2K_OK || !waits)
    return status;
  rows = MIN(rows, image_rows(parts->job.plan));
  uint32_t ready = parts->ready;
  parts->ready = MAX(ready, rows);
  report(parts->frame, ready, parts->ready);
  return CJ2K_OK;
}

/* Begins the deadline for packets: what max_time and the limit of visits leave of the frame, whose
 * bytes may come in any number of parts. false: nothing is left. */
static bool begin_deadline(const Cj2kDecoder *decoder)
{
  uint32_t most = decoder->params.max_time;
  double spent = decoder->parts.frame->coding.ms_packets;

  uint64_t visits = decoder->parts.frame->coding.visits;
  uint64_t most_visits = cj2k_decoder_most_visits(decoder, decoder->parts.frame->input.size);

  if ((most && spent >= most) || visits > most_visits)
    return false;
  cj2k_deadline_begin(most ? most - (uint32_t)spent : 0);
  cj2k_deadline_limit_items(most_visits - visits);
  return true;
}

/* Decodes what the bytes so far make possible. What fails here is decided when all bytes are there,
 * as for a frame that is submitted as a whole. `last`: all bytes are there. */
static void go_on(Cj2kDecoder *decoder, bool last)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  Cj2kDecoderFrame *frame = parts->frame;
  const Cj2kPacketId *precincts = NULL;
  Cj2kPartsState state = CJ2K_PARTS_DONE;
  Cj2kError ignored;
  uint32_t count = 0;

  if (!parts->has_plan) {
    state = cj2k_parts_header_scan(&parts->header, frame->input.data, frame->input.size);
    parts->whole |= state == CJ2K_PARTS_WHOLE || (last && state != CJ2K_PARTS_DONE);
    if (parts->whole || state != CJ2K_PARTS_DONE)
      return;
    parts->whole |= start(decoder, &ignored) != CJ2K_OK;
  }
  parts->whole |= !begin_deadline(decoder);
  if (parts->whole)
    return;
  gint64 begin = g_get_monotonic_time();
  state = (last ? cj2k_parts_reader_end : cj2k_parts_reader_read)(
      parts->reader, frame->input.data, frame->input.size, &precincts, &count);
  frame->coding.visits += cj2k_deadline_items();
  cj2k_deadline_end();
  frame->coding.ms_packets += (double)(g_get_monotonic_time() - begin) / 1000;
  parts->whole |=
      state == CJ2K_PARTS_WHOLE || add(decoder, precincts, count, last, &ignored) != CJ2K_OK;
  /* A POC may leave packets out, and an image may have no samples. */
  parts->whole |= last && parts->ready < image_rows(parts->job.plan);
}

/* ------------------------------------------------------------------------- append, end --- */

static bool reserve(Cj2kDecoderFrame *frame, size_t more)
{
  Cj2kFrameParts *parts = &frame->parts;
  if (more > SIZE_MAX / 4 - frame->input.size)
    return false;
  size_t needed = frame->input.size + more;
  if (needed > parts->capacity) {
    size_t capacity = MAX(needed, 2 * parts->capacity);
    uint8_t *bytes = g_try_realloc(parts->bytes, capacity);
    if (!bytes)
      return false;
    parts->bytes = bytes;
    parts->capacity = capacity;
  }
  frame->input.data = parts->bytes;
  return true;
}

static Cj2kStatus check_begun(const Cj2kDecoder *decoder, Cj2kError *error)
{
  cj2k_error_clear(error);
  return decoder->parts.frame
             ? CJ2K_OK
             : cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "no frame in parts was begun");
}

Cj2kStatus cj2k_decoder_append(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                               Cj2kError *error)
{
  Cj2kStatus status = check_begun(decoder, error);
  if (status != CJ2K_OK || !size)
    return status;
  Cj2kDecoderFrame *frame = decoder->parts.frame;
  if (!reserve(frame, size))
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for the bytes of the frame");
  memcpy(frame->parts.bytes + frame->input.size, data, size);
  frame->input.size += size;
  if (!decoder->parts.whole)
    go_on(decoder, false);
  return CJ2K_OK;
}

/* The frame was decoded in parts, and all of them are there. */
static void end_parts(Cj2kDecoder *decoder)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  Cj2kDecoderFrame *frame = parts->frame;
  decoder->backend.functions->wait(decoder->backend.data, parts->slot, &frame->coding.result,
                                   &frame->error);
  frame->parts.coded = (Cj2kCodedFrame){.corrupt_blocks = parts->job.coded->corrupt_blocks};
  frame->coding.coded = &frame->parts.coded;
  frame->headers.tile_parts.truncated = false;
  frame->headers.codestream.size = frame->input.size;
  frame->status = cj2k_decoder_frame_check(frame);
  frame->parts.rows = NULL;
  cj2k_decoder_frame_enqueue(frame, false);
}

/* The frame is decoded as a whole, as if nothing had been decoded so far. */
static void end_whole(Cj2kDecoder *decoder)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  Cj2kDecoderFrame *frame = parts->frame;
  settle(decoder);
  cj2k_frame_headers_reset(&frame->headers);
  cj2k_frame_target_reset(&frame->target, decoder);
  cj2k_frame_target_reset(&frame->indices, decoder);
  frame->coding.ms_packets = 0;
  frame->coding.visits = 0;
  frame->input.is_part = false;
  cj2k_decoder_frame_submit(frame, parts->has_picture ? &parts->layout : NULL,
                            parts->has_picture ? &parts->picture : NULL);
}

Cj2kStatus cj2k_decoder_end(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kDecoderParts *parts = &decoder->parts;
  Cj2kStatus status = check_begun(decoder, error);
  if (status != CJ2K_OK)
    return status;
  /* Whether replaced packets are an error is decided where a whole frame is read. */
  bool refuses = decoder->params.strict || decoder->params.conceal == CJ2K_CONCEAL_NONE;
  parts->whole |= decoder->next_is_damaged && refuses;
  if (!parts->whole)
    go_on(decoder, true);
  if (parts->whole) {
    end_whole(decoder);
  } else {
    decoder->next_is_damaged = false;
    end_parts(decoder);
  }
  parts->frame = NULL;
  return CJ2K_OK;
}
