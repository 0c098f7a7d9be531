#include "io/zip.h"

#include <string.h>

#include "io/deflate.h"
#include "status.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END64 = 0x06064b50,
    LOCATOR64 = 0x07064b50,
    END = 0x06054b50,
    VERSION = 45, /* the first with 64-bit sizes */
    DEFLATED = 8,
    DATE = 1 << 5 | 1, /* 1 January 1980: equal contents make equal files */
};

/* Little-endian numbers one after the other. */
typedef struct record {
    unsigned char bytes[160];
    size_t size;
} record;

static void put(record *r, int width, uint64_t value)
{
    for (int k = 0; k < width; k++)
        r->bytes[r->size++] = (unsigned char)(value >> 8 * k);
}

/* What local and central headers share, from the version on: sizes are in the extra field. */
static void put_common(record *r, const zip_member *m, int extra)
{
    put(r, 2, VERSION);
    put(r, 2, 0); /* flags */
    put(r, 2, DEFLATED);
    put(r, 2, 0); /* time */
    put(r, 2, DATE);
    put(r, 4, m->crc);
    put(r, 4, UINT32_MAX);
    put(r, 4, UINT32_MAX);
    put(r, 2, strlen(m->name));
    put(r, 2, (uint64_t)extra);
}

static void put_sizes(record *r, const zip_member *m, int fields)
{
    put(r, 2, 1); /* 64-bit sizes */
    put(r, 2, 8 * (uint64_t)fields);
    put(r, 8, m->size);
    put(r, 8, m->packed);
    if (fields > 2)
        put(r, 8, m->offset);
}

static void put_name(record *r, const zip_member *m)
{
    memcpy(r->bytes + r->size, m->name, strlen(m->name));
    r->size += strlen(m->name);
}

static record local_header(const zip_member *m)
{
    record r = {.size = 0};
    put(&r, 4, LOCAL);
    put_common(&r, m, 20);
    put_name(&r, m);
    put_sizes(&r, m, 2);
    return r;
}

static record central_header(const zip_member *m)
{
    record r = {.size = 0};
    put(&r, 4, CENTRAL);
    put(&r, 2, VERSION);
    put_common(&r, m, 28);
    put(&r, 2, 0); /* comment */
    put(&r, 2, 0); /* disk */
    put(&r, 2, 0); /* attributes */
    put(&r, 4, 0);
    put(&r, 4, UINT32_MAX); /* offset: in the extra field */
    put_name(&r, m);
    put_sizes(&r, m, 3);
    return r;
}

firn_status zip_add(zip_writer *zip, const char *name, const void *head, size_t head_size,
                    const void *body, size_t body_size)
{
    if (zip->count == ZIP_MEMBERS || strlen(name) >= ZIP_NAME)
        return fail(FIRN_USAGE, "%s: no room for %s", zip->draft->path, name);
    zip_member *m = &zip->members[zip->count++];
    *m = (zip_member){.offset = zip->draft->size, .size = head_size + body_size};
    strncpy(m->name, name, ZIP_NAME - 1);
    record header = local_header(m);
    file_append(zip->draft, header.bytes, header.size);
    uint64_t begin = zip->draft->size;
    firn_status status = deflate_append(zip->draft, head, head_size, false, 1, &m->crc);
    if (!status)
        status = deflate_append(zip->draft, body, body_size, true, zip->threads, &m->crc);
    m->packed = zip->draft->size - begin;
    header = local_header(m); /* now with size and sum */
    file_write_at(zip->draft, m->offset, header.bytes, header.size);
    return status;
}

void zip_finish(zip_writer *zip)
{
    uint64_t begin = zip->draft->size;
    for (int k = 0; k < zip->count; k++) {
        record header = central_header(&zip->members[k]);
        file_append(zip->draft, header.bytes, header.size);
    }
    uint64_t end = zip->draft->size, count = (uint64_t)zip->count;
    record r = {.size = 0};
    put(&r, 4, END64);
    put(&r, 8, 44); /* bytes that follow of this record */
    put(&r, 2, VERSION);
    put(&r, 2, VERSION);
    put(&r, 4, 0);
    put(&r, 4, 0);
    put(&r, 8, count);
    put(&r, 8, count);
    put(&r, 8, end - begin);
    put(&r, 8, begin);
    put(&r, 4, LOCATOR64);
    put(&r, 4, 0);
    put(&r, 8, end);
    put(&r, 4, 1);
    put(&r, 4, END);
    put(&r, 2, 0);
    put(&r, 2, 0);
    put(&r, 2, count);
    put(&r, 2, count);
    put(&r, 4, UINT32_MAX);
    put(&r, 4, UINT32_MAX);
    put(&r, 2, 0);
    file_append(zip->draft, r.bytes, r.size);
}
