/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's encoder and decoder in cj2k-bench live. */
#include "bench_live.h"

#define LAST GINT_TO_POINTER(-1)

typedef struct {
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;
  GAsyncQueue *encoding, *decoding; /* frame number + 1 of each frame in flight; LAST: the end */
  Cj2kPlane planes[LIVE_RING][LIVE_MAX_PLANES];
  Cj2kPicture inputs[LIVE_RING];
  Cj2kPacket coded[LIVE_RING]; /* with the decoder: released when their picture is there */
  BenchPicture outputs[CJ2K_MAX_IN_FLIGHT + 1];
  int gpu, reserved; /* -1: none */
} Codec;

/* Hands codestream i to the decoder. */
static bool submit_codestream(LiveStream *stream, uint32_t i, const uint8_t *data, size_t size)
{
  Codec *codec = stream->codec;
  Live *live = stream->live;
  uint32_t output = i % (live->options->encode.params.frames_in_flight + 1);
  Cj2kError error;
  stream->handed_over[i % LIVE_RING] = g_get_monotonic_time();
  if (cj2k_decoder_submit(codec->decoder, data, size, &live->film.input.layout,
                          &codec->outputs[output].picture, NULL, &error) == CJ2K_OK) {
    g_async_queue_push(codec->decoding, GUINT_TO_POINTER(i + 1));
    return true;
  }
  live_fail(live, "decoding", error.text);
  return false;
}

static bool submit_picture(LiveStream *stream, uint32_t i)
{
  Codec *codec = stream->codec;
  Live *live = stream->live;
  Cj2kError error;
  Cj2kPicture *picture = &codec->inputs[i % LIVE_RING];
  picture->planes = codec->planes[i % LIVE_RING];
  picture->num_planes = live->film.input.layout.num_planes;
  picture->memory = live->film.picture.picture.memory;
  live_frame(stream, i, picture->planes);
  if (cj2k_encoder_submit(codec->encoder, picture, NULL, &error) == CJ2K_OK) {
    g_async_queue_push(codec->encoding, GUINT_TO_POINTER(i + 1));
    return true;
  }
  live_fail(live, "encoding", error.text);
  return false;
}

static bool submit(LiveStream *stream, uint32_t i)
{
  Live *live = stream->live;
  const LiveBytes *stored = live_codestream(stream, i);
  return live->options->encodes ? submit_picture(stream, i)
                                : submit_codestream(stream, i, stored->data, stored->size);
}

static gpointer pace(gpointer data)
{
  LiveStream *stream = data;
  Codec *codec = stream->codec;
  live_pace(stream);
  g_async_queue_push(stream->live->options->encodes ? codec->encoding : codec->decoding, LAST);
  return NULL;
}

/* Takes codestream i, and hands it to the decoder if there is one. */
static void receive_codestream(LiveStream *stream, uint32_t i)
{
  Codec *codec = stream->codec;
  Live *live = stream->live;
  Cj2kPacket *packet = &codec->coded[i % LIVE_RING];
  cj2k_encoder_receive(codec->encoder, packet);
  bool ok = packet->status == CJ2K_OK;
  if (ok)
    live_encoded(stream, i, packet->size);
  else
    live_fail(live, "encoding", packet->error.text);
  if (ok && live->options->decodes && submit_codestream(stream, i, packet->data, packet->size))
    return;
  cj2k_encoder_release(codec->encoder, packet);
}

static gpointer take_codestreams(gpointer data)
{
  LiveStream *stream = data;
  Codec *codec = stream->codec;
  gpointer frame;
  while ((frame = g_async_queue_pop(codec->encoding)) != LAST)
    receive_codestream(stream, GPOINTER_TO_UINT(frame) - 1);
  g_async_queue_push(codec->decoding, LAST);
  return NULL;
}

