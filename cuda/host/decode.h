/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of the CUDA decode back end. A slot has one stream, on which all work of a frame is
 * enqueued; only the codestream, if it is not small, is uploaded on a stream of the back end, which
 * all slots share:
 *
 *   upload (codestream, block records)  ->  block decoders  ->  inverse DWT
 *     ->  last level, component transform, store  ->  packing  ->  download
 *
 * Tables that follow from plan and layout are made when these change (decode_bands.c,
 * decode_plan.c, decode_output.c); all other work is enqueued for each frame (decode_upload.c,
 * decode_frame.c, decode_transform.c, decode_picture.c), or for each part of a frame
 * (decode_parts.c). The work of a small frame is one launch (decode_once.c). With several frames in
 * flight a large picture in host memory is downloaded from where the frame's coefficients were
 * (decode_overlay.c). With one frame in flight a picture in host memory is made and downloaded in
 * slices of rows, on further streams (decode_slices.c); with component-streams=on each component
 * has a stream (decode_components.c).
 */
#ifndef CJ2K_CUDA_HOST_DECODE_H
#define CJ2K_CUDA_HOST_DECODE_H

#include "common/backend.h"
#include "common/codestream/plan_parts.h"
#include "common/samples/layout.h"
#include "cuda/shared/decode_kernels.h"
#include "device.h"
#include "graph.h"
#include "table.h"
#include "timeline.h"
#include "wait.h"

#include <glib.h>

typedef struct {
  Cj2kCudaDevice device;
  Cj2kThreads *threads; /* of the decoder */
  uint32_t frames_in_flight;
  uint32_t multiprocessors;
  bool component_streams; /* components have streams of their own */
  Cj2kCudaTimeline timeline;
  gint slots; /* made so far; the next one's number */
  /* Codestreams of all slots, one after the other, each with the whole bus. With one frame in
   * flight a quiet codec does not use it: the streams of a process share a few hardware queues, and
   * one that waits for another holds up what is behind it in its queue. */
  cudaStream_t upload;
} Cj2kCudaDecoder;

/* A launch of the inverse DWT or of the last level: entries first..first+count-1 of its table. */
typedef struct {
  uint32_t first, count;
  Cj2kCudaStrips strips; /* for all rows */
  Cj2kCudaKind kind;
  bool words; /* all entries have one component and cj2k_cuda_finish_has_words is true for it */
} Cj2kCudaLaunch;

/* Rows by entry of level_table, then of finish_table, and the number of the planes in which those
 * of the last level are stored (Cj2kCudaDecodeOutput). */
typedef struct {
  const Cj2kCudaRows *host, *device;
  uint32_t set;
} Cj2kCudaRanges;

/* What is decoded of a frame: by an add_parts(), or all of it in the order of its shares. */
typedef struct {
  const uint32_t *numbers;    /* of the code-blocks; of a part, of resolutions that are decoded */
  const uint32_t *d_numbers;  /* a copy on the device; NULL: it is uploaded */
  uint32_t count;             /* of them */
  const uint32_t *group_ends; /* they are decoded in groups, which end here */
  uint32_t num_groups;        /* 0: all are one group */
  bool in_codestream;         /* the whole codestream is uploaded, else the blocks' bytes alone */
  const Cj2kCudaRows *ranges; /* by entry of level_table, then of finish_table; are uploaded */
  uint32_t num_ranges;
} Cj2kCudaDecodePart;

/* Offsets in `records` of what all groups of a frame's blocks use. Behind that each group has its
 * records and lists, one contiguous run. `side`, what comes behind the codestream, is in the pinned
 * copy alone, from which it is uploaded; where a part of a frame is decoded it holds the bytes of
 * its code-blocks, and likewise of a small frame the codestream, and is uploaded with the records.
 */
typedef struct {
  size_t outputs, steps, segments, numbers, ranges, side;
  size_t length; /* uint64_t: `filled`, for the kernel of a frame in one launch */
  size_t filled; /* the end of what the host has filled in so far */
  size_t sent;   /* the end of what is being uploaded */
} Cj2kCudaUpload;

/* The tile-component and resolution that an entry of level_table makes. */
typedef struct {
  uint32_t tile_comp, r;
} Cj2kCudaLevelOf;

/* Where a band lies in `coefficients`, in bytes, a multiple of 64; UINT64_MAX: it is not decoded.
 * narrow: it has 16 bits a coefficient (decode_kernels.h), else 32. */
