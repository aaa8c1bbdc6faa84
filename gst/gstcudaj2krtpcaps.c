/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2krtpcaps.h"

#include <math.h>

/* The colour model of the components of a codestream. */
typedef enum { KIND_NONE, KIND_GREY, KIND_RGB, KIND_YUV } Kind;

/* Values of `sampling` in the caps image/x-jpc. */
static const struct {
  const gchar *name;
  Kind kind;
  guint8 components, sub_x, sub_y;
} samplings[] = {
    {"GRAYSCALE", KIND_GREY, 1, 1, 1},     {"RGB", KIND_RGB, 3, 1, 1},
    {"RGBA", KIND_RGB, 4, 1, 1},           {"YCbCr-4:4:4", KIND_YUV, 3, 1, 1},
    {"YCbCrA-4:4:4:4", KIND_YUV, 4, 1, 1}, {"YCbCrA", KIND_YUV, 4, 1, 1},
    {"YCbCr-4:2:2", KIND_YUV, 3, 2, 1},    {"YCbCr-4:2:0", KIND_YUV, 3, 2, 2},
    {"YCbCr-4:1:1", KIND_YUV, 3, 4, 1},    {"YCbCr-4:1:0", KIND_YUV, 3, 4, 4},
    {"YCbCr-4:2:2", KIND_YUV, 4, 2, 1},    {"YCbCr-4:2:0", KIND_YUV, 4, 2, 2},
};

/* Values of the parameter `pixel` (RFC 9828, 10): sampling, and colours as code points of H.273. */
static const struct {
  const gchar *name;
  Kind kind;
  guint8 sub_x, sub_y, transfer, primaries, matrix;
} pixels[] = {
    {"rgb444sdr", KIND_RGB, 1, 1, 1, 1, 0},    {"rgb444wcg", KIND_RGB, 1, 1, 1, 9, 0},
    {"rgb444pq", KIND_RGB, 1, 1, 16, 9, 0},    {"rgb444hlg", KIND_RGB, 1, 1, 18, 9, 0},
    {"ycbcr420sdr", KIND_YUV, 2, 2, 1, 1, 1},  {"ycbcr422sdr", KIND_YUV, 2, 1, 1, 1, 1},
    {"ycbcr422wcg", KIND_YUV, 2, 1, 1, 9, 9},  {"ycbcr422pq", KIND_YUV, 2, 1, 16, 9, 9},
    {"ycbcr422hlg", KIND_YUV, 2, 1, 18, 9, 9},
};

/* Values of the parameter `signal` (RFC 9828, 10) by TP. */
static const gchar *const signals[] = {
    [CJ2K_RTP_FRAME] = "prog",       [CJ2K_RTP_FIELD1_LINE1] = "tff",
    [CJ2K_RTP_FIELD2_LINE2] = "tff", [CJ2K_RTP_FIELD1_LINE2] = "bff",
    [CJ2K_RTP_FIELD2_LINE1] = "bff", [CJ2K_RTP_PSF1] = "psf",
    [CJ2K_RTP_PSF2] = "psf",
};

/* Whether the image has this sub-sampling of components 1 and 2, and full-size alpha if any. */
static gboolean has_sizes(const Cj2kRtpImage *image, guint8 sub_x, guint8 sub_y)
{
  return image->sub_x == sub_x && image->sub_y == sub_y && image->alpha_size;
}

static Kind kind_of_caps(const GstStructure *caps, const Cj2kRtpImage *image)
{
  const gchar *sampling = gst_structure_get_string(caps, "sampling");
  const gchar *space = gst_structure_get_string(caps, "colorspace");
  for (guint i = 0; sampling && i < G_N_ELEMENTS(samplings); i++)
    if (g_str_equal(sampling, samplings[i].name) &&
        samplings[i].components == image->num_components &&
        has_sizes(image, samplings[i].sub_x, samplings[i].sub_y))
      return samplings[i].kind;
  if (sampling || !space || !image->alpha_size || !image->sub_x)
    return KIND_NONE;
  if (image->num_components <= 2)
    return g_str_equal(space, "GRAY") ? KIND_GREY : KIND_NONE;
  return g_str_equal(space, "sRGB") ? KIND_RGB : g_str_equal(space, "sYUV") ? KIND_YUV : KIND_NONE;
}

