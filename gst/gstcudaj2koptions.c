/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2koptions.h"

/* --------------------------------------------------------------------------------- types --- */

static guint count_words(const Cj2kOptionWord *words)
{
  guint n = 0;
  while (words[n].name)
    n++;
  return n;
}

static GType register_enum(const gchar *name, const Cj2kOptionWord *words)
{
  guint n = count_words(words);
  GEnumValue *values = g_new0(GEnumValue, n + 1);
  for (guint i = 0; i < n; i++)
    values[i] = (GEnumValue){words[i].value, words[i].blurb, words[i].name};
  /* The type keeps the values for the life of the process. */
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
  return g_enum_register_static(name, values);
}

static GType register_flags(const gchar *name, const Cj2kOptionWord *words)
{
  guint n = count_words(words);
  GFlagsValue *values = g_new0(GFlagsValue, n + 1);
  for (guint i = 0; i < n; i++)
    values[i] = (GFlagsValue){(guint)words[i].value, words[i].blurb, words[i].name};
  /* The type keeps the values for the life of the process. */
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
  return g_flags_register_static(name, values);
}

GType gst_cuda_j2k_option_type(const Cj2kOption *option)
{
  static GMutex lock;
  gchar *name = g_strconcat("GstCudaJ2k", option->type, NULL);

  g_mutex_lock(&lock);
  GType type = g_type_from_name(name);
  if (!type) {
    type = option->kind == CJ2K_OPTION_FLAGS ? register_flags(name, option->words)
                                             : register_enum(name, option->words);
    gst_type_mark_as_plugin_api(type, 0);
  }
  g_mutex_unlock(&lock);
  g_free(name);
  return type;
}

/* ---------------------------------------------------------------------------- properties --- */

/* Integers are unsigned unless their range begins below 0, and have 32 bits. */
static gboolean is_signed(const Cj2kOption *option)
{
  return option->min < 0;
}

/* What the option is, with what only elements say of it. The strings of a property live as long as
 * the process. */
static const gchar *blurb_of(const Cj2kOption *o)
{
  const gchar *more = "", *unit = "";
  if (o->flags & CJ2K_OPTION_AUTO)
    more = "; 0 = auto: 1 as long as a live stream keeps up, more if it does not, and as many as "
           "are fast for a stream that is not live";
  if (o->unit && !strstr(o->blurb, o->unit))
    unit = o->unit;
  gchar *text = g_strconcat(o->blurb, more, *unit ? " (unit: " : "", unit, *unit ? ")" : "", NULL);
  const gchar *blurb = g_intern_string(text);
  g_free(text);
  return blurb;
}

static GParamSpec *integer_spec(const Cj2kOption *o, GParamFlags flags)
{
  if (o->flags & CJ2K_OPTION_AUTO)
    return g_param_spec_uint(o->name, o->nick, blurb_of(o), 0, (guint)o->max, 0, flags);
  if (is_signed(o))
    return g_param_spec_int(o->name, o->nick, blurb_of(o), (gint)o->min, (gint)o->max,
                            (gint)o->standard, flags);
  return g_param_spec_uint(o->name, o->nick, blurb_of(o), (guint)o->min, (guint)o->max,
                           (guint)o->standard, flags);
}

static GParamSpec *make_spec(const Cj2kOption *o)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  flags |= o->flags & CJ2K_OPTION_LIVE ? GST_PARAM_MUTABLE_PLAYING : GST_PARAM_MUTABLE_READY;
  switch (o->kind) {
  case CJ2K_OPTION_BOOLEAN:
    return g_param_spec_boolean(o->name, o->nick, o->blurb, o->standard != 0, flags);
  case CJ2K_OPTION_INTEGER: return integer_spec(o, flags);
  case CJ2K_OPTION_NUMBER:
    return g_param_spec_double(o->name, o->nick, blurb_of(o), o->min, o->max, o->standard, flags);
  case CJ2K_OPTION_WORD:
    return g_param_spec_enum(o->name, o->nick, o->blurb, gst_cuda_j2k_option_type(o),
                             (gint)o->standard, flags);
  case CJ2K_OPTION_FLAGS:
    return g_param_spec_flags(o->name, o->nick, o->blurb, gst_cuda_j2k_option_type(o),
                              (guint)o->standard, flags);
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: break;
  }
  return g_param_spec_string(o->name, o->nick, o->blurb, NULL, flags);
}

guint gst_cuda_j2k_options_install(GObjectClass *klass, const Cj2kOptionTable *table, guint first)
{
  for (gsize i = 0; i < table->count; i++)
    if (!(table->options[i].flags & CJ2K_OPTION_NO_PROPERTY))
      g_object_class_install_property(klass, first + (guint)i, make_spec(&table->options[i]));
  return first + (guint)table->count;
}

