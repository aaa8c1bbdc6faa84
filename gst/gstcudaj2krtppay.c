/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-rtpj2ksclpay
 * @title: rtpj2ksclpay
 * @short_description: RTP payloader for JPEG 2000 and HTJ2K (RFC 9828)
 *
 * Divides codestreams into RTP packets of the media type jpeg2000-scl (RFC 9828). In a stream of
 * one tile every precinct is marked, so that a receiver can resynchronise after a loss. RTP packets
 * name their resolution and layer, so that devices on the way can leave out the highest ones.
 *
 * The positions of the packets in a codestream are read from PLT marker segments (`plt` of the
 * encoder) if it has them, otherwise from the packet headers.
 *
 * With alignment=subframe in the caps (`slices=true` of the encoder) packets leave as soon as their
 * bytes are there, and are those of the whole frame. With #GstCudaJ2kRtpPay:pacing they leave over
 * what is left of the frame's time. Frames with packed packet headers (PPM, PPT), and with a change
 * of the progression order in later tile-part headers, are sent when they are complete.
 *
 * The size of the precincts decides how much a lost RTP packet costs. Because every precinct begins
 * a new RTP packet, a precinct of the highest resolution should fill several of them.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc is-live=true ! video/x-raw,format=I422_10LE ! cudaj2kenc
 * block-coder=ht bits-per-pixel=3 progression-order=rpcl precincts=256x256,128x128 plt=true !
 * rtpj2ksclpay ! udpsink host=127.0.0.1 port=5004 buffer-size=4000000
 * ]| Sends an HTJ2K stream.
 */
#include "gstcudaj2kfields.h"
#include "gstcudaj2krtp.h"
#include "gstcudaj2krtppayprivate.h"

#include <gst/rtp/gstrtpbuffer.h>
#include <string.h>

GST_DEBUG_CATEGORY(gst_cuda_j2k_rtp_pay_debug);

/* Half a tick of the RTP clock of 90 kHz. */
#define TICK_ROUNDING (GST_SECOND / 90000 / 2)

typedef struct {
  GstRTPBasePayloadClass parent_class;
} GstCudaJ2kRtpPayClass;

enum {
  PROP_0,
  PROP_MARK_PRECINCTS,
  PROP_HEADER_REUSE,
  PROP_ESEQ_OFFSET,
  PROP_REPEAT_RESOLUTIONS,
  PROP_PACING,
  PROP_CONSTANT_BYTES,
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("image/x-jpc, alignment = (string) { frame, subframe }; "
                    "image/x-jpc"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_CUDA_J2K_RTP_CAPS));

G_DEFINE_TYPE(GstCudaJ2kRtpPay, gst_cuda_j2k_rtp_pay, GST_TYPE_RTP_BASE_PAYLOAD)
#define PAY(object) GST_CUDA_J2K_RTP_PAY(object)
GST_ELEMENT_REGISTER_DEFINE(rtpj2ksclpay, "rtpj2ksclpay", GST_RANK_SECONDARY,
                            gst_cuda_j2k_rtp_pay_get_type())

