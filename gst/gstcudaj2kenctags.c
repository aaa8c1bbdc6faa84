/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tags that cudaj2kenc sends: the codec and its bit rates. */
#include "gstcudaj2kencprivate.h"

/* The least ceiling that the parameters set, in bits per second; 0: none. If fields are coded
 * separately, the parameters are those of a field. */
static gdouble peak_bitrate(const GstCudaJ2kEnc *self, const Cj2kEncoderParams *params)
{
  const GstVideoInfo *info = &self->info;
  gdouble pixels = (gdouble)GST_VIDEO_INFO_WIDTH(info) * GST_VIDEO_INFO_HEIGHT(info);
  gdouble frames = info->fps_n > 0 ? (gdouble)info->fps_n / info->fps_d : 0;
  const gdouble ceilings[] = {1000.0 * (gdouble)params->bitrate,
                              8.0 * (gdouble)params->max_frame_bytes *
                                  (self->stream.fields ? 2 : 1) * frames,
                              params->bits_per_pixel * pixels * frames};
  gdouble least = 0;

  for (gsize i = 0; i < G_N_ELEMENTS(ceilings); i++)
    if (ceilings[i] > 0 && (!(least > 0) || ceilings[i] < least))
      least = ceilings[i];
  return least;
}

void gst_cuda_j2k_enc_send_tags(GstCudaJ2kEnc *self, const Cj2kEncoderParams *params)
{
  gboolean ht = params->block_coder == CJ2K_CODER_HT;
  GstTagList *tags = gst_tag_list_new(GST_TAG_VIDEO_CODEC, ht ? "HTJ2K" : "JPEG 2000", NULL);
  gdouble peak = peak_bitrate(self, params), nominal = 1000.0 * (gdouble)params->average_bitrate;
  if (!params->average_bitrate && cj2k_encoder_rate_control(self->codec.object) == CJ2K_RATE_CBR)
    nominal = peak;
  if (nominal > 0)
    gst_tag_list_add(tags, GST_TAG_MERGE_REPLACE, GST_TAG_NOMINAL_BITRATE,
                     (guint)MIN(nominal, (gdouble)G_MAXUINT), NULL);
  if (peak > 0)
    gst_tag_list_add(tags, GST_TAG_MERGE_REPLACE, GST_TAG_MAXIMUM_BITRATE,
                     (guint)MIN(peak, (gdouble)G_MAXUINT), NULL);
  gst_video_encoder_merge_tags(GST_VIDEO_ENCODER(self), tags, GST_TAG_MERGE_REPLACE);
  gst_tag_list_unref(tags);
}
