/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k: JPEG 2000 Part 1 (Rec. ITU-T T.800) and HTJ2K (Rec. ITU-T T.814), frame by frame,
 * asynchronously.
 *
 * The whole public C API. An encoder or decoder is an object with up to `frames_in_flight` frames
 * inside: submit() hands one in, receive() hands results out in the order of submission. An object
 * may be used from two threads at once, one that submits and one that receives. Nothing here prints
 * or exits; each call that can fail returns a Cj2kStatus and, where the caller passes a Cj2kError,
 * a sentence that names what failed and where.
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

#define CJ2K_MAX_COMPONENTS 16384 /* T.800 A.5.1, Csiz */
#define CJ2K_MAX_LEVELS     32    /* T.800 A.6.1, NL */
#define CJ2K_MAX_PLANES     4     /* of a packed or planar video layout */

/* -------------------------------------------------------------------------------------------------
 * results --- */

typedef enum {
  CJ2K_OK = 0,
  CJ2K_ERROR_ARGUMENT,    /* the caller's parameters contradict each other or the image */
  CJ2K_ERROR_CODESTREAM,  /* the bytes break T.800 / T.814: nothing of this frame can be used */
  CJ2K_ERROR_UNSUPPORTED, /* legal, but not done here; the text names the feature */
  CJ2K_ERROR_LIMIT,       /* would need more memory than max_memory allows */
  CJ2K_ERROR_MEMORY,      /* an allocation failed */
  CJ2K_ERROR_DEVICE,      /* the GPU failed or is not usable; the text says why */
  CJ2K_END, /* receive(): nothing is in flight and finish() was called, or flush() emptied the queue
             */
} Cj2kStatus;

typedef struct {
  Cj2kStatus code;
  uint16_t marker; /* marker segment being read or written (0xFF51 is SIZ), 0 when none */
  uint64_t offset; /* byte offset in the submitted data, meaningful for CJ2K_ERROR_CODESTREAM */
  char text[240];  /* one sentence, no newline */
} Cj2kError;

CJ2K_API const char *cj2k_status_name(Cj2kStatus status);
CJ2K_API const char *cj2k_version(void);

/* ---------------------------------------------------------------------------------------------------
 * images --- */

/* One component (T.800 B.2): its samples cover [x0,x1) x [y0,y1) of its own grid; x0 =
 * ceil(XOsiz/XRsiz) ... */
typedef struct {
  uint32_t x0, y0, x1, y1;
  uint8_t dx, dy; /* XRsiz, YRsiz */
  uint8_t depth;  /* bits per sample, 1..38 */
  bool is_signed;
} Cj2kComponent;

typedef enum {
  CJ2K_COLOUR_UNKNOWN = 0,
  CJ2K_COLOUR_SRGB,  /* enumerated 16 */
  CJ2K_COLOUR_GREY,  /* 17 */
  CJ2K_COLOUR_SYCC,  /* 18 */
  CJ2K_COLOUR_XYZ,   /* by cinema Rsiz */
  CJ2K_COLOUR_OTHER, /* another enumeration or an ICC profile: see colour_enum, icc */
} Cj2kColour;

/* What a channel means (JP2 cdef box, T.800 I.5.3.6); without the box channel i is colour i+1. */
typedef struct {
  uint16_t type;        /* 0 colour, 1 opacity, 2 premultiplied opacity, 65535 unspecified */
  uint16_t association; /* 0 whole image, 1.. colour number, 65535 none */
} Cj2kChannel;

/* Image as its header describes it. Arrays belong to the object that returned it, valid until its
 * next submit of a frame with another header, or close. */
