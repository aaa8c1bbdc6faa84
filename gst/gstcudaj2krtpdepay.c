/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-rtpj2kscldepay
 * @title: rtpj2kscldepay
 * @short_description: RTP depayloader for JPEG 2000 and HTJ2K (RFC 9828)
 *
 * Collects codestreams from RTP packets of the media type jpeg2000-scl (RFC 9828). Where RTP
 * packets are missing, the packets of the codestream that arrived whole are kept, and empty ones
 * take the place of the others, so that every buffer is a legal codestream for any decoder; such
 * buffers have the flag CORRUPTED. In streams that mark precincts or have SOP marker segments, a
 * lost RTP packet costs only the precincts that it had bytes of. A picture is lost if its main
 * header is lost, and not even then if the stream announces that all main headers are the same and
 * one has arrived.
 *
 * Frames that were sent in slices (their tile-part has no length, Psot = 0) leave in parts, with
 * alignment=subframe, as soon as no packet is missing up to a precinct, if downstream names
 * that in its caps. What has left stays as it is after a loss; the rest of the frame waits for the
 * missing packets, and is repaired if they do not come.
 *
 * The property stats counts RTP packets by what became of them.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 udpsrc port=5004 buffer-size=8000000
 * caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000-SCL" !
 * rtpjitterbuffer latency=20 ! rtpj2kscldepay ! cudaj2kdec ! videoconvert ! autovideosink
 * ]| Receives a stream and shows it.
 */
#include "gstcudaj2kcaps.h"
#include "gstcudaj2krtp.h"
#include "gstcudaj2krtpcaps.h"
#include "gstcudaj2krtptimer.h"

#include "common/rtp/receive.h"

#include <gst/rtp/gstrtpbasedepayload.h>
#include <gst/rtp/gstrtpbuffer.h>
#include <string.h>

GST_DEBUG_CATEGORY_STATIC(gst_cuda_j2k_rtp_depay_debug);
#define GST_CAT_DEFAULT gst_cuda_j2k_rtp_depay_debug

#define DEFAULT_WINDOW   32
#define DEFAULT_DEADLINE 20 /* ms */
#define CLOCK_RATE       90000

typedef struct {
  GstRTPBaseDepayload parent;

  /* Guarded by the object lock. */
  Cj2kRtpReceiverParams params; /* properties */
  gboolean params_changed;
  Cj2kRtpStats stats;
  guint64 pictures, corrupted, unpaired, invalid, foreign;
  gboolean live; /* the answer to the last latency query */

  /* Streaming thread only. */
  Cj2kRtpReceiver *receiver;
  GstStructure *caps;        /* of the sink pad */
  Cj2kRtpCodestream pending; /* the first of two codestreams of a picture; data NULL: none */
  gboolean second_begun;     /* the begin of the second one has been pushed */
  guint32 field_distance;    /* ticks between the last two fields of a picture; 0: unknown */
  gboolean asked;            /* downstream's caps are known, and with them takes_parts */
  gboolean takes_parts;      /* downstream takes alignment=subframe */
  gboolean in_parts;         /* alignment=subframe: a frame may consist of several buffers */
  gboolean announced;        /* the source pad's caps are set, from the next four */
  gboolean announced_parts;
  Cj2kRtpImage image;
  Cj2kRtpHeader main;
  guint8 part;
  gboolean warned_cache;
  gboolean has_ssrc;
  guint32 ssrc;
  GstBuffer *stray; /* the last packet, if it has another SSRC than those before it */
  gint64 busy;      /* microseconds that downstream took for pictures */
  gboolean began;   /* a picture has been pushed since the last flush */
  guint64 breaks;   /* losses and restarts counted when it was pushed */
  gboolean follows; /* the picture that is being pushed follows the one before */

  GstCudaJ2kRtpTimer timer; /* wakes at the deadline; its call holds the sink pad's stream lock */
} GstCudaJ2kRtpDepay;
typedef struct {
  GstRTPBaseDepayloadClass parent_class;
} GstCudaJ2kRtpDepayClass;

