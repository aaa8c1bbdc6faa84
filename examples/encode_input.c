/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_input.h"

#include "common/samples/layout.h"
#include "common/samples/video_formats.h"

#include <string.h>

#define V210_ROW 128 /* a row of v210 is a multiple of so many bytes */

/* ------------------------------------------------------------------------------- images --- */

/* Names of planar formats of any depth, for which GStreamer has no name: RGB_12LE is three planes
 * R, G and B of 12 bits. */
static bool parse_format(const char *name, ImageRawShape *shape, Cj2kColour *colour, bool *gbr,
                         char *why)
{
  static const struct {
    const char *name;
    uint8_t components, dx, dy;
    Cj2kColour colour;
  } formats[] = {
      {"I420", 3, 2, 2, CJ2K_COLOUR_SYCC}, {"I422", 3, 2, 1, CJ2K_COLOUR_SYCC},
      {"Y42B", 3, 2, 1, CJ2K_COLOUR_SYCC}, {"Y444", 3, 1, 1, CJ2K_COLOUR_SYCC},
      {"GRAY", 1, 1, 1, CJ2K_COLOUR_GREY}, {"GBR", 3, 1, 1, CJ2K_COLOUR_SRGB},
      {"RGB", 3, 1, 1, CJ2K_COLOUR_SRGB},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
    size_t n = strlen(formats[i].name);
    if (g_ascii_strncasecmp(name, formats[i].name, n) || g_ascii_isalpha(name[n]))
      continue;
    const char *rest = name[n] == '_' ? name + n + 1 : name + n;
    uint64_t depth = 8;
    if (*rest && (!cj2k_option_read_integer(&rest, 16, &depth) || depth < 1 ||
                  (*rest && g_ascii_strcasecmp(rest, "LE"))))
      break;
    *colour = formats[i].colour;
    *gbr = !strcmp(formats[i].name, "GBR");
    shape->num_components = formats[i].components;
    shape->depth = (uint8_t)depth;
    for (uint32_t c = 0; c < IMAGE_MAX_READ_COMPONENTS; c++) {
      shape->dx[c] = c ? formats[i].dx : 1;
      shape->dy[c] = c ? formats[i].dy : 1;
    }
    return true;
  }
  return image_fail(why, "--format: %s is not known", name);
}

bool encode_input_is_format(const char *name)
{
  ImageRawShape shape;
  Cj2kColour colour;
  bool gbr;
  char why[IMAGE_WHY];

  return cj2k_video_format_find(name) || parse_format(name, &shape, &colour, &gbr, why);
}

static bool read_planes(const EncodeOptions *options, const char *path, Image *image, char *why)
{
  ImageRawShape shape = {.width = (uint32_t)options->width, .height = (uint32_t)options->height};
  Cj2kColour colour = CJ2K_COLOUR_UNKNOWN;
  bool gbr = false;

  if (!parse_format(options->format, &shape, &colour, &gbr, why) ||
      !image_read_raw(image, path, &shape, why))
    return false;
  image->colour = colour;
  if (gbr) {
    ImagePlane green = image->planes[0], blue = image->planes[1];
    image->planes[0] = image->planes[2];
    image->planes[1] = green;
    image->planes[2] = blue;
  }
  return true;
}

/* Allocates the arrays whose length is the number of components. */
static void alloc_components(EncodeInput *input, uint32_t n)
{
  input->components = g_new0(Cj2kComponent, n);
  input->samples = g_new0(Cj2kSampleLayout, n);
  input->planes = g_new0(Cj2kPlane, n);
  input->image.num_components = n;
  input->image.components = input->components;
}

