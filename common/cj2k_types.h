/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file
 * What the encoder and the decoder of cj2k.h have in common: results, images, pictures and where
 * their samples lie in memory, back ends, tracing and statistics.
 */
#ifndef CJ2K_TYPES_H
#define CJ2K_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CJ2K_API
#define CJ2K_API __attribute__((visibility("default")))
#endif

#define CJ2K_MAX_COMPONENTS 16384 /**< T.800 A.5.1, Csiz */
#define CJ2K_MAX_LEVELS     32    /**< T.800 A.6.1, NL */
#define CJ2K_UNIT_SAMPLES   6     /**< most samples of one component in a unit of a layout */
#define CJ2K_MAX_PLANES     4     /**< most planes of a packed or planar video layout */
#define CJ2K_MAX_IN_FLIGHT  64    /**< most frames that a codec works on at once */

/** @name Results
 * @{ */

/** How a call or a frame ended. */
typedef enum {
  CJ2K_OK = 0,            /**< done */
  CJ2K_ERROR_ARGUMENT,    /**< the caller's parameters contradict each other or the image */
  CJ2K_ERROR_CODESTREAM,  /**< the bytes break T.800 / T.814: nothing of this frame can be used */
  CJ2K_ERROR_UNSUPPORTED, /**< valid, but not implemented; the text names the feature */
  CJ2K_ERROR_LIMIT,  /**< the frame needs more memory or time than max_memory and max_time allow */
  CJ2K_ERROR_MEMORY, /**< an allocation failed */
  CJ2K_ERROR_DEVICE, /**< the GPU failed or is not usable; the text says why */
  CJ2K_END,          /**< a receive function: no frame is in flight */
} Cj2kStatus;

/** Why and where a call or a frame failed. */
typedef struct {
  Cj2kStatus code; /**< CJ2K_OK if nothing failed */
  uint16_t marker; /**< marker segment that was being read or written (0xFF51 is SIZ), 0 if none */
  uint64_t offset; /**< byte offset in the submitted data, meaningful for CJ2K_ERROR_CODESTREAM */
  char text[240];  /**< one sentence, no newline */
} Cj2kError;

/** The name of a status in plain words, such as "broken codestream"; never NULL. */
CJ2K_API const char *cj2k_status_name(Cj2kStatus status);
/** The version of the library that is loaded, such as "0.2.0". */
CJ2K_API const char *cj2k_version(void);

/** @} */

/** @name Images
 * @{ */

/** One component (T.800 B.2): its samples cover [x0,x1) x [y0,y1) of the component's own grid. */
typedef struct {
  uint32_t x0;    /**< first column: ceil(XOsiz / XRsiz) */
  uint32_t y0;    /**< first row: ceil(YOsiz / YRsiz) */
  uint32_t x1;    /**< one past the last column: ceil(Xsiz / XRsiz) */
  uint32_t y1;    /**< one past the last row: ceil(Ysiz / YRsiz) */
  uint8_t dx;     /**< horizontal sub-sampling: XRsiz */
  uint8_t dy;     /**< vertical sub-sampling: YRsiz */
  uint8_t depth;  /**< bits per sample, 1..38 */
  bool is_signed; /**< samples are signed, in two's complement */
} Cj2kComponent;

/** Colour space of an image: enumerated by the colr box (T.800 I.5.3.3), or implied by the profile.
 */
typedef enum {
  CJ2K_COLOUR_UNKNOWN = 0, /**< not stated, as in a codestream without boxes */
  CJ2K_COLOUR_SRGB,        /**< enumerated 16 */
  CJ2K_COLOUR_GREY,        /**< enumerated 17 */
  CJ2K_COLOUR_SYCC,        /**< enumerated 18: Y'CbCr */
  CJ2K_COLOUR_XYZ,         /**< X'Y'Z', implied by a cinema profile in Rsiz */
  CJ2K_COLOUR_OTHER,       /**< another enumeration or an ICC profile: see colour_enum, icc */
} Cj2kColour;

/** Colours by code points of Rec. ITU-T H.273 (CICP): the parameterised method of the colr box of a
 * file. */
