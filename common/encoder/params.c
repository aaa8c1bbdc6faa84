/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "params.h"

#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <glib.h>
#include <math.h>
#include <string.h>

void cj2k_encoder_params_init(Cj2kEncoderParams *params)
{
  *params = (Cj2kEncoderParams){
      .cuda_device = -1,
      .rate_control = CJ2K_RATE_QUALITY,
      .quality = 85,
      .psnr = 45,
      .num_resolutions = 6,
      .codeblock_width = 64,
      .codeblock_height = 64,
      .num_layers = 1,
  };
}

#define REFUSE(...) return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, __VA_ARGS__)

static Cj2kStatus check_rate(const Cj2kEncoderParams *p, Cj2kError *error)
{
  static const char *const names[] = {"quality", "lossless", "cbr", "qstep", "psnr"};

  if (p->bits_per_pixel > 0 && p->rate_control != CJ2K_RATE_CBR &&
      (uint32_t)p->rate_control < G_N_ELEMENTS(names))
    REFUSE("bits-per-pixel %g contradicts rate-control %s: it is a budget of rate-control cbr",
           p->bits_per_pixel, names[p->rate_control]);
  switch (p->rate_control) {
  case CJ2K_RATE_LOSSLESS: break;
  case CJ2K_RATE_QUALITY:
    if (p->quality < 1 || p->quality > 100)
      REFUSE("quality %u is not in 1..100", p->quality);
    break;
  case CJ2K_RATE_QSTEP:
    if (!(p->quant_step > 0 && p->quant_step <= 0.5))
      REFUSE("quant-step %g is not in (0, 0.5]", p->quant_step);
    break;
  case CJ2K_RATE_PSNR:
    if (!(p->psnr >= 10 && p->psnr <= 120))
      REFUSE("psnr %g dB is not in 10..120", p->psnr);
    break;
  case CJ2K_RATE_CBR:
    if (!p->max_frame_bytes && !(p->bits_per_pixel > 0 && p->bits_per_pixel <= 1000) && !p->profile)
      REFUSE(
          "rate-control cbr needs max-frame-bytes or bits-per-pixel (in (0, 1000]), or a profile that sets it");
    break;
  default: REFUSE("rate-control %d is not known", (int)p->rate_control);
  }
  return CJ2K_OK;
}

