/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The internals of the encoder. submit (encoder.c) hands a frame to a thread of the pool, which
 * drives the back end, runs rate control (rate/control.c) and writes the codestream (frame.c);
 * receive hands it out.
 */
#ifndef CJ2K_ENCODER_H
#define CJ2K_ENCODER_H

#include "common/backend.h"
#include "common/codestream/bitwriter.h"
#include "common/codestream/write_codestream.h"
#include "common/rate/base_search.h"
#include "common/rate/ceilings.h"
#include "common/rate/headers.h"
#include "common/rate/selection.h"
#include "common/rate/steps.h"
#include "common/rate/strides.h"
#include "params.h"

#include "common/runtime/slots.h"
#include "outputs.h"

#include <glib.h>

typedef enum {
  CJ2K_ENCODE_FREE = 0,
  CJ2K_ENCODE_BUSY,
  CJ2K_ENCODE_BEGUN, /* the transform was started; the receiving thread does the rest */
  CJ2K_ENCODE_DONE
} Cj2kEncodeState;

/* MQ: state of the download of retained bytes that begins during layout. */
typedef enum {
  CJ2K_GATHER_NONE = 0,
  CJ2K_GATHER_BEGUN,
  CJ2K_GATHER_STALE, /* begun, but the selection has changed since */
} Cj2kGatherState;

/* What later frames learn from a frame. */
typedef struct {
  uint64_t number; /* of the frame, from 1 */
  double base;     /* of the frame's steps; MQ: the one that its slope suggests; 0: unknown */
  double total;    /* HT: bytes of the frame at plane 0 */
  double power;    /* HT: bytes grow as base^-power */
  double drift;    /* HT: expected growth, as a logarithm */
  uint64_t budget;
  uint64_t headers;        /* MQ: bytes of headers */
  Cj2kStepFactors factors; /* MQ */
} Cj2kRateMemory;
/* A frame learns from the one CJ2K_RATE_LAG before it, so that up to that many can be coded at
 * once. */
#define CJ2K_RATE_LAG    8
#define CJ2K_RATE_MEMORY 32 /* entries; more than frames in flight and the lag */

/* One frame in flight. Its memory is kept for the next frame in this place. */
typedef struct {
  Cj2kEncoder *encoder;
  Cj2kEncodeState state; /* guarded by encoder->lock */
  Cj2kPicture picture;   /* as submitted */
  void *user;
  Cj2kEncoderParams params; /* the rate parameters of this frame */
  Cj2kCeilings ceilings;

  const Cj2kEncodeBackend *backend; /* the encoder's, or the CPU's in its place */
  void *backend_data;
  Cj2kEncodeSlot *slot, *cpu_slot; /* the first is lent while the frame is coded */
  Cj2kEncodeJob job;
  Cj2kEncodeResult result; /* of the last step */

  Cj2kFrameSteps steps;
  double base;             /* base of the steps, a fraction of full range */
  Cj2kStepFactors factors; /* MQ with a budget: what base is multiplied with */
  Cj2kCodestreamWriter *writer;
  uint8_t *kept;          /* [layer][block] */
  uint32_t *kept_lengths; /* per block: retained bytes */
  uint32_t *cut_lengths;  /* per block, of another cut */
  Cj2kPacketSource source;
  Cj2kCodestreamSize size;

  uint64_t number; /* from 1 */
  Cj2kRateMemory memory;

  uint64_t header_bytes; /* estimated bytes of headers; 0: unknown */
  Cj2kBaseSearch search;
  double energy;   /* squared error of a frame without any block; 0: unknown */
  bool keeps_less; /* fewer passes are retained than were coded */
  bool recalled;   /* the search began at the result of an earlier frame */
  Cj2kGatherState gather;

  /* Rate control; created when first needed. */
  Cj2kHulls hulls;
  uint64_t *component_sums; /* for a count of bytes */
  uint8_t *options;         /* per block, of the cut being tried */
  uint8_t *layer_options;
  Cj2kHtChoice *choices;
  uint32_t *coded_lengths;     /* of HT blocks at plane 0 */
  Cj2kEncodedBlock *ht_blocks; /* HT blocks as they will be coded, from measured lengths */
  Cj2kPassLength *ht_passes;

  Cj2kOutput *output;
  bool fallback;
  Cj2kStatus status;
  Cj2kError error;
  double ms_packets, ms_transform, ms_block_coder;
  gint64 submitted; /* monotonic, microseconds */
} Cj2kEncoderFrame;

