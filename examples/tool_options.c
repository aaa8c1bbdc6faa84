/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_options.h"

#include <string.h>

/* Other names of options: older ones, which help does not list, and what turns a switch off. */
static const struct {
  const char *name, *option;
  const char *value; /* NULL: the option takes a value */
  const char *help;  /* NULL: hidden */
} aliases[] = {
    {"threads", "num-threads", NULL, NULL},
    {"in-flight", "frames-in-flight", NULL, NULL},
    {"profile-lenient", "profile-strict", "false", NULL},
    {"no-plt", "plt", "false",
     "Write no PLT marker segments, which many code-blocks with block-coder=ht or codeblock-style=bypass have by default"},
};

void tool_options_init(ToolOptions *options, const Cj2kOptionTable *table, void *params)
{
  g_assert(table->count <= TOOL_MAX_OPTIONS);
  *options = (ToolOptions){
      .table = table, .params = params, .texts = g_ptr_array_new_with_free_func(g_free)};
}

void tool_options_clear(ToolOptions *options)
{
  g_ptr_array_unref(options->texts);
}

const char *tool_options_given(const ToolOptions *options, const char *name)
{
  const Cj2kOption *option = cj2k_option_find(options->table, name);
  return option ? options->given[option - options->table->options] : NULL;
}

/* --------------------------------------------------------------------------- parse --- */

static bool set_option(ToolOptions *options, const Cj2kOption *option, const char *value,
                       GError **error)
{
  Cj2kError why;

  char *copy = g_strdup(value); /* a text must live as long as the parameters */

  g_ptr_array_add(options->texts, copy);
  if (cj2k_option_parse(option, copy, options->params, &why) != CJ2K_OK) {
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--%s", why.text);
    return false;
  }
  options->given[option - options->table->options] = copy;
  return true;
}

/* The option that `name` means, after its "--"; *value is what an alias stands for, or left alone.
 */
static const Cj2kOption *find_option(const ToolOptions *options, const char *name,
                                     const char **value)
{
  for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
    if (!strcmp(name, aliases[i].name)) {
      name = aliases[i].option;
      *value = aliases[i].value ? aliases[i].value : *value;
    }
  const Cj2kOption *option = cj2k_option_find(options->table, name);
  if (!option && g_str_has_prefix(name, "no-"))
    option = cj2k_option_find(options->table, name + 3);
  return option;
}

/* A switch that is on by default, which the tools' option turns off. */
static bool is_on(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_BOOLEAN && option->standard != 0;
}

/* Parses an option of the table; `name` begins with "--", `value` is as it was typed, so that an
 * error can name the option (G_OPTION_FLAG_FILENAME). A switch has no value; it turns off what is
 * on by default. */
static gboolean parse_option(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  ToolOptions *options = data;
  const Cj2kOption *option = find_option(options, name + strspn(name, "-"), &value);

  g_assert(option);
  if (!value)
    value = is_on(option) ? "false" : "true";
  char *text = g_locale_to_utf8(value, -1, NULL, NULL, NULL);
  if (!text) {
    const char *charset;
    g_get_charset(&charset);
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "--%s: the value is not text in the character set of the locale, %s", option->name,
                charset);
    return FALSE;
  }
  bool ok = set_option(options, option, text, error);
  g_free(text);
  return ok;
}

bool tool_options_parse(const ToolOptions *options, GOptionContext *context, int *argc,
                        char ***argv, GError **error)
{
  for (int i = 1; i < *argc && strcmp((*argv)[i], "--") != 0; i++) {
    const char *argument = (*argv)[i], *equals = strchr(argument, '='), *value = NULL;
    if (!equals || !g_str_has_prefix(argument, "--"))
      continue;
    char *name = g_strndup(argument + 2, (gsize)(equals - argument - 2));
    const Cj2kOption *option = find_option(options, name, &value);
    g_free(name);
    if (!option || !cj2k_option_is_switch(option))
      continue;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%.60s: %s takes no value",
                argument, option->name);
    return false;
  }
  return g_option_context_parse(context, argc, argv, error);
}

bool tool_parse_integer(const char *option, const char *value, gint64 min, gint64 max,
                        gint64 *result, GError **error)
{
  if (g_ascii_string_to_signed(value, 10, min, max, result, NULL))
    return true;
  g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
              "%s: %.40s is not an integer in %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT, option,
              *value ? value : "an empty value", min, max);
  return false;
}

/* ---------------------------------------------------------------------------- help --- */

static const char *own_text(ToolOptions *options, char *text)
{
  g_ptr_array_add(options->texts, text);
  return text;
}

static const char *value_name(const Cj2kOption *option)
{
  switch (option->kind) {
  case CJ2K_OPTION_INTEGER: return "N";
  case CJ2K_OPTION_NUMBER: return "X";
  case CJ2K_OPTION_WORD: return "NAME";
  case CJ2K_OPTION_FLAGS: return "NAMES";
  case CJ2K_OPTION_LIST: return "LIST";
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_BOOLEAN: break;
  }
  return "TEXT";
}

/* An option with the tool's default, which is what its parameters hold before they are parsed. */
static Cj2kOption with_own_default(const ToolOptions *options, const Cj2kOption *option)
{
  Cj2kOption own = *option;

  if (own.kind == CJ2K_OPTION_INTEGER)
    own.standard = (double)cj2k_option_get(option, options->params);
  return own;
}

static GOptionEntry make_entry(ToolOptions *options, const Cj2kOption *option)
{
  Cj2kOption own = with_own_default(options, option);
  char help[512];
  bool alone = cj2k_option_is_switch(option);
  GOptionEntry entry = {.long_name = option->name,
                        .flags = alone ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME,
                        .arg = G_OPTION_ARG_CALLBACK,
                        .arg_data = (gpointer)parse_option,
                        .arg_description = alone ? NULL : value_name(option)};

  if (is_on(option))
    entry.long_name = own_text(options, g_strconcat("no-", option->name, NULL));
  cj2k_option_help(&own, help, sizeof help);
  entry.description = own_text(options, g_strdup(help));
  return entry;
}

static void add_aliases(ToolOptions *options, GArray *entries)
{
  for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++) {
    if (!cj2k_option_find(options->table, aliases[i].option))
      continue;
    GOptionEntry entry = {.long_name = aliases[i].name,
                          .flags =
                              (aliases[i].help ? 0 : G_OPTION_FLAG_HIDDEN) |
                              (aliases[i].value ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME),
                          .arg = G_OPTION_ARG_CALLBACK,
                          .arg_data = (gpointer)parse_option,
                          .description = aliases[i].help};
    g_array_append_val(entries, entry);
  }
}

GOptionGroup *tool_options_group(ToolOptions *options, const char *name, const char *title,
                                 const char *summary)
{
  GOptionGroup *group = g_option_group_new(name, title, summary, options, NULL);
  GArray *entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));

  for (size_t i = 0; i < options->table->count; i++) {
    GOptionEntry entry = make_entry(options, &options->table->options[i]);
    g_array_append_val(entries, entry);
  }
  add_aliases(options, entries);
  g_option_group_add_entries(group, (const GOptionEntry *)(void *)entries->data);
  g_array_free(entries, TRUE);
  return group;
}
