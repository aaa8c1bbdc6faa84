/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures and encoder parameters from an input: any values that the parameters' table allows, some
 * that it does not, and pictures of strange sizes, offsets, sub-sampling, depths and layouts, whose
 * planes have exactly the bytes that they need. They are small, for speed.
 */
#ifndef TESTS_FUZZ_PICTURE_INPUT_H
#define TESTS_FUZZ_PICTURE_INPUT_H

#include "cj2k.h"
#include "common/options/encoder_options.h"
#include "common/samples/layout.h"
#include "common/samples/video_formats.h"
#include "fuzz.h"

#define FUZZ_COMPONENTS 5

typedef struct {
  Cj2kComponent components[FUZZ_COMPONENTS];
  Cj2kChannel channels[FUZZ_COMPONENTS];
  Cj2kSampleLayout samples[FUZZ_COMPONENTS];
  Cj2kPlane planes[FUZZ_COMPONENTS];
  Cj2kEncoderImage image;
  Cj2kLayout layout;
  Cj2kPicture picture;
} FuzzPicture;

static inline uint32_t fuzz_first(uint32_t at, uint32_t d)
{
  return (uint32_t)(((uint64_t)at + d - 1) / d);
}

/* Samples one after the other, in words that may be wider than they are. */
static inline void fuzz_plain_layout(FuzzPicture *p, FuzzInput *in)
{
  for (uint32_t c = 0; c < p->image.num_components; c++) {
    Cj2kComponent *component = &p->components[c];
    Cj2kSampleLayout *s = &p->samples[c];
    uint32_t form = (uint32_t)fuzz_take(in, 1);
    component->depth = (uint8_t)fuzz_range(in, 1, 17); /* 17 is refused */
    component->is_signed = form & 1;
    component->dx = (uint8_t)(form & 2 ? fuzz_range(in, 1, 255) : 1 + (form >> 6 & 1));
    component->dy = (uint8_t)(form & 4 ? fuzz_range(in, 1, 255) : 1 + (form >> 7));
    s->plane = (uint16_t)c;
    s->depth = component->depth;
    s->is_signed = component->is_signed;
    s->big_endian = form & 8;
    s->word_bytes = s->depth <= 8 && !(form & 16) ? 1 : s->depth <= 16 ? 2 : 4;
    s->unit_samples = 1;
    s->at[0].offset = form & 32 ? 1 : 0;
    s->unit_bytes = (uint8_t)(s->word_bytes + s->at[0].offset);
    if (!s->is_signed)
      s->at[0].shift = (uint8_t)fuzz_range(in, 0, 8u * s->word_bytes - s->depth);
  }
  p->layout = (Cj2kLayout){.num_components = p->image.num_components,
                           .num_planes = p->image.num_components,
                           .samples = p->samples};
}

static inline void fuzz_video_layout(FuzzPicture *p, FuzzInput *in)
{
  uint32_t count;
  const Cj2kVideoFormat *formats = cj2k_video_formats(&count);
  const Cj2kVideoFormat *format = &formats[fuzz_take(in, 1) % MAX(count, 1)];
  cj2k_video_format_layout(format, &p->layout);
  p->image.num_components = format->num_components;
  for (uint32_t c = 0; c < format->num_components; c++)
    p->components[c] = (Cj2kComponent){.dx = cj2k_video_format_dx(format, c),
                                       .dy = cj2k_video_format_dy(format, c),
                                       .depth = p->layout.samples[c].depth,
                                       .is_signed = p->layout.samples[c].is_signed};
}

/* Allocates each plane with the bytes that its components need, and fills it. */
static inline void fuzz_fill_planes(FuzzPicture *p, const Cj2kEncoderParams *params, FuzzInput *in)
{
  size_t sizes[FUZZ_COMPONENTS] = {0};
  uint32_t pad = fuzz_range(in, 0, 5), noise = (uint32_t)fuzz_take(in, 1);

  memset(p->planes, 0, sizeof p->planes);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t c = 0; c < p->image.num_components; c++) {
      const Cj2kComponent *m = &p->components[c];
      Cj2kPlane *plane = &p->planes[p->layout.samples[c].plane];
      uint64_t x1 = (uint64_t)params->image_x0 + p->image.width;
      uint64_t y1 = (uint64_t)params->image_y0 + p->image.height;
      uint32_t w = (uint32_t)((x1 + m->dx - 1) / m->dx) - fuzz_first(params->image_x0, m->dx);
      uint32_t h = (uint32_t)((y1 + m->dy - 1) / m->dy) - fuzz_first(params->image_y0, m->dy);
      if (pass == 0)
        plane->pitch = MAX(plane->pitch, cj2k_layout_row_bytes(&p->layout.samples[c], w) + 4 * pad);
      else
        sizes[p->layout.samples[c].plane] =
            MAX(sizes[p->layout.samples[c].plane], plane->pitch * h);
    }
  for (uint32_t i = 0; i < p->layout.num_planes; i++) {
    uint8_t *data = g_malloc(sizes[i] ? sizes[i] : 1);
    for (size_t at = 0; at < sizes[i]; at++)
      data[at] = (uint8_t)(fuzz_left(in) ? fuzz_take(in, 1) : at * noise + (at >> 5) * 3);
    p->planes[i].data = data;
  }
  p->picture = (Cj2kPicture){
      .memory = CJ2K_MEMORY_HOST, .num_planes = p->layout.num_planes, .planes = p->planes};
}

