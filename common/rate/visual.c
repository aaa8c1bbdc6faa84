/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "visual.h"

#include <glib.h>
#include <math.h>

/* Cycles per degree at which the contrast sensitivity to luma has fallen to 1/e: 0.525 ln L + 3.91
 * with L = 100 cd/m^2 (Nasanen 1984). */
#define LUMA_DECAY 6.3277
/* The same for colour differences: 1/0.419 (Kolpatzik and Bouman 1992). */
#define CHROMA_DECAY 2.3866
/* The least weight: a band in which no error is visible is not worth nothing. */
#define LEAST_WEIGHT 0.02
/* Weights are multiples of this, so that the last digits of libm do not matter. */
#define UNIT (1.0 / 65536)

/* --- what a component's errors look like --- */

/* Errors in luma and in the two colour differences that an error of 1 in a component makes. */
typedef struct {
  double luma, chroma[2];
} Look;

typedef double Matrix[3][3];

/* Rows: luma and the colour differences; columns: components. */
static const Matrix looks[] = {
    [CJ2K_SEEN_AS_LUMA] = {{1, 1, 1}},
    [CJ2K_SEEN_AS_RGB] = {{0.299, 0.587, 0.114},
                          {-0.168736, -0.331264, 0.5},
                          {0.5, -0.418688, -0.081312}},
    [CJ2K_SEEN_AS_YCC] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    /* To R'G'B' of BT.709 and from there to Y'CbCr, for small errors beside grey, for which the
     * matrices of linear light hold. */
    [CJ2K_SEEN_AS_XYZ] = {{0, 1, 0}, {0.0285, -0.6488, 0.6203}, {1.9560, -1.6110, -0.3450}},
};

/* The inverse component transforms (annex G), without rounding. */
static const Matrix inverse_ict = {{1, 0, 1.402}, {1, -0.344136, -0.714136}, {1, 1.772, 0}};
static const Matrix inverse_rct = {{1, -0.25, 0.75}, {1, -0.25, -0.25}, {1, 0.75, -0.25}};

static Look look_of(const Cj2kPlanTileComp *tc, Cj2kSeenAs seen_as)
{
  const double(*rows)[3] = looks[seen_as];
  uint32_t c = tc->component;
  double out[3] = {1, 0, 0}, norm = 1;

  if (c >= 3)
    return (Look){1, {0, 0}};
  for (int i = 0; i < 3; i++)
    out[i] = rows[i][c];
  if (tc->mct) {
    const double(*inverse)[3] = tc->reversible ? inverse_rct : inverse_ict;
    norm = sqrt(inverse[0][c] * inverse[0][c] + inverse[1][c] * inverse[1][c] +
                inverse[2][c] * inverse[2][c]);
    for (int i = 0; i < 3; i++)
      out[i] = rows[i][0] * inverse[0][c] + rows[i][1] * inverse[1][c] + rows[i][2] * inverse[2][c];
  }
  /* Of three components that make luma together, each counts in the squared error. */
  if (seen_as == CJ2K_SEEN_AS_RGB || seen_as == CJ2K_SEEN_AS_XYZ)
    norm /= sqrt(3);
  return (Look){out[0] / norm, {out[1] / norm, out[2] / norm}};
}

/* --- the frequencies of a band --- */

/* Amplitude at frequency `w` (radians per sample) of one level of synthesis of an impulse in the
 * low-pass and in the high-pass band (annex F.3). Even and odd samples, each with zeros between
 * them, have real spectra, and a lifting step adds 2 c cos(w) times one to the other. */
static void synthesise(bool reversible, double w, double *low, double *high)
{
  static const double steps97[] = {-0.443506852043971, -0.882911075530934, 0.052980118572961,
                                   1.586134342059924};
  static const double steps53[] = {-0.25, 0.5};
  const double k = reversible ? 1 : 1.230174104914001, *steps = reversible ? steps53 : steps97;
  double even[2] = {k, 0}, odd[2] = {0, 1 / k}, both = 2 * cos(w);

  for (int i = 0; i < (reversible ? 2 : 4); i += 2)
    for (int band = 0; band < 2; band++) {
      even[band] += steps[i] * both * odd[band];
      odd[band] += steps[i + 1] * both * even[band];
    }
  *low = even[0] + odd[0];
  *high = even[1] + odd[1];
}

