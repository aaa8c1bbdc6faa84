/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image_tiff_memory.h"

#include <string.h>

static tsize_t memory_read(thandle_t handle, void *out, tsize_t size)
{
  TiffMemory *memory = handle;
  uint64_t left = memory->at < memory->size ? memory->size - memory->at : 0;
  size_t n = size > 0 ? (size_t)MIN((uint64_t)size, left) : 0;

  memcpy(out, memory->data + (n ? memory->at : 0), n);
  memory->at += n;
  return (tsize_t)n;
}

static tsize_t memory_write(thandle_t handle, void *in, tsize_t size)
{
  TiffMemory *memory = handle;
  uint64_t end = memory->at + (uint64_t)size;

  if (!memory->written || size < 0 || end > G_MAXINT32)
    return -1;
  if (end > memory->size) {
    g_byte_array_set_size(memory->written, (guint)end);
    if (memory->at > memory->size)
      memset(memory->written->data + memory->size, 0, memory->at - memory->size);
    memory->data = memory->written->data;
    memory->size = end;
  }
  memcpy(memory->written->data + memory->at, in, (size_t)size);
  memory->at = end;
  return size;
}

static toff_t memory_seek(thandle_t handle, toff_t offset, int whence)
{
  TiffMemory *memory = handle;

  memory->at = whence == SEEK_SET   ? offset
               : whence == SEEK_CUR ? memory->at + offset
                                    : memory->size + offset;
  return memory->at;
}

static int memory_close(thandle_t handle)
{
  (void)handle;
  return 0;
}

static toff_t memory_size(thandle_t handle)
{
  return ((TiffMemory *)handle)->size;
}

static void take_error(thandle_t handle, const char *module, const char *format, va_list arguments)
{
  TiffMemory *memory = handle;
  char text[160];

  (void)module;
  if (!memory || memory->failed)
    return;
  vsnprintf(text, sizeof text, format, arguments);
  memory->failed = true;
  image_fail(memory->why, "%s: %s", memory->path, text);
}

static TIFF *open_memory(TiffMemory *memory, const char *mode, const char *failure)
{
  static gsize ready;

  if (g_once_init_enter(&ready)) {
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandler(NULL);
    TIFFSetErrorHandlerExt(take_error);
    g_once_init_leave(&ready, 1);
  }
  TIFF *tiff = TIFFClientOpen(memory->path, mode, memory, memory_read, memory_write, memory_seek,
                              memory_close, memory_size, NULL, NULL);
  if (!tiff && !memory->failed)
    image_fail(memory->why, "%s: %s", memory->path, failure);
  return tiff;
}

TIFF *tiff_memory_read(TiffMemory *memory, const ImageFile *file, char *why)
{
  *memory = (TiffMemory){.path = file->path, .why = why, .data = file->data, .size = file->size};
  return open_memory(memory, "rm", "not a TIFF file that libtiff opens");
}

TIFF *tiff_memory_write(TiffMemory *memory, const char *path, char *why)
{
  *memory = (TiffMemory){.path = path, .why = why, .written = g_byte_array_new()};
  return open_memory(memory, "wm", "libtiff cannot begin a file");
}

void tiff_memory_free(TiffMemory *memory)
{
  if (memory->written)
    g_byte_array_unref(memory->written);
}