/* ---------------------------------------------------------------------------- properties --- */

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kRtpPay *self = PAY(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_MARK_PRECINCTS: self->mark_precincts = g_value_get_boolean(value); break;
  case PROP_HEADER_REUSE: self->header_reuse = g_value_get_boolean(value); break;
  case PROP_ESEQ_OFFSET: self->eseq_offset = g_value_get_int(value); break;
  case PROP_REPEAT_RESOLUTIONS: self->repeat_resolutions = g_value_get_uint(value); break;
  case PROP_PACING: self->pacing = g_value_get_double(value); break;
  case PROP_CONSTANT_BYTES: self->constant_bytes = g_value_get_uint(value); break;
  default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kRtpPay *self = PAY(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_MARK_PRECINCTS: g_value_set_boolean(value, self->mark_precincts); break;
  case PROP_HEADER_REUSE: g_value_set_boolean(value, self->header_reuse); break;
  case PROP_ESEQ_OFFSET: g_value_set_int(value, self->eseq_offset); break;
  case PROP_REPEAT_RESOLUTIONS: g_value_set_uint(value, self->repeat_resolutions); break;
  case PROP_PACING: g_value_set_double(value, self->pacing); break;
  case PROP_CONSTANT_BYTES: g_value_set_uint(value, self->constant_bytes); break;
  default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

/* ---------------------------------------------------------------------------------- caps --- */

/* Reads interlacing and frame rate; GStreamer has no parser for caps of coded video. */
static void read_video_info(GstCudaJ2kRtpPay *self)
{
  const gchar *mode = gst_structure_get_string(self->caps, "interlace-mode");
  const gchar *order = gst_structure_get_string(self->caps, "field-order");
  gst_video_info_init(&self->info);
  if (mode)
    GST_VIDEO_INFO_INTERLACE_MODE(&self->info) = gst_video_interlace_mode_from_string(mode);
  if (order)
    GST_VIDEO_INFO_FIELD_ORDER(&self->info) = gst_video_field_order_from_string(order);
  if (!gst_structure_get_fraction(self->caps, "framerate", &self->info.fps_n, &self->info.fps_d))
    self->info.fps_n = 0;
}

static gboolean set_caps(GstRTPBasePayload *payload, GstCaps *caps)
{
  GstCudaJ2kRtpPay *self = PAY(payload);
  gint fields = 0;
  gst_cuda_j2k_rtp_pay_drop_unfinished(self); /* no more of it comes */
  g_clear_pointer(&self->caps, gst_structure_free);
  self->caps = gst_structure_copy(gst_caps_get_structure(caps, 0));
  read_video_info(self);
  gst_structure_get_int(self->caps, "fields", &fields);
  self->fields = fields == 2 ? 2 : 1;
  self->in_parts = !g_strcmp0(gst_structure_get_string(self->caps, "alignment"), "subframe");
  self->last_size = 0;
  self->announced = FALSE; /* the rest of the caps follows from the first codestream */
  gst_rtp_base_payload_set_options(payload, "video", TRUE, "JPEG2000-SCL", 90000);
  return TRUE;
}

guint8 gst_cuda_j2k_rtp_pay_first_part(const GstCudaJ2kRtpPay *self, const GstBuffer *buffer,
                                       guint count)
{
  if (count == 1)
    return CJ2K_RTP_FRAME;
  if (!GST_VIDEO_INFO_IS_INTERLACED(&self->info) &&
      gst_structure_has_field(self->caps, "interlace-mode"))
    return CJ2K_RTP_PSF1;
  return gst_cuda_j2k_fields_bottom_first(&self->info, buffer) ? CJ2K_RTP_FIELD1_LINE2
                                                               : CJ2K_RTP_FIELD1_LINE1;
}

static void start_numbers(GstCudaJ2kRtpPay *self)
{
  GST_OBJECT_LOCK(self);
  gint offset = self->eseq_offset;
  GST_OBJECT_UNLOCK(self);
  gst_cuda_j2k_rtp_send_start(&self->sender,
                              (guint8)(offset < 0 ? g_random_int_range(0, 256) : offset));
}

gboolean gst_cuda_j2k_rtp_pay_announce(GstCudaJ2kRtpPay *self, const Cj2kRtpImage *image,
                                       guint8 part)
{
  GstRTPBasePayload *payload = GST_RTP_BASE_PAYLOAD(self);
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
  if (self->announced && part == self->part && !memcmp(image, &self->image, sizeof *image))
    return TRUE;
  self->image = *image;
  self->part = part;
  self->main = (Cj2kRtpHeader){0};
  gst_cuda_j2k_rtp_set_colours(self->caps, image, &self->main);
  GstStructure *parameters =
      gst_cuda_j2k_rtp_parameters(image, &self->main, part, self->info.fps_n, self->info.fps_d);
  guint16 before = payload->seqnum;
  self->announced = gst_rtp_base_payload_set_outcaps_structure(payload, parameters);
  gst_structure_free(parameters);
  /* Downstream may have chosen the first sequence number. */
  if (payload->seqnum != before)
    start_numbers(self);
  return self->announced;
}

/* ----------------------------------------------------------------------------- codestream --- */

void gst_cuda_j2k_rtp_pay_warn(GstCudaJ2kRtpPay *self, const gchar *text)
{
  GST_WARNING_OBJECT(self, "%s", text);
  if (!self->warned)
    GST_ELEMENT_WARNING(self, STREAM, FORMAT, ("A codestream cannot be sent: %s.", text),
                        ("Further codestreams like it are dropped without a message."));
  self->warned = TRUE;
}

gboolean gst_cuda_j2k_rtp_pay_may_reuse(GstCudaJ2kRtpPay *self, const guint8 *data, gsize size,
                                        const Cj2kRtpHeader *main)
{
  const guint8 payload[] = {main->order,     main->has_colours, main->full_range,
                            main->primaries, main->transfer,    main->matrix};
  GST_OBJECT_LOCK(self);
  gboolean wanted = self->header_reuse;
  GST_OBJECT_UNLOCK(self);
  if (!wanted || self->headers_differ)
    return FALSE;
  g_byte_array_set_size(self->signature, 0);
  if (!cj2k_rtp_header_signature(data, size, self->signature))
    return FALSE;
  g_byte_array_append(self->signature, payload, sizeof payload);
  if (self->signature_before->len == 0) {
    g_byte_array_append(self->signature_before, self->signature->data, self->signature->len);
    return TRUE;
  }
  if (self->signature->len == self->signature_before->len &&
      !memcmp(self->signature->data, self->signature_before->data, self->signature->len))
    return TRUE;
  self->headers_differ = TRUE;
  GST_ELEMENT_WARNING(
      self, STREAM, FORMAT,
      ("The main header or the colours of the stream have changed, although header-reuse announced "
       "to receivers that they never do. Header reuse is no longer announced."),
      (NULL));
  return FALSE;
}

void gst_cuda_j2k_rtp_pay_pad(GstCudaJ2kRtpPay *self, guint64 size, guint count, guint room)
{
  GST_OBJECT_LOCK(self);
  guint64 wanted = self->constant_bytes / count;
  GST_OBJECT_UNLOCK(self);
  if (wanted == 0)
    return;
  if (size <= wanted) {
    cj2k_rtp_pad(&self->payloads, wanted - size, room);
    return;
  }
  if (!self->warned_size)
    GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                        ("A codestream of %" G_GUINT64_FORMAT
                         " bytes exceeds its share of constant-bytes, %" G_GUINT64_FORMAT
                         "; it is sent as it is.",
                         size, wanted),
                        ("Further ones are sent without a message."));
  self->warned_size = TRUE;
}

guint gst_cuda_j2k_rtp_pay_room(const GstCudaJ2kRtpPay *self)
{
  guint mtu = GST_RTP_BASE_PAYLOAD_MTU(GST_RTP_BASE_PAYLOAD(self));
  guint room = gst_rtp_buffer_calc_payload_len(mtu, 0, 0);
  return room > CJ2K_RTP_HEADER_BYTES ? room - CJ2K_RTP_HEADER_BYTES : 1;
}

/* Sends a codestream. `part` is TP of the first codestream of its buffer, this_part its own TP. */
static GstFlowReturn send(GstCudaJ2kRtpPay *self, GstMemory *memory, const GstMapInfo *map,
                          const GstCudaJ2kSpan *span, guint8 part, guint8 this_part,
                          const GstCudaJ2kRtpTimes *times)
{
  guint room = gst_cuda_j2k_rtp_pay_room(self);
  Cj2kRtpImage image;
  Cj2kRtpMap place;
  Cj2kError error = {0};
  if (!cj2k_rtp_image_read(span->data, span->size, &image)) {
    gst_cuda_j2k_rtp_pay_warn(self, "it does not begin with SOC and SIZ");
    return GST_FLOW_OK;
  }
  if (cj2k_rtp_locate(self->locator, span->data, span->size, &place, &error) != CJ2K_OK) {
    gst_cuda_j2k_rtp_pay_warn(self, error.text);
    return GST_FLOW_OK;
  }
  if (!gst_cuda_j2k_rtp_pay_announce(self, &image, part))
    return GST_FLOW_NOT_NEGOTIATED;
  GST_OBJECT_LOCK(self);
  guint repeats = self->repeat_resolutions;
  if (!self->mark_precincts)
    place.order = CJ2K_RTP_ORDER_UNMARKED;
  GST_OBJECT_UNLOCK(self);
  cj2k_rtp_packetise(&place, room, &self->payloads);
  gst_cuda_j2k_rtp_pay_pad(self, place.end, part == CJ2K_RTP_FRAME ? 1 : 2, room);
  Cj2kRtpHeader main = self->main;
  main.part = this_part;
  main.order = place.order;
  main.reuse = gst_cuda_j2k_rtp_pay_may_reuse(self, span->data, place.header_bytes, &main);
  return gst_cuda_j2k_rtp_send(&self->sender, memory, (gsize)(span->data - map->data),
                               &self->payloads, &main, times, repeats,
                               GST_CUDA_J2K_RTP_FIRST | GST_CUDA_J2K_RTP_LAST);
}

/* The time between the two fields of a frame, which is half its duration. */
static GstClockTime field_duration(const GstCudaJ2kRtpPay *self, const GstBuffer *buffer)
{
  if (self->info.fps_n > 0)
    return gst_util_uint64_scale(GST_SECOND, (guint64)self->info.fps_d,
                                 2 * (guint64)self->info.fps_n);
  if (GST_BUFFER_DURATION_IS_VALID(buffer))
    return GST_BUFFER_DURATION(buffer) / 2;
  return 20 * GST_MSECOND;
}

GstCudaJ2kRtpTimes gst_cuda_j2k_rtp_pay_times(GstCudaJ2kRtpPay *self, const GstBuffer *buffer,
                                              guint i, guint count, gboolean psf)
{
  GstClockTime pts = GST_BUFFER_PTS(buffer), field = field_duration(self, buffer);
  GstCudaJ2kRtpTimes times = {GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE, 0};
  GST_OBJECT_LOCK(self);
  gdouble pacing = self->pacing;
  GST_OBJECT_UNLOCK(self);
  if (!GST_CLOCK_TIME_IS_VALID(pts))
    return times;
  /* Rounds to the nearest tick of 90 kHz. The base class rounds down, and the nanoseconds of
   * 30000/1001 frames a second are rounded down already, so that timestamps would be unevenly
   * spaced. */
  pts += TICK_ROUNDING;
  times.pts = psf ? pts : pts + i * field;
  if (pacing <= 0)
    return times;
  times.leave = pts + i * field;
  times.spread = (GstClockTime)((gdouble)(count == 2 ? field : 2 * field) / pacing);
  return times;
}

/* How many of the codestreams found in a buffer are sent: both if they are the fields of a frame.
 * If there are others, warns once. */
static guint count_codestreams(GstCudaJ2kRtpPay *self, guint found, const GstCudaJ2kSpan spans[2])
{
  guint count = self->fields;
  gint height = 0;
  gst_structure_get_int(self->caps, "height", &height);
  if (found == 2 && count == 1 && !gst_structure_has_field(self->caps, "fields") &&
      (GST_VIDEO_INFO_IS_INTERLACED(&self->info) || gst_cuda_j2k_are_fields(spans, height)))
    count = 2;
  if (found > count && !self->warned_more) {
    self->warned_more = TRUE;
    GST_ELEMENT_WARNING(self, STREAM, FORMAT, (GST_CUDA_J2K_TOO_MANY, count), (NULL));
  }
  return MIN(found, count);
}

GstFlowReturn gst_cuda_j2k_rtp_pay_send_buffer(GstCudaJ2kRtpPay *self, GstBuffer *buffer,
                                               guint first)
{
  GstMemory *memory = gst_buffer_get_all_memory(buffer);
  GstCudaJ2kSpan spans[2];
  GstMapInfo map;
  GstFlowReturn flow = GST_FLOW_OK;
  if (!memory && gst_buffer_get_size(buffer) == 0) {
    gst_buffer_unref(buffer);
    gst_cuda_j2k_rtp_pay_warn(self, "a buffer is empty");
    return GST_FLOW_OK;
  }
  if (!memory || !gst_memory_map(memory, &map, GST_MAP_READ)) {
    if (memory)
      gst_memory_unref(memory);
    gst_buffer_unref(buffer);
    GST_ELEMENT_ERROR(self, RESOURCE, READ, ("Cannot map an input buffer for reading."), (NULL));
    return GST_FLOW_ERROR;
  }
  guint found = gst_cuda_j2k_find_parts(map.data, map.size, spans);
  guint count = count_codestreams(self, found, spans);
  guint8 part = gst_cuda_j2k_rtp_pay_first_part(self, buffer, count);
  for (guint i = first; i < count && flow == GST_FLOW_OK; i++) {
    GstCudaJ2kRtpTimes times =
        gst_cuda_j2k_rtp_pay_times(self, buffer, i, count, part == CJ2K_RTP_PSF1);
    flow = send(self, memory, &map, &spans[i], part, (guint8)(part + i), &times);
  }
  gst_memory_unmap(memory, &map);
  gst_memory_unref(memory);
  gst_buffer_unref(buffer);
  return flow;
}

static GstFlowReturn handle_buffer(GstRTPBasePayload *payload, GstBuffer *buffer)
{
  GstCudaJ2kRtpPay *self = PAY(payload);
  return self->in_parts ? gst_cuda_j2k_rtp_pay_add_part(self, buffer)
                        : gst_cuda_j2k_rtp_pay_send_buffer(self, buffer, 0);
}

/* What is left of an unfinished frame does not come after these events. */
static gboolean sink_event(GstRTPBasePayload *payload, GstEvent *event)
{
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_FLUSH_STOP:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_STREAM_START:
  case GST_EVENT_EOS: gst_cuda_j2k_rtp_pay_drop_unfinished(PAY(payload)); break;
  default: break;
  }
  return GST_RTP_BASE_PAYLOAD_CLASS(gst_cuda_j2k_rtp_pay_parent_class)->sink_event(payload, event);
}

