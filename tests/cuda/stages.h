/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A frame's way through two back ends, stage by stage; what each stage leaves is compared and is a
 * line of TAP.
 */
#ifndef STAGES_H
#define STAGES_H

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
  Side sides[2]; /* the first one is right */
  uint32_t count, failed;
} Stages;

typedef struct {
  const char *format;
  uint32_t width, height;
  double step; /* as a fraction of full range; 0: 5/3 and nothing lost */
  uint16_t block_width, block_height;
  uint8_t num_resolutions;
  uint32_t tile, x0, y0; /* size of tiles; offset of the image */
  bool mq;
  uint8_t style; /* MQ: CJ2K_STYLE_* */
  uint8_t alone; /* frames come in slices */
  bool xyz, no_mct;
  uint8_t narrow; /* magnitudes have so many bit-planes less than they need */
  bool refined;   /* HT, decoding: with SigProp and MagRef */
  uint8_t cut;    /* MQ, decoding: of each so many passes the last is missing */
  uint8_t roi;    /* decoding: max-shift */
  uint8_t reduce; /* decoding */
} Case;

/* Coded blocks on their way to the decoder. */
typedef struct {
  GByteArray *bytes;
  GArray *segments; /* Cj2kSegment */
  GArray *blocks;   /* Cj2kCodedBlock */
  Cj2kCodedFrame frame;
} Coded;

void coded_init(Coded *coded);
void coded_clear(Coded *coded);

/* The frame of a case on its way to coded blocks. */
typedef struct {
  const Case *test;
  char *title;
  const Format *format;
  Cj2kEncoderSetup setup;
  Cj2kHeader *header;
  Cj2kLayout layout;
} StageFrame;

/* A line of TAP; `why` follows when it is not ok. */
void stage_done(Stages *stages, const char *title, const char *stage, bool ok, const char *why);
/* The same for a stage that is not there: why not. */
void stage_skipped(Stages *stages, const char *title, const char *stage, const char *why);

/* stage-encode.c. Fills in `coded`, and the header's step sizes, for check_decoding. */
void check_encoding(Stages *stages, StageFrame *frame, Coded *coded);
/* stage-decode.c. `alone`: with one frame in flight. */
void check_decoding(Stages *stages, const char *title, const Cj2kPlan *plan,
                    const Cj2kLayout *layout, bool alone, const Cj2kCodedFrame *coded);
/* The frame of a case; then one in the same slots of which some blocks are left out. */
void check_decoding_case(Stages *stages, StageFrame *frame, Coded *coded);
void check_decoding_file(Stages *stages, const char *path);

#endif
