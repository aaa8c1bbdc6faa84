/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mutates codestreams so that what is behind the change is still read: the input is divided into
 * pieces (marker segments, bodies of tile-parts), one piece is changed, removed, repeated or moved,
 * and the lengths of marker segments and Psot are set right again. One change in six is made to the
 * bytes as they are, so that wrong lengths occur, too.
 */
#include "common/codestream/markers.h"
#include "fuzz.h"

#define MAX_PIECES 64
#define MAX_BYTES  65536

typedef enum {
  PIECE_BYTES,   /* SOC, EOC, bodies, and what could not be understood */
  PIECE_SEGMENT, /* a marker segment with its length */
  PIECE_SOT,     /* the same: SOT, whose Psot counts up to the end of the next body */
  PIECE_BODY,    /* SOD and packets */
} PieceKind;

typedef struct {
  PieceKind kind;
  const uint8_t *data;
  size_t size;
} Piece;

static void put16(uint8_t *at, size_t value)
{
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

/* The next piece of data[0..size). *body: its number of bytes after SOD, from the last SOT. */
static Piece next_piece(const uint8_t *data, size_t size, size_t *part)
{
  if (size < 4 || data[0] != 0xff)
    return (Piece){PIECE_BYTES, data, size};
  uint16_t marker = cj2k_get16(data);
  if (marker == CJ2K_SOC || marker == CJ2K_EOC)
    return (Piece){PIECE_BYTES, data, 2};
  if (marker == CJ2K_SOD) {
    size_t body = *part > 2 && *part < size ? *part : size;
    return (Piece){PIECE_BODY, data, body};
  }
  size_t length = 2u + cj2k_get16(data + 2);
  if (length > size || length < 4)
    return (Piece){PIECE_BYTES, data, size};
  if (marker == CJ2K_SOT && length >= 12) {
    *part = cj2k_get32(data + 6);
    *part -= MIN(*part, length);
    return (Piece){PIECE_SOT, data, length};
  }
  *part -= MIN(*part, length);
  return (Piece){PIECE_SEGMENT, data, length};
}

static uint32_t divide(const uint8_t *data, size_t size, Piece pieces[MAX_PIECES])
{
  uint32_t count = 0;
  size_t at = 0, part = 0;
  while (at < size && count < MAX_PIECES) {
    Piece piece = next_piece(data + at, size - at, &part);
    if (count + 1 == MAX_PIECES)
      piece = (Piece){PIECE_BYTES, data + at, size - at};
    pieces[count++] = piece;
    at += piece.size;
  }
  return count;
}

/* Writes the pieces and sets lengths and Psot. */
static size_t join(const Piece *pieces, uint32_t count, uint8_t *out, size_t max_size)
{
  size_t at = 0, sot = SIZE_MAX;
  for (uint32_t i = 0; i < count; i++) {
    size_t size = MIN(pieces[i].size, max_size - at);
    memmove(out + at, pieces[i].data, size);
    bool is_segment = pieces[i].kind == PIECE_SEGMENT || pieces[i].kind == PIECE_SOT;
    if (is_segment && size >= 4)
      put16(out + at + 2, size - 2);
    if (pieces[i].kind == PIECE_SOT && size >= 12)
      sot = at;
    at += size;
    if (pieces[i].kind == PIECE_BODY && sot != SIZE_MAX) {
      put16(out + sot + 6, (at - sot) >> 16);
      put16(out + sot + 8, (at - sot) & 0xffff);
      sot = SIZE_MAX;
    }
  }
  return at;
}

/* Changes the bytes of a piece, behind its marker and length; `scratch` gets the result. */
static void change(Piece *piece, uint8_t *scratch, size_t max_size)
{
  size_t keep = piece->kind == PIECE_BYTES ? 0 : piece->kind == PIECE_BODY ? 2 : 4;
  if (piece->kind == PIECE_SOT) { /* keep Psot as well */
    memcpy(scratch, piece->data, piece->size);
    scratch[4 + (piece->data[5] & 1)] ^= 1;
    LLVMFuzzerMutate(scratch + 10, 2, 2);
    piece->data = scratch;
    return;
  }
  keep = MIN(keep, piece->size);
  max_size = MIN(max_size, piece->kind == PIECE_SEGMENT ? 65000 : MAX_BYTES);
  if (max_size <= keep || piece->size > max_size)
    return;
  memcpy(scratch, piece->data, piece->size);
  piece->size = keep + LLVMFuzzerMutate(scratch + keep, piece->size - keep,
                                        piece->size < keep + 512 ? MIN(max_size - keep, 1024u)
                                                                 : max_size - keep);
  piece->data = scratch;
}

/* One change to the list of pieces. */
static uint32_t mutate(Piece *pieces, uint32_t count, unsigned seed, uint8_t *scratch, size_t room)
{
  uint32_t at = (seed >> 8) % count, other = (seed >> 16) % count;
  Piece piece = pieces[at];
  switch (seed % 12) {
  case 0: /* remove */
    memmove(pieces + at, pieces + at + 1, (count - at - 1) * sizeof *pieces);
    return count - 1;
  case 1: /* repeat elsewhere */
    if (count < MAX_PIECES && piece.size <= room) {
      memmove(pieces + other + 1, pieces + other, (count - other) * sizeof *pieces);
      pieces[other] = piece;
      return count + 1;
    }
    break;
  case 2: /* exchange */
    pieces[at] = pieces[other];
    pieces[other] = piece;
    break;
  default: change(&pieces[at], scratch, room + piece.size); break;
  }
  return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
  static uint8_t copy[MAX_BYTES], scratch[MAX_BYTES];
  Piece pieces[MAX_PIECES];

  seed = seed * 2654435761u;
  seed ^= seed >> 15;
  if (size < 4 || size > MAX_BYTES || data[0] != 0xff || seed % 6 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  memcpy(copy, data, size);
  uint32_t count = divide(copy, size, pieces);
  count = mutate(pieces, count, seed / 6, scratch, max_size > size ? max_size - size : 0);
  return join(pieces, count, data, max_size);
}