void gst_cuda_j2k_rtp_set_colours(const GstStructure *caps, const Cj2kRtpImage *image,
                                  Cj2kRtpHeader *header)
{
  const gchar *text = gst_structure_get_string(caps, "colorimetry");
  GstVideoColorimetry colours;
  Kind kind = kind_of_caps(caps, image);
  if (kind == KIND_NONE || image->num_components > 4 || !text ||
      !gst_video_colorimetry_from_string(&colours, text) ||
      colours.primaries == GST_VIDEO_COLOR_PRIMARIES_UNKNOWN ||
      colours.transfer == GST_VIDEO_TRANSFER_UNKNOWN)
    return;
  header->has_colours = true;
  header->full_range = colours.range == GST_VIDEO_COLOR_RANGE_0_255;
  header->primaries = (guint8)gst_video_color_primaries_to_iso(colours.primaries);
  header->transfer = (guint8)gst_video_transfer_function_to_iso(colours.transfer);
  header->matrix = kind == KIND_RGB ? 0 : (guint8)gst_video_color_matrix_to_iso(colours.matrix);
  /* H.273 has several code points for the transfer curve of BT.709. The values "wcg" of `pixel`,
   * which are BT.2020 with this curve, use 1. */
  if (header->primaries == 9 && (header->transfer == 14 || header->transfer == 15))
    header->transfer = 1;
}

static const gchar *pixel_name(const Cj2kRtpImage *image, const Cj2kRtpHeader *header)
{
  for (guint i = 0; header->has_colours && image->num_components == 3 && i < G_N_ELEMENTS(pixels);
       i++)
    if (has_sizes(image, pixels[i].sub_x, pixels[i].sub_y) &&
        header->transfer == pixels[i].transfer && header->primaries == pixels[i].primaries &&
        header->matrix == pixels[i].matrix && (pixels[i].kind == KIND_RGB || !header->full_range))
      return pixels[i].name;
  return NULL;
}

GstStructure *gst_cuda_j2k_rtp_parameters(const Cj2kRtpImage *image, const Cj2kRtpHeader *header,
                                          guint8 part, gint fps_n, gint fps_d)
{
  GstStructure *s = gst_structure_new_empty("parameters");
  gchar rate[G_ASCII_DTOSTR_BUF_SIZE];
  const gchar *pixel = pixel_name(image, header);
  guint64 height = (guint64)image->height * (gst_cuda_j2k_rtp_is_frame(part) ? 1 : 2);
  gchar *width_text = g_strdup_printf("%u", image->width);
  gchar *height_text = g_strdup_printf("%" G_GUINT64_FORMAT, height);
  gchar *sample_text = g_strdup_printf("%u", image->depth);
  if (pixel)
    gst_structure_set(s, "pixel", G_TYPE_STRING, pixel, NULL);
  if (image->depth == 8 || image->depth == 10 || image->depth == 12 || image->depth == 16)
    gst_structure_set(s, "sample", G_TYPE_STRING, sample_text, NULL);
  gst_structure_set(s, "width", G_TYPE_STRING, width_text, "height", G_TYPE_STRING, height_text,
                    "signal", G_TYPE_STRING, signals[part % G_N_ELEMENTS(signals)], NULL);
  if (fps_n > 0)
    gst_structure_set(s, "a-framerate", G_TYPE_STRING,
                      g_ascii_dtostr(rate, sizeof rate, (gdouble)fps_n / fps_d), NULL);
  g_free(width_text);
  g_free(height_text);
  g_free(sample_text);
  return s;
}

static Kind kind_of_header(const Cj2kRtpImage *image, const Cj2kRtpHeader *header)
{
  if (!image->alpha_size || !image->sub_x)
    return KIND_NONE;
  if (image->num_components <= 2)
    return KIND_GREY;
  if (image->num_components > 4)
    return KIND_NONE;
  if (image->sub_x > 1 || image->sub_y > 1)
    return KIND_YUV;
  return !header->has_colours ? KIND_NONE : header->matrix == 0 ? KIND_RGB : KIND_YUV;
}

/* Sets the header's colours from `pixel` of the RTP caps if the header has none. */
static void colours_of_pixel(const GstStructure *rtp, const Cj2kRtpImage *image,
                             Cj2kRtpHeader *header)
{
  const gchar *pixel = rtp ? gst_structure_get_string(rtp, "pixel") : NULL;
  for (guint i = 0; pixel && !header->has_colours && i < G_N_ELEMENTS(pixels); i++)
    if (g_ascii_strcasecmp(pixel, pixels[i].name) == 0 && image->num_components == 3 &&
        has_sizes(image, pixels[i].sub_x, pixels[i].sub_y)) {
      header->has_colours = true;
      header->transfer = pixels[i].transfer;
      header->primaries = pixels[i].primaries;
      header->matrix = pixels[i].matrix;
      header->full_range = pixels[i].kind == KIND_RGB;
    }
}

