/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/cpu/blockcoder.h"
#include "common/runtime/simd.h"
#include "decoder.h"
#include "scratch.h"

#define MAX_NARROW_PLANES 30 /* bit-planes that fit into 32 bits beside sign and half unit */
#define MAX_WIDE_PLANES   62

/*
 * A column with samples for the next refinement pass, those that were significant before this
 * bit-plane: the offsets of its word and of its first sample.
 */
typedef struct {
  uint16_t word, sample;
} MqRefined;

/* A block being decoded. Samples and words: mq_blocks.h. */
typedef struct {
  uint32_t width, height;
  ptrdiff_t pitch; /* of words */
  uint64_t *words;
  void *samples;
  uint32_t *refine;
  const uint8_t *zero_contexts;
  bool causal;
  Cj2kMqContexts contexts;
  uint32_t num_refined;
  MqRefined refined[CJ2K_MQ_MAX_SAMPLES / 4 + 1]; /* one more: entries are written ahead */
} MqBlock;

typedef struct {
  MqDecoder mq;
  RawDecoder raw;
} MqCoder;

/* Rows of the stripe at row y that exist, as bits of CJ2K_MQ_ROWS. */
static inline unsigned stripe_rows(const MqBlock *block, uint32_t y)
{
  uint32_t left = block->height - y;

  return left >= 4 ? CJ2K_MQ_ROWS : CJ2K_MQ_ROWS & ((1u << (3 * left)) - 1);
}

static inline uint64_t *stripe_words(const MqBlock *block, uint32_t y)
{
  return block->words + (y / 4 + 1) * block->pitch + 1;
}

/* An entry of the list of refinements: which sample, with which context label. */
#define REFINE_SHIFT 5
#define REFINE_LABEL 31u

/*
 * Lists the samples of a magnitude refinement pass with their labels. Neither depends on bits that
 * the pass decodes (table D.4). So finding the samples and decoding them are two loops, both
 * without branches on the data.
 */
static uint32_t list_refinement(MqBlock *block)
{
  uint32_t *entry = block->refine;

  for (uint32_t n = 0; n < block->num_refined; n++) {
    uint64_t *column = block->words + block->refined[n].word;
    uint32_t word = (uint32_t)*column, sample = block->refined[n].sample;
    uint32_t todo = (word >> CJ2K_MQ_SELF) & ~(word >> CJ2K_MQ_CODED) & CJ2K_MQ_ROWS;
    uint32_t before = word >> CJ2K_MQ_REFINED;
    uint32_t near = cj2k_mq_neighbours(word) | before;
    for (unsigned i = 0; i < 4; i++) {
      uint32_t label = CJ2K_CX_MAG + ((near >> 3 * i) & 1) + ((before >> 3 * i) & 1);
      *entry = (sample + i) << REFINE_SHIFT | label;
      entry += (todo >> 3 * i) & 1;
    }
    *column |= (uint64_t)todo << CJ2K_MQ_REFINED;
  }
  return (uint32_t)(entry - block->refine);
}

#define SAMPLE  uint32_t
#define NAME(x) x##_narrow
#include "decode_tmpl.h"
#undef SAMPLE
#undef NAME
#define SAMPLE  uint64_t
#define NAME(x) x##_wide
#include "decode_tmpl.h"
#undef SAMPLE
#undef NAME

/* The position of the next codeword segment. */
typedef struct {
  const Cj2kBlockInput *in;
  uint32_t segment; /* next of in->segments */
  uint64_t offset;
} SegmentReader;

/*
 * Starts the coder at the codeword segment of the passes [pass, end), which is one or several
 * entries of in->segments (contributions of different layers). false: a segment ends where none
 * can. *cut: the data ends before the segment.
 */
static bool start_segment(SegmentReader *reader, MqCoder *coder, unsigned pass, unsigned end,
                          bool *cut)
{
  const Cj2kBlockInput *in = reader->in;
  uint64_t start = reader->offset, length = 0;

  for (unsigned at = pass; at < end;) {
    if (reader->segment >= in->num_segments)
      return false;
    const Cj2kSegment *segment = &in->segments[reader->segment++];
    if (segment->passes > end - at)
      return false;
    at += segment->passes;
    length += segment->length;
  }
  reader->offset = start + length;
  *cut = reader->offset > in->length;
  if (*cut) {
    start = start < in->length ? start : in->length;
    reader->offset = in->length;
  }
  const uint8_t *data = in->length ? in->data + start : NULL;
  const uint8_t *data_end = in->length ? in->data + reader->offset : NULL;
  if (cj2k_pass_is_raw(pass, in->style))
    raw_start(&coder->raw, data, data_end);
  else
    mq_start(&coder->mq, data, data_end);
  return true;
}

