/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kparts.h"

#include <string.h>

#define SOC 0xFF4F
#define SOT 0xFF90
#define EOC 0xFFD9

/* The length of the codestream that `data` begins with; `size` when it goes to the end, or breaks
 * the standard. */
static gsize codestream_length(const guint8 *data, gsize size)
{
  gsize at = 2;
  /* Main header: marker segments with a length. */
  while (size - at >= 4 && GST_READ_UINT16_BE(data + at) != SOT) {
    gsize length = 2 + (gsize)GST_READ_UINT16_BE(data + at + 2);
    if (length < 4 || length > size - at)
      return size;
    at += length;
  }
  /* Tile-parts: Psot counts from the first byte of SOT. */
  while (size - at >= 12 && GST_READ_UINT16_BE(data + at) == SOT) {
    gsize length = GST_READ_UINT32_BE(data + at + 6);
    if (length < 12 || length > size - at)
      return size;
    at += length;
  }
  return size - at >= 2 && GST_READ_UINT16_BE(data + at) == EOC ? at + 2 : size;
}

/* Bytes before the content of a jp2c box at the start of data: 8, 16 with an extended length, 0
 * when there is none. *length is the whole box's. */
static gsize jp2c_box(const guint8 *data, gsize size, gsize *length)
{
  if (size < 16 || memcmp(data + 4, "jp2c", 4))
    return 0;
  guint64 box = GST_READ_UINT32_BE(data);
  gsize head = 8;
  if (box == 1) {
    box = GST_READ_UINT64_BE(data + 8);
    head = 16;
  }
  *length = box < head || box > size ? size : (gsize)box;
  return head;
}

static gboolean take_one(const guint8 **data, gsize *size, GstCudaJ2kSpan *span)
{
  gsize length = 0, head = jp2c_box(*data, *size, &length);
  if (head) {
    span->data = *data + head;
    span->size = length - head;
  } else if (*size >= 2 && GST_READ_UINT16_BE(*data) == SOC) {
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
