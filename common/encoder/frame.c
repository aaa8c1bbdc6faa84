/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

#include "common/codestream/write_boxes.h"
#include "common/rate/control.h"
#include "common/rate/control_slices.h"
#include "common/runtime/error.h"

#include <string.h>

/* --- the ring --- */

static Cj2kStatus frame_init(Cj2kEncoderFrame *frame, Cj2kEncoder *encoder, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &encoder->setup.params;
  const Cj2kWriteOptions options = {.comment = encoder->comment,
                                    .tile_parts = p->tile_parts,
                                    .tlm = p->tlm,
                                    .plt = p->plt == CJ2K_PLT_ON};

  frame->encoder = encoder;
  return cj2k_rate_frame_init(&frame->rate, &encoder->rate, &options, error);
}

static void frame_clear(Cj2kEncoderFrame *frame)
{
  if (!frame->encoder)
    return;
  if (frame->cpu_slot)
    cj2k_cpu_encode_backend()->slot_free(frame->encoder->backend.cpu_data, frame->cpu_slot);
  cj2k_rate_frame_clear(&frame->rate);
  g_free(frame->boxes.data);
}

Cj2kStatus cj2k_encoder_open_ring(Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kFrameRing *ring = &encoder->ring;
  Cj2kStatus status = CJ2K_OK;

  ring->size = encoder->setup.params.frames_in_flight;
  ring->first = 0;
  ring->frames = g_new0(Cj2kEncoderFrame, ring->size);
  for (uint32_t i = 0; i < ring->size && status == CJ2K_OK; i++)
    status = frame_init(&ring->frames[i], encoder, error);
  return status;
}

void cj2k_encoder_close_ring(Cj2kEncoder *encoder)
{
  Cj2kFrameRing *ring = &encoder->ring;

  for (uint32_t i = 0; ring->frames && i < ring->size; i++)
    frame_clear(&ring->frames[i]);
  g_clear_pointer(&ring->frames, g_free);
}

/* --- one frame --- */

/* Replaces the chosen back end by the CPU back end for this frame. frame->error stays and holds the
 * reason. Fails for pictures in GPU memory, which the CPU back end cannot read. */
static Cj2kStatus fall_back(Cj2kEncoderFrame *frame)
{
  const Cj2kEncodeBackend *cpu = cj2k_cpu_encode_backend();
  Cj2kError reason = frame->error;

  if (frame->picture.memory == CJ2K_MEMORY_CUDA)
    return reason.code;
  void *data = cj2k_encoder_cpu_backend(frame->encoder, &frame->error);
  if (data && !frame->cpu_slot)
    frame->cpu_slot = cpu->slot_new(data, &frame->error);
  if (!frame->cpu_slot)
    return frame->error.code;
  frame->rate.coder = (Cj2kFrameCoder){.backend = cpu, .data = data, .slot = frame->cpu_slot};
  frame->fallback = true;
  frame->error = reason;
  return CJ2K_OK;
}

/* Not all back ends can do everything. */
static Cj2kStatus check_features(const Cj2kEncoderParams *params, const Cj2kEncodeBackend *backend,
                                 Cj2kError *error)
{
  if (params->rgb_to_xyz == CJ2K_XYZ_ON && params->xyz_transfer == CJ2K_TRANSFER_HLG &&
      !backend->converts_hlg)
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                          "the conversion of HLG to X'Y'Z' is not implemented on the GPU");
  return CJ2K_OK;
}

static Cj2kTransformJob transform_job(const Cj2kEncoderFrame *frame)
{
  return (Cj2kTransformJob){.layout = &frame->encoder->layout,
                            .picture = &frame->picture,
                            .rgb_to_xyz = frame->params.rgb_to_xyz == CJ2K_XYZ_ON,
                            .xyz_transfer = frame->params.xyz_transfer,
                            .hlg_peak = frame->params.hlg_peak,
                            .xyz_primaries = frame->params.xyz_primaries};
}

/* Transforms the picture; that of a frame in slices is transformed as they need it, if the back end
 * can do that. */
static Cj2kStatus transform_with(Cj2kEncoderFrame *frame, Cj2kFrameCoder *coder)
{
  const Cj2kTransformJob job = transform_job(frame);

  frame->transformed = 0;
  if (frame->params.slices && coder->backend->transform_rows)
    return CJ2K_OK;
  frame->transformed = UINT32_MAX;
  return cj2k_coder_transform(coder, &job, &frame->error);
}

