/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interface between the core and its back ends. A back end owns frame slots and does the
 * transform and the block coding of whole frames; the core does headers, plans, packets and rate
 * control. There is one table of functions for each direction.
 *
 * One frame at a time uses a slot. start() may return before the work is done; wait() returns when
 * it is done. A slot keeps its memory, so that start() allocates nothing in steady state. Several
 * threads use the slots of a back end at once, and start() and wait() of one slot may be called by
 * different threads.
 */
#ifndef CJ2K_BACKEND_H
#define CJ2K_BACKEND_H

#include "common/codestream/coded.h"
#include "common/codestream/plan_rows.h"
#include "common/runtime/threads.h"
#include "common/shared/hull.h"
#include "common/shared/step_size.h"

/* What tests force, before they open a codec; all 0: back ends do what is best. */
typedef struct {
  uint32_t slices; /* CUDA, one frame in flight to host memory: made in so many slices of rows */
  bool overlay;    /* CUDA, several frames in flight to host memory: pictures of any size lie over
                      coefficients */
  bool full_warps; /* CUDA, frames with MQ blocks of more than 1024 samples: 32 blocks in a warp */
} Cj2kBackendTest;
extern Cj2kBackendTest cj2k_backend_test; /* backend_choose.c */

typedef struct Cj2kDecodeSlot Cj2kDecodeSlot; /* opaque; each back end defines its own */

typedef struct {
  const Cj2kPlan *plan;
  const Cj2kCodedFrame *coded; /* valid until wait() has returned */
  const Cj2kLayout *layout;
  const Cj2kPicture *picture;
} Cj2kDecodeJob;

typedef struct {
  uint32_t corrupt_blocks;
  double ms_block_coder, ms_transform;
  bool redone; /* a device failed, and another one did the frame; *error says why */
} Cj2kDecodeResult;

/* Picture memory that a back end allocates itself. The CPU back end has none: its functions are
 * NULL. */
typedef struct {
  void *(*alloc)(void *backend, Cj2kMemoryKind kind, size_t size); /* returns NULL on failure */
  void (*free)(void *backend, Cj2kMemoryKind kind, void *memory);
  /* Copies rows between host and device memory in either direction and waits for the copy. It runs
   * on `cuda_stream` unless that is NULL (see Cj2kPicture). */
  Cj2kStatus (*copy)(void *backend, void *cuda_stream, const Cj2kPlane *to, const Cj2kPlane *from,
                     size_t row_bytes, uint32_t rows, Cj2kError *error);
  /* Optional: does this address belong to memory of the back end's device? */
  bool (*owns)(void *backend, const void *memory);
  /* Optional, both or neither: makes whole pages of ordinary memory pinned, and ordinary again,
   * which must come before the back end is closed. false: that is not possible. */
  bool (*pin)(void *backend, void *memory, size_t size);
  void (*unpin)(void *backend, void *memory);
} Cj2kBackendMemory;

/* backend_choose.c: tries back ends for an encoder or decoder that is being opened: CUDA if it is
 * wanted or AUTO, then the CPU if it is wanted or AUTO. `open` opens one for `codec`; false: it
 * failed, with a reason. Why AUTO did not take CUDA is left in *why_cpu. */
bool cj2k_backend_choose(Cj2kBackendKind wanted, bool has_cuda,
                         bool (*open)(void *codec, Cj2kBackendKind kind, Cj2kError *error),
                         void *codec, Cj2kError *why_cpu, Cj2kError *error);

/* backend_memory.c: cj2k_decoder_alloc and cj2k_encoder_alloc for any back end; one without picture
 * memory gets ordinary memory. */
void *cj2k_memory_alloc(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                        size_t size);
void cj2k_memory_free(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                      void *memory);

