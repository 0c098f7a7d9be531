/*
 * Writing JSON, compact, members in the order they are called.
 *
 * Numbers have as many digits as it takes to read back the same double; what JSON has no number for
 * (NaN, infinities) becomes null. Text is UTF-8; bytes that are not become U+FFFD. A NULL name
 * makes an element of an array.
 *
 * Does NOT do: reading, checking that objects and arrays are closed.
 */
#ifndef FIRN_TOOL_JSON_H
#define FIRN_TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;  /* borrowed */
    bool comma; /* whether the next value needs one before it */
} json;

void json_open(json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket);                  /* '}' or ']' */
void json_text(json *j, const char *name, const char *value);
void json_number(json *j, const char *name, double value);
void json_integer(json *j, const char *name, uint64_t value);
void json_numbers(json *j, const char *name, const double *values, size_t count);
void json_null(json *j, const char *name);

#endif
