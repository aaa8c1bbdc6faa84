/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes the first inputs of the fuzz targets: make-seeds FOLDER makes a folder for each target.
 * They are codestreams of this project's encoder in all its styles, code-blocks in the form of
 * block-input.h, RTP packets, and strings from the tables of options and formats.
 */
#include "block-input.h"
#include "common/options/decoder_options.h"
#include "common/rtp/packetise.h"
#include "picture-input.h"
#include "tests/support/pack-headers.h"

static const char *root;

static void save(const char *target, const char *name, const void *data, size_t size)
{
  gchar *folder = g_build_filename(root, target, NULL);
  gchar *path = g_build_filename(folder, name, NULL);
  GError *error = NULL;
  if (g_mkdir_with_parents(folder, 0777) || !g_file_set_contents(path, data, (gssize)size, &error))
    g_error("%s: %s", path, error ? error->message : "no folder");
  g_free(path);
  g_free(folder);
}

/* ---------------------------------------------------------------------------- codestreams --- */

/* Options of the encoder, and the picture: width, height, components, depth. */
static const struct {
  const char *name, *options;
  uint32_t width, height, components;
  uint8_t depth;
  Cj2kFileFormat format;
} streams[] = {
    {"mq", "num-resolutions=3", 24, 17, 3, 8, CJ2K_FILE_J2K},
    {"ht", "block-coder=ht num-resolutions=3", 24, 17, 3, 8, CJ2K_FILE_J2K},
    {"mq-styles", "codeblock-style=bypass+reset+termall+causal+pterm+segmark rate-control=lossless",
     21, 19, 1, 12, CJ2K_FILE_J2K},
    {"plt", "plt=true num-resolutions=3 codeblock-width=8 codeblock-height=8", 40, 37, 3, 8,
     CJ2K_FILE_J2K},
    {"plt-bypass", "plt=true codeblock-style=bypass rate-control=lossless eph=true", 33, 21, 3, 12,
     CJ2K_FILE_J2K},
    {"parts-cprl", "block-coder=ht progression-order=cprl tile-parts=component num-resolutions=2",
     24, 17, 3, 8, CJ2K_FILE_J2K},
    {"mq-bypass", "codeblock-style=bypass rate-control=lossless codeblock-width=16", 30, 9, 1, 14,
     CJ2K_FILE_J2K},
    {"ht-causal", "block-coder=ht codeblock-style=causal rate-control=lossless", 21, 19, 1, 16,
     CJ2K_FILE_J2K},
    {"ht-cbr", "block-coder=ht max-frame-bytes=400", 40, 30, 1, 8, CJ2K_FILE_J2K},
    {"mq-cbr", "max-frame-bytes=300 num-layers=3", 40, 30, 1, 8, CJ2K_FILE_J2K},
    {"tiles", "tile-width=13 tile-height=11 num-resolutions=2 sop=true eph=true", 30, 22, 3, 8,
     CJ2K_FILE_J2K},
    {"parts",
     "tile-parts=resolution+layer+component num-layers=2 num-resolutions=2 tlm=true plt=true", 20,
     20, 3, 8, CJ2K_FILE_J2K},
    {"precincts", "precincts=16x16,8x8 progression-order=rpcl num-resolutions=3 sop=true", 50, 40,
     1, 8, CJ2K_FILE_J2K},
    {"pcrl", "precincts=16x8 progression-order=pcrl num-resolutions=2 num-layers=2", 40, 20, 3, 8,
     CJ2K_FILE_J2K},
    {"cprl", "precincts=8x16 progression-order=cprl num-resolutions=2 eph=true", 40, 20, 2, 10,
     CJ2K_FILE_J2K},
    {"rlcp", "progression-order=rlcp num-layers=4 block-coder=ht rate-control=quality quality=30",
     33, 31, 1, 8, CJ2K_FILE_J2K},
    {"one", "num-resolutions=1", 1, 1, 1, 1, CJ2K_FILE_J2K},
    {"jp2", "num-resolutions=2 rate-control=lossless", 9, 7, 3, 8, CJ2K_FILE_JP2},
    {"jp2-alpha", "num-resolutions=2", 9, 7, 4, 8, CJ2K_FILE_JP2},
    {"jph", "block-coder=ht num-resolutions=2", 9, 7, 1, 12, CJ2K_FILE_JPH},
    {"deep", "rate-control=lossless num-resolutions=2", 12, 12, 1, 16, CJ2K_FILE_J2K},
    {"deep-ht", "rate-control=lossless num-resolutions=2 block-coder=ht", 12, 12, 1, 16,
     CJ2K_FILE_J2K},
    {"offset",
     "image-offset-x=5 image-offset-y=3 tile-offset-x=2 tile-width=16 rate-control=lossless", 30,
     10, 1, 8, CJ2K_FILE_J2K},
};

