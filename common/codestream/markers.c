/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "markers.h"

#include "common/runtime/error.h"

#include <stddef.h>

static const Cj2kMarkerInfo marker_table[] = {
    {CJ2K_SOC, "SOC", CJ2K_SEGMENT_DELIMITER, false},
    {CJ2K_CAP, "CAP", CJ2K_SEGMENT_SHAPES, false},
    {CJ2K_SIZ, "SIZ", CJ2K_SEGMENT_SHAPES, false},
    {CJ2K_COD, "COD", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_COC, "COC", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_TLM, "TLM", CJ2K_SEGMENT_SKIP, false},
    {CJ2K_PLM, "PLM", CJ2K_SEGMENT_SKIP, false},
    {CJ2K_PLT, "PLT", CJ2K_SEGMENT_SKIP, true},
    {CJ2K_CPF, "CPF", CJ2K_SEGMENT_SKIP, false},
    {CJ2K_QCD, "QCD", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_QCC, "QCC", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_RGN, "RGN", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_POC, "POC", CJ2K_SEGMENT_SHAPES, true},
    {CJ2K_PPM, "PPM", CJ2K_SEGMENT_HEADERS, false},
    {CJ2K_PPT, "PPT", CJ2K_SEGMENT_HEADERS, true},
    {CJ2K_CRG, "CRG", CJ2K_SEGMENT_SKIP, false},
    {CJ2K_COM, "COM", CJ2K_SEGMENT_SKIP, true},
    {CJ2K_SOT, "SOT", CJ2K_SEGMENT_DELIMITER, false},
    {CJ2K_SOP, "SOP", CJ2K_SEGMENT_DELIMITER, false},
    {CJ2K_EPH, "EPH", CJ2K_SEGMENT_DELIMITER, false},
    {CJ2K_SOD, "SOD", CJ2K_SEGMENT_DELIMITER, true},
    {CJ2K_EOC, "EOC", CJ2K_SEGMENT_DELIMITER, false},
    {0, "an unknown marker", CJ2K_SEGMENT_SKIP, true},
};

const Cj2kMarkerInfo *cj2k_marker_info(uint16_t marker)
{
  const Cj2kMarkerInfo *info = marker_table;

  while (info->marker != 0 && info->marker != marker)
    info++;
  return info;
}

uint32_t cj2k_bytes_get(Cj2kBytes *bytes, uint32_t num_bytes)
{
  uint32_t value = 0;

  if (cj2k_bytes_left(bytes) < num_bytes) {
    bytes->at = bytes->end;
    bytes->overrun = true;
    return 0;
  }
  while (num_bytes--)
    value = value << 8 | *bytes->at++;
  return value;
}

#define BROKEN(segment, error, ...)                                                                \
  cj2k_error_set_at((error), CJ2K_ERROR_CODESTREAM, (segment)->marker, (segment)->offset,          \
                    __VA_ARGS__)