static gchar *colorimetry_of(const Cj2kRtpImage *image, const Cj2kRtpHeader *header)
{
  GstVideoColorimetry colours = {
      .range = header->full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235,
      .matrix = gst_video_color_matrix_from_iso(header->matrix),
      .transfer = gst_video_transfer_function_from_iso(header->transfer),
      .primaries = gst_video_color_primaries_from_iso(header->primaries)};
  /* GStreamer has names of its own for the curve of BT.709 with the primaries of BT.2020. */
  if (header->primaries == 9 && header->transfer == 1)
    colours.transfer =
        image->depth >= 12 ? GST_VIDEO_TRANSFER_BT2020_12 : GST_VIDEO_TRANSFER_BT2020_10;
  return gst_video_colorimetry_to_string(&colours);
}

/* Reads the frame rate from the SDP attribute framerate, in which 29.97 stands for 30000/1001; 0/1:
 * it is not known. */
static void read_framerate(const GstStructure *rtp, gint *fps_n, gint *fps_d)
{
  const gchar *text = rtp ? gst_structure_get_string(rtp, "a-framerate") : NULL;
  gdouble rate = text ? g_ascii_strtod(text, NULL) : 0;
  *fps_n = 0;
  *fps_d = 1;
  for (gint base = 24; base <= 120; base += base < 30 ? 6 : base)
    if (fabs(rate - base / 1.001) < 0.0051) {
      *fps_n = 1000 * base;
      *fps_d = 1001;
      return;
    }
  if (rate > 0 && rate < 10000)
    gst_util_double_to_fraction(rate, fps_n, fps_d);
}

static void set_interlacing(GstCaps *caps, guint8 part)
{
  gboolean psf = part == CJ2K_RTP_PSF1 || part == CJ2K_RTP_PSF2;
  gboolean bottom_first = part == CJ2K_RTP_FIELD1_LINE2 || part == CJ2K_RTP_FIELD2_LINE1;
  gboolean frame = gst_cuda_j2k_rtp_is_frame(part);
  gst_caps_set_simple(caps, "fields", G_TYPE_INT, frame ? 1 : 2, NULL);
  if (psf)
    gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, "progressive", NULL);
  else if (!frame)
    gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, "interleaved", "field-order",
                        G_TYPE_STRING, bottom_first ? "bottom-field-first" : "top-field-first",
                        NULL);
}

GstCaps *gst_cuda_j2k_rtp_stream_caps(const Cj2kRtpImage *image, const Cj2kRtpHeader *main,
                                      guint8 part, gboolean subframe, const GstStructure *rtp)
{
  static const gchar *const spaces[] = {
      [KIND_GREY] = "GRAY", [KIND_RGB] = "sRGB", [KIND_YUV] = "sYUV"};
  Cj2kRtpHeader header = *main;
  guint64 height = (guint64)image->height * (gst_cuda_j2k_rtp_is_frame(part) ? 1 : 2);
  gint fps_n, fps_d;
  read_framerate(rtp, &fps_n, &fps_d);
  GstCaps *caps = gst_caps_new_simple(
      "image/x-jpc", "alignment", G_TYPE_STRING, subframe ? "subframe" : "frame", "width",
      G_TYPE_INT, (gint)MIN(image->width, G_MAXINT), "height", G_TYPE_INT,
      (gint)MIN(height, G_MAXINT), "framerate", GST_TYPE_FRACTION, fps_n, fps_d, "num-components",
      G_TYPE_INT, (gint)image->num_components, NULL);
  colours_of_pixel(rtp, image, &header);
  Kind kind = kind_of_header(image, &header);
  set_interlacing(caps, part);
  if (kind != KIND_NONE)
    gst_caps_set_simple(caps, "colorspace", G_TYPE_STRING, spaces[kind], NULL);
  for (guint i = 0; i < G_N_ELEMENTS(samplings); i++)
    if (samplings[i].kind == kind && kind != KIND_NONE &&
        samplings[i].components == image->num_components &&
        has_sizes(image, samplings[i].sub_x, samplings[i].sub_y)) {
      gst_caps_set_simple(caps, "sampling", G_TYPE_STRING, samplings[i].name, NULL);
      break;
    }
  gchar *colorimetry = header.has_colours ? colorimetry_of(image, &header) : NULL;
  if (colorimetry)
    gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
  g_free(colorimetry);
  return caps;
}
