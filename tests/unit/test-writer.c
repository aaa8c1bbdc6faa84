/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codestreams written from made-up code-blocks and read back: packet headers in every progression,
 * layer and code-block style; and no 0xFFD9 where parsers look for EOC. */
#define _GNU_SOURCE
#include "common/codestream/bitwriter.h"
#include "common/codestream/write_codestream.h"
#include "common/codestream/write_lengths.h"
#include "common/codestream/write_markers.h"
#include "common/encoder/params.h"
#include "header-words.h"

#include <glib.h>
#include <string.h>

/* A plan with made-up blocks. */
typedef struct {
  Cj2kEncoderSetup setup;
  Cj2kHeader *header;
  Cj2kPlan *plan;
  Cj2kEncodedBlock *blocks;
  Cj2kPassLength *passes;
  uint8_t *bytes, *retained;
  Cj2kPacketSource source;
} Fixture;

static void open_plan(Fixture *f, const Cj2kEncoderParams *params, uint32_t width, uint32_t height,
                      uint32_t n)
{
  Cj2kComponent components[4] = {{0}};
  Cj2kSampleLayout samples[4];
  Cj2kLayout layout;
  Cj2kError error = {0};

  for (uint32_t c = 0; c < n; c++)
    components[c] = (Cj2kComponent){.dx = c ? 2 : 1, .dy = c == 2 ? 2 : 1, .depth = 12};
  Cj2kImage shape = {.num_components = n, .components = components};
  cj2k_layout_planar(&shape, samples, &layout);
  Cj2kEncoderImage image = {
      .width = width, .height = height, .num_components = n, .components = components};
  memset(f, 0, sizeof *f);
  if (cj2k_setup_init(&f->setup, params, &image, &layout, &error) != CJ2K_OK)
    g_error("%s", error.text);
  f->header = cj2k_setup_header(&f->setup);
  g_assert_cmpint(cj2k_plan_new(f->header, 0, 0, &f->plan, &error), ==, CJ2K_OK);
}

static void close_plan(Fixture *f)
{
  cj2k_plan_unref(f->plan);
  cj2k_header_unref(f->header);
  cj2k_setup_clear(&f->setup);
  g_free(f->blocks);
  g_free(f->passes);
  g_free(f->bytes);
  g_free(f->retained);
}

/* Where segments end (T.800 table D.9). */
static bool ends_segment(uint8_t style, uint32_t pass)
{
  if (style & CJ2K_STYLE_TERMALL)
    return true;
  if (!(style & CJ2K_STYLE_BYPASS) || pass < 9)
    return false;
  return pass % 3 != 1; /* cleanup 9, 12 ...; magnitude refinement 11, 14 ... */
}

static void random_block(Fixture *f, GRand *rand, uint32_t b, uint32_t layers)
{
  const Cj2kPlanBand *band = &f->plan->bands[f->plan->blocks[b].band];
  bool ht = f->setup.params.block_coder == CJ2K_CODER_HT;
  uint32_t zero = (uint32_t)g_rand_int_range(rand, 0, band->num_bitplanes);
  uint32_t most = ht ? 1 : 3 * (band->num_bitplanes - zero) - 2;
  uint32_t n = g_rand_boolean(rand) ? 0 : (uint32_t)g_rand_int_range(rand, 1, (int)most + 1),
           length = 0, retained = 0;

  for (uint32_t p = 0; p < n; p++) {
    length += (uint32_t)g_rand_int_range(rand, ht ? 2 : 0, 1 << g_rand_int_range(rand, 2, 9));
    f->passes[b * CJ2K_MAX_PASSES + p] =
        (Cj2kPassLength){.length = length, .terminated = ht || ends_segment(band->block_style, p)};
  }
  f->blocks[b] = (Cj2kEncodedBlock){.offset = (uint64_t)b * 65536,
                                    .length = length,
                                    .first_pass = b * CJ2K_MAX_PASSES,
                                    .num_passes = (uint8_t)n,
                                    .zero_bitplanes = (uint8_t)zero,
                                    .is_ht = ht};
  for (uint32_t i = 0; i < length; i++)
    f->bytes[(size_t)b * 65536 + i] = (uint8_t)g_rand_int_range(rand, 0, 255);
  for (uint32_t l = 0; l < layers; l++) {
    retained = g_rand_boolean(rand) ? retained
                                    : (uint32_t)g_rand_int_range(rand, (int)retained, (int)n + 1);
    f->retained[l * f->plan->num_blocks + b] = (uint8_t)retained;
  }
}