typedef struct Cj2kDecodeBackend {
  const char *name; /* "cpu", "cuda" */
  /* Opens the back end for a decoder, whose threads it may use until close. Returns NULL and fills
   * *error if it cannot be used on this machine. */
  void *(*open)(const Cj2kDecoderParams *params, Cj2kThreads *threads, Cj2kError *error);
  void (*close)(void *backend);
  Cj2kDecodeSlot *(*slot_new)(void *backend, Cj2kError *error);
  void (*slot_free)(void *backend, Cj2kDecodeSlot *slot);
  /* Optional, both or neither: a frame begins with this slot, and will be written to `picture`; the
   * frame has ended, whatever became of it. */
  void (*prepare)(void *backend, Cj2kDecodeSlot *slot, const Cj2kPicture *picture);
  void (*finish)(void *backend, Cj2kDecodeSlot *slot);
  /* Optional: devices that have failed. */
  uint32_t (*lost)(void *backend);
  /* Optional: from now on so many frames are in flight. There is no slot. */
  void (*set_in_flight)(void *backend, uint32_t frames_in_flight);
  /* Optional, both or neither. prefetch() announces a codestream whose packets the core is about to
   * read, so that the back end can copy it meanwhile. It is followed by start() with the same
   * codestream, or by abandon(), after which the back end must not read it any more. */
  void (*prefetch)(void *backend, Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size);
  void (*abandon)(void *backend, Cj2kDecodeSlot *slot);
  /* CJ2K_ERROR_UNSUPPORTED: the CPU back end has to do this frame, which counts as a fallback. */
  Cj2kStatus (*start)(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                      Cj2kError *error);
  Cj2kStatus (*wait)(void *backend, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                     Cj2kError *error);
  /* Optional, both or neither: a frame whose packets come in parts. begin_parts() takes the place
   * of start(), with no code-block yet in job->coded. Each add_parts() adds the code-blocks of
   * `count` precincts, of each of which one packet is given, and writes all rows of the picture for
   * which that suffices: *rows of them from the top, counted on the reference grid (see
   * Cj2kRowsReady). Both return when their work is done; job->coded is not needed afterwards.
   * Code-blocks that are not there yet are not zeros but missing: their rows are not written.
   * wait() gives the result so far. An error means that the frame must begin anew.
   *
   * few_parts: a call of add_parts() costs more than its code-blocks. It should come only when rows
   * of the picture have become possible, and at the end. With `rows` NULL it returns when its work
   * has begun: the next call, with or without precincts, waits for that, and so does wait().
   * is_busy(): whether it would have to. */
  Cj2kStatus (*begin_parts)(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                            Cj2kError *error);
  Cj2kStatus (*add_parts)(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                          const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                          Cj2kError *error);
  bool few_parts;
  bool (*is_busy)(void *backend, Cj2kDecodeSlot *slot); /* with few_parts only */
  Cj2kBackendMemory memory;
} Cj2kDecodeBackend;

/*
 * The core calls the back end in steps and takes its rate decisions between them. All steps of a
 * frame use one slot. Each step is called after wait() for the step before has returned, not always
 * from the same thread.
 *
 * transform: unpacks samples and applies the component transform and all levels of the DWT. The
 * coefficients stay in the slot without being quantised, so that the next steps can be repeated
 * with other step sizes.
 *
 * measure: HT only. Finds the exact cleanup lengths and the distortions of every block (or of every
 * `stride`-th one) at some bit-planes, with given step sizes. No coded bytes are written. Or only
 * estimates what all blocks take at plane 0, which costs hardly any time.
 *
 * code: codes the blocks. MQ: every pass of every bit-plane, and the hulls if the core still has to
 * decide which passes are retained. HT: one HT set at the chosen plane; blocks whose choice and
 * step sizes have not changed since the last code() of this frame keep their bytes. The block
 * records go to the host; so do the bytes, unless gather() fetches them.
 *
 * gather: MQ only, after code(). Copies the retained bytes to the host. It may be repeated with
 * other lengths.
 *
 * place: after code() has left the bytes to it, once the layout of the codestream is final. Brings
 * them to the host, each to its place in the codestream, so that the host has to write headers
 * only. After a code() that says makes_packets the layout may be left to it, too: it makes the
 * packet headers, and the host gets the sizes of packets.
 */
typedef struct Cj2kEncodeSlot Cj2kEncodeSlot;

/* The HT choice for one block: a cleanup pass at `plane`, and `passes` passes in all, 1..3 (0: the
 * block is left out). */
typedef struct {
  uint8_t plane;
  uint8_t passes;
} Cj2kHtChoice;

/* What each step is given. */
typedef struct {
  const Cj2kLayout *layout;
  const Cj2kPicture *picture;
  bool rgb_to_xyz;
  Cj2kTransfer xyz_transfer; /* the same for all frames of a back end object, like the following */
  double hlg_peak;           /* CJ2K_TRANSFER_HLG, only where converts_hlg is set */
  Cj2kPrimaries xyz_primaries; /* likewise */
} Cj2kTransformJob;

