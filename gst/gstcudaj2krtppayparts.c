/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames that arrive in several buffers (alignment=subframe): their packets leave as soon as the
 * bytes are there, and are those of the whole frame. */
#include "gstcudaj2krtppayprivate.h"

#define MAX_FRAME_BYTES (1u << 30)

typedef GstCudaJ2kRtpPayUnfinished Unfinished;

void gst_cuda_j2k_rtp_pay_drop_unfinished(GstCudaJ2kRtpPay *self)
{
  gst_clear_buffer(&self->unfinished.first);
  g_byte_array_set_size(self->unfinished.bytes, 0);
}

/* -------------------------------------------------------------------------- a codestream --- */

static void begin_codestream(Unfinished *u, guint index, gsize begin)
{
  u->index = index;
  u->begin = begin;
  u->cursor = (Cj2kRtpCursor){0};
  u->paced = 0;
  cj2k_rtp_parts_begin(u->locator);
}

static guint8 this_part(const Unfinished *u)
{
  return (guint8)(u->part + u->index);
}

/* The codestream's bytes from `from` to `end`. */
static GstMemory *copy_bytes(const Unfinished *u, guint64 from, guint64 end)
{
  gsize size = (gsize)(end - from);
  guint8 *copy = g_memdup2(u->bytes->data + u->begin + from, MAX(size, 1));
  return gst_memory_new_wrapped((GstMemoryFlags)0, copy, size, 0, size, copy, g_free);
}

/* Announces the codestream, whose headers are complete, and fills in u->main. */
static GstFlowReturn announce(GstCudaJ2kRtpPay *self, const Cj2kRtpMap *map)
{
  Unfinished *u = &self->unfinished;
  const guint8 *data = u->bytes->data + u->begin;
  Cj2kRtpImage image;
  if (!cj2k_rtp_image_read(data, u->bytes->len - u->begin, &image)) {
    gst_cuda_j2k_rtp_pay_warn(self, "it does not begin with SOC and SIZ");
    u->drops = TRUE;
    return GST_FLOW_OK;
  }
  if (!gst_cuda_j2k_rtp_pay_announce(self, &image, u->part))
    return GST_FLOW_NOT_NEGOTIATED;
  u->main = self->main;
  u->main.part = this_part(u);
  u->main.order = map->order;
  u->main.reuse = gst_cuda_j2k_rtp_pay_may_reuse(self, data, (gsize)map->header_bytes, &u->main);
  return GST_FLOW_OK;
}

/* How many bytes the codestream is expected to have: those of constant-bytes, or as many as the
 * last one, or those that its packets would have if the others are like those that are there. */
static guint64 expect_bytes(GstCudaJ2kRtpPay *self, const Cj2kRtpMap *map)
{
  GST_OBJECT_LOCK(self);
  guint64 bytes = self->constant_bytes / (self->unfinished.part == CJ2K_RTP_FRAME ? 1 : 2);
  GST_OBJECT_UNLOCK(self);
  if (!bytes)
    bytes = self->last_size;
  if (!bytes)
    bytes = gst_util_uint64_scale(map->end, MAX(map->total_units, 1), MAX(map->num_units, 1));
  return MAX(bytes, map->end);
}

/* The times of the packets from byte `from` on: of what is left of the codestream's time, the share
 * that they have of the bytes that are left. */
static GstCudaJ2kRtpTimes part_times(GstCudaJ2kRtpPay *self, const Cj2kRtpMap *map, guint64 from,
                                     gboolean last)
{
  Unfinished *u = &self->unfinished;
  guint count = u->part == CJ2K_RTP_FRAME ? 1 : 2;
  GstCudaJ2kRtpTimes times =
      gst_cuda_j2k_rtp_pay_times(self, u->first, u->index, count, u->part == CJ2K_RTP_PSF1);
  if (!GST_CLOCK_TIME_IS_VALID(times.leave))
    return times;
  GstClockTime begin = MIN(u->paced, times.spread), left = times.spread - begin;
  if (!last)
    left = gst_util_uint64_scale(left, u->cursor.at - from, expect_bytes(self, map) - from);
  u->paced = begin + left;
  times.leave += begin;
  times.spread = left;
  return times;
}

