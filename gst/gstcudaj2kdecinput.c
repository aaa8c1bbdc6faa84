/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the decoder element does on the streaming thread: it reads the header, negotiates, gets a
 * buffer for the picture, and submits. */
#include "gstcudaj2kdecprivate.h"
#include "gstcudaj2kfields.h"

#include <string.h>

/* --------------------------------------------------------------------------- negotiation --- */

/* Describes a part's image as video. For stripes and fields the height is that of the frame. */
static gboolean describe(GstCudaJ2kDec *self, const Cj2kImage *image, gboolean is_field,
                         GstCudaJ2kVideo *video, gchar **reason)
{
  gint height = GST_VIDEO_INFO_HEIGHT(&self->input_state->info);
  if (!gst_cuda_j2k_video_from_image(image, self->input_state->caps, video, reason))
    return FALSE;
  if (self->is_striped) {
    if (height <= 0) {
      *reason = g_strdup("the stream is striped, but its caps have no height");
      return FALSE;
    }
    video->height = (guint)height;
    video->full_height = MAX(video->full_height, video->height);
    video->chroma_clipped = FALSE;
  } else if (is_field) {
    /* In a frame with an odd number of rows the first field may have one row more than the second.
     */
    gboolean odd = height > 0 && (guint)height == 2 * video->height - 1;
    if (video->height > G_MAXINT / 2) {
      *reason = g_strdup("a field that is too high for video");
      return FALSE;
    }
    video->height = 2 * video->height - odd;
    video->full_height = 2 * MIN(video->full_height, G_MAXINT / 2);
  }
  return TRUE;
}

/* A header that says something impossible may be damaged. Returns FALSE for the first frame with
 * such a header, which counts as damaged, and TRUE if the frame before had the same fault. */
static gboolean is_certain(GstCudaJ2kDec *self, const gchar *fault)
{
  if (self->doubted && !strcmp(self->doubted, fault))
    return TRUE;
  g_free(self->doubted);
  self->doubted = g_strdup(fault);
  return FALSE;
}

/* No video format can carry this image: an error if a stream begins with two such frames. Later in
 * the stream they count as damaged. */
static GstFlowReturn report_not_video(GstCudaJ2kDec *self, gchar **reason)
{
  if (self->output.video.width || !is_certain(self, *reason))
    return GST_FLOW_OK;
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("No video format carries this stream: %s.", *reason),
                    (NULL));
  g_clear_pointer(reason, g_free);
  return GST_FLOW_NOT_NEGOTIATED;
}

/* Downstream accepts no format or size of this image: an error, but not in the middle of a stream
 * whose caps have not changed, as long as the header may be damaged (*reason is set then). */
static GstFlowReturn report_no_format(GstCudaJ2kDec *self, const GstCudaJ2kVideo *video,
                                      gboolean in_stream, gchar **reason)
{
  gchar *what = gst_cuda_j2k_video_describe(video);
  gchar *fault = g_strdup_printf("The stream is %s, and downstream accepts no such format or size; "
                                 "put videoconvert or videoscale after the decoder.",
                                 what);
  g_free(what);
  if (in_stream && !is_certain(self, fault)) {
    *reason = fault;
    return GST_FLOW_OK;
  }
  GST_ELEMENT_ERROR(self, CORE, NEGOTIATION, ("%s", fault), (NULL));
  g_free(fault);
  return GST_FLOW_NOT_NEGOTIATED;
}

/* Chooses the format, and whether the pictures stay on the GPU: they do if downstream names
 * CUDAMemory and its formats there are as good as those in system memory. ANY caps do not name it:
 * such an element may be unable to read CUDAMemory. */
