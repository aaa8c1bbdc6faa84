/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The internals of the encoder. submit (submit.c), or begin for a picture whose rows come in parts
 * (parts.c), hands a frame to one of the encoder's threads, which drives the back end, runs rate
 * control (common/rate/control.h) and writes the codestream (frame.c); receive hands it out.
 */
#ifndef CJ2K_ENCODER_ENCODER_H
#define CJ2K_ENCODER_ENCODER_H

#include "common/backend.h"
#include "common/backend_several.h"
#include "common/rate/frame.h"
#include "common/runtime/slots.h"
#include "outputs.h"
#include "params.h"

#include <glib.h>

typedef enum {
  CJ2K_ENCODE_FREE = 0,
  CJ2K_ENCODE_BUSY,
  CJ2K_ENCODE_BEGUN, /* the transform was started; the receiving thread does the rest */
  CJ2K_ENCODE_DONE
} Cj2kEncodeState;

/* One frame in flight. Its memory is kept for the next frame in this place. */
typedef struct {
  Cj2kEncoder *encoder;
  Cj2kEncodeState state; /* guarded by encoder->lock */
  Cj2kPicture picture;   /* as submitted */
  void *user;
  Cj2kEncoderParams params;        /* when it was submitted */
  Cj2kEncodeSlot *slot, *cpu_slot; /* the first is lent while the frame is coded */
  Cj2kRateFrame rate;              /* its coder has the slot in use */
  Cj2kByteBuffer boxes;            /* before the codestream of a file */
  Cj2kOutput *output;
  uint32_t transformed; /* rows of the picture, on the reference grid */
  /* Rows that are there, and for how many the task waits (UINT32_MAX: it does not). Guarded by
   * encoder->lock, like the two below. */
  uint32_t rows, rows_wanted;
  bool open;    /* rows may still come; the frame cannot be received */
  bool dropped; /* no more rows come */
  bool fallback;
  bool redone;          /* a device failed, and another one did the frame */
  Cj2kError why_redone; /* with redone: the error of that device */
  Cj2kStatus status;
  Cj2kError error;
  double ms_write;
  gint64 submitted; /* monotonic, microseconds */
  /* Of the last frame in this place: the bytes of its codestream, and whether it went another way
   * than was foreseen. */
  uint64_t last_bytes;
  bool not_foreseen;
} Cj2kEncoderFrame;

/* What codes (backend.c). */
typedef struct {
  const Cj2kEncodeBackend *functions;
  void *data;
  Cj2kBackendKind kind;
  Cj2kDeviceSet devices; /* GPUs in use */
  Cj2kError why_cpu; /* why AUTO did not take CUDA; no code: it did, or the back end was not AUTO */
  void *cpu_data;    /* CPU back end for fallbacks, created when first needed; guarded by lock */
} Cj2kEncoderBackend;

/* Frames in flight (frame.c). All but `size` is guarded by the encoder's lock. */
typedef struct {
  Cj2kEncoderFrame *frames; /* NULL: not made yet */
  uint32_t size;            /* params.frames_in_flight */
  uint32_t first, count;    /* in flight, in order */
  uint64_t submitted;       /* so far */
} Cj2kFrameRing;

/* The frame whose rows come in parts (parts.c); it belongs to the thread that submits. */
typedef struct {
  Cj2kEncoderFrame *frame; /* its place in the ring; NULL: none was begun */
  bool submitted;          /* its task has been started */
  Cj2kPicture picture;
  void *user;
  uint32_t rows;   /* that are there */
  uint32_t needed; /* with so many it is submitted; more than it has: with all at the end */
} Cj2kEncoderParts;

struct Cj2kEncoder {
  Cj2kEncoderSetup setup; /* rate parameters: guarded by lock */
  char *comment;
  Cj2kLayout layout; /* copies */
  Cj2kSampleLayout *samples;
  Cj2kHeader *header;
  Cj2kPlan *plan;
  Cj2kThreads *threads;
  Cj2kEncoderBackend backend;
  Cj2kRateEncoder rate;
  GMutex lock;
  GCond changed;
  Cj2kFrameRing ring;
  Cj2kSlots slots; /* of the back end */
  Cj2kOutputs *outputs;
  Cj2kEncoderParts parts;
  uint64_t delivered; /* frames whose slices have all left, with slices; guarded by lock */
  Cj2kStats stats;
};

/* submit.c */
/* What rate control is asked for. */
Cj2kRateTarget cj2k_encoder_rate_target(const Cj2kEncoderSetup *setup);
/* Refuses a picture that cannot be encoded, and any while a frame in parts was begun. */
Cj2kStatus cj2k_encoder_check_submit(const Cj2kEncoder *encoder, const Cj2kPicture *picture,
                                     Cj2kError *error);
/* The next free place of the ring, with the parameters and the time of this moment; waits until
 * there is one. */
Cj2kEncoderFrame *cj2k_encoder_next_frame(Cj2kEncoder *encoder);
/* Starts the frame in this place. `rows` of its picture are there; `open`: more may come. */
void cj2k_encoder_frame_submit(Cj2kEncoderFrame *frame, const Cj2kPicture *picture, void *user,
                               uint32_t rows, bool open);

/* backend.c. Opens CUDA if it is requested, or if AUTO finds a usable GPU; else the CPU. */
bool cj2k_encoder_open_backend(Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_close_backend(Cj2kEncoder *encoder);
/* Opens the CPU back end for fallbacks, unless it is open. Returns NULL and fills *error if it
 * cannot be opened. */
void *cj2k_encoder_cpu_backend(Cj2kEncoder *encoder, Cj2kError *error);

/* least.c. Finds encoder->rate.least by laying out a codestream without any block; called once the
 * first frame exists. */
Cj2kStatus cj2k_encoder_find_least(Cj2kEncoder *encoder, Cj2kError *error);

/* frame.c. Creates what does not depend on pictures; the encoder's rate control is ready. */
Cj2kStatus cj2k_encoder_open_ring(Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_close_ring(Cj2kEncoder *encoder);
/* Does everything from the picture to the bytes, on one of the encoder's threads. */
void cj2k_encoder_frame_run(void *frame);
/* The two halves of cj2k_encoder_frame_run: starting the transform, which a GPU goes on with by
 * itself, and the rest. */
void cj2k_encoder_frame_begin(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_end(Cj2kEncoderFrame *frame);

/* slots.c. Creates slots for all frames, or as many as memory holds; at least one. */
Cj2kStatus cj2k_encoder_make_slots(Cj2kEncoder *encoder, Cj2kError *error);
void cj2k_encoder_clear_slots(Cj2kEncoder *encoder);
/* Lends the frame a slot, which may have to wait until another frame is done. Returns false and
 * fills frame->error on failure. */
bool cj2k_encoder_frame_take_slot(Cj2kEncoderFrame *frame);
void cj2k_encoder_frame_give_slot(Cj2kEncoderFrame *frame);
/* Gives the slot to an earlier frame that needs it; this one takes one again. */
void cj2k_encoder_frame_yield_slot(Cj2kEncoderFrame *frame);
/* Destroys the slot of a frame that ran out of memory. Returns true if the frame can take another.
 */
bool cj2k_encoder_frame_drop_slot(Cj2kEncoderFrame *frame);

#endif
