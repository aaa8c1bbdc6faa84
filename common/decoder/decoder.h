/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The internals of the decoder. A frame goes through three stages: submit reads its headers
 * (decoder.c), one of the decoder's threads reads its packets and starts the back end (frame.c),
 * and receive waits for the back end and hands out the picture.
 */
#ifndef CJ2K_DECODER_DECODER_H
#define CJ2K_DECODER_DECODER_H

#include "common/backend.h"
#include "common/backend_several.h"
#include "common/codestream/packets_parts.h"
#include "common/codestream/plan_parts.h"
#include "common/runtime/slots.h"
#include "conceal.h"
#include "image.h"

#include <glib.h>

/* Planes that the decoder allocated for a frame. After release they are kept for later frames. */
typedef struct Cj2kOwnPicture {
  struct Cj2kOwnPicture *next; /* in the decoder's list of free pictures */
  void *memory;
  uint64_t size;
  Cj2kPlane *planes;
  uint32_t *rows; /* of each plane */
  uint32_t num_planes, max_planes;
} Cj2kOwnPicture;

typedef enum { CJ2K_FRAME_FREE = 0, CJ2K_FRAME_BUSY, CJ2K_FRAME_DONE } Cj2kFrameState;

/* What was submitted (decoder.c). */
typedef struct {
  const uint8_t *data;
  size_t size;
  void *user;
  gint64 submitted; /* monotonic, microseconds */
  bool damaged;     /* empty packets may stand for missing ones */
  bool is_part;     /* more bytes will come: what is missing is no error */
} Cj2kFrameInput;

/* What the headers say (headers.c). */
typedef struct {
  Cj2kSpan codestream; /* in the input */
  uint64_t max_memory;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan; /* references, from submit to receive */
  Cj2kImageInfo *info;
  double ms;
} Cj2kFrameHeaders;

/* Where samples go to: the picture of the frame, or the indices of a palette (target.c). */
typedef struct {
  Cj2kLayout layout; /* copy; samples grow as needed */
  Cj2kSampleLayout *samples;
  uint32_t max_samples;
  Cj2kPicture picture;
  Cj2kOwnPicture *own; /* planes that the decoder allocated, or NULL */
} Cj2kFrameTarget;

/* Host memory in the picture's layout, for a picture on the GPU that the CPU has to write; receive
 * copies it to the GPU (picture.c). */
typedef struct {
  Cj2kOwnPicture *own;
  Cj2kPicture picture;
} Cj2kFrameStaging;

/* From packets to samples (frame.c). */
typedef struct {
  Cj2kPacketReader *packets;
  Cj2kCodedFrame *coded;
  Cj2kDecodeSlot *slot;     /* of the decoder's back end, lent until the frame is finished */
  Cj2kDecodeSlot *cpu_slot; /* of the CPU back end, for fallbacks; created when first needed */
  bool started;             /* the back end was started and has to be waited for */
  bool fallback;
  Cj2kDecodeResult result;
  double ms_packets;
  uint64_t visits;     /* of code-blocks in packet headers, by all parts so far */
  bool passed_conceal; /* later frames need not wait for this one any more; guarded by the
                          decoder's lock */
  uint64_t restored_blocks;
} Cj2kFrameCoding;

/* A frame whose bytes come in parts (parts.c). */
typedef struct {
  uint8_t *bytes; /* memory of the input */
  size_t capacity;
  Cj2kRowsReady rows; /* NULL: nobody is told */
  void *rows_user;
  Cj2kCodedFrame coded; /* what the reader of parts says at the end; without its arrays */
} Cj2kFrameParts;

/* One frame in flight. Its memory is kept for the next frame in this place. */
typedef struct {
  Cj2kDecoder *decoder;
  uint64_t number;      /* from 1 */
  Cj2kFrameState state; /* guarded by decoder->lock */
  Cj2kFrameInput input;
  Cj2kFrameHeaders headers;
  Cj2kFrameTarget target;
  Cj2kFrameTarget indices; /* with a palette the back end decodes to these, which receive turns into
                              the picture */
  Cj2kFrameStaging staging;
  Cj2kFrameCoding coding;
  Cj2kFrameParts parts;
  Cj2kStatus status;
  Cj2kError error;
} Cj2kDecoderFrame;