static gboolean choose(GstCudaJ2kDec *self, const GstCudaJ2kVideo *video)
{
  GstPad *pad = GST_VIDEO_DECODER_SRC_PAD(self);
  GstCaps *ours = gst_caps_make_writable(gst_pad_get_pad_template_caps(pad));
  gst_caps_set_simple(ours, "width", G_TYPE_INT, (gint)video->width, "height", G_TYPE_INT,
                      (gint)video->height, NULL);
  GstCaps *theirs = gst_pad_peer_query_caps(pad, ours);
  GstCaps *peer = gst_pad_peer_query_caps(pad, NULL);
  gboolean gpu = self->codec.context &&
                 cj2k_decoder_backend(self->codec.object) == CJ2K_BACKEND_CUDA &&
                 !gst_caps_is_any(peer) && !video->chroma_clipped;
  const GstCudaJ2kFormat *host = gst_cuda_j2k_video_choose(video, theirs, NULL);
  const GstCudaJ2kFormat *device =
      gpu ? gst_cuda_j2k_video_choose(video, theirs, GST_CUDA_J2K_FEATURE) : NULL;
  self->output.on_device = device && (!host || gst_cuda_j2k_video_cost(video, device) <=
                                                   gst_cuda_j2k_video_cost(video, host));
  self->output.format = self->output.on_device ? device : host;
  gst_caps_unref(ours);
  gst_caps_unref(theirs);
  gst_caps_unref(peer);
  return self->output.format != NULL;
}

/* PsF: two codestreams, each with every second row, of a frame that the caps call progressive. */
static gboolean is_segmented(const GstCudaJ2kDec *self)
{
  return gst_structure_has_field(gst_caps_get_structure(self->input_state->caps, 0),
                                 "interlace-mode");
}

/* Sets the output state for self->output.video in self->output.format, and lets the base class
 * negotiate. */
static gboolean set_output(GstCudaJ2kDec *self)
{
  GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
  const GstVideoInfo *in = &self->input_state->info;
  GstVideoCodecState *state = gst_video_decoder_set_output_state(
      decoder, gst_cuda_j2k_format_id(self->output.format), self->output.video.width,
      self->output.video.height, self->input_state);
  if (!state)
    return FALSE;
  gst_cuda_j2k_video_set_colorimetry(&self->output.video, self->input_state->caps, &state->info);
  if (self->two_fields && !GST_VIDEO_INFO_IS_INTERLACED(&state->info) && !is_segmented(self))
    GST_VIDEO_INFO_INTERLACE_MODE(&state->info) = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  if (GST_VIDEO_INFO_INTERLACE_MODE(&state->info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED)
    GST_VIDEO_INFO_FIELD_ORDER(&state->info) = GST_VIDEO_INFO_FIELD_ORDER(in);
  state->caps = gst_video_info_to_caps(&state->info);
  /* The offsets of planes depend on the interlace mode, which only the caps hold. */
  gboolean valid = gst_video_info_from_caps(&self->output.info, state->caps);
  if (self->output.on_device)
    gst_caps_set_features_simple(state->caps, gst_caps_features_new(GST_CUDA_J2K_FEATURE, NULL));
  gst_video_codec_state_unref(state);
  return valid && gst_video_decoder_negotiate(decoder);
}

/* in_stream: caps and downstream are as before. What is negotiated stays if *reason is set. */
static GstFlowReturn negotiate(GstCudaJ2kDec *self, const GstCudaJ2kVideo *video,
                               gboolean in_stream, gchar **reason)
{
  GstPad *pad = GST_VIDEO_DECODER_SRC_PAD(self);
  GstCudaJ2kDecOutput last = self->output;
  self->output.video.width = 0; /* nothing is negotiated */
  if (!choose(self, video)) {
    if (GST_PAD_IS_FLUSHING(pad))
      return GST_FLOW_FLUSHING;
    GstFlowReturn flow = report_no_format(self, video, in_stream && last.video.width, reason);
    if (*reason)
      self->output = last;
    return flow;
  }
  const GstCudaJ2kFormat *format = self->output.format;
  self->output.video = *video;
  gst_cuda_j2k_video_layout(video, format, self->output.samples, &self->output.layout);
  if (video->has_alpha && !gst_cuda_j2k_format_has_alpha(format) && !self->warned_alpha) {
    self->warned_alpha = TRUE;
    GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                        ("The alpha channel is dropped: format %s has none.", format->name),
                        (NULL));
  } else if (video->premultiplied && !self->warned_alpha) {
    self->warned_alpha = TRUE;
    GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                        ("The colours have been multiplied by alpha, which caps cannot say."),
                        ("samples are output as they are"));
  }
  if (set_output(self)) {
    self->input_changed = FALSE;
    return GST_FLOW_OK;
  }
  self->output.video.width = 0; /* nothing is negotiated */
  return GST_PAD_IS_FLUSHING(pad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
}

/* Negotiates if the image differs from the last one, the caps are new, or downstream asked for it.
 * Frames of the old format are pushed first. *reason: the header may be damaged. */
