/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encodes a sequence of pictures. */
#ifndef EXAMPLES_ENCODE_FILM_H
#define EXAMPLES_ENCODE_FILM_H

#include "encode_input.h"
#include "encode_options.h"
#include "tool_film.h"

typedef struct {
  const EncodeOptions *options;
  const Cj2kEncoderParams *params; /* those of options, with the file format */
  bool verbose;
  ToolFilmJob job; /* tool, in, out, ending and options are set */
  /* For two passes; each may be NULL. `measured` is told of each frame, in order, from another
   * thread. `share` gives the most bytes of a frame; 0: it is not known, and the frame fails. */
  void (*measured)(void *passes, uint32_t number, const EncodeInput *shape, size_t bytes);
  uint64_t (*share)(void *passes, uint32_t number);
  void *passes;
} EncodeFilm;

/* As tool_film_run(). All pictures must be of the same size and kind as the first one. */
bool encode_film(const EncodeFilm *film, ToolResult *result, GError **error);

#endif
