/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's parameters for a stream: they follow from the properties and the input's format. */
#include "gstcudaj2kencprivate.h"

/* Sets the transfer curve for the conversion of R'G'B' to X'Y'Z' from the colorimetry. */
static gboolean set_transfer(const GstVideoInfo *info, const GstCudaJ2kEncStream *stream,
                             Cj2kEncoderParams *params, gchar **reason)
{
  params->rgb_to_xyz = stream->rgb_to_xyz ? CJ2K_XYZ_ON : CJ2K_XYZ_OFF;
  if (!stream->rgb_to_xyz || params->xyz_transfer != CJ2K_TRANSFER_AUTO)
    return TRUE;
  switch (info->colorimetry.transfer) {
  case GST_VIDEO_TRANSFER_UNKNOWN:
  case GST_VIDEO_TRANSFER_BT709:
  case GST_VIDEO_TRANSFER_BT601:
  case GST_VIDEO_TRANSFER_BT2020_10:
  case GST_VIDEO_TRANSFER_BT2020_12: params->xyz_transfer = CJ2K_TRANSFER_BT709; break;
  case GST_VIDEO_TRANSFER_SRGB: params->xyz_transfer = CJ2K_TRANSFER_SRGB; break;
  case GST_VIDEO_TRANSFER_GAMMA10: params->xyz_transfer = CJ2K_TRANSFER_LINEAR; break;
  case GST_VIDEO_TRANSFER_GAMMA18: params->xyz_transfer = CJ2K_TRANSFER_GAMMA18; break;
  case GST_VIDEO_TRANSFER_GAMMA20: params->xyz_transfer = CJ2K_TRANSFER_GAMMA20; break;
  case GST_VIDEO_TRANSFER_GAMMA22: params->xyz_transfer = CJ2K_TRANSFER_GAMMA22; break;
  case GST_VIDEO_TRANSFER_GAMMA28: params->xyz_transfer = CJ2K_TRANSFER_GAMMA28; break;
  case GST_VIDEO_TRANSFER_SMPTE2084: params->xyz_transfer = CJ2K_TRANSFER_PQ; break;
  case GST_VIDEO_TRANSFER_ARIB_STD_B67: params->xyz_transfer = CJ2K_TRANSFER_HLG; break;
  default: {
    gchar *colorimetry = gst_video_colorimetry_to_string(&info->colorimetry);
    *reason = g_strdup_printf("R'G'B' of colorimetry %s has a transfer curve that cannot be "
                              "converted to X'Y'Z'; set xyz-transfer to use another one",
                              colorimetry);
    g_free(colorimetry);
    return FALSE;
  }
  }
  return TRUE;
}

gboolean gst_cuda_j2k_enc_knows_primaries(const GstVideoInfo *info)
{
  switch (info->colorimetry.primaries) {
  case GST_VIDEO_COLOR_PRIMARIES_UNKNOWN:
  case GST_VIDEO_COLOR_PRIMARIES_BT709:
  case GST_VIDEO_COLOR_PRIMARIES_BT2020:
  case GST_VIDEO_COLOR_PRIMARIES_SMPTERP431:
  case GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432: return TRUE;
  default: return FALSE;
  }
}

/* Sets the primaries for the same conversion. */
static void set_primaries(const GstVideoInfo *info, const GstCudaJ2kEncStream *stream,
                          Cj2kEncoderParams *params)
{
  if (!stream->rgb_to_xyz || params->xyz_primaries != CJ2K_PRIMARIES_AUTO)
    return;
  switch (info->colorimetry.primaries) {
  case GST_VIDEO_COLOR_PRIMARIES_BT2020: params->xyz_primaries = CJ2K_PRIMARIES_BT2020; break;
  case GST_VIDEO_COLOR_PRIMARIES_SMPTERP431: params->xyz_primaries = CJ2K_PRIMARIES_P3_DCI; break;
  case GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432: params->xyz_primaries = CJ2K_PRIMARIES_P3_D65; break;
  default: break;
  }
}

/* Turns ceilings for a frame into ceilings for a field, and counts the header of a jp2c box. */
static void set_budget(const GstCudaJ2kEncStream *stream, Cj2kEncoderParams *params)
{
  const guint fields = stream->fields ? 2 : 1;

  if (params->max_frame_bytes)
    params->max_frame_bytes = MAX(params->max_frame_bytes / fields, 1);
  if (params->max_component_bytes)
    params->max_component_bytes = MAX(params->max_component_bytes / fields, 1);
  if (params->average_bitrate)
    params->average_window = (guint32)MIN((guint64)params->average_window * fields, 100000);
  params->frame_overhead = stream->media == GST_CUDA_J2K_J2C ? 8 : 0;
}

/* Sets where rate control forgets. The properties count frames, the library codestreams, of which a
 * frame of two fields has two. */
static void set_period(const GstCudaJ2kEncStream *stream, guint64 frames, Cj2kEncoderParams *params)
{
  const guint fields = stream->fields ? 2 : 1;
  guint64 period = (guint64)params->rate_period;

  if (!period)
    return;
  params->first_frame = (guint32)MIN((params->first_frame + frames) % period * fields, G_MAXINT32);
  params->rate_period = (guint32)MIN(period * fields, G_MAXINT32);
}

gboolean gst_cuda_j2k_enc_make_params(const GstCudaJ2kSettings *settings, const GstVideoInfo *info,
                                      const GstCudaJ2kEncStream *stream, guint64 frames,
                                      Cj2kEncoderParams *params, gchar **reason)
{
  *params = *(const Cj2kEncoderParams *)settings->params;
  if (info->fps_n > 0)
    params->frame_rate = (stream->fields ? 2.0 : 1.0) * info->fps_n / info->fps_d;
  if (stream->media == GST_CUDA_J2K_JP2)
    params->file_format = params->block_coder == CJ2K_CODER_HT ? CJ2K_FILE_JPH : CJ2K_FILE_JP2;
  set_budget(stream, params);
  set_period(stream, frames, params);
  set_primaries(info, stream, params);
  return gst_cuda_j2k_settings_parse_texts(settings, params, reason) &&
         set_transfer(info, stream, params, reason);
}