typedef struct {
  uint16_t primaries; /**< ColourPrimaries, such as 1: BT.709, 9: BT.2020; 0: nothing is stated */
  uint16_t transfer;  /**< TransferCharacteristics, such as 1: BT.709, 16: PQ, 18: HLG */
  uint16_t matrix;    /**< MatrixCoefficients: 0: R'G'B' or X'Y'Z', 1: BT.709, 9: BT.2020 */
  bool full_range;    /**< VideoFullRangeFlag */
} Cj2kCicp;

/** What a channel is, in a channel definition box (JP2 cdef, T.800 I.5.3.6). */
enum {
  CJ2K_CHANNEL_COLOUR = 0,          /**< a colour channel */
  CJ2K_CHANNEL_OPACITY = 1,         /**< opacity (alpha) */
  CJ2K_CHANNEL_PREMULTIPLIED = 2,   /**< opacity by which the colours have been multiplied */
  CJ2K_CHANNEL_UNSPECIFIED = 65535, /**< something else */
};

/** What a channel means (JP2 cdef box, T.800 I.5.3.6); without the box channel i is colour i+1. */
typedef struct {
  uint16_t type;        /**< CJ2K_CHANNEL_* */
  uint16_t association; /**< 0: the whole image; 1 and up: the number of a colour; 65535: nothing */
} Cj2kChannel;

/** An image as its header describes it. The arrays belong to the decoder: those from
 * cj2k_decoder_read_header are valid until its next call or cj2k_decoder_close, those of a
 * Cj2kFrame until cj2k_decoder_release. */
typedef struct {
  uint32_t x0;             /**< first column of the image area on the reference grid: XOsiz */
  uint32_t y0;             /**< first row: YOsiz */
  uint32_t x1;             /**< one past the last column: Xsiz */
  uint32_t y1;             /**< one past the last row: Ysiz */
  uint32_t num_components; /**< number of entries in components and in channels */
  const Cj2kComponent *components; /**< after `reduce` and after palette and component mapping */
  const Cj2kChannel *channels;     /**< num_components entries */
  Cj2kColour colour;               /**< colour space */
  uint32_t colour_enum;            /**< EnumCS of the colr box, 0 if there is none */
  const uint8_t *icc; /**< restricted ICC profile of the colr box, NULL if there is none */
  size_t icc_size;    /**< size of icc in bytes */
  Cj2kCicp cicp;      /**< code points of the colr box; they are more exact than `colour` */
  uint16_t rsiz;      /**< Rsiz, the capabilities that a decoder needs (T.800 A.5.1) */
  bool is_ht;         /**< HT code-blocks may occur (CAP marker segment, T.814) */
  bool reversible;    /**< every tile-component uses the 5/3 filter */
  bool mct; /**< the main header turns the component transform (RCT or ICT) on, so that components 0
               to 2 are RGB or XYZ */
  uint8_t num_levels;  /**< the smallest number of decomposition levels of any tile-component, which
                          is the largest `reduce` that works */
  uint16_t num_layers; /**< number of quality layers */
  uint32_t num_tiles;  /**< number of tiles */
} Cj2kImage;

/** @} */

/** @name Where samples lie in memory
 * @{ */

/**
 * Where the samples of one component lie in a row. A row is a run of units of `unit_bytes`. Each
 * unit holds `unit_samples` samples of this component, sample j in bits [shift, shift+depth) of the
 * word of `word_bytes` at byte `offset`. This describes planar and packed formats alike: planar 16
 * bit (units of 2 bytes with one word), UYVY (units of 4 bytes with luma at 1 and 3), v210 (units
 * of 16 bytes with words of 4), UYVP (units of 5 bytes with big-endian words of 2 at 0, 1, 2 and
 * 3), r210 (big-endian words of 4).
 */
