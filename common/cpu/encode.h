/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of the CPU encode back end: a slot and its two stages. TRANSFORM (encode_rows.c) turns
 * the picture, or the rows of it that are there, into coefficients. BLOCK CODER (encode_blocks.c)
 * quantises and codes them block by block, so that quantised coefficients stay in the cache.
 */
#ifndef CJ2K_CPU_ENCODE_H
#define CJ2K_CPU_ENCODE_H

#include "blockcoder.h"
#include "common/backend.h"
#include "common/cpu/dwt/transform.h"
#include "common/shared/xyz.h"

#include <glib.h>

#define CJ2K_ENCODE_BLOCK_AREA 4096

/* Rows [row0, row1) (absolute) of a resolution of a tile-component; at the highest resolution, rows
 * of the `count` components from tile_comp on, which share a component transform. */
typedef struct {
  uint32_t tile_comp, count;
  uint32_t resolution; /* r */
  uint32_t row0, row1;
} Cj2kEncodeStrip;

/* The back end: what all slots share. */
typedef struct {
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference */
  bool ht, rgb_to_xyz;
  bool best;          /* HT: quantisation by rate and distortion */
  Cj2kXyzTables *xyz; /* computed when first needed; guarded by lock */
  GMutex lock;
  GArray *strips;                        /* Cj2kEncodeStrip, highest resolution first */
  guint strips_end[CJ2K_MAX_LEVELS + 1]; /* index behind the last strip of r, by NL - r */
  size_t row_scratch;                    /* bytes of DWT scratch of one component */
  uint32_t max_width;
  uint64_t *byte_offsets; /* where each block begins in the slot's bytes; num_blocks + 1 entries */
  uint32_t max_passes;    /* of one block */
} Cj2kCpuEncoder;

/* Memory of one lane of a parallel for, allocated when the lane is first used. */
typedef struct {
  Cj2kBlockScratch *block_scratch;
  uint32_t *block;   /* quantised samples of one block */
  char *rows;        /* DWT scratch of up to three components */
  int32_t *unpacked; /* a row of each of them */
} Cj2kEncodeLane;

struct Cj2kEncodeSlot {
  Cj2kCpuEncoder *encoder;
  uint32_t *coefficients, *lowpass; /* int32_t or float, in fact */
  uint8_t *bytes;
  Cj2kEncodedBlock *blocks;
  Cj2kPassLength *passes;
  Cj2kHullPoint *points; /* MQ */
  uint32_t *ht_lengths;
  uint64_t *ht_distortions;
  size_t ht_lengths_size, ht_distortions_size; /* entries allocated */
  uint64_t *band_errors;
  Cj2kEncodeLane *lanes; /* one a thread */
  GArray *strips;        /* Cj2kEncodeStrip: of rows that come one after the other */
  /* HT: choices and quantisers of the last code(), whose bytes are kept. */
  bool coded;
  Cj2kHtChoice *coded_choices;
  Cj2kFrameQuantiser *coded_quantisers;
  Cj2kFrameQuantiser *chosen; /* those that code() has chosen by an estimate */
  Cj2kStatus status;          /* of the last step */
  Cj2kError error;
  Cj2kEncodeResult result;
};

/* The first coefficient of a code-block, in rows of its band's stride. */
static inline const uint32_t *cj2k_encode_coefficients(const Cj2kEncodeSlot *slot, uint32_t index)
{
  const Cj2kPlanBlock *block = &slot->encoder->plan->blocks[index];
  const Cj2kPlanBand *band = &slot->encoder->plan->bands[block->band];
  return slot->coefficients + band->offset + (size_t)block->y * band->stride + block->x;
}

/* The memory of a lane. NULL, with the slot's status set, when it cannot be allocated. */
Cj2kEncodeLane *cj2k_encode_lane(Cj2kEncodeSlot *slot, uint32_t lane);

/* Lists the strips of all levels; called once. */
void cj2k_encode_list_strips(Cj2kCpuEncoder *encoder);
/* TRANSFORM: turns the picture into the coefficients of all bands, not yet quantised. */
void cj2k_encode_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job);

/* The same for the coefficients that `rows` rows of the picture determine and `done` rows do not
 * (transform_rows in common/backend.h). */
void cj2k_encode_some_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t done,
                           uint32_t rows);

/* BLOCK CODER: the back end's measure() and code() (common/backend.h). */
void cj2k_encode_measure(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job);
/* Cj2kEncodeResult.estimates, from one in `quad_rows` rows of quads. */
uint64_t cj2k_encode_estimate(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers,
                              uint32_t quad_rows);
void cj2k_encode_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);

#endif
