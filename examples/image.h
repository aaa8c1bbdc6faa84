/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Still images of the command line tools: planes in memory, and the file formats that are read and
 * written. Functions that fail return false (or NULL) and write a sentence into `why`.
 */
#ifndef EXAMPLES_IMAGE_H
#define EXAMPLES_IMAGE_H

#include "cj2k.h"

#include <stdio.h>

#define IMAGE_MAX_READ_COMPONENTS 4
#define IMAGE_MAX_PGX             16  /* files that make one image */
#define IMAGE_WHY                 256 /* bytes of `why` */

/* One component: little-endian words of 1, 2 or 4 bytes, two's complement when signed. */
typedef struct {
  uint32_t width, height;
  uint32_t x0, y0; /* of the first sample on the component's own grid */
  uint8_t dx, dy;  /* sub-sampling */
  uint8_t depth;
  bool is_signed;
  uint8_t bytes; /* per sample */
  size_t pitch;
  uint8_t *data;
} ImagePlane;

typedef struct {
  uint32_t num_planes;
  ImagePlane *planes;
  const Cj2kChannel *channels; /* one per plane, not owned; NULL: plane i is colour i+1 */
  Cj2kColour colour;
  uint32_t colour_enum;
  Cj2kCicp cicp; /* primaries 0: the file states none */
  void *memory;  /* owned samples of the planes; NULL: the samples are not owned */
} Image;

/* Bytes of a sample of this depth: 1, 2 or 4. */
uint8_t image_sample_bytes(uint8_t depth);
/* Read or write the first n samples of row y. */
void image_get_row(const ImagePlane *plane, uint32_t y, uint32_t n, int32_t *row);
void image_put_row(const ImagePlane *plane, uint32_t y, uint32_t n, const int32_t *row);
/* The shape of an image whose planes are all of one size, depth and sign, without sub-sampling. */
typedef struct {
  uint32_t num_planes, width, height;
  uint8_t depth;
  bool is_signed;
} ImageShape;
/* Allocates planes. false: the image is empty or too large. `path` names the file in `why`. */
bool image_alloc(Image *image, ImageShape shape, const char *path, char *why);
/* Checks that no sample of a file exceeds what its plane's depth allows; `why` says where. */
bool image_check_samples(const Image *image, const char *path, char *why);
/* Whether a file of this size may hold a picture of so many bytes. A file of a few bytes must not
 * state a picture that fills the memory; but a black one is compressed to almost nothing. */
bool image_is_plausible(double bytes, size_t file_size);
void image_clear(Image *image);

typedef enum {
  IMAGE_UNKNOWN = 0,
  IMAGE_PNM, /* grey or RGB, as the picture is */
  IMAGE_PPM,
  IMAGE_PGM,
  IMAGE_PNG,
  IMAGE_PGX,
  IMAGE_RAW,
  IMAGE_DPX,
  IMAGE_TIFF,
  IMAGE_EXR
} ImageFormat;
/* The format by the ending of a name, as .ppm or .dpx; the table is in image.c. */
ImageFormat image_format_of(const char *path);
bool image_can_write(ImageFormat format);
/* The endings of all formats that can be read, or written. Free with g_strfreev(). */
char **image_endings(bool read);

/* Writes in the format of the name's ending. PNM, PNG and DPX get RGB or grey: samples of
 * sub-sampled components are repeated and sYCC is converted. PNG, DPX and TIFF also get alpha. TIFF
 * states its kind; for PNG and DPX colours that were multiplied with alpha are divided by it. PGX
 * and raw files get the planes unchanged; PGX has one file per component (out.pgx stands for
 * out_0.pgx, out_1.pgx ...). */
bool image_write(const Image *image, const char *path, char *why);
/* The same in a given format. "-" is standard output, which takes only one component as PGX. */
bool image_write_as(const Image *image, const char *path, ImageFormat format, char *why);
/* Reads every format but raw files, recognised by its first bytes; "-" is standard input. in.pgx
 * is one component; where this file does not exist in_0.pgx, in_1.pgx ... are the components. A
 * sample above the maximum that the file states is an error. */
