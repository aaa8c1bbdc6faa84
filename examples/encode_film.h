/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encodes a sequence of pictures. */
#ifndef EXAMPLES_ENCODE_FILM_H
#define EXAMPLES_ENCODE_FILM_H

#include "encode_options.h"
#include "tool_film.h"

typedef struct {
  const EncodeOptions *options;
  const Cj2kEncoderParams *params; /* those of options, with the file format */
  bool verbose;
  ToolFilmJob job; /* tool, in, out, ending and options are set */
} EncodeFilm;

/* As tool_film_run(). All pictures must be of the same size and kind as the first one. */
bool encode_film(const EncodeFilm *film, ToolResult *result, GError **error);

#endif