enum {
  PROP_0,
  PROP_REORDER_WINDOW,
  PROP_DEADLINE,
  PROP_MAX_RESOLUTION,
  PROP_MAX_LAYERS,
  PROP_STATS,
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_CUDA_J2K_RTP_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("image/x-jpc, alignment = (string) { frame, subframe }"));

G_DEFINE_TYPE(GstCudaJ2kRtpDepay, gst_cuda_j2k_rtp_depay, GST_TYPE_RTP_BASE_DEPAYLOAD)
#define DEPAY(object) ((GstCudaJ2kRtpDepay *)(object))
GST_ELEMENT_REGISTER_DEFINE(rtpj2kscldepay, "rtpj2kscldepay", GST_RANK_SECONDARY,
                            gst_cuda_j2k_rtp_depay_get_type())

/* ---------------------------------------------------------------------------- properties --- */

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kRtpDepay *self = DEPAY(object);
  GST_OBJECT_LOCK(self);
  guint64 deadline = self->params.deadline;
  switch (id) {
  case PROP_REORDER_WINDOW: self->params.window = g_value_get_uint(value); break;
  case PROP_DEADLINE:
    self->params.deadline = g_value_get_uint(value) * G_GUINT64_CONSTANT(1000);
    break;
  case PROP_MAX_RESOLUTION: self->params.max_resolution = (guint8)g_value_get_uint(value); break;
  case PROP_MAX_LAYERS: self->params.max_layers = (guint8)g_value_get_uint(value); break;
  default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  self->params_changed = TRUE;
  gboolean latency_changed = self->params.deadline != deadline;
  GST_OBJECT_UNLOCK(self);
  if (latency_changed)
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

/* Makes the property stats; fields are in the order in which they are shown. */
static GstStructure *make_stats(GstCudaJ2kRtpDepay *self)
{
  const struct {
    const gchar *name;
    guint64 value;
  } fields[] = {
      {"received", self->stats.received + self->foreign},
      {"used", self->stats.used},
      {"unused", self->stats.unused},
      {"left-out", self->stats.left_out},
      {"late", self->stats.late},
      {"duplicates", self->stats.duplicates},
      {"malformed", self->stats.malformed},
      {"foreign", self->foreign},
      {"waiting", self->stats.waiting},
      {"lost", self->stats.lost},
      {"intact-codestreams", self->stats.intact},
      {"repaired-codestreams", self->stats.repaired},
      {"reduced-codestreams", self->stats.reduced},
      {"failed-codestreams", self->stats.failed},
      {"invalid-codestreams", self->invalid},
      {"filled-packets", self->stats.filled},
      {"restarts", self->stats.restarts},
      {"pictures", self->pictures},
      {"corrupted-pictures", self->corrupted},
      {"unpaired-fields", self->unpaired},
  };
  GstStructure *stats = gst_structure_new_empty("application/x-rtp-j2kscl-stats");
  for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
    gst_structure_set(stats, fields[i].name, G_TYPE_UINT64, fields[i].value, NULL);
  return stats;
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kRtpDepay *self = DEPAY(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_REORDER_WINDOW: g_value_set_uint(value, self->params.window); break;
  case PROP_DEADLINE: g_value_set_uint(value, (guint)(self->params.deadline / 1000)); break;
  case PROP_MAX_RESOLUTION: g_value_set_uint(value, self->params.max_resolution); break;
  case PROP_MAX_LAYERS: g_value_set_uint(value, self->params.max_layers); break;
  case PROP_STATS: g_value_take_boxed(value, make_stats(self)); break;
  default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
  GST_OBJECT_UNLOCK(self);
}

/* ------------------------------------------------------------------------------- pictures --- */

/* Asks downstream whether it takes parts of frames, and whether it takes nothing else. */
static void ask_downstream(GstCudaJ2kRtpDepay *self)
{
  GstPad *pad = GST_RTP_BASE_DEPAYLOAD_SRCPAD(self);
  if (!gst_pad_check_reconfigure(pad) && self->asked)
    return;
  GstCaps *theirs = gst_pad_peer_query_caps(pad, NULL);
  self->takes_parts = gst_cuda_j2k_caps_take_subframes(theirs);
  self->in_parts &= self->takes_parts;
  self->in_parts |= self->takes_parts && !gst_cuda_j2k_caps_take_frames(theirs);
  self->asked = TRUE;
  gst_caps_unref(theirs);
}

/* Sets the caps of the source pad for this codestream unless they are set already. FALSE: it has no
 * valid header, or the caps are refused. */
static gboolean announce(GstCudaJ2kRtpDepay *self, const Cj2kRtpCodestream *codestream, guint8 part)
{
  Cj2kRtpImage image;
  if (!cj2k_rtp_image_read(codestream->data, codestream->size, &image))
    return FALSE;
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
  gboolean same_image = !memcmp(&image, &self->image, sizeof image);
  if (self->announced && same_image && part == self->part &&
      self->in_parts == self->announced_parts &&
      cj2k_rtp_header_alike(&codestream->main, &self->main))
    return TRUE;
  GstCaps *caps =
      gst_cuda_j2k_rtp_stream_caps(&image, &codestream->main, part, self->in_parts, self->caps);
  self->image = image;
  self->main = codestream->main;
  self->part = part;
  self->announced_parts = self->in_parts;
  self->announced = gst_pad_set_caps(GST_RTP_BASE_DEPAYLOAD_SRCPAD(self), caps);
  gst_caps_unref(caps);
  return self->announced;
}

/* Whether this picture directly follows the last one, with no packets missing in between. */
static gboolean follows_last(GstCudaJ2kRtpDepay *self)
{
  Cj2kRtpStats stats;
  cj2k_rtp_receiver_stats(self->receiver, &stats);
  guint64 breaks = stats.lost + stats.failed + stats.restarts;
  gboolean follows = self->began && breaks == self->breaks;
  self->began = TRUE;
  self->breaks = breaks;
  return follows;
}

/* Pad probe that clears DISCONT from pictures without a loss before them: the base class also sets
 * it when packets only arrive out of order. */
static GstPadProbeReturn clear_discont(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstCudaJ2kRtpDepay *self = data;
  (void)pad;
  if (self->follows && GST_BUFFER_IS_DISCONT(GST_PAD_PROBE_INFO_BUFFER(info))) {
    info->data = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    GST_BUFFER_FLAG_UNSET(info->data, GST_BUFFER_FLAG_DISCONT);
  }
  return GST_PAD_PROBE_OK;
}

/* What has not been pushed of a codestream. */
static GstBuffer *wrap(Cj2kRtpCodestream *codestream)
{
  guint8 *data = g_steal_pointer(&codestream->data);
  return gst_buffer_new_wrapped_full((GstMemoryFlags)0, data, codestream->size, codestream->given,
                                     codestream->size - codestream->given, data, g_free);
}

static void push_buffer(GstCudaJ2kRtpDepay *self, GstBuffer *buffer)
{
  gint64 begin = g_get_monotonic_time();
  gst_rtp_base_depayload_push(GST_RTP_BASE_DEPAYLOAD(self), buffer);
  self->busy += g_get_monotonic_time() - begin;
}

static void count(GstCudaJ2kRtpDepay *self, guint64 *counter)
{
  GST_OBJECT_LOCK(self);
  (*counter)++;
  GST_OBJECT_UNLOCK(self);
}

/* Sets the flags of a buffer of a picture whose first codestream has this TP. */
static void set_field_flags(GstBuffer *buffer, guint8 part)
{
  if (part == CJ2K_RTP_FIELD1_LINE1 || part == CJ2K_RTP_FIELD1_LINE2)
    GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  if (part == CJ2K_RTP_FIELD1_LINE1)
    GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF);
}

/* Pushes a picture of one or two codestreams, which it frees; `second` is NULL or the second
 * field. */
static void push_picture(GstCudaJ2kRtpDepay *self, Cj2kRtpCodestream *first,
                         Cj2kRtpCodestream *second, guint8 part, gboolean corrupted)
{
  /* The begin of a picture was pushed with its caps. */
  if (!(self->in_parts && first->given > 0) && !announce(self, first, part)) {
    count(self, &self->invalid);
    g_clear_pointer(&first->data, g_free);
    if (second)
      g_clear_pointer(&second->data, g_free);
    return;
  }
  if (!self->in_parts) /* what was pushed went to another element */
    first->given = 0;
  if (second && !self->in_parts)
    second->given = 0;
  gboolean begun = first->given > 0;
  GstBuffer *buffer = wrap(first);
  corrupted |= first->repaired || (second && second->repaired);
  if (second)
    buffer = gst_buffer_append(buffer, wrap(second));
  GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = first->time;
  if (second && second->timestamp != first->timestamp)
    GST_BUFFER_DURATION(buffer) =
        gst_util_uint64_scale(2, (second->timestamp - first->timestamp) * GST_SECOND, CLOCK_RATE);
  if (corrupted) {
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
    count(self, &self->corrupted);
  }
  set_field_flags(buffer, part);
  if (self->in_parts)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_MARKER);
  if (begun)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  count(self, &self->pictures);
  self->follows = follows_last(self) || begun;
  push_buffer(self, buffer);
}

