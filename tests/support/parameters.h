/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parameters of an encoder from text, and the back end that a test program is told to use. */
#ifndef TESTS_SUPPORT_PARAMETERS_H
#define TESTS_SUPPORT_PARAMETERS_H

#include "common/cj2k.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

/* Sets parameters from "name=value name=value". */
static inline void test_set_options(Cj2kEncoderParams *params, const char *options)
{
  Cj2kError error = {0};
  gchar **list = g_strsplit(options, " ", -1);

  for (int i = 0; list[i]; i++) {
    if (!*list[i])
      continue;
    gchar **pair = g_strsplit(list[i], "=", 2);
    if (!pair[1] || cj2k_encoder_params_set(params, pair[0], pair[1], &error) != CJ2K_OK)
      g_error("%s: %s", list[i], error.text);
    g_strfreev(pair);
  }
  g_strfreev(list);
}

/* Takes "--backend cuda" or "--backend cpu" out of the arguments; the CPU is the default. Before
 * g_test_init, which refuses options that it does not know. */
static inline Cj2kBackendKind test_take_backend(int *argc, char **argv)
{
  Cj2kBackendKind backend = CJ2K_BACKEND_CPU;

  for (int i = 1; i + 1 < *argc; i++) {
    if (strcmp(argv[i], "--backend") != 0)
      continue;
    backend = !strcmp(argv[i + 1], "cuda") ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU;
    memmove(&argv[i], &argv[i + 2], (size_t)(*argc - i - 1) * sizeof *argv);
    *argc -= 2;
    break;
  }
  return backend;
}

/* Returns whether the back end can be used here; if not, prints the TAP of a program that is
 * skipped, with the reason. */
static inline bool test_has_backend(Cj2kBackendKind backend)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  Cj2kDecoder *probe = cj2k_decoder_open(&params, &error);
  if (!probe)
    printf("1..0 # SKIP %s\n", error.text);
  cj2k_decoder_close(probe);
  return probe != NULL;
}

#endif
