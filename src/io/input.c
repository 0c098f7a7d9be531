#include "io/input.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/file.h"
#include "status.h"

static const char nothing[1];

firn_status input_open(const char *path, input *in)
{
    int fd;
    uint64_t size;
    *in = (input){.data = nothing};
    firn_status status = file_open_input(path, &fd, &size);
    if (status != FIRN_OK || size == 0) {
        if (status == FIRN_OK)
            close(fd);
        return status;
    }
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    if (data == MAP_FAILED)
        return fail(FIRN_NO_INPUT, "cannot read %s: %s", path, strerror(error));
    *in = (input){data, size};
    return FIRN_OK;
}

void input_close(input *in)
{
    if (in->data != nothing && in->data)
        munmap((void *)in->data, in->size);
    *in = (input){0};
}

/* Eight bytes at a time, each mixed by a multiplication and a rotation; then a finalizer
 * (splitmix64). */
uint64_t input_hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        size_t left = size - at < 8 ? size - at : 8;
        for (size_t k = 0; k < left; k++)
            word |= (uint64_t)bytes[at + k] << (8 * k);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash = hash << 29 | hash >> 35;
    }
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}
