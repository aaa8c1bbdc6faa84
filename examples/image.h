/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Still images of the command line tools: planes in memory, and the file formats they come from and
 * go to. All functions that can fail return false and put a sentence into `why`.
 */
#ifndef EXAMPLES_IMAGE_H
#define EXAMPLES_IMAGE_H

#include "cj2k.h"

#include <stdio.h>

#define IMAGE_MAX_READ_COMPONENTS 4
#define IMAGE_MAX_PGX             16  /* files of one image */
#define IMAGE_WHY                 256 /* bytes of a sentence */

/* One component: little-endian words of 1, 2 or 4 bytes, two's complement when signed. */
typedef struct {
  uint32_t width, height;
  uint32_t x0, y0; /* of the first sample on the component's own grid */
  uint8_t dx, dy;  /* sub-sampling */
  uint8_t depth;
  bool is_signed;
  uint8_t bytes; /* per sample */
  size_t pitch;  /* bytes from row to row */
  uint8_t *data;
} ImagePlane;

typedef struct {
  uint32_t num_planes;
  ImagePlane *planes;
  const Cj2kChannel *channels; /* one a plane, not owned; NULL: plane i is colour i+1 */
  Cj2kColour colour;
  uint32_t colour_enum;
  void *memory; /* owned: what the planes point into; NULL when they are somebody else's */
} Image;

/* Bytes a sample of this depth takes: 1, 2 or 4. */
uint8_t image_sample_bytes(uint8_t depth);
/* `n` samples of row y, from the first on. */
void image_get_row(const ImagePlane *plane, uint32_t y, uint32_t n, int32_t *row);
void image_put_row(const ImagePlane *plane, uint32_t y, uint32_t n, const int32_t *row);
/* The shape of an image whose planes are all of one size, depth and sign, without sub-sampling. */
typedef struct {
  uint32_t num_planes, width, height;
  uint8_t depth;
  bool is_signed;
} ImageShape;
/* Makes planes; false: empty, too large or no memory. `path` names the file in `why`. */
bool image_alloc(Image *image, ImageShape shape, const char *path, char *why);
/* Checks that no sample of a file exceeds what its plane's depth allows; `why` says where. */
bool image_check_samples(const Image *image, const char *path, char *why);
void image_clear(Image *image);

typedef enum { IMAGE_UNKNOWN = 0, IMAGE_PNM, IMAGE_PNG, IMAGE_PGX, IMAGE_RAW } ImageFormat;
/* By the end of the name: .ppm .pgm .pnm, .png, .pgx, .raw .yuv .rgb. */
ImageFormat image_format_of(const char *path);

/* Writes in the format that the end of the name tells. PNM and PNG get RGB or grey: sub-sampled
 * components are repeated, sYCC is converted; PNG gets alpha too, and premultiplied alpha is taken
 * out of its colours. PGX (one file a component: out.pgx writes out_0.pgx, out_1.pgx ...) and raw
 * get the planes as they are. */
bool image_write(const Image *image, const char *path, char *why);
/* The same in a given format, whatever the name. "-" is standard output, which takes one component
 * as PGX. */
bool image_write_as(const Image *image, const char *path, ImageFormat format, char *why);
/* Reads PNM (P5, P6), PNG and PGX, told apart by their first bytes; "-" is standard input. in.pgx
 * is one component, or where there is no such file in_0.pgx, in_1.pgx ... are the components. A
 * sample above the file's own maximum is an error. */
bool image_read(Image *image, const char *path, char *why);

/* What a raw file does not say of itself. */
typedef struct {
  uint32_t width, height; /* of the reference grid */
  uint32_t num_components;
  uint8_t depth;
  bool is_signed;
  uint8_t dx[IMAGE_MAX_READ_COMPONENTS], dy[IMAGE_MAX_READ_COMPONENTS];
} ImageRawShape;
bool image_read_raw(Image *image, const char *path, const ImageRawShape *shape, char *why);

/* The whole of a file, "-" is standard input; NULL on error and when it is empty. g_free it. */
uint8_t *image_load_file(const char *path, size_t *size, char *why);

/* A file being written. It appears under its name when it is complete; what was there before stays
 * until then. Devices, pipes and standard output ("-") are written directly. */
typedef struct {
  FILE *file; /* to write to */
  char *path, *temporary;
} ImageOutput;
/* False: the file cannot be written, and there is nothing to close. One is open at a time. */
bool image_output_open(ImageOutput *output, const char *path, char *why);
/* Closes the file and gives it its name. `ok` false: a write failed, and errno still says why; the
 * file is removed. */
bool image_output_close(ImageOutput *output, bool ok, char *why);
/* Closes and removes the file. */
void image_output_drop(ImageOutput *output);

/* --- one file a format --- */
/* What a reader is given: the bytes of a file, and its name for messages. */
typedef struct {
  const uint8_t *data;
  size_t size;
  const char *path;
} ImageFile;
/* As image_read, of bytes in memory. */
bool image_read_file(Image *image, const ImageFile *file, char *why);
/* The next decimal number at *at, which is moved behind it; false: there is none, or it is above
 * UINT32_MAX. */
bool image_parse_number(const ImageFile *file, size_t *at, uint32_t *number);

bool image_write_pnm(const Image *image, const char *path, char *why);
bool image_read_pnm(Image *image, const ImageFile *file, char *why);
bool image_write_png(const Image *image, const char *path, char *why);
bool image_read_png(Image *image, const ImageFile *file, char *why);
bool image_write_pgx(const Image *image, const char *path, char *why);
bool image_read_pgx(Image *image, const ImageFile *file, char *why);
/* in_0.pgx, in_1.pgx ... of path in.pgx. */
bool image_read_pgx_set(Image *image, const char *path, char *why);
bool image_write_raw(const Image *image, const char *path, char *why);

/* Fails with `why` set from errno; for use as `return image_fail_errno (...)`. */
bool image_fail_errno(char *why, const char *path);
bool image_fail(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
