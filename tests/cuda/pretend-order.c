/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pretend-order.h"

#include "pretend-lock.h"

#include <glib.h>
#include <stdint.h>

#define MOST_STREAMS 1024 /* at a time */

/* How many downloads and moments of each stream, by its place, are known to be done. */
typedef struct {
  uint32_t count;
  uint64_t *done;
} Known;

struct PretendObject {
  bool is_stream, captured;
  uint32_t place; /* of a stream */
  Known known;
};

/* A download whose end the host does not know. */
typedef struct {
  uintptr_t begin;
  size_t pitch, width, height;
  uint32_t place;
  uint64_t number; /* of the stream's */
} Download;

static GMutex lock; /* of all that follows, and of objects */
static Known host;
static GArray *downloads; /* Download; NULL: none */
static bool is_used[MOST_STREAMS];
static uint64_t counts[MOST_STREAMS]; /* downloads by place, of all streams that had it */

/* ---------------------------------------------------------------------------- what is known --- */

static uint64_t known_of(const Known *known, uint32_t place)
{
  return place < known->count ? known->done[place] : 0;
}

static void learn(Known *known, uint32_t place, uint64_t number)
{
  for (; known->count <= place; known->count++) {
    known->done = g_renew(uint64_t, known->done, known->count + 1);
    known->done[known->count] = 0;
  }
  known->done[place] = MAX(known->done[place], number);
}

static void learn_all(Known *known, const Known *from)
{
  for (uint32_t i = from->count; i-- > 0;)
    if (from->done[i])
      learn(known, i, from->done[i]);
}

static bool is_known(const Known *known, const Download *download)
{
  return known_of(known, download->place) >= download->number;
}

/* Is number `number` of the stream in `place` done before what `stream` does next? */
static bool comes_after(const PretendObject *stream, uint32_t place, uint64_t number)
{
  return known_of(&host, place) >= number ||
         (stream && (stream->place == place || known_of(&stream->known, place) >= number));
}

/* Forgets downloads that the host knows to be done. */
static void forget_done(void)
{
  for (guint i = downloads ? downloads->len : 0; i-- > 0;)
    if (is_known(&host, &g_array_index(downloads, Download, i)))
      g_array_remove_index_fast(downloads, i);
  if (downloads && !downloads->len)
    g_clear_pointer(&downloads, g_array_unref);
}

/* ---------------------------------------------------------------------------------- objects --- */

static uint32_t find_place(void)
{
  for (uint32_t i = 0; i < MOST_STREAMS; i++)
    if (!is_used[i])
      return i;
  g_error("more than %d streams", MOST_STREAMS);
}

PretendObject *pretend_object_new(bool is_stream)
{
  pretend_lock(&lock);
  PretendObject *object = g_new0(PretendObject, 1);
  object->is_stream = is_stream;
  if (is_stream) {
    object->place = find_place();
    is_used[object->place] = true;
  }
  pretend_unlock(&lock);
  return object;
}

void pretend_object_free(PretendObject *object)
{
  if (!object)
    return;
  pretend_lock(&lock);
  if (object->is_stream)
    is_used[object->place] = false;
  g_free(object->known.done);
  g_free(object);
  pretend_unlock(&lock);
}

void pretend_object_check(const PretendObject *object)
{
  g_assert_cmpuint(object->place, <, MOST_STREAMS);
}

/* ------------------------------------------------------------------------------------ order --- */

void pretend_record(PretendObject *event, const PretendObject *stream, bool captured)
{
  pretend_lock(&lock);
  event->captured = captured;
  g_clear_pointer(&event->known.done, g_free);
  event->known.count = 0;
  learn_all(&event->known, &host);
  if (stream) {
    learn_all(&event->known, &stream->known);
    learn(&event->known, stream->place, counts[stream->place]);
  }
  pretend_unlock(&lock);
}

void pretend_wait(PretendObject *stream, const PretendObject *event)
{
  pretend_lock(&lock);
  learn_all(&stream->known, &event->known);
  pretend_unlock(&lock);
}

void pretend_host_waited(const PretendObject *object)
{
  pretend_lock(&lock);
  g_assert_false(object->captured);
  learn_all(&host, &object->known);
  if (object->is_stream)
    learn(&host, object->place, counts[object->place]);
  forget_done();
  pretend_unlock(&lock);
}

/* ----------------------------------------------------------------------------------- memory --- */

static bool overlaps(const Download *download, uintptr_t begin, size_t size)
{
  size_t all = download->pitch * (download->height - 1) + download->width;

  if (begin + size <= download->begin || begin >= download->begin + all)
    return false;
  if (begin <= download->begin)
    return true;
  size_t at = (begin - download->begin) % download->pitch;
  return at < download->width || size > download->pitch - at;
}

void pretend_reads(PretendObject *stream, const void *memory, size_t pitch, size_t width,
                   size_t height)
{
  if (!width || !height)
    return;
  pretend_lock(&lock);
  const Download download = {(uintptr_t)memory,      pitch, width, height, stream->place,
                             ++counts[stream->place]};
  if (!downloads)
    downloads = g_array_new(FALSE, FALSE, sizeof download);
  g_array_append_val(downloads, download);
  pretend_unlock(&lock);
}

void pretend_writes(const PretendObject *stream, const void *memory, size_t size)
{
  pretend_lock(&lock);
  for (guint i = 0; downloads && i < downloads->len; i++) {
    const Download *download = &g_array_index(downloads, Download, i);
    if (!overlaps(download, (uintptr_t)memory, size))
      continue;
    g_assert_true(comes_after(stream, download->place, download->number));
  }
  pretend_unlock(&lock);
}

PretendMoment pretend_moment(PretendObject *stream)
{
  pretend_lock(&lock);
  const PretendMoment moment = {stream->place, ++counts[stream->place]};
  pretend_unlock(&lock);
  return moment;
}

bool pretend_is_after(const PretendObject *stream, const PretendMoment *moment)
{
  pretend_lock(&lock);
  bool after = comes_after(stream, moment->place, moment->number);
  pretend_unlock(&lock);
  return after;
}

void pretend_freed(const void *memory, size_t size)
{
  pretend_lock(&lock);
  for (guint i = downloads ? downloads->len : 0; i-- > 0;)
    if (overlaps(&g_array_index(downloads, Download, i), (uintptr_t)memory, size))
      g_array_remove_index_fast(downloads, i);
  if (downloads && !downloads->len)
    g_clear_pointer(&downloads, g_array_unref);
  pretend_unlock(&lock);
}
