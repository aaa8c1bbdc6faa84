/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * encode-equal [--short] [--mq] [--component-streams]
 *
 * Compares the encoder's bytes on the GPU with those on the CPU over a table of layouts, sizes and
 * options, and the samples that both decoders give for them. --short: only some cases, for slow
 * tools; --mq: only MQ; --component-streams: that option is on. Prints TAP; skips if there is no
 * GPU.
 */
#include "common/runtime/spin.h"
#include "pictures.h"
#include "tests/support/frame-digest.h"
#include "tests/support/parameters.h"

#include <cuda_runtime_api.h>

/* -------------------------------------------------------------------------------- cases --- */

typedef struct {
  const char *format;
  uint32_t width, height;
  Cj2kRateControl rate;
  double value; /* quality, step, bits per pixel or dB */
  uint16_t block_width, block_height;
  uint8_t num_resolutions;
  uint32_t tile, x0, y0; /* tile size; offset of image and tiles */
  Cj2kMct mct;
  bool xyz;
  uint8_t precinct; /* log2 */
  bool mq;
  uint8_t style; /* MQ: CJ2K_STYLE_* */
  uint8_t layers;
  bool one_in_flight;
  bool csf;            /* visual weights */
  const char *options; /* set after all others: "name=value name=value" */
} Case;

#define SHORT_STEP 9
#define NUM_STYLES 64
#define STYLE_STEP 11 /* from case to case, so that every style occurs */
#define MAX_LAYERS 3

#define LOSSLESS   CJ2K_RATE_LOSSLESS, 0
#define QUALITY(q) CJ2K_RATE_QUALITY, q
#define QSTEP(s)   CJ2K_RATE_QSTEP, s
#define CBR(b)     CJ2K_RATE_CBR, b
#define PSNR(d)    CJ2K_RATE_PSNR, d

