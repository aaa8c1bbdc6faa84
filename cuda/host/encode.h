/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of the CUDA encode back end: the encoder, which all slots share, and the slot of one
 * frame in flight. A slot consists of stages, each with its own memory, events, init and free. The
 * device's context is current when a function is called.
 */
#ifndef CJ2K_CUDA_HOST_ENCODE_H
#define CJ2K_CUDA_HOST_ENCODE_H

#include "cuda/mq/cut.h"
#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/cut.h"
#include "cuda/shared/encode_kernels.h"
#include "cuda/shared/headers.h"
#include "device.h"
#include "graph.h"
#include "queue.h"
#include "table.h"
#include "timeline.h"
#include "wait.h"

#include <glib.h>

/* Levels that one launch does together: a range of Cj2kCudaEncodeLists.levels. */
typedef struct {
  uint32_t depth; /* below the top level */
  uint32_t first, count, width, height;
  bool reversible;
} Cj2kCudaLevelGroup;

/* What a launch does of a group: entries [first, first + count) of the table, and pairs of rows
 * [first_pair, end_pair) of each; UINT32_MAX: all. */
typedef struct {
  uint32_t first, count, first_pair, end_pair;
} Cj2kCudaLevelRun;

#define CJ2K_CUDA_MAX_SLICES 4

/* Slices of rows of a frame (encode_slices.c). With several frames in flight there is one. */
typedef struct {
  uint32_t count;
  uint32_t levels;                            /* number of levels done slice by slice: 1 or 2 */
  uint32_t end_pair[2][CJ2K_CUDA_MAX_SLICES]; /* end in pairs of rows, by level; UINT32_MAX: all */
  /* By slice: the first place in lists.order of the blocks that can be coded when the slice is
   * transformed. After the last slice come the other blocks. */
  uint32_t first_block[CJ2K_CUDA_MAX_SLICES + 2];
} Cj2kCudaSlices;

/* Tables that follow from the plan, on the device. */
typedef struct {
  Cj2kCudaTable *levels;          /* Cj2kCudaForwardLevel, all but the top ones */
  GArray *level_comps;            /* uint32_t: the tile-component of each of these levels */
  GArray *groups;                 /* Cj2kCudaLevelGroup, in order of execution */
  Cj2kCudaTable *blocks;          /* Cj2kCudaEncodeBlock, per block */
  Cj2kCudaTable *order;           /* uint32_t: numbers of the blocks, by slice */
  uint64_t area;                  /* of all blocks, as in Cj2kCudaEncodeBlock */
  uint32_t max_width, max_height; /* of any block */
  bool many_segments;             /* MQ: codeword segments may end inside a block */
  bool all_terminated;            /* MQ: each pass of some blocks is a segment */
  Cj2kCudaTable *tables;          /* Cj2kCudaEncodeTables */
} Cj2kCudaEncodeLists;

/* Tables for making packets (encode_packets.c), on the device. */
typedef struct {
  bool made;                /* false: the host makes packets */
  Cj2kCudaTable *packets;   /* Cj2kCudaHeaderPacket, per precinct */
  Cj2kCudaTable *pieces;    /* Cj2kCudaHeaderPiece */
  Cj2kCudaTable *precincts; /* uint32_t, per block */
  uint32_t num_large, num_nodes, num_words, num_pieces;
} Cj2kCudaPacketLists;

typedef struct {
  Cj2kCudaDevice device;
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference */
  bool ht, blocking;
  bool best;              /* HT: quantisation by rate and distortion; no band is reversible */
  bool component_streams; /* components have streams of their own */
  bool many;              /* so many frames in flight that they hide delays in each other's work */
  size_t likely_bytes;    /* of a frame */
  uint32_t helpers;       /* threads that spin while they wait for the GPU's results */
  /* Shared by all slots, so that pictures are uploaded one after the other, each with the whole
   * bus. If they were uploaded together, they would also be coded together, with the bus idle. */
  cudaStream_t upload;
  GMutex upload_lock;
  /* MQ, shared by all slots: for gathering, which in the slots' streams would wait for kernels of
   * other frames. */
  cudaStream_t gather;
  Cj2kCudaTimeline timeline;
  gint slots; /* made so far; the next one's number */
  GMutex lock;
  Cj2kCudaEncodeLists lists;
  Cj2kCudaPacketLists packets;
  Cj2kCudaSlices slices;
  Cj2kCudaTable *xyz; /* Cj2kXyzTables; made when first needed, protected by lock */
} Cj2kCudaEncoder;