/* --------------------------------------------------------------------------------- class --- */

static GstStateChangeReturn change_state(GstElement *element, GstStateChange transition)
{
  GstCudaJ2kRtpPay *self = PAY(element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    gst_cuda_j2k_rtp_pay_drop_unfinished(self);
    self->headers_differ = self->warned = self->warned_size = self->warned_more = FALSE;
    self->announced = FALSE;
    start_numbers(self);
    g_byte_array_set_size(self->signature_before, 0);
  }
  return GST_ELEMENT_CLASS(gst_cuda_j2k_rtp_pay_parent_class)->change_state(element, transition);
}

static void finalize(GObject *object)
{
  GstCudaJ2kRtpPay *self = PAY(object);
  g_clear_pointer(&self->caps, gst_structure_free);
  cj2k_rtp_locator_free(self->locator);
  gst_cuda_j2k_rtp_pay_drop_unfinished(self);
  cj2k_rtp_parts_locator_free(self->unfinished.locator);
  g_byte_array_unref(self->unfinished.bytes);
  cj2k_rtp_payloads_clear(&self->payloads);
  gst_cuda_j2k_rtp_send_clear(&self->sender);
  g_byte_array_unref(self->signature);
  g_byte_array_unref(self->signature_before);
  G_OBJECT_CLASS(gst_cuda_j2k_rtp_pay_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *object_class)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  g_object_class_install_property(
      object_class, PROP_MARK_PRECINCTS,
      g_param_spec_boolean("mark-precincts", "Mark precincts",
                           "Begin a new RTP packet with every precinct and mark it, so that "
                           "receivers can resynchronise after a loss; only in streams of one tile",
                           TRUE, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property(
      object_class, PROP_HEADER_REUSE,
      g_param_spec_boolean(
          "header-reuse", "Header reuse",
          "Announce that the main headers of all codestreams are the same, so that "
          "receivers may use an earlier one if one is lost; this holds for rate-control "
          "lossless, quality and qstep",
          FALSE, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property(
      object_class, PROP_ESEQ_OFFSET,
      g_param_spec_int("eseq-offset", "ESEQ offset",
                       "First value of the upper 8 bits of the sequence number; -1 = random", -1,
                       255, -1, flags | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property(
      object_class, PROP_REPEAT_RESOLUTIONS,
      g_param_spec_uint("repeat-resolutions", "Repeated resolutions",
                        "Number of lowest resolutions that are sent a second time, with the main "
                        "header, at the end of each codestream and with the same sequence "
                        "numbers; 0 = nothing is repeated",
                        0, CJ2K_MAX_LEVELS + 1, 0, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property(
      object_class, PROP_PACING,
      g_param_spec_double(
          "pacing", "Pacing",
          "Spread the packets of a frame in time, by their buffers' timestamps and for a "
          "sink with sync=true, so that they leave at this multiple of the mean rate: "
          "1 = over the whole duration of the frame, 2 = over its first half; 0 = all at once",
          0, 1000, 0, flags | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property(
      object_class, PROP_CONSTANT_BYTES,
      g_param_spec_uint(
          "constant-bytes", "Constant bytes",
          "Bytes of each frame, to which zeros are appended in its last RTP packet, and "
          "in further ones if they do not fit there; payload headers are not counted; "
          "0 = no padding",
          0, G_MAXUINT, 0, flags | GST_PARAM_MUTABLE_PLAYING));
}

static void gst_cuda_j2k_rtp_pay_class_init(GstCudaJ2kRtpPayClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstRTPBasePayloadClass *payload_class = GST_RTP_BASE_PAYLOAD_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_cuda_j2k_rtp_pay_debug, "rtpj2ksclpay", 0,
                          "JPEG 2000 payloader (RFC 9828)");
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);
  element_class->change_state = change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "RTP JPEG 2000 payloader (RFC 9828)", "Codec/Payloader/Network/RTP",
      "Payloads JPEG 2000 and HTJ2K codestreams as RTP packets (jpeg2000-scl, RFC 9828)",
      "The cudaj2k developers");
  payload_class->set_caps = set_caps;
  payload_class->handle_buffer = handle_buffer;
  payload_class->sink_event = sink_event;
}

static void gst_cuda_j2k_rtp_pay_init(GstCudaJ2kRtpPay *self)
{
  self->mark_precincts = TRUE;
  self->eseq_offset = -1;
  self->locator = cj2k_rtp_locator_new();
  self->unfinished.locator = cj2k_rtp_parts_locator_new();
  self->unfinished.bytes = g_byte_array_new();
  gst_cuda_j2k_rtp_send_init(&self->sender, GST_RTP_BASE_PAYLOAD(self));
  self->signature = g_byte_array_new();
  self->signature_before = g_byte_array_new();
}