/* What decodes (backend.c). */
typedef struct {
  const Cj2kDecodeBackend *functions;
  void *data;
  Cj2kBackendKind kind;
  Cj2kDeviceSet devices; /* GPUs in use */
  Cj2kError why_cpu; /* why AUTO did not take CUDA; no code: it did, or the back end was not AUTO */
  void *cpu_data;    /* CPU back end for fallbacks, created when first needed; guarded by lock */
} Cj2kDecoderBackend;

/* What the headers of the last frame said (headers.c); used by the submitting thread only. */
typedef struct {
  Cj2kHeaderReader *reader;
  Cj2kPlan *plan;
  Cj2kImageInfo *info;
  GByteArray *boxes;        /* the bytes before the codestream, from which info was made */
  Cj2kImageInfo *read_info; /* of the last read_header */
} Cj2kLastHeaders;

/* Frames in flight (frame.c). All but `size` is guarded by the decoder's lock. */
typedef struct {
  Cj2kDecoderFrame *frames;
  uint32_t size;         /* params.frames_in_flight */
  uint32_t first, count; /* in flight, in order */
  uint64_t submitted;    /* so far */
} Cj2kDecoderRing;

/* The frame that was begun and not ended yet (parts.c); used by the submitting thread only. */
typedef struct {
  Cj2kDecoderFrame *frame; /* NULL: none */
  Cj2kLayout layout;       /* a copy */
  Cj2kPicture picture;
  bool has_picture;
  bool whole;     /* it has to be decoded as a whole */
  bool has_plan;  /* the headers are complete, and the back end has begun */
  uint32_t ready; /* rows that were reported */
  /* With few_parts of the back end: */
  Cj2kPlanParts rows; /* what is possible with the precincts that were read */
  uint32_t noted;     /* precincts in it that the back end does not have */
  uint32_t possible;  /* rows that are possible with those that it has */
  bool unfinished;    /* it has work for which nobody has waited */
  Cj2kPartsHeader header;
  Cj2kPartsReader *reader;
  Cj2kDecodeSlot *slot; /* of its own, which is never lent */
  Cj2kDecodeJob job;
} Cj2kDecoderParts;

struct Cj2kDecoder {
  Cj2kDecoderParams params;
  Cj2kThreads *threads;
  Cj2kDecoderBackend backend;
  Cj2kLastHeaders last;
  GMutex lock;
  GCond changed;
  Cj2kDecoderRing ring;
  Cj2kSlots slots; /* of the back end */
  Cj2kOwnPicture *free_pictures;
  Cj2kStats stats;
  bool next_is_damaged;  /* of the thread that submits */
  bool prefetch_is_slow; /* with one frame in flight: the back end's of the last frame was */
  Cj2kDecoderParts parts;
  Cj2kConceal conceal; /* used by one frame after the other, in order */
};

/* decoder.c. Waits for a free place of the ring, and prepares it. */
Cj2kDecoderFrame *cj2k_decoder_wait_for_place(Cj2kDecoder *decoder);
Cj2kStatus cj2k_decoder_check_arguments(const Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                        const Cj2kPicture *picture, Cj2kError *error);
/* Reads the headers of frame->input, finds the picture, and hands the frame to a thread. */
void cj2k_decoder_frame_submit(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                               const Cj2kPicture *picture);
/* Puts the frame in flight; with `run` it is decoded, else it is done. */
void cj2k_decoder_frame_enqueue(Cj2kDecoderFrame *frame, bool run);

/* parts.c */
void cj2k_decoder_parts_clear(Cj2kDecoder *decoder);
/* Reports the rows of a frame that was received, unless parts of it were. */
void cj2k_decoder_report_rows(Cj2kDecoderFrame *frame);

/* backend.c. Opens CUDA if it is requested, or if AUTO finds a usable GPU; else the CPU. */
bool cj2k_decoder_open_backend(Cj2kDecoder *decoder, Cj2kError *error);
void cj2k_decoder_close_backend(Cj2kDecoder *decoder);
/* Opens the CPU back end for fallbacks, unless it is open. Returns NULL and fills *error if it
 * cannot be opened. */
