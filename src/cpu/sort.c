#include "cpu/sort.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blocks.h"
#include "status.h"

static firn_status out_of_memory(const cpu_grid *grid)
{
    return fail(FIRN_NO_MEMORY, "out of memory for the grid (%u blocks of nodes)", grid->count);
}

/* Give each block its range of `order`, in the order of blocks. */
static void lay_out(cpu_grid *grid)
{
    uint32_t first = 0;
    for (uint32_t b = 0; b < grid->count; b++) {
        grid->blocks[b].first = first;
        first += grid->blocks[b].count;
    }
}

void sort_share_spare(cpu_store *store)
{
    size_t count = store->count;
    store->order = store->index;
    store->next = (uint32_t *)store->spare;
    memset(store->next + count, 0, CPU_ORDER_END * sizeof *store->next);
    store->arriving = store->next + count + CPU_ORDER_END;
    store->mover = store->arriving + count;
    store->mover_slot = store->mover + count;
    store->place = store->mover_slot + count;
    store->arriving_row = store->place + count;
    store->destination = (cpu_destination *)(store->arriving_row + count);
    store->arriving_cell = (uint8_t *)(store->destination + count);
}

/* Order all particles of one block, given by slot and cell, by cell and then by row: they come in the
 * order of rows. */
static void order_block(const cpu_store *store, cpu_block *block)
{
    const uint32_t *arriving = store->arriving + block->first;
    const uint8_t *cell = store->arriving_cell + block->first;
    uint32_t *order = store->order + block->first;
    uint32_t end[CPU_CELLS], sum = 0;
    memset(block->cell_count, 0, sizeof block->cell_count);
    for (uint32_t k = 0; k < block->count; k++)
        block->cell_count[cell[k]]++;
    for (int c = 0; c < CPU_CELLS; c++) {
        end[c] = sum;
        sum += block->cell_count[c];
    }
    for (uint32_t k = 0; k < block->count; k++)
        order[end[cell[k]]++] = arriving[k];
}

/* What the loops below run over. */
typedef struct sorting {
    cpu_store *store;
    cpu_grid *grid;
    void *records; /* to be moved, of `size` bytes each */
    size_t size;
    atomic_bool filled; /* some block got its first particle or lost its last */
} sorting;

static void order_blocks(void *context, int thread, size_t begin, size_t end)
{
    const sorting *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++)
        order_block(s->store, &s->grid->blocks[b]);
}

firn_status sort_start(cpu_store *store, cpu_grid *grid, const int32_t (*base)[3], team *threads)
{
    sorting all = {.store = store, .grid = grid};
    blocks_clear(grid);
    int axes = grid->dimensions;
    for (size_t r = 0; r < store->count; r++) {
        int32_t at[3] = {base[r][0] >> 2, base[r][1] >> 2, axes == 3 ? base[r][2] >> 2 : 0};
        uint32_t b = blocks_at(grid, at);
        if (b == CPU_NONE)
            return out_of_memory(grid);
        grid->blocks[b].count++;
        store->order[r] = b; /* until order_block writes here */
    }
    lay_out(grid);
    for (uint32_t b = 0; b < grid->count; b++)
        grid->blocks[b].count = 0;
    for (size_t r = 0; r < store->count; r++) {
        cpu_block *block = &grid->blocks[store->order[r]];
        uint32_t k = block->first + block->count++;
        store->arriving[k] = (uint32_t)r;
        int cell = 0;
        for (int a = 0; a < axes; a++)
            cell |= (base[r][a] & 3) << cpu_cell_shift[a];
        store->arriving_cell[k] = (uint8_t)cell;
    }
    team_for(threads, grid->count, 16, order_blocks, &all);
    return sort_memory(store, grid, threads);
}

/* Make the blocks that particles have moved to and that were not there, and take room in their lists, as
 * place_movers of g2p.h does in others. */
