/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_markers.h"

#include <string.h>

void cj2k_put8(Cj2kByteBuffer *out, uint32_t value)
{
  cj2k_bytes_reserve(out, 1);
  out->data[out->size++] = (uint8_t)value;
}

uint8_t *cj2k_store16(uint8_t *at, uint32_t value)
{
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
  return at + 2;
}

uint8_t *cj2k_store32(uint8_t *at, uint32_t value)
{
  return cj2k_store16(cj2k_store16(at, value >> 16), value & 0xffff);
}

void cj2k_put16(Cj2kByteBuffer *out, uint32_t value)
{
  cj2k_bytes_reserve(out, 2);
  cj2k_store16(out->data + out->size, value);
  out->size += 2;
}

void cj2k_put32(Cj2kByteBuffer *out, uint32_t value)
{
  cj2k_put16(out, value >> 16);
  cj2k_put16(out, value & 0xffff);
}

void cj2k_put_bytes(Cj2kByteBuffer *out, const void *bytes, size_t size)
{
  cj2k_bytes_reserve(out, size);
  memcpy(out->data + out->size, bytes, size);
  out->size += size;
}

/* Component indices take two bytes when there are more than 256 components. */
static void put_component(Cj2kByteBuffer *out, const Cj2kHeader *header, uint32_t c)
{
  if (header->num_components > 256)
    cj2k_put16(out, c);
  else
    cj2k_put8(out, c);
}

static uint32_t component_bytes(const Cj2kHeader *header)
{
  return header->num_components > 256 ? 2 : 1;
}

/* A.5.1 */
static void write_siz(Cj2kByteBuffer *out, const Cj2kHeader *header)
{
  cj2k_put16(out, CJ2K_SIZ);
  cj2k_put16(out, 38 + 3 * header->num_components);
  cj2k_put16(out, header->rsiz);
  cj2k_put32(out, header->x1);
  cj2k_put32(out, header->y1);
  cj2k_put32(out, header->x0);
  cj2k_put32(out, header->y0);
  cj2k_put32(out, header->tdx);
  cj2k_put32(out, header->tdy);
  cj2k_put32(out, header->tx0);
  cj2k_put32(out, header->ty0);
  cj2k_put16(out, header->num_components);
  for (uint32_t c = 0; c < header->num_components; c++) {
    const Cj2kComponent *component = &header->components[c];
    cj2k_put8(out, (component->is_signed ? 0x80u : 0u) | (component->depth - 1u));
    cj2k_put8(out, component->dx);
    cj2k_put8(out, component->dy);
  }
}

uint16_t cj2k_ccap15(const Cj2kHeader *header, const Cj2kQuantisation *quantisation)
{
  uint32_t magnitude_bits = 0, irreversible = 0, mixed = 0;

  for (uint32_t c = 0; c < header->num_components; c++) {
    const Cj2kQuantisation *q = &quantisation[c];
    irreversible |= !header->coding.coding[c].reversible;
    mixed |= header->coding.coding[c].block_style & CJ2K_STYLE_HT_MIXED;
    for (uint32_t b = 0; b < q->num_steps; b++)
      magnitude_bits = MAX(magnitude_bits, q->guard_bits + q->exponent[b] - 1u);
  }
  /* Parameter P of table A.4: the bound B on magnitude bits, coarser when large. */
  uint32_t p = magnitude_bits <= 8   ? 0
               : magnitude_bits < 28 ? magnitude_bits - 8
                                     : 13 + (magnitude_bits >> 2);
  return (uint16_t)((mixed ? 0xc000 : 0) | irreversible << 5 | MIN(p, 31u));
}

/* T.814 A.3: Pcap says that only Ccap15 follows. */
static void write_cap(Cj2kByteBuffer *out, const Cj2kHeader *header,
                      const Cj2kQuantisation *quantisation)
{
  cj2k_put16(out, CJ2K_CAP);
  cj2k_put16(out, 8);
  cj2k_put32(out, header->pcap);
  cj2k_put16(out, cj2k_ccap15(header, quantisation));
}

static bool has_precincts(const Cj2kCoding *coding)
{
  for (uint32_t r = 0; r <= coding->num_levels; r++)
    if (coding->log2_precinct_width[r] != 15 || coding->log2_precinct_height[r] != 15)
      return true;
  return false;
}

/* SPcod, SPcoc: table A.15. */
static void put_coding(Cj2kByteBuffer *out, const Cj2kCoding *coding)
{
  cj2k_put8(out, coding->num_levels);
  cj2k_put8(out, coding->log2_block_width - 2u);
  cj2k_put8(out, coding->log2_block_height - 2u);
  cj2k_put8(out, coding->block_style);
  cj2k_put8(out, coding->reversible);
  if (has_precincts(coding))
    for (uint32_t r = 0; r <= coding->num_levels; r++)
      cj2k_put8(out,
                coding->log2_precinct_width[r] | (uint32_t)coding->log2_precinct_height[r] << 4);
}

static uint32_t coding_bytes(const Cj2kCoding *coding)
{
  return 5 + (has_precincts(coding) ? coding->num_levels + 1u : 0);
}

/* A.6.1 */
static void write_cod(Cj2kByteBuffer *out, const Cj2kTileCoding *tile)
{
  const Cj2kCoding *coding = &tile->coding[0];

  cj2k_put16(out, CJ2K_COD);
  cj2k_put16(out, 7 + coding_bytes(coding));
  cj2k_put8(out, (has_precincts(coding) ? 1u : 0u) | (tile->sop ? 2u : 0u) | (tile->eph ? 4u : 0u));
  cj2k_put8(out, tile->progression);
  cj2k_put16(out, tile->num_layers);
  cj2k_put8(out, tile->mct);
  put_coding(out, coding);
}