const Cj2kOption *gst_cuda_j2k_option(const Cj2kOptionTable *table, guint first, guint id)
{
  return id >= first && id - first < table->count ? &table->options[id - first] : NULL;
}

/* -------------------------------------------------------------------------------- values --- */

/* Options whose property is a string: the text itself is kept, beside the parameters. */
static gboolean is_text(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_TEXT || option->kind == CJ2K_OPTION_LIST;
}

static void set_number(const Cj2kOption *option, gpointer params, const GValue *value)
{
  switch (option->kind) {
  case CJ2K_OPTION_BOOLEAN: cj2k_option_set(option, params, g_value_get_boolean(value)); break;
  case CJ2K_OPTION_INTEGER:
    cj2k_option_set(option, params,
                    is_signed(option) ? g_value_get_int(value) : (gint64)g_value_get_uint(value));
    break;
  case CJ2K_OPTION_NUMBER: cj2k_option_set_number(option, params, g_value_get_double(value)); break;
  case CJ2K_OPTION_WORD: cj2k_option_set(option, params, g_value_get_enum(value)); break;
  case CJ2K_OPTION_FLAGS: cj2k_option_set(option, params, g_value_get_flags(value)); break;
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: g_assert_not_reached();
  }
}

static void get_number(const Cj2kOption *option, gconstpointer params, GValue *value)
{
  switch (option->kind) {
  case CJ2K_OPTION_BOOLEAN: g_value_set_boolean(value, cj2k_option_get(option, params) != 0); break;
  case CJ2K_OPTION_INTEGER:
    if (is_signed(option))
      g_value_set_int(value, (gint)cj2k_option_get(option, params));
    else
      g_value_set_uint(value, (guint)cj2k_option_get(option, params));
    break;
  case CJ2K_OPTION_NUMBER: g_value_set_double(value, cj2k_option_get_number(option, params)); break;
  case CJ2K_OPTION_WORD: g_value_set_enum(value, (gint)cj2k_option_get(option, params)); break;
  case CJ2K_OPTION_FLAGS: g_value_set_flags(value, (guint)cj2k_option_get(option, params)); break;
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: g_assert_not_reached();
  }
}

void gst_cuda_j2k_settings_init(GstCudaJ2kSettings *settings, const Cj2kOptionTable *table,
                                gpointer params)
{
  settings->table = table;
  settings->params = params;
  settings->texts = g_new0(gchar *, table->count);
  for (gsize i = 0; i < table->count; i++)
    if (table->options[i].flags & CJ2K_OPTION_AUTO)
      cj2k_option_set(&table->options[i], params, 0);
}

void gst_cuda_j2k_settings_clear(GstCudaJ2kSettings *settings)
{
  for (gsize i = 0; i < settings->table->count; i++)
    g_free(settings->texts[i]);
  g_clear_pointer(&settings->texts, g_free);
}

void gst_cuda_j2k_settings_assign(GstCudaJ2kSettings *to, const GstCudaJ2kSettings *from,
                                  gsize size)
{
  memcpy(to->params, from->params, size);
  for (gsize i = 0; i < to->table->count; i++) {
    g_free(to->texts[i]);
    to->texts[i] = g_strdup(from->texts[i]);
  }
}

static gchar **text_of(const GstCudaJ2kSettings *settings, const Cj2kOption *option)
{
  return &settings->texts[option - settings->table->options];
}

void gst_cuda_j2k_settings_set(GstCudaJ2kSettings *settings, const Cj2kOption *option,
                               const GValue *value)
{
  if (!is_text(option)) {
    set_number(option, settings->params, value);
    return;
  }
  gchar **text = text_of(settings, option);
  g_free(*text);
  *text = g_value_dup_string(value);
}

void gst_cuda_j2k_settings_get(const GstCudaJ2kSettings *settings, const Cj2kOption *option,
                               GValue *value)
{
  if (is_text(option))
    g_value_set_string(value, *text_of(settings, option));
  else
    get_number(option, settings->params, value);
}

gboolean gst_cuda_j2k_settings_parse_texts(const GstCudaJ2kSettings *settings, gpointer params,
                                           gchar **reason)
{
  Cj2kError error;
  for (gsize i = 0; i < settings->table->count; i++) {
    const gchar *text = settings->texts[i];
    if (!text || !*text ||
        cj2k_option_parse(&settings->table->options[i], text, params, &error) == CJ2K_OK)
      continue;
    *reason = g_strdup(error.text);
    return FALSE;
  }
  return TRUE;
}