typedef struct {
  const Cj2kFrameQuantiser *quantisers; /* per band of the plan */
  uint32_t stride; /* only blocks b with b % stride == 0 are measured (1: all); the results of the
                      others are 0, or anything if code() has measured them as likely */
  uint8_t first_plane; /* lengths are measured at planes first_plane .. first_plane + num_planes - 1
                        */
  uint8_t num_planes;
  const uint32_t *blocks; /* only these are measured, num_blocks of them (stride 1); NULL: all. Only
                             where takes_ht_blocks is set, and without band_errors */
  uint32_t num_blocks;
  bool distortions;   /* fill ht_distortions too */
  bool band_errors;   /* fill band_errors too */
  uint32_t quad_rows; /* nothing is measured, but an estimate is made from one in so many rows of
                         quads of all blocks; a power of two. 0: not */
} Cj2kMeasureJob;

typedef struct Cj2kAheadJob Cj2kAheadJob;

typedef struct {
  const Cj2kFrameQuantiser *quantisers; /* per band of the plan */
  uint32_t stride; /* MQ: only blocks b with b % stride == 0 are coded (1: all); the results of the
                      others stay empty */
  uint8_t lowest_plane;   /* MQ: planes below this one are not coded */
  const double *weights;  /* MQ: weight of a unit of distortion in each band; NULL: hulls are not
                             needed */
  bool pass_lengths;      /* MQ: fill passes */
  bool header_bits;       /* MQ, with pass_lengths and without weights: all passes are going to be
                             retained, in one layer. header_bits may be filled in place of passes */
  const uint32_t *blocks; /* only these are coded, num_blocks of them (stride 1), and only their
                             results are valid then; NULL: all. Only where takes_ht_blocks or
                             takes_mq_blocks is set */
  uint32_t num_blocks;
  const Cj2kHtChoice *choices;    /* HT: choice for each block; NULL: plane 0 and the cleanup pass
                                     only, for all blocks */
  const Cj2kEstimateRange *range; /* HT, all blocks at plane 0: estimates what they take, with
                                     several steps if that follows from it. If it is out of range,
                                     the blocks need not be coded, and of the results only the
                                     estimates are valid. Else, if the range has ratios, blocks are
                                     coded, and what is likely and ahead done, with the quantisers
                                     and weights of the base that is chosen. NULL: does not */
  const Cj2kStepRule *rules;      /* per band of the plan, with a range that has ratios */
  bool may_place; /* the bytes may be left to place(): the host does not read them. The same for all
                     steps of a frame */
  bool packet_sizes; /* all blocks: packet_sizes may be filled, with all passes in the only layer.
                        MQ: if place() can make the packets, then in place of all results for
                        blocks, which are not valid. MQ with weights: they are not made, but place()
                        may be asked for packets of retained passes */
  const Cj2kMeasureJob *likely; /* HT: what the next step is likely to measure, of all blocks or of
                                   a stride, with these quantisers. The back end may do so at once,
                                   so that the host waits once for both; NULL: not known */
  const Cj2kAheadJob *ahead;    /* HT; MQ, with weights: what place() is likely to be asked for
                                   afterwards. The back end may do that at once as well; NULL: not
                                   known */
} Cj2kCodeJob;

typedef struct {
  const uint32_t *retained_lengths; /* bytes to retain of each block, from its first byte on; NULL:
                                   all, only if no others were requested since code() */
} Cj2kGatherJob;

/* HT: blocks that are coded again, each into the room that it has. */
typedef struct {
  const Cj2kHtChoice *choices; /* per block; plane 0 and one pass: it stays as it is */
  const uint32_t *lengths; /* per block: its bytes, as measured; no more than it had. If it takes
                              others, it counts as unlike in the result */
} Cj2kAgainJob;

/* MQ: the passes of each block that are in packets. */
typedef struct {
  const uint8_t *passes;   /* per block */
  const uint32_t *lengths; /* per block: their bytes */
} Cj2kRetainJob;

