/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/cpu/blockcoder.h"
#include "encode_passes.h"
#include "encoder.h"
#include "scratch.h"

#include <string.h>

/* The codeword segment being written. */
typedef struct {
  uint8_t *out;
  uint32_t capacity, start;
  unsigned first_pass;
  bool is_raw;
  MqEncoder mq;
  RawEncoder raw;
  union {
    MqMark mq;
    uint32_t raw;
  } marks[CJ2K_MAX_PASSES]; /* where each pass ended */
} Segment;

static void segment_start(Segment *segment, uint32_t start, unsigned pass, uint8_t style)
{
  segment->start = start;
  segment->first_pass = pass;
  segment->is_raw = cj2k_pass_is_raw(pass, style);
  if (segment->is_raw)
    raw_encoder_start(&segment->raw, segment->out, start, segment->capacity);
  else
    mq_encoder_start(&segment->mq, segment->out, start, segment->capacity);
}

static void segment_mark(Segment *segment, unsigned pass)
{
  if (segment->is_raw)
    segment->marks[pass].raw = raw_encoder_mark(&segment->raw);
  else
    segment->marks[pass].mq = mq_encoder_mark(&segment->mq, segment->start);
}

/*
 * Ends the segment with `pass` and computes the lengths of all its passes, which only now are
 * known, since they depend on the bytes behind them. *end is the new end; false: out is too small.
 */
static bool segment_end(Segment *segment, unsigned pass, uint8_t style, Cj2kPassEnd *passes,
                        uint32_t *end)
{
  bool predictable = (style & CJ2K_STYLE_PTERM) != 0;
  uint32_t start = segment->start, last;

  if (segment->is_raw)
    last = raw_encoder_terminate(&segment->raw, predictable);
  else
    last = predictable ? mq_encoder_terminate_predictably(&segment->mq)
                       : mq_encoder_flush(&segment->mq);
  if (last > segment->capacity)
    return false;
  if (!predictable && segment->is_raw)
    last = mq_drop_ff(segment->out, start, last);
  else if (!predictable)
    last = mq_cut(segment->out, start, last, segment->marks[pass].mq);

  for (unsigned i = segment->first_pass; i < pass; i++) {
    if (segment->is_raw) {
      uint32_t mark = segment->marks[i].raw;
      passes[i].length = mq_drop_ff(segment->out, start, mark < last ? mark : last);
    } else {
      passes[i].length = mq_cut(segment->out, start, last, segment->marks[i].mq);
    }
    passes[i].terminated = 0;
  }
  passes[pass].length = last;
  passes[pass].terminated = 1;
  *end = last;
  return true;
}

/*
 * The decrease of the squared error by a pass at bit-plane p, in units of (step / 16)^2; a squared
 * half step has 64 of them. A sample of value v that becomes significant is reconstructed as r = 3
 * * 2^p half steps and had error v: it gains r (2v - r). A refined one moves by 2^p towards v, from
 * which it is d away: it gains 2^p (2d - 2^p). Reversible samples are exact at plane 0
 * (docs/mq-coder.md), where v = 2 and d is 0 or 2.
 */
