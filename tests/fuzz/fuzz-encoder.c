/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoder parameters and strange pictures: whatever is accepted ends with a codestream within its
 * budget, or with a reason. The rate changes between frames. Some pictures come row by row, and
 * some of these are dropped. A quarter of the inputs is coded in slices, half of these together.
 */
#include "common/encoder/encoder.h"
#include "picture-input.h"

/* What slices exclude, which the other parameters mostly have. */
static void make_slices(Cj2kEncoderParams *params)
{
  params->slices = true;
  params->progression = CJ2K_PCRL;
  params->num_layers = 1;
  params->tile_width = params->tile_height = 0;
  params->tile_parts = 0;
  params->tlm = false;
  params->plt = CJ2K_PLT_AUTO;
  params->file_format = CJ2K_FILE_J2K;
  params->average_bitrate = 0;
  params->num_regions = 0;
  if (params->max_frame_bytes)
    params->rate_control = CJ2K_RATE_CBR;
}

/* As with CUDA, slices that are there are coded together. */
static void code_together(Cj2kEncoder *encoder)
{
  static Cj2kEncodeBackend together;
  together = *encoder->backend.functions;
  together.rows_at_once = true;
  encoder->backend.functions = &together;
}

/* The budget that holds whatever the rate control is. */
static void check_packet(const Cj2kPacket *packet, const Cj2kEncoderParams *params)
{
  if (packet->status != CJ2K_OK) {
    FUZZ_CHECK(packet->error.text[0], "status %d without a reason", packet->status);
    return;
  }
  FUZZ_CHECK(packet->size, "no bytes");
  if (params->max_frame_bytes && params->file_format == CJ2K_FILE_J2K)
    FUZZ_CHECK(packet->size + params->frame_overhead <= params->max_frame_bytes,
               "%zu bytes, %" G_GUINT64_FORMAT " are allowed", packet->size,
               params->max_frame_bytes);
}

/* Submits the picture. The bytes of the rate that comes next also say how. */
static Cj2kStatus submit(Cj2kEncoder *encoder, const FuzzPicture *p, FuzzInput in, Cj2kError *error)
{
  uint32_t how = (uint32_t)fuzz_take(&in, 1), step = 1 + (uint32_t)fuzz_take(&in, 1) % 64;
  Cj2kError refused = {0};

  if (how % 4 == 0)
    return cj2k_encoder_submit(encoder, &p->picture, NULL, error);
  Cj2kStatus status = cj2k_encoder_begin(encoder, &p->picture, NULL, error);
  if (status != CJ2K_OK)
    return status;
  for (uint32_t rows = how / 4; rows <= p->image.height; rows += step)
    FUZZ_CHECK(cj2k_encoder_append(encoder, rows, error) == CJ2K_OK, "row %u: %s", rows,
               error->text);
  FUZZ_CHECK(cj2k_encoder_append(encoder, p->image.height + 1, &refused) == CJ2K_ERROR_ARGUMENT,
             "too many rows are taken");
  if (how % 4 == 1) {
    cj2k_encoder_drop(encoder);
    return cj2k_encoder_submit(encoder, &p->picture, NULL, error);
  }
  return cj2k_encoder_end(encoder, error);
}

static void encode(Cj2kEncoder *encoder, const FuzzPicture *p, Cj2kEncoderParams *params,
                   FuzzInput *in)
{
  Cj2kError error = {0};
  Cj2kPacket packet;
  uint32_t frames = fuzz_range(in, 1, 3);

  for (uint32_t i = 0; i < frames; i++) {
    Cj2kStatus status = submit(encoder, p, *in, &error);
    FUZZ_CHECK(status == CJ2K_OK || error.text[0], "status %d without a reason", status);
    if (status != CJ2K_OK)
      return;
    FUZZ_CHECK(cj2k_encoder_receive(encoder, &packet) == CJ2K_OK, "no packet");
    check_packet(&packet, params);
    cj2k_encoder_release(encoder, &packet);
    Cj2kEncoderParams changed = *params;
    changed.quality = (uint32_t)fuzz_take(in, 1);
    changed.max_frame_bytes = fuzz_take(in, 2);
    if (cj2k_encoder_set_rate(encoder, &changed, &error) == CJ2K_OK)
      params->max_frame_bytes = changed.max_frame_bytes;
  }
  FUZZ_CHECK(cj2k_encoder_receive(encoder, &packet) == CJ2K_END, "a packet too many");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  FuzzInput in = fuzz_input(data, size);
  FuzzPicture picture;
  Cj2kEncoderParams params;
  Cj2kError error = {0};

  fuzz_params_read(&params, &in);
  fuzz_picture_read(&picture, &in);
  if (size % 4 == 1)
    make_slices(&params);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  FUZZ_CHECK(encoder || error.text[0], "refused without a reason");
  if (encoder && size % 8 == 5)
    code_together(encoder);
  if (encoder) {
    FuzzInput rates = in;
    in.at += MIN(fuzz_left(&in), 10);
    fuzz_fill_planes(&picture, &params, &in);
    encode(encoder, &picture, &params, &rates);
    fuzz_picture_clear(&picture);
  }
  cj2k_encoder_close(encoder);
  return 0;
}
