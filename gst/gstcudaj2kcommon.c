/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kcommon.h"
#include "gstcudaj2koptions.h"

#include "common/options/encoder_options.h"

GType gst_cuda_j2k_backend_get_type(void)
{
  return gst_cuda_j2k_option_type(cj2k_option_find(&cj2k_encoder_options, "backend"));
}

const gchar *gst_cuda_j2k_backend_name(Cj2kBackendKind backend)
{
  return cj2k_option_word(cj2k_backend_words, backend);
}

GstStructure *gst_cuda_j2k_stats_structure(const Cj2kStats *stats)
{
  return gst_structure_new(
      "application/x-cudaj2k-stats", "frames", G_TYPE_UINT64, stats->frames, "failed-frames",
      G_TYPE_UINT64, stats->failed_frames, "corrupt-blocks", G_TYPE_UINT64, stats->corrupt_blocks,
      "concealed-frames", G_TYPE_UINT64, stats->concealed_frames, "concealed-packets",
      G_TYPE_UINT64, stats->concealed_packets, "concealed-blocks", G_TYPE_UINT64,
      stats->concealed_blocks, "restored-blocks", G_TYPE_UINT64, stats->restored_blocks,
      "fallbacks", G_TYPE_UINT64, stats->fallbacks, "bytes", G_TYPE_UINT64, stats->bytes,
      "header-ms", G_TYPE_DOUBLE, stats->ms_header, "packets-ms", G_TYPE_DOUBLE, stats->ms_packets,
      "block-coder-ms", G_TYPE_DOUBLE, stats->ms_block_coder, "transform-ms", G_TYPE_DOUBLE,
      stats->ms_transform, "total-ms", G_TYPE_DOUBLE, stats->ms_total, NULL);
}

void gst_cuda_j2k_post_error(GstElement *element, const Cj2kError *error)
{
  switch (error->code) {
  case CJ2K_ERROR_ARGUMENT:
    GST_ELEMENT_ERROR(element, LIBRARY, SETTINGS, ("%s", error->text), (NULL));
    break;
  case CJ2K_ERROR_DEVICE:
    GST_ELEMENT_ERROR(element, RESOURCE, NOT_FOUND, ("%s", error->text), (NULL));
    break;
  case CJ2K_ERROR_LIMIT:
  case CJ2K_ERROR_MEMORY:
    GST_ELEMENT_ERROR(element, RESOURCE, NO_SPACE_LEFT, ("%s", error->text), (NULL));
    break;
  case CJ2K_ERROR_UNSUPPORTED:
    GST_ELEMENT_ERROR(element, STREAM, NOT_IMPLEMENTED, ("%s", error->text), (NULL));
    break;
  default: GST_ELEMENT_ERROR(element, LIBRARY, FAILED, ("%s", error->text), (NULL)); break;
  }
}