static Cj2kStatus transform(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoder *encoder = frame->encoder;
  Cj2kFrameCoder *coder = &frame->rate.coder;

  *coder = (Cj2kFrameCoder){
      .backend = encoder->backend.functions, .data = encoder->backend.data, .slot = frame->slot};
  coder->may_place =
      coder->backend->place && !frame->params.slices && cj2k_output_is_pinned(frame->output);
  Cj2kStatus status = check_features(&frame->params, coder->backend, &frame->error);
  if (status == CJ2K_OK)
    status = transform_with(frame, coder);
  if (status == CJ2K_ERROR_UNSUPPORTED && (status = fall_back(frame)) == CJ2K_OK)
    status = transform_with(frame, coder);
  return status;
}

/* May the back end make the packets? Boxes say how long what follows is. */
static bool may_leave(const Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderParams *params = &frame->params;

  return frame->rate.coder.may_place && params->file_format == CJ2K_FILE_J2K &&
         cj2k_codestream_can_list(frame->rate.layout.writer);
}

/* Has the back end make the packets, which rate control has left to it, and writes the rest.
 * *accepted: the codestream is as long as it should be. */
static Cj2kStatus make_packets(Cj2kEncoderFrame *frame, bool *accepted)
{
  Cj2kFrameLayout *layout = &frame->rate.layout;
  const Cj2kQuantisation *quantisation = frame->rate.steps.components;
  Cj2kByteBuffer *bytes = &frame->output->bytes;
  const Cj2kPacketSize *sizes;
  Cj2kPacketSteps steps;
  bool as_listed;

  *accepted = false;
  if (!cj2k_codestream_list_steps(layout->writer, quantisation, &steps))
    return CJ2K_OK;
  bool pinned = cj2k_output_reserve(frame->output, layout->expected.most);
  const Cj2kPlaceJob job = {
      .packets = &steps, .out = bytes->data, .pinned = pinned, .size = layout->expected.most};
  Cj2kStatus status = cj2k_coder_place_packets(&frame->rate.coder, &job, &sizes, &frame->error);
  if (status != CJ2K_OK || !sizes)
    return status;
  gint64 start = g_get_monotonic_time();
  status = cj2k_codestream_layout_sizes(layout->writer, quantisation, sizes, &layout->size,
                                        &as_listed, &frame->error);
  *accepted = status == CJ2K_OK && as_listed && cj2k_rate_accepts(&frame->rate);
  if (!*accepted)
    return status;
  cj2k_codestream_write_headers(layout->writer, bytes->data);
  bytes->size = layout->size.total;
  cj2k_rate_settle(&frame->rate);
  frame->ms_write += (double)(g_get_monotonic_time() - start) / 1000;
  return CJ2K_OK;
}

/* Has the back end put the bytes of the blocks to their places, and writes the rest. */
static Cj2kStatus place_codestream(Cj2kEncoderFrame *frame, uint8_t *out, bool pinned)
{
  Cj2kFrameLayout *layout = &frame->rate.layout;
  gint64 start = g_get_monotonic_time();
  const GArray *runs = cj2k_codestream_list_runs(layout->writer, &layout->source);
  const Cj2kPlaceJob job = {.runs = (const Cj2kByteRun *)(const void *)runs->data,
                            .num_runs = runs->len,
                            .out = out,
                            .pinned = pinned,
                            .size = layout->size.total};
  gint64 listed = g_get_monotonic_time();
  Cj2kStatus status = cj2k_coder_place(&frame->rate.coder, &job, &frame->error);
  gint64 placed = g_get_monotonic_time();

  if (status == CJ2K_OK)
    cj2k_codestream_write_headers(layout->writer, out);
  frame->ms_write += (double)(listed - start + g_get_monotonic_time() - placed) / 1000;
  return status;
}

/* Writes the codestream from the bytes of the blocks. While the back end codes some of them again,
 * which it may have begun before, the headers are written. */