/* Power at frequency `w` of the image's samples of a basis vector of the given level. */
static double power_at(bool reversible, bool is_high, uint32_t level, double w)
{
  double power = 1;

  for (uint32_t i = 0; i < level; i++) {
    double low, high;
    synthesise(reversible, ldexp(w, (int)i), &low, &high);
    double amplitude = is_high && i + 1 == level ? high : low;
    power *= amplitude * amplitude;
  }
  return power;
}

#define GRID 24 /* frequencies per direction at which the sensitivity is evaluated */

/* The part of the power of an error in a band that is seen, as luma and as a colour difference:
 * means of the squared sensitivity over the spectrum of the band's basis vectors. */
typedef struct {
  double luma, chroma;
} Seen;

static double seen_part(double cycles_per_degree, double decay)
{
  return exp(-2 * cycles_per_degree / decay);
}

static Seen seen_of(const Cj2kPlan *plan, const Cj2kPlanBand *band, double pixels_per_degree)
{
  const Cj2kPlanTileComp *tc = &plan->tile_comps[band->tile_comp];
  const Cj2kComponent *component = &plan->header->components[tc->component];
  uint32_t level = band->resolution ? tc->num_levels - band->resolution + 1u : tc->num_levels;
  bool high_x = band->orientation == CJ2K_HL || band->orientation == CJ2K_HH;
  bool high_y = band->orientation == CJ2K_LH || band->orientation == CJ2K_HH;
  /* Beyond twice the band's own frequencies there is next to nothing. */
  double end = MIN(ldexp(2, -(int)level), 0.5), power_x[GRID], power_y[GRID], sum = 0;
  Seen seen = {0};

  for (int i = 0; i < GRID; i++) {
    double w = 2 * G_PI * end * (i + 0.5) / GRID;
    power_x[i] = power_at(band->reversible, high_x, level, w);
    power_y[i] = power_at(band->reversible, high_y, level, w);
  }
  for (int y = 0; y < GRID; y++)
    for (int x = 0; x < GRID; x++) {
      double unit = end / GRID * pixels_per_degree, power = power_x[x] * power_y[y];
      double f = hypot((x + 0.5) * unit / component->dx, (y + 0.5) * unit / component->dy);
      sum += power;
      seen.luma += power * seen_part(f, LUMA_DECAY);
      seen.chroma += power * seen_part(f, CHROMA_DECAY);
    }
  return (Seen){seen.luma / sum, seen.chroma / sum};
}

/* --- weights --- */

static double weight_of(const Cj2kPlan *plan, const Cj2kPlanBand *band, Cj2kSeenAs seen_as,
                        double pixels_per_degree)
{
  const Look look = look_of(&plan->tile_comps[band->tile_comp], seen_as);
  const Seen seen = seen_of(plan, band, pixels_per_degree);
  double chroma = look.chroma[0] * look.chroma[0] + look.chroma[1] * look.chroma[1];
  double weight = sqrt(look.luma * look.luma * seen.luma + chroma * seen.chroma);

  return MAX(rint(weight / UNIT) * UNIT, LEAST_WEIGHT);
}

void cj2k_visual_weights(const Cj2kPlan *plan, Cj2kSeenAs seen_as, double pixels_per_degree,
                         double *weights)
{
  /* All tiles have the same bands. */
  uint32_t first_tile = MAX(plan->num_bands / MAX(plan->num_tiles, 1u), 1u);

  for (uint32_t b = 0; b < plan->num_bands; b++)
    weights[b] = b < first_tile ? weight_of(plan, &plan->bands[b], seen_as, pixels_per_degree)
                                : weights[b % first_tile];
}