static void fill_blocks(Fixture *f, GRand *rand)
{
  uint32_t n = f->plan->num_blocks, layers = f->setup.params.num_layers;

  f->blocks = g_new0(Cj2kEncodedBlock, n + 1);
  f->passes = g_new0(Cj2kPassLength, (size_t)(n + 1) * CJ2K_MAX_PASSES);
  f->bytes = g_malloc((size_t)(n + 1) * 65536);
  f->retained = g_malloc0((size_t)(n + 1) * layers);
  for (uint32_t b = 0; b < n; b++)
    random_block(f, rand, b, layers);
  f->source = (Cj2kPacketSource){.blocks = f->blocks,
                                 .passes = f->passes,
                                 .bytes = f->bytes,
                                 .num_layers = (uint16_t)layers,
                                 .retained = f->retained};
}

static Cj2kWriteOptions options_of(const Cj2kEncoderParams *p)
{
  return (Cj2kWriteOptions){.comment = p->comment,
                            .tile_parts = p->tile_parts,
                            .tlm = p->tlm,
                            .plt = p->plt == CJ2K_PLT_ON};
}

/* Writes the whole codestream; its size is the one that was laid out. */
static uint8_t *write_all(Fixture *f, size_t *size)
{
  const Cj2kEncoderParams *p = &f->setup.params;
  Cj2kWriteOptions options = options_of(p);
  Cj2kCodestreamWriter *writer = NULL;
  Cj2kCodestreamSize laid_out;
  Cj2kError error = {0};

  if (cj2k_codestream_writer_new(f->plan, &options, &writer, &error) != CJ2K_OK)
    g_error("%s", error.text);
  g_assert_cmpint(cj2k_codestream_layout(writer, f->header->coding.quantisation, &f->source, NULL,
                                         &laid_out, &error),
                  ==, CJ2K_OK);
  *size = laid_out.total;
  uint8_t *out = g_malloc(*size + 4);
  memset(out + *size, 0xaa, 4);
  cj2k_codestream_write(writer, &f->source, NULL, out);
  for (int i = 0; i < 4; i++)
    g_assert_cmphex(out[*size + i], ==, 0xaa);
  cj2k_codestream_writer_free(writer);
  return out;
}

/* The reader finds the passes that the last layer retains. */
static void check(const Fixture *f, const uint8_t *data, size_t size)
{
  Cj2kHeaderReader *headers = cj2k_header_reader_new();
  Cj2kPacketReader *packets = cj2k_packet_reader_new();
  Cj2kTileParts parts = {0};
  Cj2kHeader *header;
  Cj2kPlan *plan;
  Cj2kCodedFrame *coded;
  Cj2kError error = {0};
  bool same;

  if (cj2k_header_read(headers, data, size, true, 0, &header, &same, &parts, &error) != CJ2K_OK)
    g_error("%s", error.text);
  g_assert_cmpint(cj2k_plan_new(header, 0, 0, &plan, &error), ==, CJ2K_OK);
  g_assert_cmpuint(plan->num_blocks, ==, f->plan->num_blocks);
  if (cj2k_packets_read(packets, plan, &parts, data, size, 0, true, 0, &coded, &error) != CJ2K_OK)
    g_error("%s", error.text);
  g_assert_false(coded->truncated);
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kCodedBlock *block = &coded->blocks[b];
    uint32_t retained = f->retained[(f->source.num_layers - 1u) * plan->num_blocks + b];
    uint32_t length = retained ? f->passes[b * CJ2K_MAX_PASSES + retained - 1].length : 0;
    g_assert_cmpuint(block->num_passes, ==, retained);
    g_assert_cmpuint(block->length, ==, length);
    if (!retained)
      continue;
    g_assert_cmpuint(block->zero_bitplanes, ==, f->blocks[b].zero_bitplanes);
    g_assert_cmpmem(cj2k_coded_data(coded, block), length, f->bytes + f->blocks[b].offset, length);
  }
  cj2k_tile_parts_clear(&parts);
  cj2k_plan_unref(plan);
  cj2k_packet_reader_free(packets);
  cj2k_header_reader_free(headers);
}