static const Case cases[] = {
    {"grey8", 64, 64, LOSSLESS, 64, 64, 1},
    {"grey8", 256, 200, LOSSLESS, 64, 64, 6},
    {"grey8", 256, 200, QUALITY(80), 64, 64, 6},
    {"grey8", 1, 1, LOSSLESS, 64, 64, 6},
    {"grey8", 1, 1, QUALITY(95), 64, 64, 3, 0, 1, 1},
    {"grey8", 1, 77, LOSSLESS, 64, 64, 6},
    {"grey8", 77, 1, LOSSLESS, 64, 64, 6},
    {"grey8", 1, 77, QUALITY(90), 32, 32, 4, 0, 3, 5},
    {"grey8", 77, 1, QUALITY(90), 32, 32, 4, 0, 3, 5},
    {"grey8", 2, 3, QUALITY(100), 32, 32, 6},
    {"grey8", 3, 2, LOSSLESS, 32, 32, 6, 0, 1, 0},
    {"grey8", 5, 7, LOSSLESS, 4, 4, 2},
    {"grey8", 9, 6, QUALITY(100), 4, 4, 3, 0, 1, 1},
    {"grey8", 121, 33, LOSSLESS, 32, 32, 5},
    {"grey8", 119, 35, QUALITY(90), 32, 32, 5, 0, 1, 1},
    {"grey8", 241, 67, QUALITY(70), 16, 256, 4, 0, 2, 3},
    {"grey8", 1200, 20, LOSSLESS, 1024, 4, 2},
    {"grey8", 20, 1200, QUALITY(95), 4, 1024, 2},
    {"grey8", 300, 90, LOSSLESS, 512, 8, 2},
    {"grey8", 161, 131, QUALITY(60), 64, 64, 5, 0, 0, 0, CJ2K_MCT_AUTO, false, 6},
    {"grey8", 320, 240, PSNR(38), 64, 64, 5},
    {"grey16", 130, 257, LOSSLESS, 64, 64, 6},
    {"grey16", 130, 257, QSTEP(1.0 / 65536), 64, 64, 6},
    {"grey12-signed", 97, 64, LOSSLESS, 32, 32, 4},
    {"grey12-signed", 97, 64, QUALITY(85), 32, 32, 4},
    {"rgb8", 128, 128, LOSSLESS, 64, 64, 6},
    {"rgb8", 133, 99, QUALITY(75), 64, 64, 6},
    {"rgb8", 133, 99, QUALITY(75), 64, 64, 1},
    {"rgb8", 133, 99, LOSSLESS, 64, 64, 1, 0, 0, 0, CJ2K_MCT_OFF},
    {"rgb12", 256, 144, LOSSLESS, 64, 64, 6},
    {"rgb12", 256, 144, QSTEP(1.0 / 4096), 64, 64, 6},
    {"rgb12", 256, 144, QSTEP(1.0 / 4096), 32, 32, 6},
    {"rgb12", 256, 144, CBR(4), 32, 32, 6},
    {"rgb12", 640, 360, CBR(2), 32, 32, 6},
    {"rgb12", 257, 143, CBR(1), 64, 64, 5, 0, 1, 1},
    {"rgb12", 200, 120, QUALITY(90), 64, 64, 4, 64, 0, 0},
    {"rgb12", 200, 120, LOSSLESS, 64, 64, 4, 61, 3, 5},
    {"rgb12", 200, 120, QUALITY(90), 32, 32, 3, 37, 3, 5, CJ2K_MCT_OFF},
    {"rgb12", 192, 108, QSTEP(1.0 / 1024), 32, 32, 6, 0, 0, 0, CJ2K_MCT_ON, true},
    {"rgb12", 192, 108, CBR(3), 32, 32, 6, 0, 0, 0, CJ2K_MCT_OFF, true},
    {"rgb12-be", 150, 81, QUALITY(85), 64, 64, 6},
    {"rgb8-packed", 150, 81, QUALITY(85), 64, 64, 6},
    {"rgb8-packed", 150, 81, LOSSLESS, 64, 64, 6},
    {"rgba8-packed", 150, 81, LOSSLESS, 64, 64, 6},
    {"rgba8-packed", 150, 81, QUALITY(50), 64, 64, 3, 50, 0, 0},
    {"yuv422p10", 260, 130, QUALITY(88), 64, 64, 6},
    {"yuv422p10", 260, 130, LOSSLESS, 32, 32, 6},
    {"yuv422p10", 262, 131, CBR(3), 64, 64, 5},
    {"uyvy", 260, 64, QUALITY(80), 64, 64, 6},
    {"v210", 260, 64, QUALITY(80), 64, 64, 6},
    {"v210", 192, 108, LOSSLESS, 64, 64, 6},
    {"uyvp", 192, 108, QUALITY(80), 64, 64, 6},
    {"rgb12", 150, 1090, QUALITY(90), 64, 64, 6},
    {"rgb12", 150, 1090, LOSSLESS, 32, 32, 6, 0, 1, 1},
    {"rgb8-packed", 100, 515, CBR(3), 64, 64, 3},
    {"yuv422p10", 150, 1031, QUALITY(90), 32, 64, 2, 0, 0, 3},
    {"yuv422p10", 150, 1031, CBR(2), 64, 64, 6},
    {"v210", 150, 259, QUALITY(90), 64, 64, 6},
    {"v210", 161, 514, LOSSLESS, 32, 32, 4},
    {"rgb12", 257, 143, CBR(2), 64, 64, 5, .csf = true},
    {"rgb12", 200, 120, CBR(9), 32, 32, 4, .tile = 64, .mct = CJ2K_MCT_OFF, .csf = true},
    {"rgb12", 192, 108, CBR(3), 32, 32, 6, .xyz = true, .csf = true},
    {"yuv422p10", 262, 131, CBR(1), 64, 64, 5, .csf = true},
    {"grey8", 320, 240, PSNR(38), 64, 64, 5, .csf = true},
    {"rgb8", 133, 99, QUALITY(75), 64, 64, 6, .csf = true},
    {"rgb8", 133, 99, LOSSLESS, 64, 64, 6, .csf = true},
    /* Ceilings: one that does not bind, then with all targets one that does. */
    {"rgb12", 257, 143, QUALITY(80), 64, 64, 5, .options = "bits-per-pixel=30"},
    {"rgb12", 257, 143, QUALITY(90), 64, 64, 5, .options = "bits-per-pixel=1.5"},
    {"rgb8", 133, 99, QUALITY(90), 32, 32, 6, .options = "max-frame-bytes=2500", .csf = true},
    {"yuv422p10", 262, 131, PSNR(46), 64, 64, 5, .options = "bitrate=1500 framerate=25"},
    {"grey16", 130, 257, QSTEP(1.0 / 4096), 64, 64, 6, .options = "bits-per-pixel=2"},
    {"rgb12", 200, 120, PSNR(50), 32, 32, 4, .tile = 64, .options = "max-component-bytes=4000"},
    {"rgb12", 257, 143, CBR(0), 64, 64, 5, .options = "average-bitrate=1500 framerate=25"},
    {"v210", 161, 514, CBR(0), 32, 32, 4,
     .options = "average-bitrate=4000 bitrate=5000 framerate=25 average-window=16"},
    {"yuv422p10", 150, 1031, QUALITY(90), 32, 64, 5,
     .options = "average-bitrate=3000 framerate=25"},
    {"rgb12", 257, 143, CBR(2), 32, 32, 5, .options = "roi=40,20,100,80,16"},
    {"rgb12", 200, 120, CBR(3), 32, 32, 4, .tile = 61, .x0 = 3, .y0 = 5, .csf = true,
     .options = "roi=0,0,90,200,0.25;60,50,300,30,64"},
    {"yuv422p10", 262, 131, CBR(2), 64, 64, 5, .options = "roi=100,0,60,131,8"},
    {"rgb12", 640, 360, CBR(2), 64, 64, 6, .options = "rate-effort=best"},
    {"rgb12", 640, 360, CBR(3), 32, 32, 6, .one_in_flight = true, .options = "rate-effort=best"},
    {"rgb12", 257, 143, CBR(1), 64, 64, 5, 0, 1, 1, .options = "rate-effort=best"},
    {"grey8", 241, 67, QUALITY(70), 16, 256, 4, 0, 2, 3, .options = "rate-effort=best"},
    {"grey8", 20, 1200, QUALITY(95), 4, 1024, 2, .options = "rate-effort=best"},
    {"grey8", 1200, 20, QUALITY(95), 1024, 4, 2, .options = "rate-effort=best"},
    {"grey8", 9, 6, QUALITY(100), 4, 4, 3, 0, 1, 1, .options = "rate-effort=best"},
    {"grey8", 1, 1, QUALITY(95), 64, 64, 3, 0, 1, 1, .options = "rate-effort=best"},
    {"grey8", 320, 240, PSNR(38), 64, 64, 5, .options = "rate-effort=best"},
    {"grey16", 130, 257, QSTEP(1.0 / 65536), 64, 64, 6, .options = "rate-effort=best"},
    {"yuv422p10", 150, 1031, CBR(2), 64, 64, 6, .options = "rate-effort=best"},
    {"yuv422p10", 262, 131, CBR(3), 32, 32, 5, .csf = true, .options = "rate-effort=best"},
    {"v210", 161, 514, CBR(4), 32, 32, 4, .options = "rate-effort=best"},
    {"rgb12", 200, 120, QUALITY(90), 32, 32, 3, 37, 3, 5, CJ2K_MCT_OFF,
     .options = "rate-effort=best"},
    {"rgb12", 257, 143, QUALITY(90), 64, 64, 5, .options = "bits-per-pixel=1.5 rate-effort=best"},
    {"rgb12", 257, 143, CBR(2), 32, 32, 5, .options = "roi=40,20,100,80,16 rate-effort=best"},
    {"rgb12", 192, 108, CBR(3), 32, 32, 6, .layers = 3, .options = "rate-effort=best"},
};

