/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kcaps.h"

#include <string.h>

enum { ROLE_ALPHA = 3 };

static const gchar *caps_string(const GstCaps *caps, const gchar *field)
{
  if (!caps || gst_caps_is_empty(caps) || gst_caps_is_any(caps))
    return NULL;
  return gst_structure_get_string(gst_caps_get_structure(caps, 0), field);
}

/* ------------------------------------------------------------------------ image to video --- */

/* Finds the role of each component. A cdef box may list them in any order (T.800 I.5.3.6). Without
 * one they are in order, and the second of two or the fourth of four is alpha, by convention. */
static gboolean assign_roles(const Cj2kImage *image, const GstCaps *caps, GstCudaJ2kVideo *video,
                             gchar **reason)
{
  guint n = image->num_components, taken = 0;
  const gchar *sampling = caps_string(caps, "sampling");
  gboolean reversed = sampling && g_str_has_prefix(sampling, "BGR");

  for (guint c = 0; c < n; c++) {
    const Cj2kChannel *channel = &image->channels[c];
    gboolean alpha = channel->type == 1 || channel->type == 2;
    alpha |= c == n - 1 && n % 2 == 0 && (channel->type == 65535 || channel->association == c + 1);
    guint role = alpha ? ROLE_ALPHA : channel->association - 1u;
    if (!alpha && (channel->association < 1 || channel->association > 3))
      role = c;
    if (reversed && role < 3)
      role = 2 - role;
    if (role > ROLE_ALPHA || taken & 1u << role) {
      *reason = g_strdup_printf(
          "component %u is neither a colour that no other component has nor alpha", c);
      return FALSE;
    }
    video->premultiplied |= channel->type == CJ2K_CHANNEL_PREMULTIPLIED;
    taken |= 1u << role;
    video->role[c] = (guint8)role;
  }
  video->has_alpha = (taken & 1u << ROLE_ALPHA) != 0;
  taken &= 7;
  if (taken != 1 && taken != 7) {
    *reason = g_strdup_printf("%u components, but neither grey nor three colours", n);
    return FALSE;
  }
  video->family = taken == 1 ? CJ2K_VIDEO_GREY : CJ2K_VIDEO_RGB;
  return TRUE;
}

static gboolean names_other_primaries(const GstCaps *caps)
{
  const gchar *string = caps_string(caps, "colorimetry");
  GstVideoColorimetry colorimetry;
  return string && gst_video_colorimetry_from_string(&colorimetry, string) &&
         colorimetry.primaries != GST_VIDEO_COLOR_PRIMARIES_UNKNOWN &&
         colorimetry.primaries != GST_VIDEO_COLOR_PRIMARIES_SMPTEST428;
}

/* The list in the header file, for an image of three colours. */
static void decide_colours(const Cj2kImage *image, const GstCaps *caps, GstCudaJ2kVideo *video)
{
  const gchar *sampling = caps_string(caps, "sampling");
  const gchar *colorspace = caps_string(caps, "colorspace");

  video->family = CJ2K_VIDEO_RGB;
  /* Rules in the order of their precedence; some agree. */
  // NOLINTNEXTLINE(bugprone-branch-clone)
  if (video->sub_x != 1 || video->sub_y != 1) {
    video->family = CJ2K_VIDEO_YUV;
  } else if (image->colour == CJ2K_COLOUR_XYZ && !names_other_primaries(caps)) {
    video->is_xyz = TRUE;
  } else if (sampling && !g_str_equal(sampling, "GRAYSCALE")) {
    if (g_str_has_prefix(sampling, "YCbCr"))
      video->family = CJ2K_VIDEO_YUV;
  } else if (colorspace && !g_str_equal(colorspace, "GRAY")) {
    if (g_str_equal(colorspace, "sYUV"))
      video->family = CJ2K_VIDEO_YUV;
  } else if (image->colour == CJ2K_COLOUR_SYCC) {
    video->family = CJ2K_VIDEO_YUV;
  }
  video->is_full_range = video->family == CJ2K_VIDEO_YUV && image->colour == CJ2K_COLOUR_SYCC;
}

