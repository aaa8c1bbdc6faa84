/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Markers (T.800 Annex A, T.814 Annex A): their codes, and the readers of the marker segments that
 * shape a Header.
 */
#ifndef CJ2K_CODESTREAM_MARKERS_H
#define CJ2K_CODESTREAM_MARKERS_H

#include "header.h"

/* T.800 table A.2; T.814 A.2, A.3 */
typedef enum {
  CJ2K_SOC = 0xff4f,
  CJ2K_CAP = 0xff50,
  CJ2K_SIZ = 0xff51,
  CJ2K_COD = 0xff52,
  CJ2K_COC = 0xff53,
  CJ2K_TLM = 0xff55,
  CJ2K_PLM = 0xff57,
  CJ2K_PLT = 0xff58,
  CJ2K_CPF = 0xff59,
  CJ2K_QCD = 0xff5c,
  CJ2K_QCC = 0xff5d,
  CJ2K_RGN = 0xff5e,
  CJ2K_POC = 0xff5f,
  CJ2K_PPM = 0xff60,
  CJ2K_PPT = 0xff61,
  CJ2K_CRG = 0xff63,
  CJ2K_COM = 0xff64,
  CJ2K_SOT = 0xff90,
  CJ2K_SOP = 0xff91,
  CJ2K_EPH = 0xff92,
  CJ2K_SOD = 0xff93,
  CJ2K_EOC = 0xffd9,
} Cj2kMarker;

/* How the scan of the headers treats a marker segment. */
typedef enum {
  CJ2K_SEGMENT_SKIP = 0, /* not needed by a decoder, or unknown */
  CJ2K_SEGMENT_SHAPES,  /* determines Header and Plan: its bytes are compared from frame to frame */
  CJ2K_SEGMENT_HEADERS, /* packed packet headers: PPM, PPT */
  CJ2K_SEGMENT_DELIMITER, /* not a marker segment: a marker that ends the header or is misplaced */
} Cj2kSegmentKind;

typedef struct {
  uint16_t marker;
  const char *name;
  Cj2kSegmentKind kind;
  bool in_tile; /* allowed in the header of a tile-part */
} Cj2kMarkerInfo;

/* Never NULL: all unknown markers share an entry of kind SKIP. */
const Cj2kMarkerInfo *cj2k_marker_info(uint16_t marker);
/* Markers 0xFF30..0xFF3F have no marker segment (A.1). */
static inline bool cj2k_marker_has_segment(uint16_t marker)
{
  return marker < 0xff30 || marker > 0xff3f;
}

static inline uint16_t cj2k_get16(const uint8_t *p)
{
  return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t cj2k_get32(const uint8_t *p)
{
  return (uint32_t)cj2k_get16(p) << 16 | cj2k_get16(p + 2);
}
/* The bytes of a marker with its segment, if it has one, of a header whose lengths were checked. */
static inline uint32_t cj2k_marker_bytes(const uint8_t *marker)
{
  return 2u + (cj2k_marker_has_segment(cj2k_get16(marker)) ? cj2k_get16(marker + 2) : 0);
}

#define CJ2K_SOT_BYTES 12 /* with the marker (A.4.2) */
#define CJ2K_SOP_BYTES 6  /* (A.8.1) */

/* Do these four bytes begin an SOP marker segment (A.8.1)? */
static inline bool cj2k_begins_sop(const uint8_t *p)
{
  return cj2k_get16(p) == CJ2K_SOP && cj2k_get16(p + 2) == 4;
}

/* The parameters of a marker segment, after its length field. */
typedef struct {
  uint16_t marker;
  uint32_t tile; /* UINT32_MAX in the main header */
  uint64_t offset;
  uint32_t size;
} Cj2kMarkerSegment;

/* A reader of the bytes of one marker segment. Reading past the end returns zeros and sets
 * `overrun`. */
typedef struct {
  const uint8_t *at, *end;
  bool overrun;
} Cj2kBytes;

static inline Cj2kBytes cj2k_segment_bytes(const uint8_t *data, const Cj2kMarkerSegment *segment)
{
  return (Cj2kBytes){data + segment->offset, data + segment->offset + segment->size, false};
}
uint32_t cj2k_bytes_get(Cj2kBytes *bytes, uint32_t num_bytes); /* big-endian, 1 to 4 bytes */
static inline size_t cj2k_bytes_left(const Cj2kBytes *bytes)
{
  return (size_t)(bytes->end - bytes->at);
}
/* A component index: one byte when Csiz < 257, else two. */
static inline uint32_t cj2k_bytes_component(Cj2kBytes *bytes, uint32_t num_components)
{
  return cj2k_bytes_get(bytes, num_components < 257 ? 1 : 2);
}

/*
 * Each of these fills its target from one marker segment and checks everything that can be checked
 * without other segments. On error the target is unspecified. Offsets of segments refer to `data`.
 */

/* SIZ (A.5.1) without the components; the tile grid is filled in too. */
Cj2kStatus cj2k_read_siz(const uint8_t *data, const Cj2kMarkerSegment *segment, Cj2kHeader *header,
                         Cj2kError *error);
/* The components of SIZ, into header->components. */
Cj2kStatus cj2k_read_siz_components(const uint8_t *data, const Cj2kMarkerSegment *segment,
                                    Cj2kHeader *header, Cj2kError *error);
/* CAP (T.814 A.3, T.800 A.5.2). */
Cj2kStatus cj2k_read_cap(const uint8_t *data, const Cj2kMarkerSegment *segment, Cj2kHeader *header,
                         Cj2kError *error);
/* COD (A.6.1): the fields of *tile that are not per component, and *coding for every component
 * without COC. */
Cj2kStatus cj2k_read_cod(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         Cj2kTileCoding *tile, Cj2kCoding *coding, Cj2kError *error);
/* COC (A.6.2) for *component. */
Cj2kStatus cj2k_read_coc(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, uint32_t *component, Cj2kCoding *coding,
                         Cj2kError *error);
/* QCD, QCC (A.6.4, A.6.5); QCC for *component. */
Cj2kStatus cj2k_read_quantisation(const uint8_t *data, const Cj2kMarkerSegment *segment,
                                  uint32_t num_components, uint32_t *component,
                                  Cj2kQuantisation *quantisation, Cj2kError *error);
/* RGN (A.6.3). */
Cj2kStatus cj2k_read_rgn(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, uint32_t *component, uint8_t *shift,
                         Cj2kError *error);
/* POC (A.6.6): the number of entries, and the entries. */
uint32_t cj2k_poc_num_volumes(const Cj2kMarkerSegment *segment, uint32_t num_components);
Cj2kStatus cj2k_read_poc(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, Cj2kProgressionVolume *volumes, Cj2kError *error);

#endif