static void random_params(GRand *rand, Cj2kEncoderParams *p)
{
  static const uint8_t styles[] = {0, CJ2K_STYLE_BYPASS, CJ2K_STYLE_TERMALL,
                                   CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL};

  cj2k_encoder_params_init(p);
  p->block_coder = g_rand_boolean(rand) ? CJ2K_CODER_HT : CJ2K_CODER_MQ;
  if (p->block_coder == CJ2K_CODER_MQ)
    p->codeblock_style = styles[g_rand_int_range(rand, 0, 4)];
  p->num_resolutions = (uint8_t)g_rand_int_range(rand, 1, 6);
  p->codeblock_width = p->codeblock_height = g_rand_boolean(rand) ? 16 : 4;
  p->progression = (Cj2kProgression)g_rand_int_range(rand, 0, 5);
  p->num_layers = (uint16_t)g_rand_int_range(rand, 1, 5);
  p->sop = g_rand_boolean(rand);
  p->eph = g_rand_boolean(rand);
  p->tlm = g_rand_boolean(rand);
  p->plt = (Cj2kPlt)g_rand_int_range(rand, CJ2K_PLT_OFF, CJ2K_PLT_AUTO + 1);
  p->image_x0 = (uint32_t)g_rand_int_range(rand, 0, 20);
  p->image_y0 = (uint32_t)g_rand_int_range(rand, 0, 20);
  if (g_rand_boolean(rand)) {
    p->tile_width = (uint32_t)g_rand_int_range(rand, 30, 80);
    p->tile_height = (uint32_t)g_rand_int_range(rand, 30, 80);
  }
  if (g_rand_boolean(rand)) {
    p->num_precincts = 1;
    p->precinct_width[0] = (uint8_t)g_rand_int_range(rand, 3, 7);
    p->precinct_height[0] = (uint8_t)g_rand_int_range(rand, 3, 7);
  }
  if (p->progression == CJ2K_CPRL || p->progression == CJ2K_LRCP)
    p->tile_parts = p->progression == CJ2K_CPRL ? CJ2K_TILE_PARTS_COMPONENT : CJ2K_TILE_PARTS_LAYER;
}

static void test_round_trip(void)
{
  GRand *rand = g_rand_new_with_seed(7);

  for (int round = 0; round < 150; round++) {
    Cj2kEncoderParams params;
    Fixture f;
    size_t size;
    random_params(rand, &params);
    open_plan(&f, &params, (uint32_t)g_rand_int_range(rand, 2, 130),
              (uint32_t)g_rand_int_range(rand, 2, 90), (uint32_t)g_rand_int_range(rand, 1, 4));
    fill_blocks(&f, rand);
    uint8_t *data = write_all(&f, &size);
    check(&f, data, size);
    g_free(data);
    close_plan(&f);
  }
  g_rand_free(rand);
}

