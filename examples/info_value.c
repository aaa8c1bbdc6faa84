/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "info_value.h"

#include <glib.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef enum { KIND_INT, KIND_DOUBLE, KIND_BOOL, KIND_TEXT, KIND_ARRAY, KIND_OBJECT } Kind;

struct InfoValue {
  Kind kind;
  const char *key; /* of a member of an object */
  int64_t integer; /* or bool */
  double number;
  char *text;       /* UTF-8 */
  GPtrArray *items; /* elements or members */
};

static InfoValue *make(Kind kind)
{
  InfoValue *value = g_new0(InfoValue, 1);
  value->kind = kind;
  if (kind >= KIND_ARRAY)
    value->items = g_ptr_array_new_with_free_func((GDestroyNotify)info_free);
  return value;
}

InfoValue *info_object(void)
{
  return make(KIND_OBJECT);
}

InfoValue *info_array(void)
{
  return make(KIND_ARRAY);
}

void info_free(InfoValue *value)
{
  if (!value)
    return;
  if (value->items)
    g_ptr_array_unref(value->items);
  g_free(value->text);
  g_free(value);
}

InfoValue *info_put(InfoValue *object, const char *key, InfoValue *member)
{
  member->key = key;
  g_ptr_array_add(object->items, member);
  return member;
}

void info_put_int(InfoValue *object, const char *key, int64_t number)
{
  info_put(object, key, make(KIND_INT))->integer = number;
}

void info_put_double(InfoValue *object, const char *key, double number)
{
  info_put(object, key, make(KIND_DOUBLE))->number = number;
}

void info_put_bool(InfoValue *object, const char *key, bool yes)
{
  info_put(object, key, make(KIND_BOOL))->integer = yes;
}

static InfoValue *make_text(const char *text, gssize size)
{
  InfoValue *value = make(KIND_TEXT);
  value->text = g_utf8_make_valid(text, size);
  return value;
}

void info_put_text(InfoValue *object, const char *key, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  info_put(object, key, make_text(text, -1));
  g_free(text);
}

void info_put_bytes_text(InfoValue *object, const char *key, const uint8_t *text, size_t size)
{
  const uint8_t *end = memchr(text, 0, size);
  info_put(object, key, make_text((const char *)text, end ? (gssize)(end - text) : (gssize)size));
}

void info_move(InfoValue *object, InfoValue *from)
{
  g_ptr_array_extend_and_steal(object->items, g_steal_pointer(&from->items));
  info_free(from);
}

InfoValue *info_add(InfoValue *array, InfoValue *element)
{
  return info_put(array, NULL, element);
}

void info_add_int(InfoValue *array, int64_t number)
{
  info_put_int(array, NULL, number);
}

void info_add_text(InfoValue *array, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  info_add(array, make_text(text, -1));
  g_free(text);
}

uint32_t info_count(const InfoValue *array)
{
  return array->items->len;
}

static const InfoValue *item(const InfoValue *value, uint32_t i)
{
  return g_ptr_array_index(value->items, i);
}

/* ------------------------------------------------------------------------------ JSON --- */

static void print_json_text(const char *text, FILE *file)
{
  fputc('"', file);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(file, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      fprintf(file, "\\u%04x", c);
    else if (c == 0xC2 && (unsigned char)text[1] < 0xA0) /* U+0080..U+009F are controls too */
      fprintf(file, "\\u%04x", (unsigned char)*++text);
    else
      fputc(c, file);
  }
  fputc('"', file);
}

static void print_number(double number, FILE *file)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  fputs(g_ascii_formatd(digits, sizeof digits, "%.9g", number), file);
}

static bool is_flat(const InfoValue *value)
{
  for (uint32_t i = 0; value->items && i < value->items->len; i++)
    if (item(value, i)->items)
      return false;
  return true;
}

/* Flat objects and arrays are printed on one line. */
static void print_json(const InfoValue *value, int depth, FILE *file)
{
  bool flat = is_flat(value);

  switch (value->kind) {
  case KIND_INT: fprintf(file, "%" G_GINT64_FORMAT, value->integer); return;
  case KIND_BOOL: fputs(value->integer ? "true" : "false", file); return;
  case KIND_TEXT: print_json_text(value->text, file); return;
  case KIND_DOUBLE:
    if (isfinite(value->number))
      print_number(value->number, file);
    else
      fputs("null", file);
    return;
  default: break;
  }
  fputc(value->kind == KIND_OBJECT ? '{' : '[', file);
  for (uint32_t i = 0; i < value->items->len; i++) {
    fputs(i ? "," : "", file);
    if (!flat)
      fprintf(file, "\n%*s", 2 * (depth + 1), "");
    else if (i)
      fputc(' ', file);
    if (value->kind == KIND_OBJECT) {
      print_json_text(item(value, i)->key, file);
      fputs(": ", file);
    }
    print_json(item(value, i), depth + 1, file);
  }
  if (!flat)
    fprintf(file, "\n%*s", 2 * depth, "");
  fputc(value->kind == KIND_OBJECT ? '}' : ']', file);
}

