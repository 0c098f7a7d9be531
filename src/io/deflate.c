#include "io/deflate.h"

#include <omp.h>
#include <stdlib.h>
#include <zlib.h>

#include "status.h"

enum { PIECE = 1 << 20, ROUND = 16, LEVEL = 1 };

typedef struct piece {
    const Bytef *data;
    size_t size;
    bool last;
    Bytef *packed;
    size_t packed_size; /* 0: it failed */
    uLong crc;
} piece;

/* Ends on a byte boundary, and the last piece of all ends the stream. */
static void pack(piece *p, size_t room)
{
    z_stream z = {0};
    p->packed_size = 0;
    p->crc = crc32(0, p->data, (uInt)p->size);
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    z.next_in = (Bytef *)p->data;
    z.avail_in = (uInt)p->size;
    z.next_out = p->packed;
    z.avail_out = (uInt)room;
    int result = deflate(&z, p->last ? Z_FINISH : Z_FULL_FLUSH);
    if (result == (p->last ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0)
        p->packed_size = z.total_out;
    deflateEnd(&z);
}

/* The pieces of one round, in order. */
static bool append_round(file_draft *draft, piece *pieces, int count, size_t room, int threads,
                         uint32_t *crc)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int k = 0; k < count; k++)
        pack(&pieces[k], room);
    for (int k = 0; k < count; k++) {
        if (pieces[k].packed_size == 0)
            return false;
        file_append(draft, pieces[k].packed, pieces[k].packed_size);
        *crc = (uint32_t)crc32_combine(*crc, pieces[k].crc, (z_off_t)pieces[k].size);
    }
    return true;
}

firn_status deflate_append(file_draft *draft, const void *data, size_t size, bool ends, int threads,
                           uint32_t *crc)
{
    threads = threads > 0 ? threads : omp_get_max_threads();
    size_t room = compressBound(PIECE) + 64;
    piece pieces[ROUND] = {{0}};
    Bytef *memory = malloc(ROUND * room);
    bool good = memory;
    size_t at = 0;
    do {
        int count = 0;
        do {
            piece *p = &pieces[count];
            p->data = (const Bytef *)data + at;
            p->size = size - at < PIECE ? size - at : PIECE;
            at += p->size;
            p->last = ends && at == size;
            p->packed = memory + (size_t)count++ * room;
        } while (count < ROUND && at < size);
        good = good && append_round(draft, pieces, count, room, threads, crc);
    } while (good && at < size && !draft->error);
    free(memory);
    return good ? FIRN_OK : fail(FIRN_NO_MEMORY, "no memory to compress %s", draft->path);
}