/* Pushes a picture of which only one field has arrived; the field takes the place of both. */
static void push_alone(GstCudaJ2kRtpDepay *self, Cj2kRtpCodestream *field)
{
  Cj2kRtpCodestream copy = *field;
  guint8 part = gst_cuda_j2k_rtp_is_first(field->part) ? field->part : (guint8)(field->part - 1);
  copy.data = g_memdup2(field->data, field->size);
  copy.given = 0;
  count(self, &self->unpaired);
  push_picture(self, field, &copy, part, TRUE);
}

static void push_pending(GstCudaJ2kRtpDepay *self)
{
  if (self->second_begun) /* the second one has failed: the picture has no end */
    g_clear_pointer(&self->pending.data, g_free);
  else if (self->pending.data)
    push_alone(self, &self->pending);
  self->second_begun = FALSE;
}

/* Whether a codestream with this TP and timestamp and the pending one may be the fields of a
 * picture: one follows the other within a second. */
static gboolean may_be_fields(const GstCudaJ2kRtpDepay *self, guint8 part, guint32 timestamp)
{
  guint32 distance = timestamp - self->pending.timestamp;
  return self->pending.data && self->pending.part + 1 == part && part != CJ2K_RTP_PSF2 &&
         distance > 0 && distance < CLOCK_RATE;
}