/* Top levels that one launch does together. */
typedef struct {
  uint32_t first; /* in the table of tops */
  bool no_levels;
  Cj2kCudaTopLevel launch;
} Cj2kCudaTopGroup;

/* The last step, which determines what wait() has to fetch. */
typedef enum {
  CJ2K_CUDA_STEP_NONE = 0,
  CJ2K_CUDA_STEP_TRANSFORM,
  CJ2K_CUDA_STEP_MEASURE,
  CJ2K_CUDA_STEP_CODE,
  CJ2K_CUDA_STEP_GATHER,
  CJ2K_CUDA_STEP_PLACE
} Cj2kCudaStep;

/* Upload of a picture in host memory (encode_upload.c). */
typedef struct {
  Cj2kCudaQueue queue;  /* the encoder's stream `upload`, which all slots share */
  cudaEvent_t uploaded; /* the last slice has been uploaded */
  uint8_t *picture;     /* the planes on the device, behind the low-pass workspace */
  uint64_t picture_size;
  Cj2kCudaMemory staging; /* pinned memory, through which pageable pictures are uploaded */
} Cj2kCudaUploadStage;

/* TRANSFORM (encode_transform.c). */
typedef struct {
  cudaEvent_t begin, done;
  bool timed;                /* the times of `begin` and `done` have not been read yet */
  cudaEvent_t picture_ready; /* earlier work on the picture's own stream is done */
  Cj2kCudaPair planes;       /* Cj2kCudaInputPlane; the host has those of the last picture */
  bool planes_sent;          /* the device has them as well */
  uint32_t num_planes;
  uint8_t *alignments; /* of the planes for which the groups were made */
  Cj2kCudaMemory tops; /* Cj2kCudaTop */
  GArray *top_list;    /* the same on the host */
  GArray *top_comps;   /* uint32_t: the first tile-component of each */
  GArray *top_groups;  /* Cj2kCudaTopGroup; empty: not made yet */
  Cj2kCudaMemory coefficients;
  void *lowpass;      /* low-pass workspace, in memory of the block coder or in `own` */
  Cj2kCudaMemory own; /* low-pass workspace and picture, if blocks are coded beside the transform */
  bool in_rows;       /* the slot has had a picture whose rows come one after the other */
  Cj2kCudaGraph whole; /* all kernels of a picture that is transformed at once */
} Cj2kCudaTransformStage;

/* BLOCK CODER, HT or MQ (encode_blocks.c): input and output. */
typedef struct {
  cudaEvent_t started, done;
  Cj2kCudaPair quantisers; /* per band; behind them, for HT, Cj2kEstimateRange */
  bool quantisers_sent;    /* the device has the same quantisers as the host's copy */
  Cj2kCudaPair coded; /* HT: counts, Cj2kEncodedBlock, Cj2kPassLength, Cj2kPacketSize; MQ: counts,
                         with hulls the bytes per slope class, Cj2kPacketSize if packets may be
                         made, Cj2kEncodedBlock */
  Cj2kCudaPair bytes; /* of all blocks */
  uint64_t fetched;   /* how many of these bytes code() has started to download */
  bool placed;        /* the last code() left them to place(); the host has no memory for them */
} Cj2kCudaBlockStage;

