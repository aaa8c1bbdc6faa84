/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packets of a tile that are read in runs, by several threads. Where a packet begins follows from
 * the headers of all packets before it. It is known earlier from PLT marker segments, and at the
 * begin of a tile-part if one guesses which packet that is, because SOT does not say it. Whether
 * all that was right shows afterwards: each run has to end where the next one began. Then the
 * packets are those that one thread would have read.
 */
#include "common/runtime/deadline.h"
#include "packet_lengths.h"
#include "packets_internal.h"

#include <string.h>

#define MOST_RUNS 8u
#define SHARE     4u /* runs have at most a quarter of the code-blocks, if packets allow it */
/* Tiles with fewer HT code-blocks, which take a third of the time of MQ blocks, are read before
 * another thread has woken. */
#define LEAST_HT_BLOCKS 65536u
#define MOST_BLOCKS     (1u << 20) /* a deadline stops only the thread that has it */
#define MOST_PACKETS    65536u
#define PAUSE           16u /* tiles that are read by one thread after one that could not be divided */

/* A packet of the tile, in the order of the codestream. */
typedef struct {
  Cj2kPacketId id;
  uint32_t blocks;
  uint32_t part; /* UINT32_MAX: where it begins is not known */
  uint64_t at;
} Packet;

typedef struct {
  uint32_t first, end; /* packets */
  Cj2kPacketWalk walk; /* at the run's begin; later at its end */
  Cj2kDirect direct;
  Cj2kFrameStore store; /* segments of all runs but the first; code-blocks are the frame's */
  uint32_t base;        /* where they begin in the frame's */
  bool complete;
} Run;

struct Cj2kPacketRuns {
  Cj2kThreads *threads;
  uint32_t least_blocks; /* as in cj2k_packet_reader_use */
  uint32_t pause;        /* tiles that are still read by one thread */
  bool has_lengths;      /* the frame has PLT */
  bool known;            /* it seemed to be known of a tile of it where runs begin */
  Cj2kPacketLengths lengths;
  Packet *packets;
  uint32_t num_packets, capacity;
  uint32_t num_runs;
  Run runs[MOST_RUNS];
};

Cj2kPacketRuns *cj2k_packet_runs_new(Cj2kThreads *threads, uint32_t least_blocks)
{
  Cj2kPacketRuns *runs = g_new0(Cj2kPacketRuns, 1);

  runs->threads = threads;
  runs->least_blocks = least_blocks;
  return runs;
}

void cj2k_packet_runs_begin(Cj2kPacketRuns *runs, const uint8_t *data, const Cj2kTileParts *parts)
{
  runs->has_lengths = cj2k_packet_lengths_begin(&runs->lengths, data, parts);
  runs->known = false;
}

bool cj2k_packet_runs_are_known(const Cj2kPacketRuns *runs)
{
  return runs->known;
}

void cj2k_packet_runs_free(Cj2kPacketRuns *runs)
{
  if (!runs)
    return;
  for (uint32_t i = 0; i < MOST_RUNS; i++)
    g_free(runs->runs[i].store.frame.segments);
  g_free(runs->packets);
  g_free(runs);
}

/* ------------------------------------------------------------------- where packets begin --- */

/* Lists the packets of the walk's tile. false: they are too many. */
static bool list_packets(Cj2kPacketRuns *runs, Cj2kTileReader *reader)
{
  uint64_t count = cj2k_tile_num_packets(reader->plan, reader->tile);
  Cj2kPacketId id;

  if (count > MOST_PACKETS)
    return false;
  if (count > runs->capacity) {
    runs->packets = g_renew(Packet, runs->packets, count);
    runs->capacity = (uint32_t)count;
  }
  runs->num_packets = 0;
  while (cj2k_packet_iterator_next(&reader->iterator, &id))
    runs->packets[runs->num_packets++] =
        (Packet){.id = id, .blocks = cj2k_packet_num_blocks(reader->plan, &id), .part = UINT32_MAX};
  cj2k_packet_iterator_start(&reader->iterator, reader->plan, reader->tile);
  return true;
}

/* Finds packets by PLT. false: the tile has none, or they do not fit. */
static bool find_by_lengths(Cj2kPacketRuns *runs, const Cj2kPacketWalk *walk)
{
  Cj2kPacketLengths *lengths = &runs->lengths;

  if (!runs->has_lengths)
    return false;
  cj2k_packet_lengths_tile(lengths, walk->part, walk->next_part);
  for (uint32_t i = 0; i < runs->num_packets; i++) {
    uint64_t size;
    if (!cj2k_packet_lengths_next(lengths, &runs->packets[i].at, &size))
      return false;
    runs->packets[i].part = lengths->part;
  }
  return cj2k_packet_lengths_done(lengths);
}

/* Does packet i come with another component, or another resolution, than the one before? */
static bool begins_component(const Packet *packets, uint32_t i)
{
  return packets[i].id.component != packets[i - 1].id.component;
}