static GstFlowReturn ensure_negotiated(GstCudaJ2kDec *self, const GstCudaJ2kVideo *video,
                                       gchar **reason)
{
  gboolean asked = gst_pad_check_reconfigure(GST_VIDEO_DECODER_SRC_PAD(self));
  asked |= g_atomic_int_compare_and_exchange(&self->reconfigure, TRUE, FALSE);
  /* A difference in padding alone only negotiates once more. */
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
  if (!asked && !self->input_changed && !memcmp(video, &self->output.video, sizeof *video))
    return GST_FLOW_OK;
  gst_cuda_j2k_dec_drop_picture(self);
  GstFlowReturn flow = gst_cuda_j2k_output_drain(&self->codec.output);
  if (flow == GST_FLOW_OK)
    flow = negotiate(self, video, !asked && !self->input_changed, reason);
  if (flow != GST_FLOW_OK)
    gst_pad_mark_reconfigure(GST_VIDEO_DECODER_SRC_PAD(self));
  return flow;
}

/* ------------------------------------------------------------------------------- picture --- */

/* Releases the stream lock while it waits: a pool may have a limit, and the output thread needs the
 * lock to push the buffers that the pool waits for. */
static GstFlowReturn acquire_buffer(GstCudaJ2kDec *self, GstBuffer **buffer)
{
  GstBufferPool *pool = self->pool;
  if (!pool)
    return GST_FLOW_ERROR;
  gst_cuda_j2k_codec_begin_wait(&self->codec);
  GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool, buffer, NULL);
  gst_cuda_j2k_codec_end_wait(&self->codec);
  return flow;
}

/* Maps picture->buffer, and a larger picture in host memory if the fields need more rows. */
static gboolean map_picture(GstCudaJ2kDec *self, GstCudaJ2kDecPicture *picture, gboolean is_field)
{
  gboolean need_room =
      is_field && gst_cuda_j2k_fields_need_room(self->output.format, &self->output.info);
  if (!gst_cuda_j2k_map(&picture->map, &self->output.info, picture->buffer, GST_MAP_WRITE,
                        self->output.on_device && !need_room ? self->codec.context : NULL,
                        &picture->mapped))
    return FALSE;
  if (picture->mapped.kind == CJ2K_MEMORY_CUDA)
    return TRUE;
  if (gst_cuda_j2k_frame_is_whole(self->output.format, &picture->map)) {
    if (!need_room)
      return TRUE;
    picture->mapped = (GstCudaJ2kMapped){.kind = CJ2K_MEMORY_HOST};
    picture->has_room = gst_cuda_j2k_fields_map_room(&self->output.info, &picture->room);
    if (picture->has_room)
      return TRUE;
  }
  gst_video_frame_unmap(&picture->map);
  return FALSE;
}

static GstFlowReturn begin_picture(GstCudaJ2kDec *self, gboolean is_field)
{
  GstBuffer *buffer = NULL;
  GstFlowReturn flow = acquire_buffer(self, &buffer);
  /* If the GPU is lost, frames in flight fail with a better message, which is posted first. */
  if (flow == GST_FLOW_ERROR && gst_cuda_j2k_output_drain(&self->codec.output) == GST_FLOW_OK)
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("Cannot get a buffer for a decoded picture."),
                      (NULL));
  if (flow != GST_FLOW_OK)
    return flow;
  GstCudaJ2kDecPicture *picture = g_new0(GstCudaJ2kDecPicture, 1);
  picture->refs = 1;
  picture->buffer = buffer;
  if (!map_picture(self, picture, is_field)) {
    GST_ELEMENT_ERROR(self, RESOURCE, WRITE, ("Cannot map an output buffer for writing."), (NULL));
    gst_buffer_unref(buffer);
    g_free(picture);
    return GST_FLOW_ERROR;
  }
  self->picture = picture;
  return GST_FLOW_OK;
}

void gst_cuda_j2k_dec_drop_picture(GstCudaJ2kDec *self)
{
  if (self->picture)
    gst_cuda_j2k_dec_picture_unref(self->picture);
  self->picture = NULL;
  self->stripe = 0;
}

/* ---------------------------------------------------------------------------------- part --- */

/* The rows of the picture that a part fills. */
typedef struct {
  gboolean is_field;
  guint field; /* 0: the first in the buffer */
  gboolean bottom_first;
} Place;