static Cj2kComponentStreams component_streams; /* of all encoders */

static void set_params(const Case *test, Cj2kBackendKind backend, Cj2kEncoderParams *params)
{
  cj2k_encoder_params_init(params);
  params->backend = backend;
  params->component_streams = component_streams;
  params->block_coder = test->mq ? CJ2K_CODER_MQ : CJ2K_CODER_HT;
  params->codeblock_style = test->style;
  params->num_layers = (uint16_t)MAX(test->layers, 1);
  params->rate_control = test->rate;
  /* With one frame in flight and low latency pictures are cut into slices. */
  params->frames_in_flight = test->one_in_flight ? 1 : 2;
  params->low_latency = test->one_in_flight;
  if (test->rate == CJ2K_RATE_QUALITY)
    params->quality = (uint32_t)test->value;
  params->quant_step = test->rate == CJ2K_RATE_QSTEP ? test->value : 0;
  params->bits_per_pixel = test->rate == CJ2K_RATE_CBR ? test->value : 0;
  params->psnr = test->rate == CJ2K_RATE_PSNR ? test->value : 0;
  params->codeblock_width = test->block_width;
  params->codeblock_height = test->block_height;
  params->num_resolutions = test->num_resolutions;
  params->tile_width = params->tile_height = test->tile;
  params->image_x0 = params->tile_x0 = test->x0;
  params->image_y0 = params->tile_y0 = test->y0;
  params->mct = test->mct;
  params->visual_weights = test->csf ? CJ2K_VISUAL_CSF : CJ2K_VISUAL_AUTO;
  params->rgb_to_xyz = test->xyz;
  if (test->rate == CJ2K_RATE_CBR)
    params->xyz_transfer = test->csf ? CJ2K_TRANSFER_PQ : CJ2K_TRANSFER_SRGB;
  if (test->csf)
    params->xyz_primaries = CJ2K_PRIMARIES_P3_DCI;
  if (test->precinct) {
    params->num_precincts = 1;
    params->precinct_width[0] = params->precinct_height[0] = test->precinct;
  }
  if (test->options)
    test_set_options(params, test->options);
}

