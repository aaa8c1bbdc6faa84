/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of image_tiff.c in a build without libtiff: TIFF files are refused with the reason. */
#include "image.h"

bool image_write_tiff(const Image *image, const char *path, char *why)
{
  (void)image;
  return image_fail(why, "%s: TIFF cannot be written: this program was built without libtiff",
                    path);
}

bool image_read_tiff(Image *image, const ImageFile *file, char *why)
{
  (void)image;
  return image_fail(why, "%s: TIFF cannot be read: this program was built without libtiff",
                    file->path);
}
