/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * steps-equal [--short]
 *
 * Films whose quantisers change from frame to frame while their geometry stays, so that the number
 * of bit-planes Mb of their bands changes: the CUDA decoder has 16 bits for a coefficient of a
 * level or 32, by Mb (cuda/host/decode_bands.c). The CPU encodes them. One decoder of the CPU and
 * one of the GPU decode all films, with one frame in flight and with several, so that slots see the
 * changes in other orders. Status, number of corrupt blocks and every byte of the pictures are
 * compared; a frame that the CPU does in place of the GPU is a failure. Each film is checked to
 * have levels in both forms. --short: only some films, for slow tools. Prints TAP; skips if there
 * is no GPU.
 */
#include "common/codestream/header.h"
#include "common/encoder/encoder.h"
#include "cuda/shared/decode_kernels.h"
#include "pictures.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define FRAMES     9
#define SHORT_STEP 7

/* -------------------------------------------------------------------------------- films --- */

/* What changes from frame to frame. */
typedef enum {
  STEPS,  /* the quantiser step; 9/7 */
  GUARDS, /* the number of guard bits, lossless */
  LEVELS, /* the exponents of single levels, lossless; they are written into the header */
  DEPTHS, /* the depth of the samples, and so the geometry, lossless */
} Change;

typedef enum { HT, HT_REFINED, MQ, NUM_CODERS } Coder;

static const char *const change_names[] = {"steps", "guard bits", "levels", "depths"};
static const char *const coder_names[] = {"HT", "HT refined", "MQ"};

typedef struct {
  Change change;
  const char *format;
  uint32_t width, height, block, num_resolutions;
  uint32_t tile, x0, y0; /* tile size; offset of image and tiles */
  double grain;          /* of the pictures; 0: 0.1 */
  bool damaged;          /* frames in the middle are */
} Film;

static const Film films[] = {
    {STEPS, "grey8", 133, 99, 64, 6},
    {GUARDS, "grey8", 99, 131, 32, 4, .grain = 1},
    {STEPS, "grey16", 97, 130, 32, 5, .grain = 1},
    {STEPS, "rgb12", 121, 77, 64, 5},
    {STEPS, "rgb12", 119, 75, 32, 6, .damaged = true},
    {STEPS, "yuv422p10", 133, 71, 32, 5},
    {STEPS, "v210", 161, 67, 64, 6},
    {STEPS, "rgb12", 140, 90, 32, 4, .tile = 61, .x0 = 3, .y0 = 5},
    {STEPS, "grey8", 1, 77, 64, 3, .x0 = 1, .y0 = 1},
    {STEPS, "yuv422p10", 150, 61, 64, 3, .tile = 64, .y0 = 3, .damaged = true},
    {GUARDS, "rgb8", 121, 63, 64, 6},
    {GUARDS, "grey12-signed", 77, 93, 32, 5, .tile = 50, .x0 = 1, .grain = 1},
    {GUARDS, "yuv422p10", 131, 65, 64, 5, .grain = 1},
    {GUARDS, "v210", 145, 65, 32, 4, .damaged = true},
    {LEVELS, "grey8", 135, 97, 32, 6},
    {LEVELS, "rgb8", 101, 67, 64, 5, .grain = 1},
    {LEVELS, "uyvy", 132, 59, 64, 5, .damaged = true},
    {DEPTHS, "grey16", 99, 71, 64, 6},
    {DEPTHS, "rgb12", 83, 57, 32, 4, .grain = 1},
};

static const double steps[FRAMES] = {1.0 / 64,    1.0 / 512, 1.0 / 1024, 1.0 / 4096, 1.0 / 65536,
                                     1.0 / 16384, 1.0 / 128, 1.0 / 2048, 1.0 / 32};
static const uint8_t guards[FRAMES] = {1, 3, 1, 2, 5, 1, 7, 4, 1};
static const uint8_t depths[FRAMES] = {8, 16, 10, 10, 12, 8, 16, 12, 10};
/* The level whose exponents are larger, 0: none, and by how much. */
static const struct {
  uint8_t level, by;
} levels[FRAMES] = {{0, 0}, {2, 3}, {2, 8}, {1, 2}, {0, 0}, {1, 9}, {3, 7}, {2, 10}, {0, 0}};