static void set_options(Cj2kEncoderParams *params, const char *options)
{
  Cj2kError error = {0};
  gchar **list = g_strsplit(options, " ", -1);
  for (int i = 0; list[i]; i++) {
    gchar **pair = g_strsplit(list[i], "=", 2);
    if (cj2k_encoder_params_set(params, pair[0], pair[1], &error) != CJ2K_OK)
      g_error("%s", error.text);
    g_strfreev(pair);
  }
  g_strfreev(list);
}

/* A picture with flat parts, edges and noise. */
static void make_picture(FuzzPicture *p, uint32_t index, const Cj2kEncoderParams *params)
{
  uint32_t noise = 12345;
  memset(p, 0, sizeof *p);
  p->image = (Cj2kEncoderImage){.width = streams[index].width,
                                .height = streams[index].height,
                                .num_components = streams[index].components,
                                .components = p->components,
                                .colour = streams[index].components >= 3 ? CJ2K_COLOUR_SRGB
                                                                         : CJ2K_COLOUR_GREY};
  for (uint32_t c = 0; c < p->image.num_components; c++) {
    p->components[c] = (Cj2kComponent){.dx = 1, .dy = 1, .depth = streams[index].depth};
    p->samples[c] = (Cj2kSampleLayout){.plane = (uint16_t)c,
                                       .unit_bytes = 4,
                                       .unit_samples = 1,
                                       .word_bytes = 4,
                                       .depth = streams[index].depth};
  }
  p->layout = (Cj2kLayout){.num_components = p->image.num_components,
                           .num_planes = p->image.num_components,
                           .samples = p->samples};
  FuzzInput none = {NULL, NULL};
  fuzz_fill_planes(p, params, &none);
  for (uint32_t c = 0; c < p->image.num_components; c++)
    for (uint32_t i = 0; i < p->image.width * p->image.height; i++) {
      noise = noise * 1664525 + 1013904223;
      uint32_t value = i % p->image.width < 8 ? 77u * c
                       : i % 16 < 4           ? noise >> 8
                                              : i * 1000 * (c + 1);
      ((uint32_t *)p->planes[c].data)[i] =
          value & (uint32_t)((UINT64_C(1) << streams[index].depth) - 1);
    }
}

static GBytes *encode(uint32_t index)
{
  FuzzPicture picture;
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kPacket packet;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = 1;
  params.file_format = streams[index].format;
  set_options(&params, streams[index].options);
  make_picture(&picture, index, &params);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  if (!encoder || cj2k_encoder_submit(encoder, &picture.picture, NULL, &error) != CJ2K_OK ||
      cj2k_encoder_receive(encoder, &packet) != CJ2K_OK || packet.status != CJ2K_OK)
    g_error("%s: %s", streams[index].name, error.text);
  GBytes *bytes = g_bytes_new(packet.data, packet.size);
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
  fuzz_picture_clear(&picture);
  return bytes;
}

/* The packets of a codestream as fuzz-rtp reads them. */
static void save_rtp(const char *name, const uint8_t *data, size_t size)
{
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kRtpPayloads payloads = {0};
  Cj2kRtpMap map;
  GByteArray *out = g_byte_array_new();
  static const uint8_t params[] = {8, 7, 0};

  if (cj2k_rtp_locate(locator, data, size, &map, NULL) != CJ2K_OK)
    g_error("%s: packets not found", name);
  cj2k_rtp_packetise(&map, 150, &payloads);
  g_byte_array_append(out, params, sizeof params);
  for (uint32_t i = 0; i < payloads.count; i++) {
    const Cj2kRtpPayload *payload = &payloads.payloads[i];
    uint32_t bytes = CJ2K_RTP_HEADER_BYTES + payload->size;
    uint8_t head[3 + CJ2K_RTP_HEADER_BYTES] = {
        (uint8_t)(1 + (i % 7 == 5) + (i + 1 == payloads.count ? 16 : 0)), (uint8_t)bytes,
        (uint8_t)(bytes >> 8)};
    cj2k_rtp_header_write(&payload->header, head + 3);
    g_byte_array_append(out, head, sizeof head);
    g_byte_array_append(out, data + payload->offset, payload->size);
  }
  gchar *file = g_strconcat("packets-", name, NULL);
  save("fuzz-rtp", file, out->data, out->len);
  g_free(file);
  g_byte_array_unref(out);
  cj2k_rtp_payloads_clear(&payloads);
  cj2k_rtp_locator_free(locator);
}

