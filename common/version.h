/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_VERSION_H
#define CJ2K_VERSION_H

/* The library's version, "major.minor.patch"; a constant string, never NULL. */
__attribute__((visibility("default"))) const char *cj2k_version(void);

#endif
