/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packets of one layer that the GPU makes as a whole: their headers, their places in the
 * codestream, and the bytes there. The host learns the sizes of packets from it, in place of the
 * bits of each code-block, and of rate control's last choice nothing has to be sent: it is in the
 * records of the blocks that have been coded again.
 */
#include "encode.h"
#include "encode_headers.h"

#include <string.h>

#define FEW 256 /* packets, of which each has a multiprocessor, or half of one */

/* Words for a block in its packet's header. */
static uint32_t room_of_block(const Cj2kCudaEncoder *encoder)
{
  if (!encoder->lists.many_segments)
    return CJ2K_CUDA_HEADER_ROOM;
  return encoder->lists.all_terminated ? CJ2K_CUDA_HEADER_ROOM_TERMALL
                                       : CJ2K_CUDA_HEADER_ROOM_BYPASS;
}

cudaError_t cj2k_cuda_encode_list_packets(Cj2kCudaEncoder *encoder)
{
  const Cj2kPlan *plan = encoder->plan;
  Cj2kCudaPacketLists *lists = &encoder->packets;
  Cj2kCudaHeaderTables tables;
  cudaError_t result = cudaSuccess;

  /* With one frame in flight one launch is faster; with several, small packets should not take the
   * room of large ones. */
  uint32_t few = encoder->blocking ? 0 : FEW;
  if (!cj2k_cuda_header_tables_init(&tables, plan, room_of_block(encoder), few))
    return cudaSuccess;
  lists->num_large = tables.num_large;
  lists->num_nodes = tables.num_nodes;
  lists->num_words = tables.num_words;
  lists->num_pieces = tables.num_pieces;
  const struct {
    Cj2kCudaTable **table;
    const void *data;
    size_t size;
  } arrays[] = {{&lists->packets, tables.packets, plan->num_precincts * sizeof *tables.packets},
                {&lists->pieces, tables.pieces, tables.num_pieces * sizeof *tables.pieces},
                {&lists->precincts, tables.precincts, plan->num_blocks * sizeof *tables.precincts}};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    CJ2K_CUDA_TRY(result, cj2k_cuda_table_set(&encoder->device, arrays[i].table, arrays[i].data,
                                              arrays[i].size));
  lists->made = result == cudaSuccess;
  cj2k_cuda_header_tables_clear(&tables);
  return result;
}

void cj2k_cuda_encode_free_packets(Cj2kCudaEncoder *encoder)
{
  cj2k_cuda_table_clear(&encoder->packets.packets);
  cj2k_cuda_table_clear(&encoder->packets.pieces);
  cj2k_cuda_table_clear(&encoder->packets.precincts);
}

void cj2k_cuda_packets_init(Cj2kEncodeSlot *slot)
{
  Cj2kCudaPacketStage *stage = &slot->packets;

  CJ2K_CUDA_DO(&slot->queue, cudaEventCreateWithFlags(&stage->coded, cudaEventDisableTiming));
}

void cj2k_cuda_packets_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_destroy_event(slot->packets.coded);
  cj2k_cuda_release(&slot->packets.work);
  cj2k_cuda_release(&slot->packets.end);
  cj2k_cuda_release(&slot->packets.steps);
  cj2k_cuda_release(&slot->packets.retained);
}

/* ------------------------------------------------------------------------------ memory --- */

/* Takes `count` entries of `size` bytes from the memory at `base`, of which *used bytes are taken;
 * NULL: there is none yet. */
static void *take(char *base, size_t *used, size_t count, size_t size)
{
  void *at = base ? base + *used : NULL;

  *used += (count * size + 255) & ~(size_t)255;
  return at;
}

/* What the kernels have on the device, from `base` on. Returns its bytes. */
static size_t set_arrays(const Cj2kCudaEncoder *encoder, char *base, Cj2kCudaPacketArrays *arrays)
{
  const Cj2kPlan *plan = encoder->plan;
  size_t blocks = plan->num_blocks, words = encoder->packets.num_words, used = 0;

  arrays->end = take(base, &used, 1, sizeof *arrays->end);
  arrays->places = take(base, &used, plan->num_precincts, sizeof *arrays->places);
  arrays->lengths = take(base, &used, plan->num_precincts, sizeof *arrays->lengths);
  arrays->nodes = take(base, &used, encoder->packets.num_nodes, sizeof *arrays->nodes);
  arrays->at = take(base, &used, blocks, sizeof *arrays->at);
  arrays->starts = take(base, &used, blocks, sizeof *arrays->starts);
  arrays->words = take(base, &used, words, sizeof *arrays->words);
  arrays->bytes = take(base, &used, words, CJ2K_CUDA_HEADER_BYTES);
  return used;
}

