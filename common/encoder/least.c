/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The least budget that a codestream can keep: that of headers around empty code-blocks. */
#include "encoder.h"

#include "common/runtime/error.h"

/* In 4K cinema only the 2K image counts (docs/profiles.md). */
static uint64_t component_bytes(const Cj2kEncoder *encoder, const Cj2kCodestreamSize *size,
                                uint32_t c)
{
  bool cinema_4k = encoder->setup.params.profile == CJ2K_PROFILE_CINEMA_4K;
  uint64_t sum = 0;

  for (uint32_t r = 0; r < size->num_resolutions - cinema_4k; r++)
    sum += size->components[(size_t)c * size->num_resolutions + r];
  return sum;
}

/* Lays out a picture without a single coded byte. */
static Cj2kStatus lay_out_empty(Cj2kEncoder *encoder, Cj2kCodestreamWriter *writer,
                                Cj2kError *error)
{
  const Cj2kEncoderParams *p = &encoder->setup.params;
  size_t blocks = (size_t)encoder->plan->num_blocks + 1;
  Cj2kEncodedBlock *empty = g_new0(Cj2kEncodedBlock, blocks);
  uint32_t *lengths = g_new0(uint32_t, blocks);
  Cj2kPassLength *passes = g_new0(Cj2kPassLength, 1);
  uint8_t *kept = g_new0(uint8_t, blocks * p->num_layers);
  Cj2kPacketSource source = {.blocks = empty,
                             .passes = passes,
                             .num_layers = p->num_layers,
                             .kept = kept,
                             .lengths = p->num_layers == 1 ? lengths : NULL};
  Cj2kCodestreamSize size;
  Cj2kStatus status = cj2k_codestream_layout(writer, encoder->header->coding.quantisation, &source,
                                             NULL, &size, error);

  for (uint32_t c = 0; status == CJ2K_OK && c < encoder->plan->num_components; c++)
    encoder->least_component_bytes =
        MAX(encoder->least_component_bytes, component_bytes(encoder, &size, c));
  if (status == CJ2K_OK)
    encoder->least_bytes = size.total;
  g_free(empty);
  g_free(lengths);
  g_free(passes);
  g_free(kept);
  return status;
}

static Cj2kStatus find_least(Cj2kEncoder *encoder, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &encoder->setup.params;
  const Cj2kWriteOptions options = {
      .comment = encoder->comment, .tile_parts = p->tile_parts, .tlm = p->tlm, .plt = p->plt};
  Cj2kCodestreamWriter *writer = NULL;
  Cj2kStatus status = cj2k_codestream_writer_new(encoder->plan, &options, &writer, error);

  if (status == CJ2K_OK)
    status = lay_out_empty(encoder, writer, error);
  cj2k_codestream_writer_free(writer);
  return status;
}

static Cj2kStatus refuse(const char *of, uint64_t budget, uint64_t least, Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes%s is too small: headers need %" G_GUINT64_FORMAT " bytes",
                        budget, of, least);
}

Cj2kStatus cj2k_encoder_check_least(Cj2kEncoder *encoder, const Cj2kEncoderSetup *setup,
                                    Cj2kError *error)
{
  uint64_t frame = cj2k_setup_frame_bytes(setup), component = cj2k_setup_component_bytes(setup);
  Cj2kStatus status;

  if (!encoder->least_bytes && (status = find_least(encoder, error)) != CJ2K_OK)
    return status;
  if (frame < encoder->least_bytes)
    return refuse("", frame, encoder->least_bytes, error);
  if (component < encoder->least_component_bytes)
    return refuse(" for a component", component, encoder->least_component_bytes, error);
  return CJ2K_OK;
}
