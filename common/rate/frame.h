/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State of rate control for an encoder and for a frame. The encoder fills in Cj2kRateEncoder once
 * and, for each frame, its number, target and slot. All else in Cj2kRateFrame belongs to rate
 * control; its memory is reused for later frames.
 */
#ifndef CJ2K_RATE_FRAME_H
#define CJ2K_RATE_FRAME_H

#include "bucket.h"
#include "ceilings.h"
#include "coding.h"
#include "history.h"
#include "ht_blocks.h"
#include "layout.h"
#include "regions.h"
#include "steps.h"
#include "visual.h"

/* Parameters that are the same for all frames of an encoder. */
typedef struct {
  Cj2kPlan *plan; /* not a reference */
  Cj2kThreads *threads;
  Cj2kBlockCoder coder;
  uint8_t block_style, guard_bits;
  bool reversible;          /* lossless: there are no step sizes */
  bool mct;                 /* components 0 to 2 have a component transform */
  bool colour_difference;   /* components 1 and 2 are colour differences */
  bool alone;               /* there is one frame in flight */
  uint32_t slice_buffer;    /* lines by whose share of the budget slices may be ahead; 0: all */
  uint32_t estimate_stride; /* of cj2k_estimate_stride */
  double *visual;           /* per band: visual weights (visual.h); NULL: none are used */
  double least_visual;      /* the least of them; 1 if there are none */
  double finest;            /* Cj2kFrameSteps.finest of frames with visual weights */
  Cj2kLayers layers;
  Cj2kLeastBytes least;
  Cj2kRateHistory history;
  Cj2kRateBucket bucket; /* of frames whose target has an average */
} Cj2kRateEncoder;

/* The target of a frame. */
typedef struct {
  Cj2kRateControl mode; /* not CJ2K_RATE_AUTO */
  uint32_t quality;     /* the parameter of the mode */
  double quant_step, psnr;
  Cj2kVisualWeights weights;
  Cj2kCeilings ceilings;
  Cj2kAverage average;
  Cj2kRegions regions;
} Cj2kRateTarget;

typedef struct {
  Cj2kRateEncoder *encoder;
  uint64_t number; /* from 1 */
  Cj2kRateTarget target;
  bool may_leave; /* set by the encoder: the layout may be left to the back end; rate control takes
                     it back if that has turned out to be impossible */
  bool foreseen;  /* the frame goes as Cj2kAheadJob says, as far as is known */
  bool limited;   /* the target's steps exceed a ceiling, which has become the frame's budget */
  double pace;    /* CJ2K_RATE_CBR with an average: base of the steps that keep it; 0: none */
  Cj2kOutcome outcome;
  Cj2kFrameCoder coder;
  Cj2kFrameSteps steps;   /* current */
  Cj2kStepRule *rules;    /* per band: how they depend on the base, for a code() that chooses */
  Cj2kHulls hulls;        /* of the blocks coded or measured last; computed on demand */
  Cj2kSelection retained; /* passes in the codestream */
  Cj2kRetainJob retain;   /* the same for place() */
  Cj2kSelection cut;      /* a cut under examination */
  Cj2kFrameLayout layout; /* the result */
  Cj2kHtBlocks ht;
  Cj2kRegions regions;   /* those of block_weights */
  double *block_weights; /* per block; NULL: there were never any regions */
  uint8_t region_planes; /* bit-planes by which blocks inside of regions may be finer than others */
  double *own_visual;    /* per band: see cj2k_rate_limit; NULL: never needed so far */
  double least_visual;   /* the least of the visual weights in force; 1 if there are none */
  Cj2kError *error;
} Cj2kRateFrame;

void cj2k_rate_encoder_init(Cj2kRateEncoder *encoder, Cj2kPlan *plan, Cj2kBlockCoder coder,
                            Cj2kThreads *threads);
/* Computes the visual weights of frames whose target has them. */
void cj2k_rate_encoder_set_visual(Cj2kRateEncoder *encoder, Cj2kSeenAs seen_as,
                                  double pixels_per_degree);
void cj2k_rate_encoder_clear(Cj2kRateEncoder *encoder);

Cj2kStatus cj2k_rate_frame_init(Cj2kRateFrame *frame, Cj2kRateEncoder *encoder,
                                const Cj2kWriteOptions *options, Cj2kError *error);
/* Also clears a frame whose init failed. */
void cj2k_rate_frame_clear(Cj2kRateFrame *frame);

/* Number of samples in all components. */
double cj2k_rate_samples(const Cj2kRateEncoder *encoder);
/* True if the step sizes follow from a budget. */
bool cj2k_rate_searches_steps(const Cj2kRateFrame *frame);
/* Prepares the frame for its target. With an average this waits for earlier frames. */
void cj2k_rate_begin(Cj2kRateFrame *frame);
/* Call it if the frame with the steps of its target exceeds a ceiling. The steps are then searched
 * as for a budget, with the visual weights that the target has. It learns nothing from other
 * frames, and these nothing from it. Returns false if there are no steps to search: the frame is
 * lossless or reversible, or has a budget anyway. If components have ceilings, the frame must have
 * been laid out with the steps of the target. */
bool cj2k_rate_limit(Cj2kRateFrame *frame);
/* Frame `number` needs the slot of a later one: see cj2k_history_interrupt. */
void cj2k_rate_interrupt(Cj2kRateEncoder *encoder, uint64_t number);
/* It has one: see cj2k_history_withdraw. */
void cj2k_rate_withdraw(Cj2kRateEncoder *encoder, uint64_t number);
/* What the frame learns; see cj2k_history_recall. If it is interrupted, its coder does nothing any
 * more. */
bool cj2k_rate_recall(Cj2kRateFrame *frame, Cj2kRateMemory *memory);
/* Records what later frames learn; see cj2k_history_record. */
void cj2k_rate_record(Cj2kRateFrame *frame, const Cj2kRateMemory *memory);
/* Compute frame->hulls from the coded passes (MQ) or measured planes (HT). Blocks that a stride
 * left out stay at plane 0, whose length is in frame->ht. */
void cj2k_rate_hulls_of_passes(Cj2kRateFrame *frame, const Cj2kCodedBlocks *coded);
void cj2k_rate_hulls_of_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured);
/* Refuses a lossless frame with coefficients that exceed the bit-planes of their bands. */
Cj2kStatus cj2k_rate_check_saturated(Cj2kRateFrame *frame, uint64_t saturated);
/* Refuses a lossless frame whose layout exceeds its ceilings. */
Cj2kStatus cj2k_rate_refuse_lossless(Cj2kRateFrame *frame);

#endif