static void from_image(EncodeInput *input)
{
  const Image *image = &input->file;
  uint32_t n = image->num_planes;

  alloc_components(input, n);
  for (uint32_t c = 0; c < n; c++) {
    const ImagePlane *plane = &image->planes[c];
    input->components[c] = (Cj2kComponent){.x1 = plane->width,
                                           .y1 = plane->height,
                                           .dx = plane->dx,
                                           .dy = plane->dy,
                                           .depth = plane->depth,
                                           .is_signed = plane->is_signed};
    input->planes[c] = (Cj2kPlane){.data = plane->data, .pitch = plane->pitch};
  }
  /* The size of component 0 gives the size of the reference grid. */
  input->image.width = image->planes[0].width * image->planes[0].dx;
  input->image.height = image->planes[0].height * image->planes[0].dy;
  input->image.channels = image->channels;
  input->image.colour = image->colour;
  Cj2kImage shape = {.num_components = n, .components = input->components};
  cj2k_layout_planar(&shape, input->samples, &input->layout);
}

void encode_input_take(EncodeInput *input, const Image *image)
{
  *input = (EncodeInput){.file = *image};
  from_image(input);
  input->picture = (Cj2kPicture){
      .memory = CJ2K_MEMORY_HOST, .num_planes = input->layout.num_planes, .planes = input->planes};
}

/* ------------------------------------------------------------------------ video formats --- */

static void describe(EncodeInput *input, const Cj2kVideoFormat *format, uint32_t width,
                     uint32_t height)
{
  static const Cj2kColour colours[] = {CJ2K_COLOUR_GREY, CJ2K_COLOUR_SYCC, CJ2K_COLOUR_SRGB};
  static const Cj2kChannel alpha[] = {{0, 1}, {0, 2}, {0, 3}, {1, 0}};

  alloc_components(input, format->num_components);
  for (uint32_t c = 0; c < format->num_components; c++) {
    uint8_t dx = cj2k_video_format_dx(format, c), dy = cj2k_video_format_dy(format, c);
    input->components[c] = (Cj2kComponent){.x1 = (width + dx - 1) / dx,
                                           .y1 = (height + dy - 1) / dy,
                                           .dx = dx,
                                           .dy = dy,
                                           .depth = format->samples[c].depth};
  }
  input->image.width = width;
  input->image.height = height;
  input->image.colour = colours[format->family];
  input->image.channels = format->num_components == 4 ? alpha : NULL;
  cj2k_video_format_layout(format, &input->layout);
  memcpy(input->samples, format->samples, format->num_components * sizeof *input->samples);
  input->layout.samples = input->samples;
  input->layout.num_components = format->num_components;
}

/* Bytes of a row of this component in a raw file. Where a unit is several words of 32 bits
 * (NV12_10LE32), the row ends with the word of its last sample, as GStreamer stores it. */
static uint64_t raw_row_bytes(const Cj2kSampleLayout *samples, uint32_t width)
{
  return samples->word_bytes == 4 ? cj2k_layout_least_bytes(samples, width)
                                  : cj2k_layout_row_bytes(samples, width);
}

/* Reads plane after plane. Rows have no padding, except those of v210. */
static bool read_video(EncodeInput *input, const Cj2kVideoFormat *format, const char *path,
                       char *why)
{
  size_t size, offset = 0;

  input->video = image_load_file(path, &size, why);
  if (!input->video)
    return false;
  for (uint32_t p = 0; p < input->layout.num_planes; p++) {
    EncodePlane plane = encode_plane(&input->layout, input->components, p);
    size_t pitch = plane.row_bytes;
    if (!strcmp(format->name, "v210"))
      pitch = (pitch + V210_ROW - 1) / V210_ROW * V210_ROW;
    if (plane.rows && (size - offset) / plane.rows < pitch)
      return image_fail(why, "%s: %zu bytes are less than a picture", path, size);
    input->planes[p] = (Cj2kPlane){.data = input->video + offset, .pitch = pitch};
    offset += pitch * plane.rows;
  }
  return offset == size || image_fail(why, "%s: %zu bytes, a frame has %zu", path, size, offset);
}