/* The image, without samples. */
static inline void fuzz_picture_read(FuzzPicture *p, FuzzInput *in)
{
  uint32_t form = (uint32_t)fuzz_take(in, 1);
  memset(p, 0, sizeof *p);
  p->image = (Cj2kEncoderImage){.width = fuzz_range(in, 1, form & 1 ? 100 : 24),
                                .height = fuzz_range(in, 1, form & 1 ? 9 : 24),
                                .num_components = 1 + (form >> 1) % FUZZ_COMPONENTS,
                                .components = p->components,
                                .colour = form >> 4 & 7};
  if (form & 128)
    fuzz_video_layout(p, in);
  else
    fuzz_plain_layout(p, in);
  if (p->image.colour == 7) { /* no colour of this number; channels instead */
    p->image.colour = CJ2K_COLOUR_SRGB;
    p->image.channels = p->channels;
    for (uint32_t c = 0; c < p->image.num_components; c++) {
      p->channels[c].type = (uint16_t)fuzz_range(in, 0, 3);
      p->channels[c].association = (uint16_t)fuzz_range(in, 0, 5);
    }
  }
}

static inline void fuzz_picture_clear(FuzzPicture *p)
{
  for (uint32_t i = 0; i < p->layout.num_planes; i++)
    g_free(p->planes[i].data);
}

/* Sets one option to a value of its range, mostly near its default. */
static inline void fuzz_set_option(const Cj2kOption *o, Cj2kEncoderParams *params, FuzzInput *in)
{
  uint32_t count = 0;
  switch (o->kind) {
  case CJ2K_OPTION_BOOLEAN: cj2k_option_set(o, params, (int64_t)fuzz_take(in, 1) & 1); break;
  case CJ2K_OPTION_INTEGER: {
    uint64_t value = fuzz_take(in, 1);
    value = value > 200 ? fuzz_take(in, (unsigned)MIN(o->size, 4)) : value;
    cj2k_option_set(o, params, (int64_t)value + (int64_t)o->min);
    break;
  }
  case CJ2K_OPTION_NUMBER: {
    uint64_t value = fuzz_take(in, 2);
    double max = MIN(o->max, 200);
    cj2k_option_set_number(o, params, o->min + (double)value / 65535 * (max - o->min));
    break;
  }
  case CJ2K_OPTION_WORD:
  case CJ2K_OPTION_FLAGS:
    while (o->words[count].name)
      count++;
    cj2k_option_set(o, params,
                    o->kind == CJ2K_OPTION_WORD ? o->words[fuzz_take(in, 1) % MAX(count, 1)].value
                                                : (int64_t)fuzz_take(in, 1));
    break;
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: break;
  }
}

/* Lists, which have no option of one number. */
static inline void fuzz_set_lists(Cj2kEncoderParams *params, FuzzInput *in)
{
  params->num_precincts = (uint8_t)fuzz_range(in, 0, 4);
  for (uint32_t i = 0; i < params->num_precincts; i++) {
    uint32_t size = (uint32_t)fuzz_take(in, 1);
    params->precinct_width[i] = size & 15;
    params->precinct_height[i] = (uint8_t)(size >> 4);
  }
  params->num_layer_rates = (uint16_t)fuzz_range(in, 0, 4);
  for (uint32_t i = 0; i < params->num_layer_rates; i++)
    params->layer_rates[i] = (double)fuzz_take(in, 1) / 16;
}

/* A number of options; what is expensive without being different is bounded. */
static inline void fuzz_params_read(Cj2kEncoderParams *params, FuzzInput *in)
{
  uint32_t changes = fuzz_range(in, 0, 20);

  cj2k_encoder_params_init(params);
  for (uint32_t i = 0; i < changes; i++) {
    uint32_t index = (uint32_t)fuzz_take(in, 1) % (uint32_t)(cj2k_encoder_options.count + 1);
    if (index == cj2k_encoder_options.count)
      fuzz_set_lists(params, in);
    else
      fuzz_set_option(&cj2k_encoder_options.options[index], params, in);
  }
  params->file_format = (uint32_t)fuzz_take(in, 1) / 64; /* 3: none has this number */
  params->backend = CJ2K_BACKEND_CPU;
  params->num_threads = 1;
  params->frames_in_flight = MIN(params->frames_in_flight, 2);
  params->num_layers = MIN(params->num_layers, 6);
  /* Hundreds of tiles take long and show nothing that a few do not. */
  if (params->tile_width)
    params->tile_width = MAX(params->tile_width, 5);
  if (params->tile_height)
    params->tile_height = MAX(params->tile_height, 5);
}

#endif