static Cj2kStatus write_around(Cj2kEncoderFrame *frame, uint8_t *out)
{
  const Cj2kPlaceJob again = {.out = NULL};
  const Cj2kFrameLayout *layout = &frame->rate.layout;
  Cj2kFrameCoder *coder = &frame->rate.coder;
  Cj2kStatus status = CJ2K_OK;

  if (!frame->rate.ht.ahead)
    status = cj2k_coder_begin_place(coder, &again, &frame->error);
  if (status != CJ2K_OK)
    return status;
  gint64 start = g_get_monotonic_time();
  cj2k_codestream_write_headers(layout->writer, out);
  gint64 written = g_get_monotonic_time();
  if ((status = cj2k_coder_end_place(coder, &frame->error)) != CJ2K_OK)
    return status;
  gint64 coded = g_get_monotonic_time();
  cj2k_codestream_write_bodies(layout->writer, &layout->source, frame->encoder->threads, out);
  frame->ms_write += (double)(written - start + g_get_monotonic_time() - coded) / 1000;
  return CJ2K_OK;
}

/* The same, of blocks that are all there. */
static void write_codestream(Cj2kEncoderFrame *frame, uint8_t *out)
{
  const Cj2kFrameLayout *layout = &frame->rate.layout;
  gint64 start = g_get_monotonic_time();

  cj2k_codestream_write(layout->writer, &layout->source, frame->encoder->threads, out);
  frame->ms_write += (double)(g_get_monotonic_time() - start) / 1000;
}

/* Writes the boxes of the file, if any, and the codestream. */
static Cj2kStatus write_output(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderSetup *setup = &frame->encoder->setup;
  uint64_t size = frame->rate.layout.size.total;
  Cj2kByteBuffer *bytes = &frame->output->bytes, *boxes = &frame->boxes;
  Cj2kStatus status = CJ2K_OK;

  boxes->size = 0;
  if (frame->params.file_format != CJ2K_FILE_J2K)
    cj2k_write_boxes(boxes, frame->encoder->header,
                     &(Cj2kFileColours){setup->channels, setup->image.colour, setup->image.cicp},
                     frame->params.file_format, size);
  bool pinned = cj2k_output_reserve(frame->output, boxes->size + size);
  if (boxes->size)
    memcpy(bytes->data, boxes->data, boxes->size);
  bytes->size = boxes->size;
  if (frame->rate.coder.placed)
    status = place_codestream(frame, bytes->data + bytes->size, pinned);
  else if (frame->rate.coder.again)
    status = write_around(frame, bytes->data + bytes->size);
  else
    write_codestream(frame, bytes->data + bytes->size);
  bytes->size += size;
  return status;
}

/* Waits until the slices of all earlier frames have left; with `done` those of this frame have,
 * too. Earlier frames were begun before this one. */
static void wait_for_turn(Cj2kEncoderFrame *frame, bool done)
{
  Cj2kEncoder *encoder = frame->encoder;

  g_mutex_lock(&encoder->lock);
  while (encoder->delivered + 1 < frame->rate.number)
    g_cond_wait(&encoder->changed, &encoder->lock);
  if (done)
    encoder->delivered = frame->rate.number;
  g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
}

/* Waits until so many rows of the picture are there. *rows: how many are there. */
static Cj2kStatus wait_for_rows(Cj2kEncoderFrame *frame, uint32_t wanted, uint32_t *rows)
{
  Cj2kEncoder *encoder = frame->encoder;

  g_mutex_lock(&encoder->lock);
  frame->rows_wanted = wanted;
  while (frame->rows < wanted && !frame->dropped)
    g_cond_wait(&encoder->changed, &encoder->lock);
  frame->rows_wanted = UINT32_MAX;
  *rows = MIN(frame->rows, cj2k_plan_rows_all(encoder->plan));
  g_mutex_unlock(&encoder->lock);
  return *rows >= wanted ? CJ2K_OK
                         : cj2k_error_set(&frame->error, CJ2K_ERROR_ARGUMENT,
                                          "the frame was dropped before all its rows were there");
}

/* Transforms the rows of the picture that the slices up to this one need. */
static Cj2kStatus prepare_slices(void *ctx, uint32_t slice)
{
  Cj2kEncoderFrame *frame = ctx;
  Cj2kFrameCoder *coder = &frame->rate.coder;
  const Cj2kTransformJob job = transform_job(frame);
  uint32_t needed = cj2k_codestream_slice_needs(frame->rate.layout.writer, slice), rows;

  if (needed <= frame->transformed)
    return CJ2K_OK;
  Cj2kStatus status = wait_for_rows(frame, needed, &rows);
  if (status != CJ2K_OK)
    return status;
  if (!coder->backend->rows_at_once)
    rows = needed;
  uint32_t done = frame->transformed;
  frame->transformed = rows;
  status = cj2k_coder_transform_rows(coder, &job, done, rows, &frame->error);
  if (status == CJ2K_ERROR_UNSUPPORTED && !done && (status = fall_back(frame)) == CJ2K_OK)
    status = cj2k_coder_transform_rows(coder, &job, done, rows, &frame->error);
  return status;
}