/* The same codestream with packed packet headers. */
static void save_packed(const char *name, uint16_t marker, const uint8_t *data, size_t size)
{
  static const char *const targets[] = {"fuzz-packets", "fuzz-frame", "fuzz-rtp"};
  GArray *places = g_array_new(FALSE, FALSE, sizeof(PackedPacket));
  GBytes *bytes = pack_headers(data, size, marker, places);
  gchar *file = g_strconcat("packed-", name, NULL);
  gsize packed_size;
  const uint8_t *packed = g_bytes_get_data(bytes, &packed_size);
  for (uint32_t t = 0; t < G_N_ELEMENTS(targets); t++)
    save(targets[t], file, packed, packed_size);
  save_rtp(file, packed, packed_size);
  g_free(file);
  g_bytes_unref(bytes);
  g_array_unref(places);
}

static void make_codestreams(void)
{
  static const char *const targets[] = {"fuzz-headers", "fuzz-packets", "fuzz-parts",
                                        "fuzz-frame",   "fuzz-threads", "fuzz-rtp"};
  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++) {
    GBytes *bytes = encode(i);
    gsize size;
    const uint8_t *data = g_bytes_get_data(bytes, &size);
    save("fuzz-boxes", streams[i].name, data, size);
    if (streams[i].format != CJ2K_FILE_J2K) {
      save("fuzz-frame", streams[i].name, data, size);
    } else {
      for (uint32_t t = 0; t < G_N_ELEMENTS(targets); t++)
        save(targets[t], streams[i].name, data, size);
      save_rtp(streams[i].name, data, size);
      save_packed(streams[i].name, i % 2 ? CJ2K_PPM : CJ2K_PPT, data, size);
    }
    g_bytes_unref(bytes);
  }
}

/* ---------------------------------------------------------------------------- code-blocks --- */

static void save_block(const char *target, const char *name, const Cj2kBlockSource *source,
                       const Cj2kBlockResult *result, const Cj2kSegment *segments, uint32_t count,
                       const uint8_t *data)
{
  GByteArray *out = g_byte_array_new();
  uint8_t head[8] = {source->style,
                     source->orientation,
                     (uint8_t)(source->width - 1),
                     (uint8_t)(source->height - 1),
                     source->num_bitplanes,
                     result->zero_bitplanes,
                     result->num_passes,
                     (uint8_t)count};
  g_byte_array_append(out, head, sizeof head);
  for (uint32_t i = 0; i < count; i++) {
    uint8_t segment[3] = {(uint8_t)segments[i].length, (uint8_t)(segments[i].length >> 8),
                          (uint8_t)segments[i].passes};
    g_byte_array_append(out, segment, sizeof segment);
  }
  g_byte_array_append(out, data, result->length);
  save(target, name, out->data, out->len);
  g_byte_array_unref(out);
}

/* The segments that the passes make; false: more than an input can hold. */
static uint32_t make_segments(const Cj2kPassEnd *passes, uint32_t count, Cj2kSegment *segments)
{
  uint32_t n = 0, begun = 0, offset = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!passes[i].terminated && i + 1 < count)
      continue;
    if (n == FUZZ_BLOCK_SEGMENTS)
      break;
    segments[n++] = (Cj2kSegment){passes[i].length - offset, i + 1 - begun};
    offset = passes[i].length;
    begun = i + 1;
  }
  return n;
}

static void make_blocks(void)
{
  static uint32_t samples[32 * 32];
  static uint8_t out[1 << 16];
  Cj2kBlockScratch *scratch = cj2k_block_scratch_new();
  Cj2kPassEnd passes[CJ2K_MAX_PASSES];
  Cj2kSegment segments[FUZZ_BLOCK_SEGMENTS];
  Cj2kBlockResult result;
  uint32_t noise = 1;

  for (uint32_t i = 0; i < 48; i++) {
    uint32_t planes = 3 + i % 9;
    Cj2kBlockSource source = {.samples = samples,
                              .width = (uint16_t)(1 + (i * 7 + 3) % 32),
                              .height = (uint16_t)(1 + (i * 5 + 4) % 32),
                              .num_bitplanes = (uint8_t)planes,
                              .orientation = i & 3,
                              .style = (uint8_t)(i < 24 ? i & 0x3f : (i * 5) & 0x3f)};
    source.stride = source.width;
    for (uint32_t s = 0; s < (uint32_t)source.width * source.height; s++) {
      noise = noise * 1664525 + 1013904223;
      samples[s] = noise >> 28 < 8 ? 0 : (noise & 0x80000000) | (noise >> 8) % (1u << planes);
    }
    gchar *name = g_strdup_printf("block-%02u", i);
    if (cj2k_mq_encode_block(scratch, &source, 0, out, sizeof out, passes, &result))
      save_block("fuzz-mq-block", name, &source, &result, segments,
                 make_segments(passes, result.num_passes, segments), out);
    if (cj2k_ht_encode_block(scratch, &source, (uint8_t)(i % 3), i % 3 ? 2 : 0, out, sizeof out,
                             passes, &result)) {
      uint32_t cleanup = passes[0].length;
      segments[0] = (Cj2kSegment){cleanup, 1};
      segments[1] = (Cj2kSegment){result.length - cleanup, result.num_passes - 1u};
      save_block("fuzz-ht-block", name, &source, &result, segments, result.num_passes > 1 ? 2 : 1,
                 out);
    }
    g_free(name);
  }
  cj2k_block_scratch_free(scratch);
}