static bool make_destinations(cpu_grid *grid)
{
    uint32_t count = grid->count;
    for (uint32_t b = 0; b < count; b++) {
        for (int d = 0; d < CPU_DIRECTIONS && grid->blocks[b].unplaced; d++) {
            if (!(grid->blocks[b].unplaced >> d & 1))
                continue;
            uint32_t near = blocks_near(grid, b, d);
            if (near == CPU_NONE)
                return false;
            uint32_t position = grid->blocks[near].arriving;
            grid->blocks[near].arriving += grid->blocks[b].leaving[d];
            grid->blocks[b].leaving[d] = position;
        }
        grid->blocks[b].unplaced = 0;
    }
    return true;
}

/* Send the movers of one block to the lists of arrivals. */
static void send_block(const cpu_store *store, const cpu_grid *grid, const cpu_block *block)
{
    uint32_t position[CPU_DIRECTIONS];
    for (int d = 0; d < CPU_DIRECTIONS; d++)
        if (block->directions >> d & 1)
            position[d] = grid->blocks[block->near[d]].arrival_first + block->leaving[d];
    for (uint32_t k = block->first; k < block->first + block->moved; k++) {
        cpu_destination to = store->destination[k];
        uint32_t at = position[to / CPU_CELLS]++, slot = store->mover_slot[k];
        store->arriving[at] = slot;
        store->arriving_row[at] = store->row[slot];
        store->arriving_cell[at] = to % CPU_CELLS;
    }
}

static void send_blocks(void *context, int thread, size_t begin, size_t end)
{
    const sorting *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        const cpu_block *block = &s->grid->blocks[b];
        if (b + 1 < end) { /* where each list begins, nothing before it has been read */
            __builtin_prefetch(&s->store->mover_slot[block[1].first]);
            __builtin_prefetch(&s->store->destination[block[1].first]);
        }
        if (block->moved > 0)
            send_block(s->store, s->grid, block);
    }
}

static bool comes_after(const cpu_store *store, uint32_t a, uint32_t row, uint8_t cell)
{
    uint8_t other = store->arriving_cell[a];
    return other > cell || (other == cell && store->arriving_row[a] > row);
}

/* Order the arrivals of a block by cell, then by row: a shell sort, as they are few or nearly sorted. */
static void order_arrivals(const cpu_store *store, const cpu_block *block)
{
    static const uint32_t gaps[] = {46379, 7983, 1374, 237, 41, 7, 1};
    uint32_t first = block->arrival_first;
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t k = gaps[g]; k < block->arriving; k++) {
            uint32_t at = first + k, slot = store->arriving[at], row = store->arriving_row[at];
            uint8_t cell = store->arriving_cell[at];
            for (; at >= first + gaps[g] && comes_after(store, at - gaps[g], row, cell);
                 at -= gaps[g]) {
                store->arriving[at] = store->arriving[at - gaps[g]];
                store->arriving_row[at] = store->arriving_row[at - gaps[g]];
                store->arriving_cell[at] = store->arriving_cell[at - gaps[g]];
            }
            store->arriving[at] = slot;
            store->arriving_row[at] = row;
            store->arriving_cell[at] = cell;
        }
}

/* A block's old list on its way to the coming one. */
typedef struct merging {
    const uint32_t *order, *mover;
    uint32_t movers;   /* still to be left out */
    uint32_t position; /* in the old list */
    uint32_t *out;
} merging;

/* Copy the old list up to `end`, without the movers. */
static void copy_kept(merging *merge, uint32_t end)
{
    while (merge->position < end) {
        bool stops = merge->movers > 0 && *merge->mover < end;
        uint32_t stop = stops ? *merge->mover : end, count = stop - merge->position;
        memcpy(merge->out, merge->order + merge->position, count * sizeof *merge->out);
        merge->out += count;
        merge->position = stop + stops;
        merge->mover += stops;
        merge->movers -= stops;
    }
}

