/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "params.h"

#include "common/rate/steps.h"

#include <glib.h>
#include <string.h>

static void fill_coding(const Cj2kEncoderSetup *setup, Cj2kCoding *coding)
{
  const Cj2kEncoderParams *p = &setup->params;

  coding->num_levels = p->num_resolutions - 1;
  coding->log2_block_width = (uint8_t)g_bit_nth_msf(p->codeblock_width, -1);
  coding->log2_block_height = (uint8_t)g_bit_nth_msf(p->codeblock_height, -1);
  coding->block_style = p->codeblock_style | (p->block_coder == CJ2K_CODER_HT ? CJ2K_STYLE_HT : 0);
  coding->reversible = p->reversible_transform;
  for (uint32_t r = 0; r < p->num_resolutions; r++) {
    /* The parameters begin at the highest resolution and repeat their last entry. */
    uint32_t from_top = p->num_resolutions - 1u - r;
    uint32_t i = p->num_precincts ? MIN(from_top, p->num_precincts - 1u) : 0;
    coding->log2_precinct_width[r] = p->num_precincts ? p->precinct_width[i] : 15;
    coding->log2_precinct_height[r] = p->num_precincts ? p->precinct_height[i] : 15;
  }
}

/* Sets two progression volumes for 4K cinema: first everything up to 2K, then the highest
 * resolution. */
static void fill_volumes(const Cj2kEncoderSetup *setup, Cj2kHeader *header)
{
  uint8_t levels = setup->params.num_resolutions - 1;
  uint16_t components = (uint16_t)setup->image.num_components;

  if (setup->params.profile != CJ2K_PROFILE_CINEMA_4K)
    return;
  header->coding.num_volumes = 2;
  header->coding.volumes = g_new0(Cj2kProgressionVolume, 2);
  header->coding.volumes[0] = (Cj2kProgressionVolume){
      .res_end = levels, .comp_end = components, .layer_end = 1, .order = CJ2K_CPRL};
  header->coding.volumes[1] = (Cj2kProgressionVolume){.res_start = levels,
                                                      .res_end = levels + 1,
                                                      .comp_end = components,
                                                      .layer_end = 1,
                                                      .order = CJ2K_CPRL};
}

static void fill_size(const Cj2kEncoderSetup *setup, Cj2kHeader *header)
{
  const Cj2kEncoderParams *p = &setup->params;

  header->x0 = p->image_x0;
  header->y0 = p->image_y0;
  header->x1 = p->image_x0 + setup->image.width;
  header->y1 = p->image_y0 + setup->image.height;
  header->tx0 = p->tile_x0;
  header->ty0 = p->tile_y0;
  header->tdx = p->tile_width ? p->tile_width : header->x1 - header->tx0;
  header->tdy = p->tile_height ? p->tile_height : header->y1 - header->ty0;
  header->num_tiles_x =
      (uint32_t)(((uint64_t)header->x1 - header->tx0 + header->tdx - 1) / header->tdx);
  header->num_tiles_y =
      (uint32_t)(((uint64_t)header->y1 - header->ty0 + header->tdy - 1) / header->tdy);
}

Cj2kHeader *cj2k_setup_header(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;
  Cj2kHeader size = {0};
  fill_size(setup, &size);
  Cj2kHeader *header =
      cj2k_header_new(setup->image.num_components, size.num_tiles_x * size.num_tiles_y);

  fill_size(setup, header);
  header->rsiz = setup->rsiz;
  memcpy(header->components, setup->components,
         setup->image.num_components * sizeof *setup->components);
  if (p->block_coder == CJ2K_CODER_HT) {
    header->rsiz |= 0x4000; /* T.814 A.2: a capability of a later part is used */
    header->has_cap = true;
    header->pcap = 1u << (32 - 15); /* only Ccap15 is present */
  }
  header->coding.progression = (uint8_t)p->progression;
  header->coding.num_layers = p->num_layers;
  header->coding.mct = setup->mct;
  header->coding.sop = p->sop;
  header->coding.eph = p->eph;
  fill_volumes(setup, header);
  for (uint32_t c = 0; c < setup->image.num_components; c++) {
    fill_coding(setup, &header->coding.coding[c]);
    cj2k_quantisation_init(&header->coding.quantisation[c], header, c, p->guard_bits);
  }
  return header;
}
