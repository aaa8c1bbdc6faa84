/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "params.h"

#include "common/options/encoder_options.h"
#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cj2k_encoder_params_init(Cj2kEncoderParams *params)
{
  *params = (Cj2kEncoderParams){
      .cuda_device = -1,
      .frames_in_flight = 2,
      .num_resolutions = 6,
      .codeblock_width = 64,
      .codeblock_height = 64,
      .num_layers = 1,
      .average_window = CJ2K_DEFAULT_WINDOW,
      .plt = CJ2K_PLT_AUTO,
  };
}

void cj2k_setup_warn(Cj2kEncoderSetup *setup, const char *format, ...)
{
  size_t used = strlen(setup->warning);
  va_list arguments;

  if (used)
    used = g_strlcat(setup->warning, "; ", sizeof setup->warning);
  if (used >= sizeof setup->warning)
    return;
  va_start(arguments, format);
  vsnprintf(setup->warning + used, sizeof setup->warning - used, format, arguments);
  va_end(arguments);
}

#define DEFAULT_HLG_PEAK 1000 /* cd/m2; BT.2100 */

#define REFUSE(...) return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, __VA_ARGS__)

/* Checks what the ranges of single parameters do not cover. */
static Cj2kStatus check_values(const Cj2kEncoderParams *p, Cj2kError *error)
{
  uint32_t width = p->codeblock_width, height = p->codeblock_height;

  if (width * height > 4096)
    REFUSE("code-block %u x %u: at most 4096 samples are allowed", width, height);
  if (p->block_coder == CJ2K_CODER_HT && p->codeblock_style & ~CJ2K_STYLE_CAUSAL)
    REFUSE("codeblock-style 0x%02x: block-coder ht allows only causal (0x08)", p->codeblock_style);
  if ((uint32_t)p->file_format > CJ2K_FILE_JPH)
    REFUSE("file format %d is not known", (int)p->file_format);
  return CJ2K_OK;
}

static Cj2kStatus check_precincts(const Cj2kEncoderParams *p, Cj2kError *error)
{
  if (p->num_precincts > p->num_resolutions)
    REFUSE("precincts: %u given for num-resolutions %u", p->num_precincts, p->num_resolutions);
  for (uint32_t i = 0; i < p->num_precincts; i++) {
    bool lowest = i + 1u == p->num_resolutions;
    uint32_t w = p->precinct_width[i], h = p->precinct_height[i];
    if (w > 15 || h > 15 || (!lowest && (w < 1 || h < 1)))
      REFUSE(
          "precinct %u: 2^%u x 2^%u is not allowed (A.6.1: exponents 1..15, 0 only at the lowest resolution)",
          i, w, h);
  }
  uint32_t last = p->num_precincts ? p->num_precincts - 1u : 0;
  if (p->num_precincts && p->num_precincts < p->num_resolutions &&
      (p->precinct_width[last] < 1 || p->precinct_height[last] < 1))
    REFUSE("precinct %u is repeated downwards and must have exponents of at least 1", last);
  return CJ2K_OK;
}

/* Sets the number of layers from the list of rates, if num-layers was left at 1. */
static Cj2kStatus set_layers(Cj2kEncoderParams *p, Cj2kError *error)
{
  double last = 0;

  if (p->num_layer_rates > CJ2K_MAX_LAYERS)
    REFUSE("layer-rates has %u rates, %u are allowed", p->num_layer_rates, CJ2K_MAX_LAYERS);
  if (p->num_layer_rates && p->num_layers == 1)
    p->num_layers = p->num_layer_rates;
  if (p->num_layer_rates > p->num_layers)
    REFUSE("layer-rates has %u rates for num-layers %u", p->num_layer_rates, p->num_layers);
  for (uint32_t l = 0; l < p->num_layers; l++) {
    double rate = p->layer_rates[l];
    if (!(rate >= 0 && rate <= CJ2K_MAX_BITS_PER_PIXEL))
      REFUSE("layer-rates: %g of layer %u is not a number in 0..%u", rate, l,
             CJ2K_MAX_BITS_PER_PIXEL);
    if (rate > 0 && rate < last)
      REFUSE(
          "layer-rates: %g of layer %u is less than that of an earlier layer; rates are cumulative",
          rate, l);
    last = rate > 0 ? rate : last;
  }
  return CJ2K_OK;
}

