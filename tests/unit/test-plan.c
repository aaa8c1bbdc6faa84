/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans and progressions over random geometries, compared with direct implementations of the
 * standard's definitions. */
#include "common/codestream/plan_internal.h"
#include "common/codestream/progression.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static uint32_t random_below(GRand *rand, uint32_t n)
{
  return (uint32_t)g_rand_int_range(rand, 0, (gint32)n);
}

static Cj2kHeader *random_header(GRand *rand)
{
  uint32_t components = 1 + random_below(rand, 3);
  Cj2kHeader *header = cj2k_header_new(components, 0);

  header->x0 = random_below(rand, 40);
  header->y0 = random_below(rand, 40);
  header->x1 = header->x0 + 1 + random_below(rand, 70);
  header->y1 = header->y0 + 1 + random_below(rand, 70);
  header->tx0 = random_below(rand, header->x0 + 1);
  header->ty0 = random_below(rand, header->y0 + 1);
  header->tdx = header->x0 - header->tx0 + 1 + random_below(rand, 60);
  header->tdy = header->y0 - header->ty0 + 1 + random_below(rand, 60);
  header->num_tiles_x = (header->x1 - header->tx0 + header->tdx - 1) / header->tdx;
  header->num_tiles_y = (header->y1 - header->ty0 + header->tdy - 1) / header->tdy;
  header->coding.num_layers = (uint16_t)(1 + random_below(rand, 3));
  header->coding.progression = (uint8_t)random_below(rand, 5);
  for (uint32_t c = 0; c < components; c++) {
    Cj2kComponent *component = &header->components[c];
    Cj2kCoding *coding = &header->coding.coding[c];
    Cj2kQuantisation *quantisation = &header->coding.quantisation[c];

    component->dx = (uint8_t)(1 + random_below(rand, 4));
    component->dy = (uint8_t)(1 + random_below(rand, 4));
    component->depth = 8;
    component->x0 = (header->x0 + component->dx - 1) / component->dx;
    component->y0 = (header->y0 + component->dy - 1) / component->dy;
    component->x1 = (header->x1 + component->dx - 1) / component->dx;
    component->y1 = (header->y1 + component->dy - 1) / component->dy;
    coding->num_levels = (uint8_t)random_below(rand, 5);
    coding->log2_block_width = (uint8_t)(2 + random_below(rand, 3));
    coding->log2_block_height = (uint8_t)(2 + random_below(rand, 3));
    coding->reversible = random_below(rand, 2);
    for (uint32_t r = 0; r <= CJ2K_MAX_LEVELS; r++) {
      coding->log2_precinct_width[r] =
          (uint8_t)(r > 0 ? 1 + random_below(rand, 5) : random_below(rand, 5));
      coding->log2_precinct_height[r] =
          (uint8_t)(r > 0 ? 1 + random_below(rand, 5) : random_below(rand, 5));
    }
    quantisation->style = 1;
    quantisation->guard_bits = 2;
    quantisation->num_steps = 1;
    quantisation->exponent[0] = 9;
  }
  return header;
}

static void random_volumes(GRand *rand, Cj2kTileCoding *coding, uint32_t components)
{
  coding->num_volumes = 1 + random_below(rand, 4);
  coding->volumes = g_new0(Cj2kProgressionVolume, coding->num_volumes);
  for (uint32_t i = 0; i < coding->num_volumes; i++) {
    Cj2kProgressionVolume *volume = &coding->volumes[i];

    volume->res_start = (uint8_t)random_below(rand, 3);
    volume->res_end = (uint8_t)(volume->res_start + 1 + random_below(rand, 5));
    volume->comp_start = (uint16_t)random_below(rand, components);
    volume->comp_end = (uint16_t)(volume->comp_start + 1 + random_below(rand, components));
    volume->layer_end = (uint16_t)(1 + random_below(rand, 4));
    volume->order = (uint8_t)random_below(rand, 5);
  }
}

/* The loops of B.12.1 over every position; each packet is emitted once (B.12.2). */
typedef struct {
  const Cj2kPlan *plan;
  uint32_t tile;
  GHashTable *sent;
  GArray *packets;
} Brute;

