/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CUDA decode back end, inside: a slot has one stream, on which a frame is, but for the
 * codestream, which comes by the back end's,
 *
 *   upload (codestream, block records)  ->  block decoders  ->  inverse DWT  ->  last level,
 * colour, store  ->  packing  ->  download
 *
 * Tables that follow from plan and layout are made when these change (decode_plan.c,
 * decode_output.c), all else is enqueued per frame (decode_upload.c, decode_frame.c).
 */
#ifndef CJ2K_CUDA_DECODE_H
#define CJ2K_CUDA_DECODE_H

#include "common/backend.h"
#include "common/samples/layout.h"
#include "cuda/shared/decode_kernels.h"
#include "device.h"
#include "timeline.h"

#include <glib.h>

typedef struct {
  Cj2kCudaDevice device;
  uint32_t frames_in_flight;
  uint32_t multiprocessors;
  bool one_in_flight; /* then latency counts, and waiting threads spin */
  Cj2kCudaTimeline timeline;
  gint slots;          /* made so far: their numbers */
  cudaStream_t upload; /* of all slots' codestreams: one after the other, each with the whole bus */
} Cj2kCudaDecoder;

/* A launch of the inverse DWT, or of the last level: entries first..first+count-1 of its table. */
typedef struct {
  uint32_t first, count;
  uint32_t width, height; /* largest of them */
  uint32_t rows;          /* a warp's */
  bool reversible, three, is_plane;
  bool words; /* cj2k_cuda_finish_has_words is true for all entries, which are of one component */
} Cj2kCudaLaunch;

/* What a frame's upload holds beside the codestream, one part after the other; offsets from its
 * start. `side` goes behind the codestream. */
typedef struct {
  size_t flags, coded, segments, order, refined, mq, mq_offsets, mq_warps, outputs, side, size;
} Cj2kCudaUpload;

/* What follows from the plan (decode_plan.c). */
typedef struct {
  Cj2kPlan *plan;             /* what the tables were made for, a reference */
  GArray *levels;             /* Cj2kCudaLaunch */
  Cj2kCudaMemory level_table; /* of all launches */
  Cj2kCudaMemory blocks, zeros, quads;
  Cj2kCudaMemory coefficients, lowpass;
  uint32_t max_width;  /* of any code-block */
  uint32_t width_bits; /* of all, or-ed */
  uint32_t mq_octets;  /* of any, and by number */
  uint16_t *octets;
  uint8_t *num_bitplanes; /* by code-block: with ROI shift, at most 255 */
  uint8_t *has_place;     /* it belongs to a resolution that is decoded */
  uint16_t *classes;      /* workspace */
} Cj2kCudaDecodeTables;

/* What follows from plan and layout (decode_output.c). */
typedef struct {
  Cj2kLayout layout; /* a copy */
  Cj2kPlaneUse *planes;
  uint32_t num_outputs;    /* planes of the layout, then of 16-bit samples to be packed */
  uint32_t *plane_rows;    /* by plane of the layout: rows, */
  size_t *plane_bytes;     /* and bytes of a row */
  Cj2kCudaOutput *samples; /* the 16-bit planes */
  Cj2kCudaMemory sample_planes;
  GArray *finishes; /* Cj2kCudaLaunch */
  Cj2kCudaMemory finish_table;
  Cj2kCudaFinish only; /* of the only launch of `finishes`, when that is one entry of three */
  bool is_only;
  GArray *packs;           /* Cj2kCudaPack; plane_of_pack says where to */
  GArray *plane_of_pack;   /* uint32_t */
  Cj2kCudaOutput *outputs; /* of the frame under way: planes on the device */
} Cj2kCudaDecodeOutput;

/* What a frame brings (decode_upload.c). */
typedef struct {
  cudaEvent_t arrived; /* the codestream */
  Cj2kCudaMemory data, h_data;
  size_t fetched; /* bytes of the codestream that are on their way to `data` */
  Cj2kCudaMemory records, h_records;
  Cj2kCudaUpload parts;     /* of them */
  Cj2kCudaMemory mq_planes; /* bit-planes of MQ blocks */
} Cj2kCudaDecodeUpload;

/* The frame under way (decode_frame.c). */
typedef struct {
  cudaEvent_t uploaded, decoded, done;
  cudaEvent_t picture_free; /* what its own stream did with the picture before is done */
  const Cj2kPicture *target;
  Cj2kCudaMemory picture, h_picture;
  bool copy_out;            /* pageable memory: h_picture has to be copied in wait */
  bool unfinished;          /* the last frame was handed out with its picture's stream behind it */
  uint32_t corrupt_before;  /* blocks that the packets found corrupt */
  Cj2kCudaMemory h_corrupt; /* and how many the kernels did */
} Cj2kCudaDecodeFrame;

struct Cj2kDecodeSlot {
  Cj2kCudaDecoder *backend;
  cudaStream_t stream;
  Cj2kCudaMarks marks;
  Cj2kCudaDecodeTables tables;
  Cj2kCudaDecodeOutput output;
  Cj2kCudaDecodeUpload upload;
  Cj2kCudaDecodeFrame frame;
};

/* Each part of a slot. init: what does not depend on plan and layout. free: also what is half made;
 * nothing of the slot runs any more. */
void cj2k_cuda_decode_tables_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_tables_free(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_output_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_output_free(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_upload_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_upload_free(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_frame_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_frame_free(Cj2kDecodeSlot *slot);

/* decode_plan.c: tables of blocks and levels. CJ2K_ERROR_UNSUPPORTED names what only the CPU does.
 */
Cj2kStatus cj2k_cuda_decode_set_plan(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, Cj2kError *error);
/* decode_output.c: tables of the last level and of packing. */
Cj2kStatus cj2k_cuda_decode_set_layout(Cj2kDecodeSlot *slot, const Cj2kLayout *layout,
                                       Cj2kError *error);
/* decode_mq.c: about how much there is to do for an MQ block. */
uint32_t cj2k_cuda_decode_mq_work(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  uint32_t block);
/* Memory for the bit-planes of the MQ blocks that `frame` lists in the upload, those with most work
 * first, and which warp decodes which of them. */
Cj2kStatus cj2k_cuda_decode_place_mq(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                     Cj2kCudaDecodeBlocks *frame, Cj2kError *error);
/* decode_upload.c: prefetch and abandon as backend.h has them; then, for a frame, what is to be
 * uploaded, and the upload. */
void cj2k_cuda_decode_prefetch(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size);
void cj2k_cuda_decode_abandon(Cj2kDecodeSlot *slot);
Cj2kStatus cj2k_cuda_decode_fill(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 Cj2kCudaDecodeBlocks *frame, Cj2kError *error);
cudaError_t cj2k_cuda_decode_upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                    Cj2kCudaDecodeBlocks *frame);
/* decode_frame.c, as backend.h has them. */
Cj2kStatus cj2k_cuda_decode_start(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error);
Cj2kStatus cj2k_cuda_decode_wait(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error);

/* Fills in a level's bands: the level that makes resolution r >= 1 of a tile-component, or with r 0
 * its plane without decomposition. */
void cj2k_cuda_decode_level(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r,
                            Cj2kCudaLevel *level);
/* Rows of a warp so that there are enough warps. */
uint32_t cj2k_cuda_decode_rows(uint32_t width, uint32_t height, uint32_t count);
/* Uploads a table that stays. */
Cj2kStatus cj2k_cuda_decode_table(Cj2kCudaMemory *memory, const void *table, size_t size,
                                  Cj2kError *error);

#endif
