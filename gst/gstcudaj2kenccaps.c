/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kenccaps.h"
#include "gstcudaj2kcaps.h"

#include <string.h>

static const gchar *const media_types[] = {
    [GST_CUDA_J2K_JPC] = "image/x-jpc",
    [GST_CUDA_J2K_J2C] = "image/x-j2c",
    [GST_CUDA_J2K_JP2] = "image/jp2",
};

#define STREAM_FIELDS                                                                              \
  "width = (int) [ 1, MAX ], height = (int) [ 1, MAX ], framerate = (fraction) [ 0, MAX ], "       \
  "num-components = (int) [ 1, 4 ], "                                                              \
  "colorspace = (string) { sRGB, sYUV, GRAY }, "                                                   \
  "sampling = (string) { RGB, RGBA, YCbCr-4:4:4, YCbCr-4:2:2, YCbCr-4:2:0, YCbCr-4:1:1, "          \
  "YCbCr-4:1:0, YCbCrA-4:4:4:4, YCbCrA, GRAYSCALE }"

GstCaps *gst_cuda_j2k_enc_template_caps(void)
{
  /* x-jpc first: the elements for MPEG-TS, RTP, MXF and AVI accept nothing else. */
  return gst_caps_from_string(
      "image/x-jpc, alignment = (string) { frame, subframe }, " STREAM_FIELDS
      "; image/x-j2c, alignment = (string) frame, " STREAM_FIELDS
      "; image/jp2, alignment = (string) frame, " STREAM_FIELDS);
}

