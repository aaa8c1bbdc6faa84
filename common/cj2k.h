/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file
 * cj2k: JPEG 2000 Part 1 (Rec. ITU-T T.800) and HTJ2K (Rec. ITU-T T.814), frame by frame,
 * asynchronously.
 *
 * The whole public C API. An encoder or decoder is an object with up to `frames_in_flight` frames
 * inside: a submit function hands one in, a receive function hands results out in the order of
 * submission. An object may be used from two threads at once, one that submits and one that
 * receives. Nothing here prints or exits; each call that can fail returns a Cj2kStatus and, where
 * the caller passes a Cj2kError, a sentence that names what failed and where (NULL: nobody wants to
 * know).
 */
#ifndef CJ2K_H
#define CJ2K_H

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
#define CJ2K_UNIT_SAMPLES   6     /**< of one component in a unit of a layout */
#define CJ2K_MAX_PLANES     4     /**< of a packed or planar video layout */

/** @name Results
 * @{ */

/** How a call or a frame ended. */
typedef enum {
  CJ2K_OK = 0,            /**< done */
  CJ2K_ERROR_ARGUMENT,    /**< the caller's parameters contradict each other or the image */
  CJ2K_ERROR_CODESTREAM,  /**< the bytes break T.800 / T.814: nothing of this frame can be used */
  CJ2K_ERROR_UNSUPPORTED, /**< legal, but not done here; the text names the feature */
  CJ2K_ERROR_LIMIT,       /**< would need more memory than max_memory allows */
  CJ2K_ERROR_MEMORY,      /**< an allocation failed */
  CJ2K_ERROR_DEVICE,      /**< the GPU failed or is not usable; the text says why */
  CJ2K_END,               /**< a receive function: no frame is in flight */
} Cj2kStatus;

/** Why a call or a frame failed. */
typedef struct {
  Cj2kStatus code; /**< CJ2K_OK where nothing failed */
  uint16_t marker; /**< marker segment being read or written (0xFF51 is SIZ), 0 when none */
  uint64_t offset; /**< byte offset in the submitted data, meaningful for CJ2K_ERROR_CODESTREAM */
  char text[240];  /**< one sentence, no newline */
} Cj2kError;

/** The name of a status in plain words, such as "broken codestream"; never NULL. */
CJ2K_API const char *cj2k_status_name(Cj2kStatus status);
/** The version of the library that runs, such as "0.2.0". */
CJ2K_API const char *cj2k_version(void);

/** @} */

/** @name Images
 * @{ */

/** One component (T.800 B.2): its samples cover [x0,x1) x [y0,y1) of its own grid. */
typedef struct {
  uint32_t x0;    /**< first column: ceil(XOsiz / XRsiz) */
  uint32_t y0;    /**< first row: ceil(YOsiz / YRsiz) */
  uint32_t x1;    /**< behind the last column: ceil(Xsiz / XRsiz) */
  uint32_t y1;    /**< behind the last row: ceil(Ysiz / YRsiz) */
  uint8_t dx;     /**< horizontal sub-sampling: XRsiz */
  uint8_t dy;     /**< vertical sub-sampling: YRsiz */
  uint8_t depth;  /**< bits per sample, 1..38 */
  bool is_signed; /**< samples are signed, in two's complement */
} Cj2kComponent;

/** Colour space of an image: enumerated by the colr box (T.800 I.5.3.3), or implied. */
typedef enum {
  CJ2K_COLOUR_UNKNOWN = 0, /**< a codestream without boxes does not say */
  CJ2K_COLOUR_SRGB,        /**< enumerated 16 */
  CJ2K_COLOUR_GREY,        /**< enumerated 17 */
  CJ2K_COLOUR_SYCC,        /**< enumerated 18: Y'CbCr */
  CJ2K_COLOUR_XYZ,         /**< X'Y'Z', by a cinema profile in Rsiz */
  CJ2K_COLOUR_OTHER,       /**< another enumeration or an ICC profile: see colour_enum, icc */
} Cj2kColour;

/** What a channel is, in a channel definition box (JP2 cdef, T.800 I.5.3.6). */
enum {
  CJ2K_CHANNEL_COLOUR = 0,          /**< a colour */
  CJ2K_CHANNEL_OPACITY = 1,         /**< opacity (alpha) */
  CJ2K_CHANNEL_PREMULTIPLIED = 2,   /**< opacity that the colours were multiplied with */
  CJ2K_CHANNEL_UNSPECIFIED = 65535, /**< something else */
};

