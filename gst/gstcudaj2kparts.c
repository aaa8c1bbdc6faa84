/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kparts.h"
#include "gstcudaj2kcommon.h"

#define SOC 0xFF4F
#define SIZ 0xFF51
#define SOT 0xFF90
#define EOC 0xFFD9

/* The length of the codestream that `data` begins with; `size` when it goes to the end, or breaks
 * the standard. */
static gsize codestream_length(const guint8 *data, gsize size)
{
  gsize at = 2;
  /* Main header: marker segments with a length. */
  while (size - at >= 4 && gst_cuda_j2k_read16(data + at) != SOT) {
    guint marker = gst_cuda_j2k_read16(data + at);
    gboolean bare = marker >= 0xFF30 && marker <= 0xFF3F; /* table A.1: no length */
    gsize length = bare ? 2 : 2 + (gsize)gst_cuda_j2k_read16(data + at + 2);
    if ((!bare && length < 4) || length > size - at)
      return size;
    at += length;
  }
  /* Tile-parts: Psot counts from the first byte of SOT. */
  while (size - at >= 12 && gst_cuda_j2k_read16(data + at) == SOT) {
    gsize length = gst_cuda_j2k_read32(data + at + 6);
    if (length < 12 || length > size - at)
      return size;
    at += length;
  }
  return size - at >= 2 && gst_cuda_j2k_read16(data + at) == EOC ? at + 2 : size;
}

static gboolean is_codestream(const guint8 *data)
{
  return gst_cuda_j2k_read32(data) == ((guint32)SOC << 16 | SIZ);
}

/* Bytes before the content of a jp2c box at the start of data: 8, 16 with an extended length, 0
 * when there is none. *length is the whole box's. It is known by the codestream inside, since
 * openjpegenc writes the box's type backwards. */
static gsize jp2c_box(const guint8 *data, gsize size, gsize *length)
{
  gsize head = 0;
  if (size >= 12 && is_codestream(data + 8))
    head = 8;
  else if (size >= 20 && is_codestream(data + 16) && gst_cuda_j2k_read32(data) == 1)
    head = 16;
  guint64 box = 0;
  if (head)
    box = head == 16 ? (guint64)gst_cuda_j2k_read32(data + 8) << 32 | gst_cuda_j2k_read32(data + 12)
                     : gst_cuda_j2k_read32(data);
  *length = box < head || box > size ? size : (gsize)box;
  return head;
}

static gboolean take_one(const guint8 **data, gsize *size, GstCudaJ2kSpan *span)
{
  gsize length = 0, head = jp2c_box(*data, *size, &length);
  if (head) {
    span->data = *data + head;
    span->size = length - head;
  } else if (*size >= 2 && gst_cuda_j2k_read16(*data) == SOC) {
    length = codestream_length(*data, *size);
    span->data = *data;
    span->size = length;
  } else {
    return FALSE;
  }
  *data += length;
  *size -= length;
  return TRUE;
}

guint gst_cuda_j2k_parts_find(const guint8 *data, gsize size, GstCudaJ2kSpan spans[2])
{
  guint n = 0;
  spans[0].data = data;
  spans[0].size = size;
  while (n < 2 && take_one(&data, &size, &spans[n]))
    n++;
  return MAX(n, 1);
}
