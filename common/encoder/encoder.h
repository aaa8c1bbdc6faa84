/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The encoder, inside. submit (encoder.c) hands a frame to a thread of the pool, which drives the
 * back end, decides what to keep (rate/control.c) and writes the codestream (frame.c);
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
  CJ2K_ENCODE_BEGUN, /* whoever receives it does the rest */
  CJ2K_ENCODE_DONE
} Cj2kEncodeState;

/* MQ: bytes of what is kept on their way from the back end. */
typedef enum {
  CJ2K_GATHER_NONE = 0,
  CJ2K_GATHER_BEGUN,
  CJ2K_GATHER_STALE, /* begun, and something else is kept now */
} Cj2kGatherState;

/* What later frames learn from a frame. */
typedef struct {
  uint64_t number; /* of the frame, from 1 */
  double base;     /* of its steps; MQ: that its slope asks for; 0: nothing is known */
  double total;    /* HT: bytes that it gave at plane 0 */
  double power;    /* HT: bytes grow as base^-power */
  double drift;    /* HT: log of the growth that is to be expected */
  uint64_t budget;
  uint64_t headers;        /* MQ: bytes of headers */
  Cj2kStepFactors factors; /* MQ */
} Cj2kRateMemory;
/* Frames learn from the one so many before; so many may be on their way together. */
#define CJ2K_RATE_LAG    8
#define CJ2K_RATE_MEMORY 32 /* entries; more than frames in flight and the lag */

/* One frame in flight. Its memory stays for the next one. */
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
  double base;             /* that they follow from, a fraction of full range */
  Cj2kStepFactors factors; /* MQ with a budget: what base is multiplied with */
  Cj2kCodestreamWriter *writer;
  uint8_t *kept;          /* [layer][block] */
  uint32_t *kept_lengths; /* per block: bytes of what is kept */
  uint32_t *cut_lengths;  /* per block, of another cut */
  Cj2kPacketSource source;
  Cj2kCodestreamSize size;

  uint64_t number; /* from 1 */
  Cj2kRateMemory memory;

  uint64_t header_bytes; /* what headers take, about; 0: not known */
  Cj2kBaseSearch search;
  double energy;   /* error of a frame without any block; 0: not known */
  bool keeps_less; /* than was coded */
  bool recalled;   /* an earlier frame said where to begin */
  Cj2kGatherState gather;

  /* Rate control; made when first needed. */
  Cj2kHulls hulls;
  uint64_t *component_sums; /* for a count of bytes */
  uint8_t *options;         /* per block, of the cut being tried */
  uint8_t *layer_options;
  Cj2kHtChoice *choices;
  uint32_t *coded_lengths;     /* of HT blocks at plane 0 */
  Cj2kEncodedBlock *ht_blocks; /* what HT blocks will be, by what was measured */
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
  Cj2kError why_cpu; /* why AUTO did not take CUDA; no code: it did, or was not asked */
  void *cpu_data;    /* CPU back end for fallbacks, made when first needed; guarded by lock */

  GMutex lock;
  GCond changed;
  Cj2kEncoderFrame *frames; /* a ring of params.frames_in_flight */
  uint32_t first, count;    /* in flight, in order */
  uint64_t num_frames;      /* submitted */
  Cj2kSlots slots;          /* of the back end */
  Cj2kRateMemory memory[CJ2K_RATE_MEMORY];
  Cj2kOutputs *outputs;
  uint64_t least_bytes;       /* of a codestream without any block */
  uint64_t *least_components; /* what the ceilings of components count of it */
  Cj2kStats stats;
};

/* least.c. Lays out a codestream without any block, when the first frame has been made. */
Cj2kStatus cj2k_encoder_find_least(Cj2kEncoder *encoder, Cj2kError *error);