static Cj2kEncoder *open_encoder(const Case *test, const Format *format, Cj2kBackendKind backend,
                                 Cj2kError *error)
{
  PictureKind kind;
  Cj2kEncoderParams params;

  picture_kind_init(&kind, format, test->width, test->height);
  set_params(test, backend, &params);
  return cj2k_encoder_open(&params, &kind.image, &kind.layout, error);
}

/* Copies a picture's planes into memory that the encoder allocates; false: there is none. */
static bool copy_planes(Cj2kEncoder *encoder, Cj2kMemoryKind kind, uint32_t height,
                        const Picture *from, Picture *to)
{
  *to = *from;
  to->picture.planes = to->planes;
  to->picture.memory = kind;
  for (uint32_t p = 0; p < from->picture.num_planes; p++)
    to->planes[p].data = NULL; /* what is freed if an allocation fails */
  for (uint32_t p = 0; p < from->picture.num_planes; p++) {
    size_t size = from->planes[p].pitch * height;
    to->planes[p].data = cj2k_encoder_alloc(encoder, kind, size);
    if (!to->planes[p].data || cudaMemcpy(to->planes[p].data, from->planes[p].data, size,
                                          cudaMemcpyDefault) != cudaSuccess)
      return false;
  }
  return true;
}

static bool encode_one(Cj2kEncoder *encoder, const Picture *picture, GByteArray *bytes,
                       Cj2kError *why)
{
  Cj2kPacket packet;

  if (cj2k_encoder_submit(encoder, &picture->picture, NULL, why) != CJ2K_OK ||
      cj2k_encoder_receive(encoder, &packet) != CJ2K_OK)
    return false;
  bool ok = packet.status == CJ2K_OK && !packet.fallback;
  *why = packet.error;
  if (packet.fallback)
    g_strlcpy(why->text, "done by the CPU in place of the GPU", sizeof why->text);
  g_byte_array_append(bytes, packet.data, (guint)packet.size);
  cj2k_encoder_release(encoder, &packet);
  return ok;
}

/* Encodes a frame from host memory and one from memory of `kind`, in the same slot, so that the
 * second also meets the contents that the first left there. NULL: the encoder failed, *why has the
 * error. */
static GByteArray *encode(const Case *test, const Format *format, Cj2kBackendKind backend,
                          const Picture *picture, Cj2kMemoryKind kind, Cj2kError *why)
{
  Cj2kEncoder *encoder = open_encoder(test, format, backend, why);
  GByteArray *bytes = g_byte_array_new();
  Picture copied = {0};
  bool ok = encoder && encode_one(encoder, picture, bytes, why);

  if (ok && kind != CJ2K_MEMORY_HOST)
    ok = copy_planes(encoder, kind, test->height, picture, &copied);
  if (ok)
    ok = encode_one(encoder, kind == CJ2K_MEMORY_HOST ? picture : &copied, bytes, why);
  for (uint32_t p = 0; p < copied.picture.num_planes; p++)
    cj2k_encoder_free(encoder, kind, copied.planes[p].data);
  cj2k_encoder_close(encoder);
  if (!ok)
    g_clear_pointer(&bytes, g_byte_array_unref);
  return bytes;
}

