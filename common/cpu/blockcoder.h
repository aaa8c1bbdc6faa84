/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The block coders of the CPU back end. Each call codes one code-block; it depends on its arguments
 * only and allocates nothing. docs/arithmetic.md has the formats of samples.
 */
#ifndef CJ2K_CPU_BLOCKCODER_H
#define CJ2K_CPU_BLOCKCODER_H

#include "common/codestream/coded.h"

/* A code-block to decode. */
typedef struct {
  const uint8_t *data; /* all segments, one after the other; nothing behind it may be read */
  uint32_t length;
  const Cj2kSegment *segments;
  uint16_t num_segments;
  uint8_t num_passes;
  uint8_t zero_bitplanes;
  uint8_t num_bitplanes;  /* Mb plus ROI shift, including the missing bit-planes */
  uint8_t orientation;    /* Cj2kOrientation */
  uint8_t style;          /* CJ2K_STYLE_* */
  uint16_t width, height; /* 1..1024, product <= 4096 */
} Cj2kBlockInput;

/* Scratch memory of one thread, 64-byte aligned: one part per coder, declared by that coder. */
typedef struct {
  struct Cj2kMqScratch *mq;
  struct Cj2kHtDecodeScratch *ht_decode;
  struct Cj2kHtEncodeScratch *ht_encode;
} Cj2kBlockScratch;
/* block_scratch.c; NULL: out of memory */
Cj2kBlockScratch *cj2k_block_scratch_new(void);
void cj2k_block_scratch_free(Cj2kBlockScratch *scratch);

/*
 * Decode a block into samples[height][stride], sign-magnitude with half units
 * (docs/arithmetic.md). Every sample is written. false: the block is corrupt; the samples are then
 * unspecified and the caller zeroes them.
 *
 * Limits: 30 bit-planes in 32-bit samples, 62 in the 64-bit samples of the _wide forms. For MQ they
 * hold for the coded planes (num_bitplanes - zero_bitplanes), for HT for num_bitplanes, since a
 * cleanup pass holds all planes from the top.
 *
 * MQ (T.800 annexes C, D): all styles; PTERM is decoded like any other termination, without the
 * check for errors. HT (T.814 clause 7, annex B): cleanup, SigProp, MagRef and placeholder passes.
 */
bool cj2k_mq_decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, uint32_t *samples,
                          size_t stride);
bool cj2k_mq_decode_block_wide(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in,
                               uint64_t *samples, size_t stride);
bool cj2k_ht_decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, uint32_t *samples,
                          size_t stride);
bool cj2k_ht_decode_block_wide(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in,
                               uint64_t *samples, size_t stride);

/* A code-block to encode: samples[height][stride], sign-magnitude of the quantiser index. */
typedef struct {
  const uint32_t *samples;
  size_t stride;
  uint16_t width, height;
  uint8_t num_bitplanes; /* Mb; all magnitudes are below 2^Mb */
  uint8_t orientation;
  uint8_t style;
  uint8_t reversible; /* distortion: with all planes decoded the sample is exact, not a midpoint */
} Cj2kBlockSource;

typedef struct {
  uint8_t num_passes; /* 0: all samples are zero */
  uint8_t zero_bitplanes;
  uint32_t length;
} Cj2kBlockResult;

/*
 * MQ: encodes all passes of all bit-planes down to `lowest_plane` (0: all) into out[capacity], and
 * fills passes[]. A pass's length is the shortest cut of the data that decodes all symbols up to
 * its end. Its distortion is the cumulative decrease of the squared error of the midpoint
 * reconstruction, an integer in units of (step / 16)^2 that saturates at UINT64_MAX.
 * docs/mq-coder.md describes both. false: out is too small, or a magnitude is not below 2^Mb.
 */
bool cj2k_mq_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source,
                          uint8_t lowest_plane, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[CJ2K_MAX_PASSES], Cj2kBlockResult *result);

/*
 * HT (T.814): encodes one HT set with its cleanup pass at bit-plane `plane` (0: the lowest) and
 * `refinements` passes at plane - 1: 0, 1 (SigProp) or 2 (SigProp and MagRef); none when `plane` is
 * 0. passes[] gets 1 to 3 entries with length and distortion in the units above; it may be NULL.
 * result->num_passes is 0 when no sample is significant at `plane`. An empty SigProp pass is left
 * out when it would be the last. docs/ht-coder.md lists the choices that the standard leaves open.
 */
bool cj2k_ht_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source, uint8_t plane,
                          uint8_t refinements, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[3], Cj2kBlockResult *result);

/*
 * HT: quantises a block of 9/7 coefficients by rate and distortion, for its cleanup pass at plane
 * 0, into sign-magnitude. Each magnitude is that of cj2k_quantise(), or a smaller one, or 1 in
 * place of 0. quantise.c describes how they are chosen.
 */
void cj2k_ht_quantise(Cj2kBlockScratch *scratch, const float *in, size_t in_stride, uint32_t width,
                      uint32_t height, float inv_scale, uint32_t *out, size_t out_stride);

/* The exact length of the cleanup pass at each of the planes first..first+count-1, without writing
 * it; 0 where no sample is significant. */
void cj2k_ht_cleanup_lengths(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source,
                             uint8_t first, uint8_t count, uint32_t *lengths);

/* The distortion of a cleanup pass at a plane, as cj2k_ht_encode_block() gives it, without coding.
 * At plane 0 it is the squared error of omitting the block; the error that remains at another plane
 * is that value minus the distortion there. */
uint64_t cj2k_ht_cleanup_distortion(const Cj2kBlockSource *source, uint8_t plane);

#endif