/* ------------------------------------------------------------------------------- encode --- */

/* The back end that encodes, and the choices for a frame with refinement passes. */
static const Cj2kEncodeBackend *plain;
static Cj2kHtChoice *choices;
static uint32_t num_choices;

/* Every block has its cleanup pass at bit-plane 1, and SigProp and MagRef at bit-plane 0. */
static Cj2kStatus code_refined(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                               Cj2kError *error)
{
  Cj2kCodeJob refined = *job;

  for (uint32_t b = 0; b < num_choices; b++)
    choices[b] = (Cj2kHtChoice){.plane = 1, .passes = 3};
  refined.choices = choices;
  return plain->code(backend, slot, &refined, error);
}

static GByteArray *encode_picture(Cj2kEncoder *encoder, const Picture *picture)
{
  GByteArray *bytes = g_byte_array_new();
  Cj2kPacket packet;
  Cj2kError error = {0};

  if (cj2k_encoder_submit(encoder, &picture->picture, NULL, &error) != CJ2K_OK ||
      cj2k_encoder_receive(encoder, &packet) != CJ2K_OK)
    g_error("a picture cannot be submitted: %s", error.text);
  if (packet.status != CJ2K_OK)
    g_error("a picture cannot be encoded: %s", packet.error.text);
  g_byte_array_append(bytes, packet.data, (guint)packet.size);
  cj2k_encoder_release(encoder, &packet);
  return bytes;
}

static GByteArray *encode_refined(Cj2kEncoder *encoder, const Picture *picture)
{
  Cj2kEncodeBackend backend = *encoder->backend.functions;

  plain = encoder->backend.functions;
  num_choices = encoder->plan->num_blocks;
  choices = g_new(Cj2kHtChoice, num_choices + 1u);
  backend.code = code_refined;
  encoder->backend.functions = &backend;
  GByteArray *bytes = encode_picture(encoder, picture);
  encoder->backend.functions = plain;
  g_clear_pointer(&choices, g_free);
  return bytes;
}

static void set_params(const Film *film, Coder coder, uint32_t frame, Cj2kEncoderParams *params)
{
  cj2k_encoder_params_init(params);
  params->backend = CJ2K_BACKEND_CPU;
  params->block_coder = coder == MQ ? CJ2K_CODER_MQ : CJ2K_CODER_HT;
  params->num_layers = coder == MQ ? 3 : 1;
  params->rate_control = film->change == STEPS ? CJ2K_RATE_QSTEP : CJ2K_RATE_LOSSLESS;
  params->quant_step = film->change == STEPS ? steps[frame] : 0;
  params->guard_bits = film->change == GUARDS ? guards[frame] : 1; /* 1: large for their Mb */
  params->codeblock_width = params->codeblock_height = (uint16_t)film->block;
  params->num_resolutions = (uint8_t)film->num_resolutions;
  params->tile_width = params->tile_height = film->tile;
  params->image_x0 = params->tile_x0 = film->x0;
  params->image_y0 = params->tile_y0 = film->y0;
}

static Format format_of(const Film *film, uint32_t frame)
{
  Format format = *find_format(film->format);

  if (film->change == DEPTHS) {
    format.depth = depths[frame];
    for (uint32_t c = 0; c < format.num_components; c++)
      format.samples[c].depth = depths[frame];
  }
  return format;
}

static GByteArray *encode_frame(const Film *film, Coder coder, uint32_t frame)
{
  Format format = format_of(film, frame);
  const View view = {7 * frame, 3 * frame, frame + 1, film->grain > 0 ? film->grain : 0.1};
  Cj2kEncoderParams params;
  PictureKind kind;
  Picture picture;
  Cj2kError error = {0};

  picture_init_view(&picture, &format, film->width, film->height, &view);
  picture_kind_init(&kind, &format, film->width, film->height);
  set_params(film, coder, frame, &params);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &kind.image, &kind.layout, &error);
  if (!encoder)
    g_error("no encoder: %s", error.text);
  GByteArray *bytes =
      coder == HT_REFINED ? encode_refined(encoder, &picture) : encode_picture(encoder, &picture);
  cj2k_encoder_close(encoder);
  picture_clear(&picture);
  return bytes;
}

