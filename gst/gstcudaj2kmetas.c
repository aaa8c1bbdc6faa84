/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kmetas.h"

#include <gst/video/gstvideometa.h>
#include <gst/video/video-anc.h>

/* The number of pixels of the smaller picture that `n` pixels touch, and that they fill. */
static guint touched(guint64 n, guint reduce)
{
  return (guint)((n + (G_GUINT64_CONSTANT(1) << reduce) - 1) >> reduce);
}

static guint filled(guint64 n, guint reduce)
{
  return (guint)(n >> reduce);
}

static void reduce_region(GstBuffer *out, const GstVideoRegionOfInterestMeta *region, guint reduce)
{
  guint x = filled(region->x, reduce), y = filled(region->y, reduce);
  guint right = touched((guint64)region->x + region->w, reduce);
  guint bottom = touched((guint64)region->y + region->h, reduce);
  GstVideoRegionOfInterestMeta *small = gst_buffer_add_video_region_of_interest_meta_id(
      out, region->roi_type, x, y, right - x, bottom - y);
  small->id = region->id;
  small->parent_id = region->parent_id;
  for (const GList *i = region->params; i; i = i->next)
    gst_video_region_of_interest_meta_add_param(small, gst_structure_copy(i->data));
}

/* bar_data1 is the last line of the first bar, bar_data2 the first line of the second. Pixels that
 * are only partly bar count as picture. */
static void reduce_bars(GstBuffer *out, const GstVideoBarMeta *bars, guint reduce)
{
  guint first = filled((guint64)bars->bar_data1 + 1, reduce);
  gst_buffer_add_video_bar_meta(out, bars->field, bars->is_letterbox, MAX(first, 1) - 1,
                                touched(bars->bar_data2, reduce));
}

gboolean gst_cuda_j2k_meta_reduce(GstBuffer *out, const GstMeta *meta, guint reduce)
{
  GType api = meta->info->api;
  if (api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
    reduce_region(out, (const GstVideoRegionOfInterestMeta *)meta, reduce);
  else if (api == GST_VIDEO_BAR_META_API_TYPE)
    reduce_bars(out, (const GstVideoBarMeta *)meta, reduce);
  else if (api == GST_VIDEO_AFD_META_API_TYPE)
    return FALSE; /* tagged as dependent on the size, but it is a code for the aspect ratio */
  else
    return gst_meta_api_type_has_tag(api, g_quark_from_static_string(GST_META_TAG_VIDEO_SIZE_STR));
  return TRUE;
}