static Cj2kStatus too_short(const Cj2kMarkerSegment *segment, Cj2kError *error)
{
  return BROKEN(segment, error, "%s marker segment of %u bytes is too short",
                cj2k_marker_info(segment->marker)->name, segment->size);
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

Cj2kStatus cj2k_read_siz(const uint8_t *data, const Cj2kMarkerSegment *segment, Cj2kHeader *header,
                         Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  uint64_t tiles_x, tiles_y;

  header->rsiz = (uint16_t)cj2k_bytes_get(&bytes, 2);
  header->x1 = cj2k_bytes_get(&bytes, 4);
  header->y1 = cj2k_bytes_get(&bytes, 4);
  header->x0 = cj2k_bytes_get(&bytes, 4);
  header->y0 = cj2k_bytes_get(&bytes, 4);
  header->tdx = cj2k_bytes_get(&bytes, 4);
  header->tdy = cj2k_bytes_get(&bytes, 4);
  header->tx0 = cj2k_bytes_get(&bytes, 4);
  header->ty0 = cj2k_bytes_get(&bytes, 4);
  header->num_components = cj2k_bytes_get(&bytes, 2);
  if (bytes.overrun || cj2k_bytes_left(&bytes) < 3 * (size_t)header->num_components)
    return too_short(segment, error);
  if (header->num_components < 1 || header->num_components > CJ2K_MAX_COMPONENTS)
    return BROKEN(segment, error, "SIZ says %u components, 1 to %u are allowed",
                  header->num_components, CJ2K_MAX_COMPONENTS);
  if (header->x0 >= header->x1 || header->y0 >= header->y1)
    return BROKEN(segment, error, "SIZ says an empty image area, (%u,%u) to (%u,%u)", header->x0,
                  header->y0, header->x1, header->y1);
  if (header->tx0 > header->x0 || header->ty0 > header->y0 ||
      (uint64_t)header->tx0 + header->tdx <= header->x0 ||
      (uint64_t)header->ty0 + header->tdy <= header->y0)
    return BROKEN(segment, error,
                  "SIZ says a first tile at (%u,%u) of %u x %u that misses the image at (%u,%u)",
                  header->tx0, header->ty0, header->tdx, header->tdy, header->x0, header->y0);
  tiles_x = ceil_div((uint64_t)header->x1 - header->tx0, header->tdx);
  tiles_y = ceil_div((uint64_t)header->y1 - header->ty0, header->tdy);
  if (tiles_x > 65535 || tiles_y > 65535 || tiles_x * tiles_y > 65535)
    return BROKEN(segment, error, "SIZ says %llu x %llu tiles, at most 65535 are allowed",
                  (unsigned long long)tiles_x, (unsigned long long)tiles_y);
  header->num_tiles_x = (uint32_t)tiles_x;
  header->num_tiles_y = (uint32_t)tiles_y;
  return CJ2K_OK;
}

Cj2kStatus cj2k_read_siz_components(const uint8_t *data, const Cj2kMarkerSegment *segment,
                                    Cj2kHeader *header, Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);

  bytes.at += 36;
  for (uint32_t c = 0; c < header->num_components; c++) {
    Cj2kComponent *component = &header->components[c];
    uint32_t ssiz = cj2k_bytes_get(&bytes, 1);

    component->is_signed = ssiz >> 7;
    component->depth = (uint8_t)((ssiz & 0x7f) + 1);
    component->dx = (uint8_t)cj2k_bytes_get(&bytes, 1);
    component->dy = (uint8_t)cj2k_bytes_get(&bytes, 1);
    if (component->depth > 38)
      return BROKEN(segment, error, "SIZ says %u bits for component %u, at most 38 are allowed",
                    component->depth, c);
    if (component->dx == 0 || component->dy == 0)
      return BROKEN(segment, error, "SIZ says sub-sampling %u x %u for component %u", component->dx,
                    component->dy, c);
    component->x0 = (uint32_t)ceil_div(header->x0, component->dx);
    component->y0 = (uint32_t)ceil_div(header->y0, component->dy);
    component->x1 = (uint32_t)ceil_div(header->x1, component->dx);
    component->y1 = (uint32_t)ceil_div(header->y1, component->dy);
  }
  return CJ2K_OK;
}

Cj2kStatus cj2k_read_cap(const uint8_t *data, const Cj2kMarkerSegment *segment, Cj2kHeader *header,
                         Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);

  header->has_cap = true;
  header->pcap = cj2k_bytes_get(&bytes, 4);
  /* One Ccap for each bit of Pcap, most significant bit first: Part i is bit 32 - i. */
  for (int part = 1; part <= 32; part++) {
    if (header->pcap >> (32 - part) & 1) {
      uint16_t ccap = (uint16_t)cj2k_bytes_get(&bytes, 2);
      if (part == 15)
        header->ccap15 = ccap;
    }
  }
  return bytes.overrun ? too_short(segment, error) : CJ2K_OK;
}

