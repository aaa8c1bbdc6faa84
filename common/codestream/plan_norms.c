/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_internal.h"

#include <glib.h>
#include <math.h>

/* Norms are computed by synthesis of a unit impulse up to this level. Beyond it each level adds a
 * factor of sqrt(2), which is exact enough for any use. */
#define COMPUTED_LEVELS 10
/* Long enough that the impulse response of the last level does not reach the ends. */
#define SIGNAL_LENGTH (16u << COMPUTED_LEVELS)

static double norms[2][2]
                   [CJ2K_MAX_LEVELS + 1]; /* [reversible][is high-pass][level], one dimension */

/* x[i] += c * (x[i - 1] + x[i + 1]) for every i of the parity; the signal is zero around its ends.
 */
static void lift(double *x, uint32_t n, uint32_t parity, double c)
{
  for (uint32_t i = parity ? 1 : 2; i + 1 < n; i += 2)
    x[i] += c * (x[i - 1] + x[i + 1]);
}

/* One level of synthesis (1D_SR, F.3.6) in place. */
static void synthesise(double *x, uint32_t n, bool reversible)
{
  const double k = 1.230174104914001;

  if (reversible) {
    lift(x, n, 0, -0.25);
    lift(x, n, 1, 0.5);
    return;
  }
  for (uint32_t i = 0; i < n; i++)
    x[i] *= i & 1 ? 1 / k : k;
  lift(x, n, 0, -0.443506852043971);
  lift(x, n, 1, -0.882911075530934);
  lift(x, n, 0, 0.052980118572961);
  lift(x, n, 1, 1.586134342059924);
}

static void fill_norms(bool reversible, bool high)
{
  double *x = g_new(double, SIGNAL_LENGTH), *next = g_new(double, SIGNAL_LENGTH), *swap;

  norms[reversible][high][0] = 1;
  for (uint32_t top = 1; top <= COMPUTED_LEVELS; top++) {
    uint32_t n = SIGNAL_LENGTH >> top;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
      x[i] = i == n / 2;
    for (uint32_t level = top; level >= 1; level--) {
      bool into_high = high && level == top;
      for (uint32_t i = 0; i < n; i++) {
        next[2 * i] = into_high ? 0 : x[i];
        next[2 * i + 1] = into_high ? x[i] : 0;
      }
      n *= 2;
      synthesise(next, n, reversible);
      swap = x, x = next, next = swap;
    }
    for (uint32_t i = 0; i < n; i++)
      sum += x[i] * x[i];
    norms[reversible][high][top] = sqrt(sum);
  }
  for (uint32_t level = COMPUTED_LEVELS + 1; level <= CJ2K_MAX_LEVELS; level++)
    norms[reversible][high][level] = norms[reversible][high][level - 1] * G_SQRT2;
  g_free(x);
  g_free(next);
}

double cj2k_band_norm(bool reversible, uint32_t level, Cj2kOrientation orientation)
{
  static gsize filled;
  bool high_x = orientation == CJ2K_HL || orientation == CJ2K_HH;
  bool high_y = orientation == CJ2K_LH || orientation == CJ2K_HH;

  if (g_once_init_enter(&filled)) {
    for (int i = 0; i < 4; i++)
      fill_norms(i & 1, i >> 1);
    g_once_init_leave(&filled, 1);
  }
  return norms[reversible][high_x][level] * norms[reversible][high_y][level];
}

double cj2k_mct_norm(bool reversible, uint32_t component)
{
  static const double rct[3] = {1.7320508075688772, 0.8291561975888500, 0.8291561975888500};
  /* sqrt(3), |(0, -0.344136, 1.772)|, |(1.402, -0.714136, 0)| */
  static const double ict[3] = {1.7320508075688772, 1.8051072108985340, 1.5734183040610070};

  return component >= 3 ? 1 : reversible ? rct[component] : ict[component];
}
