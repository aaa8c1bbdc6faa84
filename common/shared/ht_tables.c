/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ht_tables.h"

#include "common/shared/tables/ht_vlc.h"

#include <glib.h>

const uint8_t cj2k_ht_mel_exponent[CJ2K_HT_MEL_STATES] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};

/* What a quad contributes to the context of its right neighbour (T.814 7.3.5). In the first row
 * that is the whole context, c_q = (rho0 | rho1) + 2 rho2 + 4 rho3; in other rows it is 2 (rho2 |
 * rho3), and the row above gives the rest. */
static uint32_t context_of_neighbour(uint32_t rho, bool first_row)
{
  if (first_row)
    return ((rho | rho >> 1) & 1) | (rho >> 2 & 1) << 1 | (rho >> 3 & 1) << 2;
  return (rho >> 2) ? 2 : 0;
}

static void make_vlc_decode(uint32_t *table, const uint32_t *source, size_t n, bool first_row)
{
  for (size_t i = 0; i < n; i++) {
    uint32_t e = source[i], rho = CJ2K_HT_VLC_RHO(e), length = CJ2K_HT_VLC_LENGTH(e);
    uint32_t record = length | rho << CJ2K_HT_RHO_SHIFT | CJ2K_HT_VLC_E_K(e) << CJ2K_HT_EK_SHIFT |
                      CJ2K_HT_VLC_E_1(e) << CJ2K_HT_E1_SHIFT |
                      CJ2K_HT_VLC_U_OFF(e) << CJ2K_HT_UOFF_SHIFT |
                      context_of_neighbour(rho, first_row) << (7 + CJ2K_HT_CTX_SHIFT);
    for (uint32_t rest = 0; rest < 128u >> length; rest++)
      table[CJ2K_HT_VLC_CONTEXT(e) << 7 | rest << length | CJ2K_HT_VLC_CODEWORD(e)] = record;
  }
}

static uint32_t count_bits(uint32_t pattern)
{
  return (uint32_t)__builtin_popcount(pattern);
}

/* Several codewords may describe the same quad. The standard leaves the choice to the encoder; this
 * one takes the lowest cost, which is the length of the codeword minus the MagSgn bits that its e_k
 * saves, and among equals the codeword with more known bits. */
static void make_vlc_encode(uint16_t *table, const uint32_t *source, size_t n)
{
  for (uint32_t i = 0; i < 8u << 8; i++) {
    uint32_t context = i >> 8, rho = i >> 4 & 15, eps = i & 15;
    int best_cost = 99;
    table[i] = 0;
    for (size_t j = 0; j < n && (eps & ~rho) == 0; j++) {
      uint32_t e = source[j], known = CJ2K_HT_VLC_E_K(e);
      if (CJ2K_HT_VLC_CONTEXT(e) != context || CJ2K_HT_VLC_RHO(e) != rho ||
          CJ2K_HT_VLC_U_OFF(e) != (eps != 0) || (eps & known) != CJ2K_HT_VLC_E_1(e))
        continue;
      int cost = 8 * ((int)CJ2K_HT_VLC_LENGTH(e) - (int)count_bits(known)) - (int)count_bits(known);
      if (cost < best_cost) {
        best_cost = cost;
        table[i] = (uint16_t)(CJ2K_HT_VLC_CODEWORD(e) | CJ2K_HT_VLC_LENGTH(e) << 8 | known << 12);
      }
    }
  }
}

/* The u-VLC code of one residual: prefix, suffix and extension. */
typedef struct {
  uint32_t prefix, prefix_length, suffix, suffix_length, extension, extension_length;
} UvlcCode;

/* T.814 table 3: prefixes 1, 01, 001, 000 with 0, 0, 1, 5 suffix bits; extension of 4 bits when the
 * suffix is >= 28. */
static UvlcCode uvlc_code(uint32_t u)
{
  if (u <= 2)
    return (UvlcCode){.prefix = u, .prefix_length = u};
  if (u <= 4)
    return (UvlcCode){.prefix = 4, .prefix_length = 3, .suffix = u - 3, .suffix_length = 1};
  if (u < 33)
    return (UvlcCode){.prefix_length = 3, .suffix = u - 5, .suffix_length = 5};
  return (UvlcCode){.prefix_length = 3,
                    .suffix = 28 + (u - 33) % 4,
                    .suffix_length = 5,
                    .extension = (u - 33) / 4,
                    .extension_length = 4};
}

