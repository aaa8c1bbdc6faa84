/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The least budget that a codestream can keep: that of headers around empty code-blocks. */
#include "encoder.h"

#include "common/runtime/error.h"

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

  if (status == CJ2K_OK)
    encoder->least_bytes = size.total;
  g_free(empty);
  g_free(lengths);
  g_free(passes);
  g_free(kept);
  return status;
}

Cj2kStatus cj2k_encoder_check_least(Cj2kEncoder *encoder, uint64_t budget, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &encoder->setup.params;
  const Cj2kWriteOptions options = {
      .comment = encoder->comment, .tile_parts = p->tile_parts, .tlm = p->tlm, .plt = p->plt};

  if (!encoder->least_bytes) {
    Cj2kCodestreamWriter *writer = NULL;
    Cj2kStatus status = cj2k_codestream_writer_new(encoder->plan, &options, &writer, error);
    if (status == CJ2K_OK)
      status = lay_out_empty(encoder, writer, error);
    cj2k_codestream_writer_free(writer);
    if (status != CJ2K_OK)
      return status;
  }
  if (budget >= encoder->least_bytes)
    return CJ2K_OK;
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes is too small: headers need %" G_GUINT64_FORMAT " bytes",
                        budget, encoder->least_bytes);
}
