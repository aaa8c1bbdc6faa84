/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fills in a Cj2kError: a code, a sentence and, for errors in the submitted data, the marker
 * segment and the offset. Each setter returns the code, so that a failing function can end with
 * `return cj2k_error_...`. `error` may be NULL everywhere; then only the code is returned.
 */
#ifndef CJ2K_RUNTIME_ERROR_H
#define CJ2K_RUNTIME_ERROR_H

#include "common/cj2k.h"

void cj2k_error_clear(Cj2kError *error);

Cj2kStatus cj2k_error_set(Cj2kError *error, Cj2kStatus code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For errors in the submitted data: with the marker segment that was being read (0: none) and the
 * byte offset. */
Cj2kStatus cj2k_error_set_at(Cj2kError *error, Cj2kStatus code, uint16_t marker, uint64_t offset,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
