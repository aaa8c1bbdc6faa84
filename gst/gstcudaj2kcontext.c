/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kcontext.h"

#ifdef CJ2K_HAVE_GST_CUDA

#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

static gboolean have_driver(void)
{
  static gsize state = 0;
  if (g_once_init_enter(&state)) {
    gboolean loaded = gst_cuda_load_library();
    if (loaded)
      gst_cuda_memory_init_once();
    g_once_init_leave(&state, loaded ? 2 : 1);
  }
  return state == 2;
}

/* ------------------------------------------------------------- what others have to offer --- */

/* Asks the element behind this pad; an answer goes to the element's set_context function. */
static gboolean ask_peer(GstElement *element, GstPad *pad, gpointer user_data)
{
  GstQuery *query = user_data;
  GstContext *answer = NULL;
  if (!gst_pad_peer_query(pad, query))
    return TRUE;
  gst_query_parse_context(query, &answer);
  if (answer)
    gst_element_set_context(element, answer);
  return FALSE;
}

/* Downstream first, as GStreamer's own elements do; the application last. */
static void ask_others(GstElement *element, GstCudaJ2kContext *context)
{
  GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  if (gst_element_foreach_src_pad(element, ask_peer, query))
    gst_element_foreach_sink_pad(element, ask_peer, query);
  gst_query_unref(query);
  if (!*context)
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT(element), GST_CUDA_CONTEXT_TYPE));
}

/* ------------------------------------------------------------------------ the shared one --- */

/* After a kernel has failed, everything in its context fails. */
static gboolean is_alive(GstCudaContext *context)
{
  CUdeviceptr probe;
  if (!gst_cuda_context_push(context))
    return FALSE;
  gboolean alive = CuMemAlloc(&probe, 16) == CUDA_SUCCESS;
  if (alive)
    CuMemFree(probe);
  gst_cuda_context_pop(NULL);
  return alive;
}

/* The context of this process on a device, made when it is first asked for and again when it is no
 * longer usable (transfer full); NULL on failure. */
static GstCudaContext *shared_context(guint device)
{
  static GMutex lock;
  static GHashTable *contexts; /* device number -> GstCudaContext */
  g_mutex_lock(&lock);
  if (!contexts)
    contexts = g_hash_table_new_full(NULL, NULL, NULL, gst_object_unref);
  GstCudaContext *context = g_hash_table_lookup(contexts, GUINT_TO_POINTER(device));
  if (!context || !is_alive(context)) {
    context = gst_cuda_context_new(device);
    if (context) {
      GST_OBJECT_FLAG_SET(context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
      g_hash_table_replace(contexts, GUINT_TO_POINTER(device), context);
    }
  }
  if (context)
    gst_object_ref(context);
  g_mutex_unlock(&lock);
  return context;
}

/* Gives the element the shared context through its set_context function, and tells the application
 * and the bins, so that elements that are started later use the same. */
static void take_shared(GstElement *element, guint device)
{
  GstCudaContext *shared = shared_context(device);
  if (!shared)
    return;
  GstContext *holder = gst_context_new_cuda_context(shared);
  gst_element_set_context(element, holder);
  gst_element_post_message(element, gst_message_new_have_context(GST_OBJECT(element), holder));
  gst_object_unref(shared);
}

void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context)
{
  if (!have_driver() || *context)
    return;
  ask_others(element, context);
  if (!*context)
    take_shared(element, (guint)MAX(device, 0));
}

/* ------------------------------------------------------------------- queries and handles --- */

void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context)
{
  if (have_driver())
    gst_cuda_handle_set_context(element, given, device, (GstCudaContext **)context);
}

gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query, GstCudaJ2kContext context)
{
  return context && GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
         gst_cuda_handle_context_query(element, query, context);
}

gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device)
{
  guint number = 0;
  if (!context)
    return NULL;
  g_object_get(context, "cuda-device-id", &number, NULL);
  *device = (gint)number;
  return gst_cuda_context_get_handle(context);
}

#else

void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context)
{
  (void)element, (void)device, (void)context;
}

void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context)
{
  (void)element, (void)given, (void)device, (void)context;
}

gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query, GstCudaJ2kContext context)
{
  (void)element, (void)query, (void)context;
  return FALSE;
}

gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device)
{
  (void)context, (void)device;
  return NULL;
}

#endif