void *cj2k_decoder_cpu_backend(Cj2kDecoder *decoder, Cj2kError *error);

/* headers.c. Called by the submitting thread. Reads boxes and headers of the input and sets
 * frame->headers; plan and info are reused if the headers have not changed. */
Cj2kStatus cj2k_decoder_frame_headers(Cj2kDecoderFrame *frame, Cj2kError *error);
/* How many code-blocks the packet headers of a codestream of so many bytes may look at. */
uint64_t cj2k_decoder_most_visits(const Cj2kDecoder *decoder, uint64_t size);
void cj2k_frame_headers_reset(Cj2kFrameHeaders *headers);
void cj2k_last_headers_init(Cj2kLastHeaders *last);
void cj2k_last_headers_clear(Cj2kLastHeaders *last);

/* target.c. Sets frame->target: as submitted, or with NULL to planes that the frame owns; and
 * frame->indices, if there is a palette. */
Cj2kStatus cj2k_decoder_frame_picture(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                                      const Cj2kPicture *picture, Cj2kError *error);

/* Gives back what the last frame held; clear: frees what is kept, too. */
void cj2k_frame_target_reset(Cj2kFrameTarget *target, Cj2kDecoder *decoder);
void cj2k_frame_target_clear(Cj2kFrameTarget *target);

/* frame.c. */
void cj2k_decoder_open_ring(Cj2kDecoder *decoder);
void cj2k_decoder_close_ring(Cj2kDecoder *decoder);
/* Runs on one of the decoder's threads: reads the packets and starts the back end. */
void cj2k_decoder_frame_run(void *frame);
/* Waits for the back end, applies the palette and sets the status. Called by the receiving thread,
 * or by that of an earlier frame that needs the slot. Later calls for the same frame do nothing. */
void cj2k_decoder_frame_finish(Cj2kDecoderFrame *frame);
/* With `strict`, the error of a frame that was decoded and of which anything is missing or corrupt.
 */
Cj2kStatus cj2k_decoder_frame_check(Cj2kDecoderFrame *frame);
/* Frees what the last frame in this place held. */
void cj2k_decoder_frame_reset(Cj2kDecoderFrame *frame);

/* slots.c. Lends the frame a slot, which may have to wait until an earlier frame was received.
 * Returns NULL and fills frame->error on failure. */
Cj2kDecodeSlot *cj2k_decoder_frame_take_slot(Cj2kDecoderFrame *frame);
void cj2k_decoder_frame_give_slot(Cj2kDecoderFrame *frame);
/* Destroys the slot of a frame that ran out of memory. Returns true if the frame can take another.
 */
bool cj2k_decoder_frame_drop_slot(Cj2kDecoderFrame *frame);
void cj2k_decoder_clear_slots(Cj2kDecoder *decoder);

/* picture.c. Returns planes in a layout for the components of an image, or NULL if memory ran out.
 */
Cj2kOwnPicture *cj2k_own_picture_get(Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                     const Cj2kComponent *components, uint32_t num_components);
void cj2k_own_picture_put(Cj2kDecoder *decoder, Cj2kOwnPicture *picture); /* NULL is allowed */
void cj2k_own_picture_free(Cj2kDecoder *decoder, Cj2kOwnPicture *picture);
/* Bytes that cj2k_own_picture_get takes. */
uint64_t cj2k_own_picture_size(const Cj2kLayout *layout, const Cj2kComponent *components,
                               uint32_t num_components);
/* Returns the picture that the CPU writes to: that of the frame, or a staging copy if it is on the
 * GPU. NULL: memory ran out. */
const Cj2kPicture *cj2k_decoder_frame_host_picture(Cj2kDecoderFrame *frame);
/* Copies the staging copy, if there is one, to the GPU. */
Cj2kStatus cj2k_decoder_frame_unstage(Cj2kDecoderFrame *frame, Cj2kError *error);
void cj2k_frame_staging_reset(Cj2kFrameStaging *staging, Cj2kDecoder *decoder);
/* Frees the pictures that are kept for later frames. */
void cj2k_decoder_free_pictures(Cj2kDecoder *decoder);

#endif