/* The coming list of one block: what it had, without the movers, with the arrivals at their places. */
static void merge_block(const cpu_store *store, cpu_block *block)
{
    const uint32_t *order = store->order + block->first, *mover = store->mover + block->first;
    merging merge = {.order = order,
                     .mover = mover,
                     .movers = block->moved,
                     .out = store->next + block->next_first};
    uint32_t start[CPU_CELLS + 1] = {0};
    for (int c = 0; c < CPU_CELLS; c++)
        start[c + 1] = start[c] + block->cell_count[c];
    for (uint32_t m = 0, c = 0; m < block->moved; m++) {
        while (start[c + 1] <= mover[m])
            c++;
        block->cell_count[c]--;
    }
    for (uint32_t a = block->arrival_first; a < block->arrival_first + block->arriving; a++)
        __builtin_prefetch(&store->row[order[start[store->arriving_cell[a]]]]);
    order_arrivals(store, block);
    for (uint32_t a = block->arrival_first; a < block->arrival_first + block->arriving; a++) {
        uint32_t cell = store->arriving_cell[a], at = start[cell], row = store->arriving_row[a];
        at = at > merge.position ? at : merge.position;
        while (at < start[cell + 1] && store->row[order[at]] < row)
            at++;
        copy_kept(&merge, at);
        *merge.out++ = store->arriving[a];
        block->cell_count[cell]++;
    }
    copy_kept(&merge, block->count);
}

static void merge_blocks(void *context, int thread, size_t begin, size_t end)
{
    sorting *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        cpu_block *block = &s->grid->blocks[b];
        if (b + 1 < end)
            __builtin_prefetch(&s->store->mover[block[1].first]);
        if (block->moved > 0 || block->arriving > 0)
            merge_block(s->store, block);
        else
            memcpy(s->store->next + block->next_first, s->store->order + block->first,
                   block->count * sizeof *s->store->order);
        uint32_t count = block->count + block->arriving - block->moved;
        if ((count > 0) != (block->count > 0))
            atomic_store_explicit(&s->filled, true, memory_order_relaxed);
        block->count = count;
        if (block->arriving > 0 && block->asleep) /* without effect where nothing sleeps */
            block->still = 0;
        block->first = block->next_first;
        block->moved = block->arriving = 0;
    }
}

static void take_next(cpu_store *store)
{
    uint32_t *order = store->order;
    store->order = store->next;
    store->next = order;
}

firn_status sort_step(cpu_store *store, cpu_grid *grid, team *threads, bool unplaced)
{
    sorting all = {.store = store, .grid = grid};
    if (unplaced && !make_destinations(grid))
        return out_of_memory(grid);
    uint32_t first = 0, arrival_first = 0;
    for (uint32_t b = 0; b < grid->count; b++) {
        cpu_block *block = &grid->blocks[b];
        block->next_first = first;
        block->arrival_first = arrival_first;
        first += block->count - block->moved + block->arriving;
        arrival_first += block->arriving;
    }
    team_for(threads, grid->count, 16, send_blocks, &all);
    team_for(threads, grid->count, 16, merge_blocks, &all);
    take_next(store);
    return !all.filled || blocks_prepare(grid) ? FIRN_OK : out_of_memory(grid);
}

typedef struct curve_block {
    uint64_t curve;
    uint32_t block;
} curve_block;

/* Let list[k] sink to its place in the heap of the first `count`. */
static void sink(curve_block *list, uint32_t k, uint32_t count)
{
    curve_block sinking = list[k];
    for (uint32_t child; (child = 2 * k + 1) < count; k = child) {
        if (child + 1 < count && list[child + 1].curve > list[child].curve)
            child++;
        if (list[child].curve <= sinking.curve)
            break;
        list[k] = list[child];
    }
    list[k] = sinking;
}

/* A heap sort, which needs no memory, as qsort may. */
static void order_along_curve(curve_block *list, uint32_t count)
{
    for (uint32_t k = count / 2; k-- > 0;)
        sink(list, k, count);
    for (uint32_t rest = count; rest-- > 1;) {
        curve_block last = list[0];
        list[0] = list[rest];
        list[rest] = last;
        sink(list, 0, rest);
    }
}