/* The code points of a file as colorimetry, unless they are for colours of another kind. */
static void take_code_points(const Cj2kCicp *cicp, GstCudaJ2kVideo *video)
{
  GstVideoColorimetry colorimetry = {
      .range = cicp->full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235,
      .matrix = gst_video_color_matrix_from_iso(cicp->matrix),
      .transfer = gst_video_transfer_function_from_iso(cicp->transfer),
      .primaries = gst_video_color_primaries_from_iso(cicp->primaries)};
  gboolean rgb = cicp->matrix == 0;

  if (!cicp->primaries || (video->family == CJ2K_VIDEO_RGB && !rgb && cicp->matrix != 2) ||
      (video->family == CJ2K_VIDEO_YUV && rgb))
    return;
  if (video->family == CJ2K_VIDEO_RGB)
    colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_RGB;
  video->colorimetry = colorimetry;
}

static const Cj2kComponent *component_of(const Cj2kImage *image, const GstCudaJ2kVideo *video,
                                         guint role)
{
  for (guint c = 0; c < image->num_components; c++)
    if (video->role[c] == role)
      return &image->components[c];
  return NULL;
}

static gboolean same_grid(const Cj2kComponent *a, const Cj2kComponent *b)
{
  return a->dx == b->dx && a->dy == b->dy;
}

static guint size_of(guint32 begin, guint32 end)
{
  return end > begin ? end - begin : 0;
}

static gboolean find_sub_sampling(const Cj2kImage *image, GstCudaJ2kVideo *video, gchar **reason)
{
  const Cj2kComponent *luma = component_of(image, video, 0);
  const Cj2kComponent *alpha = component_of(image, video, ROLE_ALPHA);

  video->sub_x = video->sub_y = 1;
  video->width = size_of(luma->x0, luma->x1);
  video->height = size_of(luma->y0, luma->y1);
  video->full_height = size_of(image->y0, image->y1) / MAX(luma->dy, 1);
  if (alpha && !same_grid(luma, alpha)) {
    *reason = g_strdup("alpha and the colours have different resolutions");
    return FALSE;
  }
  if (video->family == CJ2K_VIDEO_GREY)
    return TRUE;

  const Cj2kComponent *cb = component_of(image, video, 1), *cr = component_of(image, video, 2);
  guint x = cb->dx / luma->dx, y = cb->dy / luma->dy;
  if (!same_grid(cb, cr) || cb->dx % luma->dx || cb->dy % luma->dy || x > 4 || y > 4) {
    *reason = g_strdup_printf("no video format has the sub-sampling %ux%u, %ux%u, %ux%u", luma->dx,
                              luma->dy, cb->dx, cb->dy, cr->dx, cr->dy);
    return FALSE;
  }
  video->sub_x = (guint8)x;
  video->sub_y = (guint8)y;
  video->chroma_clipped = size_of(cb->x0, cb->x1) < (video->width + x - 1) / x ||
                          size_of(cb->y0, cb->y1) < (video->height + y - 1) / y;
  return TRUE;
}

gboolean gst_cuda_j2k_video_from_image(const Cj2kImage *image, const GstCaps *caps,
                                       GstCudaJ2kVideo *video, gchar **reason)
{
  memset(video, 0, sizeof *video);
  if (image->num_components < 1 || image->num_components > 4) {
    *reason = g_strdup_printf("%u components, but video has 1 to 4", image->num_components);
    return FALSE;
  }
  video->num_components = (guint8)image->num_components;
  if (!assign_roles(image, caps, video, reason) || !find_sub_sampling(image, video, reason))
    return FALSE;
  if (!video->width || !video->height || video->width > G_MAXINT || video->height > G_MAXINT) {
    *reason = g_strdup("the image is empty, or too large for video");
    return FALSE;
  }
  if (image->colour == CJ2K_COLOUR_OTHER && image->colour_enum == 12) {
    *reason = g_strdup("the colours are CMYK");
    return FALSE;
  }
  if (video->family != CJ2K_VIDEO_GREY)
    decide_colours(image, caps, video);
  take_code_points(&image->cicp, video);
  for (guint c = 0; c < image->num_components; c++)
    if (video->role[c] != ROLE_ALPHA)
      video->depth = MAX(video->depth, image->components[c].depth);
  return TRUE;
}

