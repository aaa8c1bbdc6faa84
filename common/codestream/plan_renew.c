/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan for the next codestream of a stream. Rate control changes the quantiser steps, and with
 * them the main header, from frame to frame, but not the geometry.
 */
#include "plan.h"
#include "plan_internal.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

/* Are two arrays of `count` elements equal, byte by byte? Different padding only costs time. */
#define SAME_ARRAY(a, b, count) ((a) == (b) || !memcmp((a), (b), (count) * sizeof *(a)))

static bool same_components(const Cj2kHeader *a, const Cj2kHeader *b)
{
  for (uint32_t c = 0; c < a->num_components; c++) {
    const Cj2kComponent *p = &a->components[c], *q = &b->components[c];

    if (p->dx != q->dx || p->dy != q->dy || p->depth != q->depth || p->is_signed != q->is_signed)
      return false;
  }
  return true;
}

/* Do the parameters of a tile differ in quantisation at most? */
static bool same_tile(const Cj2kTileCoding *a, const Cj2kTileCoding *b, uint32_t num_components)
{
  return a->progression == b->progression && a->num_layers == b->num_layers && a->mct == b->mct &&
         a->sop == b->sop && a->eph == b->eph && a->num_volumes == b->num_volumes &&
         SAME_ARRAY(a->coding, b->coding, num_components) &&
         SAME_ARRAY(a->roi_shift, b->roi_shift, num_components) &&
         (!a->num_volumes || SAME_ARRAY(a->volumes, b->volumes, a->num_volumes));
}

/* Do two headers differ in quantisation at most? */
static bool same_geometry(const Cj2kHeader *a, const Cj2kHeader *b)
{
  uint32_t tiles = a->num_tiles_x * a->num_tiles_y;

  if (a->x0 != b->x0 || a->y0 != b->y0 || a->x1 != b->x1 || a->y1 != b->y1 || a->tx0 != b->tx0 ||
      a->ty0 != b->ty0 || a->tdx != b->tdx || a->tdy != b->tdy ||
      a->num_components != b->num_components || !same_components(a, b) ||
      !same_tile(&a->coding, &b->coding, a->num_components))
    return false;
  for (uint32_t t = 0; (a->tiles || b->tiles) && t < tiles; t++)
    if (!same_tile(cj2k_header_tile(a, t), cj2k_header_tile(b, t), a->num_components))
      return false;
  return true;
}

/* A plan that shares the arrays of `model` and has the steps of `header`. */
static Cj2kStatus requantise(const Cj2kPlan *model, Cj2kHeader *header, Cj2kPlan **out,
                             Cj2kError *error)
{
  for (uint32_t i = 0; i < model->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tile_comp = &model->tile_comps[i];
    const Cj2kTileCoding *tile = cj2k_header_tile(header, tile_comp->tile);
    Cj2kStatus status = cj2k_plan_check_steps(tile, tile_comp->tile, tile_comp->component, error);

    if (status != CJ2K_OK)
      return status;
  }
  Cj2kPlan *plan = g_new(Cj2kPlan, 1);
  memcpy(plan, model, offsetof(Cj2kPlan, ref_count)); /* which other threads change */
  plan->ref_count = 1;
  plan->header = cj2k_header_ref(header);
  plan->geometry = cj2k_plan_ref(model->geometry);
  plan->bands = g_memdup2(model->bands, model->num_bands * sizeof *model->bands);
  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[plan->bands[b].tile_comp];

    cj2k_plan_quantiser(
        &cj2k_header_tile(header, tile_comp->tile)->quantisation[tile_comp->component], tile_comp,
        &plan->resolutions[tile_comp->first_resolution], &plan->bands[b]);
  }
  *out = plan;
  return CJ2K_OK;
}

Cj2kStatus cj2k_plan_renew(Cj2kPlan **plan, Cj2kHeader *header, uint8_t reduce, uint64_t max_memory,
                           Cj2kError *error)
{
  Cj2kPlan *last = *plan;
  Cj2kStatus status;

  if (last && last->header == header && last->reduce == reduce)
    return CJ2K_OK;
  *plan = NULL;
  if (last && last->reduce == reduce && same_geometry(last->header, header))
    status = requantise(last, header, plan, error);
  else
    status = cj2k_plan_new(header, reduce, max_memory, plan, error);
  cj2k_plan_unref(last);
  return status;
}