/* The bytes do not depend on the number of threads that write headers. */
static void test_threads(void)
{
  Cj2kEncoderParams params;
  Fixture f;
  GRand *rand = g_rand_new_with_seed(3);
  GString *first = NULL;

  cj2k_encoder_params_init(&params);
  params.codeblock_width = params.codeblock_height = 4;
  params.num_precincts = 1;
  params.precinct_width[0] = params.precinct_height[0] = 4;
  params.plt = CJ2K_PLT_ON;
  open_plan(&f, &params, 300, 200, 3);
  fill_blocks(&f, rand);
  for (uint32_t n = 1; n <= 5; n += 2) {
    Cj2kThreads *threads = cj2k_threads_new(n);
    Cj2kWriteOptions options = {.plt = true};
    Cj2kCodestreamWriter *writer;
    Cj2kCodestreamSize size;
    g_assert_cmpint(cj2k_codestream_writer_new(f.plan, &options, &writer, NULL), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_codestream_layout(writer, f.header->coding.quantisation, &f.source,
                                           threads, &size, NULL),
                    ==, CJ2K_OK);
    GString *bytes = g_string_sized_new(size.total);
    g_string_set_size(bytes, size.total);
    cj2k_codestream_write(writer, &f.source, threads, (uint8_t *)bytes->str);
    if (first) {
      g_assert_cmpmem(first->str, first->len, bytes->str, bytes->len);
      g_string_free(bytes, TRUE);
    } else {
      first = bytes;
    }
    cj2k_codestream_writer_free(writer);
    cj2k_threads_free(threads);
  }
  g_string_free(first, TRUE);
  close_plan(&f);
  g_rand_free(rand);
}

/* Whether the bytes FF D9 occur between SIZ and the data of the first tile-part, or in any SOT. */
static bool has_false_eoc(const uint8_t *data, size_t size)
{
  size_t at = 2;

  while (at + 4 <= size) {
    uint32_t marker = cj2k_get16(data + at), length = cj2k_get16(data + at + 2);
    if (marker == CJ2K_SOT) {
      uint32_t psot = cj2k_get32(data + at + 6);
      size_t sod = at + 12;
      while (cj2k_get16(data + sod) != CJ2K_SOD)
        sod += 2u + cj2k_get16(data + sod + 2);
      if (cj2k_contains_eoc(data + at, sod - at))
        return true;
      at += psot;
    } else {
      if (marker != CJ2K_SIZ && cj2k_contains_eoc(data + at, length + 2u))
        return true;
      at += length + 2u;
    }
  }
  g_assert_cmphex(cj2k_get16(data + at), ==, CJ2K_EOC);
  return false;
}

/* One block whose length runs through the values for which Psot is 0x0000FFD9 and 0x00FFD9xx. */
static void test_false_eoc(void)
{
  static const uint32_t starts[] = {0xffd9 - 200, 0xffd900 - 20};
  Cj2kEncoderParams params;
  Fixture f;
  uint32_t num_avoided = 0;

  cj2k_encoder_params_init(&params);
  params.num_resolutions = 1;
  params.tlm = true;
  params.comment = "made of \xff\xd7";
  open_plan(&f, &params, 64, 64, 1);
  g_assert_cmpuint(f.plan->num_blocks, ==, 1);
  f.blocks = g_new0(Cj2kEncodedBlock, 1);
  f.passes = g_new0(Cj2kPassLength, 1);
  f.bytes = g_malloc0(0x1000000);
  f.retained = g_malloc(1);
  f.retained[0] = 1;
  f.source = (Cj2kPacketSource){.blocks = f.blocks,
                                .passes = f.passes,
                                .bytes = f.bytes,
                                .num_layers = 1,
                                .retained = f.retained};
  for (size_t s = 0; s < G_N_ELEMENTS(starts); s++)
    for (uint32_t i = 0; i < 300; i++) {
      uint32_t length = starts[s] + i;
      size_t size;
      f.blocks[0] = (Cj2kEncodedBlock){.length = length, .num_passes = 1};
      f.passes[0] = (Cj2kPassLength){.length = length, .terminated = 1};
      uint8_t *data = write_all(&f, &size);
      g_assert_false(has_false_eoc(data, size));
      /* a comment in the tile-part header means that FF D9 was avoided */
      const uint8_t *sot = memmem(data, 400, "\xff\x90", 2);
      num_avoided += cj2k_get16(sot + 12) == CJ2K_COM;
      g_free(data);
    }
  g_assert_cmpuint(num_avoided, >=, 1 + 200);
  close_plan(&f);
}

/* --- bits --- */

/* Bits written in parts and joined are equal to bits written one by one, also if many bytes are
 * 0xFF. */