typedef struct {
  const Cj2kRetainJob *retain; /* with `packets`, after code() with weights; NULL: all passes */
  bool cut; /* in place of `retain` or `again`: as code() has cut them, if its result says so. The
               rest of the job must be as it was foreseen */
  const Cj2kAgainJob *again; /* before all else; only if the last code() was for all blocks, at
                                plane 0, with the quantisers of this frame, and keeps_room was set;
                                NULL: none */
  const Cj2kByteRun *runs;   /* `from` as in the offsets of the records of code() */
  uint32_t num_runs;
  const Cj2kPacketSteps *packets; /* in place of runs, after makes_packets: all packets with their
                                     headers and blocks, in one layer */
  uint8_t *out;                   /* the codestream. NULL: blocks are coded again, no more */
  bool pinned;                    /* `out` is pinned, so that kernels may write there */
  uint64_t size; /* its bytes; with `packets` as many as it may have. Those that are in no run, or
                    packet, have any value afterwards */
} Cj2kPlaceJob;

/*
 * place() as rate control is likely to ask for it.
 *
 * HT: when all blocks have been coded at plane 0, it depends on the size of the codestream that
 * they make:
 *
 *  - between `least` and `budget`: all blocks stay as they are;
 *  - above, up to `most`: the blocks that `likely` measures at planes 0 and 1 are cut as
 *    cj2k_fit_first (rate/fit.h) does it, to the budget less the headers of that codestream and
 *    `margin`. Without `likely`, `most` is `budget`;
 *  - else nothing is known.
 *
 * If the back end has cut blocks, it says so (`cut_ahead`), and rate control takes that, if the
 * codestream has enough bytes. Of a frame that stays whole it decides itself; if place() is then
 * asked for the same, it is done, else the back end does what it is asked for.
 *
 * MQ: if all passes together have more bytes than `budget`, they are cut as cj2k_fit_first does it
 * with the headers of an earlier frame, `header_bytes`. If that is enough for `least`, rate control
 * takes it as it is, and gets Cj2kPassCut in place of what it would decide from.
 */
struct Cj2kAheadJob {
  uint64_t least, budget, margin; /* bytes */
  uint64_t most;                  /* HT */
  uint64_t header_bytes;          /* MQ */
  uint64_t empty_bytes;           /* MQ: of a codestream without any block */
  Cj2kPlaceJob place; /* with packets; `again`, or what is retained, follows from the above */
};

/* MQ: how the back end has cut a frame. */
typedef struct {
  uint32_t slope;        /* of the cut, at least 1 */
  uint64_t header_bytes; /* those for which it left room */
  uint64_t all;          /* bytes of all passes that save anything */
  const uint64_t *bands; /* per band: bytes of passes above the slope, without those that fill up */
} Cj2kPassCut;

/* The results of a step. The arrays belong to the slot and are valid until its next step; those of
 * code() stay valid after measure(), gather() and place(); gather() changes the offsets in
 * `blocks`.
 */
typedef struct {
  Cj2kEncodedBlock *blocks; /* code: one for each block of the plan; NULL: packet_sizes, only */
  Cj2kPassLength *passes;   /* code: indexed by first_pass; MQ: only with pass_lengths */
  const uint32_t *lengths;  /* code: those of `blocks`, side by side; NULL: only there */
  uint32_t *header_bits;    /* code: what packet headers say of the passes, in place of them
                               (codestream/header_bits.h), indexed by first_pass; NULL: not made */
  Cj2kHullPoint *points;    /* code with weights: indexed by first_point */
  Cj2kSlopeSums slopes; /* code with weights: sums over all points; `bytes` is NULL if the back end
                           has not summed them */
  const Cj2kPassCut *cut; /* code, with `ahead`: place() with `cut` does the rest. `blocks`,
                             `passes`, `points` and `slopes` are not there then, and the codestream
                             may still be written until place() is done. NULL: not cut */
  bool cut_ahead; /* code, HT, with `ahead`: blocks have been cut as foreseen, after the records
                     were made, or are being cut, if the codestream exceeds the budget; place() with
                     `cut` does the rest */
  const uint8_t *bytes; /* code or gather: bytes of all blocks, in host memory */
  bool placed;          /* code: the bytes are left to place(), there is no gather() */
  bool keeps_room;    /* code, HT: place() can code blocks again, each into the room that it has */
  bool makes_packets; /* code: place() can make the packets */
  const Cj2kPacketSize *packet_sizes; /* code, with packet_sizes; place, with `packets`: by
                                         precinct. NULL: not made, because a header is longer than
                                         any is expected, all packets do not fit into `size`, or
                                         `cut` is not what the back end did in the end */
  uint32_t *ht_lengths;               /* measure: [block][num_planes] exact cleanup bytes */
  uint64_t *ht_distortions; /* measure: [block][num_planes] decrease of the block's squared error,
                               in (step/16)^2, as cj2k_ht_cleanup_distortion defines it */
  uint64_t
      *band_errors; /* measure: squared quantisation error of each band at plane 0 in (step/1024)^2,
                       against the unquantised coefficients: e = q ? trunc ((t - q - 0.5f) *
                       1024.0f) : trunc (t * 1024.0f), t = |v| * inv_scale in fp32, sum of e^2 */
  /* measure with quad_rows (one), code with `range` (as many as follow from it): what the rows of
   * quads take at plane 0, in sixteenths of a bit (shared/ht_estimate.h) */
  uint64_t estimates[CJ2K_MOST_ESTIMATES];
  uint64_t saturated; /* coefficients clipped to Mb bit-planes; not what code() has measured as
                         likely, because it has counted them itself */
  uint64_t unlike;    /* place: blocks that were not as long as measured */
  double ms_transform, ms_block_coder; /* of this step */
} Cj2kEncodeResult;

