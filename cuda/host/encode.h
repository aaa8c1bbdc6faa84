/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CUDA encode back end, inside: what is the same for all slots, and a slot, which is all that
 * one frame in flight needs. A slot is made of stages, each with memory, events, an init and a free
 * of its own. The device is current when a function is called.
 */
#ifndef CJ2K_CUDA_ENCODE_H
#define CJ2K_CUDA_ENCODE_H

#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/encode_kernels.h"
#include "device.h"
#include "queue.h"
#include "timeline.h"

#include <glib.h>

/* Levels that one launch does together, in `levels` on the device. */
typedef struct {
  uint32_t depth; /* below the top level */
  uint32_t first, count, width, height;
  bool reversible;
} Cj2kCudaLevelGroup;

#define CJ2K_CUDA_MAX_SLICES 5

/* Slices of rows of a frame (encode_slices.c); one when frames overlap each other. */
typedef struct {
  uint32_t count;
  uint32_t levels;                            /* that are done slice by slice: 1 or 2 */
  uint32_t end_pair[2][CJ2K_CUDA_MAX_SLICES]; /* of rows, by level; UINT32_MAX: all */
  /* Places in encoder->order: blocks that can be coded behind each slice; at last the others. */
  uint32_t first_block[CJ2K_CUDA_MAX_SLICES + 2];
} Cj2kCudaSlices;

/* What follows from the plan, on the device. */
typedef struct {
  Cj2kCudaMemory levels;          /* Cj2kCudaForwardLevel, below the top ones */
  GArray *groups;                 /* Cj2kCudaLevelGroup, in order of execution */
  Cj2kCudaMemory blocks;          /* Cj2kCudaEncodeBlock, per block */
  Cj2kCudaMemory order;           /* uint32_t: numbers of the blocks, by slice */
  uint64_t area;                  /* of all blocks, as in Cj2kCudaEncodeBlock */
  uint32_t max_width, max_height; /* of any block */
  bool many_segments;             /* MQ: a pass may end one */
  Cj2kCudaMemory tables;          /* Cj2kCudaEncodeTables */
} Cj2kCudaEncodeLists;

typedef struct {
  Cj2kCudaDevice device;
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference */
  bool ht, blocking;
  bool launches_late; /* kernels are launched when their picture is there */
  uint32_t helpers;   /* that wait for the GPU's results without sleeping */
  /* Of all slots, so that pictures come one after the other, each with the whole bus: those that
   * came together would also be coded together, with the bus idle. */
  cudaStream_t upload;
  GMutex upload_lock;
  /* Of all slots: what is short and comes late must not wait for kernels of other frames, as it
   * would in the streams of the slots. */
  cudaStream_t gather;
  Cj2kCudaTimeline timeline;
  gint slots; /* made so far: their numbers */
  GMutex lock;
  Cj2kCudaEncodeLists lists;
  Cj2kCudaSlices slices;
  Cj2kCudaMemory xyz; /* Cj2kXyzTables; made when first needed, guarded by lock */
} Cj2kCudaEncoder;

/* Tops that one launch does together. */
typedef struct {
  uint32_t first;
  bool no_levels;
  Cj2kCudaTopLevel launch;
} Cj2kCudaTopGroup;

/* Counts when a slice is coded, with those before it. */
typedef struct {
  Cj2kCudaEncodeCounts counts;
  uint64_t pad; /* to a multiple of 16 bytes */
} Cj2kCudaPartCounts;

/* What the last step was, and so what wait() has to fetch. */
typedef enum {
  CJ2K_CUDA_STEP_NONE = 0,
  CJ2K_CUDA_STEP_TRANSFORM,
  CJ2K_CUDA_STEP_MEASURE,
  CJ2K_CUDA_STEP_CODE,
  CJ2K_CUDA_STEP_GATHER
} Cj2kCudaStep;

