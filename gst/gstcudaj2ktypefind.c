/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Type finders for streams that GStreamer's own do not recognise: codestreams with marker segments
 * of later parts (HTJ2K has CAP and CPF, T.814 annex A), and files of the brand 'jph '.
 */
#include "gstcudaj2kcommon.h"

#include <string.h>

#define SOC 0xFF4F
#define SIZ 0xFF51
#define COD 0xFF52
#define QCD 0xFF5C
#define SOT 0xFF90

#define MAX_HEADER (1 << 20) /* bytes of a main header that are examined */

static GstStaticCaps codestream_caps = GST_STATIC_CAPS("image/x-jpc");
static GstStaticCaps file_caps = GST_STATIC_CAPS("image/jp2");

/* A main header is SOC, SIZ, then marker segments in any order, with COD and QCD among them, up to
 * SOT (T.800 A.3). They have lengths, so unknown ones can be stepped over. */
static void find_codestream(GstTypeFind *find, gpointer unused)
{
  gboolean cod = FALSE, qcd = FALSE;
  guint64 offset = 2;
  const guint8 *data = gst_type_find_peek(find, 0, 4);
  (void)unused;
  if (!data || gst_cuda_j2k_read16(data) != SOC || gst_cuda_j2k_read16(data + 2) != SIZ)
    return;
  while (offset < MAX_HEADER && (data = gst_type_find_peek(find, (gint64)offset, 4))) {
    guint marker = gst_cuda_j2k_read16(data), length = gst_cuda_j2k_read16(data + 2);
    if (marker == SOT) {
      if (cod && qcd)
        gst_type_find_suggest(find, GST_TYPE_FIND_MAXIMUM, gst_static_caps_get(&codestream_caps));
      return;
    }
    if (marker >= 0xFF30 && marker <= 0xFF3F) { /* T.800 table A.1: these have no length */
      offset += 2;
      continue;
    }
    if (marker < SOC || length < 2)
      return;
    cod |= marker == COD;
    qcd |= marker == QCD;
    offset += 2 + (guint64)length;
  }
}

/* A file begins with a signature box, then a file type box with the name in its brand or
 * compatibility list (T.800 I.5.1, I.5.2). */
static void find_jph(GstTypeFind *find, gpointer unused)
{
  static const guint8 signature[12] = {0, 0, 0, 12, 'j', 'P', ' ', ' ', 0x0D, 0x0A, 0x87, 0x0A};
  const guint8 *data = gst_type_find_peek(find, 0, 28);
  (void)unused;
  if (!data || memcmp(data, signature, sizeof signature) != 0 || memcmp(data + 16, "ftyp", 4) != 0)
    return;
  guint32 size = gst_cuda_j2k_read32(data + 12);
  if (size < 16 || size > 1024 || !(data = gst_type_find_peek(find, 12, size)))
    return;
  for (guint32 at = 8; at + 4 <= size; at += at == 8 ? 8 : 4)
    if (!memcmp(data + at, "jph ", 4)) {
      gst_type_find_suggest(find, GST_TYPE_FIND_MAXIMUM, gst_static_caps_get(&file_caps));
      return;
    }
}

void gst_cuda_j2k_register_typefinders(GstPlugin *plugin)
{
  GstCaps *caps = gst_static_caps_get(&codestream_caps);
  gst_type_find_register(plugin, "cudaj2k-codestream", GST_RANK_PRIMARY, find_codestream,
                         "j2c,j2k,jpc,jhc", caps, NULL, NULL);
  gst_caps_unref(caps);
  caps = gst_static_caps_get(&file_caps);
  gst_type_find_register(plugin, "cudaj2k-jph", GST_RANK_PRIMARY, find_jph, "jph", caps, NULL,
                         NULL);
  gst_caps_unref(caps);
}
