/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * golden [--backend cpu|cuda] [--print]
 *
 * Encodes and decodes generated sequences and compares digests of the codestreams' bytes and of the
 * decoded samples with those in golden-table.inc: block coder x rate control x layout x sequence,
 * each with one and with several frames in flight, which must not make a difference. A change of
 * the code that is not meant to change results must leave the table unchanged. After an intended
 * change --print writes the new table to standard output; the commit says why it changed.
 *
 * Prints TAP; if the back end cannot be opened, skips with the reason.
 */
#include "tests/cuda/pictures.h"
#include "tests/support/parameters.h"
#include "tests/unit/effort.h"

#define DIGEST_LENGTH 16 /* hexadecimal digits of a SHA-256 in the table */
#define MAX_FRAMES    24

typedef struct {
  const char *name, *bytes, *samples;
} Golden;

static const Golden golden[] = {
#include "golden-table.inc"
};

/* ------------------------------------------------------------------------------ the cases --- */

/* Layout, geometry and the options that shape packets; each row has a property that no other row
 * has. */
typedef struct {
  const char *format;
  uint32_t width, height, offset, tile;
  uint8_t precinct; /* log2 for the highest resolution; 0: maximal */
  uint8_t style;    /* MQ only */
  uint8_t layers;
} Shape;

static const Shape shapes[] = {
    {"grey16", 97, 61, 0, 0, 0, 0, 1},
    {"rgb12", 176, 99, 1, 0, 0, CJ2K_STYLE_BYPASS, 1},
    {"yuv420p8", 131, 75, 0, 0, 6, 0, 1},
    {"v210", 156, 67, 0, 0, 0, CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL, 3},
    {"rgba8-packed", 150, 81, 0, 64, 0, CJ2K_STYLE_CAUSAL, 2},
};

#define SHAPE_RGB12  (1u << 1)
#define SHAPE_YUV420 (1u << 2)
#define SHAPE_V210   (1u << 3)

typedef struct {
  const char *name, *options;
  uint32_t
      shapes; /* a bit for each row of `shapes`; 0: all of them, still and moving, else moving */
  bool ht_only;
} Rate;

static const Rate rates[] = {
    {"quality", "quality=80"},
    {"lossless", "rate-control=lossless"},
    {"cbr", "bits-per-pixel=2 visual-weights=none"},
    {"qstep", "quant-step=0.0009765625"},
    {"psnr", "psnr=40 visual-weights=none"},
    {"quality-csf", "quality=80 visual-weights=csf"},
    {"cbr-csf", "bits-per-pixel=2 visual-weights=csf"},
    {"psnr-csf", "psnr=40 visual-weights=csf"},
    /* Ceilings that bind in one of the two scenes, in both, and in some frames of one. */
    {"quality-ceiling", "quality=80 bits-per-pixel=2.2", SHAPE_RGB12 | SHAPE_V210},
    {"psnr-ceiling", "psnr=46 bits-per-pixel=3.4", SHAPE_YUV420},
    {"qstep-ceiling", "quant-step=0.0009765625 visual-weights=csf max-frame-bytes=5500",
     SHAPE_RGB12},
    {"average", "average-bitrate=700 framerate=25 average-window=16 bitrate=1200",
     SHAPE_RGB12 | SHAPE_V210},
    {"average-psnr", "psnr=44 average-bitrate=600 framerate=25 average-window=16 rate-period=8",
     SHAPE_YUV420},
    {"roi", "bits-per-pixel=2 roi=20,11,60,33,16;70,30,50,40,0.25", SHAPE_RGB12 | SHAPE_V210},
    {"slices", "quality=80 slices=true progression-order=pcrl", SHAPE_RGB12 | SHAPE_YUV420},
    {"slices-cbr", "bits-per-pixel=2 slices=true progression-order=pcrl precincts=64x32,32x16",
     SHAPE_RGB12 | SHAPE_YUV420, true},
    {"cbr-best", "bits-per-pixel=2 rate-effort=best", SHAPE_RGB12 | SHAPE_V210, true},
    {"psnr-best", "psnr=40 rate-effort=best visual-weights=csf", SHAPE_YUV420, true},
};