static void brute_emit(Brute *brute, uint32_t c, uint32_t r, uint32_t layer, uint32_t k)
{
  const Cj2kPlanTileComp *tc =
      &brute->plan->tile_comps[brute->plan->tiles[brute->tile].first_tile_comp + c];
  const Cj2kPlanResolution *res = &brute->plan->resolutions[tc->first_resolution + r];
  uint64_t key = ((uint64_t)(res->first_precinct + k) << 16) | layer;

  if (g_hash_table_contains(brute->sent, GSIZE_TO_POINTER(key + 1)))
    return;
  g_hash_table_add(brute->sent, GSIZE_TO_POINTER(key + 1));
  g_array_append_val(brute->packets, key);
}

/* B.12.1.3: whether (x, y) is the origin of a precinct of resolution r of component c; *precinct:
 * its index. */
static bool brute_precinct(const Brute *brute, uint32_t c, uint32_t r, uint64_t x, uint64_t y,
                           uint32_t *k)
{
  const Cj2kPlan *plan = brute->plan;
  const Cj2kPlanTile *tile = &plan->tiles[brute->tile];
  const Cj2kPlanTileComp *tc = &plan->tile_comps[tile->first_tile_comp + c];
  const Cj2kPlanResolution *res = &plan->resolutions[tc->first_resolution + r];
  uint64_t dx = plan->header->components[c].dx, dy = plan->header->components[c].dy;
  uint32_t up = tc->num_levels - r, ppx = res->log2_precinct_width, ppy = res->log2_precinct_height;
  bool at_y = y % (dy << (ppy + up)) == 0 ||
              (y == tile->rect.y0 && ((uint64_t)res->rect.y0 << up) % (1ull << (ppy + up)) != 0);
  bool at_x = x % (dx << (ppx + up)) == 0 ||
              (x == tile->rect.x0 && ((uint64_t)res->rect.x0 << up) % (1ull << (ppx + up)) != 0);
  uint64_t px, py;

  if (!at_x || !at_y || res->precincts_x == 0 || res->precincts_y == 0)
    return false;
  px = ((x + (dx << up) - 1) / (dx << up) >> ppx) - (res->rect.x0 >> ppx);
  py = ((y + (dy << up) - 1) / (dy << up) >> ppy) - (res->rect.y0 >> ppy);
  *k = (uint32_t)(px + py * res->precincts_x);
  return true;
}

static void brute_volume(Brute *brute, Cj2kProgressionVolume v)
{
  const Cj2kPlan *plan = brute->plan;
  const Cj2kPlanTile *tile = &plan->tiles[brute->tile];
  const Cj2kPlanTileComp *tcs = &plan->tile_comps[tile->first_tile_comp];
  uint32_t layers = MIN(v.layer_end, tile->num_layers), k;
  uint32_t comps = MIN(v.comp_end, plan->num_components);

#define FOR_LAYERS      for (uint32_t l = 0; l < layers; l++)
#define FOR_COMPONENTS  for (uint32_t c = v.comp_start; c < comps; c++)
#define FOR_RESOLUTIONS for (uint32_t r = v.res_start; r < v.res_end; r++)
#define FOR_POSITIONS                                                                              \
  for (uint64_t y = tile->rect.y0; y < tile->rect.y1; y++)                                         \
    for (uint64_t x = tile->rect.x0; x < tile->rect.x1; x++)
#define EXISTS (r <= tcs[c].num_levels)
#define FOR_PRECINCTS                                                                              \
  for (k = 0; k < plan->resolutions[tcs[c].first_resolution + r].precincts_x *                     \
                      plan->resolutions[tcs[c].first_resolution + r].precincts_y;                  \
       k++)
#define IF_PRECINCT_HERE if (EXISTS && brute_precinct(brute, c, r, x, y, &k))
  switch (v.order) {
  case CJ2K_LRCP:
    FOR_LAYERS FOR_RESOLUTIONS FOR_COMPONENTS if (EXISTS)
        FOR_PRECINCTS brute_emit(brute, c, r, l, k);
    break;
  case CJ2K_RLCP:
    FOR_RESOLUTIONS FOR_LAYERS FOR_COMPONENTS if (EXISTS)
        FOR_PRECINCTS brute_emit(brute, c, r, l, k);
    break;
  case CJ2K_RPCL:
    FOR_RESOLUTIONS FOR_POSITIONS FOR_COMPONENTS IF_PRECINCT_HERE FOR_LAYERS brute_emit(brute, c, r,
                                                                                        l, k);
    break;
  case CJ2K_PCRL:
    FOR_POSITIONS FOR_COMPONENTS FOR_RESOLUTIONS IF_PRECINCT_HERE FOR_LAYERS brute_emit(brute, c, r,
                                                                                        l, k);
    break;
  case CJ2K_CPRL:
    FOR_COMPONENTS FOR_POSITIONS FOR_RESOLUTIONS IF_PRECINCT_HERE FOR_LAYERS brute_emit(brute, c, r,
                                                                                        l, k);
    break;
  }
}