/* --------------------------------------------------------------------- changes of bytes --- */

/* The offset of the first marker with this code. */
static guint find_marker(const GByteArray *bytes, uint8_t code)
{
  guint at = 0;

  while (at + 1 < bytes->len && !(bytes->data[at] == 0xff && bytes->data[at + 1] == code))
    at++;
  g_assert_cmpuint(at + 1, <, bytes->len);
  return at;
}

/* Makes the exponents of the bands of a level larger, in the QCD of a lossless codestream. */
static void raise_level(GByteArray *bytes, uint32_t num_levels, uint32_t level, uint32_t by)
{
  guint at = find_marker(bytes, 0x5c);

  g_assert_cmpuint(bytes->data[at + 4] & 31, ==, 0); /* no quantisation: a byte for each band */
  for (uint32_t b = 0; level && b < 3; b++)
    bytes->data[at + 5 + 3 * (num_levels - level) + 1 + b] += (uint8_t)(by << 3);
}

/* Changes some bytes behind the headers. */
static void damage(GByteArray *bytes, uint32_t seed)
{
  GRand *random = g_rand_new_with_seed(seed);
  gint32 first = (gint32)find_marker(bytes, 0x93) + 2;

  for (int i = g_rand_int_range(random, 1, 9); i > 0; i--)
    bytes->data[g_rand_int_range(random, first, (gint32)bytes->len)] = (uint8_t)g_rand_int(random);
  g_rand_free(random);
}

/* -------------------------------------------------------------------------------- forms --- */

/* The levels of a frame that have bands with more bit-planes than a narrow band may have, and all
 * of its levels; level 1 in bit 0. */
typedef struct {
  uint32_t wide, all;
  bool reversible;
} Forms;

static uint32_t wide_levels(const Cj2kCoding *coding, const Cj2kQuantisation *quantisation)
{
  uint32_t wide = 0;
  int most = coding->reversible ? CJ2K_CUDA_NARROW_REVERSIBLE : CJ2K_CUDA_NARROW_IRREVERSIBLE;

  for (uint32_t b = 1; b < 3u * coding->num_levels + 1; b++)
    if (quantisation->guard_bits + quantisation->exponent[b] - 1 > most) /* Mb, E-2 */
      wide |= 1u << (coding->num_levels - 1 - (b - 1) / 3);
  return wide;
}

static Forms forms_of(const GByteArray *bytes)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kHeader *header;
  bool same;
  Cj2kError error = {0};
  Forms forms = {0};

  if (cj2k_header_read(reader, bytes->data, bytes->len, false, 0, &header, &same, NULL, &error) !=
      CJ2K_OK)
    g_error("the header cannot be read: %s", error.text);
  for (uint32_t c = 0; c < header->num_components; c++) {
    forms.wide |= wide_levels(&header->coding.coding[c], &header->coding.quantisation[c]);
    forms.all |= (1u << header->coding.coding[c].num_levels) - 1;
    forms.reversible = header->coding.coding[c].reversible;
  }
  cj2k_header_reader_free(reader);
  return forms;
}

/* Some levels must be narrow in a frame and wide in a later one, and narrow again after that. Notes
 * whether there are frames with levels of both forms. */
static void check_forms(GByteArray *const *frames, const char *name, bool mixed[2])
{
  uint32_t narrow = 0, widened = 0, narrowed = 0;

  for (uint32_t i = 0; i < FRAMES; i++) {
    Forms forms = forms_of(frames[i]);
    uint32_t now_narrow = forms.all & ~forms.wide;
    widened |= narrow & forms.wide;
    narrowed |= widened & now_narrow;
    narrow |= now_narrow;
    mixed[forms.reversible] |= forms.wide && now_narrow;
  }
  if (!widened || !narrowed)
    g_error("%s: no level changes its form", name);
}

/* ------------------------------------------------------------------------------- decode --- */

/* How a film is decoded. */
typedef struct {
  uint8_t reduce;
  uint16_t max_layers; /* 0: all */
  uint32_t in_flight;
  Cj2kComponentStreams component_streams;
} Mode;

