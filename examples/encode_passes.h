/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two passes over a film: the first finds what each frame needs at equal quality, the second gives
 * each frame its share of the average bit rate.
 */
#ifndef EXAMPLES_ENCODE_PASSES_H
#define EXAMPLES_ENCODE_PASSES_H

#include "encode_film.h"

typedef struct {
  char *pass;  /* --pass: 1, 2 or both; NULL: not given */
  char *stats; /* --stats: a file between the passes; NULL: none */
} EncodePasses;

/* Adds the options to the main ones; `passes` must stay where it is. */
void encode_passes_add_options(EncodePasses *passes, GOptionContext *context);
void encode_passes_clear(EncodePasses *passes);

/* As encode_film(), in the passes that were asked for. */
bool encode_passes(const EncodePasses *passes, const EncodeFilm *film, ToolResult *result,
                   GError **error);

#endif
