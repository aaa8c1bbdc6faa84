/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_locale.h"

#include <locale.h>
#include <stddef.h>
#include <string.h>

void tool_set_locale(void)
{
  const char *name = setlocale(LC_CTYPE, "");

  if (!name) /* the environment names a locale that is not installed */
    name = setlocale(LC_CTYPE, NULL);
  if (name && (!strcmp(name, "C") || !strcmp(name, "POSIX")))
    setlocale(LC_CTYPE, "C.UTF-8"); /* where it does not exist, the locale stays as it is */
}