static void check_tile_order(const Cj2kPlan *plan, uint32_t tile, Cj2kPacketIterator *iterator)
{
  const Cj2kTileCoding *coding = &plan->header->coding;
  Cj2kProgressionVolume whole = {0,
                                 CJ2K_MAX_LEVELS + 1,
                                 0,
                                 (uint16_t)plan->num_components,
                                 coding->num_layers,
                                 coding->progression};
  Brute brute = {plan, tile, g_hash_table_new(NULL, NULL),
                 g_array_new(FALSE, FALSE, sizeof(uint64_t))};
  Cj2kPacketId packet;

  for (uint32_t i = 0; i < coding->num_volumes; i++)
    brute_volume(&brute, coding->volumes[i]);
  if (coding->num_volumes == 0) {
    brute_volume(&brute, whole);
    g_assert_cmpuint(brute.packets->len, ==, cj2k_tile_num_packets(plan, tile));
  }
  cj2k_packet_iterator_start(iterator, plan, tile);
  for (guint i = 0; i < brute.packets->len; i++) {
    uint64_t key = g_array_index(brute.packets, uint64_t, i);

    g_assert_true(cj2k_packet_iterator_next(iterator, &packet));
    g_assert_cmpuint((uint64_t)packet.precinct_index << 16 | packet.layer, ==, key);
  }
  g_assert_false(cj2k_packet_iterator_next(iterator, &packet));
  g_hash_table_unref(brute.sent);
  g_array_unref(brute.packets);
}

static void check_progressions(guint32 seed, bool poc)
{
  GRand *rand = g_rand_new_with_seed(seed);
  Cj2kPacketIterator iterator = {0};

  for (int round = 0; round < 300; round++) {
    Cj2kHeader *header = random_header(rand);
    Cj2kError error = {0};
    Cj2kPlan *plan;

    if (poc)
      random_volumes(rand, &header->coding, header->num_components);
    g_assert_cmpint(cj2k_plan_new(header, 0, 0, &plan, &error), ==, CJ2K_OK);
    for (uint32_t t = 0; t < plan->num_tiles; t++)
      check_tile_order(plan, t, &iterator);
    cj2k_plan_unref(plan);
    cj2k_header_unref(header);
  }
  cj2k_packet_iterator_clear(&iterator);
  g_rand_free(rand);
}

static void test_progressions(void)
{
  check_progressions(3, false);
}

static void test_progression_changes(void)
{
  check_progressions(4, true);
}

/* Code-blocks of a band are as large as its precincts allow (T.800 B.7), which in bands of all
 * resolutions but the lowest are half as wide and high as in the resolution. */
static void check_block_sizes(const Cj2kPlan *plan, const Cj2kPlanBand *band)
{
  const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[band->tile_comp];
  const Cj2kCoding *coding =
      &cj2k_header_tile(plan->header, tile_comp->tile)->coding[tile_comp->component];
  uint32_t r = band->resolution, half = band->orientation == CJ2K_LL ? 1 : 2;

  g_assert_cmpuint(
      1u << band->log2_block_width, ==,
      MIN(1u << coding->log2_block_width, (1u << coding->log2_precinct_width[r]) / half));
  g_assert_cmpuint(
      1u << band->log2_block_height, ==,
      MIN(1u << coding->log2_block_height, (1u << coding->log2_precinct_height[r]) / half));
}