/* SPcod, SPcoc (table A.15): everything after Scoc. */
static Cj2kStatus read_coding(Cj2kBytes *bytes, const Cj2kMarkerSegment *segment,
                              bool has_precincts, Cj2kCoding *coding, Cj2kError *error)
{
  const char *name = cj2k_marker_info(segment->marker)->name;
  uint32_t levels = cj2k_bytes_get(bytes, 1);
  uint32_t width = cj2k_bytes_get(bytes, 1) + 2;
  uint32_t height = cj2k_bytes_get(bytes, 1) + 2;
  uint32_t style = cj2k_bytes_get(bytes, 1);
  uint32_t transform = cj2k_bytes_get(bytes, 1);

  if (bytes->overrun)
    return too_short(segment, error);
  if (levels > CJ2K_MAX_LEVELS)
    return BROKEN(segment, error, "%s says %u decomposition levels, at most 32 are allowed", name,
                  levels);
  if (width > 10 || height > 10 || width + height > 12)
    return BROKEN(segment, error, "%s says code-blocks of 2^%u x 2^%u samples", name, width,
                  height);
  if (transform > 1)
    return cj2k_error_set_at(error, CJ2K_ERROR_UNSUPPORTED, segment->marker, segment->offset,
                             "wavelet transformation %u (a Part 2 filter) is not supported",
                             transform);
  coding->num_levels = (uint8_t)levels;
  coding->log2_block_width = (uint8_t)width;
  coding->log2_block_height = (uint8_t)height;
  coding->block_style = (uint8_t)style;
  coding->reversible = transform == 1;
  for (uint32_t r = 0; r <= CJ2K_MAX_LEVELS; r++) {
    uint32_t size = has_precincts && r <= levels ? cj2k_bytes_get(bytes, 1) : 0xff;

    coding->log2_precinct_width[r] = size & 0xf;
    coding->log2_precinct_height[r] = (uint8_t)(size >> 4);
    if (bytes->overrun)
      return too_short(segment, error);
    if (r > 0 && ((size & 0xf) == 0 || size >> 4 == 0))
      return BROKEN(segment, error, "%s says precincts of 1 sample at resolution %u", name, r);
  }
  return CJ2K_OK;
}

Cj2kStatus cj2k_read_cod(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         Cj2kTileCoding *tile, Cj2kCoding *coding, Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  uint32_t scod = cj2k_bytes_get(&bytes, 1);
  uint32_t progression = cj2k_bytes_get(&bytes, 1);
  uint32_t layers = cj2k_bytes_get(&bytes, 2);
  uint32_t mct = cj2k_bytes_get(&bytes, 1);

  if (bytes.overrun)
    return too_short(segment, error);
  if (progression > CJ2K_CPRL)
    return BROKEN(segment, error, "COD says progression order %u", progression);
  if (layers == 0)
    return BROKEN(segment, error, "COD says 0 layers");
  if (mct > 1)
    return cj2k_error_set_at(error, CJ2K_ERROR_UNSUPPORTED, segment->marker, segment->offset,
                             "multiple component transformation %u (Part 2) is not supported", mct);
  tile->progression = (uint8_t)progression;
  tile->num_layers = (uint16_t)layers;
  tile->mct = mct;
  tile->sop = scod >> 1 & 1;
  tile->eph = scod >> 2 & 1;
  return read_coding(&bytes, segment, scod & 1, coding, error);
}

static Cj2kStatus read_component(Cj2kBytes *bytes, const Cj2kMarkerSegment *segment,
                                 uint32_t num_components, uint32_t *component, Cj2kError *error)
{
  *component = cj2k_bytes_component(bytes, num_components);
  if (bytes->overrun)
    return too_short(segment, error);
  if (*component >= num_components)
    return BROKEN(segment, error, "%s is for component %u of %u",
                  cj2k_marker_info(segment->marker)->name, *component, num_components);
  return CJ2K_OK;
}

Cj2kStatus cj2k_read_coc(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, uint32_t *component, Cj2kCoding *coding,
                         Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  Cj2kStatus status = read_component(&bytes, segment, num_components, component, error);
  uint32_t scoc = cj2k_bytes_get(&bytes, 1);

  return status != CJ2K_OK ? status : read_coding(&bytes, segment, scoc & 1, coding, error);
}

