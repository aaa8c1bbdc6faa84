/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file
 * The encoder of cj2k.h: its parameters, frames as a whole and row by row, slices.
 */
#ifndef CJ2K_ENCODER_H
#define CJ2K_ENCODER_H

#include "cj2k_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Encoder
 * @{ */

/** An encoder, created by cj2k_encoder_open. */
typedef struct Cj2kEncoder Cj2kEncoder;

/** Coder of the code-blocks. */
typedef enum {
  CJ2K_CODER_MQ = 0, /**< the arithmetic coder of T.800 annex C */
  CJ2K_CODER_HT,     /**< High-Throughput, T.814 */
} Cj2kBlockCoder;
/** Order of the packets of a tile (T.800 A.6.1 and B.12), named from what changes slowest to what
 * changes fastest. */
typedef enum {
  CJ2K_LRCP = 0, /**< layer, resolution, component, position */
  CJ2K_RLCP,     /**< resolution, layer, component, position */
  CJ2K_RPCL,     /**< resolution, position, component, layer */
  CJ2K_PCRL,     /**< position, component, resolution, layer */
  CJ2K_CPRL,     /**< component, position, resolution, layer */
} Cj2kProgression;
/** What decides the size of a frame; see docs/properties.md. */
typedef enum {
  /** Chosen by the parameter that is set: CBR for a budget, QSTEP for quant_step, PSNR for psnr,
     QUALITY for quality. If none is set, the profile chooses (CBR for cinema, LOSSLESS for a
     reversible one), else it is QUALITY. */
  CJ2K_RATE_AUTO = 0,
  CJ2K_RATE_QUALITY,  /**< constant quality, from `quality` */
  CJ2K_RATE_LOSSLESS, /**< no loss: every bit is restored */
  CJ2K_RATE_CBR,      /**< a budget in bytes that no frame exceeds */
  CJ2K_RATE_QSTEP,    /**< constant quantisation step, from `quant_step` */
  CJ2K_RATE_PSNR,     /**< constant distortion, from `psnr` */
} Cj2kRateControl;
/** Code-block styles, with the values of SPcod (T.800 table A.19). An encoder sets the HT bits by
 * block_coder. */
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
/** What begins a new tile-part; the values may be combined. */
enum {
  CJ2K_TILE_PARTS_RESOLUTION = 1, /**< each resolution */
  CJ2K_TILE_PARTS_LAYER = 2,      /**< each quality layer */
  CJ2K_TILE_PARTS_COMPONENT = 4,  /**< each component */
};
/** Whether codestreams have PLT marker segments: the lengths of packets, which let decoders read
 * packets with several threads (T.800 A.7.3). They take one to five bytes a packet. */
typedef enum {
  CJ2K_PLT_OFF = 0, /**< no */
  CJ2K_PLT_ON = 1,  /**< yes; an error with slices */
  CJ2K_PLT_AUTO,    /**< with CJ2K_CODER_HT and with CJ2K_STYLE_BYPASS, if there are 4096
                       code-blocks a tile or more, 16 a packet or more, and one layer, and neither
                       SOP, CJ2K_STYLE_TERMALL nor slices: where reading packets is much of what a
                       decoder does, and several threads can do it */
} Cj2kPlt;
/** Profiles of T.800 A.10 whose limits an encoder keeps; see docs/profiles.md. */
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
/** Transform of the first three components (T.800 annex G): RCT with the 5/3 filter, ICT with the
 * 9/7 filter. */
typedef enum {
  CJ2K_MCT_AUTO = 0, /**< on for three components of equal sampling in RGB */
  CJ2K_MCT_ON,       /**< on */
  CJ2K_MCT_OFF,      /**< off */
} Cj2kMct;
/** How errors of different frequencies and colours are weighed against each other. */
typedef enum {
  CJ2K_VISUAL_AUTO = 0, /**< CJ2K_RATE_QUALITY: its own weights, for the distance of JPEG's tables;
                           else as CJ2K_VISUAL_NONE */
  CJ2K_VISUAL_NONE,     /**< least squared error: best PSNR */
  CJ2K_VISUAL_CSF,      /**< least visible error, by the contrast sensitivity of the eye at
                           viewing_distance */
} Cj2kVisualWeights;
/** How much time rate control may take for a better picture at the same bytes. */
typedef enum {
  CJ2K_EFFORT_FAST = 0, /**< each coefficient is quantised by itself */
  CJ2K_EFFORT_BEST, /**< HT: coefficients are quantised by rate and distortion; without effect on MQ
                       and without step sizes */
} Cj2kRateEffort;
/** Sets of parameters for latency below a frame; see docs/rate-control.md. */
typedef enum {
  CJ2K_LATENCY_FRAME = 0, /**< none: frames are coded whole */
  CJ2K_LATENCY_LOW,       /**< slices of 64 rows */
  CJ2K_LATENCY_ULTRA,     /**< slices of 32 rows, three levels */
} Cj2kLatencyProfile;
/** What the channel beside grey or three colours is. */
typedef enum {
  CJ2K_ALPHA_AUTO = 0,      /**< as the image's channels say */
  CJ2K_ALPHA_STRAIGHT,      /**< opacity; the colours are not multiplied by it */
  CJ2K_ALPHA_PREMULTIPLIED, /**< opacity by which the colours have been multiplied */
  CJ2K_ALPHA_UNSPECIFIED,   /**< no opacity */
} Cj2kAlpha;
/** What a Cj2kPacket holds. */
typedef enum {
  CJ2K_FILE_J2K = 0, /**< a codestream */
  CJ2K_FILE_JP2,     /**< a JP2 file (T.800 annex I) */
  CJ2K_FILE_JPH,     /**< a JPH file (T.814 annex D) */
} Cj2kFileFormat;
/** Transfer curve that turned linear light into R'G'B', for rgb_to_xyz. */
typedef enum {
  CJ2K_TRANSFER_AUTO = 0, /**< the same as CJ2K_TRANSFER_BT709 */
  CJ2K_TRANSFER_BT709,    /**< camera curve of BT.709, BT.601 and BT.2020 */
  CJ2K_TRANSFER_SRGB,     /**< IEC 61966-2-1 */
  CJ2K_TRANSFER_LINEAR,   /**< no curve: R'G'B' is linear */
  CJ2K_TRANSFER_GAMMA18,  /**< power of 1.8 */
  CJ2K_TRANSFER_GAMMA20,  /**< power of 2.0 */
  CJ2K_TRANSFER_GAMMA22,  /**< power of 2.2 */
  CJ2K_TRANSFER_GAMMA24,  /**< power of 2.4, BT.1886: the curve by which a studio display shows
                             BT.709 video */
  CJ2K_TRANSFER_GAMMA26,  /**< power of 2.6: digital cinema */
  CJ2K_TRANSFER_GAMMA28,  /**< power of 2.8 */
  CJ2K_TRANSFER_PQ,       /**< PQ (SMPTE ST 2084); X'Y'Z' then has PQ as well, for HDR cinema */
  CJ2K_TRANSFER_HLG, /**< HLG (BT.2100), as a display with a peak of hlg_peak shows it; X'Y'Z' then
                        has PQ. Done by the CPU back end */
} Cj2kTransfer;
/** Primaries and white point of R'G'B', for rgb_to_xyz. White is not adapted: it keeps its
 * chromaticity. */
typedef enum {
  CJ2K_PRIMARIES_AUTO = 0, /**< the same as CJ2K_PRIMARIES_BT709 */
  CJ2K_PRIMARIES_BT709,    /**< BT.709 and sRGB, white D65 */
  CJ2K_PRIMARIES_BT2020,   /**< BT.2020 and BT.2100, white D65 */
  CJ2K_PRIMARIES_P3_D65,   /**< SMPTE EG 432-1, white D65 */
  CJ2K_PRIMARIES_P3_DCI,   /**< SMPTE RP 431-2, white of the cinema projector */
} Cj2kPrimaries;
/** Conversion of R'G'B' to 12 bit X'Y'Z' (SMPTE ST 428-1). */
typedef enum {
  CJ2K_XYZ_AUTO = 0, /**< on with a cinema profile if the colour of the image is CJ2K_COLOUR_SRGB */
  CJ2K_XYZ_ON,       /**< on */
  CJ2K_XYZ_OFF,      /**< off: with a cinema profile the image is X'Y'Z' already */
} Cj2kXyzConversion;

/**
 * Called for each slice of a frame, in codestream order, on a thread of the encoder, before the
 * frame can be received: the first slice begins with the headers, the last one ends with EOC.
 * Slices of different frames come one frame after the other. `user` is that of cj2k_encoder_submit
 * or cj2k_encoder_begin; `data` is valid during the call. A frame that fails or is dropped ends
 * with a call whose `data` is NULL, and `last` true. All slices of another one together are the
 * data of the Cj2kPacket. A slice is coded when the one before has left; with CUDA those of MQ
 * whose rows are there together; with several GPUs the whole frame before the first. The function
 * must not call the encoder, and must restore what it changes of its thread, which other codecs use
 * as well.
 */
typedef void (*Cj2kSliceReady)(void *slice_user, void *user, const uint8_t *data, size_t size,
                               bool last);

#define CJ2K_MAX_LAYERS         64   /**< most quality layers that an encoder writes */
#define CJ2K_MAX_BITS_PER_PIXEL 1000 /**< largest bits_per_pixel */
#define CJ2K_MAX_FRAME_RATE     1e6  /**< largest frame_rate */

#define CJ2K_MAX_REGIONS 32 /**< most regions of interest of a frame */

/** A region of interest. The squared error of its samples counts `weight` times. */
typedef struct {
  uint32_t x;      /**< first column, in pixels from the left edge of the picture */
  uint32_t y;      /**< first row, in pixels from its upper edge */
  uint32_t width;  /**< columns; those right of the picture are ignored */
  uint32_t height; /**< rows; those below the picture are ignored */
  double weight;   /**< 1/64..64; 4 halves the error of what is inside against what is outside */
} Cj2kRegion;

/** Parameters of an encoder; cj2k_encoder_params_init fills in defaults. A number that is 0 is not
 * set. */
typedef struct {
  Cj2kBackendKind backend; /**< back end that encodes */
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
  uint32_t frames_in_flight; /**< 1..CJ2K_MAX_IN_FLIGHT; 0: 2; cj2k_encoder_open refuses more */
  void *cuda_context;        /**< as in Cj2kDecoderParams */
  Cj2kTrace trace;           /**< as in Cj2kDecoderParams */
  void *trace_user;          /**< first argument of trace */

  Cj2kBlockCoder block_coder;   /**< coder of the code-blocks */
  Cj2kRateControl rate_control; /**< what decides the size of a frame */
  uint32_t quality;             /**< for CJ2K_RATE_QUALITY: 1..100; 0: 85 */
  double
      quant_step; /**< for CJ2K_RATE_QSTEP: step relative to full scale, in (0, 0.5], e.g. 1/4096 */
  double psnr;    /**< for CJ2K_RATE_PSNR: dB, 10..120; 0: 45 */
  /** What each rate control optimises. With CJ2K_VISUAL_CSF psnr is a weighted PSNR. */
  Cj2kVisualWeights visual_weights;
  double viewing_distance; /**< for CJ2K_VISUAL_CSF: pixels of the reference grid in a degree of the
                              field of view, 5..1000; 0: 25 */
  Cj2kRateEffort rate_effort; /**< time for a better picture at the same bytes */
  /** Budget in kbit/s; needs frame_rate. If several of bitrate, bits_per_pixel and max_frame_bytes
   * are set, the smallest holds. They make CJ2K_RATE_AUTO choose CJ2K_RATE_CBR, unless quality,
   * psnr or quant_step is set. With CJ2K_RATE_QUALITY, CJ2K_RATE_PSNR and CJ2K_RATE_QSTEP they are
   * ceilings: a frame that would be larger is coded like one of CJ2K_RATE_CBR, with the visual
   * weights that it would have had. CJ2K_RATE_LOSSLESS takes max_frame_bytes alone, and a frame
   * that is larger fails. */
  uint64_t bitrate;
  double bits_per_pixel;    /**< budget in bits per pixel, up to CJ2K_MAX_BITS_PER_PIXEL */
  uint64_t max_frame_bytes; /**< ceiling for a whole codestream in bytes, up to 2^32 - 1 */
  /** Mean rate of the film in kbit/s; needs frame_rate; 0: none. Any k successive frames take at
   * most k + average_window times the bytes of a frame at this rate, the first k at most
   * k + average_window / 2 times, and a whole rate_period, unless it is 0, no more than its mean.
   * With CJ2K_RATE_CBR, which it makes CJ2K_RATE_AUTO choose, the steps of each frame are those
   * with which frames like the last ones keep the rate, so that hard frames get more bytes than
   * easy ones; bitrate, bits_per_pixel and max_frame_bytes limit them. With CJ2K_RATE_QUALITY,
   * CJ2K_RATE_PSNR and CJ2K_RATE_QSTEP it is one more ceiling. */
  uint64_t average_bitrate;
  uint32_t average_window; /**< frames, 16..100000; default 120 */
  /** Ceiling for the packets of each component in bytes, up to 2^32 - 1. With CJ2K_RATE_CBR,
   * without an average, other components take what one may not; else they have what the target asks
   * for. With CJ2K_PROFILE_CINEMA_4K the highest resolution does not count, as in its own limit
   * (docs/profiles.md). */
  uint64_t max_component_bytes;
  /** Regions of interest, for CJ2K_RATE_CBR without an average: bytes go where they save most of
   * the weighted error. Where regions overlap the last one holds; all else has a weight of 1. */
  uint32_t num_regions;
  Cj2kRegion regions[CJ2K_MAX_REGIONS]; /**< num_regions entries */
  uint32_t frame_overhead; /**< bytes that the caller adds to each codestream, such as a box header;
                              they count towards bitrate and max_frame_bytes */
  uint8_t num_resolutions; /**< decomposition levels + 1: 1..33; default 6 */
  uint16_t codeblock_width;    /**< a power of 2, 4..1024; default 64 */
  uint16_t codeblock_height;   /**< a power of 2, 4..1024; default 64; width times height is at most
                                  4096 */
  uint8_t codeblock_style;     /**< sum of CJ2K_STYLE_*, without HT and HT_MIXED */
  Cj2kProgression progression; /**< order of the packets */
  uint16_t num_layers;         /**< quality layers, 1..CJ2K_MAX_LAYERS; default 1 */
  uint16_t num_layer_rates; /**< entries used in layer_rates; if there are several and num_layers is
                               1, they also set num_layers */
  double layer_rates[CJ2K_MAX_LAYERS]; /**< cumulative bits per pixel of layer i; 0: spread
                                          logarithmically */
  uint8_t num_precincts; /**< entries used in precinct_width and precinct_height; 0: maximal
                            precincts (2^15) */
  uint8_t
      precinct_width[CJ2K_MAX_LEVELS + 1]; /**< log2 of the widths; [0] is the highest resolution,
                                              and the last entry is repeated for the lower ones */
  uint8_t precinct_height[CJ2K_MAX_LEVELS + 1]; /**< log2 of the heights, in the same order */
  uint32_t tile_width;                          /**< XTsiz; 0: one tile covers the width */
  uint32_t tile_height;                         /**< YTsiz; 0: one tile covers the height */
  uint32_t image_x0;                            /**< XOsiz */
  uint32_t image_y0;                            /**< YOsiz */
  uint32_t tile_x0;                             /**< XTOsiz */
  uint32_t tile_y0;                             /**< YTOsiz */
  uint8_t tile_parts;                           /**< sum of CJ2K_TILE_PARTS_* */
  Cj2kMct mct;                                  /**< transform of the first three components */
  bool reversible_transform; /**< use the 5/3 filter for lossy coding too; LOSSLESS implies it */
  uint8_t guard_bits;        /**< 1..7; 0: 2, or 1 with CJ2K_PROFILE_CINEMA_2K */
  Cj2kProfile profile;       /**< profile whose limits the codestreams keep */
  bool profile_lenient;      /**< a parameter that contradicts the profile is overruled and named by
                                cj2k_encoder_warning; else it is refused */
  /** Main level of the broadcast and IMF profiles. 0: no limit. -1: the lowest that fits the image,
   * frame_rate and the budget; see docs/profiles.md. */
  int8_t main_level;
  int8_t sub_level;  /**< sub-level of the IMF profiles; 0 and -1 as in main_level */
  double frame_rate; /**< frames per second, for bitrate and the limits of profiles, up to
                        CJ2K_MAX_FRAME_RATE; 0: unknown */
  bool sop;          /**< write SOP marker segments */
  bool eph;          /**< write EPH markers */
  bool tlm;          /**< write TLM marker segments */
  Cj2kPlt plt;       /**< whether PLT marker segments are written */
  /** Code and hand out slice by slice: a slice has all packets whose precincts begin at the same
   * row. It needs CJ2K_PCRL and precincts of little height, one tile, one layer, no TLM, PLT,
   * tile-parts and boxes; a budget needs the 9/7 filter. Psot is 0. Steps are fixed before the
   * first slice, from what an earlier frame took; a slice that takes too much gives up bit-planes
   * (HT) or passes (MQ), so that no frame exceeds its budget. rate_period is taken for 0. The bytes
   * do not depend on slice_ready. */
  bool slices;
  Cj2kSliceReady slice_ready; /**< NULL: nobody is told */
  void *slice_user;           /**< first argument of slice_ready */
  /** For slices with a budget: the bit buffer of a link of constant rate, in lines of the picture.
   * What has left at the end of a slice is at most the budget's share of the lines so far and of so
   * many more; only headers, also those of empty packets, may exceed that. 0: the frame's height.
   */
  uint32_t slice_buffer_lines;
  /** Sets slices, and those of progression, num_resolutions, precinct_width, precinct_height,
   * codeblock_width and codeblock_height that have their defaults. Other values stay, and are an
   * error if slices do not allow them. It cannot be combined with a profile. */
  Cj2kLatencyProfile latency_profile;
  /** Text of a COM marker segment: UTF-8, of characters that ISO 8859-15 has. NULL: none. */
  const char *comment;
  /** What a Cj2kPacket holds. JP2 with the HT coder becomes JPH, with a warning (T.814 D.2). */
  Cj2kFileFormat file_format;
  /** What the last of two or four components is, in the channel definition box of a JP2 or JPH
   * file. Samples stay as they are. */
  Cj2kAlpha alpha;
  /** Whether R'G'B' is converted to X'Y'Z' before coding. R'G'B' is full range. */
  Cj2kXyzConversion rgb_to_xyz;
  Cj2kTransfer xyz_transfer; /**< transfer curve of the R'G'B' that is converted */
  double hlg_peak; /**< for CJ2K_TRANSFER_HLG: peak luminance of the display in cd/m2, 100..10000;
                      0: 1000 */
  Cj2kPrimaries xyz_primaries; /**< primaries of the R'G'B' that is converted */
  /** With a budget a frame begins with what an earlier frame found. This is forgotten at each frame
   * whose number is a multiple of rate_period, so that a film which is cut there and encoded in
   * parts, each with its first_frame, has the bytes of one run. 0, the default: never. For a film
   * in parts set it, such as to 240. It costs latency: with several frames in flight, those behind
   * such a frame wait until it has been searched. */
  uint32_t rate_period;
  uint32_t first_frame; /**< number, counted from 0, of the first frame that is submitted; only for
                           rate_period */
  bool low_latency;     /**< as in Cj2kDecoderParams */
  Cj2kComponentStreams component_streams; /**< CUDA only, for upload and transform of pictures that
                                             are transformed at once */
} Cj2kEncoderParams;

/** Fills *params with defaults: cuda_device is -1, frames_in_flight 2, and there are six
 * resolutions, code-blocks of 64 x 64, one layer, and average_window 120. */
CJ2K_API void cj2k_encoder_params_init(Cj2kEncoderParams *params);
/** Sets a parameter from text, under the name that it has in the tools and elements: "rate-control"
 * to "cbr", "precincts" to "256x256,128x128". On CJ2K_ERROR_ARGUMENT nothing has changed, and
 * *error says which value is expected. For "comment" and "cuda-devices" the parameter points to
 * `value` itself afterwards, which must stay there until the encoder is opened. */
CJ2K_API Cj2kStatus cj2k_encoder_params_set(Cj2kEncoderParams *params, const char *name,
                                            const char *value, Cj2kError *error);

/** The images that will be submitted: size, components with depth, sign and sub-sampling, and
 * colour. The encoder derives x0 to y1 of the components from width, height and the image_x0 and
 * image_y0 of the parameters. */
typedef struct {
  uint32_t width;                  /**< Xsiz - XOsiz: columns of the reference grid */
  uint32_t height;                 /**< Ysiz - YOsiz: rows of the reference grid */
  uint32_t num_components;         /**< number of entries in components, and in channels */
  const Cj2kComponent *components; /**< only dx, dy, depth, is_signed are read */
  const Cj2kChannel *channels;     /**< NULL: component i is colour i+1 */
  Cj2kColour colour;               /**< colour space of the samples */
  /** Written into a file beside `colour`: into a JP2 file as a second colr box, which its readers
   * may ignore, and into a JPH file as the only one. */
  Cj2kCicp cicp;
} Cj2kEncoderImage;

/** Opens an encoder. Returns NULL and fills *error on failure; CJ2K_ERROR_ARGUMENT names the
 * parameters that contradict each other, the image or the profile. `layout` describes the pictures
 * that will be submitted. The encoder copies all three, and the texts and lists to which they
 * point, but for what is behind cuda_context and trace_user. */
CJ2K_API Cj2kEncoder *cj2k_encoder_open(const Cj2kEncoderParams *params,
                                        const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                                        Cj2kError *error);
/** Waits for frames in flight, drops the one that was begun, if any, and frees everything. NULL is
 * allowed. */
CJ2K_API void cj2k_encoder_close(Cj2kEncoder *encoder);
/** The back end in use, never CJ2K_BACKEND_AUTO. */
CJ2K_API Cj2kBackendKind cj2k_encoder_backend(const Cj2kEncoder *encoder);
/** Why CJ2K_BACKEND_AUTO took the CPU, as cj2k_decoder_why_cpu says it of a decoder. */
CJ2K_API const char *cj2k_encoder_why_cpu(const Cj2kEncoder *encoder);
/** What cj2k_encoder_open overruled or changed: one sentence, or several with "; " between them,
 * valid until the encoder is closed. NULL if nothing. */
CJ2K_API const char *cj2k_encoder_warning(const Cj2kEncoder *encoder);
/** What decides how many bytes a frame takes, never CJ2K_RATE_AUTO. Called on the thread that
 * submits. */
CJ2K_API Cj2kRateControl cj2k_encoder_rate_control(const Cj2kEncoder *encoder);
/** Rsiz of the codestreams that the encoder writes. */
CJ2K_API uint16_t cj2k_encoder_rsiz(const Cj2kEncoder *encoder);

/** Changes the rate parameters (quality, quant_step, psnr, bitrate, max_frame_bytes,
 * bits_per_pixel, max_component_bytes, average_bitrate) and the regions from the next frame
 * on that is submitted or begun.
 * rate_control itself may change only from one lossy kind to another, and average_bitrate neither
 * from nor to 0. A budget that cannot hold the headers is refused. On
 * error the old rate stays. It belongs to the thread that submits. */
CJ2K_API Cj2kStatus cj2k_encoder_set_rate(Cj2kEncoder *encoder, const Cj2kEncoderParams *params,
                                          Cj2kError *error);

/** Submits one picture, which must stay untouched until the frame was received. Blocks while
 * frames_in_flight frames are in flight. With one frame in flight on the GPU, from page-locked or
 * device memory, the calling thread also starts the GPU and the receiving thread does the rest,
 * because handing the work to other threads would take longer. */
CJ2K_API Cj2kStatus cj2k_encoder_submit(Cj2kEncoder *encoder, const Cj2kPicture *picture,
                                        void *user, Cj2kError *error);

/**
 * Begins a frame whose picture comes row by row, for cj2k_encoder_append and cj2k_encoder_end,
 * which belong to the thread that submits and tell how many rows are there. picture and user are
 * those of cj2k_encoder_submit. Blocks while frames_in_flight frames are in flight; the new one is
 * in flight from cj2k_encoder_end on. No other frame can be submitted before.
 *
 * With `slices` each slice is coded as soon as the rows are there on which it depends, so that
 * slice_ready is called while the rest is on its way. These rows end below the
 * slice, by up to 3 * 2^levels - 3 (5/3: 2^levels - 1) rows of a component. A thread of the encoder
 * waits for them. With CUDA the code-blocks of all MQ slices whose rows are there are coded
 * together. A frame whose steps are searched with the whole picture (psnr, and a budget without an
 * earlier frame to learn from) needs all rows before its first slice. Without slices, and with
 * several GPUs, the frame is submitted when it ends. The bytes are the same in all cases.
 */
CJ2K_API Cj2kStatus cj2k_encoder_begin(Cj2kEncoder *encoder, const Cj2kPicture *picture, void *user,
                                       Cj2kError *error);
/** Tells that the picture that was begun is there down to row `rows`, exclusive, counted on the
 * reference grid from its top: a component with sub-sampling down to the last row that begins above
 * `rows`. These samples must stay untouched until the frame was received. It does not wait for
 * slices to be coded. CJ2K_ERROR_ARGUMENT: no frame was begun, or `rows` is less than in the last
 * call or more than the height; nothing has changed then. */
CJ2K_API Cj2kStatus cj2k_encoder_append(Cj2kEncoder *encoder, uint32_t rows, Cj2kError *error);
/** Ends the frame: all rows are there. It is then received like any other. */
CJ2K_API Cj2kStatus cj2k_encoder_end(Cj2kEncoder *encoder, Cj2kError *error);
/** Forgets the frame that was begun, if there is one: it is not received. If a slice has left, or
 * is being coded, this waits for it, and unless that was the last one slice_ready is called as for
 * a frame that fails. The picture is the caller's again. */
CJ2K_API void cj2k_encoder_drop(Cj2kEncoder *encoder);

/** A frame that was encoded. */
typedef struct {
  Cj2kStatus status;   /**< how this frame ended */
  Cj2kError error;     /**< as in Cj2kFrame */
  void *user;          /**< as submitted */
  const uint8_t *data; /**< codestream or file, valid until cj2k_encoder_release */
  size_t size;         /**< size of data in bytes */
  bool fallback;       /**< the CPU back end did it in place of the chosen one */
  bool redone;         /**< a GPU failed, and another one did the frame again; `error` says why */
  void *priv;          /**< for the library's own use */
} Cj2kPacket;

/** Waits for the oldest frame in flight. CJ2K_OK: *packet was filled in, and packet->status says
 * how the frame ended. CJ2K_END: no frame is in flight; the call does not wait for one to be
 * submitted. The frame that was received is no longer in flight, and its picture is the caller's
 * again. */
CJ2K_API Cj2kStatus cj2k_encoder_receive(Cj2kEncoder *encoder, Cj2kPacket *packet);
/** Frees the bytes of a packet. Release each packet once, from any thread. A packet may outlive its
 * encoder: after cj2k_encoder_close pass NULL as `encoder`. */
CJ2K_API void cj2k_encoder_release(Cj2kEncoder *encoder, Cj2kPacket *packet);
/** Allocates memory for pictures, like cj2k_decoder_alloc. */
CJ2K_API void *cj2k_encoder_alloc(Cj2kEncoder *encoder, Cj2kMemoryKind kind, size_t size);
/** Frees what cj2k_encoder_alloc returned, with the same kind. NULL is allowed. */
CJ2K_API void cj2k_encoder_free(Cj2kEncoder *encoder, Cj2kMemoryKind kind, void *memory);
/** Changes frames_in_flight (1..CJ2K_MAX_IN_FLIGHT) from the next frame on. Rate control goes on as
 * if nothing had happened: bytes do not depend on it. Called on the thread that submits, while no
 * frame is in flight and none was begun. On CJ2K_ERROR_ARGUMENT nothing has changed; after another
 * error there is no memory, and frames may fail. */
CJ2K_API Cj2kStatus cj2k_encoder_set_frames_in_flight(Cj2kEncoder *encoder, uint32_t frames,
                                                      Cj2kError *error);
/** Fills *stats. May be called from any thread. */
CJ2K_API void cj2k_encoder_get_stats(Cj2kEncoder *encoder, Cj2kStats *stats);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
