/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoder parameters on the command line, for cj2k-encode and cj2k-bench: the library's options,
 * and the description of raw files.
 */
#ifndef EXAMPLES_ENCODE_OPTIONS_H
#define EXAMPLES_ENCODE_OPTIONS_H

#include "image.h"
#include "tool_options.h"

typedef struct {
  ToolOptions tool;
  Cj2kEncoderParams params;
  char *format;
  int width, height; /* 0: not given */
  Cj2kCicp cicp;     /* primaries 0: not given */
} EncodeOptions;

void encode_options_init(EncodeOptions *options);
void encode_options_clear(EncodeOptions *options);
/* The options for a GOptionContext; `options` must stay where it is. */
GOptionGroup *encode_options_group(EncodeOptions *options);

#endif