typedef struct {
  uint16_t plane;       /**< plane of the picture that holds the samples */
  uint8_t unit_bytes;   /**< bytes from one unit to the next */
  uint8_t unit_samples; /**< samples of this component in a unit, 1..CJ2K_UNIT_SAMPLES */
  uint8_t word_bytes;   /**< bytes of a word: 1, 2 or 4 */
  bool big_endian;      /**< byte order of the words */
  bool is_signed; /**< two's complement, sign-extended to word_bytes; only with shift 0 and one
                     sample per word */
  uint8_t depth;  /**< bits of a sample in this layout, 1..32 */
  struct {
    uint8_t offset;        /**< byte of the unit at which the word begins */
    uint8_t shift;         /**< bit of the word at which the sample begins */
  } at[CJ2K_UNIT_SAMPLES]; /**< where each sample of the unit lies */
} Cj2kSampleLayout;

/** Where the samples of all components lie in the planes of a picture. */
typedef struct {
  uint32_t num_components; /**< components of the layout: 1..4 for video, any number for planar */
  uint32_t num_planes;     /**< planes of a picture */
  const Cj2kSampleLayout *samples; /**< num_components entries */
  /** What a decoder writes into bits that belong to no component (the x of xRGB, padding in place
   * of alpha). It repeats every four bytes of a unit, least significant byte first. A component of
   * the layout that the image does not have (alpha) is filled with its maximum. */
  uint32_t fill;
} Cj2kLayout;

/** The kind of memory that a picture lies in. */
typedef enum {
  CJ2K_MEMORY_HOST = 0, /**< ordinary memory */
  CJ2K_MEMORY_PINNED, /**< page-locked host memory: the GPU copies to and from it asynchronously */
  CJ2K_MEMORY_CUDA,   /**< memory of the back end's device */
} Cj2kMemoryKind;

/** One plane of a picture. */
typedef struct {
  void *data;   /**< first row */
  size_t pitch; /**< bytes from one row to the next */
  /** Bytes of a row that may be accessed, if those up to the next row belong to something else
   * (such as rows of the other field); 0: all of pitch. The last unit of a row is written up to
   * this limit. */
  size_t row_bytes;
} Cj2kPlane;

/**
 * A picture. The x1-x0 by y1-y0 samples of component c begin at the start of the plane that the
 * layout names.
 *
 * cuda_stream is a CUstream on which the caller works with the planes. It is allowed with
 * CJ2K_MEMORY_CUDA only and is an error with host memory. It orders the caller's work and the back
 * end's work on the GPU, so that no thread has to wait:
 *   - the planes are read or written after everything that was queued on the stream before the
 *     picture was submitted;
 *   - a decoded picture is complete for everything that is queued on the stream after
 *     cj2k_decoder_receive. That call may return while samples are still being written, so whoever
 *     reads them in any other way waits for the stream first (cuStreamSynchronize, or an event).
 *
 * NULL: the caller has no work under way on the planes when it submits the picture, and
 * cj2k_decoder_receive returns when the picture is complete. The handle of a default stream is
 * CU_STREAM_LEGACY or CU_STREAM_PER_THREAD. The stream must be one of the context that the encoder
 * or decoder works in. It stays the caller's, who may destroy it once the frame was received. The
 * back end only records events on it and makes it wait for events.
 */
typedef struct {
  Cj2kMemoryKind memory; /**< kind of memory of all planes */
  uint32_t num_planes;   /**< number of entries in planes */
  Cj2kPlane *planes; /**< num_planes entries; the array is the caller's and must stay valid until
                        the frame was received */
  void *cuda_stream; /**< see above; NULL: none */
} Cj2kPicture;

/** Fills *layout with the planar little-endian layout of an image: 1, 2 or 4 bytes per sample by
 * depth, two's complement if signed. `samples` has room for image->num_components entries, and the
 * layout points to it. The smallest pitch of plane c is (x1-x0)*bytes. */
CJ2K_API void cj2k_layout_planar(const Cj2kImage *image, Cj2kSampleLayout *samples,
                                 Cj2kLayout *layout);

/** @} */

/** @name Back ends, tracing and statistics
 * @{ */

/** The back end that transforms and codes. */
typedef enum {
  CJ2K_BACKEND_AUTO = 0, /**< CUDA if a GPU is usable, else the CPU */
  CJ2K_BACKEND_CPU,      /**< threads on the CPU */
  CJ2K_BACKEND_CUDA,     /**< an NVIDIA GPU; opening fails if none is usable */
} Cj2kBackendKind;