static bool begins_resolution(const Packet *packets, uint32_t i)
{
  return packets[i].id.resolution != packets[i - 1].id.resolution;
}

static uint32_t count_begins(const Cj2kPacketRuns *runs,
                             bool (*begins)(const Packet *packets, uint32_t i))
{
  uint32_t count = 1;

  for (uint32_t i = 1; i < runs->num_packets; i++)
    count += begins(runs->packets, i);
  return count;
}

/* The tile-part from this one on that has data; UINT32_MAX: none. */
static uint32_t skip_empty(const Cj2kPacketWalk *walk, uint32_t part)
{
  while (part != UINT32_MAX && !walk->tile_parts->tile_parts[part].data.size)
    part = walk->next_part[part];
  return part;
}

static uint32_t next_part(const Cj2kPacketWalk *walk, uint32_t part)
{
  return skip_empty(walk, walk->next_part[part]);
}

static bool has_parts(const Cj2kPacketWalk *walk)
{
  uint32_t first = skip_empty(walk, walk->part);

  return first != UINT32_MAX && next_part(walk, first) != UINT32_MAX;
}

/* Finds the first packets of tile-parts, which mostly begin with a component or a resolution.
 * false: they are not as many as either. */
static bool find_by_parts(Cj2kPacketRuns *runs, const Cj2kPacketWalk *walk)
{
  bool (*begins)(const Packet *packets, uint32_t i) = begins_component;
  uint32_t count = 0, first = skip_empty(walk, walk->part), part = first;

  for (; part != UINT32_MAX; part = next_part(walk, part))
    count++;
  if (count_begins(runs, begins) != count)
    begins = begins_resolution;
  if (count < 2 || count_begins(runs, begins) != count)
    return false;
  part = first;
  for (uint32_t i = 0; i < runs->num_packets; i++) {
    if (i > 0 && !begins(runs->packets, i))
      continue;
    if (i > 0)
      part = next_part(walk, part);
    runs->packets[i].part = part;
    runs->packets[i].at = walk->tile_parts->tile_parts[part].data.offset;
  }
  return true;
}

/* ---------------------------------------------------------------------------------- runs --- */

static void begin_run(Cj2kPacketRuns *runs, uint32_t first, const Cj2kPacketWalk *walk,
                      Cj2kFrameStore *store)
{
  const Packet *packet = &runs->packets[first];
  bool is_first = runs->num_runs == 0;
  Run *run = &runs->runs[runs->num_runs++];

  run->first = first;
  run->complete = false;
  run->walk = *walk;
  if (!is_first) {
    run[-1].end = first;
    cj2k_walk_enter_part(&run->walk, packet->part);
    run->walk.at = packet->at;
    run->store.frame.blocks = store->frame.blocks;
    run->store.frame.num_segments = 0;
  }
  run->direct = (Cj2kDirect){.walk = &run->walk, .store = is_first ? store : &run->store};
}

/* Divides the packets, of so many code-blocks. */
static void divide(Cj2kPacketRuns *runs, uint64_t blocks, const Cj2kPacketWalk *walk,
                   Cj2kFrameStore *store)
{
  uint64_t in_run = 0, unit = 0; /* a unit begins at a known place */
  uint32_t begin = 0;

  runs->num_runs = 0;
  begin_run(runs, 0, walk, store);
  for (uint32_t i = 0; i <= runs->num_packets; i++) {
    if (i == runs->num_packets || runs->packets[i].part != UINT32_MAX) {
      if (in_run && in_run + unit > blocks / SHARE && runs->num_runs < MOST_RUNS) {
        begin_run(runs, begin, walk, store);
        in_run = 0;
      }
      in_run += unit;
      unit = 0;
      begin = i;
    }
    if (i < runs->num_packets)
      unit += runs->packets[i].blocks;
  }
  runs->runs[runs->num_runs - 1].end = runs->num_packets;
}

static void read_run(void *ctx, uint32_t index, uint32_t lane)
{
  Cj2kPacketRuns *runs = ctx;
  Run *run = &runs->runs[index];
  (void)lane;

  for (uint32_t i = run->first; i < run->end; i++)
    if (!cj2k_direct_packet(&run->direct, &runs->packets[i].id))
      return;
  run->complete = true;
}

/* Has each run ended where the next one began, with all its packets? SOP would have to be compared
 * from packet to packet. */
static bool is_whole(Cj2kPacketRuns *runs)
{
  for (uint32_t i = 0; i < runs->num_runs; i++) {
    Run *run = &runs->runs[i];
    bool is_last = i + 1 == runs->num_runs;
    if (!run->complete || (!is_last && !cj2k_walk_begin_packet(&run->walk)))
      return false;
    if (run->walk.sop_part != UINT32_MAX)
      return false;
    if (!is_last && run->walk.at != runs->packets[run[1].first].at)
      return false;
  }
  return true;
}

