/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2krtpsend.h"

#include <gst/rtp/gstrtpbuffer.h>

/* Time between groups of paced packets. They are grouped because a sink waits for the clock once
 * for each list of buffers. */
#define GROUP_INTERVAL GST_MSECOND

/*
 * Pad probe that completes a list of packets behind the base class. The base class numbers packets,
 * and computes their RTP timestamp from the PTS of a list's first buffer, or repeats the previous
 * timestamp if it has none. After that, the probe sets the buffers' PTS to the time at which they
 * leave, and appends the packets that are sent twice to the last group. These keep their sequence
 * numbers, so that receivers take them for duplicates.
 */
static GstPadProbeReturn on_list(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstCudaJ2kRtpSend *send = data;
  GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
  guint count = gst_buffer_list_length(list);
  guint next = send->repeated;
  (void)pad;
  info->data = list;
  for (guint i = 0; GST_CLOCK_TIME_IS_VALID(send->leave) && i < count; i++)
    GST_BUFFER_PTS(gst_buffer_list_get_writable(list, i)) = send->leave;
  for (; next < send->repeats->len; next++) {
    guint packet = g_array_index(send->repeats, guint, next);
    if (packet >= send->sent + count)
      break;
    g_ptr_array_add(send->again, gst_buffer_ref(gst_buffer_list_get(list, packet - send->sent)));
  }
  send->repeated = next;
  for (guint i = 0; send->last && i < send->again->len; i++)
    gst_buffer_list_add(list, gst_buffer_ref(send->again->pdata[i]));
  return GST_PAD_PROBE_OK;
}

void gst_cuda_j2k_rtp_send_init(GstCudaJ2kRtpSend *send, GstRTPBasePayload *payload)
{
  *send = (GstCudaJ2kRtpSend){.payload = payload, .leave = GST_CLOCK_TIME_NONE};
  send->repeats = g_array_new(FALSE, FALSE, sizeof(guint));
  send->again = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref);
  gst_pad_add_probe(GST_RTP_BASE_PAYLOAD_SRCPAD(payload), GST_PAD_PROBE_TYPE_BUFFER_LIST, on_list,
                    send, NULL);
}

void gst_cuda_j2k_rtp_send_clear(GstCudaJ2kRtpSend *send)
{
  g_array_unref(send->repeats);
  g_ptr_array_unref(send->again);
}

void gst_cuda_j2k_rtp_send_start(GstCudaJ2kRtpSend *send, guint8 eseq)
{
  send->has_sequence = FALSE;
  send->eseq = eseq;
}

/* ------------------------------------------------------------------------------- packets --- */

static void append_padding(GstBuffer *buffer, gsize size)
{
  static guint8 zeros[G_MAXUINT16];
  gst_buffer_append_memory(buffer,
                           gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, zeros, sizeof zeros, 0,
                                                  MIN(size, sizeof zeros), NULL, NULL));
}

static GstBuffer *new_packet(const GstCudaJ2kRtpSend *send, GstMemory *memory, gsize base,
                             const Cj2kRtpPayload *payload, const Cj2kRtpHeader *header)
{
  GstBuffer *buffer =
      gst_rtp_base_payload_allocate_output_buffer(send->payload, CJ2K_RTP_HEADER_BYTES, 0, 0);
  GstMapInfo map;
  if (!buffer || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
    gst_clear_buffer(&buffer);
    return NULL;
  }
  cj2k_rtp_header_write(header, map.data + map.size - CJ2K_RTP_HEADER_BYTES);
  gst_buffer_unmap(buffer, &map);
  gssize offset = (gssize)(base + payload->offset), size = (gssize)payload->size;
  if (size > 0)
    gst_buffer_append_memory(buffer, GST_MEMORY_IS_NO_SHARE(memory)
                                         ? gst_memory_copy(memory, offset, size)
                                         : gst_memory_share(memory, offset, size));
  if (payload->padding > 0)
    append_padding(buffer, payload->padding);
  return buffer;
}

