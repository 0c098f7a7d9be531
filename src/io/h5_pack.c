/*
 * Chunks of packed datasets, as HDF5's own filters would make them (shuffle, deflate, Fletcher's checksum), but many
 * at a time: the library takes one after the other, and a frame would wait for it longer than for the
 * GPU's steps.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/h5.h"
#include "status.h"

enum { ROUND = 64, EACH = 4 }; /* chunks that are held at a time, at most, and for each thread */
enum { CHECKSUM = 4 };

typedef struct chunk {
    unsigned char *bytes; /* packed; owned by the round */
    size_t size;          /* 0: it failed */
} chunk;

/* What the chunks of a dataset have in common. */
typedef struct chunk_plan {
    size_t rows;    /* in a chunk */
    size_t row;     /* bytes */
    size_t number;  /* bytes */
    size_t room;    /* that a packed chunk may need */
    bool counts_up; /* whole numbers */
} chunk_plan;

/* First bytes of all numbers first, then their second ones, and so on: those resemble each other. */
static void shuffle(const unsigned char *from, size_t number, size_t count, unsigned char *to)
{
    for (size_t byte = 0; byte < number; byte++)
        for (size_t k = 0; k < count; k++)
            *to++ = from[k * number + byte];
}

static uint32_t folded(uint32_t sum)
{
    return (sum & 0xffff) + (sum >> 16);
}

/* As HDF5 has it: of 16-bit numbers, high byte first. 360 of them cannot overflow the sums. */
static uint32_t fletcher(const unsigned char *data, size_t size)
{
    uint32_t sum = 0, sums = 0;
    for (size_t at = 0; at < size;) {
        size_t end = size - at < 720 ? size : at + 720;
        for (; at < end; at += 2) {
            sum += (uint32_t)data[at] << 8 | (at + 1 < size ? data[at + 1] : 0);
            sums += sum;
        }
        sum = folded(sum);
        sums = folded(sums);
    }
    return folded(sums) << 16 | folded(sum);
}

/* What a thread packs with, chunk after chunk. */
typedef struct packer {
    unsigned char *scratch; /* two chunks */
    z_stream z;
    bool is_ready;
} packer;

/* Shuffled fractions seldom repeat but for runs of one byte: to look for more takes half as long again and saves little.
 * Whole numbers often count up, and repeat every 256. */
static void packer_create(packer *p, const chunk_plan *plan)
{
    int strategy = plan->counts_up ? Z_DEFAULT_STRATEGY : Z_RLE;
    *p = (packer){.scratch = malloc(2 * plan->rows * plan->row)};
    p->is_ready = p->scratch &&
                  deflateInit2(&p->z, H5_DEFLATE_LEVEL, Z_DEFLATED, MAX_WBITS, 8, strategy) == Z_OK;
}

static void packer_clear(packer *p)
{
    if (p->is_ready)
        deflateEnd(&p->z);
    free(p->scratch);
}

/* Returns the size, 0 when it failed. */
static size_t deflate_whole(z_stream *z, unsigned char *data, size_t size, unsigned char *packed,
                            size_t room)
{
    if (deflateReset(z) != Z_OK)
        return 0;
    z->next_in = data;
    z->avail_in = (uInt)size;
    z->next_out = packed;
    z->avail_out = (uInt)room;
    return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

/* A chunk is whole always: rows beyond the last are zero. */
static void pack(const chunk_plan *plan, const unsigned char *values, size_t rows, packer *p,
                 chunk *c)
{
    const size_t size = plan->rows * plan->row, used = rows * plan->row;
    unsigned char *shuffled = p->scratch + size;
    if (used < size) {
        memcpy(p->scratch, values, used);
        memset(p->scratch + used, 0, size - used);
        values = p->scratch;
    }
    shuffle(values, plan->number, size / plan->number, shuffled);
    const size_t packed = deflate_whole(&p->z, shuffled, size, c->bytes, plan->room - CHECKSUM);
    if (packed == 0)
        return;
    uint32_t sum = fletcher(c->bytes, packed);
    for (int k = 0; k < CHECKSUM; k++)
        c->bytes[packed + (size_t)k] = (unsigned char)(sum >> 8 * k);
    c->size = packed + CHECKSUM;
}

/* Chunks [first, first + count) of some rows. */
typedef struct round_of_chunks {
    const chunk_plan *plan;
    const unsigned char *values;
    size_t from, total; /* rows: before them in the dataset, and how many they are */
    size_t first, count;
    chunk chunks[ROUND];
} round_of_chunks;

static bool pack_round(round_of_chunks *r, int threads)
{
    const chunk_plan *plan = r->plan;
    bool good = true;
#pragma omp parallel num_threads(threads) reduction(&& : good)
    {
        packer p;
        packer_create(&p, plan);
#pragma omp for schedule(dynamic, 1)
        for (size_t k = 0; k < r->count; k++) {
            size_t row = (r->first + k) * plan->rows, left = r->total - row;
            r->chunks[k].size = 0;
            if (p.is_ready)
                pack(plan, r->values + row * plan->row, left < plan->rows ? left : plan->rows, &p,
                     &r->chunks[k]);
            good = good && r->chunks[k].size;
        }
        packer_clear(&p);
    }
    return good;
}

static bool write_round(hid_t rows, const round_of_chunks *r)
{
    for (size_t k = 0; k < r->count; k++) {
        const hsize_t at[3] = {r->from + (r->first + k) * r->plan->rows};
        if (H5Dwrite_chunk(rows, H5P_DEFAULT, 0, at, r->chunks[k].size, r->chunks[k].bytes) < 0)
            return false;
    }
    return true;
}

bool h5_write_chunks(hid_t rows, hid_t type, h5_shape shape, size_t from, size_t total,
                     const void *values, int threads)
{
    chunk_plan plan = {.number = H5Tget_size(type), .counts_up = H5Tget_class(type) == H5T_INTEGER};
    plan.row = plan.number;
    for (int a = 1; a < shape.rank; a++)
        plan.row *= shape.size[a];
    plan.rows = shape.size[0] < H5_CHUNK_ROWS ? shape.size[0] : H5_CHUNK_ROWS;
    plan.room = compressBound(plan.rows * plan.row) + CHECKSUM;
    threads = threads > 0 ? threads : omp_get_max_threads();
    const size_t most = threads < ROUND / EACH ? EACH * (size_t)threads : ROUND;
    unsigned char *memory = malloc(most * plan.room);
    const size_t count = (total + plan.rows - 1) / plan.rows;
    round_of_chunks r = {.plan = &plan, .values = values, .from = from, .total = total};
    for (size_t k = 0; k < most; k++)
        r.chunks[k].bytes = memory + k * plan.room;
    bool good = memory;
    for (; good && r.first < count; r.first += most) {
        r.count = count - r.first < most ? count - r.first : most;
        good = pack_round(&r, threads) && write_round(rows, &r);
    }
    free(memory);
    return good;
}