/* Rate control of a frame learns from an earlier frame. Both scenes are therefore longer than this
 * lag. */
typedef struct {
  const char *name;
  uint32_t num_frames;
  uint32_t cut; /* first frame of the second scene; 0: a still picture */
} Sequence;

static const Sequence sequences[] = {{"still", 10, 0}, {"moving", 22, 11}};

static const char *const coders[] = {[CJ2K_CODER_MQ] = "mq", [CJ2K_CODER_HT] = "ht"};

typedef struct {
  Cj2kBlockCoder coder;
  const Rate *rate;
  const Shape *shape;
  const Sequence *sequence;
  uint32_t frames_in_flight;
  Cj2kBackendKind backend;
} Case;

static View view_of(const Sequence *sequence, uint32_t frame)
{
  if (!sequence->cut)
    return (View){0, 0, 1, 0.1};
  if (frame < sequence->cut)
    return (View){frame * 4, frame * 2, 1 + frame, 0.02};
  return (View){1000 + frame * 2, 700, 1 + frame, 0.4};
}

/* ------------------------------------------------------------------------------- encoding --- */

/* The codestreams of a sequence, in order. */
typedef struct {
  GByteArray *frames[MAX_FRAMES];
  uint32_t count;
} Streams;

static void streams_clear(Streams *streams)
{
  for (uint32_t i = 0; i < streams->count; i++)
    g_byte_array_unref(streams->frames[i]);
  streams->count = 0;
}

static void set_params(const Case *c, Cj2kEncoderParams *params)
{
  const Shape *shape = c->shape;

  cj2k_encoder_params_init(params);
  params->backend = c->backend;
  params->num_threads = c->frames_in_flight == 1 ? 1 : 3;
  params->frames_in_flight = c->frames_in_flight;
  params->block_coder = c->coder;
  params->num_resolutions = 4;
  params->codeblock_width = params->codeblock_height = 32;
  params->tile_width = params->tile_height = shape->tile;
  params->image_x0 = params->image_y0 = shape->offset;
  if (shape->precinct) {
    params->num_precincts = 1;
    params->precinct_width[0] = params->precinct_height[0] = shape->precinct;
  }
  if (c->coder == CJ2K_CODER_MQ) {
    params->codeblock_style = shape->style;
    params->num_layers = shape->layers;
  }
  test_set_options(params, c->rate->options);
}

static bool receive_stream(Cj2kEncoder *encoder, Streams *streams, Cj2kError *why)
{
  Cj2kPacket packet;

  if (cj2k_encoder_receive(encoder, &packet) != CJ2K_OK)
    return false;
  bool ok = packet.status == CJ2K_OK && !packet.fallback;
  *why = packet.error;
  GByteArray *bytes = g_byte_array_new();
  g_byte_array_append(bytes, packet.data, (guint)packet.size);
  streams->frames[streams->count++] = bytes;
  cj2k_encoder_release(encoder, &packet);
  return ok;
}

static bool encode_sequence(Cj2kEncoder *encoder, const Case *c, Streams *streams, Cj2kError *why)
{
  const Format *format = find_format(c->shape->format);
  uint32_t num_frames = c->sequence->num_frames, made = 0;
  Picture pictures[MAX_FRAMES];
  bool ok = true;

  for (; ok && made < num_frames; made++) {
    View view = view_of(c->sequence, made);
    if (made >= c->frames_in_flight)
      ok = receive_stream(encoder, streams, why);
    picture_init_view(&pictures[made], format, c->shape->width, c->shape->height, &view);
    ok = ok && cj2k_encoder_submit(encoder, &pictures[made].picture, NULL, why) == CJ2K_OK;
  }
  while (ok && streams->count < num_frames)
    ok = receive_stream(encoder, streams, why);
  cj2k_encoder_close(encoder); /* from here on nothing reads the pictures, even after an error */
  for (uint32_t i = 0; i < made; i++)
    picture_clear(&pictures[i]);
  return ok;
}