static void test_parts(void)
{
  GRand *rand = g_rand_new_with_seed(3);
  Cj2kByteBuffer plain = {0}, joined = {0}, single = {0};

  for (int round = 0; round < 400; round++) {
    Cj2kBitWriter to, one_by_one;
    uint32_t ones = (uint32_t)g_rand_int_range(rand, 0, 12), parts = 1 + round % 4u;

    joined.size = single.size = 0;
    cj2k_bits_begin(&to, &joined);
    cj2k_bits_begin(&one_by_one, &single);
    for (uint32_t part = 0; part < parts; part++) {
      uint32_t values = (uint32_t)g_rand_int_range(rand, 0, 60);
      uint64_t count = 0;
      Cj2kPlainBits bits;
      plain.size = 0;
      cj2k_plain_begin(&bits, &plain);
      for (uint32_t i = 0; i < values; i++) {
        uint32_t n = (uint32_t)g_rand_int_range(rand, 0, 33);
        uint32_t value = (uint32_t)((UINT64_C(1) << n) - 1);
        if (g_rand_int_range(rand, 0, 12) >= (int)ones)
          value &= g_rand_int(rand);
        cj2k_plain_put(&bits, value, n);
        count += n;
        for (uint32_t b = n; b-- > 0;)
          cj2k_bits_put(&one_by_one, value >> b & 1, 1);
      }
      g_assert_cmpuint(cj2k_plain_end(&bits), ==, count);
      cj2k_bits_put_plain(&to, plain.data, count);
    }
    cj2k_bits_end(&to);
    cj2k_bits_end(&one_by_one);
    g_assert_cmpmem(joined.data, joined.size, single.data, single.size);
  }
  g_free(plain.data);
  g_free(joined.data);
  g_free(single.data);
  g_rand_free(rand);
}

/* --- a single layer --- */

/* Blocks of up to so many zero bit-planes and bytes; `missing` of eight are in no layer. */
static void fill_singly(Fixture *f, GRand *rand, int zeros, int length_bits, int missing)
{
  uint32_t n = f->plan->num_blocks;

  f->blocks = g_new0(Cj2kEncodedBlock, n + 1);
  f->passes = g_new0(Cj2kPassLength, n + 1);
  f->retained = g_malloc0((size_t)(n + 1) * 2);
  for (uint32_t b = 0; b < n; b++) {
    uint32_t length = (uint32_t)g_rand_int_range(rand, 0, 1 << length_bits);
    bool is_in = g_rand_int_range(rand, 0, 8) >= missing;
    f->passes[b] = (Cj2kPassLength){.length = length, .terminated = 1};
    f->blocks[b] = (Cj2kEncodedBlock){.length = length,
                                      .first_pass = b,
                                      .num_passes = is_in,
                                      .zero_bitplanes = (uint8_t)g_rand_int_range(rand, 0, zeros),
                                      .is_ht = 1};
    f->retained[b] = f->retained[n + b] = is_in;
  }
}

/* The packets of a single layer are those that the writer for several layers makes if nothing is in
 * the second one. */
static void test_single(void)
{
  GRand *rand = g_rand_new_with_seed(11);

  for (int round = 0; round < 300; round++) {
    Cj2kEncoderParams params;
    Fixture f;
    random_params(rand, &params);
    params.block_coder = round % 3 ? CJ2K_CODER_HT : CJ2K_CODER_MQ;
    params.codeblock_style = 0;
    open_plan(&f, &params, (uint32_t)g_rand_int_range(rand, 2, 300),
              (uint32_t)g_rand_int_range(rand, 2, 200), 3);
    fill_singly(&f, rand, g_rand_boolean(rand) ? 74 : 3, g_rand_int_range(rand, 1, 25),
                round % 5 ? g_rand_int_range(rand, 0, 9) : 0);
    Cj2kPacketSource source = {
        .blocks = f.blocks, .passes = f.passes, .num_layers = 1, .retained = f.retained};
    Cj2kPacketWriter *single = cj2k_packet_writer_new(f.plan, 1),
                     *general = cj2k_packet_writer_new(f.plan, 2);
    const Cj2kWrittenPacket *packets = cj2k_packets_prepare(single, &source, NULL);
    source.num_layers = 2;
    const Cj2kWrittenPacket *expected = cj2k_packets_prepare(general, &source, NULL);
    for (uint32_t p = 0; p < f.plan->num_precincts; p++) {
      g_assert_cmpmem(packets[p].header, packets[p].header_size, expected[2 * p].header,
                      expected[2 * p].header_size);
      g_assert_cmpuint(packets[p].body_size, ==, expected[2 * p].body_size);
    }
    cj2k_packet_writer_free(single);
    cj2k_packet_writer_free(general);
    close_plan(&f);
  }
  g_rand_free(rand);
}

