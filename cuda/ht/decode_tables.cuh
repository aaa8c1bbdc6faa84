// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The tables of the first step of decoding (decode_quads.cu): VLC as in ht_tables.h, first row and
 * other rows, then u-VLC, then MEL. They are made for single look-ups without a branch, and small
 * enough for shared memory.
 */
#pragma once

extern "C" {
#include "common/shared/ht_tables.h"
}

#include <cstddef>
#include <cstdint>
#include <cstring>

constexpr uint32_t kVlcEntries = 2 * (8 << 7);
/*
 * The u-VLC tables are for the next eight bits, which hold all prefixes, and all suffixes but those
 * of five bits and what follows them. An entry: bits
 *
 *   4..0    length of the code without extensions
 *   9..5    by how much the bits are rotated to have the suffixes at 23..19 and 28..24
 *   12..10  u of the first quad, without what its suffix there adds
 *   15..13  u of the second quad, likewise
 *   23..19  mask of the first suffix
 *   28..24  mask of the second suffix
 */
constexpr uint32_t kUvlcBits = 8, kUvlcRotation = 5, kUvlcBase = 10, kUvlcSuffix = 19;
constexpr uint32_t kUvlcEntries = 9 << kUvlcBits;
/* A MEL table has 64 rows for each state, of the next six bits: the events that the codewords in
 * them give, the first one lowest; and how many events and bits these are, and the state behind
 * them. */
constexpr uint32_t kMelTable = kVlcEntries + kUvlcEntries,
                   kMelEntries = 2 * CJ2K_HT_MEL_STATES * 64;
constexpr uint32_t kMelCountShift = 26, kMelStateShift = 9, kMelStates = 15u << kMelStateShift;
constexpr uint32_t kEntries = kMelTable + kMelEntries;

/* A codeword (T.814 7.3.3): 1 for a run of 2^exponent zeros; or 0, a shorter run in `exponent`
 * bits, and a one behind it. */
struct MelCode {
  uint32_t length, zeros;
  bool one;
};

/* The codeword of a state in the highest of six bits; it may be longer than these. */
static MelCode mel_code(uint32_t state, uint32_t bits)
{
  uint32_t exponent = cj2k_ht_mel_exponent[state];
  if (bits & 32)
    return {1, 1u << exponent, false};
  return {1 + exponent, (bits & 31) >> (5 - exponent), true};
}

/* Fills in the rows of a state of the MEL table. */
static void make_mel_rows(uint32_t first, uint32_t *rows)
{
  for (uint32_t bits = 0; bits < 64; bits++, rows += 2) {
    uint32_t state = first, used = 0, count = 0, events = 0;
    for (;;) {
      MelCode code = mel_code(state, bits << used & 63);
      if (used + code.length > 6 || count + code.zeros + code.one > 32)
        break;
      events |= (uint32_t)code.one << (count + code.zeros) % 32;
      used += code.length;
      count += code.zeros + code.one;
      state = code.one ? state - (state > 0) : state + (state + 1 < CJ2K_HT_MEL_STATES);
    }
    rows[0] = events;
    rows[1] = used | state << kMelStateShift | count << kMelCountShift;
  }
}

/* An entry of the u-VLC tables (T.814 7.3.6): prefixes of both quads, then suffixes of both. mode:
 * u_off of both, 4 if both and the MEL event is one. */
static uint32_t uvlc_entry(uint32_t mode, uint32_t bits, bool first_row)
{
  uint32_t base[2], suffix[2], entry = 0;
  uint32_t used = cj2k_ht_uvlc_prefixes(mode, bits, first_row, base, suffix);
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t place = kUvlcSuffix + 5 * i;
    if (suffix[i] == 1 && used < kUvlcBits) {
      base[i] += bits >> used & 1;
    } else if (suffix[i]) {
      entry |= ((1u << suffix[i]) - 1) << place;
      entry = (entry & ~(31u << kUvlcRotation)) | ((used + 2 - place) & 31) << kUvlcRotation;
    }
    used += suffix[i];
    entry |= base[i] << (kUvlcBase + 3 * i);
  }
  return entry | used;
}

static_assert(offsetof(Cj2kHtTables, vlc) == 0 &&
                  sizeof cj2k_ht_tables()->vlc == kVlcEntries * sizeof(uint32_t),
              "the VLC tables are copied");

/* Fills in all kEntries. */
static void make_decode_tables(uint32_t *all)
{
  memcpy(all, cj2k_ht_tables()->vlc, kVlcEntries * sizeof *all);
  for (uint32_t i = 0; i < kUvlcEntries; i++) {
    uint32_t mode = i >> kUvlcBits, bits = i & ((1u << kUvlcBits) - 1);
    all[kVlcEntries + i] = uvlc_entry(mode < 5 ? mode : mode - 5, bits, mode < 5);
  }
  for (uint32_t state = 0; state < CJ2K_HT_MEL_STATES; state++)
    make_mel_rows(state, all + kMelTable + 128 * state);
}