/* HT (encode_ht.c). */
typedef struct {
  Cj2kCudaPair choices;
  bool choices_sent;
  bool all_coded;            /* all blocks have been coded at plane 0 with the current quantisers */
  Cj2kCudaEstimate estimate; /* that code() makes; quad_rows 0: none */
  Cj2kCudaPair rules;        /* Cj2kStepRule, per band */
  bool rules_sent;           /* the device has those of the host */
  Cj2kCudaMemory weights;    /* per band, with the steps that the GPU has chosen */
  bool left_out;             /* it was out of range: no blocks have been coded, or measured */
  bool listed;               /* the last step was for a list of blocks (encode_ht_lists.c) */
  Cj2kCudaPair again;        /* uint32_t: numbers of the blocks that are coded again */
  uint32_t num_again;        /* 0: all blocks are coded */
  Cj2kMeasureJob ahead;      /* what code() has measured, too; num_planes 0: nothing */
  bool found;                /* it is what measure() has asked for */
  cudaEvent_t coded;         /* one frame in flight: blocks are coded, and may be being measured */
  cudaEvent_t forked, joined; /* work on another stream may begin; it is done */
  Cj2kCudaMemory scratch;
  uint32_t scratch_bits;    /* for each sample, the most so far */
  Cj2kCudaGraph steps[4];   /* code() in one call; [1]: what is likely is measured, too; [2], [3]:
                               and place() is done behind it */
  Cj2kCudaMemory indices;   /* rate-effort=best: int32_t, where the coefficients are */
  uint64_t expected;        /* bytes that the frame is expected to take, from the last one */
  Cj2kCudaPair measured;    /* counts, band errors, lengths, distortions */
  uint32_t num_planes;      /* that were measured last */
  bool distortions;         /* likewise */
  Cj2kCudaEncodeBlocks job; /* of the last step */
} Cj2kCudaHtStage;

/* MQ (encode_mq.c). */
typedef struct {
  Cj2kCudaQueue gather; /* the encoder's stream `gather`, which all slots share */
  cudaEvent_t coded;    /* one frame in flight: blocks are coded, the rest of the step is short */
  cudaEvent_t arrived;  /* the bytes that code() has started to download are on the host */
  Cj2kCudaMemory symbols, work, room;      /* workspace; work: arrays with a fixed size per block */
  Cj2kCudaPair passes;                     /* Cj2kPassLength, or words of header bits */
  Cj2kCudaPair points;                     /* Cj2kHullPoint */
  uint64_t fetched_passes, fetched_points; /* bytes that code() has started to download */
  Cj2kCudaPair weights;
  Cj2kCudaPair retained;   /* Cj2kCudaMqRetained */
  Cj2kCudaMemory gathered; /* retained bytes, to be downloaded */
  bool pass_lengths;       /* the host wants lengths of passes */
  bool header_bits;        /* it gets what packet headers say of them in their place */
  bool listed;             /* the last code() was for a list of blocks */
  Cj2kCudaMemory numbers;  /* pinned; uint32_t: that list */
  bool prefetched;         /* code() has started to download all that gather() is asked for */
  Cj2kCudaMqCode job;      /* of the last code() */
} Cj2kCudaMqStage;

/* HT with one frame in flight (encode_slices.c, encode_ht.c): if steps do not depend on an
 * estimate, blocks are coded on streams of their own while the picture is still being uploaded. */
typedef struct {
  Cj2kCudaQueue coder;
  cudaEvent_t sent, tops_coded, tops_done[CJ2K_CUDA_MAX_SLICES];
  bool in_slices; /* the picture is uploaded, and its top level done, slice by slice */
  bool quiet;     /* the frame is coded on the slot's own stream: fewer calls into the driver. Also
                     of pictures that are in device memory or whose rows come one after the other.
                     MQ, too */
  bool behind;    /* blocks are coded only behind the whole transform: their steps depend on the
                     estimate of the picture */
  /* Downloads the bytes of the first slices ("parts") by the copy engine. part_coded: the counts of
   * a part are in host_parts. */
  Cj2kCudaQueue copier;
  cudaEvent_t part_coded[CJ2K_CUDA_MAX_SLICES];
  Cj2kCudaMemory host_parts; /* Cj2kCudaEncodeCounts; they include those of the slices before */
  uint32_t num_parts;        /* parts that remain to be downloaded */
} Cj2kCudaLatencyStage;

/* Bytes of blocks to the codestream (encode_place.c). */
typedef struct {
  Cj2kCudaQueue queue; /* several frames in flight: a stream for what the host has decided, which
                          does not wait for other frames' kernels */
  Cj2kCudaEncodeBlocks coded; /* of the last code() that left its bytes to place(); MQ: only where
                                 the records are */
  Cj2kCudaMemory list;        /* pinned; per block: Cj2kCudaAgain, then uint32_t: their number */
  uint32_t most_listed;       /* for so many a graph is made: 0, or 64 times a power of two */
  uint32_t few_listed;        /* frames in a row with less than a quarter of them */
  Cj2kCudaGraph again;        /* blocks of the list are coded again, and packets made */
  Cj2kCudaMemory runs;        /* pinned; Cj2kByteRun */
  Cj2kCudaMemory codestream;  /* to be downloaded, without headers */
  bool packets;               /* the last place() was for packets */
} Cj2kCudaPlaceStage;