/* Elements disagree on some values of `sampling`: takes the first that downstream accepts. */
static const gchar *choose_sampling(const GstCudaJ2kFormat *format, const gchar *media,
                                    const GstCaps *allowed)
{
  static const struct {
    GstCudaJ2kFamily family;
    guint8 sub_x, sub_y, alpha;
    const gchar *names[2];
  } table[] = {
      {CJ2K_VIDEO_GREY, 1, 1, FALSE, {"GRAYSCALE"}},
      {CJ2K_VIDEO_RGB, 1, 1, FALSE, {"RGB"}},
      {CJ2K_VIDEO_RGB, 1, 1, TRUE, {"RGBA"}},
      {CJ2K_VIDEO_YUV, 1, 1, FALSE, {"YCbCr-4:4:4"}},
      {CJ2K_VIDEO_YUV, 1, 1, TRUE, {"YCbCrA-4:4:4:4", "YCbCrA"}},
      {CJ2K_VIDEO_YUV, 2, 1, FALSE, {"YCbCr-4:2:2"}},
      {CJ2K_VIDEO_YUV, 2, 2, FALSE, {"YCbCr-4:2:0"}},
      {CJ2K_VIDEO_YUV, 4, 1, FALSE, {"YCbCr-4:1:1"}},
      {CJ2K_VIDEO_YUV, 4, 4, FALSE, {"YCbCr-4:1:0"}},
      /* Sub-sampled chroma with alpha has no name of its own; num-components shows the alpha. */
      {CJ2K_VIDEO_YUV, 2, 1, TRUE, {"YCbCr-4:2:2"}},
      {CJ2K_VIDEO_YUV, 2, 2, TRUE, {"YCbCr-4:2:0"}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
    if (table[i].family != format->family || table[i].sub_x != format->sub_x ||
        table[i].sub_y != format->sub_y || table[i].alpha != gst_cuda_j2k_format_has_alpha(format))
      continue;
    if (!table[i].names[1])
      return table[i].names[0];
    GstCaps *first = gst_caps_new_simple(media, "sampling", G_TYPE_STRING, table[i].names[0], NULL);
    gboolean taken = gst_caps_can_intersect(allowed, first);
    gst_caps_unref(first);
    return table[i].names[taken ? 0 : 1];
  }
  return NULL;
}

static GstCudaJ2kMedia choose_media(const GstCaps *allowed)
{
  const gchar *name = gst_caps_is_any(allowed) || gst_caps_is_empty(allowed)
                          ? media_types[GST_CUDA_J2K_JPC]
                          : gst_structure_get_name(gst_caps_get_structure(allowed, 0));
  for (guint i = 0; i < G_N_ELEMENTS(media_types); i++)
    if (g_str_equal(name, media_types[i]))
      return (GstCudaJ2kMedia)i;
  return GST_CUDA_J2K_JPC;
}

void gst_cuda_j2k_enc_choose_alignment(GstCudaJ2kEncStream *stream, const GstCaps *theirs,
                                       gboolean slices)
{
  gboolean wanted = slices && !stream->fields;
  stream->subframe = stream->media == GST_CUDA_J2K_JPC &&
                     (wanted || !gst_cuda_j2k_caps_take_frames(theirs)) &&
                     gst_cuda_j2k_caps_take_subframes(theirs);
  stream->in_slices = stream->subframe && wanted;
}

typedef enum { NO_FAMILY, CINEMA, BROADCAST, IMF } Family;

/* Without a default, so that the compiler names a profile that is missing here. */
static Family family_of(Cj2kProfile profile)
{
  switch (profile) {
  case CJ2K_PROFILE_NONE: break;
  case CJ2K_PROFILE_CINEMA_2K:
  case CJ2K_PROFILE_CINEMA_4K: return CINEMA;
  case CJ2K_PROFILE_BROADCAST_SINGLE:
  case CJ2K_PROFILE_BROADCAST_MULTI:
  case CJ2K_PROFILE_BROADCAST_MULTI_R: return BROADCAST;
  case CJ2K_PROFILE_IMF_2K:
  case CJ2K_PROFILE_IMF_4K:
  case CJ2K_PROFILE_IMF_8K:
  case CJ2K_PROFILE_IMF_2K_R:
  case CJ2K_PROFILE_IMF_4K_R:
  case CJ2K_PROFILE_IMF_8K_R: return IMF;
  }
  return NO_FAMILY;
}

static gboolean set_colours(GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                            const GstCudaJ2kFormat *format, Cj2kProfile profile, gchar **reason)
{
  gboolean xyz = info->colorimetry.primaries == GST_VIDEO_COLOR_PRIMARIES_SMPTEST428;
  gboolean cinema = family_of(profile) == CINEMA;
  switch (format->family) {
  case CJ2K_VIDEO_GREY:
    stream->colour = CJ2K_COLOUR_GREY;
    stream->colorspace = "GRAY";
    break;
  case CJ2K_VIDEO_YUV:
    stream->colour = CJ2K_COLOUR_SYCC;
    stream->colorspace = "sYUV";
    break;
  case CJ2K_VIDEO_RGB:
    stream->colour = xyz ? CJ2K_COLOUR_XYZ : CJ2K_COLOUR_SRGB;
    stream->colorspace = "sRGB";
    break;
  }
  if (cinema && format->family != CJ2K_VIDEO_RGB) {
    *reason = g_strdup("the cinema profiles accept RGB (converted to X'Y'Z') or X'Y'Z' "
                       "(colorimetry with the primaries smptest428), not Y'CbCr or grey");
    return FALSE;
  }
  if (cinema && gst_cuda_j2k_format_has_alpha(format)) {
    *reason = g_strdup_printf("the cinema profiles do not allow alpha, which %s has: "
                              "videoconvert ! video/x-raw,format=GBR_12LE removes it",
                              format->name);
    return FALSE;
  }
  stream->rgb_to_xyz = cinema && !xyz;
  return TRUE;
}

gboolean gst_cuda_j2k_enc_stream_init(GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      const GstCaps *allowed, gchar **reason)
{
  memset(stream, 0, sizeof *stream);
  stream->media = choose_media(allowed);
  stream->sampling = choose_sampling(format, media_types[stream->media], allowed);
  /* TR-01 and T.800 annex M code the fields of interlaced broadcast video separately. A JP2 file
   * cannot hold two images, and a frame of odd height has fields of different sizes. */
  stream->fields = family_of(profile) == BROADCAST && stream->media != GST_CUDA_J2K_JP2 &&
                   GST_VIDEO_INFO_INTERLACE_MODE(info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED &&
                   GST_VIDEO_INFO_HEIGHT(info) % 2 == 0;
  return set_colours(stream, info, format, profile, reason);
}

GstCaps *gst_cuda_j2k_enc_stream_caps(const GstCudaJ2kEncStream *stream,
                                      const GstCudaJ2kFormat *format, Cj2kProfile profile,
                                      guint16 rsiz)
{
  /* As in jpeg2000parse, `profile` is Rsiz without the HTJ2K bit (T.800 table A.10, T.814 A.2). */
  gint number = rsiz & 0xBFFF;
  Family family = family_of(profile);
  GstCaps *caps =
      gst_caps_new_simple(media_types[stream->media], "alignment", G_TYPE_STRING,
                          stream->subframe ? "subframe" : "frame", "sampling", G_TYPE_STRING,
                          stream->sampling, "colorspace", G_TYPE_STRING, stream->colorspace,
                          "num-components", G_TYPE_INT, (gint)format->num_components, "profile",
                          G_TYPE_INT, number, "fields", G_TYPE_INT, stream->fields ? 2 : 1, NULL);
  /* Unsigned, because mpegtsmux reads it as such. */
  if (family == BROADCAST || family == IMF)
    gst_caps_set_simple(caps, "main-level", G_TYPE_UINT, (guint)rsiz & 0xF, NULL);
  if (family == IMF)
    gst_caps_set_simple(caps, "sub-level", G_TYPE_UINT, (guint)rsiz >> 4 & 0xF, NULL);
  return caps;
}

/* The colorimetry of video as code points for a JP2 or JPH file; none if it is not known. */
static Cj2kCicp code_points(const GstVideoColorimetry *colorimetry, gboolean rgb)
{
  Cj2kCicp cicp = {.primaries = (guint16)gst_video_color_primaries_to_iso(colorimetry->primaries),
                   .transfer = (guint16)gst_video_transfer_function_to_iso(colorimetry->transfer),
                   .matrix = rgb ? 0 : (guint16)gst_video_color_matrix_to_iso(colorimetry->matrix),
                   .full_range = colorimetry->range != GST_VIDEO_COLOR_RANGE_16_235};
  gboolean known = colorimetry->primaries != GST_VIDEO_COLOR_PRIMARIES_UNKNOWN ||
                   colorimetry->transfer != GST_VIDEO_TRANSFER_UNKNOWN;

  if (!known || (!rgb && !cicp.matrix))
    return (Cj2kCicp){0};
  return cicp;
}

void gst_cuda_j2k_enc_image(const GstCudaJ2kEncStream *stream, const GstVideoInfo *info,
                            const GstCudaJ2kFormat *format, Cj2kComponent components[4],
                            Cj2kEncoderImage *image)
{
  static const Cj2kChannel alpha[4] = {{0, 1}, {0, 2}, {0, 3}, {1, 0}};
  memset(image, 0, sizeof *image);
  memset(components, 0, 4 * sizeof *components);
  image->width = (guint)GST_VIDEO_INFO_WIDTH(info);
  image->height = (guint)GST_VIDEO_INFO_HEIGHT(info) / (stream->fields ? 2 : 1);
  image->num_components = format->num_components;
  image->components = components;
  image->channels = gst_cuda_j2k_format_has_alpha(format) ? alpha : NULL;
  image->colour = stream->colour;
  image->cicp = code_points(&info->colorimetry, format->family == CJ2K_VIDEO_RGB);
  for (guint c = 0; c < MIN(format->num_components, 4); c++) {
    gboolean chroma = c == 1 || c == 2;
    components[c].dx = chroma ? format->sub_x : 1;
    components[c].dy = chroma ? format->sub_y : 1;
    components[c].depth = format->samples[c].depth;
  }
}