static Cj2kStatus check_grid(const Cj2kEncoderParams *p, const Cj2kEncoderImage *image,
                             Cj2kError *error)
{
  if (!image->width || !image->height)
    REFUSE("image of %u x %u samples", image->width, image->height);
  if ((uint64_t)p->image_x0 + image->width > UINT32_MAX ||
      (uint64_t)p->image_y0 + image->height > UINT32_MAX)
    REFUSE("image offset and size leave the reference grid of 2^32 - 1");
  if (p->tile_x0 > p->image_x0 || p->tile_y0 > p->image_y0)
    REFUSE("tile offset (%u, %u) lies beyond the image offset (%u, %u) (B-3)", p->tile_x0,
           p->tile_y0, p->image_x0, p->image_y0);
  if (p->tile_width && (uint64_t)p->tile_x0 + p->tile_width <= p->image_x0)
    REFUSE("tile offset %u and tile-width %u: the first tile is left of the image (B-4)",
           p->tile_x0, p->tile_width);
  if (p->tile_height && (uint64_t)p->tile_y0 + p->tile_height <= p->image_y0)
    REFUSE("tile offset %u and tile-height %u: the first tile is above the image (B-4)", p->tile_y0,
           p->tile_height);
  uint64_t tiles_x =
      p->tile_width
          ? (p->image_x0 - (uint64_t)p->tile_x0 + image->width + p->tile_width - 1) / p->tile_width
          : 1;
  uint64_t tiles_y =
      p->tile_height ? (p->image_y0 - (uint64_t)p->tile_y0 + image->height + p->tile_height - 1) /
                           p->tile_height
                     : 1;
  if (tiles_x * tiles_y > 65535)
    REFUSE("tile-width and tile-height make %" G_GUINT64_FORMAT " tiles, 65535 are allowed",
           tiles_x * tiles_y);
  return CJ2K_OK;
}

static uint32_t ceil_div(uint64_t a, uint32_t b)
{
  return (uint32_t)((a + b - 1) / b);
}

/* Checks the components, and gives each its place on its own grid (B-1, B-2). */
static Cj2kStatus set_components(Cj2kEncoderSetup *setup, const Cj2kLayout *layout,
                                 Cj2kError *error)
{
  const Cj2kEncoderParams *p = &setup->params;
  uint32_t n = setup->image.num_components;

  if (layout->num_components < n)
    REFUSE("the layout has %u components, the image %u", layout->num_components, n);
  for (uint32_t c = 0; c < n; c++) {
    Cj2kComponent *component = &setup->components[c];
    if (!component->dx || !component->dy)
      REFUSE("component %u: sub-sampling %u x %u", c, component->dx, component->dy);
    if (component->depth < 1 || component->depth > 16)
      REFUSE("component %u: depth %u is not in 1..16", c, component->depth);
    if (component->depth > layout->samples[c].depth)
      REFUSE("component %u: depth %u is more than the %u bits of the layout", c, component->depth,
             layout->samples[c].depth);
    component->x0 = ceil_div(p->image_x0, component->dx);
    component->y0 = ceil_div(p->image_y0, component->dy);
    component->x1 = ceil_div((uint64_t)p->image_x0 + setup->image.width, component->dx);
    component->y1 = ceil_div((uint64_t)p->image_y0 + setup->image.height, component->dy);
    if (component->x0 >= component->x1 || component->y0 >= component->y1)
      REFUSE("component %u has no samples: sub-sampling %u x %u, image %u x %u at (%u, %u)", c,
             component->dx, component->dy, setup->image.width, setup->image.height, p->image_x0,
             p->image_y0);
  }
  return CJ2K_OK;
}