static bool compare(const GByteArray *cpu, const GByteArray *cuda)
{
  guint first = 0, shorter = MIN(cpu->len, cuda->len);

  while (first < shorter && cpu->data[first] == cuda->data[first])
    first++;
  if (cpu->len == cuda->len && first == cpu->len)
    return true;
  printf("# %u bytes on the CPU, %u on the GPU, different from byte %u on\n", cpu->len, cuda->len,
         first);
  return false;
}

/* A digest of the samples of the frame at the start of these bytes; NULL: they cannot be
 * decoded. */
static char *decode(const GByteArray *bytes, Cj2kBackendKind backend, Cj2kError *why)
{
  Cj2kDecoderParams params;
  Cj2kFrame frame;
  char *digest = NULL;

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.frames_in_flight = 1;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, why);
  if (!decoder)
    return NULL;
  if (cj2k_decoder_submit(decoder, bytes->data, bytes->len, NULL, NULL, NULL, why) == CJ2K_OK &&
      cj2k_decoder_receive(decoder, &frame) == CJ2K_OK) {
    *why = frame.error;
    if (frame.status == CJ2K_OK && !frame.fallback && !frame.corrupt_blocks)
      digest = test_frame_digest(&frame);
    cj2k_decoder_release(decoder, &frame);
  }
  cj2k_decoder_close(decoder);
  return digest;
}

/* Compares both decoders on the codestreams, which are the same from both encoders. */
static bool compare_decoded(const GByteArray *bytes)
{
  Cj2kError why = {0};
  char *cpu = decode(bytes, CJ2K_BACKEND_CPU, &why), *cuda = decode(bytes, CJ2K_BACKEND_CUDA, &why);
  bool ok = cpu && cuda && !strcmp(cpu, cuda);

  if (!ok)
    printf("# decoded: %s on the CPU, %s on the GPU; %s\n", cpu ? cpu : "nothing",
           cuda ? cuda : "nothing", why.text);
  g_free(cpu);
  g_free(cuda);
  return ok;
}

static bool check_case(const Case *test, Cj2kMemoryKind kind)
{
  const Format *format = find_format(test->format);
  Cj2kError why = {0};
  Picture picture;
  bool ok = false;

  picture_init(&picture, format, test->width, test->height);
  GByteArray *cpu = encode(test, format, CJ2K_BACKEND_CPU, &picture, CJ2K_MEMORY_HOST, &why);
  GByteArray *cuda = cpu ? encode(test, format, CJ2K_BACKEND_CUDA, &picture, kind, &why) : NULL;
  if (cpu && cuda)
    ok = compare(cpu, cuda) && compare_decoded(cpu);
  else
    printf("# %s: %s\n", cpu ? "GPU" : "CPU", why.text);
  g_clear_pointer(&cpu, g_byte_array_unref);
  g_clear_pointer(&cuda, g_byte_array_unref);
  picture_clear(&picture);
  return ok;
}

/* Encodes a picture in memory of this kind with options of which the GPU lacks something. In host
 * memory it has the CPU's bytes, and says that it fell back; in device memory it is an error that
 * names what is missing. */
static bool check_fallback_in(Cj2kEncoder *encoder, const Picture *picture, Cj2kMemoryKind kind,
                              uint32_t height, const GByteArray *cpu, const char *word)
{
  Picture copied = {0};
  Cj2kPacket packet;
  Cj2kError why = {0};
  bool ok = copy_planes(encoder, kind, height, picture, &copied);

  if (ok && cj2k_encoder_submit(encoder, &copied.picture, NULL, &why) == CJ2K_OK &&
      cj2k_encoder_receive(encoder, &packet) == CJ2K_OK) {
    if (kind == CJ2K_MEMORY_CUDA)
      ok = packet.status == CJ2K_ERROR_UNSUPPORTED;
    else
      ok = packet.status == CJ2K_OK && packet.fallback && packet.size == cpu->len &&
           !memcmp(packet.data, cpu->data, cpu->len);
    ok = ok && strstr(packet.error.text, word);
    why = packet.error;
    cj2k_encoder_release(encoder, &packet);
  } else {
    ok = false;
  }
  if (!ok)
    printf("# memory %d: %s\n", kind, why.text);
  for (uint32_t p = 0; p < copied.picture.num_planes; p++)
    cj2k_encoder_free(encoder, kind, copied.planes[p].data);
  return ok;
}

