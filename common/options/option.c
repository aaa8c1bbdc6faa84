/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "option.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXPECTS_SIZE 200

const Cj2kOptionWord cj2k_backend_words[] = {
    {CJ2K_BACKEND_AUTO, "auto", "CUDA where a GPU is usable, else the CPU"},
    {CJ2K_BACKEND_CPU, "cpu", "Threads on the CPU"},
    {CJ2K_BACKEND_CUDA, "cuda", "NVIDIA GPU; an error where none is usable"},
    {0, NULL, NULL},
};

const Cj2kOptionWord cj2k_component_streams_words[] = {
    {CJ2K_COMPONENT_STREAMS_AUTO, "auto",
     "What is faster: at present off, which was so in most measurements"},
    {CJ2K_COMPONENT_STREAMS_ON, "on",
     "Each component, those from the fourth on together; they join for a component transform"},
    {CJ2K_COMPONENT_STREAMS_OFF, "off", "None: all components of a frame share launches"},
    {0, NULL, NULL},
};

const Cj2kOption *cj2k_option_find(const Cj2kOptionTable *table, const char *name)
{
  for (size_t i = 0; i < table->count; i++)
    if (!strcmp(table->options[i].name, name))
      return &table->options[i];
  return NULL;
}

/* -------------------------------------------------------------------------- fields --- */

static int64_t load(const Cj2kOption *option, const void *params)
{
  const void *at = (const uint8_t *)params + option->offset;
  bool is_signed = option->min < 0;

  switch (option->size) {
  case 1: return is_signed ? (int64_t) * (const int8_t *)at : (int64_t) * (const uint8_t *)at;
  case 2: return is_signed ? (int64_t) * (const int16_t *)at : (int64_t) * (const uint16_t *)at;
  case 4: return is_signed ? (int64_t) * (const int32_t *)at : (int64_t) * (const uint32_t *)at;
  default: break;
  }
  uint64_t value = MIN(*(const uint64_t *)at, (uint64_t)INT64_MAX);
  if (option->flags & CJ2K_OPTION_MIB) /* the library takes any number of bytes: rounded up */
    return (int64_t)((value >> 20) + ((value & 0xfffff) != 0));
  return (int64_t)value;
}

int64_t cj2k_option_get(const Cj2kOption *option, const void *params)
{
  int64_t value = load(option, params);
  if (option->flags & CJ2K_OPTION_NEGATED)
    return !value;
  bool unset = option->flags & CJ2K_OPTION_UNSET && !(option->flags & CJ2K_OPTION_AUTO);
  return !value && unset ? (int64_t)option->standard : value;
}

void cj2k_option_set(const Cj2kOption *option, void *params, int64_t value)
{
  void *at = (uint8_t *)params + option->offset;

  if (option->flags & CJ2K_OPTION_NEGATED)
    value = !value;
  if (option->flags & CJ2K_OPTION_MIB)
    value <<= 20;
  switch (option->size) {
  case 1: *(uint8_t *)at = (uint8_t)value; break;
  case 2: *(uint16_t *)at = (uint16_t)value; break;
  case 4: *(uint32_t *)at = (uint32_t)value; break;
  default: *(uint64_t *)at = (uint64_t)value; break;
  }
}

static double *number_at(const Cj2kOption *option, const void *params)
{
  return (double *)((uint8_t *)(uintptr_t)params + option->offset);
}

double cj2k_option_get_number(const Cj2kOption *option, const void *params)
{
  double value = *number_at(option, params);
  return value == 0 && option->flags & CJ2K_OPTION_UNSET ? option->standard : value;
}

void cj2k_option_set_number(const Cj2kOption *option, void *params, double value)
{
  *number_at(option, params) = value;
}

/* --------------------------------------------------------------------------- words --- */

const char *cj2k_option_word(const Cj2kOptionWord *words, int64_t value)
{
  for (; words->name; words++)
    if (words->value == value)
      return words->name;
  return "unknown";
}

static void join_words(GString *text, const Cj2kOptionWord *words, const char *between)
{
  for (const Cj2kOptionWord *word = words; word->name; word++)
    g_string_append_printf(text, "%s%s", word == words ? "" : between, word->name);
}

