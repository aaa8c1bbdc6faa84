/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cj2k.h"
#include "config.h"

const char *cj2k_version(void)
{
  return CJ2K_VERSION;
}