struct Cj2kEncoder {
  Cj2kEncoderSetup setup; /* rate parameters: guarded by lock */
  char *comment;
  Cj2kLayout layout; /* copies */
  Cj2kSampleLayout *samples;
  Cj2kHeader *header;
  Cj2kPlan *plan;
  Cj2kThreads *threads;
  const Cj2kEncodeBackend *backend;
  void *backend_data;
  Cj2kBackendKind backend_kind;
  Cj2kError why_cpu; /* why AUTO did not take CUDA; no code: it did, or the back end was not AUTO */
  void *cpu_data;    /* CPU back end for fallbacks, created when first needed; guarded by lock */

  GMutex lock;
  GCond changed;
  Cj2kEncoderFrame *frames; /* a ring of params.frames_in_flight */
  uint32_t first, count;    /* in flight, in order */
  uint64_t num_frames;      /* submitted */
  Cj2kSlots slots;          /* of the back end */
  Cj2kRateMemory memory[CJ2K_RATE_MEMORY];
  Cj2kOutputs *outputs;
  uint64_t least_bytes; /* bytes of a codestream without any block */
  uint64_t
      *least_components; /* the part of them that counts towards the ceiling of each component */
  Cj2kStats stats;
};

/* least.c. Lays out a codestream without any block; called once the first frame exists. */
Cj2kStatus cj2k_encoder_find_least(Cj2kEncoder *encoder, Cj2kError *error);

/* frame.c. Does everything from the picture to the bytes, on a thread of the pool. */
void cj2k_encoder_frame_run(void *frame);
/* The two halves of cj2k_encoder_frame_run: starting the transform, which a GPU goes on with by
 * itself, and the rest. */
