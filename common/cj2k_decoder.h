/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file
 * The decoder of cj2k.h: its parameters, frames as a whole and in parts.
 */
#ifndef CJ2K_DECODER_H
#define CJ2K_DECODER_H

#include "cj2k_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Decoder
 * @{ */

/** A decoder, created by cj2k_decoder_open. */
typedef struct Cj2kDecoder Cj2kDecoder;

/** What a decoder does about packets that are missing or incomplete. */
typedef enum {
  CJ2K_CONCEAL_ZERO = 0, /**< code-blocks without data are zeros */
  CJ2K_CONCEAL_NONE,     /**< the frame is an error */
  /** Code-blocks of the lowest resolutions are those of the frame before, if most of the others are
   * like those of the frame before; else they are zeros. */
  CJ2K_CONCEAL_PREVIOUS,
} Cj2kConcealKind;

/** Parameters of a decoder; cj2k_decoder_params_init fills in defaults. */
typedef struct {
  Cj2kBackendKind backend; /**< back end that decodes */
  /** -1: the least loaded, by codecs of this process, utilisation and free memory. A caller whose
   * pictures are in the memory of a GPU names that GPU. */
  int cuda_device;
  /** GPUs of which each frame takes the one with the fewest frames in flight: "all", or numbers and
   * UUIDs with commas between them, as "0,1". A picture in the memory of one of them stays there.
   * If one fails, its frames are done again by the others, and it is used no more. NULL:
   * cuda_device alone; otherwise cuda_device only says whose cuda_context is. Only read while
   * opening. */
  const char *cuda_devices;
  uint32_t num_threads;      /**< threads of the process, which all codecs share, that may work for
                                this one at a time; 0: as many as there are cores, and on a GPU
                                a few of them, where more are not faster */
  uint32_t frames_in_flight; /**< 1..CJ2K_MAX_IN_FLIGHT; 0: 2; cj2k_decoder_open refuses more */
  uint8_t reduce;            /**< highest resolutions to discard; each halves width and height */
  uint16_t max_layers;       /**< quality layers to decode; 0: all */
  bool strict; /**< a truncated or corrupt codestream, or boxes that contradict it, are an error;
                  else what can be decoded is output */
  uint64_t
      max_memory; /**< bytes one frame may need; 0: the larger of 768 MiB and 256 times the input,
                     and at most 32768 resolutions of tile-components plus 8 for each byte */
  void *cuda_context;      /**< CUcontext to work in, which must be there until all codecs that have
                              it are closed; NULL: the primary context of cuda_device */
  Cj2kTrace trace;         /**< NULL: no operation is timed; the CPU back end never calls it */
  void *trace_user;        /**< first argument of trace */
  Cj2kConcealKind conceal; /**< what is done about missing packets */
  /** Milliseconds that a frame's headers may take, because a few bytes of a hostile header can
   * announce millions of tiles or packets: once for headers and the geometry that follows from them
   * (on the thread that submits), once for its packets. A frame that takes longer ends with
   * CJ2K_ERROR_LIMIT. 0: no limit. */
  uint32_t max_time;
  /** With one frame in flight on a GPU: threads spin while they wait for it, all threads help a
   * frame, and it is copied and coded in pieces, for which a frame takes some tenths of a
   * millisecond less and several times the processor time. Threads that spin are never more than
   * the codecs and three quarters of the cores, and none do while the process has more codecs on
   * GPUs than a quarter of its cores. Without it threads sleep. Samples and bytes are the same. */
  bool low_latency;
  Cj2kComponentStreams component_streams; /**< CUDA only */
} Cj2kDecoderParams;

/** Fills *params with defaults: cuda_device is -1, frames_in_flight 2, all else 0. */
CJ2K_API void cj2k_decoder_params_init(Cj2kDecoderParams *params);
/** Sets a parameter from text, under the name that it has in the tools and the element, in the same
 * way as cj2k_encoder_params_set. For "cuda-devices" params->cuda_devices points to `value` itself
 * afterwards. */
CJ2K_API Cj2kStatus cj2k_decoder_params_set(Cj2kDecoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/** Opens a decoder. Returns NULL and fills *error if the parameters are invalid, CJ2K_BACKEND_CUDA
 * finds no usable GPU, or memory runs out. */
CJ2K_API Cj2kDecoder *cj2k_decoder_open(const Cj2kDecoderParams *params, Cj2kError *error);
/** Waits for frames in flight, drops the one that was begun, if any, and frees everything. NULL is
 * allowed. */
CJ2K_API void cj2k_decoder_close(Cj2kDecoder *decoder);
/** The back end in use, never CJ2K_BACKEND_AUTO. */
CJ2K_API Cj2kBackendKind cj2k_decoder_backend(const Cj2kDecoder *decoder);
/** Why CJ2K_BACKEND_AUTO took the CPU: one sentence about the GPU, valid until the decoder is
 * closed. NULL if it did not take the CPU, or if the library was built without CUDA. */
CJ2K_API const char *cj2k_decoder_why_cpu(const Cj2kDecoder *decoder);

/**
 * Reads the main header (or JP2/JPH boxes and main header) of `data` without decoding, so that the
 * caller can choose a layout and allocate pictures. *image stays valid until the next call of this
 * function or cj2k_decoder_close. The call is cheap if the header has not changed. It belongs to
 * the thread that submits.
 */
CJ2K_API Cj2kStatus cj2k_decoder_read_header(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                             Cj2kImage *image, Cj2kError *error);

/**
 * Submits one codestream or JP2/JPH file. Blocks while frames_in_flight frames are in flight.
 * `data` and `picture` must stay untouched until the frame was received. `layout` says how samples
 * are written: values are shifted from the component's depth to that of the layout (shifted left,
 * or shifted right with rounding), and half the range is added to signed components that go to an
 * unsigned layout. It is copied. If layout and picture are NULL, the frame owns planar memory in
 * the layout of cj2k_layout_planar. Errors in the codestream are reported by cj2k_decoder_receive,
 * in the order of submission. With one frame in flight on the GPU, the calling thread also reads
 * the packets and starts the GPU, because handing that to another thread would take longer.
 */
CJ2K_API Cj2kStatus cj2k_decoder_submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                        const Cj2kLayout *layout, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

/**
 * Called when rows of a picture that comes in parts are complete: `first` to `end`, exclusive,
 * counted on the reference grid from the top of the image (after `reduce`). A component with
 * sub-sampling is complete down to the last row that begins above `end`. Ranges follow each other
 * from 0 to the height of the image. If the end of the codestream shows that something is missing
 * or damaged, all rows are decoded again and come in one range that begins at 0. No call is made
 * for a frame that fails from then on. The function must not call the decoder.
 */
typedef void (*Cj2kRowsReady)(void *rows_user, const Cj2kPicture *picture, uint32_t first,
                              uint32_t end);

/**
 * Begins a frame whose bytes come in parts, for cj2k_decoder_append and cj2k_decoder_end, which
 * belong to the thread that submits. layout, picture and user are those of cj2k_decoder_submit;
 * `rows` may be NULL. Blocks while frames_in_flight frames are in flight; the new one is in flight
 * from cj2k_decoder_end on. No other frame can be submitted before.
 *
 * Each precinct is decoded as soon as its packets are there, and each row as soon as it has the
 * precincts that it needs, so that `rows` is called from cj2k_decoder_append. With CUDA precincts
 * are decoded when rows are possible with them, and cj2k_decoder_append waits for the GPU, so that
 * the rows are in the picture then, also in device memory; without `rows` it does not wait, and
 * cj2k_decoder_end does. How many rows come before the end depends on the codestream: PCRL with
 * precincts of little height gives them one after the other, the other orders at the end. Decoding
 * as a whole, when all bytes are there, gives the same samples in all cases. It is what happens
 * with several GPUs, files with boxes, palettes, several tiles, packed packet headers, and
 * CJ2K_CONCEAL_PREVIOUS; `rows` is then called once, from cj2k_decoder_receive.
 */
CJ2K_API Cj2kStatus cj2k_decoder_begin(Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                       const Cj2kPicture *picture, void *user, Cj2kRowsReady rows,
                                       void *rows_user, Cj2kError *error);
/** Adds bytes to the frame that was begun, and decodes what they make possible on this thread and
 * those of the decoder. The bytes are copied. */
CJ2K_API Cj2kStatus cj2k_decoder_append(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                        Cj2kError *error);
/** Ends the frame, which is then received like any other. */
CJ2K_API Cj2kStatus cj2k_decoder_end(Cj2kDecoder *decoder, Cj2kError *error);
/** Forgets the frame that was begun, if there is one. */
CJ2K_API void cj2k_decoder_drop(Cj2kDecoder *decoder);

/** Tells that packets of the codestream that is submitted next were replaced by empty ones, so that
 * `conceal` counts empty packets as missing, and `strict` refuses it. For a frame in parts it may
 * be called up to cj2k_decoder_end. It belongs to the thread that submits. */
CJ2K_API void cj2k_decoder_next_is_damaged(Cj2kDecoder *decoder);

/** A frame that was decoded. */
typedef struct {
  Cj2kStatus
      status; /**< how this frame ended; CJ2K_OK also if it is damaged and was decoded in part */
  Cj2kError error; /**< the reason if status is not CJ2K_OK; with fallback, why the chosen back end
                      could not decode the frame */
  void *user;      /**< as submitted */
  Cj2kImage image; /**< the image as its header describes it; valid until cj2k_decoder_release */
  Cj2kPicture
      picture; /**< as submitted, or the frame's own planes, valid until cj2k_decoder_release */
  Cj2kLayout layout;          /**< layout of picture; valid until cj2k_decoder_release */
  uint32_t corrupt_blocks;    /**< code-blocks that could not be decoded and became zeros */
  bool truncated;             /**< packets of the codestream are missing */
  bool fallback;              /**< the CPU back end did it in place of the chosen one */
  void *priv;                 /**< for the library's own use */
  uint64_t concealed_packets; /**< packets that were missing or incomplete; truncated is set, too */
  uint64_t concealed_blocks;  /**< code-blocks of the precincts of such packets */
  uint64_t restored_blocks;   /**< code-blocks taken from the frame before (`conceal`) */
  bool redone; /**< a GPU failed, and another one did the frame again; `error` says why */
} Cj2kFrame;

/** Waits for the oldest frame in flight. CJ2K_OK: *frame was filled in, and frame->status says how
 * the frame ended. CJ2K_END: no frame is in flight; the call does not wait for one to be submitted.
 * The frame that was received is no longer in flight, and its codestream bytes and a submitted
 * picture are the caller's again. */
CJ2K_API Cj2kStatus cj2k_decoder_receive(Cj2kDecoder *decoder, Cj2kFrame *frame);
/** Frees what the frame holds: its own planes, image and layout. Release each received frame once,
 * in any order, before closing the decoder. */
CJ2K_API void cj2k_decoder_release(Cj2kDecoder *decoder, Cj2kFrame *frame);
/** Allocates memory for pictures, aligned to at least 64 bytes. PINNED is the host memory that the
 * back end copies to fastest (ordinary memory with the CPU back end), CUDA is device memory.
 * Returns NULL if memory ran out, or for CUDA without a GPU. Free it before closing the decoder. */
CJ2K_API void *cj2k_decoder_alloc(Cj2kDecoder *decoder, Cj2kMemoryKind kind, size_t size);
/** Frees what cj2k_decoder_alloc returned, with the same kind. NULL is allowed. */
CJ2K_API void cj2k_decoder_free(Cj2kDecoder *decoder, Cj2kMemoryKind kind, void *memory);
/** Changes frames_in_flight (1..CJ2K_MAX_IN_FLIGHT) from the next frame on. Called on the thread
 * that submits, while no frame is in flight and none was begun. On CJ2K_ERROR_ARGUMENT nothing has
 * changed. */
CJ2K_API Cj2kStatus cj2k_decoder_set_frames_in_flight(Cj2kDecoder *decoder, uint32_t frames,
                                                      Cj2kError *error);
/** Fills *stats. May be called from any thread. */
CJ2K_API void cj2k_decoder_get_stats(Cj2kDecoder *decoder, Cj2kStats *stats);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
