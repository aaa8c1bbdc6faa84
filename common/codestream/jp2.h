/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JP2 and JPH files (T.800 Annex I, T.814 Annex D): the boxes that say where the codestream is and
 * what its components mean.
 */
#ifndef CJ2K_JP2_H
#define CJ2K_JP2_H

#include "header.h"

/* Palette (pclr, I.5.3.4): num_entries rows of num_columns values. */
typedef struct {
  uint16_t num_entries; /* 1..1024 */
  uint8_t num_columns;  /* 1..255 */
  uint8_t *depth;       /* per column, bits 1..38 */
  bool *is_signed;      /* per column */
  int32_t *values;      /* [entry][column]; depths above 31 are refused */
} Cj2kPalette;

/* One channel of the component mapping (cmap, I.5.3.5). */
typedef struct {
  uint16_t component; /* CMP */
  uint8_t type;       /* MTYP: 0 direct, 1 palette */
  uint8_t column;     /* PCOL */
} Cj2kChannelMap;

/* One row of the channel definition (cdef, I.5.3.6). */
typedef struct {
  uint16_t channel;     /* Cn */
  uint16_t type;        /* Typ */
  uint16_t association; /* Asoc */
} Cj2kChannelDefinition;

/* All zero but `codestream` for a raw codestream. */
typedef struct {
  bool is_file; /* boxes around the codestream */
  Cj2kSpan
      codestream; /* of the first jp2c, or all bytes; size 0 and length unknown mean: to the end */
  uint8_t colr_method;  /* METH of the first colr that can be used: 0 none, 1 enumerated, 2
                           restricted ICC */
  uint32_t colour_enum; /* EnumCS when METH is 1 */
  Cj2kSpan icc;         /* when METH is 2 */
  Cj2kPalette *palette; /* NULL: none */
  uint32_t num_maps;    /* 0: no cmap */
  Cj2kChannelMap *maps;
  uint32_t num_definitions; /* 0: no cdef */
  Cj2kChannelDefinition *definitions;
} Cj2kBoxes;

/* Reads the boxes of data[0..size): a raw codestream (FF4F first), a bare jp2c box with its
 * codestream (GStreamer's image/x-j2c), a JP2 or a JPH file. A damaged box that is not needed to
 * find the codestream is left out unless strict. *boxes belongs to the caller: cj2k_boxes_clear. */
Cj2kStatus cj2k_boxes_read(const uint8_t *data, size_t size, bool strict, Cj2kBoxes *boxes,
                           Cj2kError *error);
void cj2k_boxes_clear(Cj2kBoxes *boxes);

#endif