static bool first_three_equal(const Cj2kEncoderSetup *setup)
{
  const Cj2kComponent *c = setup->components;
  if (setup->image.num_components < 3)
    return false;
  for (uint32_t i = 1; i < 3; i++)
    if (c[i].dx != c[0].dx || c[i].dy != c[0].dy || c[i].depth != c[0].depth ||
        c[i].is_signed != c[0].is_signed)
      return false;
  return true;
}

static Cj2kStatus set_colour(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params;
  bool equal = first_three_equal(setup), cinema = cj2k_profile_is_cinema(p->profile);

  if (p->rgb_to_xyz == CJ2K_XYZ_AUTO)
    p->rgb_to_xyz = cinema && setup->image.colour == CJ2K_COLOUR_SRGB ? CJ2K_XYZ_ON : CJ2K_XYZ_OFF;
  if (cinema && setup->image.colour == CJ2K_COLOUR_SYCC)
    REFUSE("Y'CbCr contradicts profile %s, which has R'G'B' (converted to X'Y'Z') or X'Y'Z'",
           cj2k_profile_name(p->profile));
  if (p->xyz_transfer != CJ2K_TRANSFER_AUTO && p->rgb_to_xyz != CJ2K_XYZ_ON)
    cj2k_setup_warn(setup, "xyz-transfer has no effect: nothing is converted to X'Y'Z'");
  if (p->xyz_primaries != CJ2K_PRIMARIES_AUTO && p->rgb_to_xyz != CJ2K_XYZ_ON)
    cj2k_setup_warn(setup, "xyz-primaries has no effect: nothing is converted to X'Y'Z'");
  if (p->xyz_transfer == CJ2K_TRANSFER_AUTO)
    p->xyz_transfer = CJ2K_TRANSFER_BT709;
  if (p->hlg_peak > 0 && p->hlg_peak != DEFAULT_HLG_PEAK && p->xyz_transfer != CJ2K_TRANSFER_HLG)
    cj2k_setup_warn(setup, "hlg-peak has no effect without xyz-transfer hlg");
  if (!(p->hlg_peak > 0))
    p->hlg_peak = DEFAULT_HLG_PEAK;
  if (p->rgb_to_xyz == CJ2K_XYZ_ON) {
    if (setup->image.num_components != 3 || !equal || setup->components[0].is_signed)
      REFUSE("conversion to XYZ needs three unsigned components of equal depth and sampling");
    for (uint32_t c = 0; c < 3; c++)
      setup->components[c].depth = 12;
    setup->image.colour = CJ2K_COLOUR_XYZ;
    if (setup->image.cicp.primaries)
      /* SMPTE ST 428-1, or its primaries with ST 2084 */
      setup->image.cicp = (Cj2kCicp){10, p->xyz_transfer >= CJ2K_TRANSFER_PQ ? 16 : 17, 0, true};
  }
  if (p->mct == CJ2K_MCT_ON && !equal)
    REFUSE("mct on needs three components of equal depth, sign and sampling");
  bool rgb = setup->image.colour == CJ2K_COLOUR_SRGB || setup->image.colour == CJ2K_COLOUR_XYZ;
  setup->mct = p->mct == CJ2K_MCT_ON || (p->mct == CJ2K_MCT_AUTO && equal && rgb);
  return CJ2K_OK;
}

/* Checks regions of interest. */
static Cj2kStatus check_regions(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &setup->params;

  if (p->num_regions > CJ2K_MAX_REGIONS)
    REFUSE("roi has %u regions, %u are allowed", p->num_regions, CJ2K_MAX_REGIONS);
  for (uint32_t i = 0; i < p->num_regions; i++)
    if (!p->regions[i].width || !p->regions[i].height ||
        !(p->regions[i].weight >= 1.0 / 64 && p->regions[i].weight <= 64))
      REFUSE("roi: region %u is empty or has a weight outside of 1/64..64", i);
  for (uint32_t i = 0; i < p->num_regions; i++)
    if (p->regions[i].x >= setup->image.width || p->regions[i].y >= setup->image.height)
      cj2k_setup_warn(setup, "roi: region %u at %u, %u has no effect: the picture has %u x %u", i,
                      p->regions[i].x, p->regions[i].y, setup->image.width, setup->image.height);
  return CJ2K_OK;
}

