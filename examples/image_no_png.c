/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of image_png.c in a build without libpng: PNG files are refused with the reason. */
#include "image.h"

bool image_write_png(const Image *image, const char *path, char *why)
{
  (void)image;
  return image_fail(why, "%s: PNG cannot be written: this program was built without libpng", path);
}

bool image_read_png(Image *image, const ImageFile *file, char *why)
{
  (void)image;
  return image_fail(why, "%s: PNG cannot be read: this program was built without libpng",
                    file->path);
}