typedef struct {
  uint64_t offset;
  bool narrow;
} Cj2kCudaBandPlace;

/* What listing a code-block takes (decode_lists.c), side by side. */
typedef struct {
  uint16_t octets;
  bool has_place; /* it belongs to a resolution that is decoded */
  bool bypass;    /* its style has BYPASS */
} Cj2kCudaBlockFacts;

/* Tables that follow from the geometry of the plan and from `wide_levels` (decode_plan.c). */
typedef struct {
  Cj2kPlan *plan;            /* of the last frame, a reference */
  uint32_t wide_levels;      /* of the frames of this geometry so far, as one: decomposition levels,
                                the first one in bit 0, that need 32 bits a coefficient */
  Cj2kCudaBandPlace *places; /* by band (decode_bands.c) */
  GArray *levels;            /* Cj2kCudaLaunch */
  uint64_t early;            /* bytes of the bands that only `levels` read, which come first */
  Cj2kCudaMemory level_table; /* Cj2kCudaLevel, of all launches; lower resolutions first */
  GArray *level_of;           /* Cj2kCudaLevelOf, by entry of level_table */
  Cj2kCudaTable *blocks;      /* Cj2kCudaBlock */
  Cj2kCudaMemory zeros;
  bool zeros_valid; /* false: frames since then have left other values */
  Cj2kCudaMemory coefficients;
  Cj2kCudaMemory lowpass;    /* also workspace of the block decoders (cj2k_cuda_decode_workspace) */
  Cj2kCudaMemory quads;      /* made when first needed */
  uint64_t quads_size;       /* bytes of the quad records of all HT blocks */
  uint32_t max_width;        /* of any code-block */
  uint32_t width_bits;       /* the widths of all code-blocks or'ed */
  uint32_t mq_octets;        /* the largest `octets` of `facts` */
  uint32_t mq_window;        /* and the largest number in CJ2K_CUDA_MQ_WINDOW stripes */
  Cj2kCudaBlockFacts *facts; /* by code-block */
  uint16_t *classes;         /* workspace of a group, by its blocks */
  uint32_t *words;           /* the same: of the bit-planes of MQ blocks */
} Cj2kCudaDecodeTables;

/* Tables that follow from plan and layout (decode_output.c). */
typedef struct {
  Cj2kLayout layout; /* a copy */
  Cj2kPlaneUse *planes;
  uint32_t num_outputs;    /* planes of the layout, then planes of 16-bit samples to be packed */
  uint32_t *plane_rows;    /* by plane of the layout: rows */
  size_t *plane_bytes;     /* by plane of the layout: bytes of a row */
  size_t *plane_offsets;   /* by plane of the layout: its place in a picture that is downloaded */
  Cj2kCudaOutput *samples; /* the 16-bit planes */
  Cj2kCudaMemory sample_planes;
  GArray *finishes; /* Cj2kCudaLaunch */
  Cj2kCudaMemory finish_table;
  GArray *finish_of; /* uint32_t, by entry of finish_table: its tile-component or first of three */
  Cj2kCudaFinish only; /* if is_only: the only entry of all launches, which has three components */
  bool is_only;
  GArray *packs;           /* Cj2kCudaPack */
  GArray *plane_of_pack;   /* uint32_t, by pack: the plane that it writes */
  Cj2kCudaOutput *outputs; /* of the current frame: planes on the device; of a picture that lies
                              over coefficients, num_outputs for each slice */
} Cj2kCudaDecodeOutput;

/* The input of a frame (decode_upload.c). */
typedef struct {
  cudaEvent_t arrived; /* the codestream is on the device */
  cudaStream_t stream; /* on which the codestream is uploaded: the slot's or the back end's */
  Cj2kCudaMemory data, h_data;
  size_t fetched;  /* bytes of the codestream whose copy to `data` has been enqueued */
  bool in_records; /* the codestream is uploaded with the records instead */
  Cj2kCudaMemory records, h_records;
  Cj2kCudaUpload parts;     /* of the records */
  Cj2kCudaMemory mq_planes; /* bit-planes of MQ blocks; made when first needed */
} Cj2kCudaDecodeUpload;