/* The writer of whole blocks with bypass writes what the one of any passes does, however long
 * segments are. */
static void test_bypass_lengths(void)
{
  GRand *rand = g_rand_new_with_seed(5);
  Cj2kByteBuffer whole = {0}, any = {0};
  Cj2kPassLength passes[CJ2K_MAX_PASSES] = {{0}};
  Cj2kEncodedBlock block = {0};
  Cj2kPacketSource source = {.blocks = &block, .passes = passes};

  for (int i = 0; i < 4000; i++) {
    uint32_t count = (uint32_t)g_rand_int_range(rand, 11, CJ2K_MAX_PASSES + 1), length = 0;
    uint32_t large = (uint32_t)g_rand_int_range(rand, 0, (gint32)count);
    gint32 end = 1 << g_rand_int_range(rand, 0, 21), large_end = 1 << g_rand_int_range(rand, 0, 31);
    uint8_t lblock = 3, lblock_any = 3;
    Cj2kPlainBits bits, bits_any;
    for (uint32_t p = 0; p < count; p++) {
      length += (uint32_t)g_rand_int_range(rand, 0, end);
      length += p == large ? (uint32_t)g_rand_int_range(rand, 0, large_end) : 0;
      passes[p].length = length;
    }
    whole.size = any.size = 0;
    cj2k_plain_begin(&bits, &whole);
    cj2k_plain_begin(&bits_any, &any);
    cj2k_send_bypass(&bits, passes, count, &lblock);
    cj2k_send_lengths(&bits_any, &source, 0, 0, count, true, &lblock_any);
    g_assert_cmpuint(cj2k_plain_end(&bits), ==, cj2k_plain_end(&bits_any));
    g_assert_cmpuint(lblock, ==, lblock_any);
    g_assert_cmpmem(whole.data, whole.size, any.data, any.size);
  }
  g_free(whole.data);
  g_free(any.data);
  g_rand_free(rand);
}

/* --- bits that a back end has made --- */

/* A block of up to `most` passes, of which some are empty and one may be long. */
static uint32_t fill_passes(GRand *rand, uint32_t most, uint8_t style, Cj2kPassLength *passes)
{
  uint32_t few = g_rand_int_range(rand, 0, 5) ? most : 13, length = 0;
  uint32_t n = (uint32_t)g_rand_int_range(rand, 0, (int)few + 1);
  uint32_t large = (uint32_t)g_rand_int_range(rand, 0, 2 * (int)most);

  for (uint32_t p = 0; p < n; p++) {
    length += (uint32_t)g_rand_int_range(rand, 0, 1 << g_rand_int_range(rand, 0, 10));
    length += p == large ? 65530 + (uint32_t)g_rand_int_range(rand, 0, 12) : 0;
    passes[p] =
        (Cj2kPassLength){.length = length, .terminated = p + 1 == n || ends_segment(style, p)};
  }
  return n;
}

/* Blocks of which all passes are retained, and the same ones whose bits a back end has made. */
typedef struct {
  Cj2kEncodedBlock *blocks;
  uint32_t *words, *lengths;
  Cj2kPacketSource expected, source;
} WholeBlocks;

