// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The readers of MEL and VLC segments of the HT block decoder on the GPU (cuda/ht/decode_vlc.cuh,
 * decode_mel.cuh), compiled for the CPU, beside readers that take one bit after the other. Copies
 * to shared memory arrive as late as they may, and bytes that are not there yet have another value:
 * so a reader that takes bytes too early is found, whatever the segment holds. No word (MEL) or
 * chunk of 16 bytes (VLC) is read in which there is no byte of the segment. The order of steps for
 * a pair of quads is repeated here from decode_quads.cu.
 */
#include <glib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

/* ------------------------------------------------------------------ what CUDA has --- */

#define __device__
#define __forceinline__ inline
using std::max;
using std::min;

struct uint2 {
  uint32_t x, y;
};

static const uint8_t *segment, *segment_end;

template <class T> static T __ldg(const T *from)
{
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(from);
  T value;
  g_assert_true(bytes + sizeof value > segment && bytes < segment_end);
  memcpy(&value, bytes, sizeof value);
  return value;
}

static uint32_t __popc(uint32_t value)
{
  return (uint32_t)__builtin_popcount(value);
}

static uint32_t __clz(uint32_t value)
{
  return value ? (uint32_t)__builtin_clz(value) : 32;
}

/* Only for the bytes in reverse order. */
static uint32_t __byte_perm(uint32_t value, uint32_t, uint32_t order)
{
  g_assert_cmphex(order, ==, 0x0123);
  return GUINT32_SWAP_LE_BE(value);
}

static uint32_t __funnelshift_lc(uint32_t low, uint32_t high, uint32_t count)
{
  return count < 32 ? (uint32_t)(((uint64_t)high << 32 | low) << count >> 32) : low;
}

static uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t count)
{
  return __funnelshift_lc(low, high, count & 31);
}

static uint32_t __funnelshift_rc(uint32_t low, uint32_t high, uint32_t count)
{
  return count < 32 ? (uint32_t)(((uint64_t)high << 32 | low) >> count) : high;
}

static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t count)
{
  return __funnelshift_rc(low, high, count & 31);
}

/* ------------------------------------------------------------------ shared memory --- */

#define CJ2K_CUDA_HT_SHARED_MEMORY

#define SHARED 4096
alignas(16) static uint8_t shared[SHARED];

struct Copy {
  uint32_t to;
  uint8_t bytes[16];
};
static std::deque<std::vector<Copy>> groups;
static std::vector<Copy> group;

static uint32_t load_shared(uint32_t address)
{
  uint32_t value;
  g_assert_true(address % 4 == 0 && address < SHARED);
  memcpy(&value, shared + address, sizeof value);
  return value;
}

template <uint32_t OFFSET> static uint2 load_shared_pair(uint32_t address);

static void copy_chunk(uint32_t to, const uint8_t *from, uint32_t size)
{
  Copy copy = {to, {0}};
  g_assert_true(to % 16 == 0 && to < SHARED && reinterpret_cast<uintptr_t>(from) % 16 == 0);
  g_assert_true(size && size <= 16 && from + size > segment && from + size <= segment_end);
  memcpy(copy.bytes, from, size);
  memset(shared + to, 0xEE, sizeof copy.bytes);
  group.push_back(copy);
}

template <uint32_t N> static void end_copies()
{
  groups.push_back(std::move(group));
  group.clear();
  for (; groups.size() > N; groups.pop_front())
    for (const Copy &copy : groups.front())
      memcpy(shared + copy.to, copy.bytes, sizeof copy.bytes);
}

#include "cuda/ht/decode_mel.cuh"
#include "cuda/ht/decode_vlc.cuh"

static uint32_t tables[kEntries];

template <uint32_t OFFSET> static uint2 load_shared_pair(uint32_t address)
{
  g_assert_cmpuint(address + OFFSET, <, sizeof tables);
  return {tables[(address + OFFSET) / 4], tables[(address + OFFSET) / 4 + 1]};
}

/* --------------------------------------------------------------------------- segments --- */

#define SEGMENTS 4000

struct Segment {
  std::vector<uint8_t> memory;
  uint8_t *data;
  uint32_t length;
};

static uint8_t draw_byte(uint32_t kind)
{
  uint8_t byte = (uint8_t)g_test_rand_int();

  switch (kind) {
  case 0: return byte;
  case 1: return g_test_rand_int() % 3 ? 0xFF : byte;
  case 2: return g_test_rand_int() % 2 ? 0x7F | (byte & 0x80) : (uint8_t)(0x90 + byte % 100);
  case 3: return g_test_rand_int() % 2 ? 0xFF : 0x7F;
  default: return byte & (uint8_t)g_test_rand_int();
  }
}