/* The end of the slices, from `first` on, whose coefficients have been made. */
static uint32_t slices_made(void *ctx, uint32_t first)
{
  const Cj2kEncoderFrame *frame = ctx;
  Cj2kCodestreamWriter *writer = frame->rate.layout.writer;
  uint32_t count = cj2k_codestream_num_slices(writer);

  while (first < count && cj2k_codestream_slice_needs(writer, first) <= frame->transformed)
    first++;
  return first;
}

/* Writes a slice, the headers before the first one, and hands them out. */
static void take_slice(void *ctx, uint32_t slice, uint64_t size)
{
  Cj2kEncoderFrame *frame = ctx;
  const Cj2kEncoderParams *params = &frame->params;
  Cj2kFrameLayout *layout = &frame->rate.layout;
  Cj2kByteBuffer *bytes = &frame->output->bytes;
  gint64 start = g_get_monotonic_time();

  if (slice == 0) {
    bytes->size = 0;
    cj2k_codestream_begin_slices(layout->writer, frame->rate.steps.components, bytes);
  }
  size_t first = slice ? bytes->size : 0;
  cj2k_bytes_reserve(bytes, size);
  cj2k_codestream_write_slice(layout->writer, slice, &layout->source, frame->encoder->threads,
                              bytes->data + bytes->size);
  bytes->size += size;
  frame->ms_write += (double)(g_get_monotonic_time() - start) / 1000;
  if (!params->slice_ready)
    return;
  wait_for_turn(frame, false);
  params->slice_ready(params->slice_user, frame->user, bytes->data + first, bytes->size - first,
                      slice + 1 == cj2k_codestream_num_slices(layout->writer));
}

/* Has a device failed that did the frame, and can another one do it? */
static bool recovers(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderBackend *backend = &frame->encoder->backend;

  if (frame->status != CJ2K_ERROR_DEVICE || frame->fallback || !frame->slot ||
      !backend->functions->recover || !backend->functions->recover(backend->data, frame->slot))
    return false;
  frame->redone = true;
  frame->why_redone = frame->error;
  return true;
}

static void code_slices(Cj2kEncoderFrame *frame)
{
  const Cj2kSliceSink sink = {prepare_slices, slices_made, take_slice, frame};
  const Cj2kEncoderParams *params = &frame->params;

  if (frame->status == CJ2K_OK)
    frame->status = cj2k_rate_control_slices(&frame->rate, &sink, &frame->error);
  /* A back end with devices codes the whole frame before the first slice leaves. */
  while (recovers(frame)) {
    cj2k_encoder_frame_begin(frame);
    if (frame->status == CJ2K_OK)
      frame->status = cj2k_rate_control_slices(&frame->rate, &sink, &frame->error);
  }
  if (frame->status != CJ2K_OK)
    cj2k_rate_give_up(&frame->rate);
  wait_for_turn(frame, false);
  if (frame->status != CJ2K_OK && params->slice_ready)
    params->slice_ready(params->slice_user, frame->user, NULL, 0, true);
  wait_for_turn(frame, true);
}

/* Can a frame that ran out of memory begin anew? It can if an earlier frame needed its slot, and if
 * there are other slots: there is more memory for them without its own. Dropping a GPU slot helps
 * only if the GPU ran out of memory, not the CPU back end. */
static bool frees_slot(Cj2kEncoderFrame *frame)
{
  if (!frame->slot)
    return false;
  if (!frame->rate.coder.interrupted)
    return !frame->fallback && cj2k_encoder_frame_drop_slot(frame);
  frame->rate.coder.interrupted = frame->fallback = false;
  cj2k_encoder_frame_yield_slot(frame);
  return true;
}

/* The room that the codestream may take: its budget, if the last frame used most of it, or without
 * one, for HT, what the last frame took and a quarter more, if the output has it already. 0:
 * nothing is known. */
