/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes marker segments (T.800 Annex A, T.814 Annex A) to a growing buffer.
 */
#ifndef CJ2K_CODESTREAM_WRITE_MARKERS_H
#define CJ2K_CODESTREAM_WRITE_MARKERS_H

#include "bitwriter.h"
#include "markers.h"

/* Write big-endian numbers, as codestreams and JP2 boxes have them. */
void cj2k_put8(Cj2kByteBuffer *out, uint32_t value);
void cj2k_put16(Cj2kByteBuffer *out, uint32_t value);
void cj2k_put32(Cj2kByteBuffer *out, uint32_t value);
void cj2k_put_bytes(Cj2kByteBuffer *out, const void *bytes, size_t size);
uint8_t *cj2k_store16(uint8_t *at, uint32_t value);
uint8_t *cj2k_store32(uint8_t *at, uint32_t value);

/*
 * SOC, SIZ, CAP, COD, COC, QCD, QCC, POC, and COM when comment is not NULL. `quantisation` has an
 * entry for each component and replaces that of the header: only step sizes change from frame to
 * frame. TLM, which follows, is written elsewhere.
 */
void cj2k_write_main_header(Cj2kByteBuffer *out, const Cj2kHeader *header,
                            const Cj2kQuantisation *quantisation, const char *comment);

/* CAP's Ccap15 of an HT codestream (T.814 A.3.2), from the coding style and the step sizes. */
uint16_t cj2k_ccap15(const Cj2kHeader *header, const Cj2kQuantisation *quantisation);

/* Writes a COM of `size` bytes in all, at least 7, to lengthen the header that holds it. */
void cj2k_write_padding_comment(Cj2kByteBuffer *out, uint32_t size);

/* True if the bytes contain 0xFFD9, at which parsers stop that look for EOC without reading the
 * marker segments. */
bool cj2k_contains_eoc(const uint8_t *bytes, size_t size);

#endif