/* Where a picture in host memory comes from (encode_upload.c). */
typedef struct {
  Cj2kCudaQueue queue;    /* the encoder's stream, which all slots share */
  cudaEvent_t uploaded;   /* the slice that was sent last is there */
  Cj2kCudaMemory picture; /* its planes on the device */
  Cj2kCudaMemory staging; /* page-locked; those of a pageable picture go through it */
} Cj2kCudaUploadStage;

/* TRANSFORM (encode_transform.c). */
typedef struct {
  cudaEvent_t begin, done;
  bool timed;                /* their times are still to be read */
  cudaEvent_t picture_ready; /* its own stream has finished the picture */
  Cj2kCudaPair planes;       /* Cj2kCudaInputPlane; on the host as last sent */
  uint32_t num_planes;
  uint8_t *alignments; /* of planes, that the groups were made for */
  Cj2kCudaMemory tops; /* Cj2kCudaTop */
  GArray *top_groups;  /* Cj2kCudaTopGroup; empty: to be made */
  Cj2kCudaMemory coefficients, lowpass;
} Cj2kCudaTransformStage;

/* BLOCK CODER, of either kind (encode_blocks.c): what goes in and what comes out. */
typedef struct {
  cudaEvent_t started, done;
  Cj2kCudaPair quantisers;
  bool quantisers_sent; /* the device has what the host's copy says */
  Cj2kCudaPair coded;   /* counts, Cj2kEncodedBlock; HT: Cj2kPassLength; MQ: bytes per class of
                           slopes */
  Cj2kCudaPair bytes;   /* of all blocks */
  uint64_t fetched;     /* of them, whose download code() has started */
} Cj2kCudaBlockStage;

/* HT (encode_ht.c). */
typedef struct {
  Cj2kCudaPair choices;
  bool choices_sent;
  bool all_coded;     /* all blocks are coded at plane 0, with the quantisers that were sent */
  Cj2kCudaPair again; /* uint32_t: numbers of the blocks that are coded once more */
  uint32_t num_again; /* 0: all */
  Cj2kCudaMemory scratch;
  uint64_t expected;        /* bytes, by the last frame */
  Cj2kCudaPair measured;    /* counts, band errors, distortions, lengths */
  Cj2kCudaEncodeBlocks job; /* of the last step */
} Cj2kCudaHtStage;

/* MQ (encode_mq.c). */
typedef struct {
  Cj2kCudaQueue gather; /* the encoder's stream for what is short and comes late */
  cudaEvent_t coded;    /* with one frame in flight: what is left of the step is short */
  cudaEvent_t arrived;  /* the bytes whose download code() has started */
  Cj2kCudaMemory symbols, work, room; /* between its kernels; work: what has a size per block */
  Cj2kCudaPair passes;                /* Cj2kPassLength */
  Cj2kCudaPair points;                /* Cj2kHullPoint */
  uint64_t fetched_passes, fetched_points; /* bytes whose download code() has started */
  Cj2kCudaPair weights;
  Cj2kCudaPair kept;       /* Cj2kCudaMqKept */
  Cj2kCudaMemory gathered; /* bytes that are kept, on their way to the host */
  bool pass_lengths;
  bool arriving;      /* what gather() is asked for is on its way, up to `arrived` */
  Cj2kCudaMqCode job; /* of the last code() */
} Cj2kCudaMqStage;

/* HT with one frame in flight (encode_slices.c, encode_ht.c): blocks are coded while the picture is
 * still coming in, on streams of their own. */
typedef struct {
  Cj2kCudaQueue coder;
  cudaEvent_t sent, tops_coded, tops_done[CJ2K_CUDA_MAX_SLICES];
  bool in_slices; /* the top level was done slice by slice */
  /* Brings bytes of the first slices, whose counts are here then, to the host. */
  Cj2kCudaQueue copier;
  cudaEvent_t part_coded[CJ2K_CUDA_MAX_SLICES];
  Cj2kCudaMemory host_parts; /* Cj2kCudaPartCounts */
  uint32_t num_parts;        /* still to be brought */
} Cj2kCudaLatencyStage;

