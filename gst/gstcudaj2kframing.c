/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kframing.h"
#include "gstcudaj2kcommon.h"

#include <string.h>

/* T.800 table A.2. */
#define SOC 0xFF4F
#define SIZ 0xFF51
#define SOT 0xFF90
#define SOP 0xFF91
#define SOD 0xFF93
#define EOC 0xFFD9

#define SIGNATURE_BYTES 12 /* of a JP2 file, T.800 I.5.1 */
#define START_BYTES     GST_CUDA_J2K_START_BYTES
#define MAX_SKIPPED     (16u << 20)
#define MAX_OVERHEAD    (64u << 20) /* of headers, boxes and padding in one image */
#define SAMPLE_BYTES    8           /* more than any coder needs for a sample */

/* --------------------------------------------------------------------------------- bytes --- */

/* Bytes in an adapter or, if that is NULL, in one piece of memory. */
typedef struct {
  GstAdapter *adapter;
  const guint8 *data;
  gsize size;
} Bytes;

static gboolean peek(const Bytes *bytes, gsize at, guint8 *to, gsize count)
{
  if (at > bytes->size || count > bytes->size - at)
    return FALSE;
  if (bytes->adapter)
    gst_adapter_copy(bytes->adapter, to, at, count);
  else
    memcpy(to, bytes->data + at, count);
  return TRUE;
}

/* The first offset in [from, to) at which four bytes match the pattern under the mask; -1: none. */
static gssize scan(const Bytes *bytes, guint32 mask, guint32 pattern, gsize from, gsize to)
{
  if (to > bytes->size || from + 4 > to)
    return -1;
  if (bytes->adapter)
    return gst_adapter_masked_scan_uint32(bytes->adapter, mask, pattern, from, to - from);
  for (gsize at = from; at + 4 <= to; at++)
    if ((gst_cuda_j2k_read32(bytes->data + at) & mask) == pattern)
      return (gssize)at;
  return -1;
}

/* ---------------------------------------------------------------------------- beginnings --- */

static gboolean is_codestream(const guint8 *data)
{
  return gst_cuda_j2k_read32(data) == ((guint32)SOC << 16 | SIZ);
}

/* Is this SOC and a SIZ that is consistent? *samples: number of samples at full resolution. */
static gboolean is_start(const guint8 head[START_BYTES], guint64 *samples)
{
  guint components = gst_cuda_j2k_read16(head + 40);
  guint64 x0 = gst_cuda_j2k_read32(head + 16), x1 = gst_cuda_j2k_read32(head + 8);
  guint64 y0 = gst_cuda_j2k_read32(head + 20), y1 = gst_cuda_j2k_read32(head + 12);
  if (!is_codestream(head) || !components || x1 <= x0 || y1 <= y0 ||
      gst_cuda_j2k_read16(head + 4) != 38 + 3 * components)
    return FALSE;
  *samples = (x1 - x0) * MIN(y1 - y0, G_MAXINT / (x1 - x0) + 1) * components;
  return TRUE;
}

static gboolean is_signature(const guint8 *data)
{
  static const guint8 signature[SIGNATURE_BYTES] = {0,   0,   0,    12, 'j',  'P',
                                                    ' ', ' ', 0x0D, 10, 0x87, 10};
  return !memcmp(data, signature, sizeof signature);
}

/* The offset of the next codestream from `from` on; -1: none among the bytes so far. */
static gssize find_codestream(const Bytes *bytes, gsize from)
{
  guint8 head[START_BYTES];
  guint64 samples;
  for (;; from++) {
    gssize at = scan(bytes, G_MAXUINT32, (guint32)SOC << 16 | SIZ, from, bytes->size);
    if (at < 0 || !peek(bytes, (gsize)at, head, sizeof head))
      return -1;
    if (is_start(head, &samples))
      return at;
    from = (gsize)at;
  }
}

static gssize find_signature(const Bytes *bytes, gsize from)
{
  guint8 head[SIGNATURE_BYTES];
  for (;; from++) {
    gssize at = scan(bytes, G_MAXUINT32, 0x6A502020, from + 4, bytes->size); /* "jP  " */
    if (at < 0 || !peek(bytes, (gsize)at - 4, head, sizeof head))
      return -1;
    if (is_signature(head))
      return at - 4;
    from = (gsize)at - 4;
  }
}

/* The offset of the next image, a codestream or a file; -1: none. */
static gssize find_image(const Bytes *bytes, gsize from)
{
  gssize codestream = find_codestream(bytes, from), file = find_signature(bytes, from);
  return file >= 0 && (codestream < 0 || file < codestream) ? file : codestream;
}