static const Mode modes[] = {
    {.in_flight = 1},
    {.in_flight = 3},
    {.in_flight = 3, .reduce = 1},
    {.in_flight = 2, .max_layers = 1},
    {.in_flight = 1, .component_streams = CJ2K_COMPONENT_STREAMS_ON},
};
#define NUM_MODES G_N_ELEMENTS(modes)

typedef struct {
  Cj2kDecoder *cpu, *cuda;
} Pair;

static Cj2kDecoder *open_decoder(const Mode *mode, Cj2kBackendKind backend, Cj2kError *error)
{
  Cj2kDecoderParams params;

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.reduce = mode->reduce;
  params.max_layers = mode->max_layers;
  params.frames_in_flight = mode->in_flight;
  params.component_streams = mode->component_streams;
  return cj2k_decoder_open(&params, error);
}

typedef struct {
  Format format; /* which the layout points to */
  Cj2kLayout layout;
  Target target;
  Cj2kPicture picture;
  Cj2kFrame frame;
} Decoded;

static void submit(Cj2kDecoder *decoder, const Film *film, uint32_t i, const GByteArray *bytes,
                   Decoded *decoded)
{
  Cj2kImage image;
  Cj2kError error = {0};

  decoded->format = format_of(film, i);
  decoded->layout = (Cj2kLayout){decoded->format.num_components, decoded->format.num_planes,
                                 decoded->format.samples, 0};
  if (cj2k_decoder_read_header(decoder, bytes->data, bytes->len, &image, &error) != CJ2K_OK)
    g_error("the header cannot be read: %s", error.text);
  target_init(&decoded->target, &decoded->layout, image.components, image.num_components, 0);
  decoded->picture =
      (Cj2kPicture){CJ2K_MEMORY_HOST, decoded->layout.num_planes, decoded->target.planes, NULL};
  if (cj2k_decoder_submit(decoder, bytes->data, bytes->len, &decoded->layout, &decoded->picture,
                          NULL, &error) != CJ2K_OK)
    g_error("a frame cannot be submitted: %s", error.text);
}

static void decode(Cj2kDecoder *decoder, uint32_t in_flight, const Film *film,
                   GByteArray *const *frames, Decoded *decoded)
{
  for (uint32_t i = 0; i < FRAMES + in_flight; i++) {
    if (i >= in_flight) {
      Cj2kFrame *frame = &decoded[i - in_flight].frame;
      Cj2kStatus status = cj2k_decoder_receive(decoder, frame);
      g_assert_cmpint(status, ==, CJ2K_OK);
      cj2k_decoder_release(decoder, frame);
    }
    if (i < FRAMES)
      submit(decoder, film, i, frames[i], &decoded[i]);
  }
}

/* ------------------------------------------------------------------------------ compare --- */

static bool compare_frame(const Decoded *cpu, const Decoded *cuda, bool damaged, uint32_t number)
{
  const char *why = NULL;

  g_assert(cpu->target.memory && cuda->target.memory);
  if (cpu->frame.status != cuda->frame.status || (!damaged && cpu->frame.status != CJ2K_OK))
    why = "status";
  else if (cpu->frame.corrupt_blocks != cuda->frame.corrupt_blocks ||
           (!damaged && cpu->frame.corrupt_blocks))
    why = "corrupt blocks";
  else if (cpu->frame.status == CJ2K_OK &&
           memcmp(cpu->target.memory, cuda->target.memory, cpu->target.size) != 0)
    why = "samples";
  if (why)
    printf("# frame %u: %s; cpu: %s, %u corrupt; cuda: %s %s, %u corrupt\n", number, why,
           cj2k_status_name(cpu->frame.status), cpu->frame.corrupt_blocks,
           cj2k_status_name(cuda->frame.status), cuda->frame.error.text,
           cuda->frame.corrupt_blocks);
  return !why;
}

static uint64_t fallbacks_of(Cj2kDecoder *decoder)
{
  Cj2kStats stats;

  cj2k_decoder_get_stats(decoder, &stats);
  return stats.fallbacks;
}

/* Damaged frames have good ones before, between and after them. */
static bool is_damaged(const Film *film, uint32_t frame)
{
  return film->damaged && frame > 1 && frame < FRAMES - 1 && frame % 3;
}

