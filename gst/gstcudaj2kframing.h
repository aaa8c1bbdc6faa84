/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where images begin and end: in a stream of bytes (filesrc, multifilesrc), and in a buffer that
 * holds the two fields of a frame.
 *
 * An image is a codestream, from SOC to EOC, or a JP2 or JPH file, from its signature box to the
 * end of its jp2c box. Its end follows from what it says of itself: lengths of marker segments,
 * tile-parts (Psot, T.800 A.4.2) and boxes (I.4). A last tile-part without a length ends at EOC.
 * Where a length leads nowhere (damage, truncation) the image ends at the next one's first marker
 * segment, which is recognised by SOC, SIZ and a length that agrees with the number of components.
 */
#ifndef GST_CUDA_J2K_FRAMING_H
#define GST_CUDA_J2K_FRAMING_H

#include <gst/base/gstadapter.h>

G_BEGIN_DECLS

typedef enum {
  GST_CUDA_J2K_IN_MAIN_HEADER,
  GST_CUDA_J2K_AT_TILE_PART,
  GST_CUDA_J2K_IN_TILE_HEADER, /* of a tile-part without a length */
  GST_CUDA_J2K_IN_DATA,        /* likewise: looking for EOC */
  GST_CUDA_J2K_AT_BOX,
  GST_CUDA_J2K_IN_JP2C, /* a box with a length, which is not complete yet */
  GST_CUDA_J2K_LOST,    /* a length led nowhere: looking for the next image */
} GstCudaJ2kWhere;

/* How far an image was read. Offsets count from the first byte that is not consumed yet. */
typedef struct {
  GstCudaJ2kWhere where;
  gsize begin; /* of the image */
  gsize at;    /* what comes next */
  gsize sure;  /* last header that was where it had to be */
  gsize limit; /* largest end that is believed */
} GstCudaJ2kWalk;

typedef struct {
  guint wanted;     /* images a frame: 1, or 2 fields */
  guint complete;   /* of these */
  gboolean walking; /* one has begun and not ended */
  gsize end;        /* of the last complete one */
  GstCudaJ2kWalk walk;
  guint64 consumed, skipped; /* bytes of the stream so far; of these since the last image */
} GstCudaJ2kFraming;

typedef enum {
  GST_CUDA_J2K_NEED_DATA,
  GST_CUDA_J2K_SKIP,     /* the bytes are part of no image */
  GST_CUDA_J2K_FRAME,    /* the bytes are a frame */
  GST_CUDA_J2K_NO_START, /* too many bytes without an image */
  GST_CUDA_J2K_NO_END,   /* an image that is too long for its size */
} GstCudaJ2kFound;

/* Begins a stream; `wanted` is the number of images in a frame. */
void gst_cuda_j2k_framing_init(GstCudaJ2kFraming *framing, guint wanted);

/* Looks at what the adapter has gathered. After SKIP and FRAME the caller takes off *size bytes.
 * With `at_end` nothing more will come: an image that is incomplete is a frame. */
GstCudaJ2kFound gst_cuda_j2k_framing_next(GstCudaJ2kFraming *framing, GstAdapter *adapter,
                                          gboolean at_end, gsize *size);

typedef struct {
  const guint8 *data;
  gsize size;
} GstCudaJ2kSpan;

/*
 * Finds the codestreams of a buffer of image/x-jpc, x-j2c or jp2, at most two (the fields of a
 * frame, the first in time first); returns how many. jp2c boxes are taken off (T.800 I.5.4),
 * whatever the media type says; a whole JP2 file is one span, and so is what breaks T.800, for the
 * decoder to complain of.
 */
guint gst_cuda_j2k_find_parts(const guint8 *data, gsize size, GstCudaJ2kSpan spans[2]);

G_END_DECLS

#endif