/* Are the pending codestream and this one the two parts of a picture? Where the second field of one
 * picture and the first of the next were lost, the fields that are left follow each other, but
 * three times as far apart as the fields before. */
static gboolean belong_together(const GstCudaJ2kRtpDepay *self, guint8 part, guint32 timestamp)
{
  guint32 distance = timestamp - self->pending.timestamp, usual = self->field_distance;
  if (part == CJ2K_RTP_PSF2)
    return self->pending.data && self->pending.part == CJ2K_RTP_PSF1 && distance == 0;
  return may_be_fields(self, part, timestamp) && (!usual || distance <= usual + usual / 2);
}

/* Pushes what is left of a first field whose begin was pushed, and keeps it. */
static void push_rest(GstCudaJ2kRtpDepay *self, Cj2kRtpCodestream *first)
{
  gsize size = first->size - first->given;
  GstBuffer *buffer = gst_buffer_new_memdup(first->data + first->given, size);
  GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = first->time;
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  if (first->repaired)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
  set_field_flags(buffer, first->part);
  first->given = first->size;
  self->follows = TRUE;
  push_buffer(self, buffer);
}

static void take_codestream(GstCudaJ2kRtpDepay *self, Cj2kRtpCodestream *codestream)
{
  if (codestream->main.caching && !self->warned_cache) {
    GST_ELEMENT_WARNING(self, STREAM, NOT_IMPLEMENTED,
                        ("The stream leaves out code-blocks that did not change (C of RFC 9828), "
                         "which is not supported: its pictures have holes."),
                        (NULL));
    self->warned_cache = TRUE;
  }
  if (gst_cuda_j2k_rtp_is_frame(codestream->part)) {
    push_pending(self);
    push_picture(self, codestream, NULL, codestream->part, FALSE);
  } else if (gst_cuda_j2k_rtp_is_first(codestream->part)) {
    push_pending(self);
    self->pending = *codestream;
    if (self->in_parts && codestream->given > 0)
      push_rest(self, &self->pending);
  } else {
    gboolean together = belong_together(self, codestream->part, codestream->timestamp);
    /* Also of fields that are refused: the rate may have changed. */
    if (may_be_fields(self, codestream->part, codestream->timestamp))
      self->field_distance = codestream->timestamp - self->pending.timestamp;
    if (together)
      self->second_begun = FALSE;
    else
      push_pending(self);
    if (together)
      push_picture(self, &self->pending, codestream, self->pending.part, FALSE);
    else
      push_alone(self, codestream);
  }
}