struct Cj2kEncodeSlot {
  Cj2kCudaEncoder *encoder;
  cudaError_t status; /* of the step under way, for all queues */
  Cj2kCudaMarks marks;
  Cj2kCudaQueue queue; /* the slot's own stream */
  Cj2kCudaStep step;   /* the last */
  Cj2kCudaUploadStage upload;
  Cj2kCudaTransformStage transform;
  Cj2kCudaBlockStage blocks;
  Cj2kCudaHtStage ht;
  Cj2kCudaMqStage mq;
  Cj2kCudaLatencyStage latency;
};

/* Lists, made once for an encoder. */
cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_list_slices(Cj2kCudaEncoder *encoder);

/* Each stage of a slot. init: what depends on the plan only; slot->status says whether it was had.
 * free: also what is half made; nothing of the slot runs any more. */
void cj2k_cuda_upload_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_upload_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_forget(Cj2kEncodeSlot *slot); /* what is not the device's */
void cj2k_cuda_blocks_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_blocks_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_ht_stage_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_ht_stage_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_mq_stage_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_mq_stage_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_latency_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_latency_free(Cj2kEncodeSlot *slot);
/* A queue of the slot on a stream. */
Cj2kCudaQueue cj2k_cuda_encode_queue(Cj2kEncodeSlot *slot, cudaStream_t stream);
/* cudaEventCreateWithFlags flags of an event that the host waits for. */
unsigned cj2k_cuda_encode_event_flags(const Cj2kEncodeSlot *slot);

/* Steps. They enqueue work; slot->status says how that went. */
void cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
void cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
void cj2k_cuda_encode_ht_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
void cj2k_cuda_encode_mq_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
void cj2k_cuda_encode_mq_gather(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* Waits for the step before and finds its results. */
void cj2k_cuda_encode_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_upload.c */
typedef struct Cj2kCudaPlaneArea Cj2kCudaPlaneArea;
/* Where the picture's planes will be on the device, with room for those that are not there: an area
 * for each, to be freed; `planes` gets as many. */
Cj2kCudaPlaneArea *cj2k_cuda_upload_place(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                          Cj2kCudaInputPlane *planes);
/* One slice of all planes; the slot's queue goes on when it is there. */
void cj2k_cuda_upload_slice(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                            const Cj2kCudaPlaneArea *areas, uint32_t slice);

/* encode_blocks.c */
/* What every step of the block coder begins with. */
void cj2k_cuda_blocks_begin(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                            const Cj2kCudaQueue *queue);
/* The quantisers are those of the step before. */
bool cj2k_cuda_blocks_has_quantisers(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* Sends a small array of the job, unless *sent and it is the one that was sent before. */
void cj2k_cuda_blocks_send(const Cj2kCudaQueue *queue, Cj2kCudaPair *array, const void *data,
                           size_t size, bool *sent);
/* The largest number of bit-planes that indices may have. */
uint32_t cj2k_cuda_blocks_max_bitplanes(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* Waits until the first `size` bytes of an array, of which `fetched` are on their way or there, are
 * on the host. */
void cj2k_cuda_blocks_fetch_rest(Cj2kEncodeSlot *slot, const Cj2kCudaPair *array, uint64_t fetched,
                                 uint64_t size);

/* encode_ht.c, encode_mq.c: the parts of cj2k_cuda_encode_fetch. */
void cj2k_cuda_encode_ht_wait(Cj2kEncodeSlot *slot);
void cj2k_cuda_encode_ht_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
void cj2k_cuda_encode_measure_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
void cj2k_cuda_encode_mq_wait(Cj2kEncodeSlot *slot);
void cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* What a code(), or a gather() behind it, found. */
void cj2k_cuda_encode_mq_result(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_slices.c: rows of a component of `rows` rows that must be there for a slice and those
 * before. */
uint32_t cj2k_cuda_slice_rows(const Cj2kCudaSlices *slices, uint32_t slice, uint32_t rows);

#endif
