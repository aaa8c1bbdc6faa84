/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * describe-elements PLUGIN.so ELEMENT...: prints descriptions of the elements for
 * scripts/elements.py, one record per line, fields separated by tabs. It omits what depends on the
 * version of GStreamer or on the machine: base classes, raw video formats, memory features, rank.
 */
#include <gst/gst.h>
#include <stdbool.h>
#include <stdlib.h>

/* Media types of a pad template, each once. */
static void print_pad(const GstStaticPadTemplate *pad)
{
  GstCaps *caps = gst_static_pad_template_get_caps((GstStaticPadTemplate *)pad);
  GPtrArray *names = g_ptr_array_new();
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const char *name = gst_structure_get_name(gst_caps_get_structure(caps, i));
    if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
      g_ptr_array_add(names, (gpointer)name);
  }
  g_print("pad\t%s\t%s", pad->name_template, pad->direction == GST_PAD_SINK ? "sink" : "source");
  for (guint i = 0; i < names->len; i++)
    g_print("\t%s", (const char *)names->pdata[i]);
  g_print("\n");
  g_ptr_array_unref(names);
  gst_caps_unref(caps);
}

/* Smallest and largest value as the type prints them; NULL: the type has no range. */
static char *range_of(GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_INT(spec))
    return g_strdup_printf("%d to %d", G_PARAM_SPEC_INT(spec)->minimum,
                           G_PARAM_SPEC_INT(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT(spec))
    return g_strdup_printf("%u to %u", G_PARAM_SPEC_UINT(spec)->minimum,
                           G_PARAM_SPEC_UINT(spec)->maximum);
  if (G_IS_PARAM_SPEC_INT64(spec))
    return g_strdup_printf("%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                           G_PARAM_SPEC_INT64(spec)->minimum, G_PARAM_SPEC_INT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT64(spec))
    return g_strdup_printf("%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                           G_PARAM_SPEC_UINT64(spec)->minimum, G_PARAM_SPEC_UINT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_DOUBLE(spec))
    return g_strdup_printf("%.10g to %.10g", G_PARAM_SPEC_DOUBLE(spec)->minimum,
                           G_PARAM_SPEC_DOUBLE(spec)->maximum);
  if (G_IS_PARAM_SPEC_FLOAT(spec))
    return g_strdup_printf("%.7g to %.7g", G_PARAM_SPEC_FLOAT(spec)->minimum,
                           G_PARAM_SPEC_FLOAT(spec)->maximum);
  return NULL;
}

static char *default_of(GParamSpec *spec)
{
  const GValue *value = g_param_spec_get_default_value(spec);
  if (G_VALUE_HOLDS_STRING(value))
    return g_strdup(g_value_get_string(value));
  if (G_VALUE_HOLDS_DOUBLE(value))
    return g_strdup_printf("%.10g", g_value_get_double(value));
  if (G_VALUE_HOLDS_ENUM(value)) {
    const GEnumValue *found =
        g_enum_get_value(G_PARAM_SPEC_ENUM(spec)->enum_class, g_value_get_enum(value));
    return g_strdup(found ? found->value_nick : NULL);
  }
  return G_VALUE_HOLDS_BOXED(value) ? NULL : gst_value_serialize(value);
}

/* The values of an enumeration or of flags. */
static void print_values(GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass *values = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < values->n_values; i++)
      g_print("value\t%s\t%s\n", values->values[i].value_nick, values->values[i].value_name);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    const GFlagsClass *values = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    for (guint i = 0; i < values->n_values; i++)
      g_print("value\t%s\t%s\n", values->values[i].value_nick, values->values[i].value_name);
  }
}

static const char *type_of(GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_ENUM(spec))
    return "enumeration";
  if (G_IS_PARAM_SPEC_FLAGS(spec))
    return "flags";
  const char *name = g_type_name(spec->value_type);
  return g_str_has_prefix(name, "g") ? name + 1 : name; /* gint, gboolean */
}

static void print_property(GParamSpec *spec)
{
  char *range = range_of(spec), *standard = default_of(spec);
  const char *when = !(spec->flags & G_PARAM_WRITABLE)         ? "read only"
                     : spec->flags & GST_PARAM_MUTABLE_PLAYING ? "at any time"
                                                               : "while stopped";
  g_print("property\t%s\t%s\t%s\t%s\t%s\t%s\n", spec->name, type_of(spec), range ? range : "",
          standard ? standard : "", when, g_param_spec_get_blurb(spec));
  print_values(spec);
  g_free(range);
  g_free(standard);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
  return g_strcmp0((*(GParamSpec *const *)a)->name, (*(GParamSpec *const *)b)->name);
}

/* The names of the fields of a structure that a property holds. */
static void print_fields(GObject *object, GParamSpec *spec)
{
  GstStructure *structure = NULL;
  if (spec->value_type != GST_TYPE_STRUCTURE)
    return;
  g_object_get(object, spec->name, &structure, NULL);
  for (gint i = 0; structure && i < gst_structure_n_fields(structure); i++)
    g_print("field\t%s\n", gst_structure_nth_field_name(structure, (guint)i));
  if (structure)
    gst_structure_free(structure);
}

static void print_class(GObject *object)
{
  GType type = G_OBJECT_TYPE(object);
  guint n = 0;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(object), &n);
  qsort(specs, n, sizeof *specs, by_name);
  for (guint i = 0; i < n; i++)
    if (specs[i]->owner_type == type) {
      print_property(specs[i]);
      print_fields(object, specs[i]);
    }
  g_free(specs);
  guint *signals = g_signal_list_ids(type, &n);
  for (guint i = 0; i < n; i++)
    g_print("signal\t%s\n", g_signal_name(signals[i]));
  g_free(signals);
}

static bool describe(const char *name)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  GstElement *element = factory ? gst_element_factory_create(factory, NULL) : NULL;
  if (element) {
    g_print("element\t%s\t%s\t%s\t%s\n", name,
            gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_LONGNAME),
            gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS),
            gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_DESCRIPTION));
    for (const GList *l = gst_element_factory_get_static_pad_templates(factory); l; l = l->next)
      print_pad(l->data);
    print_class(G_OBJECT(element));
    gst_object_unref(element);
  }
  gst_clear_object(&factory);
  return element != NULL;
}

int main(int argc, char **argv)
{
  GError *error = NULL;
  gst_init(NULL, NULL);
  GstPlugin *plugin = argc > 1 ? gst_plugin_load_file(argv[1], &error) : NULL;
  if (!plugin) {
    g_printerr("describe-elements: %s\n", error ? error->message : "which plugin?");
    g_clear_error(&error);
    return 1;
  }
  gst_object_unref(plugin);
  for (int i = 2; i < argc; i++)
    if (!describe(argv[i])) {
      g_printerr("describe-elements: the plugin has no element %s\n", argv[i]);
      return 1;
    }
  return 0;
}
