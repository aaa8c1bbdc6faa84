/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file in memory for libtiff, which goes back and forth in it, as a pipe cannot. */
#ifndef EXAMPLES_IMAGE_TIFF_MEMORY_H
#define EXAMPLES_IMAGE_TIFF_MEMORY_H

#include "image.h"

#include <glib.h>
#include <tiffio.h>

typedef struct {
  const char *path;    /* named in messages */
  char *why;           /* IMAGE_WHY bytes: libtiff's first message */
  bool failed;         /* `why` has it */
  const uint8_t *data; /* the file */
  uint64_t size, at;
  GByteArray *written; /* has `data` where the file is written; NULL: it is read */
} TiffMemory;

/* Opens a file (not taken) for reading. NULL: `why` says why not. */
TIFF *tiff_memory_read(TiffMemory *memory, const ImageFile *file, char *why);
/* Opens an empty file for writing. NULL: `why` says why not. tiff_memory_free() in any case. */
TIFF *tiff_memory_write(TiffMemory *memory, const char *path, char *why);
void tiff_memory_free(TiffMemory *memory);

#endif
