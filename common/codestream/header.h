/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Header: the meaning of the main and tile-part headers (T.800 Annex A, T.814 Annex A). The encoder
 * fills it from parameters, the decoder from bytes; everything that follows from it is common to
 * both.
 */
#ifndef CJ2K_CODESTREAM_HEADER_H
#define CJ2K_CODESTREAM_HEADER_H

#include "common/cj2k.h"

/* Coding style of one component (SPcod, SPcoc: T.800 A.6.1, A.6.2). */
typedef struct {
  uint8_t num_levels;        /* NL, 0..32 */
  uint8_t log2_block_width;  /* xcb, 2..10 */
  uint8_t log2_block_height; /* ycb */
  uint8_t block_style;       /* CJ2K_STYLE_* */
  bool reversible;           /* 5/3 */
  uint8_t
      log2_precinct_width[CJ2K_MAX_LEVELS + 1]; /* PPx, indexed by resolution r, 0 is the lowest */
  uint8_t log2_precinct_height[CJ2K_MAX_LEVELS + 1]; /* PPy */
} Cj2kCoding;

/* Quantisation of one component (Sqcd, Sqcc: A.6.4, A.6.5). Sub-bands are counted LL, then HL LH HH
 * of r = 1, 2 ... */
#define CJ2K_MAX_BANDS (3 * CJ2K_MAX_LEVELS + 1)
typedef struct {
  uint8_t style;                     /* 0 none, 1 derived, 2 expounded */
  uint8_t guard_bits;                /* G, 0..7 */
  uint8_t num_steps;                 /* entries in the marker segment: 1 if derived */
  uint8_t exponent[CJ2K_MAX_BANDS];  /* epsilon */
  uint16_t mantissa[CJ2K_MAX_BANDS]; /* mu */
} Cj2kQuantisation;

/* One progression order change (POC: A.6.6), or the COD's own progression over everything. */
typedef struct {
  uint8_t res_start, res_end;    /* RSpoc, REpoc (exclusive) */
  uint16_t comp_start, comp_end; /* CSpoc, CEpoc (exclusive; up to 16384) */
  uint16_t layer_end;            /* LYEpoc (exclusive) */
  uint8_t order;                 /* Cj2kProgression */
} Cj2kProgressionVolume;

/* All coding parameters that a tile can override. */
typedef struct {
  uint8_t progression; /* Cj2kProgression */
  uint16_t num_layers;
  bool mct;           /* RCT or ICT on components 0..2 */
  bool sop, eph;      /* decoder: may be present; encoder: are written */
  Cj2kCoding *coding; /* per component */
  Cj2kQuantisation *quantisation;
  uint8_t *roi_shift;   /* SPrgn per component, 0: none */
  uint32_t num_volumes; /* POC entries; 0: none */
  Cj2kProgressionVolume *volumes;
} Cj2kTileCoding;

typedef struct {
  uint32_t x0, y0, x1, y1;     /* XOsiz, YOsiz, Xsiz, Ysiz */
  uint32_t tx0, ty0, tdx, tdy; /* XTOsiz, YTOsiz, XTsiz, YTsiz */
  uint16_t rsiz;
  uint32_t num_components;
  Cj2kComponent *components; /* full resolution, with x0..y1 of T.800 B-1, B-2 filled in */
  uint32_t num_tiles_x, num_tiles_y;
  bool has_cap;
  uint32_t pcap;
  uint16_t ccap15;       /* T.814 A.3 */
  Cj2kTileCoding coding; /* of the main header */
  Cj2kTileCoding *
      *tiles; /* num_tiles_x*num_tiles_y: a tile's own parameters, or NULL for the main header's */
} Cj2kHeader;

/* A run of bytes of the submitted data. */
typedef struct {
  uint64_t offset;
  uint64_t size;
} Cj2kSpan;

/* A tile-part: where its packet data (after SOD) lies, and where its packed packet headers are
 * (PPT). */
typedef struct {
  uint32_t tile;
  uint8_t index; /* TPsot */
  Cj2kSpan data;
  bool truncated; /* Psot pointed past the end */
} Cj2kTilePart;

/* What the headers of one codestream say apart from the Header; belongs to one frame. Set it to all
 * zeros first; later reads reuse its memory. */
typedef struct {
  uint32_t num_tile_parts;
  uint32_t capacity;
  Cj2kTilePart *tile_parts; /* in codestream order */
  /* Packed packet headers of each tile (PPM or PPT, concatenated in order), in byte arrays of its
   * own. */
  struct Cj2kPackedHeaders {
    uint8_t *data;
    size_t size;
  } * packed_headers; /* num_packed_headers = num_tiles entries, or NULL; data NULL: the headers of
                         this tile are in its packets */
  uint32_t num_packed_headers;
  uint64_t end; /* offset of the first byte after EOC, or of where reading stopped */
  bool has_eoc;
  bool truncated;
} Cj2kTileParts;

/*
 * Reads the headers of raw codestreams. The reader keeps the header of the last one: if every
 * marker segment that shapes the plan (SIZ, CAP, COD, COC, QCD, QCC, RGN and POC of main and
 * tile-part headers) has the same bytes, it returns that header again and sets *same. TLM, PLM,
 * PLT, CRG, COM, CPF and unknown segments make no difference. A codestream that ends early is read
 * as far as it goes, or with `strict` refused with CJ2K_ERROR_CODESTREAM. num_tile_parts is limited
 * by size, allocations by max_memory (CJ2K_ERROR_LIMIT).
 */
typedef struct Cj2kHeaderReader Cj2kHeaderReader; /* owns the current Header */
Cj2kHeaderReader *cj2k_header_reader_new(void);
void cj2k_header_reader_free(Cj2kHeaderReader *reader);
/* Reads the headers of data[0..size). *header belongs to the reader and is valid until the next
 * read that clears *same; frames in flight hold references to it (cj2k_header_ref). The tile-parts
 * belong to the caller (cj2k_tile_parts_clear). With tile_parts NULL only the main header is read:
 * the parameters of single tiles stay unknown, and the header that the reader keeps does not
 * change. */
Cj2kStatus cj2k_header_read(Cj2kHeaderReader *reader, const uint8_t *data, size_t size, bool strict,
                            uint64_t max_memory, Cj2kHeader **header, bool *same,
                            Cj2kTileParts *tile_parts, Cj2kError *error);
Cj2kHeader *cj2k_header_ref(Cj2kHeader *header);
void cj2k_header_unref(Cj2kHeader *header);
/* Creates a header for the encoder, with room for num_components components and num_tiles tile
 * pointers, all zero. */
Cj2kHeader *cj2k_header_new(uint32_t num_components, uint32_t num_tiles);
void cj2k_tile_parts_clear(Cj2kTileParts *tile_parts);

/* The coding parameters that apply to a tile. */
static inline const Cj2kTileCoding *cj2k_header_tile(const Cj2kHeader *header, uint32_t tile)
{
  return header->tiles && header->tiles[tile] ? header->tiles[tile] : &header->coding;
}

#endif
