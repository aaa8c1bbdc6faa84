/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cj2k.h"
#include "config.h"

#include <glib.h>

/* The library reports the version of the build system as three numbers. */
static void test_version(void)
{
  gchar **parts = g_strsplit(cj2k_version(), ".", -1);

  g_assert_cmpstr(cj2k_version(), ==, CJ2K_VERSION);
  g_assert_cmpuint(g_strv_length(parts), ==, 3);
  g_strfreev(parts);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/version/is-the-build-systems", test_version);
  return g_test_run();
}