/* Whether the begin of a codestream may be pushed: that of a second field behind the whole first
 * one, and not where it may have to stand for both. */
static gboolean may_begin(const GstCudaJ2kRtpDepay *self, const Cj2kRtpBegin *begin)
{
  if (gst_cuda_j2k_rtp_is_frame(begin->part) || gst_cuda_j2k_rtp_is_first(begin->part))
    return TRUE;
  return self->in_parts && self->pending.given > 0 &&
         belong_together(self, begin->part, begin->timestamp);
}

/* Pushes the beginning of the codestream that is next, as far as it is there. */
static void push_begin(GstCudaJ2kRtpDepay *self)
{
  Cj2kRtpBegin begin;
  ask_downstream(self);
  if (!self->takes_parts || !cj2k_rtp_receiver_peek_begin(self->receiver, &begin) ||
      !may_begin(self, &begin) || !cj2k_rtp_receiver_pull_begin(self->receiver, &begin))
    return;
  gboolean first = gst_cuda_j2k_rtp_is_frame(begin.part) || gst_cuda_j2k_rtp_is_first(begin.part);
  if (first && !begin.given) {
    /* It is only read. */
    const Cj2kRtpCodestream codestream = {
        .data = (guint8 *)begin.data, .size = begin.size, .main = begin.main};
    push_pending(self);
    self->in_parts = TRUE;
    if (!announce(self, &codestream, begin.part))
      return;
  }
  GstBuffer *buffer = gst_buffer_new_memdup(begin.data + begin.given, begin.size - begin.given);
  GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = first ? begin.time : self->pending.time;
  if (begin.given || !first)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  set_field_flags(buffer, first ? begin.part : self->pending.part);
  self->second_begun |= !first;
  self->follows = begin.given || !first ? TRUE : follows_last(self);
  push_buffer(self, buffer);
}

static void take_codestreams(GstCudaJ2kRtpDepay *self)
{
  Cj2kRtpCodestream codestream;
  while (cj2k_rtp_receiver_pull(self->receiver, &codestream))
    take_codestream(self, &codestream);
  push_begin(self);
  GST_OBJECT_LOCK(self);
  cj2k_rtp_receiver_stats(self->receiver, &self->stats);
  GST_OBJECT_UNLOCK(self);
}

/* -------------------------------------------------------------------------------- packets --- */

static void update_params(GstCudaJ2kRtpDepay *self)
{
  GST_OBJECT_LOCK(self);
  if (self->params_changed)
    cj2k_rtp_receiver_set_params(self->receiver, &self->params);
  self->params_changed = FALSE;
  GST_OBJECT_UNLOCK(self);
}