void cj2k_encoder_frame_begin(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_end(Cj2kEncoderFrame *frame);
/* Creates what does not depend on pictures. */
Cj2kStatus cj2k_encoder_frame_init(Cj2kEncoderFrame *frame, Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_frame_clear(Cj2kEncoderFrame *frame);

/* slots.c. Creates slots for all frames, or as many as memory holds; at least one. */
Cj2kStatus cj2k_encoder_make_slots(Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_clear_slots(Cj2kEncoder *encoder);
/* Lends the frame a slot, which may have to wait until another frame is done. Returns false and
 * fills frame->error on failure. */
bool cj2k_encoder_frame_take_slot(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_give_slot(Cj2kEncoderFrame *frame);
/* Destroys the slot of a frame that ran out of memory. Returns true if the frame can take another.
 */
bool cj2k_encoder_frame_drop_slot(Cj2kEncoderFrame *frame);

typedef Cj2kStatus (*Cj2kEncodeStep)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                     Cj2kError *error);
/* Runs one step of the back end; the results are in frame->result. */
Cj2kStatus cj2k_encoder_frame_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step);
/* The same in two calls, with other work between them. */
Cj2kStatus cj2k_encoder_frame_begin_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step);
Cj2kStatus cj2k_encoder_frame_end_step(Cj2kEncoderFrame *frame);
/* Lays the codestream out with frame->source and sets frame->size, which is exact. */
Cj2kStatus cj2k_encoder_frame_layout(Cj2kEncoderFrame *frame);

/* rate/control.c. Turns coefficients into coded blocks, frame->source and a layout under the
 * ceilings. */
Cj2kStatus cj2k_encoder_frame_code(Cj2kEncoderFrame *frame);
/* HT: codes all blocks at plane 0, retains everything and lays it out. */
Cj2kStatus cj2k_encoder_frame_code_all(Cj2kEncoderFrame *frame);
/* MQ: starts to download the selected bytes during layout, if the selection is likely final. */
Cj2kStatus cj2k_encoder_frame_begin_gather(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_make_hulls(Cj2kEncoderFrame *frame);
/* MQ: takes the hulls of the blocks that were coded last. */
void cj2k_encoder_frame_take_hulls(Cj2kEncoderFrame *frame);

/* rate/base.c. Sets step sizes for quality, step or PSNR. Call it after the transform. */
Cj2kStatus cj2k_encoder_frame_steps(Cj2kEncoderFrame *frame);
/* Sets the steps of the least squared error for a base, a fraction of full range. */
void cj2k_encoder_frame_set_base(Cj2kEncoderFrame *frame, double base);
/* Finds the squared error of quantising every stride-th block, over the square of full range. */
Cj2kStatus cj2k_encoder_frame_quantising(Cj2kEncoderFrame *frame, uint32_t stride, double *error);
/* Samples of all components. */
double cj2k_encoder_num_samples(const Cj2kEncoder *encoder);

/* rate/budget.c. Steps for a budget. MQ: sets them, finer in each trial; only the first uses
 * earlier frames. HT: also codes all blocks with them. */
Cj2kStatus cj2k_encoder_frame_search_mq(Cj2kEncoderFrame *frame, uint32_t trial);
Cj2kStatus cj2k_encoder_frame_search_ht(Cj2kEncoderFrame *frame);
/* HT: searches the finest steps that fit and codes with them. For steps that are too fine, if
 * dropping passes leaves too much of the budget unused. whole: searches until the budget is full.
 */
Cj2kStatus cj2k_encoder_frame_search_below(Cj2kEncoderFrame *frame, bool whole);
/* MQ: sets the steps for another base, with the factors found before. */
void cj2k_encoder_frame_set_mq_base(Cj2kEncoderFrame *frame, double base);
/* MQ: finds the error of a frame that retains all passes, in the unit of
 * cj2k_encoder_frame_quantising. */
Cj2kStatus cj2k_encoder_frame_mq_quantising(Cj2kEncoderFrame *frame, double *error);
/* MQ: true if all coded passes together are well above the budget. */
bool cj2k_encoder_frame_mq_is_fine(const Cj2kEncoderFrame *frame);
/* MQ: records the slope at which the frame was cut, for later frames. */
void cj2k_encoder_frame_note_slope(Cj2kEncoderFrame *frame, uint32_t slope);
/* Passes what was learned from this frame to later ones. Only the first call for a frame counts. */
void cj2k_encoder_frame_remember(Cj2kEncoderFrame *frame);
/* Estimates the bytes of a frame with all HT blocks at plane first_plane + `plane` from the blocks
 * measured last; no component counts for more than its ceiling. least: with the smallest possible
 * headers, else with the expected ones. */
uint64_t cj2k_encoder_frame_sampled_bytes(const Cj2kEncoderFrame *frame, uint32_t plane,
                                          bool least);
/* Estimates the bytes of headers from the lengths (and passes; NULL: one each) of every stride-th
 * block. */
Cj2kHeaderEstimate cj2k_encoder_frame_headers(const Cj2kEncoderFrame *frame, const uint8_t *passes,
                                              const uint32_t *lengths, uint32_t stride);

/* rate/fit.c. Selects from frame->hulls what to retain under the frame's ceilings, sets
 * frame->options and frame->kept, and lays out. */
Cj2kStatus cj2k_encoder_frame_select(Cj2kEncoderFrame *frame);
/* Retains what frame->options and, with several layers, frame->hulls select, and lays out. The
 * download of the bytes may begin meanwhile. */
Cj2kStatus cj2k_encoder_frame_keep(Cj2kEncoderFrame *frame);
/* Refuses ceilings of a frame and of its components that are smaller than the headers. */
Cj2kStatus cj2k_encoder_check_ceilings(const Cj2kEncoder *encoder, uint64_t frame_bytes,
                                       uint64_t part_bytes, Cj2kError *error);
/* Bytes of the layout without those of components above their ceiling. */
uint64_t cj2k_encoder_frame_useful_bytes(const Cj2kEncoderFrame *frame);
/* True if the layout is within the ceilings of frame and components. */
bool cj2k_encoder_frame_fits(const Cj2kEncoderFrame *frame);

#endif