void cj2k_cuda_packets_reserve(Cj2kEncodeSlot *slot)
{
  Cj2kCudaPacketStage *stage = &slot->packets;

  cj2k_cuda_queue_reserve(&slot->queue, &stage->work,
                          set_arrays(slot->encoder, NULL, &stage->arrays));
  set_arrays(slot->encoder, stage->work.data, &stage->arrays);
}

/* Makes room for the steps, and copies them to where the kernel reads them. */
void cj2k_cuda_packets_send_steps(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                                  const Cj2kCudaQueue *queue)
{
  Cj2kCudaPacketStage *stage = &slot->packets;
  size_t size = packets->count * sizeof *packets->steps;

  stage->end.host = stage->steps.host = true;
  cj2k_cuda_queue_reserve(queue, &stage->end, sizeof(uint64_t));
  cj2k_cuda_queue_reserve(queue, &stage->steps, MAX(size, 1));
  if (size && cj2k_cuda_queue_ok(queue))
    memcpy(stage->steps.data, packets->steps, size);
}

/* Copies what is retained of MQ blocks to where the kernel reads it, which sets their records. */
static void retain(Cj2kEncodeSlot *slot, const Cj2kRetainJob *job, const Cj2kCudaQueue *queue)
{
  Cj2kCudaMemory *memory = &slot->packets.retained;
  size_t blocks = slot->encoder->plan->num_blocks;

  memory->host = true;
  cj2k_cuda_queue_reserve(queue, memory,
                          MAX(blocks * (sizeof *job->lengths + sizeof *job->passes), 1));
  if (!cj2k_cuda_queue_ok(queue))
    return;
  uint32_t *lengths = memory->data;
  uint8_t *passes = (uint8_t *)(lengths + blocks);
  memcpy(lengths, job->lengths, blocks * sizeof *lengths);
  memcpy(passes, job->passes, blocks);
  const Cj2kCudaMqRetain retain = {.passes = passes,
                                   .lengths = lengths,
                                   .num_blocks = (uint32_t)blocks,
                                   .blocks = slot->place.coded.coded};
  CJ2K_CUDA_DO(queue, cj2k_cuda_mq_retain(&retain, queue->stream));
}

/* ---------------------------------------------------------------------------- launches --- */

/* Sizes of packets behind the counts of coded blocks. */
static Cj2kPacketSize *sizes_behind(const Cj2kEncodeSlot *slot, void *counts)
{
  return slot->encoder->ht ? cj2k_cuda_ht_packet_sizes(slot, counts)
                           : cj2k_cuda_mq_packet_sizes(slot, counts);
}

static Cj2kPacketSize *device_sizes(const Cj2kEncodeSlot *slot)
{
  return sizes_behind(slot, slot->blocks.coded.device.data);
}

static Cj2kPacketSize *host_sizes(const Cj2kEncodeSlot *slot)
{
  return sizes_behind(slot, slot->blocks.coded.host.data);
}

Cj2kCudaHeaders cj2k_cuda_packets_headers(const Cj2kEncodeSlot *slot,
                                          const Cj2kEncodedBlock *blocks,
                                          const Cj2kCudaCutResult *cut)
{
  const Cj2kCudaPacketLists *lists = &slot->encoder->packets;
  const Cj2kCudaPacketArrays *arrays = &slot->packets.arrays;

  return (Cj2kCudaHeaders){.packets = cj2k_cuda_table_data(lists->packets),
                           .num_packets = slot->encoder->plan->num_precincts,
                           .num_large = lists->num_large,
                           .blocks = blocks,
                           .header_bits = slot->mq.job.header_bits,
                           .pass_lengths =
                               slot->encoder->lists.many_segments ? slot->mq.job.passes : NULL,
                           .nodes = arrays->nodes,
                           .at = arrays->at,
                           .words = arrays->words,
                           .starts = arrays->starts,
                           .bytes = arrays->bytes,
                           .sizes = device_sizes(slot),
                           .cut = cut};
}

/* cut: as in Cj2kCudaHeaders. */
static void make_headers(Cj2kEncodeSlot *slot, const Cj2kEncodedBlock *blocks,
                         const Cj2kCudaCutResult *cut, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaHeaders headers = cj2k_cuda_packets_headers(slot, blocks, cut);

  CJ2K_CUDA_DO(queue, cj2k_cuda_headers(&headers, queue->stream));
  cj2k_cuda_queue_mark(queue, "headers");
}