/* Fields that must lie in a range whatever the others are. */
static Cj2kStatus check_ranges(const Cj2kEncoderParams *p, Cj2kError *error)
{
  uint32_t width = p->codeblock_width, height = p->codeblock_height;

  if (p->frames_in_flight > 16)
    REFUSE("frames-in-flight %u is not in 0..16", p->frames_in_flight);
  if (p->block_coder != CJ2K_CODER_MQ && p->block_coder != CJ2K_CODER_HT)
    REFUSE("block-coder %d is not known", (int)p->block_coder);
  if (p->num_resolutions < 1 || p->num_resolutions > CJ2K_MAX_LEVELS + 1)
    REFUSE("num-resolutions %u is not in 1..33", p->num_resolutions);
  if (width < 4 || width > 1024 || height < 4 || height > 1024 || width & (width - 1) ||
      height & (height - 1) || width * height > 4096)
    REFUSE("code-block %u x %u: sides must be powers of 2 in 4..1024 with at most 4096 samples",
           width, height);
  if (p->codeblock_style & ~0x3f)
    REFUSE("codeblock-style 0x%02x has bits that are not known (HT is set by block-coder)",
           p->codeblock_style);
  if (p->block_coder == CJ2K_CODER_HT && p->codeblock_style & ~CJ2K_STYLE_CAUSAL)
    REFUSE("codeblock-style 0x%02x: block-coder ht allows only causal (0x08)", p->codeblock_style);
  if ((uint32_t)p->progression > CJ2K_CPRL)
    REFUSE("progression-order %d is not known", (int)p->progression);
  if (p->num_layers < 1 || p->num_layers > CJ2K_MAX_LAYERS)
    REFUSE("num-layers %u is not in 1..%d", p->num_layers, CJ2K_MAX_LAYERS);
  if (p->guard_bits > 7)
    REFUSE("guard-bits %u is not in 0..7", p->guard_bits);
  if (p->tile_parts & ~7)
    REFUSE("tile-parts 0x%x has bits that are not known", p->tile_parts);
  if ((uint32_t)p->profile > CJ2K_PROFILE_IMF_8K_R)
    REFUSE("profile %d is not known", (int)p->profile);
  if (p->frame_rate < 0 || !isfinite(p->frame_rate))
    REFUSE("frame-rate %g is negative or not finite", p->frame_rate);
  if (p->comment && strlen(p->comment) > 60000)
    REFUSE("comment has %zu bytes, 60000 are allowed", strlen(p->comment));
  if ((uint32_t)p->file_format > CJ2K_FILE_JPH)
    REFUSE("file format %d is not known", (int)p->file_format);
  if ((uint32_t)p->xyz_transfer > CJ2K_TRANSFER_GAMMA28)
    REFUSE("xyz-transfer %d is not known", (int)p->xyz_transfer);
  return check_rate(p, error);
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

static Cj2kStatus check_layers(const Cj2kEncoderParams *p, Cj2kError *error)
{
  double last = 0;

  for (uint32_t l = 0; l < p->num_layers; l++) {
    double rate = p->layer_rates[l];
    if (!(rate >= 0) || !isfinite(rate))
      REFUSE("layer-rates: %g of layer %u is not a rate", rate, l);
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
  bool equal = first_three_equal(setup);

  if (p->rgb_to_xyz) {
    if (setup->image.num_components != 3 || !equal || setup->components[0].is_signed)
      REFUSE("conversion to XYZ needs three unsigned components of equal depth and sampling");
    for (uint32_t c = 0; c < 3; c++)
      setup->components[c].depth = 12;
    setup->image.colour = CJ2K_COLOUR_XYZ;
  }
  if (p->mct == CJ2K_MCT_ON && !equal)
    REFUSE("mct on needs three components of equal depth, sign and sampling");
  bool rgb = setup->image.colour == CJ2K_COLOUR_SRGB || setup->image.colour == CJ2K_COLOUR_XYZ;
  setup->mct = p->mct == CJ2K_MCT_ON || (p->mct == CJ2K_MCT_AUTO && equal && rgb);
  return CJ2K_OK;
}

static Cj2kStatus check_combination(const Cj2kEncoderSetup *setup, Cj2kError *error)
{
  const Cj2kEncoderParams *p = &setup->params;

  if (p->rate_control == CJ2K_RATE_LOSSLESS && p->rgb_to_xyz)
    REFUSE("rate-control lossless and conversion to XYZ contradict each other");
  if (p->reversible_transform &&
      (p->rate_control == CJ2K_RATE_QUALITY || p->rate_control == CJ2K_RATE_QSTEP ||
       p->rate_control == CJ2K_RATE_PSNR))
    REFUSE("reversible-transform has no step sizes: it goes with rate-control lossless or cbr");
  if (p->rate_control == CJ2K_RATE_CBR && cj2k_setup_frame_bytes(setup) == UINT64_MAX)
    REFUSE("rate-control cbr needs max-frame-bytes or bits-per-pixel");
  if (p->file_format == CJ2K_FILE_JPH && p->block_coder != CJ2K_CODER_HT)
    REFUSE("file format jph needs block-coder ht");
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

Cj2kStatus cj2k_setup_init(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                           const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                           Cj2kError *error)
{
  Cj2kStatus status;

  *setup = (Cj2kEncoderSetup){.params = *params};
  if (!image->num_components || image->num_components > CJ2K_MAX_COMPONENTS)
    REFUSE("%u components are not in 1..%d", image->num_components, CJ2K_MAX_COMPONENTS);
  copy_image(setup, image);
  if ((status = cj2k_layout_check(layout, error)) != CJ2K_OK ||
      (status = check_ranges(params, error)) != CJ2K_OK ||
      (status = check_grid(params, image, error)) != CJ2K_OK ||
      (status = set_components(setup, layout, error)) != CJ2K_OK ||
      (status = set_colour(setup, error)) != CJ2K_OK ||
      (status = cj2k_profile_apply(setup, error)) != CJ2K_OK ||
      (status = check_precincts(&setup->params, error)) != CJ2K_OK ||
      (status = check_layers(&setup->params, error)) != CJ2K_OK)
    return status;
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
  p->max_frame_bytes = params->max_frame_bytes;
  p->bits_per_pixel = params->bits_per_pixel;
  p->max_component_bytes = params->max_component_bytes;
  if ((p->rate_control == CJ2K_RATE_LOSSLESS) != (setup->params.rate_control == CJ2K_RATE_LOSSLESS))
    REFUSE("rate-control cannot change between lossless and lossy while encoding");
  if ((status = check_rate(p, error)) != CJ2K_OK ||
      (status = check_combination(&changed, error)) != CJ2K_OK)
    return status;
  *setup = changed;
  return CJ2K_OK;
}

uint64_t cj2k_setup_frame_bytes(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;
  uint64_t bytes = UINT64_MAX;

  if (p->max_frame_bytes)
    bytes = p->max_frame_bytes;
  else if (p->rate_control == CJ2K_RATE_CBR && p->bits_per_pixel > 0)
    bytes = (uint64_t)(p->bits_per_pixel * setup->image.width * setup->image.height / 8);
  if (setup->profile_frame_bytes)
    bytes = MIN(bytes, setup->profile_frame_bytes);
  return bytes;
}

uint64_t cj2k_setup_component_bytes(const Cj2kEncoderSetup *setup)
{
  uint64_t bytes =
      setup->params.max_component_bytes ? setup->params.max_component_bytes : UINT64_MAX;
  return setup->profile_component_bytes ? MIN(bytes, setup->profile_component_bytes) : bytes;
}
