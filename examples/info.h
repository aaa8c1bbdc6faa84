/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of cj2k-info: boxes, headers, packets. Each part reads as far as the bytes make sense,
 * adds damage to the list of errors, and goes on with the rest.
 */
#ifndef EXAMPLES_INFO_H
#define EXAMPLES_INFO_H

#include "common/codestream/header.h"
#include "info_value.h"

/* A run of the file's bytes. Offsets in the output count from the beginning of the file. */
typedef struct {
  const uint8_t *data; /* of the file */
  uint64_t begin, end;
} InfoSpan;

typedef struct {
  uint64_t max_memory; /* limit for the packets of one codestream */
  double frame_rate;   /* codestreams per second; 0: unknown */
  InfoValue *errors;   /* of the file: {offset, text} */
} InfoContext;

void info_error(const InfoContext *context, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds an error of the library about data that begins at offset `base` of the file. */
void info_library_error(const InfoContext *context, uint64_t base, const Cj2kError *error);

/* Describes one file; returns an object. max_memory 0: by the size of the file. */
InfoValue *info_file(const char *path, const uint8_t *data, size_t size, uint64_t max_memory,
                     double frame_rate, bool *damaged);

/* The boxes of a file (T.800 Annex I); jp2c boxes are appended to `codestreams`, a GArray of
 * InfoSpan. */
typedef struct _GArray InfoSpans;
InfoValue *info_boxes(const InfoContext *context, InfoSpan span, InfoSpans *codestreams);

/* Puts "pointer_segments", "tile_parts" and "markers" into `out`, and checks the lengths in TLM and
 * PLT. Returns where the codestream ends. */
typedef struct {
  uint32_t num_tlm, num_packed; /* marker segments; PPM and PPT */
  uint32_t num_tile_parts;
} InfoMarkers;
uint64_t info_markers(const InfoContext *context, InfoSpan span, InfoValue *out,
                      InfoMarkers *found);

/* Puts the parameters of SIZ, CAP, COD, COC, QCD, QCC, RGN and POC into an object. */
void info_header(const Cj2kHeader *header, InfoValue *out);

/* Bytes of packets by resolution, layer and component, and the code-blocks. */
typedef struct {
  uint64_t component_bytes; /* of the component that has most */
} InfoPackets;
bool info_packets(const InfoContext *context, InfoSpan span, Cj2kHeader *header,
                  const Cj2kTileParts *parts, InfoValue *out, InfoPackets *found);

/* The profile that Rsiz names, and whether the codestream conforms to it. */
typedef struct {
  const Cj2kHeader *header;
  uint64_t bytes;      /* of the codestream */
  double frame_rate;   /* codestreams per second; 0: unknown */
  InfoPackets packets; /* zero: unknown */
  bool has_tlm, has_packed_headers;
  uint32_t num_tile_parts;
} InfoProfile;
void info_profile(const InfoProfile *facts, InfoValue *profile);

#endif