static void forget(GstCudaJ2kRtpDepay *self)
{
  cj2k_rtp_receiver_flush(self->receiver);
  gst_clear_buffer(&self->stray);
  g_clear_pointer(&self->pending.data, g_free);
  self->second_begun = FALSE;
  self->field_distance = 0;
  self->began = FALSE;
  take_codestreams(self);
}

static void drain(GstCudaJ2kRtpDepay *self)
{
  cj2k_rtp_receiver_end(self->receiver);
  take_codestreams(self);
  push_pending(self);
}

/* The receiver's time, in microseconds. It stands still while downstream holds up a picture,
 * because then packets that have arrived wait upstream. */
static guint64 now(const GstCudaJ2kRtpDepay *self)
{
  return (guint64)(g_get_monotonic_time() - self->busy);
}

/* Tells the receiver the time, if the pipeline is live: elsewhere packets may come at any pace. */
static void tell_time(GstCudaJ2kRtpDepay *self)
{
  GST_OBJECT_LOCK(self);
  gboolean live = self->live;
  GST_OBJECT_UNLOCK(self);
  if (live)
    cj2k_rtp_receiver_advance(self->receiver, now(self));
}

/* Sets the timer to the time at which a codestream is to be pushed even if no packet arrives. */
static void set_timer(GstCudaJ2kRtpDepay *self)
{
  GST_OBJECT_LOCK(self);
  gboolean live = self->live;
  GST_OBJECT_UNLOCK(self);
  guint64 due = live ? cj2k_rtp_receiver_due(self->receiver) : G_MAXUINT64;
  gst_cuda_j2k_rtp_timer_set(&self->timer,
                             due == G_MAXUINT64 ? G_MAXINT64 : (gint64)due + self->busy);
}

static void on_deadline(gpointer data)
{
  GstCudaJ2kRtpDepay *self = data;
  GstPad *pad = GST_RTP_BASE_DEPAYLOAD_SINKPAD(self);
  GST_PAD_STREAM_LOCK(pad);
  tell_time(self);
  take_codestreams(self);
  set_timer(self);
  GST_PAD_STREAM_UNLOCK(pad);
}

static void take_packet(GstCudaJ2kRtpDepay *self, GstRTPBuffer *rtp)
{
  const guint8 *payload = gst_rtp_buffer_get_payload(rtp);
  guint size = gst_rtp_buffer_get_payload_len(rtp);
  cj2k_rtp_receiver_push(self->receiver, gst_rtp_buffer_get_seq(rtp),
                         gst_rtp_buffer_get_timestamp(rtp), gst_rtp_buffer_get_marker(rtp), payload,
                         payload ? size : 0, GST_BUFFER_PTS(rtp->buffer));
  take_codestreams(self);
}

/* Begins anew with the sender of this packet and of the one before it. */
static void change_sender(GstCudaJ2kRtpDepay *self, guint32 ssrc)
{
  GstBuffer *first = g_steal_pointer(&self->stray);
  GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
  drain(self);
  forget(self);
  self->ssrc = ssrc;
  if (gst_rtp_buffer_map(first, GST_MAP_READ, &rtp)) {
    take_packet(self, &rtp);
    gst_rtp_buffer_unmap(&rtp);
  }
  gst_buffer_unref(first);
}

/* Counts a packet that came alone with its SSRC. */
static void drop_stray(GstCudaJ2kRtpDepay *self)
{
  if (self->stray)
    count(self, &self->foreign);
  gst_clear_buffer(&self->stray);
}

/* Whether the packet is of the sender that the receiver listens to. Another one has sequence
 * numbers of its own; it takes two packets of it in succession to tell a new sender from a stray
 * packet. */
