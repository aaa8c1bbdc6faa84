/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The smallest size of a codestream: headers around empty code-blocks. */
#include "encoder.h"

/* Base of the step sizes. Any value will do: it does not affect whether components need a QCC of
 * their own. */
#define BASE 0.01

/* Lays out a picture without a single coded byte. */
static Cj2kStatus lay_out_empty(Cj2kEncoder *encoder, const Cj2kQuantisation *quantisation,
                                Cj2kCodestreamSize *size, Cj2kError *error)
{
  uint16_t num_layers = encoder->setup.params.num_layers;
  size_t blocks = (size_t)encoder->plan->num_blocks + 1;
  Cj2kEncodedBlock *empty = g_new0(Cj2kEncodedBlock, blocks);
  uint32_t *lengths = g_new0(uint32_t, blocks);
  Cj2kPassLength *passes = g_new0(Cj2kPassLength, 1);
  uint8_t *retained = g_new0(uint8_t, blocks * num_layers);
  Cj2kPacketSource source = {.blocks = empty,
                             .passes = passes,
                             .num_layers = num_layers,
                             .retained = retained,
                             .lengths = num_layers == 1 ? lengths : NULL};
  Cj2kStatus status = cj2k_codestream_layout(encoder->ring.frames[0].rate.layout.writer,
                                             quantisation, &source, encoder->threads, size, error);

  g_free(empty);
  g_free(lengths);
  g_free(passes);
  g_free(retained);
  return status;
}

Cj2kStatus cj2k_encoder_find_least(Cj2kEncoder *encoder, Cj2kError *error)
{
  uint32_t n = encoder->plan->num_components;
  const Cj2kCeilings ceilings = cj2k_ceilings(
      UINT64_MAX, UINT64_MAX, n, encoder->setup.params.profile == CJ2K_PROFILE_CINEMA_4K);
  Cj2kFrameSteps steps;
  Cj2kCodestreamSize size;

  cj2k_frame_steps_init(&steps, encoder->plan, encoder->rate.visual, 0);
  cj2k_frame_steps_set(&steps, encoder->plan, BASE, NULL);
  Cj2kStatus status = lay_out_empty(encoder, steps.components, &size, error);
  encoder->rate.least.main_header = cj2k_codestream_main_header_size(
      encoder->ring.frames[0].rate.layout.writer, steps.components);
  cj2k_frame_steps_clear(&steps);
  if (status != CJ2K_OK)
    return status;
  encoder->rate.least.frame = size.total;
  encoder->rate.least.components = g_new(uint64_t, n);
  for (uint32_t c = 0; c < n; c++)
    encoder->rate.least.components[c] = cj2k_ceilings_counted(&ceilings, &size, c);
  return CJ2K_OK;
}