gchar *gst_cuda_j2k_video_describe(const GstCudaJ2kVideo *video)
{
  const gchar *colours = "grey";
  gchar *sampled = NULL;
  if (video->family == CJ2K_VIDEO_RGB)
    colours = video->is_xyz ? "X'Y'Z'" : "RGB";
  if (video->family == CJ2K_VIDEO_YUV)
    colours = sampled = g_strdup_printf("4:%u:%u Y'CbCr", 4u / video->sub_x,
                                        video->sub_y == 1 ? 4u / video->sub_x : 0);
  gchar *text =
      g_strdup_printf("%s%s, %u bit, %ux%u", colours, video->has_alpha ? " with alpha" : "",
                      video->depth, video->width, video->height);
  g_free(sampled);
  return text;
}

/* ---------------------------------------------------------------- video to a raw format --- */

static gboolean caps_have(const GstCaps *allowed, const gchar *feature, GstVideoFormat format)
{
  GstCaps *one = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                                     gst_video_format_to_string(format), NULL);
  if (feature)
    gst_caps_set_features_simple(one, gst_caps_features_new(feature, NULL));
  gboolean have = gst_caps_can_intersect(allowed, one);
  gst_caps_unref(one);
  return have;
}

/* Each criterion outweighs all following ones. */
guint gst_cuda_j2k_video_cost(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format)
{
  guint wanted = MIN(video->depth, 16);
  gboolean alpha = gst_cuda_j2k_format_has_alpha(format);
  guint lost = format->depth < wanted ? wanted - format->depth : 0;
  guint added = format->depth > wanted ? format->depth - wanted : 0;
  return lost << 8 | (guint)(video->has_alpha && !alpha) << 7 | added << 1 |
         (guint)(alpha && !video->has_alpha);
}

static gboolean can_carry(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format)
{
  GstVideoInfo info;
  if (format->family != video->family || format->sub_x != video->sub_x ||
      format->sub_y != video->sub_y)
    return FALSE;
  /* Alpha can be dropped only if it is the image's last component. */
  if (video->has_alpha && !gst_cuda_j2k_format_has_alpha(format) &&
      video->role[video->num_components - 1] != ROLE_ALPHA)
    return FALSE;
  return gst_video_info_set_format(&info, gst_cuda_j2k_format_id(format), video->width,
                                   video->height) &&
         gst_cuda_j2k_format_fits(format, &info);
}

const GstCudaJ2kFormat *gst_cuda_j2k_video_choose(const GstCudaJ2kVideo *video,
                                                  const GstCaps *allowed, const gchar *feature)
{
  const GstCudaJ2kFormat *best = NULL;
  guint count;
  const GstCudaJ2kFormat *formats = gst_cuda_j2k_formats(&count);
  for (guint i = 0; i < count; i++) {
    if ((best &&
         gst_cuda_j2k_video_cost(video, &formats[i]) >= gst_cuda_j2k_video_cost(video, best)) ||
        !can_carry(video, &formats[i]) ||
        !caps_have(allowed, feature, gst_cuda_j2k_format_id(&formats[i])))
      continue;
    best = &formats[i];
  }
  return best;
}

