/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The boxes of a JP2 file (T.800 Annex I) or JPH file (T.814 Annex D) in front of its codestream.
 */
#ifndef CJ2K_CODESTREAM_WRITE_BOXES_H
#define CJ2K_CODESTREAM_WRITE_BOXES_H

#include "bitwriter.h"
#include "header.h"

/* What a file says about its colours. */
typedef struct {
  const Cj2kChannel *channels; /* one for each component; NULL: no cdef box */
  Cj2kColour colour;
  Cj2kCicp cicp; /* primaries 0: none */
} Cj2kFileColours;

/*
 * Appends everything up to and including the header of the jp2c box whose content has
 * codestream_size bytes. `format` is JP2 or JPH.
 */
void cj2k_write_boxes(Cj2kByteBuffer *out, const Cj2kHeader *header, const Cj2kFileColours *colours,
                      Cj2kFileFormat format, uint64_t codestream_size);

#endif