/* Where the kernels that make packets have what on the device; as in Cj2kCudaHeaders and
 * Cj2kCudaPacketPlaces. */
typedef struct {
  uint64_t *end;
  Cj2kCudaPacketPlace *places;
  uint32_t *lengths; /* of PLT */
  Cj2kHeaderNode *nodes;
  uint32_t *at;
  uint64_t *starts;
  uint32_t *words;
  uint8_t *bytes;
} Cj2kCudaPacketArrays;

/* Packets that the GPU makes (encode_packets.c). */
typedef struct {
  bool kept;           /* MQ: the last code() has left room for what place() needs of packets */
  bool sized;          /* the last code() has made headers, those of all blocks */
  bool current;        /* the headers are those of the records: no block was coded again */
  cudaEvent_t coded;   /* blocks have been coded, for what goes on on another stream */
  Cj2kCudaMemory work; /* of all arrays */
  Cj2kCudaPacketArrays arrays;
  uint64_t room;           /* for the codestream of the last place() */
  Cj2kCudaMemory end;      /* pinned; uint64_t: end of the codestream */
  Cj2kCudaMemory steps;    /* pinned; Cj2kPacketStep */
  Cj2kCudaMemory retained; /* pinned; MQ, per block: uint32_t lengths, then uint8_t passes */
} Cj2kCudaPacketStage;

/* How the host's part of Cj2kCudaAheadStage begins. */
typedef struct {
  uint64_t end; /* of the codestream */
  Cj2kCudaEncodeCounts counts;
  Cj2kCudaCopyTarget target;
} Cj2kCudaAheadReport;

/* What place() is likely to be asked for, done behind code() (encode_ahead.c, encode_ahead_mq.c).
 */
typedef struct {
  bool wanted;             /* code() is to do it */
  bool launched;           /* it does, or has; MQ: and has cut the frame */
  Cj2kCudaMemory own;      /* on the device: HT: Cj2kCudaCutResult, then Cj2kCudaAgain per measured
                              block; MQ: Cj2kCudaMqCutState, bytes per band, Cj2kCudaMqTaken */
  Cj2kCudaMemory host;     /* pinned: what the host gets */
  const uint8_t *out;      /* where the codestream goes */
  bool found;              /* it is what place() has asked for */
  bool cuts;               /* HT: and that is a frame that has been cut */
  Cj2kAheadJob job;        /* MQ: a copy, because kernels may be launched again when room is made */
  Cj2kPacketSteps packets; /* those of the job; their steps have been sent */
  Cj2kPassCut cut;         /* MQ: the result */
  /* Several frames in flight. decided: the host knows what other frames learn from this one. MQ:
   * the kernels have cut it, or left that to the host; HT: they are going to. pending: that was
   * waited for, and what follows, up to blocks.done, was not. */
  cudaEvent_t decided;
  bool pending;
} Cj2kCudaAheadStage;

#define CJ2K_CUDA_ENCODE_SHARES 4 /* components that have streams of their own, at most */

/* component-streams=on (encode_components.c); by share: a component, or all from the fourth on. */
typedef struct {
  Cj2kCudaQueue queues[CJ2K_CUDA_ENCODE_SHARES];
  cudaEvent_t begun;                              /* what is before the picture is done */
  cudaEvent_t uploaded[CJ2K_CUDA_ENCODE_SHARES];  /* planes of this share and those before it */
  cudaEvent_t tops_done[CJ2K_CUDA_ENCODE_SHARES]; /* the top levels */
  cudaEvent_t done[CJ2K_CUDA_ENCODE_SHARES];      /* all levels */
} Cj2kCudaComponentStage;

