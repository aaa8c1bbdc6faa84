/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of image_exr.c in a build without OpenEXR: EXR files are refused with the reason. */
#include "image.h"

bool image_read_exr(Image *image, const ImageFile *file, char *why)
{
  (void)image;
  return image_fail(why, "%s: EXR cannot be read: this program was built without OpenEXR",
                    file->path);
}