/* The current frame (decode_frame.c). */
typedef struct {
  cudaEvent_t uploaded, decoded, done;
  Cj2kCudaPatience patience; /* of waits for the frame */
  cudaEvent_t picture_free;  /* earlier work on the picture's own stream is done */
  const Cj2kPicture *target;
  Cj2kCudaMemory picture; /* what is downloaded; if is_over only what has no other place */
  Cj2kCudaMemory h_picture;
  size_t size;              /* of a picture with these pitches */
  bool is_over;             /* it is downloaded from where coefficients were */
  bool is_placed;           /* `outputs` are those of such a picture, for these tables */
  bool may_once, is_once;   /* cj2k_cuda_decode_may_once, and cj2k_cuda_decode_is_once */
  bool timed;               /* `uploaded` and `decoded` are recorded for the times */
  uint32_t frames;          /* for cj2k_cuda_times_next */
  float ms_blocks, ms_rest; /* of the last frame that was timed */
  bool copy_out;            /* pageable memory: wait() has to copy h_picture */
  bool in_shares;           /* cj2k_cuda_decode_has_shares */
  bool blocks_first;        /* all code-blocks are decoded before anything else is made */
  uint32_t *quads;          /* workspace: quad records */
  bool unfinished; /* the last frame was handed out before `done`; its picture's stream waits */
  Cj2kCudaGraph transform;  /* what comes behind the code-blocks, if the picture is downloaded */
  Cj2kCudaGraph once[2];    /* all of a frame in one launch; [1]: with upload.in_records */
  uint32_t corrupt_before;  /* blocks that packet parsing found corrupt */
  Cj2kCudaMemory h_corrupt; /* number of blocks that kernels found corrupt */
} Cj2kCudaDecodeFrame;

/* A frame whose packets come in parts (decode_parts.c). */
typedef struct {
  bool active;     /* the slot's frame is such a one */
  bool unfinished; /* frame.done of the last part was recorded, but nobody has waited for it */
  bool timed;
  Cj2kPlanParts rows;
  GArray *blocks;          /* uint32_t: code-blocks of a part */
  GArray *ranges;          /* Cj2kCudaRows, by entry of level_table, then of finish_table */
  uint32_t *stored;        /* by component: rows that were stored on the device, from the top */
  Cj2kCudaRows *planes;    /* by plane of the picture: rows that a part adds; before `first` it is
                              complete */
  Cj2kDecodeResult result; /* so far */
} Cj2kCudaDecodeParts;

#define CJ2K_CUDA_DECODE_SHARES  4 /* at most, of those with streams or downloads of their own */
#define CJ2K_CUDA_OVERLAY_SLICES 5

typedef enum {
  CJ2K_CUDA_SLICES = 0, /* of rows, each with a download of its own (decode_slices.c) */
  CJ2K_CUDA_COMPONENTS, /* each with a stream of its own (decode_components.c) */
  CJ2K_CUDA_OVERLAY,    /* slices of rows of a picture that lies over coefficients; all else is
                           made as a whole (decode_overlay.c) */
} Cj2kCudaShareKind;

/*
 * Frames that are made in shares. Tables that follow from plan and layout (decode_shares.c). What a
 * share makes needs shares before it, but none behind it.
 */
typedef struct {
  uint32_t count; /* 1: frames are made as a whole */
  Cj2kCudaShareKind kind;
  const uint8_t *ends; /* of slices: the rows above the end of each, in 64ths of the picture */
  uint32_t tiles_made[CJ2K_CUDA_OVERLAY_SLICES]; /* of an overlay: tiles, from the first one on,
                                                    that are complete before a slice */
  bool has_mq;                                   /* any code-block may be an MQ block */
  uint32_t *numbers; /* of all code-blocks, by share: of slices the first one that needs them */
  /* Ends in `numbers` of the groups of blocks that are decoded on their own: components, or the
   * first slice and all others. */
  uint32_t group_ends[CJ2K_CUDA_DECODE_SHARES];
  Cj2kCudaRows *ranges; /* by share, num_ranges each: as those of Cj2kCudaDecodePart */
  uint32_t num_ranges;
  Cj2kCudaRows *planes; /* by share and plane of the picture: rows that it adds */
  Cj2kCudaTable *number_table, *range_table;     /* `numbers` and `ranges` on the device */
  cudaStream_t streams[CJ2K_CUDA_DECODE_SHARES]; /* of components; of slices: 0 for downloads, 1 for
                                                    the blocks of all slices but the first */
  cudaEvent_t uploaded;                          /* the input is there that all shares use */
  cudaEvent_t writable;                          /* of components: the planes may be stored */
  cudaEvent_t decoded[CJ2K_CUDA_DECODE_SHARES]; /* the blocks of a component, or with index 1 of all
                                                   slices but the first */
  cudaEvent_t made[CJ2K_CUDA_DECODE_SHARES];    /* the share is in the planes */
  cudaEvent_t ended[CJ2K_CUDA_DECODE_SHARES];   /* of components: the share is downloaded */
  uint32_t waits[CJ2K_CUDA_DECODE_SHARES];      /* of components: the shares, by bit, that have to
                                                   be made before this one can be stored */
  Cj2kCudaGraph transforms[CJ2K_CUDA_DECODE_SHARES]; /* of slices: what comes behind the blocks */
  uint32_t current;                                  /* the share that is being launched */
} Cj2kCudaDecodeShares;