/* Inlined for each size, so that a record is some registers and not a call. */
static inline __attribute__((always_inline)) void gather(const sorting *s, size_t begin, size_t end,
                                                         size_t size)
{
    const uint32_t *order = s->store->order;
    const char *from = s->records;
    char *to = (char *)s->store->spare;
    for (size_t k = begin; k < end; k++) {
        __builtin_prefetch(from + order[k + CPU_AHEAD] * size);
        memcpy(to + k * size, from + order[k] * size, size);
    }
}

static void move_out(void *context, int thread, size_t begin, size_t end)
{
    const sorting *s = context;
    (void)thread;
    switch (s->size) {
    case sizeof(cpu_hot):
        return gather(s, begin, end, sizeof(cpu_hot));
    case sizeof(cpu_cold):
        return gather(s, begin, end, sizeof(cpu_cold));
    case sizeof(cpu_affine):
        return gather(s, begin, end, sizeof(cpu_affine));
    default:
        return gather(s, begin, end, s->size);
    }
}

static void move_back(void *context, int thread, size_t begin, size_t end)
{
    const sorting *s = context;
    (void)thread;
    memcpy((char *)s->records + begin * s->size, (const char *)s->store->spare + begin * s->size,
           (end - begin) * s->size);
}

/* Records of `size` bytes into `order`, by way of the spare memory. */
static void move_records(cpu_store *store, void *records, size_t size, team *threads)
{
    sorting all = {.store = store, .records = records, .size = size};
    team_for(threads, store->count, 4096, move_out, &all);
    team_for(threads, store->count, 4096, move_back, &all);
}

/* The largest records need no way back: the spare memory takes their place. */
static void move_hot(cpu_store *store, team *threads)
{
    sorting all = {.store = store, .records = store->hot, .size = sizeof *store->hot};
    team_for(threads, store->count, 4096, move_out, &all);
    cpu_hot *spare = store->hot;
    store->hot = store->spare;
    store->spare = spare;
    sort_share_spare(store);
}

/* Rebuild the grid with its blocks along the curve; each list of particles keeps its order, in `index`.
 * Fields hold nothing between steps, so that the old blocks can wait there. */
static void renumber(cpu_store *store, cpu_grid *grid)
{
    _Static_assert(sizeof(cpu_block) + sizeof(curve_block) <= sizeof(float[CPU_BLOCK_FLOATS]),
                   "a block and its place on the curve fit into its field");
    uint32_t used = 0, first = 0;
    curve_block *list = (curve_block *)grid->field[0];
    cpu_block *old = (cpu_block *)(list + grid->count);
    for (uint32_t b = 0; b < grid->count; b++)
        if (grid->blocks[b].count > 0)
            list[used++] = (curve_block){blocks_curve(grid->blocks[b].at), b};
    if (used > 0) {
        order_along_curve(list, used);
        memcpy(old, grid->blocks, grid->count * sizeof *old);
    }
    blocks_clear(grid);
    for (uint32_t k = 0; k < used; k++) {
        const cpu_block *was = &old[list[k].block];
        uint32_t b = blocks_at(grid, was->at); /* cannot fail: there were more blocks before */
        cpu_block *block = &grid->blocks[b];
        block->first = first;
        block->count = was->count;
        block->still = was->still;
        block->log_wave2 = was->log_wave2;
        block->asleep = was->asleep;
        memcpy(block->cell_count, was->cell_count, sizeof was->cell_count);
        memcpy(store->next + first, store->order + was->first, was->count * sizeof *store->next);
        first += was->count;
    }
    if (store->next != store->index)
        memcpy(store->index, store->next, store->count * sizeof *store->index);
    store->order = store->index;
}

firn_status sort_memory(cpu_store *store, cpu_grid *grid, team *threads)
{
    renumber(store, grid);
    move_hot(store, threads);
    move_records(store, store->cold, sizeof *store->cold, threads);
    move_records(store, store->row, sizeof *store->row, threads);
    if (store->affine)
        move_records(store, store->affine, sizeof *store->affine, threads);
    for (size_t k = 0; k < store->count; k++)
        store->order[k] = (uint32_t)k;
    return blocks_prepare(grid) ? FIRN_OK : out_of_memory(grid);
}