struct Cj2kEncodeSlot {
  Cj2kCudaEncoder *encoder;
  cudaError_t status; /* of the current step, for all queues */
  Cj2kCudaMarks marks;
  Cj2kCudaQueue queue;                 /* the slot's own stream */
  Cj2kCudaStep step;                   /* the last one */
  bool unawaited;                      /* it is code() or a later one, and was not waited for */
  bool timed;                          /* steps of this frame are timed */
  uint32_t frames;                     /* for cj2k_cuda_times_next */
  double ms[CJ2K_CUDA_STEP_PLACE + 1]; /* by step: the last time */
  Cj2kCudaPatience patience[CJ2K_CUDA_STEP_PLACE + 1]; /* by step */
  Cj2kCudaUploadStage upload;
  Cj2kCudaTransformStage transform;
  Cj2kCudaBlockStage blocks;
  Cj2kCudaHtStage ht;
  Cj2kCudaMqStage mq;
  Cj2kCudaLatencyStage latency;
  Cj2kCudaPlaceStage place;
  Cj2kCudaPacketStage packets;
  Cj2kCudaAheadStage ahead;
  Cj2kCudaComponentStage components;
};

/* Make the encoder's lists, once. */
cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_list_slices(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_list_packets(Cj2kCudaEncoder *encoder);
void cj2k_cuda_encode_free_packets(Cj2kCudaEncoder *encoder);

/* The stages of a slot. init: makes what depends on the plan only and sets slot->status. free: also
 * frees a stage whose init failed; no work of the slot may be running. */
void cj2k_cuda_upload_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_upload_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_transform_forget(Cj2kEncodeSlot *slot); /* frees host memory; needs no context */
void cj2k_cuda_blocks_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_blocks_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_ht_stage_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_ht_stage_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_mq_stage_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_mq_stage_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_latency_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_latency_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_place_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_place_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_packets_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_packets_free(Cj2kEncodeSlot *slot);
void cj2k_cuda_components_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_components_free(Cj2kEncodeSlot *slot);
/* Makes a queue of the slot on a stream. */
Cj2kCudaQueue cj2k_cuda_encode_queue(Cj2kEncodeSlot *slot, cudaStream_t stream);
/* The queue on which blocks are coded while the picture is still being transformed; NULL: the slot
 * does not have one, or does not use it for this frame. */
const Cj2kCudaQueue *cj2k_cuda_encode_coder(const Cj2kEncodeSlot *slot);
/* Flags for cudaEventCreateWithFlags of an event for which the host waits. */
unsigned cj2k_cuda_encode_event_flags(const Cj2kEncodeSlot *slot);
/* cj2k_cuda_wait for such an event. */
cudaError_t cj2k_cuda_encode_wait(Cj2kEncodeSlot *slot, cudaEvent_t event);

/* Steps: they enqueue work and set slot->status. */
void cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job);
void cj2k_cuda_encode_transform_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                     uint32_t done, uint32_t rows);
void cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job);
void cj2k_cuda_encode_ht_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
void cj2k_cuda_encode_mq_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
void cj2k_cuda_encode_mq_gather(Cj2kEncodeSlot *slot, const Cj2kGatherJob *job);
void cj2k_cuda_encode_place(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job);
/* Waits for the last step and sets the pointers to its results. */
void cj2k_cuda_encode_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_transform.c */
typedef struct Cj2kCudaPlaneArea Cj2kCudaPlaneArea;
/* Begins a frame. */
void cj2k_cuda_transform_frame(Cj2kEncodeSlot *slot);
/* Begins work on a picture: its planes, its own stream. If the picture must be uploaded, returns an
 * area for each plane, which the caller frees with g_free(); else NULL. */
Cj2kCudaPlaneArea *cj2k_cuda_transform_begin(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job);
/* Makes room for the low-pass workspace, and for `size` bytes of the picture, whose place it
 * returns. */
uint8_t *cj2k_cuda_transform_reserve(Cj2kEncodeSlot *slot, uint64_t size);
/* Sends the addresses of its planes, unless the device has them; before kernels read the picture.
 */
void cj2k_cuda_transform_send_planes(Cj2kEncodeSlot *slot);
/* Top levels, or the levels below, of one group. */
void cj2k_cuda_launch_tops(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                           const Cj2kCudaTopGroup *group, Cj2kCudaLevelRun run,
                           const Cj2kCudaQueue *queue);
