/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small parts that several files need: names of back ends, statistics as a structure, element
 * errors. */
#ifndef GST_CUDA_J2K_COMMON_H
#define GST_CUDA_J2K_COMMON_H

#include "cj2k.h"

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_J2K_BACKEND (gst_cuda_j2k_backend_get_type())
GType gst_cuda_j2k_backend_get_type(void);

const gchar *gst_cuda_j2k_backend_name(Cj2kBackendKind backend);

/* Big-endian numbers at any address (GST_READ_UINT16_BE and the like require aligned ones). */
static inline guint gst_cuda_j2k_read16(const guint8 *p)
{
  /* Callers have found bytes at `p`. */
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
  return (guint)p[0] << 8 | p[1];
}
static inline guint32 gst_cuda_j2k_read32(const guint8 *p)
{
  return (guint32)gst_cuda_j2k_read16(p) << 16 | gst_cuda_j2k_read16(p + 2);
}

/* "application/x-cudaj2k-stats" (transfer full). */
GstStructure *gst_cuda_j2k_stats_structure(const Cj2kStats *stats);

/* Posts the library's error as an element error; its code selects the domain. */
void gst_cuda_j2k_post_error(GstElement *element, const Cj2kError *error);

GST_ELEMENT_REGISTER_DECLARE(cudaj2kdec);
GST_ELEMENT_REGISTER_DECLARE(cudaj2kenc);
void gst_cuda_j2k_register_typefinders(GstPlugin *plugin);

G_END_DECLS

#endif
