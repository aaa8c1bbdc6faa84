/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a picture holds besides the image's components: unused bits and components that the image
 * does not have.
 */
#ifndef CJ2K_CPU_FILL_H
#define CJ2K_CPU_FILL_H

#include "layout.h"

/*
 * Prepares plane p for cj2k_pack_row of the image's components: writes layout->fill into bits that
 * belong to nobody, and the maximum (opaque) into components of the layout beyond the image's
 * num_components. `use` is what cj2k_layout_plane_use said for these components; a covered plane is
 * left alone. The plane's size is that of its largest component; a plane without any has the first
 * component's.
 */
void cj2k_fill_plane(const Cj2kLayout *layout, uint32_t p, const Cj2kPlaneUse *use,
                     const Cj2kPicture *picture, const Cj2kComponent *components,
                     uint32_t num_components);

#endif
