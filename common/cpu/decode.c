/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/runtime/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT  64
#define HUGE_PAGE  (UINT64_C(2) << 20)
#define MAX_DEPTH  31 /* samples are int32_t */
#define BLOCK_AREA 4096

typedef struct {
  Cj2kThreads *threads;
} Backend;

static void *backend_open(const Cj2kDecoderParams *params, Cj2kThreads *threads, Cj2kError *error)
{
  (void)params;
  (void)error;
  Backend *backend = g_new0(Backend, 1);
  backend->threads = threads;
  return backend;
}

static void backend_close(void *backend)
{
  g_free(backend);
}

/* ------------------------------------------------------------------------------ slots --- */

static void lane_clear(Cj2kDecodeLane *lane)
{
  cj2k_block_scratch_free(lane->block_scratch);
  free(lane->block);
  g_free(lane->wide_block);
  g_free(lane->finish);
  free(lane->rows);
  memset(lane, 0, sizeof *lane);
}

/* 64-byte aligned memory, not cleared; NULL: out of memory. Large blocks use huge pages, since the
 * coefficients of a frame would take tens of thousands of small ones. */
static void *allocate(uint64_t size)
{
  void *memory = NULL;
  size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
  if (size > SIZE_MAX - alignment || posix_memalign(&memory, alignment, MAX(size, ALIGNMENT)))
    return NULL;
#ifdef MADV_HUGEPAGE
  if (size >= HUGE_PAGE)
    madvise(memory, size - size % HUGE_PAGE, MADV_HUGEPAGE);
#endif
  return memory;
}

Cj2kDecodeLane *cj2k_decode_lane(Cj2kDecodeSlot *slot, uint32_t index)
{
  Cj2kDecodeLane *lane = &slot->lanes.of[index];
  if (lane->rows)
    return lane;
  lane->block_scratch = cj2k_block_scratch_new();
  lane->block = allocate(BLOCK_AREA * sizeof *lane->block);
  lane->finish = g_try_new(Cj2kFinishRows, MAX(slot->finish.max_group, 1));
  lane->rows = allocate(slot->lanes.row_scratch * MAX((uint64_t)slot->finish.max_group, 1));
  if (lane->block_scratch && lane->block && lane->finish && lane->rows)
    return lane;
  lane_clear(lane);
  g_atomic_int_set(&slot->lanes.out_of_memory, 1);
  return NULL;
}

static Cj2kDecodeSlot *slot_new(void *data, Cj2kError *error)
{
  Backend *backend = data;
  (void)error;
  Cj2kDecodeSlot *slot = g_new0(Cj2kDecodeSlot, 1);
  slot->threads = backend->threads;
  slot->lanes.of = g_new0(Cj2kDecodeLane, cj2k_threads_count(slot->threads));
  cj2k_decode_levels_init(&slot->levels);
  cj2k_decode_finish_init(&slot->finish);
  return slot;
}

static void clear_lanes(Cj2kDecodeSlot *slot)
{
  for (uint32_t i = 0; i < cj2k_threads_count(slot->threads); i++)
    lane_clear(&slot->lanes.of[i]);
}

static void slot_free(void *data, Cj2kDecodeSlot *slot)
{
  (void)data;
  if (!slot)
    return;
  if (slot->plan)
    cj2k_plan_unref(slot->plan);
  clear_lanes(slot);
  g_free(slot->lanes.of);
  free(slot->memory.coefficients);
  free(slot->memory.lowpass);
  cj2k_decode_levels_clear(&slot->levels);
  cj2k_decode_finish_clear(&slot->finish);
  cj2k_decode_parts_clear(slot);
  g_free(slot);
}

/* --------------------------------------------------------------------- plan and layout --- */

static bool reserve(void **memory, uint64_t *allocated, uint64_t samples)
{
  uint64_t size = samples * 4;
  if (*memory && size <= *allocated)
    return true;
  free(*memory);
  *memory = allocate(size);
  *allocated = *memory ? size : 0;
  return *memory != NULL;
}

/* Bytes of DWT scratch of the widest tile-component, rounded up so that an array of them stays
 * aligned. */
