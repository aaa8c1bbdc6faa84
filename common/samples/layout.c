/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

void cj2k_layout_planar(const Cj2kImage *image, Cj2kSampleLayout *samples, Cj2kLayout *layout)
{
  for (uint32_t c = 0; c < image->num_components; c++) {
    uint8_t depth = image->components[c].depth;
    uint8_t bytes = depth <= 8 ? 1 : depth <= 16 ? 2 : 4;
    samples[c] = (Cj2kSampleLayout){.plane = (uint16_t)c,
                                    .unit_bytes = bytes,
                                    .unit_samples = 1,
                                    .word_bytes = bytes,
                                    .is_signed = image->components[c].is_signed,
                                    .depth = depth};
  }
  *layout = (Cj2kLayout){.num_components = image->num_components,
                         .num_planes = image->num_components,
                         .samples = samples};
}

static const char *sample_layout_fault(const Cj2kSampleLayout *s, uint32_t num_planes)
{
  if (s->plane >= num_planes)
    return "names a plane that does not exist";
  if (s->word_bytes != 1 && s->word_bytes != 2 && s->word_bytes != 4)
    return "has words of other than 1, 2 or 4 bytes";
  if (s->unit_samples < 1 || s->unit_samples > CJ2K_UNIT_SAMPLES)
    return "has units of other than 1 to 6 samples";
  if (s->depth < 1 || s->depth > 32)
    return "has a depth of other than 1 to 32 bits";
  for (uint32_t j = 0; j < s->unit_samples; j++) {
    if (s->at[j].offset + s->word_bytes > s->unit_bytes)
      return "has a word that reaches out of its unit";
    if (s->at[j].shift + s->depth > s->word_bytes * 8)
      return "has bits that reach out of their word";
    if (s->is_signed && s->at[j].shift)
      return "is signed and shifted";
  }
  return NULL;
}

Cj2kStatus cj2k_layout_check(const Cj2kLayout *layout, Cj2kError *error)
{
  if (!layout->num_components || !layout->num_planes || !layout->samples)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "layout without components or planes");
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const char *fault = sample_layout_fault(&layout->samples[c], layout->num_planes);
    if (fault)
      return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "component %u of the layout %s", c, fault);
  }
  return CJ2K_OK;
}

uint64_t cj2k_layout_row_bytes(const Cj2kSampleLayout *samples, uint32_t width)
{
  return ((uint64_t)width + samples->unit_samples - 1) / samples->unit_samples *
         samples->unit_bytes;
}

uint64_t cj2k_layout_least_bytes(const Cj2kSampleLayout *samples, uint32_t width)
{
  uint32_t rest = width % samples->unit_samples, end = 0;
  uint64_t units = width / samples->unit_samples;
  if (!rest && units) { /* the last unit is full, but may end with unused bytes */
    rest = samples->unit_samples;
    units--;
  }
  for (uint32_t j = 0; j < rest; j++)
    end = MAX(end, (uint32_t)samples->at[j].offset + samples->word_bytes);
  return units * samples->unit_bytes + end;
}

bool cj2k_layout_plane_size(const Cj2kLayout *layout, uint32_t p, const Cj2kComponent *components,
                            uint32_t num_components, uint32_t *width, uint32_t *height)
{
  uint32_t count = MIN(num_components, layout->num_components);
  bool found = false;
  *width = *height = 0;
  for (uint32_t c = 0; c < count; c++) {
    if (layout->samples[c].plane != p)
      continue;
    *width = MAX(*width, components[c].x1 - components[c].x0);
    *height = MAX(*height, components[c].y1 - components[c].y0);
    found = true;
  }
  if (!found && count) {
    *width = components[0].x1 - components[0].x0;
    *height = components[0].y1 - components[0].y0;
  }
  return *width && *height;
}

/* Checks the row of one component in its plane. */
static Cj2kStatus check_row(const Cj2kSampleLayout *samples, const Cj2kPlane *plane, uint32_t width,
                            Cj2kError *error)
{
  if (cj2k_plane_row_bytes(plane) < cj2k_layout_least_bytes(samples, width))
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "pitch of plane %u is %zu bytes, too few for %u samples a row",
                          samples->plane, cj2k_plane_row_bytes(plane), width);
  return CJ2K_OK;
}

