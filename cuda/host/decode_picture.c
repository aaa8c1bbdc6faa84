/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The planes of the frame's picture: their memory on the device, and the way to the host. */
#include "decode.h"

#include "common/runtime/error.h"
#include "common/samples/layout_words.h"

#include <string.h>

#define ALIGNMENT 256 /* of planes, bytes */

size_t cj2k_cuda_decode_row_bytes(const Cj2kDecodeSlot *slot, uint32_t p)
{
  return MIN(slot->output.plane_bytes[p], cj2k_plane_row_bytes(&slot->frame.target->planes[p]));
}

size_t cj2k_cuda_decode_plane_size(const Cj2kDecodeSlot *slot, uint32_t p, uint32_t rows,
                                   size_t pitch)
{
  size_t size = rows ? pitch * (rows - 1) + slot->output.plane_bytes[p] : 0;
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Are words aligned? Samples that have words of their own are stored word by word, and a GPU stores
 * words only at multiples of their size. */
static bool words_fit(const Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  for (uint32_t c = 0; c < slot->output.num_outputs - slot->output.layout.num_planes; c++) {
    const Cj2kSampleLayout *samples = &slot->output.layout.samples[c];
    const Cj2kPlane *plane = &picture->planes[samples->plane];
    uint64_t places = picture->memory == CJ2K_MEMORY_CUDA ? (uintptr_t)plane->data : 0;
    places |= plane->pitch | samples->at[0].offset | cj2k_layout_regular_stride(samples);
    if (!slot->output.samples[c].data && (places & (samples->word_bytes - 1u)))
      return false;
  }
  return true;
}

/* Places the planes of a picture that is downloaded, with its pitches, so that each is one copy.
 * Returns their size. */
static size_t place_planes(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  size_t size = 0;
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++) {
    slot->output.plane_offsets[p] = size;
    size +=
        cj2k_cuda_decode_plane_size(slot, p, slot->output.plane_rows[p], picture->planes[p].pitch);
  }
  return size;
}

uint32_t cj2k_cuda_decode_num_sets(const Cj2kDecodeSlot *slot)
{
  return slot->frame.is_over ? slot->shares.count : 1;
}

const Cj2kCudaOutput *cj2k_cuda_decode_outputs(const Cj2kDecodeSlot *slot, uint32_t set)
{
  return slot->output.outputs + (size_t)set * slot->output.num_outputs;
}

/* Says where kernels store samples: in the picture, or in `memory`, from which it is downloaded. */
static void set_outputs(Cj2kDecodeSlot *slot, const Cj2kPicture *picture, uint8_t *memory)
{
  uint32_t planes = slot->output.layout.num_planes;
  slot->frame.is_placed = false;
  for (uint32_t p = 0; p < planes; p++)
    slot->output.outputs[p] = (Cj2kCudaOutput){
        .data = memory ? memory + slot->output.plane_offsets[p] : picture->planes[p].data,
        .pitch = picture->planes[p].pitch};
  for (uint32_t p = planes; p < slot->output.num_outputs; p++)
    slot->output.outputs[p] = slot->output.samples[p - planes];
}

/* Does the picture lie where the last one did, with the same pitches? */
static bool is_placed(const Cj2kDecodeSlot *slot)
{
  bool same = slot->frame.is_placed;
  for (uint32_t p = 0; p < slot->output.layout.num_planes && same; p++)
    same = slot->output.outputs[p].pitch == slot->frame.target->planes[p].pitch;
  return same;
}

/* Places a picture over coefficients; first to know what has no place there. */
static cudaError_t place_over(Cj2kDecodeSlot *slot)
{
  Cj2kCudaMemory *own = &slot->frame.picture;
  if (is_placed(slot))
    return cudaSuccess;
  slot->frame.is_placed = false;
  size_t size = cj2k_cuda_decode_place_overlay(slot, NULL);
  if (!size) /* it may be that of another layout */
    cj2k_cuda_release(own);
  cudaError_t result = cj2k_cuda_reserve(&slot->backend->device, own, size);
  if (result != cudaSuccess)
    return result;
  (void)cj2k_cuda_decode_place_overlay(slot, own->data);
  slot->frame.is_placed = true;
  return cudaSuccess;
}

/* Frames in parts have their coefficients for as long as their packets take, so that their picture
 * has memory of its own. */
Cj2kStatus cj2k_cuda_decode_place_picture(Cj2kDecodeSlot *slot, const Cj2kPicture *picture,
                                          Cj2kError *error)
{
  bool on_device = picture->memory == CJ2K_MEMORY_CUDA;
  Cj2kCudaDecodeFrame *frame = &slot->frame;
  const Cj2kCudaDevice *device = &slot->backend->device;
  cudaError_t result = cudaSuccess;
  if (!words_fit(slot, picture))
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                          "CUDA: words that are not aligned to their size");
  frame->size = place_planes(slot, picture);
  frame->copy_out = picture->memory == CJ2K_MEMORY_HOST;
  frame->is_over = !on_device && !slot->parts.active && slot->shares.kind == CJ2K_CUDA_OVERLAY;
  if (frame->is_over)
    result = place_over(slot);
  else if (!on_device)
    result = cj2k_cuda_reserve(device, &frame->picture, frame->size);
  if (frame->copy_out)
    CJ2K_CUDA_TRY(result, cj2k_cuda_reserve(device, &frame->h_picture, frame->size));
  if (result == cudaSuccess && !frame->is_over)
    set_outputs(slot, picture, on_device ? NULL : frame->picture.data);
  return cj2k_cuda_check(device, result, "memory for the picture", error);
}