static void set_marker(GstBuffer *buffer)
{
  GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
  if (!gst_rtp_buffer_map(buffer, GST_MAP_WRITE, &rtp))
    return;
  gst_rtp_buffer_set_marker(&rtp, TRUE);
  gst_rtp_buffer_unmap(&rtp);
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_MARKER);
}

/* The 24-bit sequence number of the next packet. */
static guint32 next_number(const GstCudaJ2kRtpSend *send)
{
  guint32 number = (guint32)send->eseq << 16 | send->payload->seqnum;
  return send->has_sequence ? number + 1 : number;
}

/* Chooses the packets to send twice: Main packets and those of the `repeats` lowest resolutions,
 * which matter most and have few bytes. */
static void choose_repeats(GstCudaJ2kRtpSend *send, const Cj2kRtpPayloads *payloads, guint repeats)
{
  g_array_set_size(send->repeats, 0);
  for (guint i = 0; repeats > 0 && i < payloads->count; i++)
    if (payloads->payloads[i].header.kind != CJ2K_RTP_BODY ||
        payloads->payloads[i].lowest < repeats)
      g_array_append_val(send->repeats, i);
}

/* Makes the packets from send->sent up to `end`; that of payload `eoc` has the marker. NULL: memory
 * ran out. */
static GstBufferList *make_list(GstCudaJ2kRtpSend *send, GstMemory *memory, gsize base,
                                const Cj2kRtpPayloads *payloads, const Cj2kRtpHeader *main,
                                guint end, guint eoc, GstClockTime pts)
{
  GstBufferList *list = gst_buffer_list_new_sized(end - send->sent);
  guint32 number = next_number(send);
  for (guint i = send->sent; i < end; i++, number++) {
    const Cj2kRtpPayload *payload = &payloads->payloads[i];
    Cj2kRtpHeader header = payload->header.kind == CJ2K_RTP_BODY ? payload->header : *main;
    header.kind = payload->header.kind;
    header.part = main->part;
    header.extended = (guint8)(number >> 16);
    GstBuffer *packet = new_packet(send, memory, base, payload, &header);
    if (!packet) {
      gst_buffer_list_unref(list);
      return NULL;
    }
    GST_BUFFER_PTS(packet) = pts;
    if (i == eoc)
      set_marker(packet);
    gst_buffer_list_add(list, packet);
  }
  send->eseq = (guint8)((number - 1) >> 16);
  send->has_sequence = TRUE;
  return list;
}

GstFlowReturn gst_cuda_j2k_rtp_send(GstCudaJ2kRtpSend *send, GstMemory *memory, gsize base,
                                    const Cj2kRtpPayloads *payloads, const Cj2kRtpHeader *main,
                                    const GstCudaJ2kRtpTimes *times, guint repeats, guint which)
{
  guint eoc = which & GST_CUDA_J2K_RTP_LAST ? cj2k_rtp_last_payload(payloads) : G_MAXUINT;
  guint64 groups = CLAMP(times->spread / GROUP_INTERVAL, 1, payloads->count);
  GstFlowReturn flow = GST_FLOW_OK;
  choose_repeats(send, payloads, repeats);
  send->sent = send->repeated = 0;
  if (which & GST_CUDA_J2K_RTP_FIRST)
    g_ptr_array_set_size(send->again, 0);
  for (guint64 group = 0; group < groups && flow == GST_FLOW_OK; group++) {
    guint end = (guint)((group + 1) * payloads->count / groups);
    GstBufferList *list = make_list(send, memory, base, payloads, main, end, eoc,
                                    group == 0 ? times->pts : GST_CLOCK_TIME_NONE);
    if (!list)
      return GST_FLOW_ERROR;
    send->leave = times->leave;
    if (GST_CLOCK_TIME_IS_VALID(times->leave))
      send->leave += gst_util_uint64_scale(times->spread, group, groups);
    send->last = which & GST_CUDA_J2K_RTP_LAST && group + 1 == groups;
    flow = gst_rtp_base_payload_push_list(send->payload, list);
    send->sent = end;
  }
  if (which & GST_CUDA_J2K_RTP_LAST)
    g_ptr_array_set_size(send->again, 0);
  return flow;
}
