/* ZIP archives with deflated members and 64-bit sizes, written front to back into a draft. */
#ifndef FIRN_IO_ZIP_H
#define FIRN_IO_ZIP_H

#include "io/file.h"

enum { ZIP_MEMBERS = 64, ZIP_NAME = 64 };

typedef struct zip_member {
    char name[ZIP_NAME];
    uint32_t crc;
    uint64_t offset, packed, size;
} zip_member;

typedef struct zip_writer {
    file_draft *draft;
    int threads;
    int count;
    zip_member members[ZIP_MEMBERS];
} zip_writer;

/* A member of a head and a body; its name is copied. */
firn_status zip_add(zip_writer *zip, const char *name, const void *head, size_t head_size,
                    const void *body, size_t body_size);

/* The directory at the end. */
void zip_finish(zip_writer *zip);

#endif
