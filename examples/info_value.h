/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output of cj2k-info: a tree of objects, arrays and values, printed as text or as JSON.
 * Objects and arrays own their members and elements.
 */
#ifndef EXAMPLES_INFO_VALUE_H
#define EXAMPLES_INFO_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct InfoValue InfoValue;

InfoValue *info_object(void);
InfoValue *info_array(void);
void info_free(InfoValue *value);

/* Members of an object, in the order in which they are printed. Keys are string literals; text need
 * not be UTF-8. put returns `member`. */
InfoValue *info_put(InfoValue *object, const char *key, InfoValue *member);
void info_put_int(InfoValue *object, const char *key, int64_t number);
void info_put_double(InfoValue *object, const char *key, double number);
void info_put_bool(InfoValue *object, const char *key, bool yes);
void info_put_text(InfoValue *object, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void info_put_bytes_text(InfoValue *object, const char *key, const uint8_t *text, size_t size);

/* Moves the members of `from` to the end of `object` and frees `from`. */
void info_move(InfoValue *object, InfoValue *from);

/* Elements of an array. */
InfoValue *info_add(InfoValue *array, InfoValue *element);
void info_add_int(InfoValue *array, int64_t number);
void info_add_text(InfoValue *array, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t info_count(const InfoValue *array);

void info_print_json(const InfoValue *value, FILE *file);
/* Prints text. Arrays are cut after `max_items` elements, followed by the number of the others. */
void info_print_text(const InfoValue *object, uint32_t max_items, FILE *file);

#endif