uint64_t cj2k_ht_uvlc_code(uint32_t u0, uint32_t u1, bool first_row)
{
  bool both = first_row && u0 > 0 && u1 > 0, event = both && u0 > 2 && u1 > 2;
  UvlcCode a = uvlc_code(u0 - (event ? 2 : 0)), b = uvlc_code(u1 - (event ? 2 : 0));
  if (both && !event && u0 > 2) /* the second is 1 or 2: one bit is enough */
    b = (UvlcCode){.prefix = u1 - 1, .prefix_length = 1};
  const uint32_t parts[6][2] = {
      {a.prefix, a.prefix_length},       {b.prefix, b.prefix_length},
      {a.suffix, a.suffix_length},       {b.suffix, b.suffix_length},
      {a.extension, a.extension_length}, {b.extension, b.extension_length}};
  uint64_t code = 0, length = 0;
  for (int i = 0; i < 6; i++) {
    code |= (uint64_t)parts[i][0] << length;
    length += parts[i][1];
  }
  return code | length << 40;
}

/* Reads the prefix in the lowest bits. Returns its length; *base is the value that it stands for.
 */
static uint32_t uvlc_prefix(uint32_t bits, uint32_t *base, uint32_t *suffix_length)
{
  uint32_t length = bits & 1 ? 1 : bits & 2 ? 2 : 3;
  *base = length < 3 ? length : bits & 4 ? 3 : 5;
  *suffix_length = length < 3 ? 0 : bits & 4 ? 1 : 5;
  return length;
}

uint32_t cj2k_ht_uvlc_prefixes(uint32_t mode, uint32_t bits, bool first_row, uint32_t base[2],
                               uint32_t suffix_length[2])
{
  bool both = mode >= 3, event = mode == 4;
  uint32_t used = 0;

  base[0] = base[1] = suffix_length[0] = suffix_length[1] = 0;
  if (both || mode == 1)
    used += uvlc_prefix(bits, &base[0], &suffix_length[0]);
  if (first_row && both && !event && base[0] > 2) /* the second is 1 or 2: one bit */
    base[1] = 1 + (bits >> used++ & 1);
  else if (both || mode == 2)
    used += uvlc_prefix(bits >> used, &base[1], &suffix_length[1]);
  for (int i = 0; i < 2; i++)
    base[i] += event ? 2 : 0;
  return used;
}

/* The order in the stream is prefix, prefix, suffix, suffix, extension, extension (T.814 7.3.6). */
static uint32_t uvlc_entry(uint32_t mode, uint32_t bits, bool first_row)
{
  uint32_t base[2], suffix_length[2];
  uint32_t used = cj2k_ht_uvlc_prefixes(mode, bits, first_row, base, suffix_length);

  for (int i = 0; i < 2; i++) {
    uint32_t suffix = bits >> used & ((1u << suffix_length[i]) - 1);
    used += suffix_length[i];
    base[i] += suffix;
    if (suffix >= 28)
      return CJ2K_HT_UVLC_LONG;
  }
  if (used > CJ2K_HT_UVLC_BITS)
    return CJ2K_HT_UVLC_LONG;
  return used | base[1] << CJ2K_HT_UVLC_U1_SHIFT | base[0] << CJ2K_HT_U_SHIFT;
}

const Cj2kHtTables *cj2k_ht_tables(void)
{
  static Cj2kHtTables tables;
  static gsize made = 0;
  if (g_once_init_enter(&made)) {
    make_vlc_decode(tables.vlc[0], cj2k_ht_vlc_first, G_N_ELEMENTS(cj2k_ht_vlc_first), true);
    make_vlc_decode(tables.vlc[1], cj2k_ht_vlc_other, G_N_ELEMENTS(cj2k_ht_vlc_other), false);
    make_vlc_encode(tables.encode[0], cj2k_ht_vlc_first, G_N_ELEMENTS(cj2k_ht_vlc_first));
    make_vlc_encode(tables.encode[1], cj2k_ht_vlc_other, G_N_ELEMENTS(cj2k_ht_vlc_other));
    for (uint32_t i = 0; i < 2 * CJ2K_HT_UVLC_PAIR * CJ2K_HT_UVLC_PAIR; i++)
      tables.uvlc_pair[i >> 8][i & 255] = cj2k_ht_uvlc_code(i >> 4 & 15, i & 15, i >> 8 == 0);
    for (uint32_t i = 0; i < G_N_ELEMENTS(tables.uvlc_first); i++)
      tables.uvlc_first[i] = uvlc_entry(i >> CJ2K_HT_UVLC_BITS, i & 1023, true);
    for (uint32_t i = 0; i < G_N_ELEMENTS(tables.uvlc_other); i++)
      tables.uvlc_other[i] = uvlc_entry(i >> CJ2K_HT_UVLC_BITS, i & 1023, false);
    g_once_init_leave(&made, 1);
  }
  return &tables;
}
