/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder_options.h"

#include "common/runtime/error.h"

#include <glib.h>

#define PARAM(field)                                                                               \
  .offset = offsetof(Cj2kDecoderParams, field), .size = sizeof(((Cj2kDecoderParams *)0)->field)

static const Cj2kOptionWord conceal_words[] = {
    {CJ2K_CONCEAL_ZERO, "zero", "What is missing becomes zeros: soft patches, or grey ones"},
    {CJ2K_CONCEAL_NONE, "none", "A frame of which packets are missing is an error"},
    {CJ2K_CONCEAL_PREVIOUS, "previous",
     "The lowest resolutions come from the frame before, if it is like this one"},
    {0, NULL, NULL},
};

/* clang-format off */
static const Cj2kOption options[] = {
  { "backend", "Back end", "What decodes: GPU or CPU",
    .kind = CJ2K_OPTION_WORD, .words = cj2k_backend_words, .type = "Backend", PARAM(backend) },
  { "cuda-device-id", "CUDA device", "Number of the GPU; -1 = the one with the fewest codecs of this process, then the least busy, then the one with the most free memory",
    .kind = CJ2K_OPTION_INTEGER, .min = -1, .max = INT32_MAX, .standard = -1, PARAM(cuda_device) },
  { "cuda-devices", "CUDA devices",
    "GPUs that share the frames: all, or numbers and UUIDs with commas between them; each frame goes to the one with the fewest in flight, and those of a GPU that fails are done again by the others; unset = cuda-device-id alone",
    .kind = CJ2K_OPTION_TEXT, .max = 1000, PARAM(cuda_devices) },
  { "num-threads", "Threads", "Threads of the process that may work for this codec at a time; 0 = one per core, but on a GPU often one to four; more than 256 count as 256",
    .kind = CJ2K_OPTION_INTEGER, .max = 1024, PARAM(num_threads) },
  { "frames-in-flight", "Frames in flight",
    "Frames decoded at the same time; 1 = lowest latency, more = more frames per second; each beyond the first adds a frame duration to the latency",
    .kind = CJ2K_OPTION_INTEGER, .min = 1, .max = CJ2K_MAX_IN_FLIGHT, .standard = 2, .flags = CJ2K_OPTION_UNSET | CJ2K_OPTION_AUTO, PARAM(frames_in_flight) },
  { "low-latency", "Low latency",
    "Threads spin while they wait for the GPU: up to about a tenth of a millisecond less with one frame in flight, for several times the processor time; else they sleep",
    .kind = CJ2K_OPTION_BOOLEAN, PARAM(low_latency) },
  { "component-streams", "Component streams", "Components of a frame with CUDA streams of their own",
    .kind = CJ2K_OPTION_WORD, .words = cj2k_component_streams_words, .type = "ComponentStreams", PARAM(component_streams) },
  { "reduce", "Reduce", "Resolution levels to discard; each halves width and height (at most the levels of the stream)",
    .kind = CJ2K_OPTION_INTEGER, .max = CJ2K_MAX_LEVELS, PARAM(reduce) },
  { "layers", "Layers", "Quality layers to decode; 0 = all",
    .kind = CJ2K_OPTION_INTEGER, .max = UINT16_MAX, PARAM(max_layers) },
  { "strict", "Strict", "Treat a truncated or damaged codestream or file as an error; else recoverable data is output and flagged as corrupted",
    .kind = CJ2K_OPTION_BOOLEAN, PARAM(strict) },
  { "max-memory", "Memory limit", "Memory that one frame may need; 0 = the larger of 768 MiB and 256 times the input", "MiB",
    .kind = CJ2K_OPTION_INTEGER, .max = 1 << 24, .flags = CJ2K_OPTION_MIB, PARAM(max_memory) },
  { "max-time", "Time limit",
    "Time that the headers of one frame, and then its packet headers, may take before the frame is given up; 0 = no limit. For live streams: the duration of a frame",
    "ms", .kind = CJ2K_OPTION_INTEGER, .max = UINT32_MAX, PARAM(max_time) },
  { "conceal", "Conceal", "What takes the place of packets that are missing or incomplete, or were replaced by empty ones",
    .kind = CJ2K_OPTION_WORD, .words = conceal_words, .type = "Conceal", PARAM(conceal) },
};
/* clang-format on */

const Cj2kOptionTable cj2k_decoder_options = {options, G_N_ELEMENTS(options)};

Cj2kStatus cj2k_decoder_params_set(Cj2kDecoderParams *params, const char *name, const char *value,
                                   Cj2kError *error)
{
  const Cj2kOption *option = cj2k_option_find(&cj2k_decoder_options, name);

  if (!option)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "the decoder has no parameter %.60s", name);
  return cj2k_option_parse(option, value, params, error);
}