void cj2k_cuda_launch_levels(const Cj2kEncodeSlot *slot, const Cj2kCudaLevelGroup *group,
                             Cj2kCudaLevelRun run, const Cj2kCudaQueue *queue);
void cj2k_cuda_transform_end(Cj2kEncodeSlot *slot);

/* encode_upload.c */
/* Reserves device memory for the picture's planes and sets planes[]. Returns an area for each
 * plane, which the caller frees with g_free(). */
Cj2kCudaPlaneArea *cj2k_cuda_upload_place(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                          Cj2kCudaInputPlane *planes);
/* Uploads slices [first, end) of all planes; later work on the slot's queue waits for them. */
void cj2k_cuda_upload_slices(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                             const Cj2kCudaPlaneArea *areas, uint32_t first, uint32_t end);
/* Uploads all planes; share: by plane. uploaded[]: by share, recorded behind its planes, which come
 * in the order of shares. */
void cj2k_cuda_upload_shares(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                             const Cj2kCudaPlaneArea *areas, const uint8_t *share, uint32_t shares,
                             const cudaEvent_t *uploaded);
/* The same as upload_slices() for the rows that come after the first `done` of the picture, up to
 * `rows`, both on the reference grid (transform_rows in common/backend.h). */
void cj2k_cuda_upload_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                           const Cj2kCudaPlaneArea *areas, uint32_t done, uint32_t rows);

/* encode_blocks.c */
/* Begins a step of the block coder: events and marks; begin: quantisers as well. */
void cj2k_cuda_blocks_start(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue);
void cj2k_cuda_blocks_begin(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers,
                            const Cj2kCudaQueue *queue);
/* Bytes of blocks.quantisers, and where the range is in either memory of the pair. */
size_t cj2k_cuda_quantisers_size(const Cj2kEncodeSlot *slot);
Cj2kEstimateRange *cj2k_cuda_range_behind(const Cj2kEncodeSlot *slot, const Cj2kCudaMemory *memory);
/* Are these the quantisers that were sent last? */
bool cj2k_cuda_blocks_has_quantisers(const Cj2kEncodeSlot *slot,
                                     const Cj2kFrameQuantiser *quantisers);
/* Sends a small array of the job, unless *sent is true and the array is the one sent last. */
void cj2k_cuda_blocks_send(const Cj2kCudaQueue *queue, Cj2kCudaPair *array, const void *data,
                           size_t size, bool *sent);
/* The largest number of bit-planes that indices may have. */
uint32_t cj2k_cuda_blocks_max_bitplanes(const Cj2kEncodeSlot *slot,
                                        const Cj2kFrameQuantiser *quantisers);
/* Ensures that the first `size` bytes of an array are on the host; the download of the first
 * `fetched` bytes has been started before. */
void cj2k_cuda_blocks_fetch_rest(Cj2kEncodeSlot *slot, const Cj2kCudaPair *array, uint64_t fetched,
                                 uint64_t size);

/* encode_place.c: does code() leave the bytes of this job to place()? */
bool cj2k_cuda_encode_leaves_bytes(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);