/* Slices leave before what follows them is known. */
static Cj2kStatus check_slices(const Cj2kEncoderSetup *setup, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &setup->params;
  bool budget = cj2k_setup_frame_bytes(setup) != UINT64_MAX;

  if (p->slice_buffer_lines && !(p->slices && budget))
    REFUSE("slice-buffer-lines needs slices and a ceiling");
  if (!p->slices)
    return CJ2K_OK;
  if (p->progression != CJ2K_PCRL)
    REFUSE("slices need progression-order pcrl");
  if (p->tile_width || p->tile_height || p->tile_parts || p->num_layers > 1)
    REFUSE("slices need one tile, one tile-part and one layer");
  if (p->tlm || p->plt == CJ2K_PLT_ON || p->file_format != CJ2K_FILE_J2K)
    REFUSE("slices leave before TLM, PLT and boxes could be written");
  if (p->average_bitrate || p->num_regions || cj2k_setup_component_bytes(setup) != UINT64_MAX)
    REFUSE("slices allow neither average-bitrate nor roi nor ceilings of components");
  if (budget && (p->rate_control != CJ2K_RATE_CBR || p->reversible_transform))
    REFUSE("slices with a ceiling need rate-control cbr and the 9/7 filter");
  return CJ2K_OK;
}

static Cj2kStatus check_combination(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params;

  if (p->rate_control == CJ2K_RATE_LOSSLESS && p->rgb_to_xyz == CJ2K_XYZ_ON)
    REFUSE("rate-control lossless and conversion to X'Y'Z' contradict each other");
  Cj2kStatus status = check_regions(setup, error);
  if (status != CJ2K_OK)
    return status;
  if (p->rate_control == CJ2K_RATE_CBR && cj2k_setup_frame_bytes(setup) == UINT64_MAX &&
      !p->average_bitrate)
    REFUSE("rate-control cbr needs bitrate, average-bitrate, bits-per-pixel or max-frame-bytes");
  if (p->num_regions && (p->rate_control != CJ2K_RATE_CBR || p->average_bitrate))
    REFUSE("roi needs rate-control cbr%s",
           p->rate_control == CJ2K_RATE_CBR ? " without average-bitrate" : "");
  if (p->average_bitrate && p->reversible_transform)
    REFUSE("average-bitrate needs step sizes, which the reversible transform has not");
  if (p->average_bitrate && cj2k_setup_average_bytes(setup) > cj2k_setup_frame_bytes(setup))
    REFUSE("average-bitrate: %" G_GUINT64_FORMAT " bytes a frame are more than the ceiling of a "
           "frame, %" G_GUINT64_FORMAT,
           cj2k_setup_average_bytes(setup), cj2k_setup_frame_bytes(setup));
  return check_slices(setup, error);
}

/* Checks types and associations for the channel definition box (T.800 I.5.3.6): no two channels may
 * have the same pair. */
static Cj2kStatus check_channels(const Cj2kEncoderImage *image, Cj2kError *error)
{
  for (uint32_t c = 0; image->channels && c < image->num_components; c++) {
    const Cj2kChannel *channel = &image->channels[c];
    if (channel->type > CJ2K_CHANNEL_PREMULTIPLIED && channel->type != CJ2K_CHANNEL_UNSPECIFIED)
      REFUSE("channel %u is of type %u: 0 colour, 1 opacity, 2 premultiplied opacity and 65535 are "
             "defined",
             c, channel->type);
    if (channel->type == CJ2K_CHANNEL_UNSPECIFIED)
      continue;
    bool colour = channel->type == CJ2K_CHANNEL_COLOUR;
    if (colour ? !channel->association || channel->association > image->num_components
               : channel->association > image->num_components && channel->association != 65535)
      REFUSE("channel %u of type %u belongs to colour %u, there are %u components", c,
             channel->type, channel->association, image->num_components);
    for (uint32_t i = 0; i < c; i++)
      if (image->channels[i].type == channel->type &&
          image->channels[i].association == channel->association)
        REFUSE("channels %u and %u are of the same type %u for the same colour %u", i, c,
               channel->type, channel->association);
  }
  return CJ2K_OK;
}