static gboolean check_sender(GstCudaJ2kRtpDepay *self, GstRTPBuffer *rtp)
{
  guint32 ssrc = gst_rtp_buffer_get_ssrc(rtp);
  GstRTPBuffer before = GST_RTP_BUFFER_INIT;
  if (!self->has_ssrc)
    self->ssrc = ssrc;
  self->has_ssrc = TRUE;
  if (ssrc == self->ssrc) {
    drop_stray(self);
    return TRUE;
  }
  gboolean again = self->stray && gst_rtp_buffer_map(self->stray, GST_MAP_READ, &before);
  if (again) {
    again = gst_rtp_buffer_get_ssrc(&before) == ssrc &&
            (guint16)(gst_rtp_buffer_get_seq(&before) + 1) == gst_rtp_buffer_get_seq(rtp);
    gst_rtp_buffer_unmap(&before);
  }
  if (again) {
    change_sender(self, ssrc);
    return TRUE;
  }
  drop_stray(self);
  self->stray = gst_buffer_ref(rtp->buffer);
  return FALSE;
}

static GstBuffer *process(GstRTPBaseDepayload *depayload, GstRTPBuffer *rtp)
{
  GstCudaJ2kRtpDepay *self = DEPAY(depayload);
  update_params(self);
  tell_time(self);
  if (check_sender(self, rtp))
    take_packet(self, rtp);
  set_timer(self);
  return NULL;
}

static gboolean handle_event(GstRTPBaseDepayload *depayload, GstEvent *event)
{
  GstCudaJ2kRtpDepay *self = DEPAY(depayload);
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_EOS:
    drain(self);
    drop_stray(self);
    break;
  case GST_EVENT_SEGMENT: drain(self); break;
  case GST_EVENT_FLUSH_STOP: forget(self); break;
  default: break;
  }
  return GST_RTP_BASE_DEPAYLOAD_CLASS(gst_cuda_j2k_rtp_depay_parent_class)
      ->handle_event(depayload, event);
}

/* Adds the longest wait for missing packets to the latency of a live pipeline. */
static gboolean query_source(GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstCudaJ2kRtpDepay *self = DEPAY(parent);
  GstClockTime min, max;
  gboolean live;
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY)
    return gst_pad_query_default(pad, parent, query);
  if (!gst_pad_peer_query(GST_RTP_BASE_DEPAYLOAD_SINKPAD(self), query))
    return FALSE;
  gst_query_parse_latency(query, &live, &min, &max);
  GST_OBJECT_LOCK(self);
  GstClockTime wait = live ? self->params.deadline * GST_USECOND : 0;
  self->live = live;
  GST_OBJECT_UNLOCK(self);
  gst_query_set_latency(query, live, min + wait, GST_CLOCK_TIME_IS_VALID(max) ? max + wait : max);
  return TRUE;
}

static gboolean set_caps(GstRTPBaseDepayload *depayload, GstCaps *caps)
{
  GstCudaJ2kRtpDepay *self = DEPAY(depayload);
  gint clock_rate = CLOCK_RATE;
  GstStructure *s = gst_caps_get_structure(caps, 0);
  gst_structure_get_int(s, "clock-rate", &clock_rate);
  depayload->clock_rate = (guint)clock_rate;
  g_clear_pointer(&self->caps, gst_structure_free);
  self->caps = gst_structure_copy(s);
  self->announced = self->asked = FALSE;
  return TRUE;
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange transition)
{
  GstCudaJ2kRtpDepay *self = DEPAY(element);
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_cuda_j2k_rtp_depay_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    gst_cuda_j2k_rtp_timer_stop(&self->timer);
    forget(self);
    self->announced = self->warned_cache = self->has_ssrc = self->live = FALSE;
    self->in_parts = self->asked = FALSE;
  }
  return result;
}

/* --------------------------------------------------------------------------------- class --- */