/* Components that the image does not have: a decoder fills them, if they have a plane. */
static Cj2kStatus check_filled(const Cj2kLayout *layout, const Cj2kPicture *picture,
                               const Cj2kComponent *components, uint32_t num_components,
                               Cj2kError *error)
{
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t c = num_components; c < layout->num_components && status == CJ2K_OK; c++) {
    uint32_t p = layout->samples[c].plane, width, height;
    if (picture->planes[p].data &&
        cj2k_layout_plane_size(layout, p, components, num_components, &width, &height))
      status = check_row(&layout->samples[c], &picture->planes[p], width, error);
  }
  return status;
}

Cj2kStatus cj2k_layout_check_picture(const Cj2kLayout *layout, const Cj2kPicture *picture,
                                     const Cj2kComponent *components, uint32_t num_components,
                                     Cj2kError *error)
{
  Cj2kStatus status;

  if (picture->num_planes < layout->num_planes || !picture->planes)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "picture of %u planes for a layout of %u",
                          picture->num_planes, layout->num_planes);
  if ((uint32_t)picture->memory > CJ2K_MEMORY_CUDA)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "memory kind %d of a picture is not known",
                          (int)picture->memory);
  if (picture->cuda_stream && picture->memory != CJ2K_MEMORY_CUDA)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "a CUDA stream with a picture that is in host memory");
  for (uint32_t c = 0; c < layout->num_components && c < num_components; c++) {
    const Cj2kPlane *plane = &picture->planes[layout->samples[c].plane];
    uint32_t width = components[c].x1 - components[c].x0;
    uint32_t height = components[c].y1 - components[c].y0;
    if (!width || !height)
      continue;
    if (!plane->data)
      return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "plane %u of the picture is missing",
                            layout->samples[c].plane);
    if ((status = check_row(&layout->samples[c], plane, width, error)) != CJ2K_OK)
      return status;
  }
  return check_filled(layout, picture, components, num_components, error);
}

/* Marks the bytes of the words of one component's unit; a byte that was marked before is shared. */
static void mark_words(const Cj2kSampleLayout *s, uint32_t fill, Cj2kPlaneUse *use)
{
  if (use->unit_bytes && use->unit_bytes != s->unit_bytes)
    use->shared = true;
  use->unit_bytes = s->unit_bytes;
  use->covered &= !fill || s->is_signed || s->depth == 8 * s->word_bytes;
  for (uint32_t i = 0; i < s->unit_samples * (uint32_t)s->word_bytes; i++) {
    uint32_t byte = s->at[i / s->word_bytes].offset + i % s->word_bytes;
    uint64_t bit = UINT64_C(1) << (byte % 64);
    use->shared |= (use->written[byte / 64] & bit) != 0;
    use->written[byte / 64] |= bit;
  }
}

void cj2k_layout_plane_use(const Cj2kLayout *layout, uint32_t num_components, Cj2kPlaneUse *uses)
{
  for (uint32_t p = 0; p < layout->num_planes; p++)
    uses[p] = (Cj2kPlaneUse){.covered = true};
  for (uint32_t c = 0; c < layout->num_components && c < num_components; c++)
    mark_words(&layout->samples[c], layout->fill, &uses[layout->samples[c].plane]);
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    Cj2kPlaneUse *use = &uses[p];
    use->covered &= use->unit_bytes && !use->shared;
    for (uint32_t i = 0; i < use->unit_bytes; i++)
      use->covered &= (use->written[i / 64] >> (i % 64)) & 1;
  }
}

bool cj2k_layout_equal(const Cj2kLayout *a, const Cj2kLayout *b)
{
  if (a->num_components != b->num_components || a->num_planes != b->num_planes ||
      a->fill != b->fill)
    return false;
  for (uint32_t c = 0; c < a->num_components; c++) {
    const Cj2kSampleLayout *x = &a->samples[c], *y = &b->samples[c];
    if (x->plane != y->plane || x->unit_bytes != y->unit_bytes ||
        x->unit_samples != y->unit_samples || x->word_bytes != y->word_bytes ||
        x->big_endian != y->big_endian || x->is_signed != y->is_signed || x->depth != y->depth ||
        memcmp(x->at, y->at, x->unit_samples * sizeof x->at[0]) != 0)
      return false;
  }
  return true;
}

void cj2k_layout_copy(Cj2kLayout *to, const Cj2kLayout *from)
{
  Cj2kSampleLayout *samples = g_memdup2(from->samples, from->num_components * sizeof *samples);
  g_free((void *)to->samples);
  *to = *from;
  to->samples = samples;
}