/** What a channel means (JP2 cdef box, T.800 I.5.3.6); without the box channel i is colour i+1. */
typedef struct {
  uint16_t type;        /**< CJ2K_CHANNEL_* */
  uint16_t association; /**< 0 whole image, 1.. colour number, 65535 none */
} Cj2kChannel;

/** An image as its header describes it. The arrays belong to the decoder: those of
 * cj2k_decoder_read_header are valid until its next call or the decoder's end, those of a Cj2kFrame
 * until its release. */
typedef struct {
  uint32_t x0;             /**< first column of the image area on the reference grid: XOsiz */
  uint32_t y0;             /**< first row: YOsiz */
  uint32_t x1;             /**< behind the last column: Xsiz */
  uint32_t y1;             /**< behind the last row: Ysiz */
  uint32_t num_components; /**< entries of components and channels */
  const Cj2kComponent *components; /**< after `reduce` and after palette and component mapping */
  const Cj2kChannel *channels;     /**< num_components entries */
  Cj2kColour colour;               /**< colour space */
  uint32_t colour_enum;            /**< EnumCS of the colr box, 0 when none */
  const uint8_t *icc;              /**< restricted ICC profile of the colr box, NULL when none */
  size_t icc_size;                 /**< bytes of icc */
  uint16_t rsiz;                   /**< capabilities, T.800 A.5.1 */
  bool is_ht;                      /**< at least one HT code-block may occur (T.814 CAP) */
  bool reversible;                 /**< every tile-component uses the 5/3 filter */
  bool mct; /**< the main header's component transform (RCT or ICT) is on: then the components
               0..2 are RGB, or XYZ */
  uint8_t num_levels;  /**< the fewest decomposition levels of any tile-component: the most that
                          `reduce` may be */
  uint16_t num_layers; /**< quality layers */
  uint32_t num_tiles;  /**< tiles */
} Cj2kImage;

/** @} */

/** @name Where samples lie in memory
 * @{ */

/**
 * Where the samples of one component lie. A row is a run of units of `unit_bytes`; each holds
 * `unit_samples` samples of this component, sample j in bits [shift, shift+depth) of the word of
 * `word_bytes` at byte `offset`. One shape says them all: planar 16 bit (unit 2 bytes, one word),
 * UYVY (unit 4, luma at 1 and 3), v210 (unit 16, words of 4), UYVP (unit 5, big-endian words of 2
 * at 0,1,2,3), r210 (big-endian words of 4).
 */
typedef struct {
  uint16_t plane;       /**< plane of the picture that holds the samples */
  uint8_t unit_bytes;   /**< bytes from one unit to the next */
  uint8_t unit_samples; /**< 1..CJ2K_UNIT_SAMPLES */
  uint8_t word_bytes;   /**< 1, 2 or 4 */
  bool big_endian;      /**< byte order of the words */
  bool is_signed; /**< two's complement, sign-extended to word_bytes; only with shift 0 and one
                     sample a word */
  uint8_t depth;  /**< bits of a sample in this layout, 1..32 */
  struct {
    uint8_t offset;        /**< of the word in the unit, in bytes */
    uint8_t shift;         /**< of the sample in the word, in bits */
  } at[CJ2K_UNIT_SAMPLES]; /**< where each sample of the unit lies */
} Cj2kSampleLayout;

/** Where the samples of all components lie in the planes of a picture. */
typedef struct {
  uint32_t num_components;         /**< of the layout; 1..4 for video, any for planar */
  uint32_t num_planes;             /**< planes of a picture */
  const Cj2kSampleLayout *samples; /**< num_components entries */
  /** Bits that belong to no component (the x of xRGB, padding alpha) are set to these when packing.
   * A component of the layout that the image does not have (alpha) is filled with its maximum. */
  uint32_t fill;
} Cj2kLayout;

/** What memory a picture lies in. */
typedef enum {
  CJ2K_MEMORY_HOST = 0, /**< ordinary memory */
  CJ2K_MEMORY_PINNED, /**< page-locked host memory: the GPU copies to and from it asynchronously */
  CJ2K_MEMORY_CUDA,   /**< device pointer, of the back end's device */
} Cj2kMemoryKind;

