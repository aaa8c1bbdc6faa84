/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What cj2k-info tells of a file: boxes, headers, packets. Each part goes as far as the bytes make
 * sense; what is broken is put into the list of errors, and the rest goes on.
 */
#ifndef EXAMPLES_INFO_H
#define EXAMPLES_INFO_H

#include "common/codestream/header.h"
#include "info_value.h"

/* A run of the file's bytes; offsets that are told count from the file's beginning. */
typedef struct {
  const uint8_t *data; /* of the file */
  uint64_t begin, end;
} InfoSpan;

typedef struct {
  uint64_t max_memory; /* that the packets of one codestream may need */
  InfoValue *errors;   /* of the file: {offset, text} */
} InfoContext;

void info_error(const InfoContext *context, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* An error of the library, about data that begins at `base` of the file. */
void info_library_error(const InfoContext *context, uint64_t base, const Cj2kError *error);

/* All of one file: an object. */
InfoValue *info_file(const char *path, const uint8_t *data, size_t size, uint64_t max_memory,
                     bool *damaged);

/* The boxes of a file (T.800 Annex I); jp2c boxes are appended to `codestreams`, a GArray of
 * InfoSpan. */
typedef struct _GArray InfoSpans;
InfoValue *info_boxes(const InfoContext *context, InfoSpan span, InfoSpans *codestreams);

/* Puts "pointer_segments", "tile_parts" and "markers" into `out`, and checks what TLM and PLT tell.
 * Returns where the codestream ends. */
typedef struct {
  uint32_t num_tlm, num_packed; /* marker segments; PPM and PPT */
  uint32_t num_tile_parts;
} InfoMarkers;
uint64_t info_markers(const InfoContext *context, InfoSpan span, InfoValue *out,
                      InfoMarkers *found);

/* Puts what SIZ, CAP, COD, COC, QCD, QCC, RGN and POC mean. */
void info_header(const Cj2kHeader *header, InfoValue *out);

/* Bytes of packets by resolution, layer and component, and the code-blocks. */
typedef struct {
  uint64_t component_bytes; /* the most of any component */
} InfoPackets;
bool info_packets(const InfoContext *context, InfoSpan span, Cj2kHeader *header,
                  const Cj2kTileParts *parts, InfoValue *out, InfoPackets *found);

/* The profile that Rsiz names, and whether the codestream keeps to it. */
typedef struct {
  const Cj2kHeader *header;
  uint64_t bytes;      /* of the codestream */
  InfoPackets packets; /* zero: unknown */
  bool has_tlm, has_packed_headers;
  uint32_t num_tile_parts;
} InfoProfile;
void info_profile(const InfoProfile *facts, InfoValue *profile);

#endif