/* Puts the segments of a run other than the first to their place in the frame's. */
static void place_segments(void *ctx, uint32_t index, uint32_t lane)
{
  const Cj2kPacketRuns *runs = ctx;
  const Run *run = &runs->runs[index + 1];
  const Cj2kPlan *plan = run->walk.reader->plan;
  const Cj2kCodedFrame *from = &run->store.frame;
  Cj2kCodedFrame *to = &runs->runs[0].direct.store->frame;
  (void)lane;

  if (from->num_segments)
    memcpy(to->segments + run->base, from->segments, from->num_segments * sizeof *from->segments);
  for (uint32_t i = run->first; i < run->end; i++) {
    const Cj2kPacketId *id = &runs->packets[i].id;
    const Cj2kPlanPrecinct *precinct = &plan->precincts[id->precinct_index];
    for (uint32_t b = 0; b < plan->resolutions[id->resolution_index].num_bands; b++) {
      const Cj2kPlanPrecinctBand *range = &precinct->band[b];
      Cj2kCodedBlock *blocks = to->blocks + range->first_block;
      for (uint32_t n = range->blocks_x * range->blocks_y; n-- > 0;)
        blocks[n].first_segment += blocks[n].num_segments ? run->base : 0;
    }
  }
}

/* Joins the segments of all runs in those of the frame. */
static void join_segments(Cj2kPacketRuns *runs, Cj2kFrameStore *store)
{
  uint32_t count = 0;

  for (uint32_t i = 1; i < runs->num_runs; i++) {
    runs->runs[i].base = store->frame.num_segments + count;
    count += runs->runs[i].store.frame.num_segments;
  }
  cj2k_store_reserve_segments(store, count);
  store->frame.num_segments += count;
  cj2k_parallel_for(runs->threads, runs->num_runs - 1, place_segments, runs);
}

/* Reads the runs. false: something is not plain, damaged, or not where it was expected. */
static bool read_all(Cj2kPacketRuns *runs, Cj2kPacketWalk *walk, Cj2kFrameStore *store)
{
  uint32_t segments = store->frame.num_segments;
  uint64_t read = 0, looked = 0;

  cj2k_parallel_for(runs->threads, runs->num_runs, read_run, runs);
  for (uint32_t i = 0; i < runs->num_runs; i++) {
    read += runs->runs[i].direct.read;
    looked += runs->runs[i].direct.looked;
  }
  if (!is_whole(runs) || read != walk->reader->num_blocks) {
    store->frame.num_segments = segments;
    return false;
  }
  join_segments(runs, store);
  (void)cj2k_deadline_check(runs->num_packets, NULL); /* the caller's own check says so */
  (void)cj2k_deadline_count_items(looked, NULL);
  *walk = runs->runs[runs->num_runs - 1].walk;
  return true;
}

/* Does the tile have what it takes, and seems to be known where its packets begin? */
static bool can_read(const Cj2kPacketRuns *runs, const Cj2kPacketWalk *walk)
{
  const Cj2kTileReader *reader = walk->reader;
  uint32_t least = runs->least_blocks ? runs->least_blocks : CJ2K_DIVIDED_BLOCKS;

  if (reader->num_blocks < least || reader->num_blocks > MOST_BLOCKS)
    return false;
  if (reader->plan->tiles[reader->tile].num_layers != 1 || walk->headers || walk->observer)
    return false;
  return (runs->has_lengths || has_parts(walk)) && !cj2k_walk_sop_at(walk, walk->at);
}

/* Does it pay? */
static bool pays(const Cj2kPacketRuns *runs, const Cj2kTileReader *reader)
{
  const Cj2kPlan *plan = reader->plan;
  uint32_t style = plan->bands[plan->blocks[reader->first_block].band].block_style;

  if (cj2k_threads_lanes(runs->threads) < 2)
    return false;
  return !(style & CJ2K_STYLE_HT) || runs->least_blocks || reader->num_blocks >= LEAST_HT_BLOCKS ||
         cj2k_threads_are_awake(runs->threads);
}

/* Lists the packets, and divides them into runs. false: it is not known where any begin. */
static bool make_runs(Cj2kPacketRuns *runs, const Cj2kPacketWalk *walk, Cj2kFrameStore *store)
{
  if (!list_packets(runs, walk->reader))
    return false;
  if (!find_by_lengths(runs, walk) && !find_by_parts(runs, walk))
    return false;
  divide(runs, walk->reader->num_blocks, walk, store);
  return runs->num_runs > 1;
}

bool cj2k_walk_read_runs(Cj2kPacketRuns *runs, Cj2kPacketWalk *walk, Cj2kFrameStore *store)
{
  if (!can_read(runs, walk))
    return false;
  if (runs->pause) {
    runs->pause--;
    return false;
  }
  runs->known = true;
  if (!pays(runs, walk->reader))
    return false;
  if (make_runs(runs, walk, store) && read_all(runs, walk, store))
    return true;
  runs->pause = PAUSE;
  return false;
}