void gst_cuda_j2k_video_layout(const GstCudaJ2kVideo *video, const GstCudaJ2kFormat *format,
                               Cj2kSampleLayout samples[4], Cj2kLayout *layout)
{
  guint n = 0;
  cj2k_video_format_layout(format, layout);
  gboolean place = format->samples[ROLE_ALPHA].depth > 0;
  for (guint c = 0; c < video->num_components; c++)
    if (video->role[c] != ROLE_ALPHA || place)
      samples[n++] = format->samples[video->role[c]];
  /* The library fills in alpha that the image does not have. */
  if (place && !video->has_alpha)
    samples[n++] = format->samples[ROLE_ALPHA];
  layout->samples = samples;
  layout->num_components = n;
}

void gst_cuda_j2k_video_set_colorimetry(const GstCudaJ2kVideo *video, const GstCaps *caps,
                                        GstVideoInfo *info)
{
  const gchar *string = caps_string(caps, "colorimetry");
  GstVideoInfo fresh;
  GstVideoColorimetry colorimetry;

  /* GStreamer's default depends on the height. */
  gst_video_info_set_format(&fresh, GST_VIDEO_INFO_FORMAT(info), MIN(video->width, 16),
                            MIN(MAX(video->height, video->full_height), G_MAXUINT16));
  if (video->is_full_range)
    gst_video_colorimetry_from_string(&fresh.colorimetry, GST_VIDEO_COLORIMETRY_SRGB);
  if (video->is_full_range)
    fresh.colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_BT601;
  if (video->is_xyz) {
    fresh.colorimetry.transfer = GST_VIDEO_TRANSFER_UNKNOWN;
    fresh.colorimetry.primaries = GST_VIDEO_COLOR_PRIMARIES_SMPTEST428;
  }
  if (video->colorimetry.range != GST_VIDEO_COLOR_RANGE_UNKNOWN)
    fresh.colorimetry = video->colorimetry;
  if (string && gst_video_colorimetry_from_string(&colorimetry, string)) {
    gboolean rgb = colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_RGB;
    if (video->family == CJ2K_VIDEO_RGB && !rgb) {
      colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_RGB;
      colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
    }
    /* "sRGB" for Y'CbCr is a guess of a demuxer, and is ignored. */
    if (video->family == CJ2K_VIDEO_RGB || !rgb)
      fresh.colorimetry = colorimetry;
  }
  info->colorimetry = fresh.colorimetry;
  if (video->sub_x == 1 && video->sub_y == 1)
    GST_VIDEO_INFO_CHROMA_SITE(info) = GST_VIDEO_CHROMA_SITE_UNKNOWN;
}

/* ----------------------------------------------------------------------------- alignment --- */

/* Whether a structure is image/x-jpc with this value of `alignment`; NULL: without the field. */
static gboolean has_alignment(const GstStructure *s, const gchar *alignment)
{
  const GValue *value = gst_structure_get_value(s, "alignment");
  GValue wanted = G_VALUE_INIT;
  if (!gst_structure_has_name(s, "image/x-jpc") || !value || !alignment)
    return gst_structure_has_name(s, "image/x-jpc") && !value && !alignment;
  g_value_init(&wanted, G_TYPE_STRING);
  g_value_set_static_string(&wanted, alignment);
  gboolean has = gst_value_intersect(NULL, value, &wanted);
  g_value_unset(&wanted);
  return has;
}

static gboolean any_has_alignment(const GstCaps *caps, const gchar *alignment)
{
  for (guint i = 0; !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++)
    if (has_alignment(gst_caps_get_structure(caps, i), alignment))
      return TRUE;
  return FALSE;
}

gboolean gst_cuda_j2k_caps_take_subframes(const GstCaps *theirs)
{
  return any_has_alignment(theirs, "subframe");
}

gboolean gst_cuda_j2k_caps_take_frames(const GstCaps *theirs)
{
  return gst_caps_is_any(theirs) || any_has_alignment(theirs, NULL) ||
         any_has_alignment(theirs, "frame");
}