cudaError_t cj2k_cuda_decode_follow_picture(Cj2kDecodeSlot *slot)
{
  return cj2k_cuda_follow_picture(slot->stream, slot->frame.target, slot->frame.picture_free);
}

/* Of a picture on the device a graph has neither place nor pitch: its kernels find them in the
 * records. */
void cj2k_cuda_decode_add_outputs(const Cj2kDecodeSlot *slot, GArray *key)
{
  const Cj2kCudaDecodeOutput *output = &slot->output;
  uint32_t count = cj2k_cuda_decode_num_sets(slot) * output->num_outputs;
  uint64_t on_device = slot->frame.target->memory == CJ2K_MEMORY_CUDA;
  uint64_t aligned = cj2k_cuda_finish_is_aligned(output->outputs, output->num_outputs);

  g_array_append_val(key, on_device);
  g_array_append_val(key, aligned);
  for (uint32_t i = 0; i < count && !on_device; i++) {
    uint64_t place[] = {(uintptr_t)output->outputs[i].data, output->outputs[i].pitch};
    g_array_append_vals(key, place, G_N_ELEMENTS(place));
  }
  for (uint32_t p = 0; p < output->layout.num_planes; p++) {
    uint64_t bytes = cj2k_cuda_decode_row_bytes(slot, p);
    g_array_append_val(key, bytes);
  }
}

/* Where plane p is downloaded to: the picture, or the same place in pinned memory as on the device.
 */
static uint8_t *host_plane(const Cj2kDecodeSlot *slot, uint32_t p)
{
  return slot->frame.copy_out
             ? (uint8_t *)slot->frame.h_picture.data + slot->output.plane_offsets[p]
             : slot->frame.target->planes[p].data;
}

/* The bytes of the whole picture, if its planes follow each other without gaps in host memory as
 * they do on the device; 0: they do not. */
static size_t adjoining(const Cj2kDecodeSlot *slot)
{
  const Cj2kPlane *planes = slot->frame.target->planes;
  size_t size = 0;
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++) {
    if (!planes[p].data || cj2k_cuda_decode_row_bytes(slot, p) != planes[p].pitch ||
        (const uint8_t *)planes[p].data != (const uint8_t *)planes[0].data + size ||
        slot->output.outputs[p].data != slot->output.outputs[0].data + size)
      return 0;
    size += planes[p].pitch * slot->output.plane_rows[p];
  }
  return size;
}

/* Enqueues the download of rows [first, end) of a plane. */
static cudaError_t download_plane(Cj2kDecodeSlot *slot, uint32_t p, uint32_t first, uint32_t end,
                                  uint32_t set, cudaStream_t stream)
{
  const Cj2kPlane *plane = &slot->frame.target->planes[p];
  const uint8_t *from = cj2k_cuda_decode_outputs(slot, set)[p].data;
  size_t at = first * plane->pitch, bytes = cj2k_cuda_decode_row_bytes(slot, p);
  uint8_t *to = host_plane(slot, p);

  if (!to || !bytes || first >= end)
    return cudaSuccess;
  return cudaMemcpy2DAsync(to + at, plane->pitch, from + at, plane->pitch, bytes, end - first,
                           cudaMemcpyDeviceToHost, stream);
}

static cudaError_t download_slices(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;
  for (uint32_t k = 0; k < slot->shares.count; k++)
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_download_rows(
                              slot, cj2k_cuda_decode_share_planes(slot, k), k, slot->stream));
  return result;
}

/* Downloads the planes; all at once if possible, because each copy is a call into the driver. */
cudaError_t cj2k_cuda_decode_download(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;
  if (cj2k_cuda_decode_num_sets(slot) > 1)
    return download_slices(slot);
  size_t size = slot->frame.copy_out ? 0 : adjoining(slot);
  if (size) {
    result = cudaMemcpyAsync(slot->frame.target->planes[0].data, slot->output.outputs[0].data, size,
                             cudaMemcpyDeviceToHost, slot->stream);
    if (result != cudaErrorInvalidValue)
      return result;
    (void)cudaGetLastError(); /* the planes are adjacent by chance, of different allocations */
    result = cudaSuccess;
  }
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++)
    CJ2K_CUDA_TRY(result, download_plane(slot, p, 0, slot->output.plane_rows[p], 0, slot->stream));
  return result;
}

