/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TRANSFORM: launches of the inverse DWT, of its last level with all that follows, and of packing;
 * of all rows, or of those of a slice, or where packets come in parts of those that have become
 * possible.
 */
#include "decode.h"

/* Restricts a launch to ranges of rows, and to the entries from the first to the last one that have
 * some; offset: of its table in `ranges`. false: there are none. */
static bool restrict_rows(const Cj2kCudaRanges *ranges, uint32_t offset, Cj2kCudaLaunch *launch)
{
  Cj2kCudaStrips *strips = &launch->strips;
  uint32_t first = 0, end = 0;

  if (!ranges)
    return true;
  const Cj2kCudaRows *rows = ranges->host + offset;
  strips->height = 0;
  for (uint32_t i = launch->first; i < launch->first + launch->count; i++) {
    if (rows[i].first >= rows[i].end)
      continue;
    if (!end)
      first = i;
    end = i + 1;
    strips->height = MAX(strips->height, rows[i].end - rows[i].first);
  }
  if (!end)
    return false;
  launch->first = first;
  launch->count = end - first;
  strips->rows = cj2k_cuda_decode_rows(strips->width, strips->height, launch->count);
  strips->ranges = ranges->device + offset + launch->first;
  return true;
}

cudaError_t cj2k_cuda_decode_levels(Cj2kDecodeSlot *slot, const Cj2kCudaRanges *ranges,
                                    cudaStream_t stream)
{
  cudaError_t result = cudaSuccess;
  for (uint32_t i = 0; i < slot->tables.levels->len && result == cudaSuccess; i++) {
    Cj2kCudaLaunch l = g_array_index(slot->tables.levels, Cj2kCudaLaunch, i);
    if (restrict_rows(ranges, 0, &l))
      result = cj2k_cuda_idwt((const Cj2kCudaLevel *)slot->tables.level_table.data + l.first,
                              l.count, l.kind, &l.strips, cj2k_cuda_decode_steps(slot), stream);
  }
  return result;
}

/* The only entry, without conversions. */
static cudaError_t finish_direct(Cj2kDecodeSlot *slot, const Cj2kCudaDirect *direct,
                                 const Cj2kCudaRanges *ranges, uint32_t offset, cudaStream_t stream)
{
  Cj2kCudaLaunch launch = g_array_index(slot->output.finishes, Cj2kCudaLaunch, 0);

  if (!restrict_rows(ranges, offset, &launch))
    return cudaSuccess;
  return cj2k_cuda_finish_direct(&slot->output.only, direct, launch.strips.rows,
                                 ranges ? ranges->host + offset : NULL,
                                 cj2k_cuda_decode_steps(slot), stream);
}

cudaError_t cj2k_cuda_decode_finish(Cj2kDecodeSlot *slot, const Cj2kCudaRanges *ranges,
                                    cudaStream_t stream)
{
  cudaError_t result = cudaSuccess;
  uint32_t offset = slot->tables.level_of->len, set = ranges ? ranges->set : 0;
  const Cj2kCudaOutput *h_outputs = cj2k_cuda_decode_outputs(slot, set);
  bool moves = slot->frame.is_once && slot->frame.target->memory == CJ2K_MEMORY_CUDA;
  Cj2kCudaDirect direct;
  if (slot->output.is_only && !moves &&
      cj2k_cuda_finish_is_direct(&slot->output.only, h_outputs, &direct))
    return finish_direct(slot, &direct, ranges, offset, stream);
  const Cj2kCudaOutput *outputs =
      (const Cj2kCudaOutput *)((const uint8_t *)slot->upload.records.data +
                               slot->upload.parts.outputs) +
      (h_outputs - slot->output.outputs);
  bool aligned = cj2k_cuda_finish_is_aligned(h_outputs, slot->output.num_outputs);
  for (uint32_t i = 0; i < slot->output.finishes->len && result == cudaSuccess; i++) {
    Cj2kCudaLaunch l = g_array_index(slot->output.finishes, Cj2kCudaLaunch, i);
    if (!restrict_rows(ranges, offset, &l))
      continue;
    const Cj2kCudaFinish *entries =
        (const Cj2kCudaFinish *)slot->output.finish_table.data + l.first;
    if (l.words && aligned)
      result = cj2k_cuda_finish_words(entries, l.count, l.kind, &l.strips,
                                      cj2k_cuda_decode_steps(slot), outputs, stream);
    else
      result = cj2k_cuda_finish(entries, l.count, l.kind, &l.strips, cj2k_cuda_decode_steps(slot),
                                outputs, stream);
  }
  return result;
}

/* Launches the packs that only fill, or the other ones, for rows by plane of the picture (NULL:
 * all). any (may be NULL): there are some. */
static cudaError_t launch_packs(Cj2kDecodeSlot *slot, bool fills, const Cj2kCudaRows *planes,
                                cudaStream_t stream, bool *any)
{
  cudaError_t result = cudaSuccess;
  for (uint32_t i = 0; i < slot->output.packs->len && result == cudaSuccess; i++) {
    Cj2kCudaPack pack = g_array_index(slot->output.packs, Cj2kCudaPack, i);
    uint32_t p = g_array_index(slot->output.plane_of_pack, uint32_t, i);
    if (fills != !pack.count)
      continue;
    if (any)
      *any = true;
    if (planes) {
      pack.first_row = planes[p].first;
      pack.rows = MIN(pack.rows, planes[p].end);
    }
    result = cj2k_cuda_pack(&pack, &slot->output.outputs[p], cj2k_cuda_decode_row_bytes(slot, p),
                            stream);
  }
  return result;
}

cudaError_t cj2k_cuda_decode_fill_padding(Cj2kDecodeSlot *slot, bool *any)
{
  if (any)
    *any = false;
  return launch_packs(slot, true, NULL, slot->stream, any);
}

cudaError_t cj2k_cuda_decode_packs(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes,
                                   cudaStream_t stream)
{
  return launch_packs(slot, false, planes, stream, NULL);
}