/* cut: as in Cj2kCudaPacketPlaces. */
static void find_places(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                        const Cj2kCudaCutResult *cut, const Cj2kCudaPacketReport *report,
                        const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPacketArrays *arrays = &slot->packets.arrays;
  const Cj2kCudaPacketPlaces places = {.steps = slot->packets.steps.data,
                                       .count = packets->count,
                                       .behind_header = packets->behind_header,
                                       .behind_all = packets->behind_all,
                                       .sop = packets->sop,
                                       .lengths = packets->plt ? arrays->lengths : NULL,
                                       .room = slot->place.codestream.size,
                                       .sizes = device_sizes(slot),
                                       .places = arrays->places,
                                       .end = arrays->end,
                                       .counts = slot->blocks.coded.device.data,
                                       .cut = cut,
                                       .host_end = report->end,
                                       .host_sizes = report->sizes,
                                       .host_counts = report->counts};

  CJ2K_CUDA_DO(queue, cj2k_cuda_packet_places(&places, queue->stream));
}

static void put_packets(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPacketLists *lists = &slot->encoder->packets;
  const Cj2kCudaPacketArrays *arrays = &slot->packets.arrays;
  const Cj2kCudaPlacePackets place = {.blocks = slot->place.coded.coded,
                                      .precincts = cj2k_cuda_table_data(lists->precincts),
                                      .starts = arrays->starts,
                                      .num_blocks = slot->encoder->plan->num_blocks,
                                      .num_pieces = lists->num_pieces,
                                      .pieces = cj2k_cuda_table_data(lists->pieces),
                                      .sizes = device_sizes(slot),
                                      .places = arrays->places,
                                      .end = arrays->end,
                                      .bytes = slot->blocks.bytes.device.data,
                                      .headers = arrays->bytes,
                                      .out = slot->place.codestream.data};

  CJ2K_CUDA_DO(queue, cj2k_cuda_place_packets(&place, queue->stream));
  cj2k_cuda_queue_mark(queue, "place");
}

/* --------------------------------------------------------------------------------- steps --- */

void cj2k_cuda_packets_code(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  make_headers(slot, slot->encoder->ht ? slot->ht.job.coded : slot->mq.job.coded, NULL, queue);
}

/* True if the sizes of all packets are known. No header has 0 bytes. */
static bool has_sizes(const Cj2kEncodeSlot *slot)
{
  const Cj2kPacketSize *sizes = host_sizes(slot);

  for (uint32_t p = 0; p < slot->encoder->plan->num_precincts; p++)
    if (!sizes[p].header || sizes[p].header == CJ2K_CUDA_HEADER_LONG)
      return false;
  return true;
}

void cj2k_cuda_packets_coded(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  bool sized = slot->packets.sized && has_sizes(slot);

  result->makes_packets = sized && slot->blocks.placed;
  result->packet_sizes = sized ? host_sizes(slot) : NULL;
}

void cj2k_cuda_packets_prepare(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job,
                               const Cj2kCudaQueue *queue)
{
  slot->packets.room = job->size;
  cj2k_cuda_packets_send_steps(slot, job->packets, queue);
  if (job->retain && cj2k_cuda_queue_ok(queue))
    retain(slot, job->retain, queue);
}

/* The room is that of the codestream on the device, which is the same for many frames, so that the
 * launches may be those of a graph; cj2k_cuda_packets_sizes() compares with what there is on the
 * host. */
void cj2k_cuda_packets_place(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets, bool headers,
                             const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPacketReport report = {slot->packets.end.data, host_sizes(slot),
                                       slot->blocks.coded.host.data};

  if (headers)
    make_headers(slot, slot->place.coded.coded, NULL, queue);
  find_places(slot, packets, NULL, &report, queue);
  put_packets(slot, queue);
}

void cj2k_cuda_packets_cut_headers(Cj2kEncodeSlot *slot, const Cj2kCudaCutResult *cut,
                                   const Cj2kCudaQueue *queue)
{
  make_headers(slot, slot->place.coded.coded, cut, queue);
}

void cj2k_cuda_packets_cut(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                           const Cj2kCudaCutResult *cut, const Cj2kCudaPacketReport *report,
                           const Cj2kCudaQueue *queue)
{
  find_places(slot, packets, cut, report, queue);
  put_packets(slot, queue);
}

const Cj2kPacketSize *cj2k_cuda_packets_sizes(const Cj2kEncodeSlot *slot)
{
  const uint64_t *end = slot->packets.end.data;

  return *end > slot->packets.room ? NULL : host_sizes(slot);
}