bool image_read(Image *image, const char *path, char *why);

/* The description of a raw file, which has no header. */
typedef struct {
  uint32_t width, height; /* of the reference grid */
  uint32_t num_components;
  uint8_t depth;
  bool is_signed;
  uint8_t dx[IMAGE_MAX_READ_COMPONENTS], dy[IMAGE_MAX_READ_COMPONENTS];
} ImageRawShape;
bool image_read_raw(Image *image, const char *path, const ImageRawShape *shape, char *why);

/* Reads a whole file; "-" is standard input. NULL: it cannot be read or is empty. Free with
 * g_free(). */
uint8_t *image_load_file(const char *path, size_t *size, char *why);

/* A file being written. It appears under its name when it is complete; what was there before stays
 * until then. Devices, pipes and standard output ("-") are written directly. */
typedef struct {
  FILE *file; /* to write to */
  char *path, *temporary;
} ImageOutput;
#define IMAGE_MAX_OUTPUTS 64 /* files that are removed when a signal ends the program */
/* False: the file cannot be written, and there is nothing to close. Several threads may write a
 * file each. */
bool image_output_open(ImageOutput *output, const char *path, char *why);
/* Closes the file and gives it its name. `ok` false: a write failed, and errno still says why; the
 * file is removed. */
bool image_output_close(ImageOutput *output, bool ok, char *why);
/* Closes and removes the file. */
void image_output_drop(ImageOutput *output);
/* Whether files are flushed to the disk before they get their names (off at first). */
void image_output_set_durable(bool on);
/* Removes files that processes of this host did not finish, because they were killed. */
void image_output_clean(const char *folder);
/* Flushes the names in a folder to the disk. */
bool image_output_sync_folder(const char *folder, char *why);

/* --- the formats, one source file each --- */
/* A file in memory for the readers, with its name for messages. */
typedef struct {
  const uint8_t *data;
  size_t size;
  const char *path;
} ImageFile;
/* As image_read(), from bytes in memory. */
bool image_read_file(Image *image, const ImageFile *file, char *why);
/* Reads the decimal number at *at and moves *at behind it. false: there is none, or it is above
 * UINT32_MAX. */
bool image_parse_number(const ImageFile *file, size_t *at, uint32_t *number);

bool image_write_pnm(const Image *image, const char *path, char *why);
bool image_write_ppm(const Image *image, const char *path, char *why); /* grey becomes RGB */
bool image_write_pgm(const Image *image, const char *path, char *why); /* only grey */
bool image_read_pnm(Image *image, const ImageFile *file, char *why);
bool image_write_png(const Image *image, const char *path, char *why);
bool image_read_png(Image *image, const ImageFile *file, char *why);
bool image_write_pgx(const Image *image, const char *path, char *why);
bool image_read_pgx(Image *image, const ImageFile *file, char *why);
/* in_0.pgx, in_1.pgx ... of path in.pgx. */
bool image_read_pgx_set(Image *image, const char *path, char *why);
bool image_write_dpx(const Image *image, const char *path, char *why);
bool image_read_dpx(Image *image, const ImageFile *file, char *why);
bool image_write_tiff(const Image *image, const char *path, char *why);
bool image_read_tiff(Image *image, const ImageFile *file, char *why);
bool image_read_exr(Image *image, const ImageFile *file, char *why); /* image_curve.h */
bool image_write_raw(const Image *image, const char *path, char *why);

/* A picture whose samples lie in a file in a form that the library reads. */
typedef struct {
  uint32_t width, height, num_components; /* 0 components: the form is another */
  uint8_t depth;
  Cj2kColour colour;
  const Cj2kChannel *channels; /* as in Image */
  Cj2kSampleLayout samples[IMAGE_MAX_READ_COMPONENTS];
  uint64_t offset, pitch; /* the file has all rows */
} ImagePacked;
/* Finds the samples of a DPX file. */
bool image_place_dpx(ImagePacked *packed, const ImageFile *file, char *why);

/* Set `why`, from errno or from a format, and return false. */
bool image_fail_errno(char *why, const char *path);
bool image_fail(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