void info_print_json(const InfoValue *value, FILE *file)
{
  print_json(value, 0, file);
  fputc('\n', file);
}

/* ------------------------------------------------------------------------------ text --- */

static void print_key(const char *key, FILE *file)
{
  for (; *key; key++)
    fputc(*key == '_' ? ' ' : *key, file);
}

static void print_scalar(const InfoValue *value, FILE *file)
{
  if (value->kind == KIND_TEXT) {
    for (const char *c = value->text; *c; c = g_utf8_next_char(c)) {
      if (g_unichar_iscntrl(g_utf8_get_char(c))) /* not to a terminal */
        fputc(' ', file);
      else
        fwrite(c, 1, (size_t)(g_utf8_next_char(c) - c), file);
    }
  } else if (value->kind == KIND_BOOL) {
    fputs(value->integer ? "yes" : "no", file);
  } else if (value->kind == KIND_DOUBLE) {
    print_number(value->number, file);
  } else {
    fprintf(file, "%" G_GINT64_FORMAT, value->integer);
  }
}

static bool is_list(const InfoValue *value)
{
  return value->kind == KIND_ARRAY && is_flat(value);
}

static void print_list(const InfoValue *array, uint32_t max_items, FILE *file)
{
  for (uint32_t i = 0; i < array->items->len && i < max_items; i++) {
    fputs(i ? ", " : "", file);
    print_scalar(item(array, i), file);
  }
  if (array->items->len > max_items)
    fprintf(file, ", and %u more", array->items->len - max_items);
  if (!array->items->len)
    fputs("none", file);
}

/* Whether the object fits on one line. */
static bool is_short(const InfoValue *object)
{
  for (uint32_t i = 0; i < object->items->len; i++)
    if (item(object, i)->items && !is_list(item(object, i)))
      return false;
  return true;
}

static void print_members(const InfoValue *object, int depth, uint32_t max_items, FILE *file);

static void print_short(const InfoValue *object, uint32_t max_items, FILE *file)
{
  for (uint32_t i = 0; i < object->items->len; i++) {
    const InfoValue *member = item(object, i);
    fputs(i ? "; " : "", file);
    print_key(member->key, file);
    fputc(' ', file);
    if (member->items)
      print_list(member, max_items, file);
    else
      print_scalar(member, file);
  }
  fputc('\n', file);
}

static void print_elements(const InfoValue *array, int depth, uint32_t max_items, FILE *file)
{
  for (uint32_t i = 0; i < array->items->len && i < max_items; i++) {
    const InfoValue *element = item(array, i);
    fprintf(file, "%*s- ", 2 * depth, "");
    if (is_list(element)) {
      print_list(element, max_items, file);
      fputc('\n', file);
    } else if (is_short(element)) {
      print_short(element, max_items, file);
    } else {
      print_members(element, depth + 1, max_items, file);
    }
  }
  if (array->items->len > max_items)
    fprintf(file, "%*s- and %u more\n", 2 * depth, "", array->items->len - max_items);
}

/* In an object that is an element of an array the first member continues the current line. */
static void print_members(const InfoValue *object, int depth, uint32_t max_items, FILE *file)
{
  for (uint32_t i = 0; i < object->items->len; i++) {
    const InfoValue *member = item(object, i);
    if (i || !depth)
      fprintf(file, "%*s", 2 * depth, "");
    print_key(member->key, file);
    fputc(':', file);
    if (!member->items || is_list(member)) {
      fputc(' ', file);
      if (member->items)
        print_list(member, max_items, file);
      else
        print_scalar(member, file);
      fputc('\n', file);
    } else if (member->kind == KIND_ARRAY) {
      fputc('\n', file);
      print_elements(member, depth + 1, max_items, file);
    } else if (is_short(member)) {
      fputc(' ', file);
      print_short(member, max_items, file);
    } else {
      fprintf(file, "\n%*s", 2 * (depth + 1), "");
      print_members(member, depth + 1, max_items, file);
    }
  }
}

void info_print_text(const InfoValue *object, uint32_t max_items, FILE *file)
{
  print_members(object, 0, max_items, file);
}
