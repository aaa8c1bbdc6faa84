/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fills what a picture holds besides the components of the image: unused bits, and components that
 * the image does not have.
 */
#ifndef CJ2K_SAMPLES_FILL_H
#define CJ2K_SAMPLES_FILL_H

#include "layout.h"

/*
 * Prepares plane p for cj2k_pack_row of the image's components: writes layout->fill into bits that
 * belong to no component, and the maximum (opaque) into components of the layout beyond the image's
 * num_components. `use` is the result of cj2k_layout_plane_use for these components; a covered
 * plane is not touched. The plane has the size of its largest component, or of the first component
 * of the image if it holds none.
 */
void cj2k_fill_plane(const Cj2kLayout *layout, uint32_t p, const Cj2kPlaneUse *use,
                     const Cj2kPicture *picture, const Cj2kComponent *components,
                     uint32_t num_components);

#endif
