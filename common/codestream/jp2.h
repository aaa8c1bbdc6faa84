/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JP2 and JPH files (T.800 Annex I, T.814 Annex D): finds the codestream among the boxes and reads
 * what the boxes say about its components. A codestream without boxes and one in a single jp2c box
 * (image/x-j2c) are recognised too.
 */
#ifndef CJ2K_CODESTREAM_JP2_H
#define CJ2K_CODESTREAM_JP2_H

#include "header.h"

/* One channel of the cmap box (I.5.3.5): a component used directly, or as an index into a palette
 * column. */
typedef struct {
  uint16_t component;
  bool palette;
  uint8_t column;
} Cj2kChannelMap;

/* All arrays and pointers belong to the Cj2kJp2, except `icc`, which points into the data. */
typedef struct {
  Cj2kSpan codestream; /* the first codestream; it ends with the data if its box is longer */
  bool is_jp2;         /* there are other boxes than jp2c */

  /* ihdr, bpcc (I.5.3.1, I.5.3.2) */
  bool has_ihdr;
  uint32_t width, height;
  uint16_t num_components;
  uint8_t bits_per_component; /* as in ihdr: bit 7 is the sign, the other bits are depth - 1; 255:
                                 see bpcc */
  uint8_t *bpcc;              /* num_components entries, or NULL */

  /* colr (I.5.3.3): the first one whose method a JP2 reader knows, and the first one with code
   * points (T.801 M.11.7.3, method 5), if any */
  uint8_t colour_method; /* 1 enumerated, 2 restricted ICC, 0 neither */
  Cj2kCicp cicp;
  uint32_t colour_enum;
  const uint8_t *icc;
  size_t icc_size;

  /* pclr (I.5.3.4) */
  uint16_t num_entries; /* 0: no palette */
  uint8_t num_columns;
  uint8_t *column_bits; /* coded like bits_per_component */
  int64_t *entries;     /* num_entries x num_columns */

  /* cmap (I.5.3.5) and cdef (I.5.3.6) */
  uint32_t num_channels; /* 0: no cmap */
  Cj2kChannelMap *channels;
  uint32_t num_definitions; /* 0: no cdef */
  struct Cj2kChannelDefinition {
    uint16_t channel;
    Cj2kChannel meaning;
  } * definitions;
} Cj2kJp2;

/*
 * Reads data[0..size). *jp2 need not be initialised; cj2k_jp2_clear frees it, also after an error.
 * Unknown boxes are skipped; broken optional boxes are ignored unless `strict`. Returns
 * CJ2K_ERROR_CODESTREAM if there is no codestream.
 */
Cj2kStatus cj2k_jp2_read(const uint8_t *data, size_t size, bool strict, Cj2kJp2 *jp2,
                         Cj2kError *error);
/* jp2_check.c, for strict decoders: returns CJ2K_ERROR_CODESTREAM if ihdr or bpcc contradict SIZ,
 * or if only one of pclr and cmap is there. */
Cj2kStatus cj2k_jp2_check(const Cj2kJp2 *jp2, const Cj2kHeader *header, Cj2kError *error);
void cj2k_jp2_clear(Cj2kJp2 *jp2);

/* Sets the meanings of channels 0 to count - 1 according to cdef, of which the first definition of
 * a channel counts; without one, channel i is colour i + 1. */
void cj2k_jp2_channels(const Cj2kJp2 *jp2, Cj2kChannel *channels, uint32_t count);
/* Colour space according to colr, by code points only if it says nothing else; UNKNOWN without
 * one. */
Cj2kColour cj2k_jp2_colour(const Cj2kJp2 *jp2);

#endif
