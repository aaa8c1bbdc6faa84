/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the beginning and end of images in a byte stream (filesrc, multifilesrc), and in a buffer
 * that holds the two fields of a frame.
 *
 * An image is a codestream, from SOC to EOC, or a JP2 or JPH file, from its signature box to the
 * end of its jp2c box. Its end follows from the lengths of marker segments, tile-parts (Psot, T.800
 * A.4.2) and boxes (I.4). A last tile-part without a length ends at EOC. If a length is wrong
 * (damage, truncation), the image ends where the next one begins, which is recognised by SOC, SIZ
 * and a length that agrees with the number of components.
 */
#ifndef GST_CUDA_J2K_FRAMING_H
#define GST_CUDA_J2K_FRAMING_H

#include <gst/base/gstadapter.h>

G_BEGIN_DECLS

typedef enum {
  GST_CUDA_J2K_IN_MAIN_HEADER,
  GST_CUDA_J2K_AT_TILE_PART,
  GST_CUDA_J2K_IN_TILE_HEADER, /* header of a tile-part without a length */
  GST_CUDA_J2K_IN_DATA,        /* data of a tile-part without a length: searching for EOC */
  GST_CUDA_J2K_AT_BOX,
  GST_CUDA_J2K_IN_JP2C, /* behind a jp2c box with a length, which has not arrived completely */
  GST_CUDA_J2K_LOST,    /* a length was wrong: searching for the next image */
} GstCudaJ2kWhere;

/* The state of reading one image. Offsets count from the first byte that is not consumed yet. */
typedef struct {
  GstCudaJ2kWhere where;
  gsize begin;       /* of the image */
  gsize at;          /* of the next header or data to read */
  gsize last_header; /* of the last header that was found where it was expected */
  gsize limit;       /* largest end that is plausible */
} GstCudaJ2kWalk;

typedef struct {
  guint wanted;     /* images in a frame: 1, or 2 for fields */
  guint complete;   /* images of the current frame that have ended */
  gboolean walking; /* an image has begun and not ended; `walk` is its state */
  gsize end;        /* of the last complete image */
  GstCudaJ2kWalk walk;
  guint64 consumed, skipped; /* bytes of the stream so far; those skipped since the last image */
} GstCudaJ2kFraming;

typedef enum {
  GST_CUDA_J2K_NEED_DATA,
  GST_CUDA_J2K_SKIP,     /* the bytes belong to no image */
  GST_CUDA_J2K_FRAME,    /* the bytes are a frame */
  GST_CUDA_J2K_NO_START, /* too many bytes without an image */
  GST_CUDA_J2K_NO_END,   /* the image is longer than its dimensions allow */
} GstCudaJ2kFound;

/* Begins a stream with `wanted` images in a frame. */
void gst_cuda_j2k_framing_init(GstCudaJ2kFraming *framing, guint wanted);

/* Examines the bytes in the adapter. After SKIP and FRAME the caller removes *size bytes. With
 * `at_end` the stream has ended, and an incomplete image is a frame. */
GstCudaJ2kFound gst_cuda_j2k_framing_next(GstCudaJ2kFraming *framing, GstAdapter *adapter,
                                          gboolean at_end, gsize *size);

typedef struct {
  const guint8 *data;
  gsize size;
} GstCudaJ2kSpan;

/*
 * Finds the first two codestreams of a buffer of image/x-jpc, x-j2c or jp2 (the fields of a frame,
 * the first in time first). Returns their number, or 3 if there are more. Headers of jp2c boxes
 * (T.800 I.5.4) are removed, whatever the media type says. A whole JP2 file is one span, and so is
 * invalid data, which the decoder reports.
 */
guint gst_cuda_j2k_find_parts(const guint8 *data, gsize size, GstCudaJ2kSpan spans[2]);

/* The warning that there are more codestreams than the frame has: %u. */
#define GST_CUDA_J2K_TOO_MANY                                                                      \
  "A buffer holds more codestreams than the caps say; those behind the first %u are ignored."

/* Are two codestreams the fields of a frame of this height, by their dimensions? */
gboolean gst_cuda_j2k_are_fields(const GstCudaJ2kSpan spans[2], gint height);

#define GST_CUDA_J2K_START_BYTES 42 /* SOC and SIZ up to the number of components */

/* The largest size that is plausible for the codestream at the beginning of `data`, by its
 * dimensions; 0: no codestream begins here. */
gsize gst_cuda_j2k_find_limit(const guint8 *data, gsize size);

G_END_DECLS

#endif