/* Code points 0 of primaries and transfer are reserved; all have eight bits in H.273. */
static Cj2kStatus check_cicp(const Cj2kEncoderImage *image, Cj2kError *error)
{
  const Cj2kCicp *cicp = &image->cicp;
  bool rgb = image->colour == CJ2K_COLOUR_SRGB || image->colour == CJ2K_COLOUR_XYZ;

  if (!cicp->primaries)
    return CJ2K_OK;
  if (cicp->primaries > 255 || !cicp->transfer || cicp->transfer > 255 || cicp->matrix > 255)
    REFUSE("colour code points %u, %u, %u: primaries and transfer are in 1..255, the matrix in "
           "0..255 (H.273)",
           cicp->primaries, cicp->transfer, cicp->matrix);
  if (rgb && cicp->matrix && cicp->matrix != 2)
    REFUSE("matrix %u of the colour code points is for Y'CbCr, the image is R'G'B' or X'Y'Z'",
           cicp->matrix);
  if (image->colour == CJ2K_COLOUR_SYCC && !cicp->matrix)
    REFUSE("matrix 0 of the colour code points is for R'G'B', the image is Y'CbCr");
  return CJ2K_OK;
}

/* Files with HT code-blocks are JPH files (T.814 D.2). */
static Cj2kStatus set_file_format(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params;

  if (p->file_format == CJ2K_FILE_JPH && p->block_coder != CJ2K_CODER_HT)
    REFUSE("file format jph needs block-coder ht");
  if (p->file_format == CJ2K_FILE_JP2 && p->block_coder == CJ2K_CODER_HT) {
    p->file_format = CJ2K_FILE_JPH;
    cj2k_setup_warn(setup, "block-coder ht makes a JPH file (brand jph), not a JP2 file");
  }
  return CJ2K_OK;
}

static void copy_image(Cj2kEncoderSetup *setup, const Cj2kEncoderImage *image)
{
  setup->image = *image;
  setup->components =
      g_memdup2(image->components, image->num_components * sizeof *image->components);
  setup->image.components = setup->components;
  if (image->channels)
    setup->channels = g_memdup2(image->channels, image->num_components * sizeof *image->channels);
  setup->image.channels = setup->channels;
}

/* Sets the type of the channel that is no colour, or of the last one if all are. */
static void set_alpha(Cj2kEncoderSetup *setup)
{
  static const Cj2kChannel types[] = {
      [CJ2K_ALPHA_STRAIGHT] = {CJ2K_CHANNEL_OPACITY, 0},
      [CJ2K_ALPHA_PREMULTIPLIED] = {CJ2K_CHANNEL_PREMULTIPLIED, 0},
      [CJ2K_ALPHA_UNSPECIFIED] = {CJ2K_CHANNEL_UNSPECIFIED, 65535},
  };
  uint32_t n = setup->image.num_components, alpha = n - 1;

  if (setup->params.alpha == CJ2K_ALPHA_AUTO)
    return;
  if (n != 2 && n != 4) {
    cj2k_setup_warn(setup, "alpha has no effect on a picture of %u component%s", n,
                    n == 1 ? "" : "s");
    return;
  }
  if (!setup->channels) {
    setup->image.channels = setup->channels = g_new0(Cj2kChannel, n);
    for (uint32_t c = 0; c < n; c++)
      setup->channels[c].association = (uint16_t)(c + 1);
  }
  for (uint32_t c = 0; c < n; c++)
    if (setup->channels[c].type != CJ2K_CHANNEL_COLOUR)
      alpha = c;
  setup->channels[alpha] = types[setup->params.alpha];
}

