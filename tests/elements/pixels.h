/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Single samples of video buffers, with which the tests compare pixels. Written from the
 * description of Cj2kSampleLayout alone, independently of the code under test.
 */
#ifndef TESTS_ELEMENTS_PIXELS_H
#define TESTS_ELEMENTS_PIXELS_H

#include "gst/gstcudaj2kformats.h"

/* Reads or writes sample (x, y) of one component; plane is the plane's first byte. */
guint32 pixels_get(const Cj2kSampleLayout *layout, const guint8 *plane, gsize pitch, guint x,
                   guint y);
void pixels_put(const Cj2kSampleLayout *layout, guint8 *plane, gsize pitch, guint x, guint y,
                guint32 value);

/* The size and the samples of component c of a mapped frame. */
guint pixels_width(const GstVideoFrame *frame, guint c);
guint pixels_height(const GstVideoFrame *frame, guint c);
guint32 pixels_of(const GstVideoFrame *frame, guint c, guint x, guint y);

/* A smooth picture with some texture, the same for every format: sample (x, y) of component c of
 * an image `width` x `height`, in `depth` bits. */
guint32 pixels_pattern(guint c, guint x, guint y, guint width, guint height, guint depth);

/* A buffer of this format with the pattern, moved by `phase` pixels. */
GstBuffer *pixels_buffer(const GstVideoInfo *info, guint phase);

/* The largest difference of any sample of a and b, which have the same size and family. If the
 * depths differ, the deeper one is shifted and rounded to the other's depth as in the library. -1
 * if number of components or sub-sampling differ. */
gint pixels_difference(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                       GstBuffer *b);

#endif
