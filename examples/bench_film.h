/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moving pictures for cj2k-bench live and encode: a window that moves over one large picture, with
 * cuts. No sample is copied for a frame: its planes point into the large picture.
 */
#ifndef EXAMPLES_BENCH_FILM_H
#define EXAMPLES_BENCH_FILM_H

#include "bench.h"
#include "encode_input.h"

#define BENCH_FILM_SHOT 48 /* frames from one cut to the next */

typedef struct {
  EncodeInput input;         /* the large picture; its layout is that of all frames */
  Cj2kEncoderImage image;    /* one frame */
  Cj2kComponent *components; /* of one frame; x1 and y1 are numbers of columns and rows */
  BenchPicture picture;      /* the large picture in the memory that frames are taken from */
  uint32_t step;             /* columns are multiples of it */
} BenchFilm;

/* Reads the large picture from a file, or makes one of 4:2:2 samples of 10 bits if `path` is NULL.
 * Frames have width x height samples; 0: those of the file. false: fails with a reason in `why`. */
bool bench_film_open(BenchFilm *film, const EncodeOptions *options, const char *path,
                     uint32_t width, uint32_t height, char *why);
/* Copies the large picture to memory of this kind. */
bool bench_film_load(BenchFilm *film, Cj2kMemoryKind memory);
/* Sets planes[] (one for each plane of the layout) to frame `number` of a stream. */
void bench_film_frame(const BenchFilm *film, uint32_t stream, uint32_t number, Cj2kPlane *planes);
void bench_film_close(BenchFilm *film);

#endif