void cj2k_option_expects(const Cj2kOption *option, char *text, size_t size)
{
  GString *words = g_string_new(NULL);

  switch (option->kind) {
  case CJ2K_OPTION_BOOLEAN: g_string_append(words, "true or false"); break;
  case CJ2K_OPTION_INTEGER:
  case CJ2K_OPTION_NUMBER:
    g_string_append_printf(words, "%s in %.10g..%.10g",
                           option->kind == CJ2K_OPTION_NUMBER       ? "a number"
                           : option->flags & CJ2K_OPTION_POWER_OF_2 ? "a power of 2"
                                                                    : "an integer",
                           option->min, option->max);
    break;
  case CJ2K_OPTION_WORD:
    g_string_append(words, "one of ");
    join_words(words, option->words, ", ");
    break;
  case CJ2K_OPTION_FLAGS:
    g_string_append(words, "none, or with + between: ");
    join_words(words, option->words, ", ");
    break;
  case CJ2K_OPTION_TEXT:
    g_string_append_printf(words, "a text of at most %.10g bytes", option->max);
    break;
  case CJ2K_OPTION_LIST: g_string_append(words, option->form); break;
  }
  g_strlcpy(text, words->str, size);
  g_string_free(words, TRUE);
}

void cj2k_option_default(const Cj2kOption *option, char *text, size_t size)
{
  *text = 0;
  switch (option->kind) {
  case CJ2K_OPTION_BOOLEAN: g_strlcpy(text, option->standard != 0 ? "true" : "false", size); break;
  case CJ2K_OPTION_INTEGER:
  case CJ2K_OPTION_NUMBER: snprintf(text, size, "%.10g", option->standard); break;
  case CJ2K_OPTION_WORD:
    g_strlcpy(text, cj2k_option_word(option->words, (int64_t)option->standard), size);
    break;
  case CJ2K_OPTION_FLAGS: g_strlcpy(text, "none", size); break;
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: break;
  }
}

static void append_range(GString *text, const Cj2kOption *option)
{
  switch (option->kind) {
  case CJ2K_OPTION_INTEGER:
  case CJ2K_OPTION_NUMBER:
    g_string_append_printf(text, "%.10g..%.10g", option->min, option->max);
    if (option->unit)
      g_string_append_printf(text, " %s", option->unit);
    break;
  case CJ2K_OPTION_WORD: join_words(text, option->words, ", "); break;
  case CJ2K_OPTION_FLAGS: join_words(text, option->words, "+"); break;
  case CJ2K_OPTION_BOOLEAN:
  case CJ2K_OPTION_TEXT:
  case CJ2K_OPTION_LIST: break;
  }
}

bool cj2k_option_is_switch(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_BOOLEAN || option->flags & CJ2K_OPTION_SWITCH;
}

void cj2k_option_help(const Cj2kOption *option, char *text, size_t size)
{
  GString *help = g_string_new(option->blurb);
  char standard[40];

  if (option->kind == CJ2K_OPTION_BOOLEAN && option->standard != 0) {
    g_string_printf(help, "Turn off: %s", option->blurb);
  } else if (option->kind <= CJ2K_OPTION_FLAGS && !cj2k_option_is_switch(option)) {
    cj2k_option_default(option, standard, sizeof standard);
    g_string_append(help, " (");
    append_range(help, option);
    g_string_append_printf(help, "; default %s)", standard);
  }
  g_strlcpy(text, help->str, size);
  g_string_free(help, TRUE);
}

/* Refuses a value with an error that says what is expected. */
static Cj2kStatus refuse(const Cj2kOption *option, const char *given, Cj2kError *error)
{
  char expects[EXPECTS_SIZE];

  cj2k_option_expects(option, expects, sizeof expects);
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "%s: %.40s is not %s", option->name,
                        *given ? given : "an empty value", expects);
}

/* --------------------------------------------------------------------------- parse --- */

bool cj2k_option_read_number(const char **text, double min, double max, double *value)
{
  char *end;
  /* No white space, and neither "nan" nor "inf" nor hexadecimal digits. */
  if (!g_ascii_isdigit(**text) && **text != '.' && **text != '-')
    return false;
  if (strlen(*text) > 1 && g_ascii_tolower((*text)[1]) == 'x')
    return false;
  *value = g_ascii_strtod(*text, &end);
  if (end == *text || !isfinite(*value) || *value < min || *value > max)
    return false;
  *text = end;
  return true;
}

bool cj2k_option_read_integer(const char **text, uint64_t max, uint64_t *value)
{
  const char *end = *text;

  for (*value = 0; g_ascii_isdigit(*end); end++) {
    uint64_t digit = (uint64_t)(*end - '0');
    if (*value > (max - MIN(digit, max)) / 10)
      return false;
    *value = *value * 10 + digit;
  }
  if (end == *text || *value > max)
    return false;
  *text = end;
  return true;
}

static bool parse_boolean(const char *text, int64_t *value)
{
  static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
    if (!g_ascii_strcasecmp(text, words[i])) {
      *value = i & 1;
      return true;
    }
  return false;
}

static bool find_word(const Cj2kOptionWord *words, const char *text, int64_t *value)
{
  for (; words->name; words++)
    if (!g_ascii_strcasecmp(text, words->name)) {
      *value = words->value;
      return true;
    }
  return false;
}