typedef struct {
  uint32_t x0, y0, x1, y1; /* image area on the reference grid: XOsiz, YOsiz, Xsiz, Ysiz */
  uint32_t num_components;
  const Cj2kComponent *components; /* after `reduce` and after palette and component mapping */
  const Cj2kChannel *channels;     /* num_components entries */
  Cj2kColour colour;
  uint32_t colour_enum; /* EnumCS of the colr box, 0 when none */
  const uint8_t *icc;   /* restricted ICC profile of the colr box, NULL when none */
  size_t icc_size;
  uint16_t rsiz;   /* capabilities, T.800 A.5.1 */
  bool is_ht;      /* at least one HT code-block may occur (T.814 CAP) */
  bool reversible; /* every tile-component uses the 5/3 filter */
  bool mct;        /* the main header's component transform (RCT or ICT) is on: then the components
                      0..2 are RGB, or XYZ */
  uint8_t num_levels; /* the fewest decomposition levels of any tile-component: the most that
                         `reduce` may be */
  uint16_t num_layers;
  uint32_t num_tiles;
} Cj2kImage;

/* ---------------------------------------------------------------------------------- where samples
 * lie in memory --- */

/*
 * Where the samples of one component lie. A row is a run of units of `unit_bytes`; each holds
 * `unit_samples` samples of this component, sample j in bits [shift, shift+depth) of the word of
 * `word_bytes` at byte `offset`. One shape says them all: planar 16 bit (unit 2 bytes, one word),
 * UYVY (unit 4, luma at 1 and 3), v210 (unit 16, words of 4), UYVP (unit 5, big-endian words of 2
 * at 0,1,2,3), r210 (big-endian words of 4).
 */
#define CJ2K_UNIT_SAMPLES 6
typedef struct {
  uint16_t plane;
  uint8_t unit_bytes;
  uint8_t unit_samples; /* 1..CJ2K_UNIT_SAMPLES */
  uint8_t word_bytes;   /* 1, 2 or 4 */
  bool big_endian;
  bool is_signed; /* two's complement, sign-extended to word_bytes; only with shift 0 and one sample
                     a word */
  uint8_t depth;  /* bits of a sample in this layout, 1..32 */
  struct {
    uint8_t offset, shift;
  } at[CJ2K_UNIT_SAMPLES];
} Cj2kSampleLayout;

typedef struct {
  uint32_t num_components; /* of the layout; 1..4 for video, any for planar */
  uint32_t num_planes;
  const Cj2kSampleLayout *samples; /* num_components entries */
  /* Bits that belong to no component (the x of xRGB, padding alpha) are set to these when packing.
   * A component of the layout that the image does not have (alpha) is filled with its maximum. */
  uint32_t fill;
} Cj2kLayout;

typedef enum {
  CJ2K_MEMORY_HOST = 0,
  CJ2K_MEMORY_PINNED, /* page-locked host memory: the GPU copies to and from it asynchronously */
  CJ2K_MEMORY_CUDA,   /* device pointer, of the back end's device */
} Cj2kMemoryKind;

/* Planes of a frame, in a layout agreed apart. Component c covers its x1-x0 by y1-y0 samples from
 * the plane's start. */
typedef struct {
  void *data;   /* first row */
  size_t pitch; /* bytes from row to row */
  /* Bytes of a row, where those up to the next one belong to something else (rows of the other
   * field); 0: pitch. The last unit of a row is written as far as this goes. */
  size_t row_bytes;
} Cj2kPlane;

/*
 * cuda_stream, for CJ2K_MEMORY_CUDA only (it is an error with host memory): a CUstream on which the
 * caller works with the planes. It orders the caller's work and the back end's on the GPU, and no
 * thread waits:
 *   - the planes are read or written behind everything that was queued on the stream before
 * submit();
 *   - a picture that is decoded is complete for everything that is queued on the stream after
 *     receive(), which returns while samples may still be on their way into the planes. Whoever
 *     reads them without that stream waits for it first (cuStreamSynchronize, or an event).
 * NULL: nothing is under way when the picture is submitted, and receive() returns when it is
 * complete. The handle of a default stream is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD.
 * The stream belongs to the context that the encoder or decoder works in and to the caller, who
 * destroys it after the frame was received. The back end only records events on it and makes it
 * wait for them.
 */