EncodePlane encode_plane(const Cj2kLayout *layout, const Cj2kComponent *components, uint32_t p)
{
  EncodePlane plane = {0};

  for (uint32_t c = 0; c < layout->num_components; c++) {
    if (layout->samples[c].plane != p)
      continue;
    uint32_t width = components[c].x1 - components[c].x0;
    plane.row_bytes = MAX(plane.row_bytes, raw_row_bytes(&layout->samples[c], width));
    plane.rows = MAX(plane.rows, components[c].y1 - components[c].y0);
  }
  return plane;
}

/* ---------------------------------------------------------------------------------- all --- */

static bool is_raw(const EncodeOptions *options, const char *path)
{
  return image_format_of(path) == IMAGE_RAW || (!strcmp(path, "-") && options->format != NULL);
}

bool encode_input_check(const EncodeOptions *options, const char *path, char *why)
{
  if (is_raw(options, path) && (options->width <= 0 || options->height <= 0 || !options->format))
    return image_fail(why, "%s: a raw file needs --width, --height and --format", path);
  return true;
}

/* Describes a picture whose samples stay where they are in the bytes of a file. */
static void take_packed(EncodeInput *input, const ImagePacked *packed)
{
  alloc_components(input, packed->num_components);
  for (uint32_t c = 0; c < packed->num_components; c++) {
    input->components[c] = (Cj2kComponent){
        .x1 = packed->width, .y1 = packed->height, .dx = 1, .dy = 1, .depth = packed->depth};
    input->samples[c] = packed->samples[c];
  }
  input->image.width = packed->width;
  input->image.height = packed->height;
  input->image.channels = packed->channels;
  input->image.colour = packed->colour;
  input->layout = (Cj2kLayout){
      .num_components = packed->num_components, .num_planes = 1, .samples = input->samples};
  input->planes[0] = (Cj2kPlane){.data = input->video + packed->offset, .pitch = packed->pitch};
}

/* Reads a DPX file, if possible without unpacking its samples. */
static bool read_dpx(EncodeInput *input, const char *path, char *why)
{
  ImageFile file = {.path = path};
  ImagePacked packed;

  input->video = image_load_file(path, &file.size, why);
  file.data = input->video;
  if (!file.data)
    return false;
  bool is_dpx = file.size > 4 && (!memcmp(file.data, "SDPX", 4) || !memcmp(file.data, "XPDS", 4));
  if (is_dpx && !image_place_dpx(&packed, &file, why))
    return false;
  if (is_dpx && packed.num_components) {
    take_packed(input, &packed);
    return true;
  }
  bool ok = image_read_file(&input->file, &file, why);
  g_clear_pointer(&input->video, g_free);
  if (ok)
    from_image(input);
  return ok;
}

static bool read_input(EncodeInput *input, const EncodeOptions *options, const char *path,
                       char *why)
{
  bool raw = is_raw(options, path);

  const Cj2kVideoFormat *format = raw ? cj2k_video_format_find(options->format) : NULL;
  if (format) {
    describe(input, format, (uint32_t)options->width, (uint32_t)options->height);
    return read_video(input, format, path, why);
  }
  if (!raw && image_format_of(path) == IMAGE_DPX)
    return read_dpx(input, path, why);
  if (raw ? !read_planes(options, path, &input->file, why) : !image_read(&input->file, path, why))
    return false;
  from_image(input);
  return true;
}

bool encode_input_read(EncodeInput *input, const EncodeOptions *options,
                       const Cj2kEncoderParams *params, const char *path, char *why)
{
  *input = (EncodeInput){0};
  if (!read_input(input, options, path, why)) {
    encode_input_clear(input);
    return false;
  }
  if (params->rgb_to_xyz == CJ2K_XYZ_ON)
    input->image.colour = CJ2K_COLOUR_SRGB;
  input->image.cicp = options->cicp.primaries ? options->cicp : input->file.cicp;
  input->picture = (Cj2kPicture){
      .memory = CJ2K_MEMORY_HOST, .num_planes = input->layout.num_planes, .planes = input->planes};
  return true;
}

void encode_input_clear(EncodeInput *input)
{
  image_clear(&input->file);
  g_free(input->video);
  g_free(input->components);
  g_free(input->samples);
  g_free(input->planes);
}