/* -------------------------------------------------------------------------------- strings --- */

static void save_option(char letter, const Cj2kOption *o)
{
  gchar *file = g_strdup_printf("option-%c-%s", letter, o->name);
  GString *text = g_string_new(NULL);
  char standard[200];
  cj2k_option_default(o, standard, sizeof standard);
  g_string_append_printf(text, "%c %s=%s\n", letter, o->name, standard);
  g_string_append_printf(text, "%c %s=%g\n", letter, o->name, o->max);
  for (const Cj2kOptionWord *word = o->words; word && word->name; word++)
    g_string_append_printf(text, "%c %s=%s\n", letter, o->name, word->name);
  save("fuzz-caps", file, text->str, text->len);
  g_string_free(text, TRUE);
  g_free(file);
}

static void make_strings(void)
{
  static const char *const caps[] = {
      "e precincts=256x256,128x128\ne layer-rates=1,2,4.5\ne profile=cinema-2k\n"
      "E video/x-raw,format=RGB,width=64,height=48,framerate=24/1\n",
      "E video/x-raw,format=v210,width=17,height=5,framerate=25/1,interlace-mode=interleaved,"
      "field-order=top-field-first,colorimetry=bt709\n",
      "D image/x-jpc,width=16,height=16,framerate=25/1,sampling=YCbCr-4:2:0,colorspace=sYUV,"
      "alignment=stripe,num-stripes=2,fields=2,interlace-mode=fields\n",
      "D image/jp2\nd reduce=2\nd layers=1\nd strict=true\n",
      "P image/x-jpc,width=16,height=16,framerate=25/1,sampling=RGB,colorimetry=bt2020-10,"
      "alignment=frame\n",
      "R application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000-SCL,"
      "pixel=(string)ycbcr422pq,sample=(string)10,width=(string)1920,height=(string)1080,"
      "signal=(string)tff,framerate=(string)29.97\n",
  };
  for (size_t i = 0; i < cj2k_encoder_options.count; i++)
    save_option('e', &cj2k_encoder_options.options[i]);
  for (size_t i = 0; i < cj2k_decoder_options.count; i++)
    save_option('d', &cj2k_decoder_options.options[i]);
  for (uint32_t i = 0; i < G_N_ELEMENTS(caps); i++) {
    gchar *name = g_strdup_printf("caps-%u", i);
    save("fuzz-caps", name, caps[i], strlen(caps[i]));
    g_free(name);
  }
}

/* Inputs without a structure that could be copied from anywhere: bytes of a simple pattern. */
static void make_numbers(void)
{
  static const char *const targets[] = {"fuzz-encoder", "fuzz-round-trip", "fuzz-threads",
                                        "fuzz-tag-tree"};
  uint32_t noise = 99;
  for (uint32_t i = 0; i < 24; i++) {
    uint8_t bytes[120];
    for (uint32_t b = 0; b < sizeof bytes; b++) {
      noise = noise * 1664525 + 1013904223;
      bytes[b] = noise >> 30 == 3 ? (uint8_t)(noise >> 20) : (uint8_t)(noise >> 26 & 15);
    }
    gchar *name = g_strdup_printf("numbers-%02u", i);
    for (uint32_t t = 0; t < G_N_ELEMENTS(targets); t++)
      save(targets[t], name, bytes, sizeof bytes);
    g_free(name);
  }
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: make-seeds FOLDER\n");
    return 2;
  }
  root = argv[1];
  make_codestreams();
  make_blocks();
  make_strings();
  make_numbers();
  return 0;
}