static bool encode(const Case *c, Streams *streams, Cj2kError *why)
{
  PictureKind kind;
  Cj2kEncoderParams params;

  picture_kind_init(&kind, find_format(c->shape->format), c->shape->width, c->shape->height);
  set_params(c, &params);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &kind.image, &kind.layout, why);
  return encoder && encode_sequence(encoder, c, streams, why);
}

/* ------------------------------------------------------------------------------- decoding --- */

static bool receive_samples(Cj2kDecoder *decoder, Target *target, GChecksum *sum, Cj2kError *why)
{
  Cj2kFrame frame;

  if (cj2k_decoder_receive(decoder, &frame) != CJ2K_OK)
    return false;
  bool ok = frame.status == CJ2K_OK && !frame.fallback && !frame.corrupt_blocks;
  *why = frame.error;
  cj2k_decoder_release(decoder, &frame);
  g_checksum_update(sum, target->memory, (gssize)target->size);
  return ok;
}

/* Decodes into the layout of the pictures and includes all its bytes in the digest, also those that
 * belong to no sample. */
static bool decode_sequence(Cj2kDecoder *decoder, const Case *c, const Streams *streams,
                            GChecksum *sum, Cj2kError *why)
{
  Target targets[MAX_FRAMES] = {0};
  uint32_t submitted = 0, received = 0;
  bool ok = true;

  while (ok && received < streams->count) {
    if (submitted - received == c->frames_in_flight || submitted == streams->count) {
      ok = receive_samples(decoder, &targets[received], sum, why);
      received++;
      continue;
    }
    const GByteArray *bytes = streams->frames[submitted];
    const Format *format = find_format(c->shape->format);
    Cj2kLayout layout = {format->num_components, format->num_planes, format->samples, 0};
    Cj2kImage image;
    ok = cj2k_decoder_read_header(decoder, bytes->data, bytes->len, &image, why) == CJ2K_OK;
    if (!ok)
      break;
    Target *target = &targets[submitted++];
    target_init(target, &layout, image.components, image.num_components, 0);
    Cj2kPicture picture = {CJ2K_MEMORY_HOST, format->num_planes, target->planes};
    ok = cj2k_decoder_submit(decoder, bytes->data, bytes->len, &layout, &picture, NULL, why) ==
         CJ2K_OK;
  }
  cj2k_decoder_close(decoder);
  for (uint32_t i = 0; i < submitted; i++)
    target_clear(&targets[i]);
  return ok;
}

static bool decode(const Case *c, const Streams *streams, GChecksum *sum, Cj2kError *why)
{
  Cj2kDecoderParams params;

  cj2k_decoder_params_init(&params);
  params.backend = c->backend;
  params.num_threads = c->frames_in_flight == 1 ? 1 : 3;
  params.frames_in_flight = c->frames_in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, why);
  return decoder && decode_sequence(decoder, c, streams, sum, why);
}

/* ------------------------------------------------------------------------------- digests --- */

typedef struct {
  char bytes[DIGEST_LENGTH + 1], samples[DIGEST_LENGTH + 1];
} Digests;

static bool make_digests(const Case *c, Digests *digests, Cj2kError *why)
{
  GChecksum *bytes = g_checksum_new(G_CHECKSUM_SHA256);
  GChecksum *samples = g_checksum_new(G_CHECKSUM_SHA256);
  Streams streams = {0};

  bool ok = encode(c, &streams, why) && decode(c, &streams, samples, why);
  for (uint32_t i = 0; i < streams.count; i++)
    g_checksum_update(bytes, streams.frames[i]->data, (gssize)streams.frames[i]->len);
  g_strlcpy(digests->bytes, g_checksum_get_string(bytes), sizeof digests->bytes);
  g_strlcpy(digests->samples, g_checksum_get_string(samples), sizeof digests->samples);
  streams_clear(&streams);
  g_checksum_free(bytes);
  g_checksum_free(samples);
  return ok;
}

