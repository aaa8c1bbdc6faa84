/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions of interest of the encoder: those of the property and those of each buffer's metadata. */
#include "gstcudaj2kencprivate.h"

#include <gst/video/gstvideometa.h>
#include <string.h>

/* The parameter of a GstVideoRegionOfInterestMeta that is for the encoder, and its field. */
#define PARAM  "roi/cudaj2kenc"
#define WEIGHT "weight"

/* Adds the region of a meta that has a weight for the encoder. */
static void add_region(const GstVideoRegionOfInterestMeta *meta, Cj2kRegion *regions, guint *count)
{
  GstStructure *param =
      gst_video_region_of_interest_meta_get_param((GstVideoRegionOfInterestMeta *)meta, PARAM);
  gdouble weight;

  if (!param || !gst_structure_get_double(param, WEIGHT, &weight) || !meta->w || !meta->h ||
      *count == CJ2K_MAX_REGIONS)
    return;
  regions[(*count)++] = (Cj2kRegion){meta->x, meta->y, meta->w, meta->h, weight};
}

gboolean gst_cuda_j2k_enc_take_regions(GstCudaJ2kEnc *self, GstBuffer *buffer)
{
  Cj2kRegion regions[CJ2K_MAX_REGIONS] = {0};
  gpointer state = NULL;
  const GstMeta *meta;
  guint count = 0;

  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                  GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)))
    add_region((const GstVideoRegionOfInterestMeta *)meta, regions, &count);
  if (count == self->num_regions && !memcmp(regions, self->regions, count * sizeof *regions))
    return FALSE;
  memcpy(self->regions, regions, count * sizeof *regions);
  self->num_regions = count;
  return TRUE;
}

void gst_cuda_j2k_enc_add_regions(const GstCudaJ2kEnc *self, Cj2kEncoderParams *params)
{
  for (guint i = 0; i < self->num_regions && params->num_regions < CJ2K_MAX_REGIONS; i++)
    params->regions[params->num_regions++] = self->regions[i];
}

void gst_cuda_j2k_enc_fit_regions(const GstCudaJ2kEncStream *stream, Cj2kEncoderParams *params)
{
  if (!stream->fields)
    return;
  for (guint i = 0; i < params->num_regions; i++) {
    Cj2kRegion *region = &params->regions[i];
    guint64 end = ((guint64)region->y + region->height + 1) / 2;
    region->y /= 2;
    region->height = (guint32)(end - region->y);
  }
}