static bool parse_flags(const Cj2kOptionWord *words, const char *text, int64_t *value)
{
  *value = 0;
  if (!g_ascii_strcasecmp(text, "none"))
    return true;
  gchar **parts = g_strsplit_set(text, "+,", -1);
  bool ok = *text != 0;
  for (gchar **part = parts; *part && ok; part++) {
    int64_t bit;
    ok = find_word(words, *part, &bit);
    *value |= ok ? bit : 0;
  }
  g_strfreev(parts);
  return ok;
}

static bool is_power_of_2(int64_t value)
{
  return value > 0 && !(value & (value - 1));
}

static bool in_range(const Cj2kOption *option, int64_t value)
{
  return (double)value >= option->min && (double)value <= option->max &&
         (!(option->flags & CJ2K_OPTION_POWER_OF_2) || is_power_of_2(value));
}

static bool parse_integer(const Cj2kOption *option, const char *text, int64_t *value)
{
  return g_ascii_string_to_signed(text, 10, INT64_MIN, INT64_MAX, value, NULL) &&
         in_range(option, *value);
}

Cj2kStatus cj2k_option_parse(const Cj2kOption *option, const char *text, void *params,
                             Cj2kError *error)
{
  const char *rest = text;
  int64_t value = 0;
  double number = 0;
  bool ok = false;

  switch (option->kind) {
  case CJ2K_OPTION_BOOLEAN: ok = parse_boolean(text, &value); break;
  case CJ2K_OPTION_INTEGER: ok = parse_integer(option, text, &value); break;
  case CJ2K_OPTION_WORD:
    ok = find_word(option->words, text, &value) ||
         (option->flags & CJ2K_OPTION_SWITCH && parse_boolean(text, &value));
    break;
  case CJ2K_OPTION_FLAGS: ok = parse_flags(option->words, text, &value); break;
  case CJ2K_OPTION_NUMBER:
    if (!cj2k_option_read_number(&rest, option->min, option->max, &number) || *rest)
      return refuse(option, text, error);
    cj2k_option_set_number(option, params, number);
    return CJ2K_OK;
  case CJ2K_OPTION_TEXT:
    if ((double)strlen(text) > option->max)
      return refuse(option, text, error);
    *(const char **)((uint8_t *)params + option->offset) = text;
    return CJ2K_OK;
  case CJ2K_OPTION_LIST: return option->parse(text, params) ? CJ2K_OK : refuse(option, text, error);
  }
  if (!ok)
    return refuse(option, text, error);
  cj2k_option_set(option, params, value);
  return CJ2K_OK;
}

/* --------------------------------------------------------------------------- check --- */

static bool check_number(const Cj2kOption *option, const void *params, char *given, size_t size)
{
  double value = *number_at(option, params);

  snprintf(given, size, "%g", value);
  return (value == 0 && option->flags & CJ2K_OPTION_UNSET) ||
         (value >= option->min && value <= option->max);
}

/* True if every value of the field is valid, or if another function checks it. */
static bool is_free(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_BOOLEAN || option->kind == CJ2K_OPTION_LIST;
}

static bool check_text(const Cj2kOption *option, const void *params, char *given, size_t size)
{
  const char *text = *(const char *const *)((const uint8_t *)params + option->offset);

  snprintf(given, size, "one of %zu bytes", text ? strlen(text) : 0);
  return !text || (double)strlen(text) <= option->max;
}

static bool check_integer(const Cj2kOption *option, const void *params, char *given, size_t size)
{
  int64_t value = load(option, params), flags = 0;

  snprintf(given, size, "%" G_GINT64_FORMAT, value);
  if (!value && option->flags & CJ2K_OPTION_UNSET)
    return true;
  if (option->kind == CJ2K_OPTION_INTEGER)
    return in_range(option, value);
  for (const Cj2kOptionWord *word = option->words; word->name; word++) {
    if (option->kind == CJ2K_OPTION_WORD && word->value == value)
      return true;
    flags |= word->value;
  }
  return option->kind == CJ2K_OPTION_FLAGS && !(value & ~flags);
}

Cj2kStatus cj2k_option_check(const Cj2kOptionTable *table, const void *params, Cj2kError *error)
{
  char given[40];

  for (size_t i = 0; i < table->count; i++) {
    const Cj2kOption *option = &table->options[i];
    if (is_free(option))
      continue;
    bool ok = option->kind == CJ2K_OPTION_NUMBER ? check_number(option, params, given, sizeof given)
              : option->kind == CJ2K_OPTION_TEXT
                  ? check_text(option, params, given, sizeof given)
                  : check_integer(option, params, given, sizeof given);
    if (!ok)
      return refuse(option, given, error);
  }
  return CJ2K_OK;
}