/* Sends what has become complete of the codestream, which has `size` bytes so far; with `last` all
 * of it. */
static GstFlowReturn send_part(GstCudaJ2kRtpPay *self, gsize size, gboolean last)
{
  Unfinished *u = &self->unfinished;
  Cj2kRtpMap map;
  GstFlowReturn flow = GST_FLOW_OK;
  switch (cj2k_rtp_parts_locate(u->locator, u->bytes->data + u->begin, size, last, &map)) {
  case CJ2K_RTP_PARTS_MORE: return GST_FLOW_OK;
  case CJ2K_RTP_PARTS_WHOLE: u->collects = TRUE; return GST_FLOW_OK;
  case CJ2K_RTP_PARTS_READY: break;
  }
  if (u->unmarked)
    map.order = CJ2K_RTP_ORDER_UNMARKED;
  guint64 from = u->cursor.at;
  if (!from)
    flow = announce(self, &map);
  if (flow != GST_FLOW_OK || u->drops)
    return flow;
  cj2k_rtp_packetise_on(&map, &u->cursor, u->room, &self->payloads);
  if (!self->payloads.count)
    return GST_FLOW_OK;
  GstCudaJ2kRtpTimes times = part_times(self, &map, from, last);
  if (last) {
    gst_cuda_j2k_rtp_pay_pad(self, map.end, u->part == CJ2K_RTP_FRAME ? 1 : 2, u->room);
    self->last_size = map.end;
  }
  GST_OBJECT_LOCK(self);
  guint repeats = self->repeat_resolutions;
  GST_OBJECT_UNLOCK(self);
  GstMemory *memory = copy_bytes(u, from, u->cursor.at);
  guint which = (from ? 0 : GST_CUDA_J2K_RTP_FIRST) | (last ? GST_CUDA_J2K_RTP_LAST : 0);
  flow = gst_cuda_j2k_rtp_send(&self->sender, memory, (gsize)0 - (gsize)from, &self->payloads,
                               &u->main, &times, repeats, which);
  gst_memory_unref(memory);
  return flow;
}

/* ------------------------------------------------------------------------------- a frame --- */

/* Sends what has become complete of a frame that is not. */
static GstFlowReturn send_begin(GstCudaJ2kRtpPay *self)
{
  Unfinished *u = &self->unfinished;
  GstFlowReturn flow = send_part(self, u->bytes->len - u->begin, FALSE);
  guint64 end = cj2k_rtp_parts_end(u->locator, u->bytes->data + u->begin, u->bytes->len - u->begin);
  if (flow != GST_FLOW_OK || u->collects || u->drops || u->index + 1 >= self->fields || !end)
    return flow;
  flow = send_part(self, (gsize)end, TRUE);
  begin_codestream(u, u->index + 1, u->begin + (gsize)end);
  return flow == GST_FLOW_OK ? send_part(self, u->bytes->len - u->begin, FALSE) : flow;
}