typedef struct {
  Cj2kMemoryKind memory;
  uint32_t num_planes;
  Cj2kPlane *
      planes; /* num_planes entries; the array belongs to the caller until the frame was received */
  void *cuda_stream; /* see above; NULL: none */
} Cj2kPicture;

/* ---------------------------------------------------------------------------------------------------
 * common --- */

typedef enum { CJ2K_BACKEND_AUTO = 0, CJ2K_BACKEND_CPU, CJ2K_BACKEND_CUDA } Cj2kBackendKind;

/*
 * Called for each thing that a stream of the GPU did, with its time in milliseconds since the
 * encoder or decoder was opened. `stage` is a word of the back end's ("upload", "download", "copy",
 * or kernels), a copy's time may begin with its waiting for the bus. Comes from any thread, from
 * several at once, and before receive() returns the frame.
 */
typedef void (*Cj2kTrace)(void *user, uint32_t stream, const char *stage, double begin_ms,
                          double end_ms);

typedef struct Cj2kStats {
  uint64_t frames; /* received, whatever their status */
  uint64_t failed_frames;
  uint64_t corrupt_blocks; /* code-blocks that became zeros */
  uint64_t fallbacks; /* frames that the chosen back end could not do and the CPU back end did */
  uint64_t bytes;     /* of codestreams */
  uint32_t frames_in_flight; /* that are worked on at once: as asked for, or fewer where memory ran
                                out; the others wait for these */
  double ms_header, ms_packets, ms_block_coder, ms_transform,
      ms_total; /* sums over frames, wall clock; ms_transform without decoded pictures that have a
                   cuda_stream, which are handed out before that time is known */
} Cj2kStats;

/* --------------------------------------------------------------------------------------------------
 * decoder --- */

typedef struct Cj2kDecoder Cj2kDecoder;

typedef struct {
  Cj2kBackendKind backend;
  int cuda_device;           /* -1: the first usable */
  uint32_t num_threads;      /* 0: as many as there are cores */
  uint32_t frames_in_flight; /* 0: 2; 1..16 */
  uint8_t reduce;            /* resolution levels to discard (T.800 annex B: Npyramid) */
  uint16_t max_layers;       /* 0: all */
  bool strict; /* a truncated or corrupt codestream, or boxes that contradict it, are an error; else
                  recoverable data is output */
  uint64_t
      max_memory; /* bytes one frame may need; 0: the larger of 768 MiB and 256 times the input */
  void *cuda_context; /* CUcontext to work in, NULL: the primary context of cuda_device */
  Cj2kTrace trace;    /* NULL: none, and no time is taken; the CPU back end calls none */
  void *trace_user;
} Cj2kDecoderParams;