static uint64_t usual_room(const Cj2kEncoderFrame *frame)
{
  const Cj2kRateTarget *target = &frame->rate.target;
  uint64_t last = frame->last_bytes, more = last + last / 4;
  uint64_t has = frame->output->bytes.capacity, budget = target->ceilings.frame;

  if (target->mode == CJ2K_RATE_CBR)
    return target->average.rate || last < budget / 2 ? 0 : budget;
  if (frame->rate.encoder->coder != CJ2K_CODER_HT)
    return 0;
  return has >= last ? MIN(has, more) : more;
}

/* HT frames in flight up to which a back end is to decide about them by itself if pictures are in
 * its memory. With more, others are there while the host decides, and kernels that decide would
 * only take their time. Pictures from the host come too slowly for that to matter much, and the
 * host has less to do. */
#define FEW_HT 4

/* Does it save time if the back end does all up to the packets at once? With several HT frames in
 * flight only if there is something to decide. To select the passes of an MQ frame takes the host
 * milliseconds. */
static bool gains_at_once(const Cj2kEncoderFrame *frame)
{
  const Cj2kRateFrame *rate = &frame->rate;
  uint32_t in_flight = frame->encoder->ring.size;

  if (rate->encoder->coder != CJ2K_CODER_HT || in_flight == 1)
    return true;
  return rate->target.mode == CJ2K_RATE_CBR &&
         (in_flight <= FEW_HT || frame->picture.memory != CJ2K_MEMORY_CUDA);
}

/* Makes room for packets that the back end may make together with code-blocks. Not if that was in
 * vain, or would have been, for the last frame: a film that moves has runs of such frames. */
static void set_place_target(Cj2kEncoderFrame *frame)
{
  Cj2kRateFrame *rate = &frame->rate;

  rate->coder.target = (Cj2kPlaceTarget){0};
  if (!rate->may_leave || !gains_at_once(frame) || frame->not_foreseen)
    return;
  uint64_t room = usual_room(frame);
  if (!room)
    return;
  bool pinned = cj2k_output_reserve(frame->output, room);
  rate->coder.target = (Cj2kPlaceTarget){frame->output->bytes.data, pinned, room};
}

/* Goes on with the frame, unless it has failed, until it is complete. If the packets that the back
 * end has made are not accepted, the host makes them. */
static void code_and_write(Cj2kEncoderFrame *frame)
{
  bool written = false, left = false;

  frame->rate.may_leave = may_leave(frame);
  if (frame->status == CJ2K_OK) {
    set_place_target(frame);
    frame->status = cj2k_rate_control(&frame->rate, &frame->error);
  }
  if (frame->status == CJ2K_OK && frame->rate.layout.expected.to_backend) {
    left = true;
    frame->status = make_packets(frame, &written);
    frame->rate.may_leave = false;
    if (frame->status == CJ2K_OK && !written)
      frame->status = cj2k_rate_control(&frame->rate, &frame->error);
  }
  if (frame->status == CJ2K_OK && !written)
    frame->status = write_output(frame);
  if (frame->status != CJ2K_OK)
    return;
  frame->last_bytes = frame->output->bytes.size;
  frame->not_foreseen = !frame->rate.foreseen || (left && !written);
}

/* Codes the frame and writes it when it is complete. */
static void code_whole(Cj2kEncoderFrame *frame)
{
  code_and_write(frame);
  while ((frame->status == CJ2K_ERROR_MEMORY && frees_slot(frame)) || recovers(frame)) {
    cj2k_encoder_frame_begin(frame);
    code_and_write(frame);
  }
  if (frame->status != CJ2K_OK)
    cj2k_rate_give_up(&frame->rate);
}

void cj2k_encoder_frame_begin(Cj2kEncoderFrame *frame)
{
  if (frame->slot) { /* the frame begins anew */
    cj2k_error_clear(&frame->error);
    frame->status = transform(frame);
  } else {
    frame->status = cj2k_encoder_frame_take_slot(frame) ? transform(frame) : frame->error.code;
  }
}

void cj2k_encoder_frame_end(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;

  if (frame->params.slices)
    code_slices(frame);
  else
    code_whole(frame);
  if (frame->status == CJ2K_OK && frame->redone)
    frame->error = frame->why_redone;
  cj2k_threads_rest(encoder->threads);
  cj2k_encoder_frame_give_slot(frame);
  g_mutex_lock(&encoder->lock);
  frame->state = CJ2K_ENCODE_DONE;
  g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
}

void cj2k_encoder_frame_run(void *ctx)
{
  cj2k_encoder_frame_begin(ctx);
  cj2k_encoder_frame_end(ctx);
}
