/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pictures that cj2k-decode writes. */
#ifndef EXAMPLES_DECODE_OUTPUT_H
#define EXAMPLES_DECODE_OUTPUT_H

#include "image.h"

/* Writes a frame in the format of output_format (NULL: of the name); PNM is the default for
 * standard output. Nothing is written to TOOL_NOWHERE. */
bool decode_write(const Cj2kFrame *frame, const char *path, const char *output_format, char *why);

/* The file that stands for a frame that was written: of PGX the one of the first component. Free
 * with g_free(). */
char *decode_file_name(const char *path, const char *output_format);

#endif
