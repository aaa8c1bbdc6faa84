/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

#include "common/codestream/write_boxes.h"
#include "common/runtime/error.h"

#include <string.h>

Cj2kStatus cj2k_encoder_frame_init(Cj2kEncoderFrame *frame, Cj2kEncoder *encoder, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &encoder->setup.params;
  const Cj2kPlan *plan = encoder->plan;
  size_t blocks = (size_t)plan->num_blocks + 1;
  Cj2kWriteOptions options = {
      .comment = encoder->comment, .tile_parts = p->tile_parts, .tlm = p->tlm, .plt = p->plt};

  frame->encoder = encoder;
  cj2k_frame_steps_init(&frame->steps, plan);
  frame->kept = g_new0(uint8_t, blocks * p->num_layers);
  frame->kept_lengths = g_new0(uint32_t, blocks);
  frame->cut_lengths = g_new0(uint32_t, blocks);
  frame->component_sums = g_new0(uint64_t, plan->num_components + 1u);
  frame->options = g_new0(uint8_t, blocks);
  frame->layer_options = g_new0(uint8_t, blocks);
  if (p->block_coder == CJ2K_CODER_HT) {
    frame->choices = g_new0(Cj2kHtChoice, blocks);
    frame->coded_lengths = g_new0(uint32_t, blocks);
    frame->ht_blocks = g_new0(Cj2kEncodedBlock, blocks);
    frame->ht_passes = g_new0(Cj2kPassLength, blocks);
  }
  return cj2k_codestream_writer_new(encoder->plan, &options, &frame->writer, error);
}

void cj2k_encoder_frame_clear(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;

  if (!encoder)
    return;
  if (frame->cpu_slot)
    cj2k_cpu_encode_backend()->slot_free(encoder->cpu_data, frame->cpu_slot);
  cj2k_codestream_writer_free(frame->writer);
  cj2k_frame_steps_clear(&frame->steps);
  cj2k_hulls_clear(&frame->hulls);
  g_free(frame->kept);
  g_free(frame->kept_lengths);
  g_free(frame->cut_lengths);
  g_free(frame->component_sums);
  g_free(frame->options);
  g_free(frame->layer_options);
  g_free(frame->choices);
  g_free(frame->coded_lengths);
  g_free(frame->ht_blocks);
  g_free(frame->ht_passes);
}

static Cj2kEncodeSlot *slot_in_use(const Cj2kEncoderFrame *frame)
{
  return frame->fallback ? frame->cpu_slot : frame->slot;
}

Cj2kStatus cj2k_encoder_frame_begin_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step)
{
  return step(frame->backend_data, slot_in_use(frame), &frame->job, &frame->error);
}

Cj2kStatus cj2k_encoder_frame_end_step(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status =
      frame->backend->wait(frame->backend_data, slot_in_use(frame), &frame->result, &frame->error);

  if (status == CJ2K_OK) {
    frame->ms_transform += frame->result.ms_transform;
    frame->ms_block_coder += frame->result.ms_block_coder;
  }
  return status;
}

Cj2kStatus cj2k_encoder_frame_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step)
{
  Cj2kStatus status = cj2k_encoder_frame_begin_step(frame, step);

  return status == CJ2K_OK ? cj2k_encoder_frame_end_step(frame) : status;
}

/* Replaces the chosen back end by the CPU back end for this frame. frame->error stays and holds the
 * reason. Fails for pictures in GPU memory, which the CPU back end cannot read. */
static Cj2kStatus fall_back(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;
  const Cj2kEncodeBackend *cpu = cj2k_cpu_encode_backend();
  Cj2kError reason = frame->error;

  if (frame->picture.memory == CJ2K_MEMORY_CUDA)
    return reason.code;
  g_mutex_lock(&encoder->lock);
  if (!encoder->cpu_data)
    encoder->cpu_data =
        cpu->open(&encoder->setup.params, encoder->plan, encoder->threads, &frame->error);
  g_mutex_unlock(&encoder->lock);
  if (encoder->cpu_data && !frame->cpu_slot)
    frame->cpu_slot = cpu->slot_new(encoder->cpu_data, &frame->error);
  if (!frame->cpu_slot)
    return frame->error.code;
  frame->backend = cpu;
  frame->backend_data = encoder->cpu_data;
  frame->fallback = true;
  frame->error = reason;
  return CJ2K_OK;
}

static Cj2kStatus transform(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;

  frame->backend = encoder->backend;
  frame->backend_data = encoder->backend_data;
  frame->job = (Cj2kEncodeJob){.plan = encoder->plan,
                               .layout = &encoder->layout,
                               .picture = &frame->picture,
                               .coder = frame->params.block_coder,
                               .rgb_to_xyz = frame->params.rgb_to_xyz == CJ2K_XYZ_ON,
                               .xyz_transfer = frame->params.xyz_transfer,
                               .quantisers = frame->steps.quantisers,
                               .stride = 1};
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->transform);
  if (status == CJ2K_ERROR_UNSUPPORTED && (status = fall_back(frame)) == CJ2K_OK)
    status = cj2k_encoder_frame_step(frame, frame->backend->transform);
  return status;
}

Cj2kStatus cj2k_encoder_frame_layout(Cj2kEncoderFrame *frame)
{
  gint64 start = g_get_monotonic_time();
  Cj2kStatus status = cj2k_codestream_layout(frame->writer, frame->steps.components, &frame->source,
                                             frame->encoder->threads, &frame->size, &frame->error);

  frame->ms_packets += (double)(g_get_monotonic_time() - start) / 1000;
  return status;
}

/* Writes the boxes of the file, if any, and the codestream. */
static void write_output(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderSetup *setup = &frame->encoder->setup;
  Cj2kByteBuffer *bytes = &frame->output->bytes;
  gint64 start = g_get_monotonic_time();

  bytes->size = 0;
  if (frame->params.file_format != CJ2K_FILE_J2K)
    cj2k_write_boxes(bytes, frame->encoder->header, setup->channels, setup->image.colour,
                     frame->params.file_format, frame->size.total);
  cj2k_bytes_reserve(bytes, frame->size.total);
  cj2k_codestream_write(frame->writer, &frame->source, frame->encoder->threads,
                        bytes->data + bytes->size);
  bytes->size += frame->size.total;
  frame->ms_packets += (double)(g_get_monotonic_time() - start) / 1000;
}

void cj2k_encoder_frame_begin(Cj2kEncoderFrame *frame)
{
  frame->status = cj2k_encoder_frame_take_slot(frame) ? transform(frame) : frame->error.code;
}

void cj2k_encoder_frame_end(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;

  if (frame->status == CJ2K_OK)
    frame->status = cj2k_encoder_frame_code(frame);
  /* Dropping a GPU slot helps only if the GPU ran out of memory, not the CPU back end. */
  while (frame->status == CJ2K_ERROR_MEMORY && !frame->fallback && frame->slot &&
         cj2k_encoder_frame_drop_slot(frame)) {
    cj2k_encoder_frame_begin(frame);
    if (frame->status == CJ2K_OK)
      frame->status = cj2k_encoder_frame_code(frame);
  }
  if (frame->status == CJ2K_OK)
    write_output(frame);
  else
    cj2k_encoder_frame_remember(frame);
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