/* Bytes as they are and with many of those that make stuffing, anywhere in memory. */
static Segment draw_segment()
{
  Segment drawn;
  uint32_t kind = (uint32_t)g_test_rand_int_range(0, 5);
  static const int32_t ends[8] = {12, 12, 700, 700, 700, 700, 700, 4080};
  drawn.length = (uint32_t)g_test_rand_int_range(2, ends[g_test_rand_int_range(0, 8)]);
  drawn.memory.resize(drawn.length + 64);
  uintptr_t start = (reinterpret_cast<uintptr_t>(drawn.memory.data()) + 15) & ~(uintptr_t)15;
  drawn.data = reinterpret_cast<uint8_t *>(start) + g_test_rand_int_range(0, 16);
  for (uint32_t i = 0; i < drawn.length; i++)
    drawn.data[i] = draw_byte(kind);
  segment = drawn.data;
  segment_end = drawn.data + drawn.length;
  return drawn;
}

/* -------------------------------------------------------------------------------- VLC --- */

/* All bits of a VLC segment, in their order (T.814 7.1.3). */
static std::vector<uint8_t> vlc_bits(const Segment &from)
{
  std::vector<uint8_t> bits;
  uint32_t last = from.data[from.length - 2] | 0x0Fu, nibble = last >> 4;

  for (uint32_t i = 0; i < ((nibble & 7) == 7 ? 3u : 4u); i++)
    bits.push_back(nibble >> i & 1);
  for (int32_t i = (int32_t)from.length - 3; i >= 0; i--) {
    uint32_t byte = from.data[i], count = last > 0x8F && (byte & 0x7F) == 0x7F ? 7 : 8;
    for (uint32_t k = 0; k < count; k++)
      bits.push_back(byte >> k & 1);
    last = byte;
  }
  return bits;
}

/* `count` bits from `at` on, zeros behind the end. */
static uint64_t bits_at(const std::vector<uint8_t> &bits, size_t at, uint32_t count)
{
  uint64_t value = 0;

  for (uint32_t i = 0; i < count && at + i < bits.size(); i++)
    value |= (uint64_t)bits[at + i] << i;
  return value;
}

/* A number from 0 to `most`, or always that. */
static uint32_t draw_to(int32_t most, bool always)
{
  return always ? (uint32_t)most : (uint32_t)g_test_rand_int_range(0, most + 1);
}

/* Takes bits as pairs of quads do, of which every second one fetches. */
static void check_vlc(const Segment &from, uint32_t ring)
{
  std::vector<uint8_t> bits = vlc_bits(from);
  uint32_t pairs = (uint32_t)g_test_rand_int_range(0, from.length > 700 ? 1200 : 600);
  bool often = g_test_rand_int() % 4 == 0; /* rows of one pair fetch for each */
  int32_t most = g_test_rand_int() % 2 ? 30 : g_test_rand_int() % 3 ? 12 : 38;
  bool always = g_test_rand_int() % 4 == 0;
  size_t at = 0;
  Vlc vlc;

  vlc.start(from.data, from.length, ring);
  for (uint32_t i = 0; i < pairs; i++) {
    if (i % 2 == 0 || often)
      vlc.fetch();
    bool needed = vlc.count <= 64;
    g_assert_cmpuint(vlc.count, >=, kLeast);
    g_assert_cmphex(vlc.bits[0] >> 2, ==, bits_at(bits, at, 30));
    uint32_t used = draw_to(MIN(most, 30), always), extension = draw_to(MAX(most - 30, 0), always);
    vlc.append(needed);
    uint32_t stuffed = vlc.prepare(needed);
    vlc.skip(used);
    at += used;
    if (stuffed || extension || vlc.count < kLeast) {
      vlc.unstuff(stuffed);
      g_assert_cmphex(vlc.bits[0] >> 2 & 255, ==, bits_at(bits, at, 8));
      vlc.skip(extension);
      at += extension;
      vlc.supply();
    }
  }
  g_assert_true(vlc.complete() == (at <= bits.size()));
}

static void test_vlc(void)
{
  for (uint32_t i = 0; i < SEGMENTS; i++) {
    Segment drawn = draw_segment();
    uint32_t thread = (uint32_t)g_test_rand_int_range(0, SHARED / kRing);
    groups.clear();
    group.clear();
    memset(shared, 0xDD, sizeof shared);
    check_vlc(drawn, thread * kRing + (thread & 7) * kChunk);
  }
}

/* -------------------------------------------------------------------------------- MEL --- */

/* Events one after the other (T.814 7.3.3). */
struct Events {
  const Segment &from;
  uint32_t at, byte, left, state, run;
  bool one;