/* Fills *params with defaults (all zero but cuda_device = -1). */
CJ2K_API void cj2k_decoder_params_init(Cj2kDecoderParams *params);
/* Sets a parameter as the tools and the element call it, from text; as cj2k_encoder_params_set. */
CJ2K_API Cj2kStatus cj2k_decoder_params_set(Cj2kDecoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/* NULL and *error on failure: backend CUDA without a usable GPU, or no memory. */
CJ2K_API Cj2kDecoder *cj2k_decoder_open(const Cj2kDecoderParams *params, Cj2kError *error);
/* Waits for frames in flight, frees everything. NULL is allowed. */
CJ2K_API void cj2k_decoder_close(Cj2kDecoder *decoder);
/* The back end in use, never AUTO. */
CJ2K_API Cj2kBackendKind cj2k_decoder_backend(const Cj2kDecoder *decoder);
/* Why AUTO took the CPU: one sentence about the GPU, as long as the decoder lives. NULL when it did
 * not, and in a build without CUDA, where there is no choice. */
CJ2K_API const char *cj2k_decoder_why_cpu(const Cj2kDecoder *decoder);

/*
 * Reads the main header (or JP2/JPH boxes and main header) of `data` without decoding, so that the
 * caller can choose a layout and allocate. *image stays valid until the next read_header or close.
 * Cheap when the header has not changed. Call it from the submitting thread.
 */
CJ2K_API Cj2kStatus cj2k_decoder_read_header(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                             Cj2kImage *image, Cj2kError *error);

/*
 * Submits one codestream or JP2/JPH file; blocks while frames_in_flight frames are inside and none
 * was received. `data` and `picture` must stay untouched until the frame was received. layout says
 * how samples are written: values are shifted from the component's depth to the layout's (up: left
 * shift; down: rounded), signed components going to an unsigned layout get half their range added.
 * With layout NULL and picture NULL the frame owns planar memory of cj2k_layout_planar's shape.
 * Errors of the codestream itself are reported by receive(), in order. With one frame in flight on
 * the GPU this thread also reads the packets and starts the GPU, which is sooner than by another.
 */
CJ2K_API Cj2kStatus cj2k_decoder_submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                        const Cj2kLayout *layout, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

typedef struct {
  Cj2kStatus
      status; /* of this frame: CJ2K_OK also for a damaged one that was decoded as far as it went */
  Cj2kError error; /* when status is not CJ2K_OK; with fallback why the chosen one could not */
  void *user;      /* as submitted */
  Cj2kImage image;
  Cj2kPicture
      picture; /* as submitted, or the frame's own planes, valid until cj2k_decoder_release */
  Cj2kLayout layout;
  uint32_t corrupt_blocks; /* code-blocks that became zeros */
  bool truncated;          /* the codestream ended before its packets did */
  bool fallback;           /* done by the CPU back end in place of the chosen one */
  void *priv;
} Cj2kFrame;

/* Waits for the oldest frame. CJ2K_OK: *frame was filled in, and frame->status says how it went.
 * CJ2K_END: nothing is in flight (it does not wait for a submit). From now on the frame no longer
 * counts as in flight, its codestream bytes are the caller's again, and so is a submitted picture.
 */
CJ2K_API Cj2kStatus cj2k_decoder_receive(Cj2kDecoder *decoder, Cj2kFrame *frame);
/* Gives the frame's slot (and its own planes) back; each received frame is released once, in any
 * order. */
CJ2K_API void cj2k_decoder_release(Cj2kDecoder *decoder, Cj2kFrame *frame);
/* Memory for pictures: PINNED is what the back end copies to fastest (with the CPU back end
 * ordinary memory), CUDA is device memory. At least 64-byte aligned. NULL when there is none, or no
 * GPU. It is freed before the decoder is closed. */
CJ2K_API void *cj2k_decoder_alloc(Cj2kDecoder *decoder, Cj2kMemoryKind kind, size_t size);
CJ2K_API void cj2k_decoder_free(Cj2kDecoder *decoder, Cj2kMemoryKind kind, void *memory);
CJ2K_API void cj2k_decoder_get_stats(Cj2kDecoder *decoder, Cj2kStats *stats);

/* Planar little-endian layout for an image: 1, 2 or 4 bytes a sample by depth, two's complement
 * when signed. `samples` has room for image->num_components entries, and the layout points to it.
 * Plane c has (x1-x0)*bytes as its smallest pitch. */
CJ2K_API void cj2k_layout_planar(const Cj2kImage *image, Cj2kSampleLayout *samples,
                                 Cj2kLayout *layout);

/* --------------------------------------------------------------------------------------------------
 * encoder --- */

typedef struct Cj2kEncoder Cj2kEncoder;

typedef enum { CJ2K_CODER_MQ = 0, CJ2K_CODER_HT } Cj2kBlockCoder;
typedef enum {
  CJ2K_LRCP = 0,
  CJ2K_RLCP,
  CJ2K_RPCL,
  CJ2K_PCRL,
  CJ2K_CPRL
} Cj2kProgression; /* T.800 A.6.1 */
typedef enum {
  /* By what is set: a budget is CBR, quant_step QSTEP, psnr PSNR, quality QUALITY; with none of
   * them by the profile (cinema: CBR, a reversible one: LOSSLESS), else QUALITY.
   * docs/properties.md. */
  CJ2K_RATE_AUTO = 0,
  CJ2K_RATE_QUALITY,
  CJ2K_RATE_LOSSLESS,
  CJ2K_RATE_CBR,
  CJ2K_RATE_QSTEP,
  CJ2K_RATE_PSNR,
} Cj2kRateControl;
/* Code-block style, T.800 table A.19, as in SPcod; HT is set by block_coder. */
enum {
  CJ2K_STYLE_BYPASS = 0x01,
  CJ2K_STYLE_RESET = 0x02,
  CJ2K_STYLE_TERMALL = 0x04,
  CJ2K_STYLE_CAUSAL = 0x08,
  CJ2K_STYLE_PTERM = 0x10,
  CJ2K_STYLE_SEGMARK = 0x20,
  CJ2K_STYLE_HT = 0x40,
  CJ2K_STYLE_HT_MIXED =
      0x80, /* with CJ2K_STYLE_HT: each code-block says which coder it uses (T.814 A.4) */
};
enum { CJ2K_TILE_PARTS_RESOLUTION = 1, CJ2K_TILE_PARTS_LAYER = 2, CJ2K_TILE_PARTS_COMPONENT = 4 };
typedef enum {
  CJ2K_PROFILE_NONE = 0,
  CJ2K_PROFILE_CINEMA_2K,
  CJ2K_PROFILE_CINEMA_4K,
  CJ2K_PROFILE_BROADCAST_SINGLE,
  CJ2K_PROFILE_BROADCAST_MULTI,
  CJ2K_PROFILE_BROADCAST_MULTI_R,
  CJ2K_PROFILE_IMF_2K,
  CJ2K_PROFILE_IMF_4K,
  CJ2K_PROFILE_IMF_8K,
  CJ2K_PROFILE_IMF_2K_R,
  CJ2K_PROFILE_IMF_4K_R,
  CJ2K_PROFILE_IMF_8K_R,
} Cj2kProfile;
typedef enum { CJ2K_MCT_AUTO = 0, CJ2K_MCT_ON, CJ2K_MCT_OFF } Cj2kMct;
typedef enum { CJ2K_FILE_J2K = 0, CJ2K_FILE_JP2, CJ2K_FILE_JPH } Cj2kFileFormat;
/* How R'G'B' was made of linear light, for rgb_to_xyz. */
typedef enum {
  CJ2K_TRANSFER_AUTO = 0, /* BT709 */
  CJ2K_TRANSFER_BT709,    /* camera curve of BT.709, BT.601 and BT.2020 */
  CJ2K_TRANSFER_SRGB,     /* IEC 61966-2-1 */
  CJ2K_TRANSFER_LINEAR,   /* none: R'G'B' is linear */
  CJ2K_TRANSFER_GAMMA18,  /* powers */
  CJ2K_TRANSFER_GAMMA20,
  CJ2K_TRANSFER_GAMMA22,
  CJ2K_TRANSFER_GAMMA24, /* BT.1886: what a studio display makes of BT.709 video */
  CJ2K_TRANSFER_GAMMA26, /* digital cinema */
  CJ2K_TRANSFER_GAMMA28,
} Cj2kTransfer;
/* Conversion of R'G'B' to 12 bit X'Y'Z' (SMPTE ST 428-1). */
typedef enum {
  CJ2K_XYZ_AUTO = 0, /* on with a cinema profile when the image's colour is SRGB */
  CJ2K_XYZ_ON,
  CJ2K_XYZ_OFF, /* with a cinema profile: the image is X'Y'Z' already */
} Cj2kXyzConversion;

#define CJ2K_MAX_LAYERS         64
#define CJ2K_MAX_BITS_PER_PIXEL 1000
#define CJ2K_MAX_FRAME_RATE     1e6
/* Parameters of an encoder. 0 in a number means that it is not set. */
typedef struct {
  Cj2kBackendKind backend;
  int cuda_device;           /* -1: the first usable */
  uint32_t num_threads;      /* 0: as many as there are cores */
  uint32_t frames_in_flight; /* 0: 2; 1..16 */
  void *cuda_context;
  Cj2kTrace trace; /* as in Cj2kDecoderParams */
  void *trace_user;

  Cj2kBlockCoder block_coder;
  Cj2kRateControl rate_control;
  uint32_t quality;  /* for QUALITY: 1..100; 0: 85 */
  double quant_step; /* for QSTEP: step relative to full scale, in (0, 0.5], e.g. 1/4096 */
  double psnr;       /* for PSNR: dB, 10..120; 0: 45 */
  /* Budgets of a frame: the least that is set holds. bitrate and bits_per_pixel are for CBR and
   * refused with others, max_frame_bytes is a ceiling with all. */
  uint64_t bitrate;             /* kbit/s; needs frame_rate */
  double bits_per_pixel;        /* up to CJ2K_MAX_BITS_PER_PIXEL */
  uint64_t max_frame_bytes;     /* bytes of a whole codestream, up to 2^32 - 1 */
  uint64_t max_component_bytes; /* of the packets of each component, up to 2^32 - 1 */
  uint32_t frame_overhead; /* bytes that the caller adds to each codestream, such as the head of a
                              box: bitrate and max_frame_bytes count them */
  uint8_t num_resolutions; /* decomposition levels + 1: 1..33; default 6 */
  uint16_t codeblock_width,
      codeblock_height;    /* powers of 2, 4..1024, product at most 4096; default 64 x 64 */
  uint8_t codeblock_style; /* CJ2K_STYLE_*, without HT */
  Cj2kProgression progression;
  uint16_t num_layers;      /* default 1 */
  uint16_t num_layer_rates; /* entries used below; more than one give num_layers when that
                               is 1 */
  double layer_rates[CJ2K_MAX_LAYERS]; /* bits per pixel of layer i (cumulative), 0: spread
                                          logarithmically */
  uint8_t num_precincts;               /* entries used below; 0: maximal precincts (2^15) */
  uint8_t precinct_width[CJ2K_MAX_LEVELS + 1], precinct_height[CJ2K_MAX_LEVELS + 1]; /* log2; [0] is
                                 the highest resolution, the last entry is repeated downwards */
  uint32_t tile_width, tile_height;              /* 0: one tile */
  uint32_t image_x0, image_y0, tile_x0, tile_y0; /* XOsiz, YOsiz, XTOsiz, YTOsiz */
  uint8_t tile_parts;                            /* CJ2K_TILE_PARTS_* */
  Cj2kMct mct;               /* AUTO: on for three components of equal sampling in RGB */
  bool reversible_transform; /* 5/3 also when lossy; LOSSLESS implies it */
  uint8_t guard_bits;        /* 0: 2 (1 for cinema-2k); 1..7 */
  Cj2kProfile profile;
  bool profile_lenient; /* a parameter that contradicts the profile is overruled and named by
                           cj2k_encoder_warning(), instead of refused */
  /* 0: no limit. -1: the lowest that fits image, frame_rate and budget (docs/profiles.md). */
  int8_t main_level, sub_level;
  double frame_rate; /* frames per second, for bitrate and profile limits; 0: unknown */
  bool sop, eph, tlm, plt;
  const char *comment;        /* COM marker, NULL: none */
  Cj2kFileFormat file_format; /* JP2 with HT becomes JPH, with a warning (T.814 D.2) */
  /* Convert R'G'B' to X'Y'Z' on the way in. The primaries of R'G'B' are those of BT.709, its white
   * is D65; full range. */
  Cj2kXyzConversion rgb_to_xyz;
  Cj2kTransfer xyz_transfer; /* of the R'G'B' to be converted */
} Cj2kEncoderParams;

/* Fills *params with defaults. */
CJ2K_API void cj2k_encoder_params_init(Cj2kEncoderParams *params);
/* Sets a parameter as the tools and elements call it, from text: "rate-control" to "cbr",
 * "precincts" to "256x256,128x128". CJ2K_ERROR_ARGUMENT says which value is expected, and nothing
 * has changed. "comment" makes params->comment point to `value` itself. */
CJ2K_API Cj2kStatus cj2k_encoder_params_set(Cj2kEncoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/* The image that will be submitted: components with depth, sign and sub-sampling (x0..y1 are
 * derived from image_x0, image_y0 and width, height of the reference grid), and its colour. */
typedef struct {
  uint32_t width, height; /* on the reference grid, without the offset */
  uint32_t num_components;
  const Cj2kComponent *components; /* only dx, dy, depth, is_signed are read */
  const Cj2kChannel *channels;     /* NULL: component i is colour i+1 */
  Cj2kColour colour;
} Cj2kEncoderImage;

/* Checks everything at once: CJ2K_ERROR_ARGUMENT names the parameters that contradict each other or
 * the profile. `layout` describes the pictures to come (kept by copy). */
CJ2K_API Cj2kEncoder *cj2k_encoder_open(const Cj2kEncoderParams *params,
                                        const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                                        Cj2kError *error);
CJ2K_API void cj2k_encoder_close(Cj2kEncoder *encoder);
CJ2K_API Cj2kBackendKind cj2k_encoder_backend(const Cj2kEncoder *encoder);
/* As cj2k_decoder_why_cpu. */
CJ2K_API const char *cj2k_encoder_why_cpu(const Cj2kEncoder *encoder);
/* What open() overruled or had to do otherwise, one sentence; NULL when nothing. */
CJ2K_API const char *cj2k_encoder_warning(const Cj2kEncoder *encoder);
/* Rsiz of the codestreams to come. */
CJ2K_API uint16_t cj2k_encoder_rsiz(const Cj2kEncoder *encoder);

/* Changes rate parameters (quality, quant_step, psnr, bitrate, max_frame_bytes, bits_per_pixel,
 * max_component_bytes) from the next submitted frame on; rate_control itself may change among the
 * lossy kinds only. A budget that cannot hold the headers is refused. On error the old rate stays.
 */
CJ2K_API Cj2kStatus cj2k_encoder_set_rate(Cj2kEncoder *encoder, const Cj2kEncoderParams *params,
                                          Cj2kError *error);

/* Submits one picture; blocks while frames_in_flight frames are inside and none was received. With
 * one frame in flight on the GPU, from page-locked or device memory, this thread also starts the
 * GPU, and the thread that receives does the rest, which is sooner than by others. */
CJ2K_API Cj2kStatus cj2k_encoder_submit(Cj2kEncoder *encoder, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

typedef struct {
  Cj2kStatus status;
  Cj2kError error; /* as in Cj2kFrame */
  void *user;
  const uint8_t *data; /* codestream or file, valid until cj2k_encoder_release */
  size_t size;
  bool fallback; /* done by the CPU back end in place of the chosen one */
  void *priv;
} Cj2kPacket;

CJ2K_API Cj2kStatus cj2k_encoder_receive(Cj2kEncoder *encoder, Cj2kPacket *packet);
/* From any thread. A packet may outlive its encoder: after close(), encoder is NULL here. */
CJ2K_API void cj2k_encoder_release(Cj2kEncoder *encoder, Cj2kPacket *packet);
/* Memory for pictures, as cj2k_decoder_alloc. */
CJ2K_API void *cj2k_encoder_alloc(Cj2kEncoder *encoder, Cj2kMemoryKind kind, size_t size);
CJ2K_API void cj2k_encoder_free(Cj2kEncoder *encoder, Cj2kMemoryKind kind, void *memory);
CJ2K_API void cj2k_encoder_get_stats(Cj2kEncoder *encoder, Cj2kStats *stats);

#ifdef __cplusplus
}
#endif
#endif