/* ---------------------------------------------------------------------------------- walk --- */

/* GO_ON: read the next header; MORE: needs more bytes; END: the image ends at walk->at. */
typedef enum { GO_ON, MORE, END } Step;

static Step mark_lost(GstCudaJ2kWalk *walk)
{
  walk->where = GST_CUDA_J2K_LOST;
  walk->at = walk->last_header + 1;
  return GO_ON;
}

/* The end of an image is plausible up to the largest size that a coder may reasonably produce. */
static void set_limit(GstCudaJ2kWalk *walk, guint64 samples)
{
  walk->limit = walk->begin + (gsize)MIN(MAX_OVERHEAD + samples * SAMPLE_BYTES, (guint64)G_MAXINT);
}

/* Continues at `at`, if that is plausible. */
static Step go_to(GstCudaJ2kWalk *walk, guint64 at)
{
  if (at > walk->limit)
    return mark_lost(walk);
  walk->at = (gsize)at;
  return GO_ON;
}

/* Steps over one marker segment of a header. The marker `last` ends the header: state `then`. */
static Step step_segment(const Bytes *bytes, GstCudaJ2kWalk *walk, guint last, GstCudaJ2kWhere then)
{
  guint8 head[4];
  if (!peek(bytes, walk->at, head, 2))
    return MORE;
  guint marker = gst_cuda_j2k_read16(head);
  if (marker == last) {
    walk->where = then;
    return GO_ON;
  }
  if (marker < 0xFF00 || marker == SOC || marker == EOC || marker == SOD)
    return mark_lost(walk);
  if (marker >= 0xFF30 && marker <= 0xFF3F) /* markers without a length, T.800 table A.1 */
    return go_to(walk, (guint64)walk->at + 2);
  if (!peek(bytes, walk->at, head, 4))
    return MORE;
  guint length = gst_cuda_j2k_read16(head + 2);
  return length < 2 ? mark_lost(walk) : go_to(walk, (guint64)walk->at + 2 + length);
}

static Step step_tile_part(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  guint8 head[12];
  if (!peek(bytes, walk->at, head, 2))
    return MORE;
  switch (gst_cuda_j2k_read16(head)) {
  case EOC: walk->at += 2; return END;
  case SOC: return END; /* EOC is missing */
  case SOT: break;
  default: return mark_lost(walk);
  }
  if (!peek(bytes, walk->at, head, sizeof head))
    return MORE;
  guint32 length = gst_cuda_j2k_read32(head + 6);
  walk->last_header = walk->at;
  if (length)
    return length < sizeof head ? mark_lost(walk) : go_to(walk, (guint64)walk->at + length);
  walk->where = GST_CUDA_J2K_IN_TILE_HEADER;
  return go_to(walk, (guint64)walk->at + sizeof head);
}

/* Searches for EOC. Coded data contains no marker above FF8F, but the packet number in an SOP
 * marker segment may look like one. */
static Step step_data(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  guint8 before[4];
  /* The marker is matched in the last two of four bytes, as it may be at the end of the stream. */
  gssize found = scan(bytes, 0xFFFF, EOC, walk->at - 2, bytes->size);
  gssize next = find_codestream(bytes, walk->at);
  if (next >= 0 && (found < 0 || next < found)) {
    walk->at = (gsize)next;
    return END;
  }
  if (found < 0) {
    walk->at = MAX(walk->at, bytes->size - MIN(bytes->size, START_BYTES));
    return MORE;
  }
  gsize eoc = (gsize)found + 2;
  walk->at = eoc + 2;
  return eoc >= 4 && peek(bytes, eoc - 4, before, sizeof before) &&
                 gst_cuda_j2k_read32(before) == ((guint32)SOP << 16 | 4)
             ? GO_ON
             : END;
}