static size_t row_scratch_size(const Cj2kPlan *plan)
{
  uint32_t width = 1;
  for (uint32_t i = 0; i < plan->num_tile_comps; i++)
    width = MAX(width, plan->tile_comps[i].out.x1 - plan->tile_comps[i].out.x0);
  return (cj2k_dwt_scratch_size(width) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static Cj2kStatus set_plan(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, Cj2kError *error)
{
  if (slot->plan)
    cj2k_plan_unref(slot->plan);
  slot->plan = NULL;
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    if (plan->tile_comps[i].depth > MAX_DEPTH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "component %u has a depth of %u bits, more than %u",
                            plan->tile_comps[i].component, plan->tile_comps[i].depth, MAX_DEPTH);
  }
  if (!reserve(&slot->memory.coefficients, &slot->memory.coefficients_size,
               plan->num_coefficients) ||
      !reserve(&slot->memory.lowpass, &slot->memory.lowpass_size, plan->num_lowpass))
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY,
                          "no memory for %" G_GUINT64_FORMAT " coefficients",
                          (guint64)(plan->num_coefficients + plan->num_lowpass));
  slot->plan = cj2k_plan_ref((Cj2kPlan *)plan);
  slot->lanes.row_scratch = row_scratch_size(plan);
  cj2k_decode_list_strips(slot);
  return CJ2K_OK;
}

/* Prepares the slot for a plan and a layout; when they are those of the last frame, but for
 * quantiser steps, nothing has to be made again. */
static Cj2kStatus prepare(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  bool same_plan = cj2k_plan_same_geometry(slot->plan, job->plan);
  if (same_plan && slot->plan != job->plan) {
    cj2k_plan_unref(slot->plan);
    slot->plan = cj2k_plan_ref((Cj2kPlan *)job->plan);
  }
  if (same_plan && slot->finish.layout.samples &&
      cj2k_layout_equal(&slot->finish.layout, job->layout))
    return CJ2K_OK;
  if (!same_plan) {
    Cj2kStatus status = set_plan(slot, job->plan, error);
    if (status != CJ2K_OK)
      return status;
  }
  cj2k_decode_list_finish(slot, job->layout);
  clear_lanes(slot);
  return CJ2K_OK;
}

/* ------------------------------------------------------------------------------ frames --- */

/* Decodes the whole frame, on the calling thread and on free ones, so that wait has nothing to do.
 */
static Cj2kStatus start(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                        Cj2kError *error)
{
  (void)backend;
  memset(&slot->result, 0, sizeof slot->result);
  g_atomic_int_set(&slot->lanes.out_of_memory, 0);
  Cj2kStatus status = prepare(slot, job, error);
  if (status != CJ2K_OK)
    return status;

  gint64 begin = g_get_monotonic_time();
  slot->result.corrupt_blocks = cj2k_decode_blocks(slot, job->coded);
  gint64 decoded = g_get_monotonic_time();
  cj2k_decode_rows(slot, job->picture);
  slot->result.ms_block_coder = (double)(decoded - begin) / 1000;
  slot->result.ms_transform = (double)(g_get_monotonic_time() - decoded) / 1000;
  if (g_atomic_int_get(&slot->lanes.out_of_memory))
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for the work of a thread");
  return CJ2K_OK;
}

/* Prepares a frame whose packets come in parts. */
static Cj2kStatus begin_parts(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                              Cj2kError *error)
{
  (void)backend;
  memset(&slot->result, 0, sizeof slot->result);
  g_atomic_int_set(&slot->lanes.out_of_memory, 0);
  Cj2kStatus status = prepare(slot, job, error);
  if (status == CJ2K_OK)
    cj2k_decode_parts_begin(slot, job->picture);
  return status;
}

static Cj2kStatus add_parts(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                            const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                            Cj2kError *error)
{
  (void)backend;
  gint64 begin = g_get_monotonic_time();
  slot->parts.corrupt_blocks += cj2k_decode_parts_blocks(slot, job->coded, precincts, count);
  slot->result.corrupt_blocks = slot->parts.corrupt_blocks + job->coded->corrupt_blocks;
  gint64 decoded = g_get_monotonic_time();
  *rows = cj2k_decode_parts_rows(slot, job->picture);
  slot->result.ms_block_coder += (double)(decoded - begin) / 1000;
  slot->result.ms_transform += (double)(g_get_monotonic_time() - decoded) / 1000;
  if (g_atomic_int_get(&slot->lanes.out_of_memory))
    return cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no memory for the work of a thread");
  return CJ2K_OK;
}

static Cj2kStatus wait_frame(void *backend, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                             Cj2kError *error)
{
  (void)backend;
  (void)error;
  *result = slot->result;
  return CJ2K_OK;
}

const Cj2kDecodeBackend *cj2k_cpu_decode_backend(void)
{
  static const Cj2kDecodeBackend backend = {.name = "cpu",
                                            .open = backend_open,
                                            .close = backend_close,
                                            .slot_new = slot_new,
                                            .slot_free = slot_free,
                                            .start = start,
                                            .begin_parts = begin_parts,
                                            .add_parts = add_parts,
                                            .wait = wait_frame};
  return &backend;
}