/* A resolution that is empty in one direction has no rows of precincts to walk either. */
static void check_precinct_counts(const Cj2kPlanResolution *resolution)
{
  const Cj2kRect *rect = &resolution->rect;
  bool has_samples = rect->x1 > rect->x0 && rect->y1 > rect->y0;

  g_assert_true((resolution->precincts_x > 0) == has_samples);
  g_assert_true((resolution->precincts_y > 0) == has_samples);
}

/* Every coefficient belongs to one code-block, and every sample of a tile-component to one
 * coefficient. */
static void check_plan(const Cj2kPlan *plan)
{
  uint32_t *covered = g_new0(uint32_t, plan->num_bands);
  uint64_t end = 0;

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    const Cj2kPlanBand *band = &plan->bands[block->band];

    g_assert_cmpuint(block->width, >, 0);
    g_assert_cmpuint(block->x + block->width, <=, band->rect.x1 - band->rect.x0);
    g_assert_cmpuint(block->y + block->height, <=, band->rect.y1 - band->rect.y0);
    g_assert_cmpuint((band->rect.x0 + block->x) >> band->log2_block_width, ==,
                     (band->rect.x0 + block->x + block->width - 1) >> band->log2_block_width);
    covered[block->band] += (uint32_t)block->width * block->height;
  }
  for (uint32_t i = 0; i < plan->num_bands; i++) {
    const Cj2kPlanBand *band = &plan->bands[i];
    uint32_t w = band->rect.x1 - band->rect.x0, h = band->rect.y1 - band->rect.y0;

    check_block_sizes(plan, band);
    g_assert_cmpuint(covered[i], ==, w * h);
    g_assert_cmpuint(band->offset % 32, ==, 0);
    g_assert_cmpuint(band->stride % 32, ==, 0);
    g_assert_cmpuint(band->offset, ==, end);
    end += (uint64_t)band->stride * h;
  }
  g_assert_cmpuint(end, ==, plan->num_coefficients);
  for (uint32_t i = 0; i < plan->num_resolutions; i++)
    check_precinct_counts(&plan->resolutions[i]);
  for (uint32_t t = 0; t < plan->num_tile_comps; t++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[t];
    const Cj2kPlanResolution *res = &plan->resolutions[tc->first_resolution];
    uint32_t samples = 0;

    for (uint32_t b = 0; b < 3u * tc->num_levels + 1; b++)
      samples += covered[res->first_band + b];
    g_assert_cmpuint(samples, ==, (tc->rect.x1 - tc->rect.x0) * (tc->rect.y1 - tc->rect.y0));
  }
  g_free(covered);
}

static void test_plan(void)
{
  GRand *rand = g_rand_new_with_seed(5);

  for (int round = 0; round < 300; round++) {
    Cj2kHeader *header = random_header(rand);
    Cj2kError error = {0};
    Cj2kPlan *plan;

    g_assert_cmpint(cj2k_plan_new(header, 0, 0, &plan, &error), ==, CJ2K_OK);
    check_plan(plan);
    cj2k_plan_unref(plan);
    cj2k_header_unref(header);
  }
  g_rand_free(rand);
}

/* --- the plan of the next header --- */

static void random_steps(GRand *rand, Cj2kHeader *header)
{
  for (uint32_t c = 0; c < header->num_components; c++) {
    Cj2kQuantisation *quantisation = &header->coding.quantisation[c];

    quantisation->style = (uint8_t)(1 + random_below(rand, 2));
    quantisation->guard_bits = (uint8_t)(1 + random_below(rand, 4));
    quantisation->num_steps =
        (uint8_t)(quantisation->style == 1 ? 1 : 3 * header->coding.coding[c].num_levels + 1);
    for (uint32_t b = 0; b < quantisation->num_steps; b++) {
      quantisation->exponent[b] = (uint8_t)random_below(rand, 32);
      quantisation->mantissa[b] = (uint16_t)random_below(rand, 2048);
    }
  }
}