/* encode_packets.c: */
/* Makes room for what follows. */
void cj2k_cuda_packets_reserve(Cj2kEncodeSlot *slot);
/* Makes the headers of all packets, and their sizes. */
void cj2k_cuda_packets_code(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue);
/* The results of code(). */
void cj2k_cuda_packets_coded(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* What place() needs on the host to make packets, and the records of MQ blocks that are retained.
 */
void cj2k_cuda_packets_prepare(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job,
                               const Cj2kCudaQueue *queue);
/* Makes packets, behind that, and puts them to their places in slot->place.codestream. headers: are
 * they made? Else code() has made them. */
void cj2k_cuda_packets_place(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets, bool headers,
                             const Cj2kCudaQueue *queue);
/* Their sizes, when that is done; NULL: they had no room. */
const Cj2kPacketSize *cj2k_cuda_packets_sizes(const Cj2kEncodeSlot *slot);
/* Copies the steps of packets to pinned memory, for cj2k_cuda_packets_cut. */
void cj2k_cuda_packets_send_steps(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                                  const Cj2kCudaQueue *queue);
/* What the kernels for headers get; cut: as in Cj2kCudaHeaders. */
Cj2kCudaHeaders cj2k_cuda_packets_headers(const Cj2kEncodeSlot *slot,
                                          const Cj2kEncodedBlock *blocks,
                                          const Cj2kCudaCutResult *cut);
/* Where the host gets what it learns of packets, in pinned memory. */
typedef struct {
  uint64_t *end; /* of the codestream, or CJ2K_CUDA_NO_ROOM */
  Cj2kPacketSize *sizes;
  Cj2kCudaEncodeCounts *counts;
} Cj2kCudaPacketReport;
/* The headers of a frame that a kernel cuts, and the rest of cj2k_cuda_packets_place for it. */
void cj2k_cuda_packets_cut_headers(Cj2kEncodeSlot *slot, const Cj2kCudaCutResult *cut,
                                   const Cj2kCudaQueue *queue);
void cj2k_cuda_packets_cut(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                           const Cj2kCudaCutResult *cut, const Cj2kCudaPacketReport *report,
                           const Cj2kCudaQueue *queue);

/* encode_ahead.c */
void cj2k_cuda_ahead_init(Cj2kEncodeSlot *slot);
void cj2k_cuda_ahead_free(Cj2kEncodeSlot *slot);
/* May place() be done behind code()? Where the codestream goes must be in reach of kernels. */
bool cj2k_cuda_ahead_may(const Cj2kEncodeSlot *slot, const Cj2kAheadJob *job);
/* Makes room for it: `own` and `host` bytes for the parts of the stage, packets and codestream. */
void cj2k_cuda_ahead_reserve(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *place, size_t own,
                             size_t host);
/* Downloads the codestream, as much as it turns out to be. target: in pinned memory. */
void cj2k_cuda_ahead_download(Cj2kEncodeSlot *slot, const Cj2kCudaCopyTarget *target);
/* Is place() done behind code() of this job (ahead.wanted)? Makes room for it. */
void cj2k_cuda_ahead_prepare(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
/* Enqueues it; launched: what the slot knows of it, as after each launch of a graph. key: what the
 * launches depend on besides the code-blocks. */
#define CJ2K_CUDA_AHEAD_KEY 9
void cj2k_cuda_ahead_launch(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
void cj2k_cuda_ahead_launched(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
/* Does the host learn the size of the frame as soon as that is known, before the rest is done, and
 * place() download the codestream? go_on: enqueues what is behind coded blocks. */
bool cj2k_cuda_ahead_goes_on(const Cj2kEncodeSlot *slot);
void cj2k_cuda_ahead_go_on(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
void cj2k_cuda_ahead_key(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, uint64_t *key);
/* Waits for the cut, if the rest is to be waited for later (`pending`). false: it is not. */
bool cj2k_cuda_ahead_wait(Cj2kEncodeSlot *slot);
/* Waits for the rest, if that is pending. */
void cj2k_cuda_ahead_end(Cj2kEncodeSlot *slot);
/* The results of code(): some blocks may have been coded again. */
void cj2k_cuda_ahead_coded(Cj2kEncodeSlot *slot);
/* Has the frame been cut, so that place() is done? */
bool cj2k_cuda_ahead_has_cut(const Cj2kEncodeSlot *slot);
/* Is what place() is asked for done? Then its results are: */
bool cj2k_cuda_ahead_find(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job);
void cj2k_cuda_ahead_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* Else: lists the blocks that were coded again, but are not in the job (NULL: it has none), to be
 * coded at plane 0. Returns their number. */
uint32_t cj2k_cuda_ahead_restore(Cj2kEncodeSlot *slot, const Cj2kAgainJob *again,
                                 Cj2kCudaAgain *list);

/* encode_ahead_mq.c: the same for MQ. prepare: with the room that code() has made; what kernels
 * write is known when they are launched. */
void cj2k_cuda_ahead_mq_prepare(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
void cj2k_cuda_ahead_mq_launch(Cj2kEncodeSlot *slot);
/* Has the frame been cut? Else the host decides. */
bool cj2k_cuda_ahead_mq_cut(Cj2kEncodeSlot *slot);
void cj2k_cuda_ahead_mq_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_ht.c */
/* Does the host wait once for code() and what that measures ahead? */
bool cj2k_cuda_ht_waits_once(const Cj2kEncodeSlot *slot);
/* Where sizes of packets lie behind the counts of coded blocks, on the host or on the device. */
Cj2kPacketSize *cj2k_cuda_ht_packet_sizes(const Cj2kEncodeSlot *slot, void *counts);
/* Likewise where the lengths of blocks lie. */
uint32_t *cj2k_cuda_ht_lengths(const Cj2kEncodeSlot *slot, void *counts);
/* Lets a kernel copy the records of coded blocks and the sizes of packets to the host. */
void cj2k_cuda_ht_tell_host(const Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue);
/* Bytes of the records of coded HT blocks, with counts and sizes of packets. */
size_t cj2k_cuda_ht_coded_size(const Cj2kEncodeSlot *slot);
/* Begins a step for HT blocks on `queue`; cj2k_cuda_ht_prepare comes before their kernels. */
void cj2k_cuda_ht_begin(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers, uint32_t stride,
                        const Cj2kCudaQueue *queue);
/* Sends the quantisers, unless the device has them, and sets `size` bytes of counters on the device
 * to 0, with one launch. */
void cj2k_cuda_ht_prepare(Cj2kEncodeSlot *slot, void *counters, size_t size,
                          const Cj2kCudaQueue *queue);
/* Reserves the scratch memory of code() for indices of so many bit-planes. Returns its bits for
 * each sample. */
uint32_t cj2k_cuda_ht_reserve_scratch(Cj2kEncodeSlot *slot, uint32_t num_bitplanes);
/* encode_mq.c: bytes of the symbols that code() has room for at first. */
uint64_t cj2k_cuda_mq_first_symbols(const Cj2kEncodeSlot *slot);
/* Where sizes of packets lie behind the counts of MQ blocks, if packets may be made. */
Cj2kPacketSize *cj2k_cuda_mq_packet_sizes(const Cj2kEncodeSlot *slot, void *counts);
/* encode_ht_measure.c */
/* Where the results of measuring lie behind their counts, on the host or on the device. */
Cj2kCudaMeasure cj2k_cuda_ht_measured(const Cj2kEncodeSlot *slot, void *counts, uint32_t num_planes,
                                      bool distortions);
/* Measures what the next step is likely to ask for, of the blocks that code() codes. prepare: makes
 * room for it. */
void cj2k_cuda_ht_prepare_ahead(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job);
void cj2k_cuda_ht_measure_ahead(const Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                                const Cj2kCudaQueue *queue);
/* Where its results go, behind counts: to the host, or with ahead.wanted to the device. */
void *cj2k_cuda_ht_measured_ahead(const Cj2kEncodeSlot *slot);
/* encode_ht_lists.c: steps for lists of blocks. */
void cj2k_cuda_encode_measure_list(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job);
void cj2k_cuda_encode_code_list(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job);
/* Codes the list of the last step again, after the room for bytes has grown. */
void cj2k_cuda_encode_list_again(Cj2kEncodeSlot *slot);

/* encode_ht.c, encode_mq.c: parts of cj2k_cuda_encode_fetch. */
void cj2k_cuda_encode_ht_wait(Cj2kEncodeSlot *slot);
/* The event at the end of the last step. */
cudaEvent_t cj2k_cuda_encode_ht_end(const Cj2kEncodeSlot *slot);
void cj2k_cuda_encode_ht_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
void cj2k_cuda_encode_mq_wait(Cj2kEncodeSlot *slot);
void cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* Sets the pointers to the results of code(), or of a gather() after it. */
void cj2k_cuda_encode_mq_result(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* encode_place.c */
void cj2k_cuda_encode_place_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
/* encode_ht_measure.c */
void cj2k_cuda_encode_measure_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_components.c: uploads (areas: NULL: not) and transforms a picture with streams for its
 * components, for which the slot's queue then waits. */
void cj2k_cuda_encode_components(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                 const Cj2kCudaPlaneArea *areas);

/* encode_slices.c: the number of rows of a component (of `rows` rows) that `slice` and the slices
 * before it need. */
uint32_t cj2k_cuda_slice_rows(const Cj2kCudaSlices *slices, uint32_t slice, uint32_t rows);

#endif