Cj2kStatus cj2k_read_quantisation(const uint8_t *data, const Cj2kMarkerSegment *segment,
                                  uint32_t num_components, uint32_t *component,
                                  Cj2kQuantisation *quantisation, Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  uint32_t sqcd, steps, step_size;

  if (segment->marker == CJ2K_QCC) {
    Cj2kStatus status = read_component(&bytes, segment, num_components, component, error);
    if (status != CJ2K_OK)
      return status;
  }
  sqcd = cj2k_bytes_get(&bytes, 1);
  if ((sqcd & 0x1f) > 2)
    return BROKEN(segment, error, "quantisation style %u", sqcd & 0x1f);
  *quantisation = (Cj2kQuantisation){.style = sqcd & 0x1f, .guard_bits = (uint8_t)(sqcd >> 5)};
  step_size = quantisation->style == 0 ? 1 : 2;
  steps = (uint32_t)(cj2k_bytes_left(&bytes) / step_size);
  if (quantisation->style == 1 && steps > 1)
    steps = 1;
  if (steps > CJ2K_MAX_BANDS)
    steps = CJ2K_MAX_BANDS;
  if (steps == 0)
    return too_short(segment, error);
  quantisation->num_steps = (uint8_t)steps;
  for (uint32_t b = 0; b < steps; b++) {
    uint32_t value = cj2k_bytes_get(&bytes, step_size);

    quantisation->exponent[b] = (uint8_t)(step_size == 1 ? value >> 3 : value >> 11);
    quantisation->mantissa[b] = step_size == 1 ? 0 : value & 0x7ff;
  }
  return CJ2K_OK;
}

Cj2kStatus cj2k_read_rgn(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, uint32_t *component, uint8_t *shift,
                         Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  Cj2kStatus status = read_component(&bytes, segment, num_components, component, error);
  uint32_t style;

  if (status != CJ2K_OK)
    return status;
  style = cj2k_bytes_get(&bytes, 1);
  *shift = (uint8_t)cj2k_bytes_get(&bytes, 1);
  if (bytes.overrun)
    return too_short(segment, error);
  if (style != 0)
    return cj2k_error_set_at(error, CJ2K_ERROR_UNSUPPORTED, segment->marker, segment->offset,
                             "region of interest of style %u (Part 2) is not supported", style);
  return CJ2K_OK;
}

uint32_t cj2k_poc_num_volumes(const Cj2kMarkerSegment *segment, uint32_t num_components)
{
  return segment->size / (num_components < 257 ? 7 : 9);
}

Cj2kStatus cj2k_read_poc(const uint8_t *data, const Cj2kMarkerSegment *segment,
                         uint32_t num_components, Cj2kProgressionVolume *volumes, Cj2kError *error)
{
  Cj2kBytes bytes = cj2k_segment_bytes(data, segment);
  uint32_t num_volumes = cj2k_poc_num_volumes(segment, num_components);

  if (num_volumes == 0)
    return too_short(segment, error);
  for (uint32_t i = 0; i < num_volumes; i++) {
    Cj2kProgressionVolume *volume = &volumes[i];
    uint32_t comp_end, order;

    volume->res_start = (uint8_t)cj2k_bytes_get(&bytes, 1);
    volume->comp_start = (uint16_t)cj2k_bytes_component(&bytes, num_components);
    volume->layer_end = (uint16_t)cj2k_bytes_get(&bytes, 2);
    volume->res_end = (uint8_t)cj2k_bytes_get(&bytes, 1);
    comp_end = cj2k_bytes_component(&bytes, num_components);
    order = cj2k_bytes_get(&bytes, 1);
    /* 0 stands for 256 or 16384 (table A.32), which means all components either way. */
    if (comp_end == 0 || comp_end > num_components)
      comp_end = num_components;
    if (order > CJ2K_CPRL)
      return BROKEN(segment, error, "POC says progression order %u", order);
    volume->comp_end = (uint16_t)comp_end;
    volume->order = (uint8_t)order;
  }
  return CJ2K_OK;
}