/* empty: no block has passes. */
static void fill_whole_blocks(Fixture *f, GRand *rand, bool empty, WholeBlocks *whole)
{
  uint32_t n = f->plan->num_blocks, at = 0, words = 0;

  whole->blocks = g_new0(Cj2kEncodedBlock, n + 1);
  whole->words = g_new(uint32_t, (size_t)(n + 1) * MAX_HEADER_WORDS);
  whole->lengths = g_new0(uint32_t, n + 1);
  f->blocks = g_new0(Cj2kEncodedBlock, n + 1);
  f->passes = g_new0(Cj2kPassLength, (size_t)(n + 1) * CJ2K_MAX_PASSES);
  f->retained = g_malloc0(n + 1);
  for (uint32_t b = 0; b < n; b++) {
    Cj2kPassLength *passes = f->passes + at;
    uint8_t style = f->plan->bands[f->plan->blocks[b].band].block_style;
    uint32_t count = empty ? 0 : fill_passes(rand, CJ2K_MAX_PASSES, style, passes);
    whole->lengths[b] = count ? passes[count - 1].length : 0;
    f->retained[b] = (uint8_t)count;
    f->blocks[b] = (Cj2kEncodedBlock){.length = whole->lengths[b],
                                      .first_pass = at,
                                      .num_passes = (uint8_t)count,
                                      .zero_bitplanes = (uint8_t)g_rand_int_range(rand, 0, 20)};
    whole->blocks[b] = f->blocks[b];
    whole->blocks[b].first_pass = words;
    words += count ? make_header_words(passes, count, whole->words + words) : 0;
    at += count;
  }
  whole->expected = whole->source = (Cj2kPacketSource){
      .blocks = f->blocks, .num_layers = 1, .retained = f->retained, .lengths = whole->lengths};
  whole->expected.passes = f->passes;
  whole->source.blocks = whole->blocks;
  whole->source.header_bits = whole->words;
}

static void check_packets(const Fixture *f, const Cj2kWrittenPacket *packets,
                          const Cj2kWrittenPacket *expected)
{
  for (uint32_t p = 0; p < f->plan->num_precincts; p++) {
    g_assert_cmpmem(packets[p].header, packets[p].header_size, expected[p].header,
                    expected[p].header_size);
    g_assert_cmpuint(packets[p].body_size, ==, expected[p].body_size);
  }
}

/* Packet headers with bits that a back end has made are those that follow from the lengths of
 * passes. */
static void test_header_bits(void)
{
  static const uint8_t styles[] = {CJ2K_STYLE_BYPASS, CJ2K_STYLE_TERMALL,
                                   CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL};
  GRand *rand = g_rand_new_with_seed(17);

  for (int round = 0; round < 120; round++) {
    Cj2kEncoderParams params;
    WholeBlocks whole;
    Fixture f;
    random_params(rand, &params);
    params.block_coder = CJ2K_CODER_MQ;
    params.codeblock_style = styles[round % 3];
    params.num_layers = 1;
    open_plan(&f, &params, (uint32_t)g_rand_int_range(rand, 2, 200),
              (uint32_t)g_rand_int_range(rand, 2, 150), 3);
    fill_whole_blocks(&f, rand, round % 8 == 7, &whole);
    Cj2kPacketWriter *from_passes = cj2k_packet_writer_new(f.plan, 1),
                     *from_bits = cj2k_packet_writer_new(f.plan, 1);
    check_packets(&f, cj2k_packets_prepare(from_bits, &whole.source, NULL),
                  cj2k_packets_prepare(from_passes, &whole.expected, NULL));
    cj2k_packet_writer_free(from_passes);
    cj2k_packet_writer_free(from_bits);
    g_free(whole.blocks);
    g_free(whole.words);
    g_free(whole.lengths);
    close_plan(&f);
  }
  g_rand_free(rand);
}