static bool same_coding(const Cj2kCoding *a, const Cj2kCoding *b)
{
  size_t n = a->num_levels + 1u;
  return a->num_levels == b->num_levels && a->log2_block_width == b->log2_block_width &&
         a->log2_block_height == b->log2_block_height && a->block_style == b->block_style &&
         a->reversible == b->reversible &&
         !memcmp(a->log2_precinct_width, b->log2_precinct_width, n) &&
         !memcmp(a->log2_precinct_height, b->log2_precinct_height, n);
}

/* A.6.2 */
static void write_coc(Cj2kByteBuffer *out, const Cj2kHeader *header, uint32_t c)
{
  const Cj2kCoding *coding = &header->coding.coding[c];

  cj2k_put16(out, CJ2K_COC);
  cj2k_put16(out, 3 + component_bytes(header) + coding_bytes(coding));
  put_component(out, header, c);
  cj2k_put8(out, has_precincts(coding));
  put_coding(out, coding);
}

/* Sqcd and SPqcd: tables A.28 to A.30. */
static void put_quantisation(Cj2kByteBuffer *out, const Cj2kQuantisation *q)
{
  cj2k_put8(out, q->style | (uint32_t)q->guard_bits << 5);
  for (uint32_t b = 0; b < q->num_steps; b++)
    if (q->style == 0)
      cj2k_put8(out, (uint32_t)q->exponent[b] << 3);
    else
      cj2k_put16(out, (uint32_t)q->exponent[b] << 11 | q->mantissa[b]);
}

static uint32_t quantisation_bytes(const Cj2kQuantisation *q)
{
  return 1 + q->num_steps * (q->style == 0 ? 1u : 2u);
}

/* A.6.4 */
static void write_qcd(Cj2kByteBuffer *out, const Cj2kQuantisation *q)
{
  cj2k_put16(out, CJ2K_QCD);
  cj2k_put16(out, 2 + quantisation_bytes(q));
  put_quantisation(out, q);
}

static bool same_quantisation(const Cj2kQuantisation *a, const Cj2kQuantisation *b)
{
  return a->style == b->style && a->guard_bits == b->guard_bits && a->num_steps == b->num_steps &&
         !memcmp(a->exponent, b->exponent, a->num_steps) &&
         !memcmp(a->mantissa, b->mantissa, a->num_steps * sizeof a->mantissa[0]);
}

/* A.6.5 */
static void write_qcc(Cj2kByteBuffer *out, const Cj2kHeader *header, uint32_t c,
                      const Cj2kQuantisation *q)
{
  cj2k_put16(out, CJ2K_QCC);
  cj2k_put16(out, 2 + component_bytes(header) + quantisation_bytes(q));
  put_component(out, header, c);
  put_quantisation(out, q);
}

/* A.6.6 */
static void write_poc(Cj2kByteBuffer *out, const Cj2kHeader *header)
{
  const Cj2kTileCoding *tile = &header->coding;

  cj2k_put16(out, CJ2K_POC);
  cj2k_put16(out, 2 + tile->num_volumes * (5 + 2 * component_bytes(header)));
  for (uint32_t v = 0; v < tile->num_volumes; v++) {
    const Cj2kProgressionVolume *volume = &tile->volumes[v];
    cj2k_put8(out, volume->res_start);
    put_component(out, header, volume->comp_start);
    cj2k_put16(out, volume->layer_end);
    cj2k_put8(out, volume->res_end);
    put_component(out, header,
                  volume->comp_end); /* 256 in one byte becomes 0, as table A.32 wants */
    cj2k_put8(out, volume->order);
  }
}

/* A.9.2. With texts of at most 60000 bytes the length never looks like EOC. */
static void write_com(Cj2kByteBuffer *out, const char *comment)
{
  size_t size = strlen(comment);

  cj2k_put16(out, CJ2K_COM);
  cj2k_put16(out, (uint32_t)(4 + size));
  cj2k_put16(out, 1); /* Latin text */
  cj2k_put_bytes(out, comment, size);
}

void cj2k_write_main_header(Cj2kByteBuffer *out, const Cj2kHeader *header,
                            const Cj2kQuantisation *quantisation, const char *comment)
{
  const Cj2kTileCoding *tile = &header->coding;

  cj2k_put16(out, CJ2K_SOC);
  write_siz(out, header);
  if (header->has_cap)
    write_cap(out, header, quantisation);
  write_cod(out, tile);
  for (uint32_t c = 1; c < header->num_components; c++)
    if (!same_coding(&tile->coding[c], &tile->coding[0]))
      write_coc(out, header, c);
  write_qcd(out, &quantisation[0]);
  for (uint32_t c = 1; c < header->num_components; c++)
    if (!same_quantisation(&quantisation[c], &quantisation[0]))
      write_qcc(out, header, c, &quantisation[c]);
  if (tile->num_volumes)
    write_poc(out, header);
  if (comment)
    write_com(out, comment);
}

void cj2k_write_padding_comment(Cj2kByteBuffer *out, uint32_t size)
{
  cj2k_put16(out, CJ2K_COM);
  cj2k_put16(out, size - 2);
  cj2k_put16(out, 0); /* binary */
  for (uint32_t i = 6; i < size; i++)
    cj2k_put8(out, 0);
}

bool cj2k_contains_eoc(const uint8_t *bytes, size_t size)
{
  for (size_t i = 1; i < size; i++)
    if (bytes[i - 1] == 0xff && bytes[i] == 0xd9)
      return true;
  return false;
}