static __int128 pass_gain(const MqGain *gain, unsigned plane, bool reversible)
{
  __int128 new_sum = gain->new_sum, refined_sum = gain->refined_sum;

  if (reversible && plane == 0)
    return 256 * (__int128)gain->new_count + 128 * refined_sum;
  /* plane is below 31. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
  __int128 half = (__int128)1 << plane, value = 3 * half;
  return 64 * (value * (2 * new_sum - gain->new_count * value) +
               half * (2 * refined_sum - gain->refined_count * half));
}

/* Loads rows of samples into columns of magnitudes and signs. Returns all magnitudes or-ed. */
static uint32_t load(MqSource *source, const Cj2kBlockSource *in)
{
  uint32_t all = 0;

  for (uint32_t y = 0; y < in->height; y++) {
    const uint32_t *row = in->samples + y * in->stride;
    uint32_t first = y / 4 * in->width;
    for (uint32_t x = 0; x < in->width; x++) {
      uint32_t magnitude = row[x] & 0x7fffffff;
      source->magnitudes[4 * (first + x) + y % 4] = magnitude;
      source->signs[first + x] |= (uint16_t)((row[x] >> 31) << (3 * (y % 4)));
      all |= magnitude;
    }
  }
  return all;
}

static bool encode_passes(MqSource *source, const Cj2kBlockSource *in, unsigned planes,
                          unsigned lowest_plane, Segment *segment, Cj2kPassEnd *passes,
                          Cj2kBlockResult *result)
{
  static const uint8_t segmark[4] = {CJ2K_CX_UNI << 1 | 1, CJ2K_CX_UNI << 1, CJ2K_CX_UNI << 1 | 1,
                                     CJ2K_CX_UNI << 1}; /* D.5 */
  Cj2kMqContexts contexts;
  unsigned num_passes = 3 * (planes - lowest_plane) - 2;
  uint32_t end = 0;
  __int128 distortion = 0;

  cj2k_mq_reset_contexts(&contexts);
  segment_start(segment, 0, 0, in->style);
  for (unsigned pass = 0; pass < num_passes; pass++) {
    unsigned plane = planes - 1 - cj2k_pass_depth(pass), type = cj2k_pass_type(pass);
    MqGain gain = {0};
    size_t count;

    if (pass == 0 || type == CJ2K_PASS_SIGNIFICANCE)
      cj2k_mq_take_plane(source, plane);
    if (type == CJ2K_PASS_SIGNIFICANCE)
      count = cj2k_mq_code_significance(source, segment->is_raw, &gain);
    else if (type == CJ2K_PASS_REFINEMENT)
      count = cj2k_mq_code_refinement(source, plane, &gain);
    else
      count = cj2k_mq_code_cleanup(source, &gain);
    if (type == CJ2K_PASS_CLEANUP && (in->style & CJ2K_STYLE_SEGMARK)) {
      memcpy(source->symbols + count, segmark, sizeof segmark);
      count += sizeof segmark;
    }
    if (segment->is_raw)
      raw_encode(&segment->raw, source->symbols, count);
    else
      mq_encode(&segment->mq, &contexts, source->symbols, count);

    distortion += pass_gain(&gain, plane, in->reversible);
    passes[pass].distortion = distortion > UINT64_MAX ? UINT64_MAX : (uint64_t)distortion;
    segment_mark(segment, pass);
    if (pass + 1 == num_passes || cj2k_pass_ends_segment(pass, in->style)) {
      if (!segment_end(segment, pass, in->style, passes, &end))
        return false;
      if (pass + 1 < num_passes)
        segment_start(segment, end, pass + 1, in->style);
    }
    if (in->style & CJ2K_STYLE_RESET)
      cj2k_mq_reset_contexts(&contexts);
  }
  result->num_passes = (uint8_t)num_passes;
  result->length = end;
  return true;
}

bool cj2k_mq_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *in,
                          uint8_t lowest_plane, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[CJ2K_MAX_PASSES], Cj2kBlockResult *result)
{
  Cj2kMqScratch *mq = scratch->mq;
  uint32_t columns = (in->height + 3u) / 4 * in->width;
  MqSource source = {.width = in->width,
                     .height = in->height,
                     .pitch = in->width + 2,
                     .words = mq->words,
                     .magnitudes = mq->samples.narrow,
                     .signs = mq->signs,
                     .bits = mq->bits,
                     .symbols = mq->symbols,
                     .zero_contexts = cj2k_mq_zero_contexts[in->orientation & 3],
                     .causal = (in->style & CJ2K_STYLE_CAUSAL) != 0,
                     .reversible = in->reversible};
  Segment segment = {.out = out, .capacity = capacity};

  *result = (Cj2kBlockResult){.zero_bitplanes = in->num_bitplanes};
  if (in->width < 1 || in->width > 1024 || columns * 4 > CJ2K_MQ_MAX_SAMPLES)
    return false;
  if (in->height % 4) /* rows of the last stripe that do not exist */
    memset(source.magnitudes + 4 * (columns - in->width), 0, 16u * in->width);
  memset(source.signs, 0, columns * sizeof *source.signs);
  uint32_t all = load(&source, in);
  if (!all || all >> lowest_plane == 0)
    return true;
  unsigned planes = 32u - (unsigned)__builtin_clz(all);
  if (planes > in->num_bitplanes)
    return false;
  result->zero_bitplanes = (uint8_t)(in->num_bitplanes - planes);
  memset(source.words, 0, (columns / in->width + 2) * (in->width + 2) * sizeof *source.words);
  return encode_passes(&source, in, planes, lowest_plane, &segment, passes, result);
}