static guint first_row(const GstCudaJ2kDec *self, const Place *place,
                       const Cj2kComponent *component)
{
  if (place->is_field)
    return place->field ^ (guint)place->bottom_first;
  return self->is_striped ? component->y0 : 0;
}

/* Do all components of a part lie inside the picture? Each part has its own header, and the format
 * was negotiated from another part's. */
static gboolean part_fits(const GstCudaJ2kDec *self, const Place *place, const Cj2kImage *image)
{
  if (image->num_components != self->output.video.num_components)
    return FALSE;
  guint64 step = place->is_field ? 2 : 1;
  for (guint c = 0; c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    gboolean chroma = self->output.video.role[c] == 1 || self->output.video.role[c] == 2;
    guint64 sub_x = chroma ? self->output.video.sub_x : 1,
            sub_y = chroma ? self->output.video.sub_y : 1;
    guint64 columns = (self->output.video.width + sub_x - 1) / sub_x;
    guint64 rows = place->is_field
                       ? gst_cuda_j2k_fields_rows(self->output.video.height, (guint)sub_y)
                       : (self->output.video.height + sub_y - 1) / sub_y;
    guint64 height = component->y1 > component->y0 ? component->y1 - component->y0 : 0;
    if (component->x1 > component->x0 && component->x1 - component->x0 > columns)
      return FALSE;
    if (height && first_row(self, place, component) + (height - 1) * step >= rows)
      return FALSE;
  }
  return TRUE;
}

