/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoder parameters on the command line, for cj2k-encode and cj2k-bench: the options have the
 * names of the element's properties.
 */
#ifndef EXAMPLES_ENCODE_OPTIONS_H
#define EXAMPLES_ENCODE_OPTIONS_H

#include "image.h"

#include <glib.h>

/* What was given; NULL and -1: not given. */
typedef struct {
  char *backend, *block_coder, *rate_control, *progression, *style, *layer_rates, *precincts;
  char *tile_parts, *mct, *profile, *comment, *format, *xyz_transfer;
  int cuda_device, threads, quality, num_resolutions, codeblock_width, codeblock_height, num_layers;
  int guard_bits, main_level, sub_level, width, height;
  int image_x0, image_y0, tile_x0, tile_y0, tile_width, tile_height;
  gint64 bitrate, max_frame_bytes, max_component_bytes;
  double bits_per_pixel, quant_step, psnr, frame_rate;
  gboolean reversible, lenient, sop, eph, tlm, plt, rgb_to_xyz;
} EncodeOptions;

void encode_options_init(EncodeOptions *options);
void encode_options_clear(EncodeOptions *options);
/* The options for a GOptionContext; `options` must stay where it is. */
GOptionGroup *encode_options_group(EncodeOptions *options);
/* Parameters from what was given; false: `why` says which option is wrong. params->comment points
 * into options. */
bool encode_options_params(const EncodeOptions *options, Cj2kEncoderParams *params, char *why);

#endif
