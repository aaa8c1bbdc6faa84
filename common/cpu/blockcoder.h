/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The block coders of the CPU back end: one code-block at a time, pure functions of their
 * arguments, no allocation. Formats of samples: docs/arithmetic.md.
 */
#ifndef CJ2K_CPU_BLOCKCODER_H
#define CJ2K_CPU_BLOCKCODER_H

#include "common/codestream/coded.h"

/* A code-block to decode. */
typedef struct {
  const uint8_t *data; /* all segments, one after the other; may not be read past data + length */
  uint32_t length;
  const Cj2kSegment *segments;
  uint16_t num_segments;
  uint8_t num_passes;
  uint8_t zero_bitplanes;
  uint8_t num_bitplanes;  /* Mb plus ROI shift: planes in all, including the zero ones */
  uint8_t orientation;    /* Cj2kOrientation */
  uint8_t style;          /* CJ2K_STYLE_* */
  uint16_t width, height; /* 1..1024, product <= 4096 */
} Cj2kBlockInput;

/* Scratch memory of one thread: a part for each coder, which declares it. 64-byte aligned. */
typedef struct {
  struct Cj2kMqScratch *mq;
  struct Cj2kHtDecodeScratch *ht_decode;
  struct Cj2kHtEncodeScratch *ht_encode;
} Cj2kBlockScratch;
/* block_scratch.c */
Cj2kBlockScratch *cj2k_block_scratch_new(void);
void cj2k_block_scratch_free(Cj2kBlockScratch *scratch);

/*
 * Decode into samples[height][stride], sign-magnitude with half units (docs/arithmetic.md). Every
 * sample is written. false: the block is corrupt (the samples are then unspecified; the caller
 * zeroes them). Coded bit-planes (num_bitplanes - zero_bitplanes) must be at most 30; the _wide
 * forms take up to 62 and write 64-bit samples. For HT it is num_bitplanes itself that must be at
 * most 30 or 62: a cleanup pass holds all planes from the top. MQ: T.800 annex C, D, with every
 * style. HT: T.814 clause 7, annex B: cleanup, SigProp, MagRef, placeholder passes. MQ PTERM is
 * decoded like any termination; a failed check never fails a block by itself.
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
  uint8_t num_bitplanes; /* Mb; every magnitude is below 2^Mb */
  uint8_t orientation;
  uint8_t style;
  uint8_t reversible; /* for distortion: midpoint reconstruction only where planes are missing */
} Cj2kBlockSource;

typedef struct {
  uint8_t num_passes; /* 0: all samples are zero */
  uint8_t zero_bitplanes;
  uint32_t length;
} Cj2kBlockResult;

/*
 * MQ encode, every pass of every bit-plane down to `lowest_plane` (0: all), into out[capacity] with
 * pass ends. Lengths are truncation lengths that decode exactly, distortions are integers:
 * cumulative decrease of the squared error of the midpoint reconstruction, in units of (step /
 * 16)^2, saturating at UINT64_MAX (docs/mq-coder.md has both). false: out is too small, or a
 * magnitude is not below 2^Mb.
 */
bool cj2k_mq_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source,
                          uint8_t lowest_plane, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[CJ2K_MAX_PASSES], Cj2kBlockResult *result);

/*
 * HT encode (T.814): one HT set with its cleanup pass at bit-plane `plane` (0: the lowest) and
 * `refinements` further passes (0, 1: SigProp, 2: SigProp and MagRef, at plane - 1; none at plane
 * 0). passes[] gets 1..3 entries with length and distortion (same units); it may be NULL.
 * num_passes 0 when nothing is significant at `plane`. A SigProp pass without a byte is left out
 * when it would be the last. The choices that the standard leaves open: docs/ht-coder.md.
 */
bool cj2k_ht_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source, uint8_t plane,
                          uint8_t refinements, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[3], Cj2kBlockResult *result);

/* Bytes that the cleanup pass would take at each of planes first..first+count-1, without writing
 * it; exact; 0 when nothing is significant there. */
void cj2k_ht_cleanup_lengths(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source,
                             uint8_t first, uint8_t count, uint32_t *lengths);

/* The distortion of a cleanup pass at a plane, as cj2k_ht_encode_block gives it, without coding. At
 * plane 0 it is the squared error of the block left out, so that less it is what remains at another
 * plane. */
uint64_t cj2k_ht_cleanup_distortion(const Cj2kBlockSource *source, uint8_t plane);

#endif