/**
 * Called for each operation of a stream of the GPU, with its begin and end in milliseconds since
 * the encoder or decoder was opened. `stage` names the operation: "upload", "download", "copy" or a
 * group of kernels. The time of a copy may include waiting for the bus. Calls come from any thread,
 * from several at once, and before the frame is received. Other codecs use these threads as well:
 * what the function changes of the thread, such as the current device, it must restore.
 */
typedef void (*Cj2kTrace)(void *user, uint32_t stream, const char *stage, double begin_ms,
                          double end_ms);

/**
 * Finds the least loaded of some GPUs (as cuda_devices names them; NULL: all) and counts it as if
 * one more codec worked on it, until cj2k_device_release. So that several who choose before they
 * open their codecs do not all choose the same. Returns its number for cuda_device; -1: there is no
 * such GPU, and *error says why. It makes no context. May be called from any thread.
 */
CJ2K_API int cj2k_device_reserve(const char *devices, Cj2kError *error);
/** Ends a reservation. -1 does nothing. */
CJ2K_API void cj2k_device_release(int device);

/** Whether the components of a frame have CUDA streams of their own. Samples and bytes are the
 * same.
 */
typedef enum {
  CJ2K_COMPONENT_STREAMS_AUTO = 0, /**< what is faster, as measured: OFF in all cases */
  CJ2K_COMPONENT_STREAMS_ON,       /**< one for each of the first three and one for all others; they
                                      join for a component transform and for planes of several
                                      components */
  CJ2K_COMPONENT_STREAMS_OFF, /**< no component has one: a frame has one stream or, with one frame
                                 in flight to host memory, some for slices of rows */
} Cj2kComponentStreams;

/** Sums since an encoder or decoder was opened. */
typedef struct Cj2kStats {
  uint64_t frames;         /**< frames received, whatever their status */
  uint64_t failed_frames;  /**< of these, frames whose status was not CJ2K_OK */
  uint64_t corrupt_blocks; /**< code-blocks that could not be decoded and became zeros */
  uint64_t fallbacks;      /**< frames that the CPU back end did because the chosen one could not */
  uint64_t bytes;          /**< bytes of codestreams */
  uint32_t frames_in_flight; /**< frames worked on at once: as many as were requested, or fewer if
                                memory ran out; the other frames in flight wait for these */
  uint32_t devices;          /**< GPUs in use: those that were opened and have not failed */
  double ms_header;      /**< reading headers: milliseconds of the wall clock, summed over frames */
  double ms_packets;     /**< reading or writing packets */
  double ms_block_coder; /**< coding blocks */
  /** Transforms, and unpacking or packing of samples. Decoded pictures with a cuda_stream do not
   * count: they are handed out before their time is known. */
  double ms_transform;
  double ms_total;            /**< from submit to receive */
  uint64_t concealed_frames;  /**< decoded frames of which packets were missing or incomplete */
  uint64_t concealed_packets; /**< such packets */
  uint64_t
      concealed_blocks;     /**< code-blocks of the precincts of such packets: they may lack data */
  uint64_t restored_blocks; /**< code-blocks that took the place of missing ones (`conceal`) */
  uint64_t limited_frames;  /**< encoded frames that a ceiling made smaller than `quality`, `psnr`,
                               `quant_step` or an average would have made them */
  uint64_t average_bytes;   /**< bytes of a frame at average_bitrate; 0: there is none */
  uint64_t bucket_bytes;    /**< average_bytes times average_window: what the bucket holds */
  uint64_t bucket_level;    /**< what is in it after the last frame: half of it at the average */
  uint64_t redone_frames;   /**< frames that a GPU lost and another one did again */
  uint64_t lost_devices;    /**< GPUs that were opened and have failed since, also while memory for
                               frames was made; a sum over codecs counts failures */
} Cj2kStats;

/** @} */

#ifdef __cplusplus
}
#endif
#endif