/* Are two addresses in the same memory, or both in the picture's own? CUDA copies from one at a
 * time. */
static bool same_memory(const Cj2kDecodeSlot *slot, const uint8_t *a, const uint8_t *b)
{
  const Cj2kCudaMemory *memory[] = {&slot->tables.coefficients, &slot->tables.lowpass};

  for (size_t i = 0; i < G_N_ELEMENTS(memory) && slot->frame.is_over; i++) {
    const uint8_t *data = memory[i]->data;
    if ((a >= data && a < data + memory[i]->size) != (b >= data && b < data + memory[i]->size))
      return false;
  }
  return true;
}

/* How many planes from p on are alike and evenly spaced, on the host and on the device, so that the
 * same rows of them are one two-dimensional copy, in which the rows of a plane form one row;
 * *to_next and *from_next: the distances between planes. */
static uint32_t count_alike(const Cj2kDecodeSlot *slot, const Cj2kCudaRows *rows, uint32_t p,
                            const Cj2kCudaOutput *outputs, uint64_t *to_next, uint64_t *from_next)
{
  const Cj2kPlane *planes = slot->frame.target->planes;
  uint64_t pitch = planes[p].pitch, bytes = pitch * (rows[p].end - rows[p].first);
  uint64_t at = rows[p].first * pitch;
  uint32_t n = 1;

  for (; p + n < slot->output.layout.num_planes; n++) {
    const uint8_t *to = host_plane(slot, p + n - 1), *next = host_plane(slot, p + n);
    if (!to || !next || next < to || outputs[p + n].data < outputs[p + n - 1].data ||
        !same_memory(slot, outputs[p].data + at, outputs[p + n].data + at) ||
        planes[p + n].pitch != pitch || cj2k_cuda_decode_row_bytes(slot, p + n) != pitch ||
        rows[p + n].first != rows[p].first || rows[p + n].end != rows[p].end)
      break;
    uint64_t to_gap = (uint64_t)(next - to);
    uint64_t from_gap = (uint64_t)(outputs[p + n].data - outputs[p + n - 1].data);
    if (n == 1) {
      *to_next = to_gap;
      *from_next = from_gap;
    }
    if (to_gap != *to_next || from_gap != *from_next || bytes > to_gap || bytes > from_gap ||
        to_gap > INT32_MAX || from_gap > INT32_MAX)
      break;
  }
  return cj2k_cuda_decode_row_bytes(slot, p) == pitch && bytes ? n : 1;
}

/* Downloads the same rows of all planes that are alike at once. */
cudaError_t cj2k_cuda_decode_download_rows(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes,
                                           uint32_t set, cudaStream_t stream)
{
  const Cj2kCudaOutput *outputs = cj2k_cuda_decode_outputs(slot, set);
  cudaError_t result = cudaSuccess;
  uint32_t p = 0, n, count = slot->output.layout.num_planes;
  while (p < count && result == cudaSuccess) {
    uint64_t to_next = 0, from_next = 0;
    uint64_t pitch = slot->frame.target->planes[p].pitch, at = planes[p].first * pitch;
    n = count_alike(slot, planes, p, outputs, &to_next, &from_next);
    if (n > 1) {
      result = cudaMemcpy2DAsync(host_plane(slot, p) + at, to_next, outputs[p].data + at, from_next,
                                 pitch * (planes[p].end - planes[p].first), n,
                                 cudaMemcpyDeviceToHost, stream);
      if (result == cudaSuccess) {
        p += n;
        continue;
      }
      if (result != cudaErrorInvalidValue)
        return result;
      (void)cudaGetLastError(); /* as above */
      result = cudaSuccess;
    }
    for (; n; n--, p++)
      CJ2K_CUDA_TRY(result, download_plane(slot, p, planes[p].first, planes[p].end, set, stream));
  }
  return result;
}

/* Copies rows from pinned memory to the picture in pageable memory, only the bytes of samples. */
static void copy_plane(Cj2kDecodeSlot *slot, uint32_t p, uint32_t first, uint32_t end)
{
  const Cj2kPlane *plane = &slot->frame.target->planes[p];
  const uint8_t *from = host_plane(slot, p);

  for (uint32_t y = first; y < end && plane->data; y++)
    memcpy((uint8_t *)plane->data + y * plane->pitch, from + y * plane->pitch,
           cj2k_cuda_decode_row_bytes(slot, p));
}

void cj2k_cuda_decode_copy_out(Cj2kDecodeSlot *slot)
{
  for (uint32_t p = 0; p < slot->output.layout.num_planes && slot->frame.copy_out; p++)
    copy_plane(slot, p, 0, slot->output.plane_rows[p]);
}

void cj2k_cuda_decode_copy_out_rows(Cj2kDecodeSlot *slot, const Cj2kCudaRows *planes)
{
  for (uint32_t p = 0; p < slot->output.layout.num_planes && slot->frame.copy_out; p++)
    copy_plane(slot, p, planes[p].first, planes[p].end);
}