typedef struct Cj2kEncodeBackend {
  const char *name;
  bool takes_ht_blocks; /* measure() and code() take lists of HT blocks */
  bool takes_mq_blocks; /* code() takes lists of MQ blocks */
  bool rows_at_once;    /* a call of transform_rows() costs more than its rows: it should get all
                           that are there, not only those that are needed next. And a call of code()
                           with a list costs more than some blocks: it should have those of several
                           slices, if they are there */
  bool converts_hlg;    /* transform() knows CJ2K_TRANSFER_HLG */
  /* `plan` and `threads` are used until close: the back end takes a reference to the plan, and the
   * threads are the encoder's, for work on the host. */
  void *(*open)(const Cj2kEncoderParams *params, Cj2kPlan *plan, Cj2kThreads *threads,
                Cj2kError *error);
  void (*close)(void *backend);
  Cj2kEncodeSlot *(*slot_new)(void *backend, Cj2kError *error);
  void (*slot_free)(void *backend, Cj2kEncodeSlot *slot);
  /* Each step starts work and may return before it is done; wait() returns when the results are on
   * the host. CJ2K_ERROR_UNSUPPORTED from transform: the CPU back end has to do this frame, which
   * counts as a fallback. */
  Cj2kStatus (*transform)(void *backend, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                          Cj2kError *error);
  /* Optional. In place of transform() for a picture whose rows come one after the other: they are
   * there up to `rows`, counted on the reference grid from the top of the picture, and the last
   * call for this frame was for `done` of them (0: the frame begins). Makes all coefficients that
   * these rows determine (common/codestream/plan_rows.h). The steps for lists of code-blocks may
   * come in between. */
  Cj2kStatus (*transform_rows)(void *backend, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                               uint32_t done, uint32_t rows, Cj2kError *error);
  Cj2kStatus (*measure)(void *backend, Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                        Cj2kError *error);
  Cj2kStatus (*code)(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, Cj2kError *error);
  /* Optional. NULL: code() delivers all bytes. */
  Cj2kStatus (*gather)(void *backend, Cj2kEncodeSlot *slot, const Cj2kGatherJob *job,
                       Cj2kError *error);
  /* Optional, with memory.pin. NULL: code() or gather() delivers the bytes. */
  Cj2kStatus (*place)(void *backend, Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job,
                      Cj2kError *error);
  Cj2kStatus (*wait)(void *backend, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                     Cj2kError *error);
  /* Optional. The frame that uses this slot has ended, whatever became of it. */
  void (*finish)(void *backend, Cj2kEncodeSlot *slot);
  /* Optional. After CJ2K_ERROR_DEVICE: can another device do the frame, from transform() on? */
  bool (*recover)(void *backend, Cj2kEncodeSlot *slot);
  /* Optional: devices that have failed. */
  uint32_t (*lost)(void *backend);
  /* Optional: from now on so many frames are in flight. There is no slot. */
  void (*set_in_flight)(void *backend, uint32_t frames_in_flight);
  Cj2kBackendMemory memory;
} Cj2kEncodeBackend;

const Cj2kDecodeBackend *cj2k_cpu_decode_backend(void);
const Cj2kEncodeBackend *cj2k_cpu_encode_backend(void);
/* NULL in a build without CUDA. */
const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void);
const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void);

#endif