static bool check_fallback(const char *options, const char *word)
{
  const Case test = {"rgb12", 192, 108, CBR(3), 32, 32, 6, .options = options};
  const Format *format = find_format(test.format);
  Cj2kError why = {0};
  Picture picture;

  picture_init(&picture, format, test.width, test.height);
  GByteArray *cpu = g_byte_array_new();
  Cj2kEncoder *on_cpu = open_encoder(&test, format, CJ2K_BACKEND_CPU, &why);
  Cj2kEncoder *encoder = open_encoder(&test, format, CJ2K_BACKEND_CUDA, &why);
  bool ok = on_cpu && encoder && encode_one(on_cpu, &picture, cpu, &why);
  if (!ok)
    printf("# %s\n", why.text);
  ok = ok && check_fallback_in(encoder, &picture, CJ2K_MEMORY_PINNED, test.height, cpu, word) &&
       check_fallback_in(encoder, &picture, CJ2K_MEMORY_CUDA, test.height, cpu, word);
  cj2k_encoder_close(on_cpu);
  cj2k_encoder_close(encoder);
  g_byte_array_unref(cpu);
  picture_clear(&picture);
  return ok;
}

/* What falls back to the CPU. Returns the number of failures and adds to *count. */
static guint check_fallbacks(guint *count)
{
  static const struct {
    const char *options, *word;
  } all[] = {{"rgb-to-xyz=on xyz-transfer=hlg", "HLG"}};
  guint failed = 0;

  for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
    bool ok = check_fallback(all[i].options, all[i].word);
    failed += !ok;
    printf("%s %u - %s falls back to the CPU\n", ok ? "ok" : "not ok", ++*count, all[i].options);
  }
  return failed;
}

static const char *const rates[] = {"quality", "lossless", "cbr", "qstep", "psnr"};

/* Shares of MQ blocks that are retained: almost nothing, some passes, everything; with segments
 * that end inside a block, and with layers. */
#define BYPASS  CJ2K_STYLE_BYPASS
#define TERMALL CJ2K_STYLE_TERMALL
static const Case retained_cases[] = {
    {"rgb12", 640, 360, CBR(0.02), 32, 32, 6},
    {"rgb12", 640, 360, CBR(0.5), 32, 32, 6, .style = BYPASS},
    {"rgb12", 643, 359, CBR(0.5), 16, 16, 6, .style = TERMALL, .layers = 2},
    {"rgb12", 643, 359, CBR(4), 32, 32, 6, .style = BYPASS | TERMALL | CJ2K_STYLE_PTERM},
    {"rgb12", 643, 359, CBR(9), 32, 32, 6, .style = BYPASS, .layers = 5},
    {"rgb12", 640, 360, CBR(1), 64, 64, 6, .layers = 12},
    {"rgb12", 640, 360, CBR(30), 64, 64, 6},
    {"rgb12", 640, 360, CBR(30), 64, 64, 6, .style = BYPASS, .layers = 3},
    {"grey8", 61, 63, CBR(0.7), 64, 64, 1},
    {"grey8", 61, 63, CBR(3), 64, 64, 1, .style = BYPASS, .layers = 2},
    {"grey8", 37, 211, CBR(1), 4, 4, 3},
    {"grey16", 333, 217, CBR(5), 64, 32, 4, .style = TERMALL, .x0 = 7, .y0 = 3},
    {"rgb8", 320, 240, QUALITY(90), 32, 32, 5, .layers = 4},
    {"rgb8", 320, 240, LOSSLESS, 32, 32, 5, .style = BYPASS},
    {"rgb8", 320, 240, LOSSLESS, 32, 32, 5, .style = BYPASS, .layers = 3},
};