/* Changes one parameter that the geometry follows from, so that the header stays valid. */
static void change_geometry(GRand *rand, Cj2kHeader *header)
{
  uint32_t c = random_below(rand, header->num_components);

  switch (random_below(rand, 7)) {
  case 0: header->coding.num_layers++; break;
  case 1: header->coding.coding[c].log2_block_width++; break;
  case 2: header->coding.coding[c].reversible ^= 1; break;
  case 3: header->coding.coding[c].log2_precinct_height[0]++; break;
  case 4: header->components[c].depth++; break;
  case 5: header->coding.roi_shift[c]++; break;
  default: header->coding.coding[c].block_style ^= CJ2K_STYLE_CAUSAL;
  }
}

#define ASSERT_SAME_ARRAY(a, b, field)                                                             \
  do {                                                                                             \
    g_assert_cmpuint((a)->num_##field, ==, (b)->num_##field);                                      \
    g_assert_cmpmem((a)->field, (a)->num_##field * sizeof *(a)->field, (b)->field,                 \
                    (b)->num_##field * sizeof *(b)->field);                                        \
  } while (0)

static void assert_same_plans(const Cj2kPlan *a, const Cj2kPlan *b)
{
  ASSERT_SAME_ARRAY(a, b, tiles);
  ASSERT_SAME_ARRAY(a, b, tile_comps);
  ASSERT_SAME_ARRAY(a, b, resolutions);
  ASSERT_SAME_ARRAY(a, b, bands);
  ASSERT_SAME_ARRAY(a, b, precincts);
  ASSERT_SAME_ARRAY(a, b, blocks);
  g_assert_cmpuint(a->num_coefficients, ==, b->num_coefficients);
  g_assert_cmpuint(a->num_lowpass, ==, b->num_lowpass);
  g_assert_cmpuint(a->num_nodes, ==, b->num_nodes);
  g_assert_true(a->header == b->header);
}

/* Renews the plan for a header with the geometry of the seed, or one that differs from it. Returns
 * a new plan of the same header, which equals it. */
static Cj2kPlan *renew_with(GRand *rand, guint32 seed, bool changes, Cj2kPlan **plan)
{
  GRand *same = g_rand_new_with_seed(seed);
  Cj2kHeader *header = random_header(same);
  Cj2kError error = {0};
  Cj2kPlan *fresh;

  random_steps(rand, header);
  if (changes)
    change_geometry(rand, header);
  g_assert_cmpint(cj2k_plan_renew(plan, header, 0, 0, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_plan_new(header, 0, 0, &fresh, &error), ==, CJ2K_OK);
  assert_same_plans(*plan, fresh);
  g_assert_false(cj2k_plan_same_geometry(*plan, fresh));
  g_assert_cmpint(cj2k_plan_renew(plan, header, 0, 0, &error), ==, CJ2K_OK); /* stays */
  g_assert_true((*plan)->header == header);
  cj2k_header_unref(header);
  g_rand_free(same);
  return fresh;
}

/* A renewed plan equals a new one, shares the geometry if only steps differ, and leaves the plan
 * that a frame in flight holds as it was. */
static void test_renew(void)
{
  GRand *rand = g_rand_new_with_seed(6);

  for (guint32 round = 0; round < 200; round++) {
    Cj2kPlan *plan = NULL, *first = renew_with(rand, round + 100, false, &plan);
    Cj2kPlan *held = cj2k_plan_ref(plan);

    for (uint32_t frame = 1; frame < 4; frame++) {
      bool changes = frame == 3 && round % 2;
      cj2k_plan_unref(renew_with(rand, round + 100, changes, &plan));
      g_assert_true(cj2k_plan_same_geometry(held, plan) == !changes);
    }
    assert_same_plans(held, first);
    cj2k_plan_unref(plan);
    assert_same_plans(held, first);
    cj2k_plan_unref(held);
    cj2k_plan_unref(first);
  }
  g_rand_free(rand);
}

/* A header without enough steps is refused with the message of a new plan. */
static void test_renew_errors(void)
{
  GRand *rand = g_rand_new_with_seed(7);
  Cj2kHeader *good = random_header(rand);
  GRand *same = g_rand_new_with_seed(7);
  Cj2kHeader *bad = random_header(same);
  Cj2kError error = {0}, expected = {0};
  Cj2kPlan *plan = NULL, *none = NULL;

  bad->coding.quantisation[bad->num_components - 1].num_steps = 0;
  g_assert_cmpint(cj2k_plan_renew(&plan, good, 0, 0, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_plan_renew(&plan, bad, 0, 0, &error), ==, CJ2K_ERROR_CODESTREAM);
  g_assert_cmpint(cj2k_plan_new(bad, 0, 0, &none, &expected), ==, CJ2K_ERROR_CODESTREAM);
  g_assert_cmpstr(error.text, ==, expected.text);
  g_assert_null(plan);
  g_assert_cmpint(cj2k_plan_renew(&plan, good, 0, 0, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_plan_renew(&plan, good, 32, 0, &error), ==, CJ2K_ERROR_ARGUMENT);
  g_assert_null(plan);
  cj2k_header_unref(good);
  cj2k_header_unref(bad);
  g_rand_free(rand);
  g_rand_free(same);
}

static void test_plan_limits(void)
{
  Cj2kHeader *header = cj2k_header_new(1, 0);
  Cj2kError error = {0};
  Cj2kPlan *plan;

  header->x1 = header->y1 = header->tdx = header->tdy = UINT32_MAX;
  header->num_tiles_x = header->num_tiles_y = 1;
  header->components[0] = (Cj2kComponent){0, 0, UINT32_MAX, UINT32_MAX, 1, 1, 8, false};
  header->coding.num_layers = 1;
  header->coding.coding[0].log2_block_width = header->coding.coding[0].log2_block_height = 2;
  header->coding.quantisation[0].num_steps = 1;
  g_assert_cmpint(cj2k_plan_new(header, 0, 1 << 30, &plan, &error), ==, CJ2K_ERROR_LIMIT);
  /* Precincts of one sample: a small image with a large plan. */
  header->x1 = header->y1 = header->components[0].x1 = header->components[0].y1 = 8192;
  g_assert_cmpint(cj2k_plan_new(header, 0, 1 << 30, &plan, &error), ==, CJ2K_ERROR_LIMIT);
  g_assert_cmpint(cj2k_plan_new(header, 1, 0, &plan, &error), ==, CJ2K_ERROR_ARGUMENT);
  cj2k_header_unref(header);
}

/* Published norms (for example in Taubman and Marcellin's book), with the high-pass gain that T.800
 * E-4 includes in the range. */
static void test_norms(void)
{
  static const struct {
    bool reversible;
    uint32_t level;
    Cj2kOrientation orientation;
    double norm;
  } known[] = {
      {false, 1, CJ2K_LL, 1.965},     {false, 2, CJ2K_LL, 4.122},
      {false, 1, CJ2K_HL, 2.022 / 2}, {false, 2, CJ2K_LH, 3.989 / 2},
      {false, 1, CJ2K_HH, 2.080 / 4}, {true, 1, CJ2K_LL, 1.500},
      {true, 2, CJ2K_LL, 2.750},      {true, 1, CJ2K_HL, 1.038},
      {true, 1, CJ2K_HH, 0.7186},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    g_assert_cmpfloat(
        fabs(cj2k_band_norm(known[i].reversible, known[i].level, known[i].orientation) /
                 known[i].norm -
             1),
        <, 2e-3);
  /* Components behind the third take no part in the transform of components. */
  for (int reversible = 0; reversible < 2; reversible++) {
    g_assert_cmpfloat(cj2k_mct_norm(reversible, 0), >, 1.7);
    g_assert_cmpint(cj2k_mct_norm(reversible, 2) < 1, ==, reversible);
    for (uint32_t c = 3; c < 6; c++)
      g_assert_true(cj2k_mct_norm(reversible, c) == 1);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plan/covers-every-sample-once", test_plan);
  g_test_add_func("/plan/limits", test_plan_limits);
  g_test_add_func("/plan/norms", test_norms);
  g_test_add_func("/plan/renew", test_renew);
  g_test_add_func("/plan/renew-errors", test_renew_errors);
  g_test_add_func("/progression/five-orders", test_progressions);
  g_test_add_func("/progression/changes", test_progression_changes);
  return g_test_run();
}
