/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Main and tile-part headers, and the plan that follows from them. */
#include "common/codestream/plan.h"
#include "fuzz.h"

#define MAX_MEMORY (128 << 10)

static void check_blocks(const Cj2kPlan *plan)
{
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    FUZZ_CHECK(block->band < plan->num_bands, "block %u is of band %u", b, block->band);
    const Cj2kRect *rect = &plan->bands[block->band].rect;
    FUZZ_CHECK(block->width && block->height, "block %u is empty", b);
    FUZZ_CHECK((uint64_t)block->x + block->width <= rect->x1 - rect->x0 &&
                   (uint64_t)block->y + block->height <= rect->y1 - rect->y0,
               "block %u leaves its band", b);
  }
}

static void check_plan(Cj2kHeader *header, uint8_t reduce)
{
  Cj2kError error = {0};
  Cj2kPlan *plan;
  Cj2kStatus status = cj2k_plan_new(header, reduce, MAX_MEMORY, &plan, &error);
  FUZZ_CHECK((status == CJ2K_OK) == (error.text[0] == 0), "status %d without a reason", status);
  if (status != CJ2K_OK)
    return;
  FUZZ_CHECK(plan->num_tiles == header->num_tiles_x * header->num_tiles_y, "%u tiles",
             plan->num_tiles);
  check_blocks(plan);
  cj2k_plan_unref(plan);
}

/* The same bytes again must give the same header. */
static void check_again(Cj2kHeaderReader *reader, const uint8_t *data, size_t size,
                        Cj2kHeader *header, Cj2kTileParts *parts)
{
  Cj2kError error = {0};
  Cj2kHeader *again = NULL;
  bool same;
  Cj2kStatus status =
      cj2k_header_read(reader, data, size, false, MAX_MEMORY, &again, &same, parts, &error);
  FUZZ_CHECK(status == CJ2K_OK && same && again == header, "status %d, same %d", status, same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kTileParts parts = {0};
  Cj2kError error = {0};
  Cj2kHeader *header = NULL;
  bool same;

  cj2k_header_read(reader, data, size, false, MAX_MEMORY, &header, &same, NULL, &error);
  bool is_strict = cj2k_header_read(reader, data, size, true, MAX_MEMORY, &header, &same, &parts,
                                    &error) == CJ2K_OK;
  Cj2kStatus status =
      cj2k_header_read(reader, data, size, false, MAX_MEMORY, &header, &same, &parts, &error);
  FUZZ_CHECK(status == CJ2K_OK || !is_strict, "only strict: %s", error.text);
  if (status == CJ2K_OK) {
    for (uint32_t i = 0; i < parts.num_tile_parts; i++) {
      const Cj2kTilePart *part = &parts.tile_parts[i];
      FUZZ_CHECK(part->tile < header->num_tiles_x * header->num_tiles_y, "tile %u", part->tile);
      FUZZ_CHECK(part->data.offset <= size && part->data.size <= size - part->data.offset,
                 "tile-part %u leaves the data", i);
    }
    check_plan(header, 0);
    check_plan(header, 1);
    check_again(reader, data, size, header, &parts);
  }
  cj2k_tile_parts_clear(&parts);
  cj2k_header_reader_free(reader);
  return 0;
}