/* Steps over one box. A file ends with its first jp2c box; boxes behind it belong to no image. */
static Step step_box(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  guint8 head[16];
  if (!peek(bytes, walk->at, head, 8))
    return MORE;
  gboolean is_jp2c = !memcmp(head + 4, "jp2c", 4);
  guint64 length = gst_cuda_j2k_read32(head), content = 8;
  if (length == 1) {
    if (!peek(bytes, walk->at, head, sizeof head))
      return MORE;
    length = (guint64)gst_cuda_j2k_read32(head + 8) << 32 | gst_cuda_j2k_read32(head + 12);
    content = 16;
  }
  if ((!length && !is_jp2c) || (length && length < content))
    return mark_lost(walk);
  walk->last_header = walk->at;
  if (!is_jp2c)
    return length > walk->limit ? mark_lost(walk) : go_to(walk, walk->at + length);

  guint8 start[START_BYTES];
  guint64 samples = 0;
  if (!peek(bytes, walk->at + content, start, sizeof start))
    return MORE;
  if (!is_start(start, &samples))
    return mark_lost(walk);
  walk->last_header = walk->at + content;
  set_limit(walk, samples);
  walk->where = length ? GST_CUDA_J2K_IN_JP2C : GST_CUDA_J2K_IN_MAIN_HEADER;
  return length > walk->limit ? mark_lost(walk)
                              : go_to(walk, walk->at + (length ? length : content + 2));
}

/* The end of a jp2c box. One that does not end with EOC may be truncated and overlap the next file.
 */
static Step step_jp2c(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  guint8 tail[2];
  if (!peek(bytes, walk->at - 2, tail, sizeof tail))
    return MORE;
  if (gst_cuda_j2k_read16(tail) == EOC)
    return END;
  gssize next = find_signature(bytes, walk->last_header);
  if (next >= 0 && (gsize)next < walk->at)
    walk->at = (gsize)next;
  return END;
}

static Step step_lost(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  gssize next = find_image(bytes, walk->at);
  if (next < 0) {
    walk->at = MAX(walk->at, bytes->size - MIN(bytes->size, START_BYTES));
    return MORE;
  }
  walk->at = (gsize)next;
  return END;
}

/* Reads as far as the bytes allow. */
static Step walk_on(const Bytes *bytes, GstCudaJ2kWalk *walk)
{
  Step step = GO_ON;
  while (step == GO_ON)
    switch (walk->where) {
    case GST_CUDA_J2K_IN_MAIN_HEADER:
      step = step_segment(bytes, walk, SOT, GST_CUDA_J2K_AT_TILE_PART);
      break;
    case GST_CUDA_J2K_AT_TILE_PART: step = step_tile_part(bytes, walk); break;
    case GST_CUDA_J2K_IN_TILE_HEADER:
      step = step_segment(bytes, walk, SOD, GST_CUDA_J2K_IN_DATA);
      break;
    case GST_CUDA_J2K_IN_DATA: step = step_data(bytes, walk); break;
    case GST_CUDA_J2K_AT_BOX: step = step_box(bytes, walk); break;
    case GST_CUDA_J2K_IN_JP2C: step = step_jp2c(bytes, walk); break;
    case GST_CUDA_J2K_LOST: step = step_lost(bytes, walk); break;
    }
  return step;
}

static void begin_codestream(GstCudaJ2kWalk *walk, gsize at, guint64 samples)
{
  *walk = (GstCudaJ2kWalk){
      .where = GST_CUDA_J2K_IN_MAIN_HEADER, .begin = at, .at = at + 2, .last_header = at};
  set_limit(walk, samples);
}

/* Begins to read an image that find_image() has found. */
static void begin_image(const Bytes *bytes, GstCudaJ2kWalk *walk, gsize at)
{
  guint8 head[START_BYTES];
  guint64 samples;
  if (peek(bytes, at, head, sizeof head) && is_start(head, &samples))
    begin_codestream(walk, at, samples);
  else
    *walk = (GstCudaJ2kWalk){.where = GST_CUDA_J2K_AT_BOX,
                             .begin = at,
                             .at = at + SIGNATURE_BYTES,
                             .last_header = at,
                             .limit = at + MAX_OVERHEAD};
}

/* ------------------------------------------------------------------------------- framing --- */

void gst_cuda_j2k_framing_init(GstCudaJ2kFraming *framing, guint wanted)
{
  *framing = (GstCudaJ2kFraming){.wanted = wanted};
}

static GstCudaJ2kFound take(GstCudaJ2kFraming *framing, GstCudaJ2kFound what, gsize taken,
                            gsize *size)
{
  framing->complete = 0;
  framing->walking = FALSE;
  framing->end = 0;
  framing->consumed += taken;
  framing->skipped = what == GST_CUDA_J2K_SKIP ? framing->skipped + taken : 0;
  *size = taken;
  return framing->skipped > MAX_SKIPPED ? GST_CUDA_J2K_NO_START : what;
}