/* Sends the frame, or its second codestream if the first was sent in parts, as a whole. */
static GstFlowReturn send_whole(GstCudaJ2kRtpPay *self)
{
  Unfinished *u = &self->unfinished;
  GstBuffer *whole = gst_buffer_new_memdup(u->bytes->data, u->bytes->len);
  gst_buffer_copy_into(whole, u->first, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  return gst_cuda_j2k_rtp_pay_send_buffer(self, whole, u->index);
}

/* Sends what is left of a frame, both of whose codestreams are there. */
static GstFlowReturn send_fields(GstCudaJ2kRtpPay *self)
{
  Unfinished *u = &self->unfinished;
  GstCudaJ2kSpan spans[2];
  guint count = gst_cuda_j2k_find_parts(u->bytes->data, u->bytes->len, spans);
  GstFlowReturn flow = GST_FLOW_OK;
  if (u->index == 0) {
    if (count == 1 && !u->cursor.at)
      return send_whole(self); /* no field at all */
    flow = send_part(self, count == 1 ? u->bytes->len : spans[0].size, TRUE);
    if (u->collects)
      return send_whole(self);
    if (count == 1 || u->drops || flow != GST_FLOW_OK)
      return flow;
    begin_codestream(u, 1, (gsize)(spans[1].data - u->bytes->data));
  }
  flow = send_part(self, u->bytes->len - u->begin, TRUE);
  return u->collects ? send_whole(self) : flow;
}

/* Whether a buffer belongs to another frame than the unfinished one, whose last buffer is lost. */
static gboolean begins_another(const GstCudaJ2kRtpPay *self, GstBuffer *buffer)
{
  GstClockTime before = GST_BUFFER_PTS(self->unfinished.first), pts = GST_BUFFER_PTS(buffer);
  guint8 head[GST_CUDA_J2K_START_BYTES];
  if (GST_CLOCK_TIME_IS_VALID(before) && GST_CLOCK_TIME_IS_VALID(pts) && before != pts)
    return TRUE;
  return self->fields == 1 && gst_buffer_extract(buffer, 0, head, sizeof head) == sizeof head &&
         gst_cuda_j2k_find_limit(head, sizeof head) > 0;
}

static void begin_frame(GstCudaJ2kRtpPay *self, GstBuffer *first)
{
  Unfinished *u = &self->unfinished;
  u->first = gst_buffer_ref(first);
  u->room = gst_cuda_j2k_rtp_pay_room(self);
  GST_OBJECT_LOCK(self);
  u->unmarked = !self->mark_precincts;
  GST_OBJECT_UNLOCK(self);
  u->part = gst_cuda_j2k_rtp_pay_first_part(self, first, self->fields);
  u->collects = u->drops = FALSE;
  begin_codestream(u, 0, 0);
}

static void add_bytes(GstCudaJ2kRtpPay *self, GstBuffer *buffer)
{
  Unfinished *u = &self->unfinished;
  gsize size = gst_buffer_get_size(buffer), before = u->bytes->len;
  if (u->drops)
    return;
  if (size > MAX_FRAME_BYTES - before) {
    gst_cuda_j2k_rtp_pay_warn(self, "its frame has no end");
    u->drops = TRUE;
    return;
  }
  g_byte_array_set_size(u->bytes, (guint)(before + size));
  gst_buffer_extract(buffer, 0, u->bytes->data + before, size);
}

/* Ends a frame all of whose buffers have arrived. */
static GstFlowReturn end_frame(GstCudaJ2kRtpPay *self)
{
  Unfinished *u = &self->unfinished;
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean eoc = u->bytes->len >= 2 && u->bytes->data[u->bytes->len - 2] == 0xFF &&
                 u->bytes->data[u->bytes->len - 1] == 0xD9;
  if (u->collects && !u->drops) {
    flow = send_whole(self);
  } else if (!u->drops && !eoc) {
    gst_cuda_j2k_rtp_pay_warn(self, "it does not end with EOC");
  } else if (!u->drops && self->fields == 2) {
    flow = send_fields(self);
  } else if (!u->drops) {
    flow = send_part(self, u->bytes->len, TRUE);
    if (u->collects)
      flow = send_whole(self);
  }
  gst_cuda_j2k_rtp_pay_drop_unfinished(self);
  return flow;
}

GstFlowReturn gst_cuda_j2k_rtp_pay_add_part(GstCudaJ2kRtpPay *self, GstBuffer *buffer)
{
  Unfinished *u = &self->unfinished;
  gboolean last = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_MARKER);
  GstFlowReturn flow = GST_FLOW_OK;
  if (u->first && begins_another(self, buffer)) {
    GST_WARNING_OBJECT(self, "a frame has no last buffer");
    gst_cuda_j2k_rtp_pay_drop_unfinished(self);
  }
  if (!u->first)
    begin_frame(self, buffer);
  else if (GST_BUFFER_IS_DISCONT(buffer))
    u->drops = TRUE; /* what is lost cannot be sent, and nobody knows which packets follow */
  add_bytes(self, buffer);
  gst_buffer_unref(buffer);
  if (last)
    return end_frame(self);
  if (!u->collects && !u->drops)
    flow = send_begin(self);
  return flow;
}