static void finalize(GObject *object)
{
  GstCudaJ2kRtpDepay *self = DEPAY(object);
  g_clear_pointer(&self->caps, gst_structure_free);
  gst_cuda_j2k_rtp_timer_clear(&self->timer);
  gst_clear_buffer(&self->stray);
  g_free(self->pending.data);
  cj2k_rtp_receiver_free(self->receiver);
  G_OBJECT_CLASS(gst_cuda_j2k_rtp_depay_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *object_class)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  g_object_class_install_property(
      object_class, PROP_REORDER_WINDOW,
      g_param_spec_uint("reorder-window", "Reorder window",
                        "Number of RTP packets to wait for behind missing ones, because these "
                        "may only be late; a codestream without gaps never waits",
                        0, 65535, DEFAULT_WINDOW, flags));
  g_object_class_install_property(
      object_class, PROP_DEADLINE,
      g_param_spec_uint("deadline", "Deadline",
                        "Longest time to wait for missing RTP packets after the end of a "
                        "codestream, in milliseconds, in live pipelines; it is added to their "
                        "latency; 0 = no limit, and nothing is added",
                        0, 60000, DEFAULT_DEADLINE, flags));
  g_object_class_install_property(
      object_class, PROP_MAX_RESOLUTION,
      g_param_spec_uint("max-resolution", "Highest resolution",
                        "Highest resolution to keep (RES of RFC 9828): 7 = all, 6 = all but the "
                        "highest one, 5 = all but the highest two",
                        0, 7, 7, flags));
  g_object_class_install_property(
      object_class, PROP_MAX_LAYERS,
      g_param_spec_uint("max-layers", "Layers",
                        "Quality layers to keep (QUAL of RFC 9828); 0 = all", 0, 7, 0, flags));
  g_object_class_install_property(
      object_class, PROP_STATS,
      g_param_spec_boxed("stats", "Statistics",
                         "Counts of RTP packets, codestreams and pictures by what became of them",
                         GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

/* Takes an event of rtpjitterbuffer (do-lost=true) about a packet that will not arrive. The base
 * class would send a gap event, although the picture that the packet belongs to is usually repaired
 * and pushed. */
static gboolean packet_lost(GstRTPBaseDepayload *depayload, GstEvent *event)
{
  GstCudaJ2kRtpDepay *self = DEPAY(depayload);
  guint sequence;
  if (gst_structure_get_uint(gst_event_get_structure(event), "seqnum", &sequence)) {
    cj2k_rtp_receiver_settle(self->receiver, (guint16)sequence);
    take_codestreams(self);
    set_timer(self);
  }
  return TRUE;
}

static void gst_cuda_j2k_rtp_depay_class_init(GstCudaJ2kRtpDepayClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstRTPBaseDepayloadClass *depayload_class = GST_RTP_BASE_DEPAYLOAD_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_cuda_j2k_rtp_depay_debug, "rtpj2kscldepay", 0,
                          "JPEG 2000 depayloader (RFC 9828)");
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);
  element_class->change_state = change_state;
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "RTP JPEG 2000 depayloader (RFC 9828)", "Codec/Depayloader/Network/RTP",
      "Collects JPEG 2000 and HTJ2K codestreams from RTP packets (jpeg2000-scl, RFC 9828), and "
      "repairs those with losses",
      "The cudaj2k developers");
  depayload_class->set_caps = set_caps;
  depayload_class->process_rtp_packet = process;
  depayload_class->handle_event = handle_event;
  depayload_class->packet_lost = packet_lost;
}

static void gst_cuda_j2k_rtp_depay_init(GstCudaJ2kRtpDepay *self)
{
  self->params = (Cj2kRtpReceiverParams){
      .window = DEFAULT_WINDOW, .deadline = 1000 * DEFAULT_DEADLINE, .max_resolution = 7};
  self->receiver = cj2k_rtp_receiver_new(&self->params);
  /* The base class would drop packets that come late by fewer than max-reorder numbers; the
   * receiver puts them in order instead. */
  g_object_set(self, "max-reorder", 0, NULL);
  gst_pad_add_probe(GST_RTP_BASE_DEPAYLOAD_SRCPAD(self), GST_PAD_PROBE_TYPE_BUFFER, clear_discont,
                    self, NULL);
  gst_pad_set_query_function(GST_RTP_BASE_DEPAYLOAD_SRCPAD(self), query_source);
  gst_cuda_j2k_rtp_timer_init(&self->timer, on_deadline, self);
}