static gpointer take_pictures(gpointer data)
{
  LiveStream *stream = data;
  Codec *codec = stream->codec;
  gpointer number;
  while ((number = g_async_queue_pop(codec->decoding)) != LAST) {
    Cj2kFrame frame;
    cj2k_decoder_receive(codec->decoder, &frame);
    if (frame.status == CJ2K_OK)
      live_decoded(stream, GPOINTER_TO_UINT(number) - 1);
    else
      live_fail(stream->live, "decoding", frame.error.text);
    cj2k_decoder_release(codec->decoder, &frame);
    if (codec->encoder)
      cj2k_encoder_release(codec->encoder,
                           &codec->coded[(GPOINTER_TO_UINT(number) - 1) % LIVE_RING]);
  }
  return NULL;
}

/* The GPU for encoder and decoder of a stream; the least loaded if none was chosen. */
static void choose_gpu(LiveStream *stream)
{
  const Cj2kEncoderParams *params = &stream->live->options->encode.params;
  Codec *codec = stream->codec;
  codec->gpu = params->cuda_device;
  codec->reserved = -1;
  if (codec->gpu < 0 && !params->cuda_devices && stream->live->backend == CJ2K_BACKEND_CUDA)
    codec->gpu = codec->reserved = cj2k_device_reserve(NULL, NULL);
}

static bool open_decoder(LiveStream *stream, Cj2kError *error)
{
  Codec *codec = stream->codec;
  const BenchFilm *film = &stream->live->film;
  const Cj2kEncoderParams *params = &stream->live->options->encode.params;
  Cj2kDecoderParams decoding;
  cj2k_decoder_params_init(&decoding);
  decoding.backend = params->backend;
  decoding.cuda_device = codec->gpu;
  decoding.cuda_devices = params->cuda_devices;
  decoding.num_threads = params->num_threads;
  decoding.frames_in_flight = params->frames_in_flight;
  decoding.low_latency = params->low_latency;
  codec->decoder = cj2k_decoder_open(&decoding, error);
  for (uint32_t i = 0; codec->decoder && i < params->frames_in_flight + 1; i++)
    if (!bench_picture_new(&codec->outputs[i], &film->input.layout, film->components,
                           film->picture.picture.memory)) {
      g_snprintf(error->text, sizeof error->text, "no memory for a picture");
      return false;
    }
  return codec->decoder != NULL;
}

static bool open_codec(LiveStream *stream, Cj2kError *error)
{
  const Live *live = stream->live;
  const LiveOptions *options = live->options;
  Codec *codec = stream->codec = g_new0(Codec, 1);
  codec->encoding = g_async_queue_new();
  codec->decoding = g_async_queue_new();
  choose_gpu(stream);
  Cj2kEncoderParams params = options->encode.params;
  params.cuda_device = codec->gpu;
  if (options->encodes)
    codec->encoder = cj2k_encoder_open(&params, &live->film.image, &live->film.input.layout, error);
  if (options->encodes && !codec->encoder)
    return false;
  return !options->decodes || open_decoder(stream, error);
}

static void start(LiveStream *stream)
{
  const LiveOptions *options = stream->live->options;
  if (options->decodes)
    stream->threads[2] = g_thread_new("pictures", take_pictures, stream);
  if (options->encodes)
    stream->threads[1] = g_thread_new("codestreams", take_codestreams, stream);
  stream->threads[0] = g_thread_new("camera", pace, stream);
}

static void close_codec(LiveStream *stream)
{
  Codec *codec = stream->codec;
  if (!codec)
    return;
  cj2k_encoder_close(codec->encoder);
  cj2k_decoder_close(codec->decoder);
  cj2k_device_release(codec->reserved);
  for (uint32_t i = 0; i < G_N_ELEMENTS(codec->outputs); i++)
    if (codec->outputs[i].memory)
      bench_picture_free(&codec->outputs[i]);
  g_async_queue_unref(codec->encoding);
  g_async_queue_unref(codec->decoding);
  g_free(codec);
}

const LiveWay live_library = {
    .open = open_codec, .start = start, .submit = submit, .close = close_codec};
