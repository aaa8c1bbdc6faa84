/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kcommon.h"
#include "gstcudaj2koptions.h"

#include "common/options/encoder_options.h"
#include "common/options/stats.h"

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
  GstStructure *structure = gst_structure_new_empty("application/x-cudaj2k-stats");
  for (const Cj2kStatsField *field = cj2k_stats_fields; field->name; field++) {
    const void *value = (const char *)stats + field->offset;
    if (field->is_ms)
      gst_structure_set(structure, field->name, G_TYPE_DOUBLE, *(const double *)value, NULL);
    else
      gst_structure_set(structure, field->name, G_TYPE_UINT64, *(const guint64 *)value, NULL);
  }
  return structure;
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
