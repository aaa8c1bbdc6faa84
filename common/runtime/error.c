/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cj2k_status_name(Cj2kStatus status)
{
  switch (status) {
  case CJ2K_OK: return "ok";
  case CJ2K_ERROR_ARGUMENT: return "wrong argument";
  case CJ2K_ERROR_CODESTREAM: return "broken codestream";
  case CJ2K_ERROR_UNSUPPORTED: return "not supported";
  case CJ2K_ERROR_LIMIT: return "memory limit exceeded";
  case CJ2K_ERROR_MEMORY: return "out of memory";
  case CJ2K_ERROR_DEVICE: return "device failed";
  case CJ2K_END: return "end";
  }
  return "unknown status";
}

void cj2k_error_clear(Cj2kError *error)
{
  if (error)
    memset(error, 0, sizeof *error);
}

static Cj2kStatus fill(Cj2kError *error, Cj2kStatus code, uint16_t marker, uint64_t offset,
                       const char *format, va_list args)
{
  if (error) {
    error->code = code;
    error->marker = marker;
    error->offset = offset;
    /* The callers have started `args`. */
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    vsnprintf(error->text, sizeof error->text, format, args);
  }
  return code;
}

Cj2kStatus cj2k_error_set(Cj2kError *error, Cj2kStatus code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fill(error, code, 0, 0, format, args);
  va_end(args);
  return code;
}

Cj2kStatus cj2k_error_set_at(Cj2kError *error, Cj2kStatus code, uint16_t marker, uint64_t offset,
                             const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fill(error, code, marker, offset, format, args);
  va_end(args);
  return code;
}
