/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks for strict decoders that the boxes of a file agree with its codestream. */
#include "jp2.h"

#include "common/runtime/error.h"

#define REFUSE(...) return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM, __VA_ARGS__)

/* A component's depth and sign as ihdr and bpcc write them (I.5.3.1, I.5.3.2). */
static uint8_t depth_code(const Cj2kComponent *component)
{
  return (uint8_t)((component->is_signed ? 0x80 : 0) | (component->depth - 1));
}

static Cj2kStatus check_depths(const Cj2kJp2 *jp2, const Cj2kHeader *header, Cj2kError *error)
{
  if (jp2->bits_per_component == 255 && !jp2->bpcc)
    REFUSE("the ihdr box refers to a bpcc box, which is missing");
  for (uint32_t c = 0; c < header->num_components; c++) {
    uint8_t expected = jp2->bits_per_component == 255 ? jp2->bpcc[c] : jp2->bits_per_component;
    uint8_t found = depth_code(&header->components[c]);
    if (expected != found)
      REFUSE("the %s box says %u bits %s of component %u, SIZ %u bits %s",
             jp2->bits_per_component == 255 ? "bpcc" : "ihdr", (expected & 0x7fu) + 1u,
             expected & 0x80 ? "signed" : "unsigned", c, (found & 0x7fu) + 1u,
             found & 0x80 ? "signed" : "unsigned");
  }
  return CJ2K_OK;
}

/* Palette and component mapping need each other. Whether the mapping names existing components and
 * columns is checked for all decoders, elsewhere. */
static Cj2kStatus check_palette(const Cj2kJp2 *jp2, Cj2kError *error)
{
  if (jp2->num_entries && !jp2->num_channels)
    REFUSE("the file has a pclr box without a cmap box");
  if (!jp2->num_entries && jp2->num_channels)
    REFUSE("the file has a cmap box without a pclr box");
  return CJ2K_OK;
}

Cj2kStatus cj2k_jp2_check(const Cj2kJp2 *jp2, const Cj2kHeader *header, Cj2kError *error)
{
  uint32_t width = header->x1 - header->x0, height = header->y1 - header->y0;
  Cj2kStatus status;

  if (!jp2->is_jp2)
    return CJ2K_OK;
  if (!jp2->has_ihdr)
    REFUSE("the file has no ihdr box");
  if (jp2->width != width || jp2->height != height)
    REFUSE("the ihdr box says %u x %u, SIZ %u x %u", jp2->width, jp2->height, width, height);
  if (jp2->num_components != header->num_components)
    REFUSE("the ihdr box says %u components, SIZ %u", jp2->num_components, header->num_components);
  if ((status = check_depths(jp2, header, error)) != CJ2K_OK)
    return status;
  return check_palette(jp2, error);
}