Cj2kStatus cj2k_setup_init(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                           const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                           Cj2kError *error)
{
  Cj2kStatus status;

  *setup = (Cj2kEncoderSetup){.params = *params};
  if (!image->num_components || image->num_components > CJ2K_MAX_COMPONENTS)
    REFUSE("%u components are not in 1..%d", image->num_components, CJ2K_MAX_COMPONENTS);
  if ((uint32_t)image->colour > CJ2K_COLOUR_OTHER)
    REFUSE("colour %d of the image is not known", (int)image->colour);
  copy_image(setup, image);
  if ((status = cj2k_layout_check(layout, error)) != CJ2K_OK ||
      (status = cj2k_option_check(&cj2k_encoder_options, params, error)) != CJ2K_OK ||
      (status = cj2k_setup_latency(setup, error)) != CJ2K_OK ||
      (status = check_values(params, error)) != CJ2K_OK ||
      (status = check_channels(image, error)) != CJ2K_OK ||
      (status = check_cicp(image, error)) != CJ2K_OK ||
      (status = check_grid(params, image, error)) != CJ2K_OK ||
      (status = set_components(setup, layout, error)) != CJ2K_OK ||
      (status = set_colour(setup, error)) != CJ2K_OK ||
      (status = cj2k_setup_rate_mode(setup, error)) != CJ2K_OK ||
      (status = set_layers(&setup->params, error)) != CJ2K_OK ||
      (status = cj2k_profile_apply(setup, error)) != CJ2K_OK ||
      (status = check_precincts(&setup->params, error)) != CJ2K_OK ||
      (status = set_file_format(setup, error)) != CJ2K_OK)
    return status;
  set_alpha(setup);
  if (setup->params.rate_control == CJ2K_RATE_LOSSLESS)
    setup->params.reversible_transform = true;
  if (!setup->params.guard_bits)
    setup->params.guard_bits = 2;
  return check_combination(setup, error);
}

void cj2k_setup_clear(Cj2kEncoderSetup *setup)
{
  g_free(setup->components);
  g_free(setup->channels);
  setup->components = NULL;
  setup->channels = NULL;
}

Cj2kStatus cj2k_setup_change_rate(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                                  Cj2kError *error)
{
  Cj2kEncoderSetup changed = *setup;
  Cj2kEncoderParams *p = &changed.params;
  Cj2kStatus status;

  p->rate_control = params->rate_control;
  p->quality = params->quality;
  p->quant_step = params->quant_step;
  p->psnr = params->psnr;
  p->bitrate = params->bitrate;
  p->max_frame_bytes = params->max_frame_bytes;
  p->bits_per_pixel = params->bits_per_pixel;
  p->max_component_bytes = params->max_component_bytes;
  p->average_bitrate = params->average_bitrate;
  p->num_regions = params->num_regions;
  memcpy(p->regions, params->regions, sizeof p->regions);
  if ((status = cj2k_option_check(&cj2k_encoder_options, p, error)) != CJ2K_OK ||
      (status = cj2k_setup_rate_mode(&changed, error)) != CJ2K_OK)
    return status;
  if ((p->rate_control == CJ2K_RATE_LOSSLESS) != (setup->params.rate_control == CJ2K_RATE_LOSSLESS))
    REFUSE("rate-control cannot change between lossless and lossy while encoding");
  if (!p->average_bitrate != !setup->params.average_bitrate)
    REFUSE("average-bitrate cannot be turned on or off while encoding");
  if ((status = cj2k_profile_check_budget(&changed, error)) != CJ2K_OK ||
      (status = check_combination(&changed, error)) != CJ2K_OK)
    return status;
  memcpy(changed.warning, setup->warning, sizeof changed.warning);
  *setup = changed;
  return CJ2K_OK;
}
