/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_locale.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What stdio still holds is written when the program ends, which is too late for main() to see that
 * it fails. */
static void check_output(void)
{
  errno = 0;
  bool failed = ferror(stdout) != 0;
  if (fflush(stdout) != 0 || failed) {
    fprintf(stderr, "standard output: %s\n", errno ? strerror(errno) : "not written completely");
    _exit(EXIT_FAILURE);
  }
}

void tool_begin(void)
{
  atexit(check_output);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "16", 0);
  const char *name = setlocale(LC_CTYPE, "");

  if (!name) /* the environment names a locale that is not installed */
    name = setlocale(LC_CTYPE, NULL);
  if (name && (!strcmp(name, "C") || !strcmp(name, "POSIX")))
    setlocale(LC_CTYPE, "C.UTF-8"); /* where it does not exist, the locale stays as it is */
}