/** One plane of a picture. */
typedef struct {
  void *data;   /**< first row */
  size_t pitch; /**< bytes from row to row */
  /** Bytes of a row, where those up to the next one belong to something else (rows of the other
   * field); 0: pitch. The last unit of a row is written as far as this goes. */
  size_t row_bytes;
} Cj2kPlane;

/**
 * A picture: component c of the layout covers its x1-x0 by y1-y0 samples from the start of its
 * plane.
 *
 * cuda_stream, for CJ2K_MEMORY_CUDA only (it is an error with host memory): a CUstream on which the
 * caller works with the planes. It orders the caller's work and the back end's on the GPU, and no
 * thread waits:
 *   - the planes are read or written behind everything that was queued on the stream before the
 *     picture was submitted;
 *   - a picture that is decoded is complete for everything that is queued on the stream after
 *     cj2k_decoder_receive, which returns while samples may still be on their way there. Whoever
 *     reads them without that stream waits for it first (cuStreamSynchronize, or an event).
 * NULL: nothing is under way when the picture is submitted, and cj2k_decoder_receive
 * returns when it is complete. The handle of a default stream is CU_STREAM_LEGACY or
 * CU_STREAM_PER_THREAD. The stream belongs to the context that the encoder or decoder works in and
 * to the caller, who destroys it after the frame was received. The back end only records events on
 * it and makes it wait for them.
 */
typedef struct {
  Cj2kMemoryKind memory; /**< of all planes */
  uint32_t num_planes;   /**< entries of planes */
  Cj2kPlane *planes; /**< num_planes entries; the array belongs to the caller until the frame was
                        received */
  void *cuda_stream; /**< see above; NULL: none */
} Cj2kPicture;

/** @} */

/** @name Common
 * @{ */

/** What does the work. */
typedef enum {
  CJ2K_BACKEND_AUTO = 0, /**< CUDA where a GPU is usable, else the CPU */
  CJ2K_BACKEND_CPU,      /**< threads of the CPU */
  CJ2K_BACKEND_CUDA,     /**< an NVIDIA GPU; opening fails where none is usable */
} Cj2kBackendKind;

/**
 * Called for each thing that a stream of the GPU did, with its time in milliseconds since the
 * encoder or decoder was opened. `stage` is a word of the back end's ("upload", "download", "copy",
 * or kernels), a copy's time may begin with its waiting for the bus. Comes from any thread, from
 * several at once, and before the frame is received.
 */
typedef void (*Cj2kTrace)(void *user, uint32_t stream, const char *stage, double begin_ms,
                          double end_ms);

/** Sums since an encoder or decoder was opened. */
typedef struct Cj2kStats {
  uint64_t frames;         /**< received, whatever their status */
  uint64_t failed_frames;  /**< those of them whose status was not CJ2K_OK */
  uint64_t corrupt_blocks; /**< code-blocks that became zeros */
  uint64_t fallbacks; /**< frames that the chosen back end could not do and the CPU back end did */
  uint64_t bytes;     /**< of codestreams */
  uint32_t frames_in_flight; /**< that are worked on at once: as asked for, or fewer where memory
                                ran out; the others wait for these */
  double ms_header;      /**< reading headers: milliseconds of the wall clock, summed over frames */
  double ms_packets;     /**< reading or writing packets */
  double ms_block_coder; /**< coding blocks */
  /** Transforms and samples. Without decoded pictures that have a cuda_stream, which are handed out
   * before that time is known. */
  double ms_transform;
  double ms_total; /**< from submit to receive */
} Cj2kStats;

/** @} */

/** @name Decoder
 * @{ */

/** A decoder; cj2k_decoder_open makes it. */
typedef struct Cj2kDecoder Cj2kDecoder;

/** What a decoder is opened with; cj2k_decoder_params_init fills in defaults. */
typedef struct {
  Cj2kBackendKind backend;   /**< what decodes */
  int cuda_device;           /**< -1: the first usable */
  uint32_t num_threads;      /**< 0: as many as there are cores */
  uint32_t frames_in_flight; /**< 0: 2; 1..16 */
  uint8_t reduce;            /**< resolution levels to discard (T.800 annex B: Npyramid) */
  uint16_t max_layers;       /**< 0: all */
  bool strict; /**< a truncated or corrupt codestream, or boxes that contradict it, are an error;
                  else recoverable data is output */
  uint64_t
      max_memory; /**< bytes one frame may need; 0: the larger of 768 MiB and 256 times the input */
  void *cuda_context; /**< CUcontext to work in, NULL: the primary context of cuda_device */
  Cj2kTrace trace;    /**< NULL: none, and no time is taken; the CPU back end calls none */
  void *trace_user;   /**< first argument of trace */
} Cj2kDecoderParams;

