/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The internals of the decoder. A frame goes through three stages: submit reads its headers
 * (decoder.c), a thread of the pool reads its packets and starts the back end (frame.c), and
 * receive waits for the back end and hands out the picture.
 */
#ifndef CJ2K_DECODER_H
#define CJ2K_DECODER_H

#include "common/backend.h"
#include "common/runtime/slots.h"
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

/* One frame in flight. Its memory is kept for the next frame in this place. */
typedef struct {
  Cj2kDecoder *decoder;
  uint64_t number;      /* from 1 */
  Cj2kFrameState state; /* guarded by decoder->lock */

  const uint8_t *data; /* as submitted */
  size_t size;
  Cj2kSpan codestream; /* in data */
  uint64_t max_memory;
  void *user;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan; /* references, from submit to receive */
  Cj2kImageInfo *info;
  Cj2kLayout layout; /* copy; samples grow as needed */
  Cj2kSampleLayout *samples;
  uint32_t max_samples;
  Cj2kPicture picture;
  Cj2kOwnPicture *own; /* the frame's own planes, or NULL */

  /* With a palette the back end decodes to `indices`, which receive turns into the picture. */
  Cj2kOwnPicture *indices;
  Cj2kLayout index_layout;
  Cj2kSampleLayout *index_samples;
  Cj2kPicture index_picture;

  /* Host memory in the picture's layout, for a picture on the GPU that the CPU has to write;
   * receive copies it to the GPU. */
  Cj2kOwnPicture *staging;
  Cj2kPicture staging_picture;

  Cj2kPacketReader *packets;
  Cj2kCodedFrame *coded;
  Cj2kDecodeSlot *slot;     /* of the decoder's back end, lent until the frame is finished */
  Cj2kDecodeSlot *cpu_slot; /* of the CPU back end, for fallbacks; created when first needed */
  bool started;             /* the back end was started and has to be waited for */
  bool fallback;

  Cj2kStatus status;
  Cj2kError error;
  Cj2kDecodeResult result;
  double ms_header, ms_packets;
  gint64 submitted; /* monotonic, microseconds */
} Cj2kDecoderFrame;

struct Cj2kDecoder {
  Cj2kDecoderParams params;
  Cj2kThreads *threads;
  const Cj2kDecodeBackend *backend;
  void *backend_data;
  Cj2kBackendKind backend_kind;
  Cj2kError why_cpu; /* why AUTO did not take CUDA; no code: it did, or the back end was not AUTO */
  void *cpu_data;    /* CPU back end for fallbacks, created when first needed; guarded by lock */

  /* What the headers of the last frame said; used by the submitting thread only. */
  Cj2kHeaderReader *header_reader;
  Cj2kHeader *header; /* a reference to the header that plan and info were made from */
  Cj2kPlan *plan;
  Cj2kImageInfo *info;
  GByteArray *boxes;        /* the bytes before the codestream, from which info was made */
  Cj2kImageInfo *read_info; /* of the last read_header */

  GMutex lock;
  GCond changed;
  Cj2kDecoderFrame *frames; /* a ring of params.frames_in_flight */
  uint32_t first, count;    /* in flight, in order */
  uint64_t num_frames;      /* submitted */
  Cj2kSlots slots;          /* of the back end */
  Cj2kOwnPicture *free_pictures;
  Cj2kStats stats;
};

/* headers.c. Called by the submitting thread. Reads boxes and headers of frame->data and sets
 * frame->codestream, tile_parts, plan and info; plan and info are reused if the headers have not
 * changed. */
Cj2kStatus cj2k_decoder_frame_headers(Cj2kDecoderFrame *frame, Cj2kError *error);
/* Sets frame->layout and frame->picture: as submitted, or with NULL to planes that the frame owns.
 */
Cj2kStatus cj2k_decoder_frame_picture(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                                      const Cj2kPicture *picture, Cj2kError *error);

/* frame.c. Runs on a thread of the pool: reads the packets and starts the back end. */
void cj2k_decoder_frame_run(void *frame);
/* Waits for the back end, applies the palette and sets the status. Called by the receiving thread,
 * or by that of an earlier frame that needs the slot. Later calls for the same frame do nothing. */
void cj2k_decoder_frame_finish(Cj2kDecoderFrame *frame);
/* Frees what the last frame in this place held. */
void cj2k_decoder_frame_reset(Cj2kDecoderFrame *frame);
void cj2k_decoder_frame_clear(Cj2kDecoderFrame *frame);

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

#endif
