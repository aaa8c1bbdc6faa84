/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Raw files: planes one after the other, rows without padding, little-endian samples. */
#include "image.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

bool image_write_raw(const Image *image, const char *path, char *why)
{
  ImageOutput output;
  bool ok = true;
  if (!image_output_open(&output, path, why))
    return false;
  for (uint32_t c = 0; ok && c < image->num_planes; c++) {
    const ImagePlane *plane = &image->planes[c];
    size_t row = (size_t)plane->width * plane->bytes;
    for (uint32_t y = 0; ok && row && y < plane->height; y++)
      ok = fwrite(plane->data + y * plane->pitch, row, 1, output.file) == 1;
  }
  return image_output_close(&output, ok, why);
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
  return (uint32_t)(((uint64_t)a + b - 1) / b);
}

bool image_read_raw(Image *image, const char *path, const ImageRawShape *shape, char *why)
{
  uint8_t bytes = image_sample_bytes(shape->depth);
  size_t size, offset = 0;
  memset(image, 0, sizeof *image);
  uint8_t *data = image_load_file(path, &size, why);
  if (!data)
    return false;
  image->memory = malloc(MAX(size, 1));
  image->num_planes = shape->num_components;
  image->planes = g_new0(ImagePlane, shape->num_components);
  if (image->memory)
    memcpy(image->memory, data, size);
  g_free(data);
  for (uint32_t c = 0; image->memory && c < shape->num_components; c++) {
    ImagePlane *plane = &image->planes[c];
    *plane = (ImagePlane){.width = ceil_div(shape->width, shape->dx[c]),
                          .height = ceil_div(shape->height, shape->dy[c]),
                          .dx = shape->dx[c],
                          .dy = shape->dy[c],
                          .depth = shape->depth,
                          .is_signed = shape->is_signed,
                          .bytes = bytes};
    plane->pitch = (size_t)plane->width * bytes;
    plane->data = (uint8_t *)image->memory + offset;
    offset += plane->pitch * plane->height;
    if (plane->pitch == 0 || offset > size) {
      image_clear(image);
      return image_fail(why, "%s: %zu bytes, the components take more", path, size);
    }
  }
  if (image->memory && offset != size) { /* a wrong size or format gives a picture of noise */
    image_clear(image);
    return image_fail(why, "%s: %zu bytes, a frame has %zu", path, size, offset);
  }
  if (!image->memory) {
    image_clear(image);
    return image_fail(why, "%s: no memory", path);
  }
  if (image_check_samples(image, path, why))
    return true;
  image_clear(image);
  return false;
}