/* Puts packet headers and the bytes of blocks one after the other. Returns the end of all. */
static uint64_t put_packets(const Fixture *f, const Cj2kPacketWriter *writer,
                            const Cj2kWrittenPacket *packets, const Cj2kPacketSteps *steps,
                            uint8_t *out)
{
  uint64_t at = 0;
  uint32_t listed = 0; /* packets whose entries in PLT are counted */

  for (uint32_t i = 0; i < steps->count; i++) {
    uint32_t p = steps->steps[i].precinct, first, count = cj2k_packet_blocks(writer, p, &first);
    at += steps->steps[i].before;
    for (; steps->plt && listed < steps->steps[i].part_end; listed++) {
      const Cj2kWrittenPacket *packet = &packets[steps->steps[listed].precinct];
      at += cj2k_length_entry_bytes(steps->sop + packet->header_size + steps->behind_header +
                                    packet->body_size);
    }
    memcpy(out + at, packets[p].header, packets[p].header_size);
    at += packets[p].header_size + steps->behind_header;
    if (packets[p].body_size)
      cj2k_packet_copy_blocks(writer, &f->source, first, count, 0, out + at);
    at += packets[p].body_size;
  }
  return at + steps->behind_all;
}

/* The codestream of one layer that is laid out from the sizes of packets; NULL: its tile-parts have
 * comments. */
static uint8_t *write_from_sizes(Fixture *f, size_t room)
{
  const Cj2kEncoderParams *p = &f->setup.params;
  const Cj2kQuantisation *quantisation = f->header->coding.quantisation;
  Cj2kWriteOptions options = options_of(p);
  Cj2kPacketWriter *packet_writer = cj2k_packet_writer_new(f->plan, 1);
  const Cj2kWrittenPacket *packets = cj2k_packets_prepare(packet_writer, &f->source, NULL);
  Cj2kPacketSize *sizes = g_new0(Cj2kPacketSize, f->plan->num_precincts + 1);
  Cj2kCodestreamWriter *writer = NULL;
  Cj2kCodestreamSize laid_out = {0};
  Cj2kPacketSteps steps;
  Cj2kError error = {0};
  uint8_t *out = NULL;
  bool as_listed;

  for (uint32_t i = 0; i < f->plan->num_precincts; i++)
    sizes[i] = (Cj2kPacketSize){.body = packets[i].body_size, .header = packets[i].header_size};
  g_assert_cmpint(cj2k_codestream_writer_new(f->plan, &options, &writer, &error), ==, CJ2K_OK);
  g_assert_true(cj2k_codestream_list_steps(writer, quantisation, &steps));
  g_assert_cmpint(
      cj2k_codestream_layout_sizes(writer, quantisation, sizes, &laid_out, &as_listed, &error), ==,
      CJ2K_OK);
  g_assert_cmpuint(laid_out.total, ==, room);
  if (as_listed) {
    out = g_malloc(room);
    g_assert_cmpuint(put_packets(f, packet_writer, packets, &steps, out), ==, room);
    cj2k_codestream_write_headers(writer, out);
  }
  cj2k_codestream_writer_free(writer);
  cj2k_packet_writer_free(packet_writer);
  g_free(sizes);
  return out;
}

static void test_sizes(void)
{
  GRand *rand = g_rand_new_with_seed(19);
  uint32_t num_listed = 0;

  for (int round = 0; round < 100; round++) {
    Cj2kEncoderParams params;
    size_t size;
    Fixture f;
    random_params(rand, &params);
    params.num_layers = 1;
    open_plan(&f, &params, (uint32_t)g_rand_int_range(rand, 2, 130),
              (uint32_t)g_rand_int_range(rand, 2, 90), (uint32_t)g_rand_int_range(rand, 1, 4));
    fill_blocks(&f, rand);
    uint8_t *expected = write_all(&f, &size), *data = write_from_sizes(&f, size);
    if (data)
      g_assert_cmpmem(data, size, expected, size);
    num_listed += data != NULL;
    g_free(expected);
    g_free(data);
    close_plan(&f);
  }
  g_assert_cmpuint(num_listed, >, 60);
  g_rand_free(rand);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/writer/round-trip", test_round_trip);
  g_test_add_func("/writer/threads", test_threads);
  g_test_add_func("/writer/false-eoc", test_false_eoc);
  g_test_add_func("/writer/parts", test_parts);
  g_test_add_func("/writer/single", test_single);
  g_test_add_func("/writer/bypass-lengths", test_bypass_lengths);
  g_test_add_func("/writer/header-bits", test_header_bits);
  g_test_add_func("/writer/sizes", test_sizes);
  return g_test_run();
}
