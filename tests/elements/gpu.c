/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu.h"

gboolean have_gpu(gint number)
{
  GstElement *element = gst_element_factory_make("cudaj2kdec", NULL);
  gst_util_set_object_arg(G_OBJECT(element), "backend", "cuda");
  g_object_set(element, "cuda-device-id", number, NULL);
  gboolean have = gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  return have;
}

gboolean lacks_gpu(void)
{
  gboolean have = have_gpu(-1);
  if (!have)
    g_test_skip("no GPU");
  return !have;
}

GstContext *ask_context(Rig *rig, const gchar *factory, const gchar *pad_name)
{
  GstElement *element = rig_element(rig, factory);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  GstQuery *query = gst_query_new_context("gst.cuda.context");
  GstContext *context = NULL;
  g_assert_true(gst_pad_query(pad, query));
  gst_query_parse_context(query, &context);
  gst_context_ref(context);
  gst_query_unref(query);
  gst_object_unref(pad);
  gst_object_unref(element);
  return context;
}

gpointer cuda_of(const GstContext *context)
{
  const GValue *value =
      gst_structure_get_value(gst_context_get_structure(context), "gst.cuda.context");
  return g_value_get_object(value);
}

gpointer context_of(Rig *rig, const gchar *factory, const gchar *pad_name)
{
  GstContext *context = ask_context(rig, factory, pad_name);
  gpointer found = cuda_of(context);
  gst_context_unref(context); /* the element keeps it */
  return found;
}