static bool compare_film(const Pair *pair, uint32_t in_flight, const Film *film,
                         GByteArray *const *frames)
{
  Decoded cpu[FRAMES] = {0}, cuda[FRAMES] = {0};
  uint64_t fallbacks = fallbacks_of(pair->cuda);
  bool ok = true;

  decode(pair->cpu, in_flight, film, frames, cpu);
  decode(pair->cuda, in_flight, film, frames, cuda);
  for (uint32_t i = 0; i < FRAMES; i++) {
    ok &= compare_frame(&cpu[i], &cuda[i], is_damaged(film, i), i);
    target_clear(&cpu[i].target);
    target_clear(&cuda[i].target);
  }
  fallbacks = fallbacks_of(pair->cuda) - fallbacks;
  if (fallbacks)
    printf("# %u frames done by the CPU in place of the GPU\n", (guint)fallbacks);
  return ok && !fallbacks;
}

static void make_film(const Film *film, Coder coder, GByteArray **frames)
{
  for (uint32_t i = 0; i < FRAMES; i++) {
    frames[i] = encode_frame(film, coder, i);
    if (film->change == LEVELS)
      raise_level(frames[i], film->num_resolutions - 1, levels[i].level, levels[i].by);
    if (is_damaged(film, i))
      damage(frames[i], i);
  }
}

/* Compares a film in all modes; *count is the number of tests so far. Returns failures. */
static guint check_film(const Pair *pairs, const Film *film, Coder coder, bool mixed[2],
                        guint *count)
{
  GByteArray *frames[FRAMES];
  guint failed = 0;
  char *name = g_strdup_printf("%s of %s %ux%u, blocks %u, tiles %u, offset %u,%u%s, %s",
                               change_names[film->change], film->format, film->width, film->height,
                               film->block, film->tile, film->x0, film->y0,
                               film->damaged ? ", damaged" : "", coder_names[coder]);

  make_film(film, coder, frames);
  check_forms(frames, name, mixed);
  for (uint32_t m = 0; m < NUM_MODES; m++) {
    bool ok = compare_film(&pairs[m], modes[m].in_flight, film, frames);
    failed += !ok;
    printf("%s %u - %s, %u in flight%s%s%s\n", ok ? "ok" : "not ok", ++*count, name,
           modes[m].in_flight, modes[m].reduce ? ", reduced" : "",
           modes[m].max_layers ? ", one layer" : "",
           modes[m].component_streams ? ", component streams" : "");
  }
  for (uint32_t i = 0; i < FRAMES; i++)
    g_byte_array_unref(frames[i]);
  g_free(name);
  return failed;
}

static void close_pairs(const Pair *pairs)
{
  for (uint32_t m = 0; m < NUM_MODES; m++) {
    cj2k_decoder_close(pairs[m].cpu);
    cj2k_decoder_close(pairs[m].cuda);
  }
}

static bool open_pairs(Pair *pairs, Cj2kError *error)
{
  for (uint32_t m = 0; m < NUM_MODES; m++) {
    pairs[m].cpu = open_decoder(&modes[m], CJ2K_BACKEND_CPU, error);
    pairs[m].cuda = pairs[m].cpu ? open_decoder(&modes[m], CJ2K_BACKEND_CUDA, error) : NULL;
    if (!pairs[m].cuda)
      return false;
  }
  return true;
}

int main(int argc, char **argv)
{
  Pair pairs[NUM_MODES] = {{NULL, NULL}};
  Cj2kError error = {0};
  bool mixed[2] = {false, false}; /* by `reversible` */
  guint step = argc > 1 && !strcmp(argv[1], "--short") ? SHORT_STEP : 1, count = 0, failed = 0;

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!open_pairs(pairs, &error)) {
    printf("1..0 # SKIP %s\n", error.text);
    close_pairs(pairs);
    return 0;
  }
  for (guint i = 0; i < G_N_ELEMENTS(films) * NUM_CODERS; i += step)
    failed += check_film(pairs, &films[i / NUM_CODERS], i % NUM_CODERS, mixed, &count);
  g_assert_true(mixed[0] && mixed[1]);
  printf("1..%u\n", count);
  close_pairs(pairs);
  return failed != 0;
}