/* SEGMARK (D.5): the four symbols 1010. They are read but not checked. */
static void skip_segmentation_symbol(MqBlock *block, MqCoder *coder)
{
  for (int i = 0; i < 4; i++)
    mq_decode(&coder->mq, &block->contexts.words[CJ2K_CX_UNI]);
}

static bool decode_passes(MqBlock *block, const Cj2kBlockInput *in, bool wide)
{
  SegmentReader reader = {.in = in};
  MqCoder coder = {.raw.bits = 0};
  unsigned planes = in->num_bitplanes - in->zero_bitplanes;
  unsigned segment_end = 0;
  bool cut = false;

  cj2k_mq_reset_contexts(&block->contexts);
  for (unsigned pass = 0; pass < in->num_passes; pass++) {
    bool is_raw = cj2k_pass_is_raw(pass, in->style);
    unsigned type = cj2k_pass_type(pass), plane = planes - 1 - cj2k_pass_depth(pass);
    if (pass == segment_end) {
      if (cut)
        break;
      while (segment_end < in->num_passes && !cj2k_pass_ends_segment(segment_end, in->style))
        segment_end++;
      segment_end += segment_end < in->num_passes;
      if (!start_segment(&reader, &coder, pass, segment_end, &cut))
        return false;
    }
    /* Behind the data of a cut segment only noise would be decoded. */
    if (cut && (is_raw ? coder.raw.filled : coder.mq.filled - coder.mq.bits) > 0)
      break;
    if (wide)
      decode_pass_wide(block, &coder, type, plane, is_raw);
    else
      decode_pass_narrow(block, &coder, type, plane, is_raw);
    if (type == CJ2K_PASS_CLEANUP && (in->style & CJ2K_STYLE_SEGMARK))
      skip_segmentation_symbol(block, &coder);
    if (in->style & CJ2K_STYLE_RESET)
      cj2k_mq_reset_contexts(&block->contexts);
  }
  return true;
}

static bool decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, bool wide,
                         MqBlock *block)
{
  Cj2kMqScratch *mq = scratch->mq;
  uint32_t stripes = (in->height + 3u) / 4;
  unsigned planes = in->num_bitplanes - in->zero_bitplanes;

  block->width = in->width;
  block->height = in->height;
  block->pitch = in->width + 2;
  block->words = mq->words;
  block->samples = &mq->samples;
  block->refine = mq->refine;
  block->zero_contexts = cj2k_mq_zero_contexts[in->orientation & 3];
  block->causal = (in->style & CJ2K_STYLE_CAUSAL) != 0;
  if (in->width < 1 || in->width > 1024 || stripes * 4 * in->width > CJ2K_MQ_MAX_SAMPLES)
    return false;
  memset(mq->words, 0, (stripes + 2) * (in->width + 2) * sizeof *mq->words);
  memset(&mq->samples, 0, (size_t)stripes * 4 * in->width * (wide ? 8 : 4));
  if (in->num_passes == 0)
    return true;
  if (in->zero_bitplanes >= in->num_bitplanes ||
      planes > (wide ? MAX_WIDE_PLANES : MAX_NARROW_PLANES) || in->num_passes > 3 * planes - 2)
    return false;
  return decode_passes(block, in, wide);
}

bool cj2k_mq_decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, uint32_t *samples,
                          size_t stride)
{
  MqBlock block;

  if (!decode_block(scratch, in, false, &block))
    return false;
  put_out_narrow(&block, samples, stride);
  return true;
}

bool cj2k_mq_decode_block_wide(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in,
                               uint64_t *samples, size_t stride)
{
  MqBlock block;

  if (!decode_block(scratch, in, true, &block))
    return false;
  put_out_wide(&block, samples, stride);
  return true;
}
