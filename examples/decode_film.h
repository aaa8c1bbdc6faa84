/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decodes a sequence of codestreams. */
#ifndef EXAMPLES_DECODE_FILM_H
#define EXAMPLES_DECODE_FILM_H

#include "cj2k.h"
#include "tool_film.h"

typedef struct {
  Cj2kDecoderParams params;
  const char *output_format; /* NULL: by the ending of the name */
  bool verbose;
  ToolFilmJob job; /* tool, in, out, ending and options are set */
} DecodeFilm;

/* As tool_film_run(). */
bool decode_film(const DecodeFilm *film, ToolResult *result, GError **error);

#endif
