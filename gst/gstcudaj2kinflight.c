/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kinflight.h"

#include <string.h>

#define PENDING (2 * CJ2K_MAX_IN_FLIGHT)

void gst_cuda_j2k_in_flight_init(GstCudaJ2kInFlight *self)
{
  memset(self, 0, sizeof *self);
  g_mutex_init(&self->lock);
  self->number = self->wanted = 1;
  self->most = CJ2K_MAX_IN_FLIGHT;
}

void gst_cuda_j2k_in_flight_clear(GstCudaJ2kInFlight *self)
{
  g_mutex_clear(&self->lock);
}

/* Called with the lock held. */
static void forget(GstCudaJ2kInFlight *self)
{
  self->slow = 0;
  self->results = 0;
}

void gst_cuda_j2k_in_flight_start(GstCudaJ2kInFlight *self, guint number)
{
  g_mutex_lock(&self->lock);
  self->number = self->wanted = number;
  self->most = CJ2K_MAX_IN_FLIGHT;
  self->first = self->count = 0;
  forget(self);
  g_mutex_unlock(&self->lock);
}

void gst_cuda_j2k_in_flight_begin(GstCudaJ2kInFlight *self, guint number, gboolean adapts)
{
  g_mutex_lock(&self->lock);
  self->adapts = adapts;
  self->wanted = MIN(number, self->most);
  forget(self);
  g_mutex_unlock(&self->lock);
}

void gst_cuda_j2k_in_flight_limit(GstCudaJ2kInFlight *self, guint most)
{
  g_mutex_lock(&self->lock);
  self->most = MAX(most, 1);
  self->wanted = MIN(self->wanted, self->most);
  g_mutex_unlock(&self->lock);
}

guint gst_cuda_j2k_in_flight_get(GstCudaJ2kInFlight *self)
{
  g_mutex_lock(&self->lock);
  guint number = self->number;
  g_mutex_unlock(&self->lock);
  return number;
}

guint gst_cuda_j2k_in_flight_wanted(GstCudaJ2kInFlight *self)
{
  g_mutex_lock(&self->lock);
  guint wanted = self->wanted;
  g_mutex_unlock(&self->lock);
  return wanted;
}

void gst_cuda_j2k_in_flight_change(GstCudaJ2kInFlight *self, guint number)
{
  g_mutex_lock(&self->lock);
  self->number = number;
  forget(self);
  g_mutex_unlock(&self->lock);
}

void gst_cuda_j2k_in_flight_submitted(GstCudaJ2kInFlight *self, gint64 now, gint64 duration)
{
  g_mutex_lock(&self->lock);
  if (self->count < PENDING) { /* always: the codec has fewer places */
    guint place = (self->first + self->count++) % PENDING;
    self->submitted[place] = now;
    self->duration[place] = duration;
  }
  g_mutex_unlock(&self->lock);
}

/* Whether a frame took longer than it may. Called with the lock held. */
static gboolean is_slow(const GstCudaJ2kInFlight *self, gint64 submitted, gint64 duration,
                        gint64 now)
{
  gint64 begun = submitted;

  if (self->results >= self->number) {
    gint64 free_since = self->done[(self->results - self->number) % CJ2K_MAX_IN_FLIGHT];
    begun = MAX(begun, free_since);
  }
  return duration > 0 && now - begun > self->number * duration;
}

static guint count_bits(guint32 bits)
{
  guint n = 0;
  for (; bits; bits &= bits - 1)
    n++;
  return n;
}

void gst_cuda_j2k_in_flight_received(GstCudaJ2kInFlight *self, gint64 now)
{
  G_STATIC_ASSERT(GST_CUDA_J2K_LIVE_WINDOW == 8 * sizeof self->slow);
  g_mutex_lock(&self->lock);
  if (self->count) {
    guint place = self->first;
    self->first = (self->first + 1) % PENDING;
    self->count--;
    self->slow = self->slow << 1 |
                 (guint32)is_slow(self, self->submitted[place], self->duration[place], now);
    self->done[self->results++ % CJ2K_MAX_IN_FLIGHT] = now;
  }
  guint most = MIN(self->most, GST_CUDA_J2K_MOST_LIVE);
  if (self->adapts && self->wanted == self->number && self->number < most &&
      count_bits(self->slow) >= GST_CUDA_J2K_LIVE_SLOW)
    self->wanted = MIN(2 * self->number, most);
  g_mutex_unlock(&self->lock);
}