/* Frames in slices, which exclude layers. */
#define SLICES "slices=true progression-order=pcrl "
static const Case sliced_cases[] = {
    {"rgb12", 257, 143, CBR(2), 32, 32, 5, .precinct = 6, .options = SLICES},
    {"yuv422p10", 262, 331, CBR(1), 128, 16, 4, .csf = true,
     .options = SLICES "precincts=1024x32,512x16,256x8,128x4 sop=true eph=true"},
    {"v210", 161, 514, LOSSLESS, 32, 32, 4, .precinct = 6, .options = SLICES},
    {"rgb12", 257, 143, QUALITY(80), 32, 32, 5, .precinct = 6, .mq = true, .options = SLICES},
    {"yuv422p10", 262, 331, LOSSLESS, 16, 64, 4, .precinct = 6, .mq = true, .style = TERMALL,
     .options = SLICES},
    {"rgb12", 257, 143, CBR(2), 32, 32, 5, .precinct = 6, .mq = true, .options = SLICES},
    {"yuv422p10", 262, 331, CBR(1), 128, 16, 4, .csf = true, .mq = true, .style = BYPASS,
     .options = SLICES "precincts=1024x32,512x16,256x8,128x4 sop=true eph=true"},
    {"grey8", 1, 1, LOSSLESS, 64, 64, 6, .options = SLICES},
};

/* The case with this number: all cases with HT, then all with MQ and changing styles, then one
 * picture with each style, then `retained_cases` and `sliced_cases`. */
static bool get_case(guint index, Case *test)
{
  static const Case styled[] = {
      {"rgb12", 150, 70, LOSSLESS, 32, 32, 4},   {"grey8", 200, 90, QUALITY(90), 64, 64, 3},
      {"yuv422p10", 160, 80, CBR(3), 64, 16, 4}, {"grey16", 100, 61, LOSSLESS, 64, 64, 2},
      {"rgb8", 130, 77, CBR(6), 16, 32, 5},
  };
  guint count = G_N_ELEMENTS(cases);

  if (index < 2 * count) {
    *test = cases[index % count];
    test->mq = index >= count;
    test->style = test->mq ? index * STYLE_STEP % NUM_STYLES : 0;
    test->layers = (uint8_t)(test->mq ? 1 + index % MAX_LAYERS : 1);
    return true;
  }
  index -= 2 * count;
  if (index >= NUM_STYLES) {
    index -= NUM_STYLES;
    if (index >= G_N_ELEMENTS(retained_cases)) {
      index -= G_N_ELEMENTS(retained_cases);
      *test = sliced_cases[index % G_N_ELEMENTS(sliced_cases)];
      return index < G_N_ELEMENTS(sliced_cases);
    }
    *test = retained_cases[index];
    test->mq = true;
    return true;
  }
  *test = styled[index % G_N_ELEMENTS(styled)];
  test->mq = true;
  test->style = (uint8_t)index;
  return true;
}

/* Joins or leaves as many codecs as crowd the process: then a picture is not cut into slices even
 * with one frame in flight. */
static void crowd(void (*change)(void))
{
  for (guint i = 0; change && i <= g_get_num_processors(); i++)
    change();
}

int main(int argc, char **argv)
{
  Cj2kError error = {0};
  guint step = 1, first = 0, count = 0, failed = 0;
  Case c;

  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--short"))
      step = SHORT_STEP;
    else if (!strcmp(argv[i], "--mq"))
      first = G_N_ELEMENTS(cases);
    else if (!strcmp(argv[i], "--component-streams"))
      component_streams = CJ2K_COMPONENT_STREAMS_ON;
  }
  Cj2kEncoder *probe =
      open_encoder(&cases[0], find_format(cases[0].format), CJ2K_BACKEND_CUDA, &error);
  if (!probe) {
    printf("1..0 # SKIP %s\n", error.text);
    return 0;
  }
  cj2k_encoder_close(probe);
  for (guint i = first; get_case(i, &c); i += step) {
    c.one_in_flight = i & 2;
    crowd(i & 4 ? cj2k_spin_join : NULL);
    bool ok = check_case(&c, i & 1 ? CJ2K_MEMORY_PINNED : CJ2K_MEMORY_CUDA);
    crowd(i & 4 ? cj2k_spin_leave : NULL);
    failed += !ok;
    printf("%s %u - %s %ux%u %s %g, blocks %ux%u, %u resolutions, tiles %u, offset %u",
           ok ? "ok" : "not ok", ++count, c.format, c.width, c.height, rates[c.rate], c.value,
           c.block_width, c.block_height, c.num_resolutions, c.tile, c.x0);
    if (c.options)
      printf(", %s", c.options);
    if (c.mq)
      printf(", MQ, style 0x%02x, %u layers", c.style, MAX(c.layers, 1u));
    printf("\n");
  }
  failed += check_fallbacks(&count);
  printf("1..%u\n", count);
  return failed != 0;
}
