/* A whole input file as bytes in memory, mapped rather than copied. */
#ifndef FIRN_IO_INPUT_H
#define FIRN_IO_INPUT_H

#include <stdint.h>

#include "firn/firn.h"

typedef struct input {
    const char *data; /* owned; never NULL */
    size_t size;
} input;

/* FIRN_NO_INPUT says why the file cannot be read. */
firn_status input_open(const char *path, input *in);
void input_close(input *in);

/* A 64-bit hash of bytes: two files that differ have different ones. */
uint64_t input_hash(const void *data, size_t size);

#endif
