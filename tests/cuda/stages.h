/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a frame through two back ends stage by stage, compares the results of each stage and prints
 * a line of TAP for it.
 */
#ifndef TESTS_CUDA_STAGES_H
#define TESTS_CUDA_STAGES_H

#include "common/encoder/params.h"
#include "stage-compare.h"

#include <glib.h>

typedef struct {
  const char *name;
  const Cj2kEncodeBackend *encode;
  const Cj2kDecodeBackend *decode;
  ReadEncoded read_encoded;
  ReadDecoded read_decoded;
  Cj2kThreads *threads;
} Side;

typedef struct {
  Side sides[2]; /* the first one is the reference */
  uint32_t count, failed;
} Stages;

typedef struct {
  const char *format;
  uint32_t width, height;
  double step; /* as a fraction of the full range; 0: lossless with the 5/3 filter */
  uint16_t block_width, block_height;
  uint8_t num_resolutions;
  uint32_t tile, x0, y0; /* tile size; offset of the image */
  bool mq;
  uint8_t style;         /* MQ: CJ2K_STYLE_* */
  uint8_t one_in_flight; /* pictures are cut into slices */
  bool xyz, no_mct;
  uint8_t missing_planes; /* number of bit-planes by which magnitudes exceed what fits */
  bool best;              /* HT: quantised by rate and distortion */
  bool refined;           /* HT, decoding: with SigProp and MagRef */
  uint8_t drop_divisor;   /* MQ, decoding: drops the last 1/drop_divisor of the passes; 0: none */
  uint8_t roi;            /* decoding: shift of the region of interest (max-shift) */
  uint8_t reduce;         /* decoding: resolutions to discard */
} Case;

/* Coded blocks, as input of the decoder. */
typedef struct {
  GByteArray *bytes;
  GArray *segments; /* Cj2kSegment */
  GArray *blocks;   /* Cj2kCodedBlock */
  Cj2kCodedFrame frame;
} Coded;

void coded_init(Coded *coded);
void coded_clear(Coded *coded);

/* The frame of a case, as input of the encoder. */
typedef struct {
  const Case *test;
  char *title;
  const Format *format;
  Cj2kEncoderSetup setup;
  Cj2kHeader *header;
  Cj2kLayout layout;
} StageFrame;

/* Prints a line of TAP, followed by `why` if it is not ok. */
void stage_done(Stages *stages, const char *title, const char *stage, bool ok, const char *why);
/* The same for a stage that cannot be run; `why` is the reason. */
void stage_skipped(Stages *stages, const char *title, const char *stage, const char *why);

/* stage-encode.c. Fills in `coded`, and the header's step sizes, for check_decoding. */
void check_encoding(Stages *stages, StageFrame *frame, Coded *coded);
/* stage-decode.c */
void check_decoding(Stages *stages, const char *title, const Cj2kPlan *plan,
                    const Cj2kLayout *layout, bool one_in_flight, const Cj2kCodedFrame *coded);
/* Decodes the frame of a case; then, in the same slots, a frame in which some blocks are left
 * out. */
void check_decoding_case(Stages *stages, StageFrame *frame, Coded *coded);
void check_decoding_file(Stages *stages, const char *path);

#endif