static const Golden *find_golden(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(golden); i++)
    if (!strcmp(golden[i].name, name))
      return &golden[i];
  return NULL;
}

/* With one frame in flight and with several: both must give the digests of the table. */
static bool check(Case *c, const char *name, bool print)
{
  static const uint32_t in_flight[] = {1, 4};
  const Golden *expected = find_golden(name);
  bool ok = true;

  for (guint i = 0; i < G_N_ELEMENTS(in_flight); i++) {
    Digests digests;
    Cj2kError why = {0};
    c->frames_in_flight = in_flight[i];
    if (!make_digests(c, &digests, &why)) {
      printf("# %u in flight: %s\n", in_flight[i],
             why.text[0] ? why.text : "corrupt blocks, or done by the CPU in place of the GPU");
      ok = false;
    } else if (print && i == 0) {
      printf("    {\"%s\", \"%s\", \"%s\"},\n", name, digests.bytes, digests.samples);
    } else if (!print) {
      bool same = expected && !strcmp(expected->bytes, digests.bytes) &&
                  !strcmp(expected->samples, digests.samples);
      if (!same)
        printf("# %u in flight: bytes %s instead of %s, samples %s instead of %s\n", in_flight[i],
               digests.bytes, expected ? expected->bytes : "nothing", digests.samples,
               expected ? expected->samples : "nothing");
      ok = ok && same;
    }
  }
  return ok;
}

static bool is_case(const Rate *rate, guint coder, guint shape, guint sequence)
{
  if (rate->ht_only && coder != CJ2K_CODER_HT)
    return false;
  return !rate->shapes || (rate->shapes >> shape & 1 && sequences[sequence].cut);
}

static guint check_all(Cj2kBackendKind backend, bool print)
{
  guint count = 0, failed = 0;

  if (print)
    printf("/* SPDX-License-Identifier: LGPL-2.1-or-later */\n"
           "/* Written by golden --print: case, digest of bytes, digest of samples. */\n");
  for (guint i = 0; i < G_N_ELEMENTS(coders) * G_N_ELEMENTS(rates); i++)
    for (guint j = 0; j < G_N_ELEMENTS(shapes) * G_N_ELEMENTS(sequences); j++) {
      Case c = {.coder = (Cj2kBlockCoder)(i / G_N_ELEMENTS(rates)),
                .rate = &rates[i % G_N_ELEMENTS(rates)],
                .shape = &shapes[j / G_N_ELEMENTS(sequences)],
                .sequence = &sequences[j % G_N_ELEMENTS(sequences)],
                .backend = backend};
      if (!is_case(c.rate, c.coder, j / G_N_ELEMENTS(sequences), j % G_N_ELEMENTS(sequences)))
        continue;
      char *name = g_strdup_printf("%s %s %s %s", coders[c.coder], c.rate->name, c.shape->format,
                                   c.sequence->name);
      bool left_out = !print && test_is_short() && count % 3;
      bool ok = left_out || check(&c, name, print);
      count++;
      failed += !ok;
      if (!print)
        printf("%s %u - %s%s\n", ok ? "ok" : "not ok", count, name,
               left_out ? " # SKIP a short run does each third case" : "");
      g_free(name);
    }
  if (!print) {
    bool ok = count == G_N_ELEMENTS(golden);
    failed += !ok;
    printf("%s %u - the table has a row for each case\n1..%u\n", ok ? "ok" : "not ok", count + 1,
           count + 1);
  }
  return failed;
}

int main(int argc, char **argv)
{
  Cj2kBackendKind backend = test_take_backend(&argc, argv);
  bool print = argc == 2 && !strcmp(argv[1], "--print");

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1 + print) {
    fprintf(stderr, "usage: golden [--backend cpu|cuda] [--print]\n");
    return 2;
  }
  if (!test_has_backend(backend))
    return 0;
  return check_all(backend, print) != 0;
}
