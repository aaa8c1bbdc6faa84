/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder_options.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

/* --------------------------------------------------------------------------- words --- */

/* clang-format off */
static const Cj2kOptionWord block_coders[] = {
  { CJ2K_CODER_MQ, "mq", "JPEG 2000 Part 1 (MQ)" },
  { CJ2K_CODER_HT, "ht", "High-Throughput JPEG 2000 (HTJ2K)" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord rate_controls[] = {
  { CJ2K_RATE_AUTO, "auto", "By the value that is set (quant-step: qstep, psnr, quality, a budget alone: cbr), else by the profile, else quality" },
  { CJ2K_RATE_QUALITY, "quality", "Constant quality, by `quality`, below the ceilings that are set" },
  { CJ2K_RATE_LOSSLESS, "lossless", "Lossless" },
  { CJ2K_RATE_CBR, "cbr", "No frame above its budget, by `bitrate`, `bits-per-pixel`, `max-frame-bytes` or the profile; no film above `average-bitrate`" },
  { CJ2K_RATE_QSTEP, "qstep", "Constant step size, by `quant-step`, below the ceilings that are set" },
  { CJ2K_RATE_PSNR, "psnr", "Constant PSNR, by `psnr`, below the ceilings that are set" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord visual_weights[] = {
  { CJ2K_VISUAL_AUTO, "auto", "With rate-control=quality its own weights, else none" },
  { CJ2K_VISUAL_NONE, "none", "None: least squared error, best PSNR" },
  { CJ2K_VISUAL_CSF, "csf", "Least visible error, by the contrast sensitivity of the eye at `viewing-distance`" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord progressions[] = {
  { CJ2K_LRCP, "lrcp", "Layer-resolution-component-position" },
  { CJ2K_RLCP, "rlcp", "Resolution-layer-component-position" },
  { CJ2K_RPCL, "rpcl", "Resolution-position-component-layer" },
  { CJ2K_PCRL, "pcrl", "Position-component-resolution-layer" },
  { CJ2K_CPRL, "cprl", "Component-position-resolution-layer" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord mcts[] = {
  { CJ2K_MCT_AUTO, "auto", "On for RGB" },
  { CJ2K_MCT_ON, "on", "On" },
  { CJ2K_MCT_OFF, "off", "Off" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord profiles[] = {
  { CJ2K_PROFILE_NONE, "none", "No profile" },
  { CJ2K_PROFILE_CINEMA_2K, "cinema-2k", "Digital cinema 2K" },
  { CJ2K_PROFILE_CINEMA_4K, "cinema-4k", "Digital cinema 4K" },
  { CJ2K_PROFILE_BROADCAST_SINGLE, "broadcast-single", "Broadcast contribution, single tile" },
  { CJ2K_PROFILE_BROADCAST_MULTI, "broadcast-multi", "Broadcast contribution, multi-tile" },
  { CJ2K_PROFILE_BROADCAST_MULTI_R, "broadcast-multi-r", "Broadcast contribution, multi-tile reversible" },
  { CJ2K_PROFILE_IMF_2K, "imf-2k", "Interoperable master 2K" },
  { CJ2K_PROFILE_IMF_4K, "imf-4k", "Interoperable master 4K" },
  { CJ2K_PROFILE_IMF_8K, "imf-8k", "Interoperable master 8K" },
  { CJ2K_PROFILE_IMF_2K_R, "imf-2k-r", "Interoperable master 2K, reversible" },
  { CJ2K_PROFILE_IMF_4K_R, "imf-4k-r", "Interoperable master 4K, reversible" },
  { CJ2K_PROFILE_IMF_8K_R, "imf-8k-r", "Interoperable master 8K, reversible" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord efforts[] = {
  { CJ2K_EFFORT_FAST, "fast", "Each coefficient is quantised by itself" },
  { CJ2K_EFFORT_BEST, "best", "HTJ2K: coefficients are quantised by rate and distortion, 0.2 to 0.4 dB more, which takes time: on the CPU five times as much" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord transfers[] = {
  { CJ2K_TRANSFER_AUTO, "auto", "As the colorimetry of the video says; bt709 where nothing does" },
  { CJ2K_TRANSFER_BT709, "bt709", "Camera curve of BT.709, BT.601 and BT.2020" },
  { CJ2K_TRANSFER_SRGB, "srgb", "sRGB (IEC 61966-2-1)" },
  { CJ2K_TRANSFER_LINEAR, "linear", "Linear light" },
  { CJ2K_TRANSFER_GAMMA18, "gamma18", "Power of 1.8" },
  { CJ2K_TRANSFER_GAMMA20, "gamma20", "Power of 2.0" },
  { CJ2K_TRANSFER_GAMMA22, "gamma22", "Power of 2.2" },
  { CJ2K_TRANSFER_GAMMA24, "gamma24", "Power of 2.4 (BT.1886, a studio display)" },
  { CJ2K_TRANSFER_GAMMA26, "gamma26", "Power of 2.6 (digital cinema)" },
  { CJ2K_TRANSFER_GAMMA28, "gamma28", "Power of 2.8" },
  { CJ2K_TRANSFER_PQ, "pq", "PQ (SMPTE ST 2084); X'Y'Z' then has PQ as well" },
  { CJ2K_TRANSFER_HLG, "hlg", "HLG (BT.2100) on a display of `hlg-peak`; X'Y'Z' then has PQ; done by the CPU" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord primaries[] = {
  { CJ2K_PRIMARIES_AUTO, "auto", "As the colorimetry of the video says; bt709 where nothing does" },
  { CJ2K_PRIMARIES_BT709, "bt709", "BT.709 and sRGB" },
  { CJ2K_PRIMARIES_BT2020, "bt2020", "BT.2020 and BT.2100" },
  { CJ2K_PRIMARIES_P3_D65, "p3-d65", "P3 with white D65 (SMPTE EG 432-1)" },
  { CJ2K_PRIMARIES_P3_DCI, "p3-dci", "P3 with the white of cinema projectors (SMPTE RP 431-2)" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord alphas[] = {
  { CJ2K_ALPHA_AUTO, "auto", "As the picture's file says; straight where nothing does" },
  { CJ2K_ALPHA_STRAIGHT, "straight", "Opacity; the colours are not multiplied by it" },
  { CJ2K_ALPHA_PREMULTIPLIED, "premultiplied", "Opacity by which the colours have been multiplied" },
  { CJ2K_ALPHA_UNSPECIFIED, "unspecified", "Not opacity; what it is, is not said" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord conversions[] = {
  { CJ2K_XYZ_AUTO, "auto", "With a cinema profile, when the picture is RGB" },
  { CJ2K_XYZ_ON, "on", "Always" },
  { CJ2K_XYZ_OFF, "off", "Never: with a cinema profile the picture is X'Y'Z' already" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord styles[] = {
  { CJ2K_STYLE_BYPASS, "bypass", "Selective arithmetic coding bypass" },
  { CJ2K_STYLE_RESET, "reset", "Reset of contexts at pass ends" },
  { CJ2K_STYLE_TERMALL, "termall", "Termination at each pass" },
  { CJ2K_STYLE_CAUSAL, "causal", "Vertically causal contexts" },
  { CJ2K_STYLE_PTERM, "pterm", "Predictable termination" },
  { CJ2K_STYLE_SEGMARK, "segmark", "Segmentation symbols" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord plts[] = {
  { CJ2K_PLT_OFF, "false", "Write none" },
  { CJ2K_PLT_ON, "true", "Write them" },
  { CJ2K_PLT_AUTO, "auto", "With block-coder=ht and with codeblock-style=bypass, where reading packets is much of what a decoder does, if there are 4096 code-blocks a tile or more, 16 a packet or more, and one layer, and neither sop, termall nor slices" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord latency_profiles[] = {
  { CJ2K_LATENCY_FRAME, "frame", "Frames are coded whole" },
  { CJ2K_LATENCY_LOW, "low", "Slices of 64 rows" },
  { CJ2K_LATENCY_ULTRA, "ultra", "Slices of 32 rows, three levels" },
  { 0, NULL, NULL } };

static const Cj2kOptionWord tile_parts[] = {
  { CJ2K_TILE_PARTS_RESOLUTION, "resolution", "One for each resolution" },
  { CJ2K_TILE_PARTS_LAYER, "layer", "One for each layer" },
  { CJ2K_TILE_PARTS_COMPONENT, "component", "One for each component" },
  { 0, NULL, NULL } };
/* clang-format on */

const char *cj2k_rate_control_name(Cj2kRateControl rate_control)
{
  return cj2k_option_word(rate_controls, (int64_t)rate_control);
}

/* --------------------------------------------------------------------------- lists --- */

static bool parse_layer_rates(const char *text, void *user)
{
  Cj2kEncoderParams *params = user;
  double rates[CJ2K_MAX_LAYERS] = {0};
  uint16_t n = 0;

  for (const char *at = text; *at; n++) {
    if (n == CJ2K_MAX_LAYERS ||
        !cj2k_option_read_number(&at, 0, CJ2K_MAX_BITS_PER_PIXEL, &rates[n]))
      return false;
    if (*at && (*at++ != ',' || !*at))
      return false;
  }
  memcpy(params->layer_rates, rates, sizeof rates);
  params->num_layer_rates = n;
  return true;
}

/* Reads a power of 2 up to 2^15 at *text as its exponent and moves *text past it. Returns false if
 * there is none. */
static bool read_exponent(const char **text, uint8_t *exponent)
{
  uint64_t size;

  if (!cj2k_option_read_integer(text, 32768, &size) || !size || size & (size - 1))
    return false;
  *exponent = (uint8_t)g_bit_nth_msf((gulong)size, -1);
  return true;
}

static bool parse_precincts(const char *text, void *user)
{
  Cj2kEncoderParams *params = user;
  uint8_t width[CJ2K_MAX_LEVELS + 1] = {0}, height[CJ2K_MAX_LEVELS + 1] = {0}, n = 0;

  for (const char *at = text; *at; n++) {
    if (n > CJ2K_MAX_LEVELS || !read_exponent(&at, &width[n]))
      return false;
    height[n] = width[n];
    if (*at == 'x' && (at++, !read_exponent(&at, &height[n])))
      return false;
    if (*at && (*at++ != ',' || !*at))
      return false;
  }
  memcpy(params->precinct_width, width, sizeof width);
  memcpy(params->precinct_height, height, sizeof height);
  params->num_precincts = n;
  return true;
}

/* Reads numbers separated by commas, `count` of them; the last one is a weight. */
static bool read_region(const char **text, Cj2kRegion *region)
{
  uint32_t *const fields[] = {&region->x, &region->y, &region->width, &region->height};

  for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
    uint64_t value;
    if (!cj2k_option_read_integer(text, UINT32_MAX, &value) || *(*text)++ != ',')
      return false;
    *fields[i] = (uint32_t)value;
  }
  return region->width && region->height &&
         cj2k_option_read_number(text, 1.0 / 64, 64, &region->weight);
}

static bool parse_regions(const char *text, void *user)
{
  Cj2kEncoderParams *params = user;
  Cj2kRegion regions[CJ2K_MAX_REGIONS] = {{0}};
  uint32_t n = 0;

  for (const char *at = text; *at; n++) {
    if (n == CJ2K_MAX_REGIONS || !read_region(&at, &regions[n]))
      return false;
    if (*at && (*at++ != ';' || !*at))
      return false;
  }
  memcpy(params->regions, regions, n * sizeof *regions);
  params->num_regions = n;
  return true;
}

/* --------------------------------------------------------------------------- table --- */

#define PARAM(field)                                                                               \
  .offset = offsetof(Cj2kEncoderParams, field), .size = sizeof(((Cj2kEncoderParams *)0)->field)
#define BOOLEAN .kind = CJ2K_OPTION_BOOLEAN
#define INTEGER(minimum, maximum, preset)                                                          \
  .kind = CJ2K_OPTION_INTEGER, .min = (minimum), .max = (maximum), .standard = (preset)
#define NUMBER(minimum, maximum, preset)                                                           \
  .kind = CJ2K_OPTION_NUMBER, .min = (minimum), .max = (maximum), .standard = (preset)
#define WORD(name, list)  .kind = CJ2K_OPTION_WORD, .type = (name), .words = (list)
#define FLAGS(name, list) .kind = CJ2K_OPTION_FLAGS, .type = (name), .words = (list)

/* clang-format off */
static const Cj2kOption options[] = {
  { "backend", "Back end", "What encodes: GPU or CPU",
    WORD("Backend", cj2k_backend_words), PARAM(backend) },
  { "cuda-device-id", "CUDA device", "Number of the GPU; -1 = the one with the fewest codecs of this process, then the least busy, then the one with the most free memory",
    INTEGER(-1, INT32_MAX, -1), PARAM(cuda_device) },
  { "cuda-devices", "CUDA devices",
    "GPUs that share the frames: all, or numbers and UUIDs with commas between them; each frame goes to the one with the fewest in flight, and those of a GPU that fails are done again by the others; unset = cuda-device-id alone",
    .kind = CJ2K_OPTION_TEXT, .max = 1000, PARAM(cuda_devices) },
  { "num-threads", "Threads", "Threads of the process that may work for this codec at a time; 0 = one per core, but on a GPU often one to four; more than 256 count as 256",
    INTEGER(0, 1024, 0), PARAM(num_threads) },
  { "frames-in-flight", "Frames in flight",
    "Frames encoded at the same time; 1 = lowest latency, more = more frames per second; each beyond the first adds a frame duration to the latency",
    INTEGER(1, CJ2K_MAX_IN_FLIGHT, 2), .flags = CJ2K_OPTION_UNSET | CJ2K_OPTION_AUTO, PARAM(frames_in_flight) },
  { "low-latency", "Low latency",
    "Threads spin while they wait for the GPU: up to about a tenth of a millisecond less with one frame in flight, for several times the processor time; else they sleep",
    BOOLEAN, PARAM(low_latency) },
  { "component-streams", "Component streams", "Components of a frame with CUDA streams of their own",
    WORD("ComponentStreams", cj2k_component_streams_words), PARAM(component_streams) },
  { "block-coder", "Block coder", "Coder of the code-blocks: Part 1, or the faster HTJ2K that needs a decoder of its own",
    WORD("BlockCoder", block_coders), PARAM(block_coder) },
  { "rate-control", "Rate control", "What decides how many bytes a frame takes",
    WORD("RateControl", rate_controls), PARAM(rate_control) },
  { "quality", "Quality", "Quality factor, for rate-control=quality",
    INTEGER(1, 100, 85), .flags = CJ2K_OPTION_LIVE | CJ2K_OPTION_UNSET, PARAM(quality) },
  { "bitrate", "Bit rate", "Bit rate in kbit/s that no frame exceeds: the budget of rate-control=cbr, a ceiling with quality, psnr and qstep; needs a frame rate; 0 = unset", "kbit/s",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_LIVE, PARAM(bitrate) },
  { "bits-per-pixel", "Bits per pixel", "Size of a frame in bits per pixel, all components together, that no frame exceeds: the budget of rate-control=cbr, a ceiling with quality, psnr and qstep; 0 = unset", "bit",
    NUMBER(0, CJ2K_MAX_BITS_PER_PIXEL, 0), .flags = CJ2K_OPTION_LIVE, PARAM(bits_per_pixel) },
  { "average-bitrate", "Average bit rate", "Mean bit rate of the film in kbit/s: hard frames get more and easy ones less, up to bitrate; needs a frame rate; 0 = unset", "kbit/s",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_LIVE, PARAM(average_bitrate) },
  { "average-window", "Window of the average", "Size of the rate buffer in average frames: any k frames take at most the bytes of k + average-window average ones", "frames",
    INTEGER(16, 100000, 120), PARAM(average_window) },
  { "max-frame-bytes", "Bytes of a frame", "Ceiling of a frame in bytes, with every rate-control; 0 = unset: by the profile, or none", "bytes",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_LIVE, PARAM(max_frame_bytes) },
  { "max-component-bytes", "Bytes of a component", "Ceiling of each component of a frame in bytes, with profile=cinema-4k of its lower resolutions; 0 = unset: by the profile, or none", "bytes",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_LIVE, PARAM(max_component_bytes) },
  { "quant-step", "Step size", "Step relative to full scale, for rate-control=qstep (for example 0.000244 = 1/4096); 0 = unset",
    .kind = CJ2K_OPTION_NUMBER, .max = 0.5, .flags = CJ2K_OPTION_LIVE, PARAM(quant_step) },
  { "psnr", "PSNR", "Quality in dB, for rate-control=psnr", "dB",
    NUMBER(10, 120, 45), .flags = CJ2K_OPTION_LIVE | CJ2K_OPTION_UNSET, PARAM(psnr) },
  { "rate-period", "Rate period", "rate-control=cbr and average-bitrate forget earlier frames at each frame whose number is a multiple of this, so that a film may be encoded in parts; 0 = never",
    INTEGER(0, INT32_MAX, 0), PARAM(rate_period) },
  { "first-frame", "First frame", "Number of the first frame, counted from 0; only for rate-period",
    INTEGER(0, INT32_MAX, 0), PARAM(first_frame) },
  { "visual-weights", "Visual weights", "How errors of different frequencies and colours are weighed against each other",
    WORD("VisualWeights", visual_weights), PARAM(visual_weights) },
  { "viewing-distance", "Viewing distance", "For visual-weights=csf: pixels in a degree of the field of view (lines of the picture times distance in picture heights / 57)", "pixels/degree",
    NUMBER(5, 1000, 25), .flags = CJ2K_OPTION_UNSET, PARAM(viewing_distance) },
  { "rate-effort", "Rate effort", "Time that may be taken for a better picture at the same bytes",
    WORD("RateEffort", efforts), PARAM(rate_effort) },
  { "roi", "Regions of interest", "Regions x,y,w,h,weight in pixels, separated by ;: errors inside count weight times (1/64..64), for rate-control=cbr; empty = none",
    .kind = CJ2K_OPTION_LIST, .parse = parse_regions, .flags = CJ2K_OPTION_LIVE,
    .form = "a list of up to 32 regions x,y,w,h,weight separated by semicolons, with pixels and a weight in 0.015625..64, such as 100,50,320,200,4;0,0,64,64,0.5" },
  { "reversible-transform", "Reversible transform", "Use the 5/3 filter with rate-control=cbr too (lossless always does)",
    BOOLEAN, PARAM(reversible_transform) },
  { "num-resolutions", "Resolutions", "Resolutions: decomposition levels + 1",
    INTEGER(1, CJ2K_MAX_LEVELS + 1, 6), PARAM(num_resolutions) },
  { "codeblock-width", "Code-block width", "Width of code-blocks in samples, a power of 2; width times height is at most 4096 (some profiles set 32)",
    INTEGER(4, 1024, 64), .flags = CJ2K_OPTION_POWER_OF_2, PARAM(codeblock_width) },
  { "codeblock-height", "Code-block height", "Height of code-blocks in samples, a power of 2",
    INTEGER(4, 1024, 64), .flags = CJ2K_OPTION_POWER_OF_2, PARAM(codeblock_height) },
  { "codeblock-style", "Code-block style", "Styles of block coding (T.800 table A.19); HTJ2K has only causal",
    FLAGS("CodeblockStyle", styles), PARAM(codeblock_style) },
  { "progression-order", "Progression order", "Order of the packets (T.800 B.12)",
    WORD("Progression", progressions), PARAM(progression) },
  { "num-layers", "Layers", "Quality layers",
    INTEGER(1, CJ2K_MAX_LAYERS, 1), PARAM(num_layers) },
  { "layer-rates", "Layer rates", "Cumulative bits per pixel of each layer, such as \"0.5,1,2\"; 0 or left out = spread logarithmically",
    .kind = CJ2K_OPTION_LIST, .parse = parse_layer_rates, .form = "a list of up to 64 numbers in 0..1000, such as 0.5,1,2" },
  { "precincts", "Precincts", "Sizes of precincts from the highest resolution down, such as \"256x256,128x128\", the last repeated; empty = maximal",
    .kind = CJ2K_OPTION_LIST, .parse = parse_precincts, .form = "a list of up to 33 sizes, powers of 2 in 1..32768, such as 256x256,128x128" },
  { "tile-width", "Tile width", "Width of tiles in pixels; 0 = one tile",
    INTEGER(0, INT32_MAX, 0), PARAM(tile_width) },
  { "tile-height", "Tile height", "Height of tiles in pixels; 0 = one tile",
    INTEGER(0, INT32_MAX, 0), PARAM(tile_height) },
  { "image-offset-x", "Image offset x", "Left edge of the image on the reference grid (XOsiz)",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(image_x0) },
  { "image-offset-y", "Image offset y", "Top edge of the image on the reference grid (YOsiz)",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(image_y0) },
  { "tile-offset-x", "Tile offset x", "Left edge of the first tile on the reference grid (XTOsiz)",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(tile_x0) },
  { "tile-offset-y", "Tile offset y", "Top edge of the first tile on the reference grid (YTOsiz)",
    INTEGER(0, UINT32_MAX, 0), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(tile_y0) },
  { "tile-parts", "Tile-parts", "What begins a new tile-part",
    FLAGS("TileParts", tile_parts), PARAM(tile_parts) },
  { "mct", "Component transform", "Transform of the first three components (RCT or ICT)",
    WORD("Mct", mcts), PARAM(mct) },
  { "rgb-to-xyz", "Convert to X'Y'Z'", "Convert R'G'B' to 12-bit X'Y'Z' (SMPTE ST 428-1)",
    WORD("RgbToXyz", conversions), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(rgb_to_xyz) },
  { "xyz-transfer", "Transfer to X'Y'Z'", "Transfer curve of R'G'B' that is converted to X'Y'Z'",
    WORD("XyzTransfer", transfers), PARAM(xyz_transfer) },
  { "hlg-peak", "Peak of the HLG display", "Peak luminance of the display on which HLG is shown that is converted to X'Y'Z'", "cd/m2",
    NUMBER(100, 10000, 1000), .flags = CJ2K_OPTION_UNSET, PARAM(hlg_peak) },
  { "xyz-primaries", "Primaries to X'Y'Z'", "Primaries and white of R'G'B' that is converted to X'Y'Z'",
    WORD("XyzPrimaries", primaries), PARAM(xyz_primaries) },
  { "alpha", "Alpha", "What the last of two or four components is, for JP2 and JPH files; samples stay as they are",
    WORD("Alpha", alphas), PARAM(alpha) },
  { "guard-bits", "Guard bits", "Guard bits of the quantisation; 0 = unset: 2, or the profile's",
    INTEGER(0, 7, 0), PARAM(guard_bits) },
  { "profile", "Profile", "Profile of the codestreams. Sets mandatory parameters and enforces limits",
    WORD("Profile", profiles), PARAM(profile) },
  { "profile-strict", "Strict profile", "A parameter that contradicts the profile is an error; else it is overruled with a warning",
    BOOLEAN, .standard = true, .flags = CJ2K_OPTION_NEGATED, PARAM(profile_lenient) },
  { "main-level", "Main level", "Main level of the broadcast and IMF profiles; 0 = no limit, -1 = the lowest that fits",
    INTEGER(-1, 11, 0), PARAM(main_level) },
  { "sub-level", "Sub-level", "Sub-level of the IMF profiles; 0 = no limit, -1 = the lowest that fits",
    INTEGER(-1, 9, 0), PARAM(sub_level) },
  { "framerate", "Frame rate", "Frames per second, for bitrate and the limits of profiles; 0 = unknown",
    "frames/s", NUMBER(0, CJ2K_MAX_FRAME_RATE, 0), .flags = CJ2K_OPTION_NO_PROPERTY, PARAM(frame_rate) },
  { "sop", "SOP", "Write SOP marker segments",
    BOOLEAN, PARAM(sop) },
  { "eph", "EPH", "Write EPH markers",
    BOOLEAN, PARAM(eph) },
  { "tlm", "TLM", "Write TLM marker segments: the lengths of tile-parts",
    BOOLEAN, PARAM(tlm) },
  { "plt", "PLT", "Write PLT marker segments: the lengths of packets, which let decoders read packets with several threads, and the RTP payloader find them without reading",
    WORD("Plt", plts), .standard = CJ2K_PLT_AUTO, .flags = CJ2K_OPTION_SWITCH, PARAM(plt) },
  { "slices", "Slices", "Code slice by slice, for latency below a frame: needs progression-order=pcrl, one tile, one layer, neither tlm nor plt=true",
    BOOLEAN, PARAM(slices) },
  { "slice-buffer-lines", "Slice buffer", "For slices with a budget: how far slices may run ahead of a constant bit rate, as lines of the picture by their share of the budget, which is also how long a byte waits on a link of that rate; 0 = the whole picture", "lines",
    INTEGER(0, INT32_MAX, 0), PARAM(slice_buffer_lines) },
  { "latency-profile", "Latency profile", "Sets slices, and those of progression-order, num-resolutions, precincts, codeblock-width and codeblock-height that have their defaults, for latency below a frame",
    WORD("LatencyProfile", latency_profiles), PARAM(latency_profile) },
  { "comment", "Comment", "Text of a COM marker segment, of characters that ISO 8859-15 has; empty = none",
    .kind = CJ2K_OPTION_TEXT, .max = 60000, PARAM(comment) },
};
/* clang-format on */

const Cj2kOptionTable cj2k_encoder_options = {options, G_N_ELEMENTS(options)};

Cj2kStatus cj2k_encoder_params_set(Cj2kEncoderParams *params, const char *name, const char *value,
                                   Cj2kError *error)
{
  const Cj2kOption *option = cj2k_option_find(&cj2k_encoder_options, name);

  if (!option)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "the encoder has no parameter %.60s", name);
  return cj2k_option_parse(option, value, params, error);
}