struct Cj2kDecodeSlot {
  Cj2kCudaDecoder *backend;
  cudaStream_t stream;
  Cj2kCudaMarks marks;
  Cj2kCudaDecodeTables tables;
  Cj2kCudaDecodeOutput output;
  Cj2kCudaDecodeUpload upload;
  Cj2kCudaDecodeFrame frame;
  Cj2kCudaDecodeParts parts;
  Cj2kCudaDecodeShares shares;
};

/* The parts of a slot. init: makes what does not depend on plan and layout. free: also frees a part
 * whose init failed; no work of the slot may be running. */
void cj2k_cuda_decode_tables_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_tables_free(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_output_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_output_free(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_upload_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_upload_free(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_frame_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_frame_free(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_parts_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_parts_free(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_shares_init(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_shares_free(Cj2kDecodeSlot *slot);

/* decode_bands.c: the levels, as in wide_levels, that need 32 bits a coefficient. */
uint32_t cj2k_cuda_decode_wide_levels(const Cj2kPlan *plan);
/* Fills in `places`. Returns the bytes of all bands. */
uint64_t cj2k_cuda_decode_place_bands(Cj2kDecodeSlot *slot);
/* decode_plan.c: makes the tables of blocks and levels, if the geometry is new, or levels have
 * become wide (*is_new).
 * CJ2K_ERROR_UNSUPPORTED: only the CPU can do this plan, and *error says why. */
Cj2kStatus cj2k_cuda_decode_set_plan(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, bool *is_new,
                                     Cj2kError *error);
/* decode_output.c: makes the tables of the last level and of packing. */
Cj2kStatus cj2k_cuda_decode_set_layout(Cj2kDecodeSlot *slot, const Cj2kLayout *layout,
                                       Cj2kError *error);
/* The number of components that both the image and the layout have. */
uint32_t cj2k_cuda_decode_num_put_out(const Cj2kDecodeSlot *slot);
/* decode_mq.c: reserves memory for the bit-planes of `count` groups, for each its own, because
 * kernels of several groups run at once. */
Cj2kStatus cj2k_cuda_decode_reserve_mq(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frames,
                                       uint32_t count, Cj2kError *error);
/* decode_upload.c: prefetch and abandon as in backend.h. */
void cj2k_cuda_decode_prefetch(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size);
void cj2k_cuda_decode_abandon(Cj2kDecodeSlot *slot);
/* Begins the upload of a part of a frame, or of all of it (part: NULL): fills in what all groups of
 * blocks use, but for the segments, and enqueues what prefetch did not. */
Cj2kStatus cj2k_cuda_decode_begin_upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                         const Cj2kCudaDecodePart *part, Cj2kError *error);
/* decode_lists.c: fills in the records and lists of group g, the next one, and describes its
 * blocks. Group 0 brings the segments of all groups, so that it is filled before any is sent. */
void cj2k_cuda_decode_fill_group(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, uint32_t g,
                                 Cj2kCudaDecodeBlocks *frame);
/* decode_upload.c: does so for all groups, and reserves memory for their MQ blocks, which need it.
 */
Cj2kStatus cj2k_cuda_decode_fill(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, Cj2kCudaDecodeBlocks *frames,
                                 Cj2kError *error);
/* Enqueues the upload of what has been filled in since the last one; by a kernel if there are at
 * most `most` bytes. */
cudaError_t cj2k_cuda_decode_send(Cj2kDecodeSlot *slot, size_t most, cudaStream_t stream);
/* The same on the slot's stream, for a frame, whose codestream the stream waits for, or a part. */
cudaError_t cj2k_cuda_decode_upload(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_upload_part(Cj2kDecodeSlot *slot);
/* For a frame in one launch: makes the slot's stream wait for the codestream, and fills in what is
 * known last, the places of the planes and the length of all. */
cudaError_t cj2k_cuda_decode_wait_upload(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_end_records(Cj2kDecodeSlot *slot);
/* Where a part of the records lies in pinned memory. */
void *cj2k_cuda_decode_host_record(const Cj2kDecodeSlot *slot, const void *device);
/* The quantiser steps of the frame's bands, on the device. */
const Cj2kCudaBandStep *cj2k_cuda_decode_steps(const Cj2kDecodeSlot *slot);
/* decode_transform.c: launches the levels but the last, the last one, and packing. ranges: NULL:
 * all rows. */
cudaError_t cj2k_cuda_decode_levels(Cj2kDecodeSlot *slot, const Cj2kCudaRanges *ranges,
                                    cudaStream_t stream);
cudaError_t cj2k_cuda_decode_finish(Cj2kDecodeSlot *slot, const Cj2kCudaRanges *ranges,
                                    cudaStream_t stream);
/* The packs that only fill; false in *any (may be NULL): there are none. */
cudaError_t cj2k_cuda_decode_fill_padding(Cj2kDecodeSlot *slot, bool *any);
/* The other ones, for rows by plane of the picture; NULL: all. */
cudaError_t cj2k_cuda_decode_packs(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes,
                                   cudaStream_t stream);
/* decode_picture.c: chooses the memory for the planes: the picture itself if it is on the device,
 * else memory with the same pitches, the slot's own or that of its coefficients. */
Cj2kStatus cj2k_cuda_decode_place_picture(Cj2kDecodeSlot *slot, const Cj2kPicture *picture,
                                          Cj2kError *error);
/* The bytes of `rows` rows of plane p with this pitch, as much as planes are aligned to. */
size_t cj2k_cuda_decode_plane_size(const Cj2kDecodeSlot *slot, uint32_t p, uint32_t rows,
                                   size_t pitch);
/* Makes the slot's stream wait until the planes may be written: for work on the picture's own
 * stream. */
cudaError_t cj2k_cuda_decode_follow_picture(Cj2kDecodeSlot *slot);
/* Bytes of a row of plane p of the frame's picture: whole units, or fewer if the picture's rows end
 * inside the last one. */
size_t cj2k_cuda_decode_row_bytes(const Cj2kDecodeSlot *slot, uint32_t p);
/* How many sets of planes the frame has, and the planes of one, in host memory. */
uint32_t cj2k_cuda_decode_num_sets(const Cj2kDecodeSlot *slot);
const Cj2kCudaOutput *cj2k_cuda_decode_outputs(const Cj2kDecodeSlot *slot, uint32_t set);
/* Adds to the key of a graph (uint64_t) what its launches have of the planes. */
void cj2k_cuda_decode_add_outputs(const Cj2kDecodeSlot *slot, GArray *key);
/* Enqueues the download of all planes, and copies them from pinned memory to a picture in pageable
 * memory, which does nothing with other pictures. */
cudaError_t cj2k_cuda_decode_download(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_copy_out(Cj2kDecodeSlot *slot);
/* The same for some rows of each plane, on a stream of the slot. */
cudaError_t cj2k_cuda_decode_download_rows(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes,
                                           uint32_t set, cudaStream_t stream);
void cj2k_cuda_decode_copy_out_rows(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes);
/* decode_once.c: may the frames of such a picture be one launch, and is this frame, after its
 * blocks are filled in? */
bool cj2k_cuda_decode_may_once(const Cj2kDecodeSlot *slot);
bool cj2k_cuda_decode_is_once(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              const Cj2kCudaDecodeBlocks *blocks);
/* Launches all work of such a frame, up to the download. */
cudaError_t cj2k_cuda_decode_once(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *blocks);
/* decode_frame.c: start and wait as in backend.h. */
Cj2kStatus cj2k_cuda_decode_start(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error);
Cj2kStatus cj2k_cuda_decode_wait(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error);
/* The begin of a frame: waits for the one before, and makes tables and memory for this one. */
Cj2kStatus cj2k_cuda_decode_prepare(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                    Cj2kError *error);
/* Does launches that are the same for each frame of the slot (ctx: the slot), as a graph if that is
 * possible. */
cudaError_t cj2k_cuda_decode_run(Cj2kDecodeSlot *slot, Cj2kCudaGraph *graph,
                                 Cj2kCudaLaunches launches);
/* Waits for all that is enqueued, whatever has failed. False: nobody knows whether it has ended. */
bool cj2k_cuda_decode_synchronize(Cj2kDecodeSlot *slot);
/* Memory for `size` bytes that block decoders of the frame use: memory of what is made later, if
 * they have finished then, or NULL, which says that they need memory of their own. */
void *cj2k_cuda_decode_workspace(const Cj2kDecodeSlot *slot, uint64_t size);
/* Launches the block decoders, and what follows up to the picture, of all rows (ctx: the slot). */
cudaError_t cj2k_cuda_decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frame,
                                    cudaStream_t stream);
cudaError_t cj2k_cuda_decode_transform(void *ctx);
/* decode_shares.c: makes the tables of shares, after those of plan and layout. */
Cj2kStatus cj2k_cuda_decode_set_shares(Cj2kDecodeSlot *slot, Cj2kError *error);
/* Is the current frame made in shares? Then the blocks are those of all_shares(), and one of the
 * two functions below launches all. */
bool cj2k_cuda_decode_has_shares(const Cj2kDecodeSlot *slot);
Cj2kCudaDecodePart cj2k_cuda_decode_all_shares(const Cj2kDecodeSlot *slot);
/* Lists the blocks of each group; group: by block. */
void cj2k_cuda_decode_list_groups(Cj2kDecodeSlot *slot, const uint8_t *group);
/* The ranges of a share, and its rows of the planes. */
Cj2kCudaRanges cj2k_cuda_decode_share_ranges(const Cj2kDecodeSlot *slot, uint32_t share);
const Cj2kCudaRows *cj2k_cuda_decode_share_planes(const Cj2kDecodeSlot *slot, uint32_t share);
/* The bytes of all samples of a picture. */
uint64_t cj2k_cuda_decode_picture_bytes(const Cj2kDecodeSlot *slot);
/* decode_slices.c: chooses how many slices there are and where they end, makes the tables of
 * shares, and does all launches from the upload of records to the download. The stream of the
 * downloads is done last. slice_end(): the rows of a tile-component above the end of slice k,
 * absolute. */
void cj2k_cuda_decode_choose_slices(Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_find_slices(Cj2kDecodeSlot *slot);
uint32_t cj2k_cuda_decode_slice_end(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc,
                                    uint32_t k);
Cj2kStatus cj2k_cuda_decode_slices(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                   Cj2kError *error);
/* decode_overlay.c: may pictures of this plan and layout that are downloaded lie over coefficients?
 * Then choose() chooses the slices in which they are made, and place() finds places for the planes
 * of the current one; `own`: memory for what has no other place; returns how much is needed. */
bool cj2k_cuda_decode_may_overlay(const Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_choose_overlay(Cj2kDecodeSlot *slot);
size_t cj2k_cuda_decode_place_overlay(Cj2kDecodeSlot *slot, uint8_t *own);
/* decode_components.c: as decode_slices.c. The slot's stream waits for all of them. */
uint32_t cj2k_cuda_decode_count_components(const Cj2kDecodeSlot *slot);
void cj2k_cuda_decode_find_components(Cj2kDecodeSlot *slot);
cudaError_t cj2k_cuda_decode_components(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frames);
/* decode_parts.c: as in backend.h. */
Cj2kStatus cj2k_cuda_decode_begin_parts(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                        Cj2kError *error);
Cj2kStatus cj2k_cuda_decode_add_parts(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                      const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                                      Cj2kError *error);
bool cj2k_cuda_decode_is_busy(Cj2kDecodeSlot *slot);
Cj2kStatus cj2k_cuda_decode_wait_parts(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                                       Cj2kError *error);
/* Rows [first, end), absolute, of an image of a tile-component, which has this rect, as kernels
 * count them. */
Cj2kCudaRows cj2k_cuda_decode_count_rows(const Cj2kPlanTileComp *tc, const Cj2kRect *rect,
                                         uint32_t first, uint32_t end);

/* decode_plan.c */
/* Describes the level that makes resolution r >= 1 of a tile-component, or with r = 0 its plane
 * without decomposition. */
void cj2k_cuda_decode_level(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r,
                            Cj2kCudaLevel *level);
/* The number of rows that a warp does, chosen so that there are enough warps. */
uint32_t cj2k_cuda_decode_rows(uint32_t width, uint32_t height, uint32_t count);
/* Uploads a table that is kept for many frames; synchronous. */
Cj2kStatus cj2k_cuda_decode_table(const Cj2kDecodeSlot *slot, Cj2kCudaMemory *memory,
                                  const void *table, size_t size, Cj2kError *error);

#endif