  uint32_t bit()
  {
    if (!left) {
      bool inside = at < from.length - 1;
      left = inside && at && byte == 0xFF ? 7 : 8;
      byte = inside ? from.data[at] : 0xFF;
      byte |= at == from.length - 2 ? 0x0F : 0;
      at++;
    }
    return byte >> --left & 1;
  }

  uint32_t event()
  {
    if (!run && !one) {
      uint32_t exponent = cj2k_ht_mel_exponent[state];
      if (bit()) {
        run = 1u << exponent;
        state = MIN(state + 1, CJ2K_HT_MEL_STATES - 1u);
      } else {
        for (uint32_t i = 0; i < exponent; i++)
          run = 2 * run + bit();
        one = true;
        state -= state > 0;
      }
    }
    if (run) {
      run--;
      return 0;
    }
    one = false;
    return 1;
  }
};

static void check_mel(const Segment &from)
{
  Events events = {from, 0, 0, 0, 0, 0, false};
  uint32_t pairs = (uint32_t)g_test_rand_int_range(0, 400);
  int32_t most = g_test_rand_int_range(0, (int32_t)kLeastEvents + 1);
  Mel mel;

  mel.start(from.data, from.length, 0);
  for (uint32_t i = 0; i < pairs; i++) {
    g_assert_cmpuint(mel.num_events, >=, kLeastEvents);
    uint32_t now = mel.events[0], used = (uint32_t)g_test_rand_int_range(0, most + 1);
    uint32_t stuffed = mel.refill(0);
    for (uint32_t k = 0; k < used; k++)
      g_assert_cmpuint(now >> k & 1, ==, events.event());
    mel.skip(used);
    if (stuffed || mel.num_events < kLeastEvents) {
      mel.unstuff(stuffed);
      mel.supply(0);
    }
  }
}

static void test_mel(void)
{
  for (uint32_t i = 0; i < SEGMENTS; i++)
    check_mel(draw_segment());
}

/* ------------------------------------------------------------------------------ u-VLC --- */

/* Takes the extension behind a suffix, as the kernel does. */
static uint32_t extension(uint32_t suffix, uint64_t code, uint32_t *used)
{
  uint32_t units = (suffix & 31) < 28 ? 0 : (uint32_t)(code >> *used) & 15;

  *used += (suffix & 31) < 28 ? 0 : 4;
  return 4 * units;
}

/* Decodes the code of two residuals, with other bits behind it. */
static void check_residuals(uint32_t u0, uint32_t u1, bool first_row)
{
  uint64_t made = cj2k_ht_uvlc_code(u0, u1, first_row);
  uint32_t length = CJ2K_HT_UVLC_CODE_LENGTH(made), mode = (u0 > 0) | (u1 > 0) << 1;
  uint64_t code = CJ2K_HT_UVLC_CODE_BITS(made) | (uint64_t)g_test_rand_int() << length;
  uint32_t bits = (uint32_t)(code & 0xFFFF) << 2 | (g_test_rand_int() & 3);

  mode += first_row && MIN(u0, u1) > 2;
  uint32_t row = (first_row ? 0 : 5) + mode;
  uint32_t entry = tables[kVlcEntries + (row << kUvlcBits | (bits >> 2 & 255))];
  uint32_t suffixes =
      __funnelshift_r(bits, bits, entry >> kUvlcRotation) & entry & 1023u << kUvlcSuffix;
  uint32_t first = (entry >> kUvlcBase & 7) + (suffixes >> kUvlcSuffix & 31);
  uint32_t second = (entry >> (kUvlcBase + 3) & 7) + (suffixes >> (kUvlcSuffix + 5) & 31);
  uint32_t used = entry & 31;
  if ((first | second) & 32) {
    first += extension(suffixes >> kUvlcSuffix, code, &used);
    second += extension(suffixes >> (kUvlcSuffix + 5), code, &used);
  }
  g_assert_cmpuint(first, ==, u0);
  g_assert_cmpuint(second, ==, u1);
  g_assert_cmpuint(used, ==, length);
}

static void test_uvlc(void)
{
  for (uint32_t u0 = 0; u0 <= CJ2K_HT_MAX_U; u0++)
    for (uint32_t u1 = 0; u1 <= CJ2K_HT_MAX_U; u1++) {
      check_residuals(u0, u1, true);
      check_residuals(u0, u1, false);
    }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  make_decode_tables(tables);
  g_test_add_func("/quad-readers/vlc", test_vlc);
  g_test_add_func("/quad-readers/mel", test_mel);
  g_test_add_func("/quad-readers/uvlc", test_uvlc);
  return g_test_run();
}