/* frame.c. On a thread of the pool: everything from the picture to the bytes. */
void cj2k_encoder_frame_run(void *frame);
/* The two halves of it: up to the transform, which goes on by itself on a GPU, and the rest. */
void cj2k_encoder_frame_begin(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_end(Cj2kEncoderFrame *frame);
/* Makes what does not depend on pictures. */
Cj2kStatus cj2k_encoder_frame_init(Cj2kEncoderFrame *frame, Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_frame_clear(Cj2kEncoderFrame *frame);

/* slots.c. Makes slots for all frames, or as many as memory holds; at least one. */
Cj2kStatus cj2k_encoder_make_slots(Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_clear_slots(Cj2kEncoder *encoder);
/* Lends the frame a slot, which may take until another frame is done; false: frame->error says why.
 */
bool cj2k_encoder_frame_take_slot(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_give_slot(Cj2kEncoderFrame *frame);
/* Memory did not suffice for the frame's slot; true: take another. */
bool cj2k_encoder_frame_drop_slot(Cj2kEncoderFrame *frame);

typedef Cj2kStatus (*Cj2kEncodeStep)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                     Cj2kError *error);
/* One step of the back end from start to end; results in frame->result. */
Cj2kStatus cj2k_encoder_frame_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step);
/* The same in two, with other work between them. */
Cj2kStatus cj2k_encoder_frame_begin_step(Cj2kEncoderFrame *frame, Cj2kEncodeStep step);
Cj2kStatus cj2k_encoder_frame_end_step(Cj2kEncoderFrame *frame);
/* Lays the codestream out with frame->source; frame->size is then exact. */
Cj2kStatus cj2k_encoder_frame_layout(Cj2kEncoderFrame *frame);

/* rate/control.c. Coefficients -> coded blocks, frame->source and a layout that keeps to the
 * ceilings. */
Cj2kStatus cj2k_encoder_frame_code(Cj2kEncoderFrame *frame);
/* HT: codes all blocks at plane 0, keeps and lays out everything. */
Cj2kStatus cj2k_encoder_frame_code_all(Cj2kEncoderFrame *frame);
/* MQ: what is kept may stay so: its bytes begin to come, where that is worth it, while it is laid
 * out. */
Cj2kStatus cj2k_encoder_frame_begin_gather(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_make_hulls(Cj2kEncoderFrame *frame);
/* MQ: of what was coded last. */
void cj2k_encoder_frame_take_hulls(Cj2kEncoderFrame *frame);

/* rate/base.c. Step sizes for quality, step or PSNR; the transform is done. */
Cj2kStatus cj2k_encoder_frame_steps(Cj2kEncoderFrame *frame);
/* Steps for the least squared error; base is a fraction of full range. */
void cj2k_encoder_frame_set_base(Cj2kEncoderFrame *frame, double base);
/* Squared error that quantising each stride-th block costs, over the square of full range. */
Cj2kStatus cj2k_encoder_frame_quantising(Cj2kEncoderFrame *frame, uint32_t stride, double *error);
/* Samples of all components. */
double cj2k_encoder_num_samples(const Cj2kEncoder *encoder);

/* rate/budget.c. Steps for a budget. MQ: sets them, finer with each trial, and from the second
 * on not by what earlier frames say. HT: codes all blocks with them, too. */
Cj2kStatus cj2k_encoder_frame_search_mq(Cj2kEncoderFrame *frame, uint32_t trial);
Cj2kStatus cj2k_encoder_frame_search_ht(Cj2kEncoderFrame *frame);
/* HT: the steps in force are too fine, and cutting off leaves too much unused: searches the finest
 * that fit, and codes with them. */
Cj2kStatus cj2k_encoder_frame_search_below(Cj2kEncoderFrame *frame);
/* MQ: steps for another base, with the factors that were found. */
void cj2k_encoder_frame_set_mq_base(Cj2kEncoderFrame *frame, double base);
/* MQ: the error, as of quantising(), of a frame that keeps all passes. */
Cj2kStatus cj2k_encoder_frame_mq_quantising(Cj2kEncoderFrame *frame, double *error);
/* MQ: all passes that were coded are well above the budget. */
bool cj2k_encoder_frame_mq_is_fine(const Cj2kEncoderFrame *frame);
/* MQ: the slope at which the frame was cut, for later frames. */
void cj2k_encoder_frame_note_slope(Cj2kEncoderFrame *frame, uint32_t slope);
/* Lets later frames know of this one, with the first call for each frame. */
void cj2k_encoder_frame_remember(Cj2kEncoderFrame *frame);
/* Bytes of a frame with all HT blocks at the plane first_plane + `plane`, by those that were
 * measured last; of each component no more than it may have. least: with as few for headers as
 * there may be, else with what is expected. */
uint64_t cj2k_encoder_frame_sampled_bytes(const Cj2kEncoderFrame *frame, uint32_t plane,
                                          bool least);
/* What headers are expected to take with lengths (and passes, NULL: one each) of each stride-th
 * block. */
Cj2kHeaderEstimate cj2k_encoder_frame_headers(const Cj2kEncoderFrame *frame, const uint8_t *passes,
                                              const uint32_t *lengths, uint32_t stride);

/* rate/fit.c. What to keep, from frame->hulls, under the frame's ceilings; sets
 * frame->options and frame->kept, and lays out. */
Cj2kStatus cj2k_encoder_frame_select(Cj2kEncoderFrame *frame);
/* Keeps what frame->options and, with several layers, frame->hulls say, and lays out; bytes begin
 * to come where that is worth it. */
Cj2kStatus cj2k_encoder_frame_keep(Cj2kEncoderFrame *frame);
/* Refuses ceilings of a frame and of its components below what headers need. */
Cj2kStatus cj2k_encoder_check_ceilings(const Cj2kEncoder *encoder, uint64_t frame_bytes,
                                       uint64_t part_bytes, Cj2kError *error);
/* Bytes of the layout without those of components above their ceiling. */
uint64_t cj2k_encoder_frame_useful_bytes(const Cj2kEncoderFrame *frame);
/* Within the ceilings of frame and components? */
bool cj2k_encoder_frame_fits(const Cj2kEncoderFrame *frame);

#endif