/* Between images: searches for the next one behind the complete ones of the frame. */
static GstCudaJ2kFound find_next(GstCudaJ2kFraming *framing, const Bytes *bytes, gboolean at_end,
                                 gsize *size)
{
  gssize found = find_image(bytes, framing->end);
  gsize last = framing->end + 16; /* the header of a jp2c box lies in between */
  gboolean known = at_end || found >= 0 || bytes->size >= last + START_BYTES;
  if (framing->complete && known && (found < 0 || (gsize)found > last))
    return take(framing, GST_CUDA_J2K_FRAME, framing->end, size);
  if (found >= 0 && !framing->complete && found > 0)
    return take(framing, GST_CUDA_J2K_SKIP, (gsize)found, size);
  if (found >= 0) {
    framing->walking = TRUE;
    begin_image(bytes, &framing->walk, (gsize)found);
  } else if (!framing->complete) {
    gsize keep = at_end ? 0 : START_BYTES - 1;
    if (bytes->size > keep)
      return take(framing, GST_CUDA_J2K_SKIP, bytes->size - keep, size);
  }
  return GST_CUDA_J2K_NEED_DATA;
}

GstCudaJ2kFound gst_cuda_j2k_framing_next(GstCudaJ2kFraming *framing, GstAdapter *adapter,
                                          gboolean at_end, gsize *size)
{
  Bytes bytes = {.adapter = adapter, .size = gst_adapter_available(adapter)};
  for (;;) {
    if (!framing->walking) {
      GstCudaJ2kFound found = find_next(framing, &bytes, at_end, size);
      if (!framing->walking)
        return found;
    }
    Step step = walk_on(&bytes, &framing->walk);
    /* A length points beyond the end of the stream: it is wrong if other images follow. */
    if (step == MORE && at_end && framing->walk.where != GST_CUDA_J2K_LOST) {
      mark_lost(&framing->walk);
      step = walk_on(&bytes, &framing->walk);
    }
    if (step == MORE) {
      if (at_end)
        return take(framing, GST_CUDA_J2K_FRAME, bytes.size, size);
      return bytes.size > framing->walk.limit ? GST_CUDA_J2K_NO_END : GST_CUDA_J2K_NEED_DATA;
    }
    framing->walking = FALSE;
    framing->end = framing->walk.at;
    if (++framing->complete >= framing->wanted)
      return take(framing, GST_CUDA_J2K_FRAME, framing->end, size);
  }
}

/* --------------------------------------------------------------------------------- parts --- */

/* Size of the header of a jp2c box at the start of data: 8, 16 with an extended length, 0 if there
 * is no such box. *length is that of the whole box. The box is recognised by the codestream inside,
 * because openjpegenc writes the type of the box backwards. */
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

/* The length of the codestream at the beginning of `data`. */
static gsize codestream_length(const guint8 *data, gsize size)
{
  Bytes bytes = {.data = data, .size = size};
  GstCudaJ2kWalk walk;
  begin_codestream(&walk, 0, 0);
  walk.limit = size;
  return walk_on(&bytes, &walk) == END ? walk.at : size;
}

gsize gst_cuda_j2k_find_limit(const guint8 *data, gsize size)
{
  GstCudaJ2kWalk walk = {0};
  guint64 samples;
  if (size < START_BYTES || !is_start(data, &samples))
    return 0;
  set_limit(&walk, samples);
  return walk.limit;
}

static gboolean take_part(const guint8 **data, gsize *size, GstCudaJ2kSpan *span)
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

guint gst_cuda_j2k_find_parts(const guint8 *data, gsize size, GstCudaJ2kSpan spans[2])
{
  guint n = 0;
  GstCudaJ2kSpan more;
  spans[0].data = data;
  spans[0].size = size;
  while (n < 3 && take_part(&data, &size, n < 2 ? &spans[n] : &more))
    n++;
  return MAX(n, 1);
}

gboolean gst_cuda_j2k_are_fields(const GstCudaJ2kSpan spans[2], gint height)
{
  guint64 samples, widths[2], heights[2];
  for (guint i = 0; i < 2; i++) {
    const guint8 *head = spans[i].data;
    if (spans[i].size < START_BYTES || !is_start(head, &samples))
      return FALSE;
    widths[i] = gst_cuda_j2k_read32(head + 8) - gst_cuda_j2k_read32(head + 16);
    heights[i] = gst_cuda_j2k_read32(head + 12) - gst_cuda_j2k_read32(head + 20);
  }
  return height > 0 && widths[0] == widths[1] && heights[0] + heights[1] == (guint64)height;
}