static void point_into_picture(const GstCudaJ2kDec *self, const Place *place,
                               const Cj2kImage *image, GstCudaJ2kDecPart *part)
{
  const GstVideoFrame *map = part->picture->has_room ? &part->picture->room : &part->picture->map;
  part->target.memory = part->picture->mapped.kind;
  part->target.cuda_stream = part->picture->mapped.cuda_stream;
  part->target.num_planes = self->output.layout.num_planes;
  part->target.planes = part->planes;
  for (guint p = 0; p < self->output.layout.num_planes; p++) {
    const Cj2kComponent *component = &image->components[0];
    for (guint c = 0; c < MIN(self->output.layout.num_components, image->num_components); c++)
      if (self->output.samples[c].plane == p)
        component = &image->components[c];
    gsize pitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(map, p);
    part->planes[p].data =
        (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(map, p) + first_row(self, place, component) * pitch;
    part->planes[p].pitch = pitch * (place->is_field ? 2 : 1);
    part->planes[p].row_bytes = pitch;
  }
}

/* Is this the last part of its picture? A stripe is if its number, the buffer's marker flag or its
 * last row says so. */
static gboolean is_last(const GstCudaJ2kDec *self, const Place *place, const Cj2kImage *image,
                        const GstBuffer *input)
{
  if (place->is_field)
    return place->field == 1;
  return !self->is_striped || self->stripe + 1 >= self->num_stripes ||
         GST_BUFFER_FLAG_IS_SET(input, GST_BUFFER_FLAG_MARKER) ||
         image->components[0].y1 >= self->output.video.height;
}

/* Adds the part to its picture, after getting a new picture for the first part. */
static GstFlowReturn place_part(GstCudaJ2kDec *self, const Place *place, const Cj2kImage *image,
                                GstCudaJ2kDecPart *part, const GstBuffer *input)
{
  const Cj2kComponent *luma = &image->components[0];
  /* A new picture begins while one is unfinished: the last stripes of the old one are lost. */
  if (self->is_striped && self->picture && luma->y0 == 0) {
    GST_WARNING_OBJECT(self, "a frame of %u stripes ended after %u", self->num_stripes,
                       self->stripe);
    gst_cuda_j2k_dec_drop_picture(self);
  }
  GstFlowReturn flow = self->picture ? GST_FLOW_OK : begin_picture(self, place->is_field);
  if (flow != GST_FLOW_OK)
    return flow;
  part->picture = self->picture;
  part->is_field = place->is_field;
  part->last = is_last(self, place, image, input);
  self->picture->rows += luma->y1 - luma->y0;
  part->incomplete = part->last && self->picture->rows < self->output.video.height;
  point_into_picture(self, place, image, part);
  if (part->last) { /* the part takes over the streaming thread's reference */
    self->picture = NULL;
    self->stripe = 0;
  } else {
    g_atomic_int_inc(&part->picture->refs);
    self->stripe++;
  }
  return GST_FLOW_OK;
}

/* May wait until the output thread has made room. Takes the part only on success. */
static Cj2kStatus submit(GstCudaJ2kDec *self, GstCudaJ2kDecPart *part, const GstCudaJ2kSpan *span,
                         Cj2kError *error)
{
  part->had_room = gst_cuda_j2k_codec_begin_submit(&self->codec);
  if (part->damaged)
    cj2k_decoder_next_is_damaged(self->codec.object);
  Cj2kStatus status = cj2k_decoder_submit(self->codec.object, span->data, span->size,
                                          &self->output.layout, &part->target, part, error);
  gst_cuda_j2k_codec_end_submit(&self->codec, status == CJ2K_OK);
  return status;
}

/* Reads the header of one codestream, negotiates and places the part. If the stream is at fault,
 * and not downstream, *reason is set and GST_FLOW_OK returned. */
static GstFlowReturn prepare_part(GstCudaJ2kDec *self, const GstCudaJ2kSpan *span,
                                  const Place *place, GstCudaJ2kDecPart *part,
                                  const GstBuffer *input, gchar **reason)
{
  Cj2kError error = {0};
  Cj2kImage image;
  GstCudaJ2kVideo video;

  if (cj2k_decoder_read_header(self->codec.object, span->data, span->size, &image, &error) !=
      CJ2K_OK) {
    *reason = g_strdup(error.text);
    return GST_FLOW_OK;
  }
  if (!describe(self, &image, place->is_field, &video, reason))
    return report_not_video(self, reason);
  /* No negotiation for the second field: its picture exists already. */
  if (!place->field) {
    GstFlowReturn flow = ensure_negotiated(self, &video, reason);
    if (flow != GST_FLOW_OK || *reason)
      return flow;
  }
  g_clear_pointer(&self->doubted, g_free);
  if (!part_fits(self, place, &image)) {
    *reason = g_strdup("a stripe or field does not fit into its frame");
    return GST_FLOW_OK;
  }
  return place_part(self, place, &image, part, input);
}

GstFlowReturn gst_cuda_j2k_dec_prepare(GstCudaJ2kDec *self, const GstCudaJ2kSpan *span,
                                       GstCudaJ2kDecPart *part, const GstBuffer *input,
                                       gchar **reason)
{
  const Place place = {0};
  return prepare_part(self, span, &place, part, input, reason);
}

/* Prepares a part and submits it. The part belongs to the caller unless *taken. */
static GstFlowReturn decode_part(GstCudaJ2kDec *self, const GstCudaJ2kSpan *span,
                                 const Place *place, GstCudaJ2kDecPart *part,
                                 const GstBuffer *input, gboolean *taken, gchar **reason)
{
  Cj2kError error = {0};
  GstFlowReturn flow = prepare_part(self, span, place, part, input, reason);
  if (flow != GST_FLOW_OK || *reason)
    return flow;
  *taken = submit(self, part, span, &error) == CJ2K_OK;
  if (!*taken)
    *reason = g_strdup(error.text);
  return GST_FLOW_OK;
}

/* --------------------------------------------------------------------------------- frame --- */

GstFlowReturn gst_cuda_j2k_dec_give_up(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                       GstFlowReturn flow, gchar *reason)
{
  gst_cuda_j2k_dec_drop_picture(self);
  gst_cuda_j2k_output_wait(&self->codec.output);
  if (flow == GST_FLOW_OK)
    flow = gst_cuda_j2k_output_report(&self->codec.output);
  if (flow == GST_FLOW_OK && reason)
    flow = gst_cuda_j2k_dec_fail(self, frame, reason);
  else
    gst_video_decoder_release_frame(GST_VIDEO_DECODER(self), frame);
  g_free(reason);
  return flow;
}

gboolean gst_cuda_j2k_dec_is_late(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  return !self->is_striped &&
         gst_video_decoder_get_max_decode_time(GST_VIDEO_DECODER(self), frame) < 0;
}

void gst_cuda_j2k_dec_drop_late(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
  GST_DEBUG_OBJECT(self, "frame %u is too late", frame->system_frame_number);
  gst_cuda_j2k_meter_count_late(&self->codec.meter);
  gst_cuda_j2k_codec_wait_before_events(&self->codec, gst_video_decoder_get_frames(decoder));
  gst_video_decoder_drop_frame(decoder, frame);
}

/* The caps say nothing of fields (those of mxfdemux 1.22 do not), but a buffer holds those of a
 * frame. */
static void begin_fields(GstCudaJ2kDec *self)
{
  self->two_fields = TRUE;
  self->input_changed = TRUE;
  gst_cuda_j2k_codec_begin_format(&self->codec, &self->input_state->info, 2);
}

/* Are the codestreams found in a buffer the fields of a frame? If there are others, warns once. */
static gboolean are_fields(GstCudaJ2kDec *self, guint found, const GstCudaJ2kSpan spans[2])
{
  const GstStructure *caps = gst_caps_get_structure(self->input_state->caps, 0);
  if (found == 2 && !self->two_fields && !gst_structure_has_field(caps, "fields") &&
      gst_cuda_j2k_are_fields(spans, GST_VIDEO_INFO_HEIGHT(&self->input_state->info)))
    begin_fields(self);
  guint count = self->two_fields ? 2 : 1;
  if (found > count && !self->warned_more) {
    self->warned_more = TRUE;
    GST_ELEMENT_WARNING(self, STREAM, FORMAT, (GST_CUDA_J2K_TOO_MANY, count), (NULL));
  }
  return self->two_fields && found >= 2;
}

GstFlowReturn gst_cuda_j2k_dec_decode_buffer(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                             GstBuffer *input)
{
  GstCudaJ2kSpan spans[2];
  gchar *reason = NULL;
  gint64 arrived = g_get_monotonic_time();
  GstMapInfo map;

  if (!gst_buffer_map(input, &map, GST_MAP_READ)) {
    gst_buffer_unref(input);
    return gst_cuda_j2k_dec_give_up(self, frame, GST_FLOW_OK,
                                    g_strdup("cannot map the input buffer"));
  }

  guint found = gst_cuda_j2k_find_parts(map.data, map.size, spans);
  gboolean fields = are_fields(self, found, spans);
  guint count = fields ? 2 : 1;
  gboolean bottom_first = gst_cuda_j2k_fields_bottom_first(&self->input_state->info, input);
  for (guint i = 0; i < count; i++) {
    Place place = {.is_field = fields, .field = i, .bottom_first = bottom_first};
    GstCudaJ2kDecPart *part = g_new0(GstCudaJ2kDecPart, 1);
    gboolean taken = FALSE;
    part->arrived = arrived;
    part->damaged = GST_BUFFER_FLAG_IS_SET(input, GST_BUFFER_FLAG_CORRUPTED);
    if (i == count - 1) {
      part->frame = frame;
      part->input = input;
      part->map = map;
    }
    GstFlowReturn flow = decode_part(self, &spans[i], &place, part, input, &taken, &reason);
    if (taken)
      continue;
    /* The first field may be in flight and reads the same memory, so give_up() waits before the
     * memory is unmapped. */
    flow = gst_cuda_j2k_dec_give_up(self, frame, flow, reason);
    part->input = input;
    part->map = map;
    gst_cuda_j2k_dec_part_free(part);
    return flow;
  }
  return GST_FLOW_OK;
}

static GstFlowReturn decode_frame(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GstFlowReturn flow = gst_cuda_j2k_output_report(&self->codec.output);
  if (flow != GST_FLOW_OK)
    return gst_cuda_j2k_dec_give_up(self, frame, flow, NULL);
  if (gst_cuda_j2k_dec_is_late(self, frame)) {
    gst_cuda_j2k_dec_drop_late(self, frame);
    return GST_FLOW_OK;
  }
  return gst_cuda_j2k_dec_decode_buffer(self, frame, gst_buffer_ref(frame->input_buffer));
}

GstFlowReturn gst_cuda_j2k_dec_handle_frame(GstVideoDecoder *decoder, GstVideoCodecFrame *frame)
{
  GstCudaJ2kDec *self = (GstCudaJ2kDec *)decoder;
  gst_cuda_j2k_codec_note_frame(&self->codec, frame);
  /* In a byte stream the element has found whole frames. */
  gboolean parts = self->in_parts && gst_video_decoder_get_packetized(decoder);
  GstFlowReturn flow = parts ? gst_cuda_j2k_dec_add_part(self, frame) : decode_frame(self, frame);
  /* In reverse playback the base class collects the frames of a group before it pushes them. */
  return flow == GST_FLOW_OK && decoder->input_segment.rate < 0
             ? gst_cuda_j2k_output_drain(&self->codec.output)
             : flow;
}