/** Fills *params with defaults (all zero but cuda_device = -1). */
CJ2K_API void cj2k_decoder_params_init(Cj2kDecoderParams *params);
/** Sets a parameter as the tools and the element call it, from text; as cj2k_encoder_params_set. */
CJ2K_API Cj2kStatus cj2k_decoder_params_set(Cj2kDecoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/** Opens a decoder. NULL and *error on failure: CJ2K_BACKEND_CUDA without a usable GPU, or no
 * memory. */
CJ2K_API Cj2kDecoder *cj2k_decoder_open(const Cj2kDecoderParams *params, Cj2kError *error);
/** Waits for frames in flight, frees everything. NULL is allowed. */
CJ2K_API void cj2k_decoder_close(Cj2kDecoder *decoder);
/** The back end in use, never CJ2K_BACKEND_AUTO. */
CJ2K_API Cj2kBackendKind cj2k_decoder_backend(const Cj2kDecoder *decoder);
/** Why CJ2K_BACKEND_AUTO took the CPU: one sentence about the GPU, as long as the decoder lives.
 * NULL when it did not, and in a build without CUDA, where there is no choice. */
CJ2K_API const char *cj2k_decoder_why_cpu(const Cj2kDecoder *decoder);

/**
 * Reads the main header (or JP2/JPH boxes and main header) of `data` without decoding, so that the
 * caller can choose a layout and allocate. *image stays valid until the next call of this function
 * or cj2k_decoder_close. Cheap when the header has not changed. Call it from the submitting thread.
 */
CJ2K_API Cj2kStatus cj2k_decoder_read_header(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                             Cj2kImage *image, Cj2kError *error);

/**
 * Submits one codestream or JP2/JPH file; blocks while frames_in_flight frames are inside and none
 * was received. `data` and `picture` must stay untouched until the frame was received. layout says
 * how samples are written: values are shifted from the component's depth to the layout's (up: left
 * shift; down: rounded), signed components going to an unsigned layout get half their range added.
 * With layout NULL and picture NULL the frame owns planar memory of cj2k_layout_planar's shape.
 * Errors of the codestream itself are reported by cj2k_decoder_receive, in order. With one frame in
 * flight on the GPU this thread also reads the packets and starts the GPU, which is sooner than by
 * another.
 */
CJ2K_API Cj2kStatus cj2k_decoder_submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                        const Cj2kLayout *layout, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

/** A frame that was decoded. */
typedef struct {
  Cj2kStatus status; /**< of this frame: CJ2K_OK also for a damaged one that was decoded as far as
                        it went */
  Cj2kError error;   /**< when status is not CJ2K_OK; with fallback why the chosen one could not */
  void *user;        /**< as submitted */
  Cj2kImage image;   /**< as the header describes it; valid until cj2k_decoder_release */
  Cj2kPicture
      picture; /**< as submitted, or the frame's own planes, valid until cj2k_decoder_release */
  Cj2kLayout layout;       /**< of picture; valid until cj2k_decoder_release */
  uint32_t corrupt_blocks; /**< code-blocks that became zeros */
  bool truncated;          /**< the codestream ended before its packets did */
  bool fallback;           /**< done by the CPU back end in place of the chosen one */
  void *priv;              /**< the library's own */
} Cj2kFrame;

/** Waits for the oldest frame. CJ2K_OK: *frame was filled in, and frame->status says how it went.
 * CJ2K_END: nothing is in flight (it does not wait for a submit). From now on the frame no longer
 * counts as in flight, its codestream bytes are the caller's again, and so is a submitted picture.
 */
CJ2K_API Cj2kStatus cj2k_decoder_receive(Cj2kDecoder *decoder, Cj2kFrame *frame);
/** Gives back what the frame holds: its own planes, image and layout. Each received frame is
 * released once, in any order, before the decoder is closed. */
CJ2K_API void cj2k_decoder_release(Cj2kDecoder *decoder, Cj2kFrame *frame);
/** Memory for pictures: PINNED is what the back end copies to fastest (with the CPU back end
 * ordinary memory), CUDA is device memory. At least 64-byte aligned. NULL when there is none, or no
 * GPU. It is freed before the decoder is closed. */
CJ2K_API void *cj2k_decoder_alloc(Cj2kDecoder *decoder, Cj2kMemoryKind kind, size_t size);
/** Frees what cj2k_decoder_alloc returned, with the same kind. NULL is allowed. */
CJ2K_API void cj2k_decoder_free(Cj2kDecoder *decoder, Cj2kMemoryKind kind, void *memory);
/** Fills *stats; from any thread. */
CJ2K_API void cj2k_decoder_get_stats(Cj2kDecoder *decoder, Cj2kStats *stats);

/** Planar little-endian layout for an image: 1, 2 or 4 bytes a sample by depth, two's complement
 * when signed. `samples` has room for image->num_components entries, and the layout points to it.
 * Plane c has (x1-x0)*bytes as its smallest pitch. */
CJ2K_API void cj2k_layout_planar(const Cj2kImage *image, Cj2kSampleLayout *samples,
                                 Cj2kLayout *layout);

/** @} */

/** @name Encoder
 * @{ */

/** An encoder; cj2k_encoder_open makes it. */
typedef struct Cj2kEncoder Cj2kEncoder;

/** Coder of the code-blocks. */
typedef enum {
  CJ2K_CODER_MQ = 0, /**< the arithmetic coder of T.800 annex C */
  CJ2K_CODER_HT,     /**< High-Throughput, T.814 */
} Cj2kBlockCoder;
/** Order of the packets of a tile, T.800 A.6.1 and B.12: from what changes slowest. */
typedef enum {
  CJ2K_LRCP = 0, /**< layer, resolution, component, position */
  CJ2K_RLCP,     /**< resolution, layer, component, position */
  CJ2K_RPCL,     /**< resolution, position, component, layer */
  CJ2K_PCRL,     /**< position, component, resolution, layer */
  CJ2K_CPRL,     /**< component, position, resolution, layer */
} Cj2kProgression;
/** What decides the size of a frame; docs/properties.md. */
typedef enum {
  /** By what is set: a budget is CBR, quant_step QSTEP, psnr PSNR, quality QUALITY; with none of
   * them by the profile (cinema: CBR, a reversible one: LOSSLESS), else QUALITY.
   * docs/properties.md. */
  CJ2K_RATE_AUTO = 0,
  CJ2K_RATE_QUALITY,  /**< a quality factor: `quality` */
  CJ2K_RATE_LOSSLESS, /**< nothing: every bit comes back */
  CJ2K_RATE_CBR,      /**< a ceiling that no frame exceeds, by a budget */
  CJ2K_RATE_QSTEP,    /**< a quantisation step: `quant_step` */
  CJ2K_RATE_PSNR,     /**< a distortion: `psnr` */
} Cj2kRateControl;
/** Code-block style, T.800 table A.19, as in SPcod; HT is set by block_coder. */
enum {
  CJ2K_STYLE_BYPASS = 0x01,  /**< selective arithmetic coding bypass */
  CJ2K_STYLE_RESET = 0x02,   /**< contexts are reset at the end of each pass */
  CJ2K_STYLE_TERMALL = 0x04, /**< the coder is terminated at the end of each pass */
  CJ2K_STYLE_CAUSAL = 0x08,  /**< vertically causal contexts */
  CJ2K_STYLE_PTERM = 0x10,   /**< predictable termination */
  CJ2K_STYLE_SEGMARK = 0x20, /**< segmentation symbols */
  CJ2K_STYLE_HT = 0x40,      /**< High-Throughput blocks (T.814) */
  CJ2K_STYLE_HT_MIXED =
      0x80, /**< with CJ2K_STYLE_HT: each code-block says which coder it uses (T.814 A.4) */
};
/** What begins a new tile-part; may be combined. */
enum {
  CJ2K_TILE_PARTS_RESOLUTION = 1, /**< each resolution */
  CJ2K_TILE_PARTS_LAYER = 2,      /**< each quality layer */
  CJ2K_TILE_PARTS_COMPONENT = 4,  /**< each component */
};
/** Profiles of T.800 A.10 whose limits an encoder keeps; docs/profiles.md. */
typedef enum {
  CJ2K_PROFILE_NONE = 0,          /**< no limits */
  CJ2K_PROFILE_CINEMA_2K,         /**< digital cinema, 2K */
  CJ2K_PROFILE_CINEMA_4K,         /**< digital cinema, 4K */
  CJ2K_PROFILE_BROADCAST_SINGLE,  /**< broadcast contribution, one tile */
  CJ2K_PROFILE_BROADCAST_MULTI,   /**< broadcast contribution, one or four tiles */
  CJ2K_PROFILE_BROADCAST_MULTI_R, /**< the same, reversible */
  CJ2K_PROFILE_IMF_2K,            /**< interoperable master, 2K */
  CJ2K_PROFILE_IMF_4K,            /**< interoperable master, 4K */
  CJ2K_PROFILE_IMF_8K,            /**< interoperable master, 8K */
  CJ2K_PROFILE_IMF_2K_R,          /**< interoperable master, 2K, reversible */
  CJ2K_PROFILE_IMF_4K_R,          /**< interoperable master, 4K, reversible */
  CJ2K_PROFILE_IMF_8K_R,          /**< interoperable master, 8K, reversible */
} Cj2kProfile;
/** Transform of the first three components, T.800 annex G: RCT with the 5/3 filter, else ICT. */
typedef enum {
  CJ2K_MCT_AUTO = 0, /**< on for three components of equal sampling in RGB */
  CJ2K_MCT_ON,       /**< on */
  CJ2K_MCT_OFF,      /**< off */
} Cj2kMct;
/** What a packet of the encoder holds. */
typedef enum {
  CJ2K_FILE_J2K = 0, /**< a codestream */
  CJ2K_FILE_JP2,     /**< a JP2 file (T.800 annex I) */
  CJ2K_FILE_JPH,     /**< a JPH file (T.814 annex D) */
} Cj2kFileFormat;
/** How R'G'B' was made of linear light, for rgb_to_xyz. */
typedef enum {
  CJ2K_TRANSFER_AUTO = 0, /**< as CJ2K_TRANSFER_BT709 */
  CJ2K_TRANSFER_BT709,    /**< camera curve of BT.709, BT.601 and BT.2020 */
  CJ2K_TRANSFER_SRGB,     /**< IEC 61966-2-1 */
  CJ2K_TRANSFER_LINEAR,   /**< none: R'G'B' is linear */
  CJ2K_TRANSFER_GAMMA18,  /**< power of 1.8 */
  CJ2K_TRANSFER_GAMMA20,  /**< power of 2.0 */
  CJ2K_TRANSFER_GAMMA22,  /**< power of 2.2 */
  CJ2K_TRANSFER_GAMMA24,  /**< BT.1886: what a studio display makes of BT.709 video */
  CJ2K_TRANSFER_GAMMA26,  /**< digital cinema */
  CJ2K_TRANSFER_GAMMA28,  /**< power of 2.8 */
} Cj2kTransfer;
/** Conversion of R'G'B' to 12 bit X'Y'Z' (SMPTE ST 428-1). */
typedef enum {
  CJ2K_XYZ_AUTO = 0, /**< on with a cinema profile when the image's colour is SRGB */
  CJ2K_XYZ_ON,       /**< on */
  CJ2K_XYZ_OFF,      /**< with a cinema profile: the image is X'Y'Z' already */
} Cj2kXyzConversion;

#define CJ2K_MAX_LAYERS         64   /**< quality layers that an encoder writes */
#define CJ2K_MAX_BITS_PER_PIXEL 1000 /**< of a budget */
#define CJ2K_MAX_FRAME_RATE     1e6  /**< frames per second */

/** What an encoder is opened with; cj2k_encoder_params_init fills in defaults. 0 in a number means
 * that it is not set. */
typedef struct {
  Cj2kBackendKind backend;   /**< what encodes */
  int cuda_device;           /**< -1: the first usable */
  uint32_t num_threads;      /**< 0: as many as there are cores */
  uint32_t frames_in_flight; /**< 0: 2; 1..16 */
  void *cuda_context;        /**< as in Cj2kDecoderParams */
  Cj2kTrace trace;           /**< as in Cj2kDecoderParams */
  void *trace_user;          /**< first argument of trace */

  Cj2kBlockCoder block_coder;   /**< coder of the code-blocks */
  Cj2kRateControl rate_control; /**< what decides the size of a frame */
  uint32_t quality;             /**< for QUALITY: 1..100; 0: 85 */
  double quant_step; /**< for QSTEP: step relative to full scale, in (0, 0.5], e.g. 1/4096 */
  double psnr;       /**< for PSNR: dB, 10..120; 0: 45 */
  /** A budget in kbit/s; needs frame_rate. Of several budgets of a frame (this one, bits_per_pixel,
   * max_frame_bytes) the least holds. This one and bits_per_pixel are for CBR and refused with
   * others, max_frame_bytes is a ceiling with all. */
  uint64_t bitrate;
  double bits_per_pixel;        /**< up to CJ2K_MAX_BITS_PER_PIXEL */
  uint64_t max_frame_bytes;     /**< bytes of a whole codestream, up to 2^32 - 1 */
  uint64_t max_component_bytes; /**< of the packets of each component, up to 2^32 - 1 */
  uint32_t frame_overhead; /**< bytes that the caller adds to each codestream, such as the head of a
                              box: bitrate and max_frame_bytes count them */
  uint8_t num_resolutions; /**< decomposition levels + 1: 1..33; default 6 */
  uint16_t codeblock_width;    /**< a power of 2, 4..1024; default 64 */
  uint16_t codeblock_height;   /**< the same; width times height is at most 4096 */
  uint8_t codeblock_style;     /**< CJ2K_STYLE_*, without HT */
  Cj2kProgression progression; /**< order of the packets */
  uint16_t num_layers;         /**< default 1 */
  uint16_t num_layer_rates;    /**< entries used below; more than one give num_layers when that
                                  is 1 */
  double layer_rates[CJ2K_MAX_LAYERS]; /**< bits per pixel of layer i (cumulative), 0: spread
                                          logarithmically */
  uint8_t num_precincts;               /**< entries used below; 0: maximal precincts (2^15) */
  uint8_t
      precinct_width[CJ2K_MAX_LEVELS + 1]; /**< log2 of the widths: [0] is the highest resolution,
                                              the last entry is repeated downwards */
  uint8_t precinct_height[CJ2K_MAX_LEVELS + 1]; /**< log2 of the heights, as precinct_width */
  uint32_t tile_width;                          /**< XTsiz; 0: one tile */
  uint32_t tile_height;                         /**< YTsiz; 0: one tile */
  uint32_t image_x0;                            /**< XOsiz */
  uint32_t image_y0;                            /**< YOsiz */
  uint32_t tile_x0;                             /**< XTOsiz */
  uint32_t tile_y0;                             /**< YTOsiz */
  uint8_t tile_parts;                           /**< CJ2K_TILE_PARTS_* */
  Cj2kMct mct;               /**< AUTO: on for three components of equal sampling in RGB */
  bool reversible_transform; /**< 5/3 also when lossy; LOSSLESS implies it */
  uint8_t guard_bits;        /**< 0: 2 (1 for cinema-2k); 1..7 */
  Cj2kProfile profile;       /**< profile whose limits the codestreams keep */
  bool profile_lenient;      /**< a parameter that contradicts the profile is overruled and named by
                                cj2k_encoder_warning, instead of refused */
  /** Main level of broadcast and IMF profiles. 0: no limit. -1: the lowest that fits image,
   * frame_rate and budget (docs/profiles.md). */
  int8_t main_level;
  int8_t sub_level;    /**< of IMF profiles: as main_level */
  double frame_rate;   /**< frames per second, for bitrate and profile limits; 0: unknown */
  bool sop;            /**< write SOP marker segments */
  bool eph;            /**< write EPH markers */
  bool tlm;            /**< write TLM marker segments */
  bool plt;            /**< write PLT marker segments */
  const char *comment; /**< COM marker, NULL: none */
  /** What a packet holds. JP2 with HT becomes JPH, with a warning (T.814 D.2). */
  Cj2kFileFormat file_format;
  /** Convert R'G'B' to X'Y'Z' on the way in. The primaries of R'G'B' are those of BT.709, its white
   * is D65; full range. */
  Cj2kXyzConversion rgb_to_xyz;
  Cj2kTransfer xyz_transfer; /**< of the R'G'B' to be converted */
} Cj2kEncoderParams;

/** Fills *params with defaults: six resolutions, code-blocks of 64 x 64, one layer. */
CJ2K_API void cj2k_encoder_params_init(Cj2kEncoderParams *params);
/** Sets a parameter as the tools and elements call it, from text: "rate-control" to "cbr",
 * "precincts" to "256x256,128x128". CJ2K_ERROR_ARGUMENT says which value is expected, and nothing
 * has changed. "comment" makes params->comment point to `value` itself. */
CJ2K_API Cj2kStatus cj2k_encoder_params_set(Cj2kEncoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/** The image that will be submitted: components with depth, sign and sub-sampling (x0..y1 are
 * derived from image_x0, image_y0 and width, height of the reference grid), and its colour. */
typedef struct {
  uint32_t width;                  /**< Xsiz - XOsiz: columns of the reference grid */
  uint32_t height;                 /**< Ysiz - YOsiz: rows of the reference grid */
  uint32_t num_components;         /**< entries of components, and of channels */
  const Cj2kComponent *components; /**< only dx, dy, depth, is_signed are read */
  const Cj2kChannel *channels;     /**< NULL: component i is colour i+1 */
  Cj2kColour colour;               /**< colour space of the samples */
} Cj2kEncoderImage;

/** Opens an encoder; NULL and *error on failure. Checks everything at once: CJ2K_ERROR_ARGUMENT
 * names the parameters that contradict each other or the profile. `layout` describes the pictures
 * to come (kept by copy). */
CJ2K_API Cj2kEncoder *cj2k_encoder_open(const Cj2kEncoderParams *params,
                                        const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                                        Cj2kError *error);
/** Waits for frames in flight, frees everything. NULL is allowed. */
CJ2K_API void cj2k_encoder_close(Cj2kEncoder *encoder);
/** The back end in use, never CJ2K_BACKEND_AUTO. */
CJ2K_API Cj2kBackendKind cj2k_encoder_backend(const Cj2kEncoder *encoder);
/** As cj2k_decoder_why_cpu. */
CJ2K_API const char *cj2k_encoder_why_cpu(const Cj2kEncoder *encoder);
/** What cj2k_encoder_open overruled or had to do otherwise, one sentence; NULL when nothing. */
CJ2K_API const char *cj2k_encoder_warning(const Cj2kEncoder *encoder);
/** Rsiz of the codestreams to come. */
CJ2K_API uint16_t cj2k_encoder_rsiz(const Cj2kEncoder *encoder);

/** Changes rate parameters (quality, quant_step, psnr, bitrate, max_frame_bytes, bits_per_pixel,
 * max_component_bytes) from the next submitted frame on; rate_control itself may change among the
 * lossy kinds only. A budget that cannot hold the headers is refused. On error the old rate stays.
 */
CJ2K_API Cj2kStatus cj2k_encoder_set_rate(Cj2kEncoder *encoder, const Cj2kEncoderParams *params,
                                          Cj2kError *error);

/** Submits one picture, which must stay untouched until the frame was received; blocks while
 * frames_in_flight frames are inside and none was received. With one frame in flight on the GPU,
 * from page-locked or device memory, this thread also starts the GPU, and the thread that receives
 * does the rest, which is sooner than by others. */
CJ2K_API Cj2kStatus cj2k_encoder_submit(Cj2kEncoder *encoder, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

/** A frame that was encoded. */
typedef struct {
  Cj2kStatus status;   /**< of this frame */
  Cj2kError error;     /**< as in Cj2kFrame */
  void *user;          /**< as submitted */
  const uint8_t *data; /**< codestream or file, valid until cj2k_encoder_release */
  size_t size;         /**< bytes of data */
  bool fallback;       /**< done by the CPU back end in place of the chosen one */
  void *priv;          /**< the library's own */
} Cj2kPacket;

/** Waits for the oldest frame. CJ2K_OK: *packet was filled in, and packet->status says how it went.
 * CJ2K_END: nothing is in flight (it does not wait for a submit). From now on the frame no longer
 * counts as in flight, and its picture is the caller's again. */
CJ2K_API Cj2kStatus cj2k_encoder_receive(Cj2kEncoder *encoder, Cj2kPacket *packet);
/** Gives a packet's bytes back, once, from any thread. A packet may outlive its encoder: after
 * cj2k_encoder_close, `encoder` is NULL here. */
CJ2K_API void cj2k_encoder_release(Cj2kEncoder *encoder, Cj2kPacket *packet);
/** Memory for pictures, as cj2k_decoder_alloc. */
CJ2K_API void *cj2k_encoder_alloc(Cj2kEncoder *encoder, Cj2kMemoryKind kind, size_t size);
/** Frees what cj2k_encoder_alloc returned, with the same kind. NULL is allowed. */
CJ2K_API void cj2k_encoder_free(Cj2kEncoder *encoder, Cj2kMemoryKind kind, void *memory);
/** Fills *stats; from any thread. */
CJ2K_API void cj2k_encoder_get_stats(Cj2kEncoder *encoder, Cj2kStats *stats);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
