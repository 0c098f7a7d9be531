/*
 * Home blocks: which there are, which particles each has, and where they lie in memory.
 *
 * A sort builds the set of blocks anew, in a hash table of coordinates: first the homes of particles,
 * then the blocks behind them. Within a home, particles are ordered by their rank in their column of cells,
 * then by column, so that the lanes of a warp stand in different columns and seldom add to the same bank of
 * shared memory. Which particle of a cell gets which rank is left to chance: no result depends on it.
 */
#include "cuda/state.cuh"

enum { SORT_THREADS = 256, MOVE_THREADS = 512 };
enum counter { HOMES, BLOCKS, CURSOR, DENSEST, FULL, FULLER, EMPTIER, COUNTERS = SORT_COUNTERS };

/* Particles of a home that is to be begun early: half of what there is at eight a cell. Beyond so many homes the last
 * ones no longer count, and neighbours are better taken together. */
enum { FULLER_FROM = 256, QUEUED = 8192 };

#define EMPTY_KEY 0xffffffffffffffffull

/* By value to the kernels of a sort. */
typedef struct sort_view {
    grid_view grid;
    unsigned long long *keys;
    uint32_t *values;
    uint32_t hash_mask;
    uint32_t home_capacity, block_capacity;
    uint32_t *cell_count; /* BLOCK_CELLS a home */
    uint32_t *counters;
    particles_view p;
    uint32_t *key, *order;
    uint32_t count;
    size_t hash_size;
    int width; /* of stencils */
} sort_view;

/* Whether the table turned out too small: then nothing more happens, and the host starts over. */
static __device__ __forceinline__ bool is_full(const sort_view &s)
{
    return *(volatile uint32_t *)&s.counters[FULL] != 0;
}

/* ---- The hash table --------------------------------------------------------------------------- */

static __device__ unsigned long long key_of(int4 at)
{
    const unsigned long long mask = (1ull << 21) - 1;
    return ((unsigned long long)at.x & mask) | ((unsigned long long)at.y & mask) << 21 |
           ((unsigned long long)at.z & mask) << 42;
}

static __device__ uint32_t hash_of(unsigned long long key)
{
    key ^= key >> 31;
    key *= 0x9E3779B97F4A7C15ull;
    return (uint32_t)(key >> 32);
}

/* An empty table, by any number of threads. */
static __global__ void clear_table(const sort_view s)
{
    const size_t mine = (size_t)blockIdx.x * SORT_THREADS + threadIdx.x,
                 all = (size_t)gridDim.x * SORT_THREADS;
    const uint4 ones = make_uint4(~0u, ~0u, ~0u, ~0u), none = make_uint4(0, 0, 0, 0);
    for (size_t n = mine; n < s.hash_size / 2; n += all)
        ((uint4 *)s.keys)[n] = ones;
    for (size_t n = mine; n < s.hash_size / 4; n += all)
        ((uint4 *)s.values)[n] = ones;
    for (size_t n = mine; n < (size_t)s.home_capacity * BLOCK_CELLS / 4; n += all)
        ((uint4 *)s.cell_count)[n] = none;
    if (mine < COUNTERS)
        s.counters[mine] = 0;
}

/* The number of the block at these coordinates, from `base` on a new one from the counter if there was none;
 * NO_BLOCK, and FULL is set, when there is no room. */
static __device__ uint32_t find_or_add(const sort_view &s, int4 at, int counter, uint32_t base,
                                       uint32_t capacity)
{
    unsigned long long key = key_of(at);
    for (uint32_t slot = hash_of(key) & s.hash_mask, tries = 0; tries <= s.hash_mask;
         slot = (slot + 1) & s.hash_mask, tries++) {
        unsigned long long old = *(volatile unsigned long long *)&s.keys[slot];
        if (old == EMPTY_KEY)
            old = atomicCAS(&s.keys[slot], EMPTY_KEY, key);
        if (old == EMPTY_KEY) {
            uint32_t number = base + atomicAdd(&s.counters[counter], 1);
            if (number < capacity)
                s.grid.at[number] = at;
            else
                s.counters[FULL] = 1;
            number = number < capacity ? number : NO_BLOCK - 1;
            __threadfence();
            atomicExch(&s.values[slot], number);
            return number;
        }
        if (old != key)
            continue;
        uint32_t number;
        while ((number = *(volatile uint32_t *)&s.values[slot]) == NO_BLOCK)
            ; /* the thread that made it is about to say */
        return number;
    }
    s.counters[FULL] = 1;
    return NO_BLOCK - 1;
}

/* ---- Keys: home and cell of every particle ---------------------------------------------------- */

static __device__ void take_cell(const sort_view &s, uint32_t k, uint32_t home, int cell)
{
    if (home >= s.home_capacity)
        return;
    s.key[k] = home * BLOCK_CELLS + (uint32_t)cell;
    s.order[k] = atomicAdd(&s.cell_count[home * BLOCK_CELLS + (uint32_t)cell], 1); /* its rank */
}

/* The same offset in a cell, in cell `cell` of a block. */
static __device__ void place_in(int *at, int cell)
{
    *at = (*at & ((1 << PLACE_BITS) - 1)) | cell << PLACE_BITS;
}

/* From the cells of the rows. */
static __global__ void first_keys(const sort_view s, const int *x, const int *y, const int *z)
{
    uint32_t k = blockIdx.x * SORT_THREADS + threadIdx.x;
    if (k >= s.count)
        return;
    const int cell[3] = {x[k] - HOME_SHIFT, y[k] - HOME_SHIFT, z[k] - HOME_SHIFT};
    uint32_t home = find_or_add(s, make_int4(cell[0] >> 2, cell[1] >> 2, cell[2] >> 2, 0), HOMES, 0,
                                s.home_capacity);
    for (int a = 0; a < 3; a++)
        place_in(&s.p[k].place(a), cell[a] & 3);
    take_cell(s, k, home, (cell[0] & 3) + 4 * (cell[1] & 3) + 16 * (cell[2] & 3));
}

static __device__ int direction_of(int cx, int cy, int cz)
{
    return ((cx >> 2) + 1) + 3 * ((cy >> 2) + 1) + 9 * ((cz >> 2) + 1);
}

/* From where they have drifted to: one CUDA block an old home. Places are not changed yet, so that the
 * sort can start over with more room. */
static __global__ void next_keys(const sort_view s, const grid_view old)
{
    __shared__ uint32_t wanted[DIRECTIONS], home[DIRECTIONS];
    uint32_t block = blockIdx.x, first = old.first[block], count = old.count[block];
    if (threadIdx.x < DIRECTIONS)
        wanted[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t k = first + threadIdx.x; k < first + count; k += SORT_THREADS) {
        const particle q = s.p[k];
        wanted[direction_of(q.place(0) >> PLACE_BITS, q.place(1) >> PLACE_BITS,
                            q.place(2) >> PLACE_BITS)] = 1;
    }
    __syncthreads();
    if (threadIdx.x < DIRECTIONS && wanted[threadIdx.x]) {
        int4 at = old.at[block];
        at.x += (int)threadIdx.x % 3 - 1;
        at.y += (int)threadIdx.x / 3 % 3 - 1;
        at.z += (int)threadIdx.x / 9 - 1;
        home[threadIdx.x] = find_or_add(s, at, HOMES, 0, s.home_capacity);
    }
    __syncthreads();
    for (uint32_t k = first + threadIdx.x; k < first + count; k += SORT_THREADS) {
        const particle q = s.p[k];
        int cx = q.place(0) >> PLACE_BITS, cy = q.place(1) >> PLACE_BITS,
            cz = q.place(2) >> PLACE_BITS;
        take_cell(s, k, home[direction_of(cx, cy, cz)], (cx & 3) + 4 * (cy & 3) + 16 * (cz & 3));
    }
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

/* Where a home's particles will lie, and how many it has; its place in the list. By a warp. */
static __device__ uint32_t place_home(const sort_view &s, uint32_t home, uint32_t lane,
                                      uint32_t homes)
{
    uint32_t a = s.cell_count[home * BLOCK_CELLS + lane];
    uint32_t b = s.cell_count[home * BLOCK_CELLS + 32 + lane];
    uint32_t sum = a + b, most = max(a, b);
    for (int k = 16; k > 0; k >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, k);
        most = max(most, __shfl_xor_sync(0xffffffffu, most, k));
    }
    uint32_t turn = home;
    if (lane == 0) {
        const uint32_t first = atomicAdd(&s.counters[CURSOR], sum);
        s.grid.count[home] = sum;
        s.grid.first[home] = first;
        atomicMax(&s.counters[DENSEST], most);
        if (homes < QUEUED)
            turn = sum >= FULLER_FROM ? atomicAdd(&s.counters[FULLER], 1)
                                      : homes - 1 - atomicAdd(&s.counters[EMPTIER], 1);
        s.grid.list[turn] = make_uint4(home, first, sum, 0);
    }
    return __shfl_sync(0xffffffffu, turn, 0);
}

/* The block in one direction from a home. In 2D there is only one layer. */
static __device__ uint32_t find_near(const sort_view &s, uint32_t home, int direction,
                                     uint32_t homes, bool planar)
{
    const int side = reach_side(s.width), dz = direction / (side * side);
    int4 at = s.grid.at[home];
    if (planar && dz > 0)
        return NO_BLOCK;
    at.x += direction % side;
    at.y += direction / side % side;
    at.z += dz;
    return find_or_add(s, at, BLOCKS, homes, s.block_capacity);
}

/* All there is to know of homes once every particle has one: a warp each, for as many as there may be. */
static __global__ void surround(const sort_view s, bool planar)
{
    const uint32_t home = (blockIdx.x * SORT_THREADS + threadIdx.x) / 32, lane = threadIdx.x & 31;
    const uint32_t homes = s.counters[HOMES];
    if (home >= homes || homes > s.home_capacity)
        return;
    const uint32_t turn = place_home(s, home, lane, homes), reached = reach_count(s.width);
    if (lane < reached)
        s.grid.near[turn * reached + lane] = find_near(s, home, (int)lane, homes, planar);
}

/* ---- Order ------------------------------------------------------------------------------------ */

/*
 * From home, cell and rank to a place in memory. Cells two layers apart share a column, which is the banks that
 * their nodes lie in (tile_shape). Those of lower rank in any column come first, then those of the same rank
 * in the columns before.
 */
static __device__ uint32_t find_order(const sort_view &s, uint32_t k)
{
    const uint32_t columns = BLOCK_CELLS / 2;
    uint32_t home = s.key[k] / BLOCK_CELLS, cell = s.key[k] % BLOCK_CELLS, column = cell % columns;
    const uint4 *counts = (const uint4 *)(s.cell_count + home * BLOCK_CELLS);
    uint32_t to = s.grid.first[home], rank = s.order[k];
    if (cell >= columns)
        rank += s.cell_count[home * BLOCK_CELLS + column];
    for (uint32_t c = 0; c < columns / 4; c++) {
        uint4 n = counts[c], m = counts[c + columns / 4];
        const uint32_t of[4] = {n.x + m.x, n.y + m.y, n.z + m.z, n.w + m.w};
        for (uint32_t i = 0; i < 4; i++)
            to += min(of[i], rank) + (of[i] > rank && 4 * c + i < column);
    }
    return to;
}

/* An offset from the home where the particle was, from the one where it is. */
static __device__ uint32_t rebased(uint32_t at)
{
    return at - (uint32_t)((int)at >> PLACE_BITS >> 2) * (4u << PLACE_BITS);
}

/* Where every particle goes. */
static __global__ void find_places(const sort_view s)
{
    const uint32_t k = blockIdx.x * SORT_THREADS + threadIdx.x;
    if (k < s.count && !is_full(s))
        s.order[k] = find_order(s, k);
}

/* Then, in place of keys, which particle comes to every slot. */
static __global__ void find_sources(const sort_view s)
{
    const uint32_t k = blockIdx.x * SORT_THREADS + threadIdx.x;
    if (k < s.count && !is_full(s))
        s.key[s.order[k]] = k;
}

/* Brings some arrays into the new order, `by` places on, where nothing is kept. Written in order, and read from all
 * over a home that stays in the first cache meanwhile: a sort took a third longer the other way round. */
static __global__ void __launch_bounds__(MOVE_THREADS)
    move_arrays(const sort_view s, int first, int count, int by)
{
    const uint32_t to = blockIdx.x * MOVE_THREADS + threadIdx.x;
    if (to >= s.count || is_full(s))
        return;
    const uint32_t *from_slot = (const uint32_t *)s.p[s.key[to]].first;
    uint32_t *to_slot = (uint32_t *)s.p[to].first;
#pragma unroll 4
    for (int a = first; a < first + count; a++) {
        uint32_t value = from_slot[PAGE_SLOTS * a];
        if (a >= AT_X && a <= AT_Z)
            value = rebased(value);
        to_slot[PAGE_SLOTS * (a + by)] = value;
    }
}

/* The home of every slot; a CUDA block for one after the other. */
static __global__ void keep_homes(const sort_view s, homes_view home)
{
    const uint32_t homes = is_full(s) ? 0 : s.counters[HOMES];
    for (uint32_t n = blockIdx.x; n < homes; n += gridDim.x) {
        const uint32_t first = s.grid.first[n], end = first + s.grid.count[n];
        for (uint32_t k = first + threadIdx.x; k < end; k += SORT_THREADS)
            home[k] = n;
    }
}

/* ---- On the host ------------------------------------------------------------------------------ */

enum { CLEAR_BLOCKS = 4 }; /* a processor */

static unsigned groups(size_t items)
{
    return (unsigned)((items + SORT_THREADS - 1) / SORT_THREADS);
}

/* ---- Room ------------------------------------------------------------------------------------- */

static void free_lists(grid_view *grid)
{
    device_free(&grid->at);
    device_free(&grid->first);
    device_free(&grid->count);
}

static void free_table(backend *s)
{
    free_lists(&s->grid);
    device_free(&s->grid.list);
    device_free(&s->grid.near);
    device_free(&s->grid.bodies);
    device_free(&s->grid.node_bodies);
    device_free(&s->grid.meeting);
    device_free(&s->grid.clearance);
    device_free(&s->grid.wild);
    device_free(&s->hash_keys);
    device_free(&s->hash_values);
    device_free(&s->cell_count);
    s->home_capacity = 0;
}

void sort_free(backend *s)
{
    free_table(s);
    free_lists(&s->old);
    device_free(&s->grid.nodes);
    device_free(&s->counters);
    s->node_capacity = s->old_capacity = 0;
}

/* Blocks that so many homes may need, halos and all. */
static size_t blocks_for(size_t homes)
{
    return 4 * homes + 4096;
}

static firn_status allocate_lists(grid_view *grid, size_t homes)
{
    firn_status status = device_allocate(&grid->at, blocks_for(homes) * sizeof *grid->at, "blocks");
    if (status == FIRN_OK)
        status = device_allocate(&grid->first, homes * sizeof *grid->first, "blocks");
    if (status == FIRN_OK)
        status = device_allocate(&grid->count, homes * sizeof *grid->count, "blocks");
    return status;
}

/* A table with room for so many homes, empty. */
static firn_status make_table(backend *s, size_t homes)
{
    free_table(s);
    size_t blocks = blocks_for(homes);
    for (s->hash_size = 1024; s->hash_size < 2 * blocks;)
        s->hash_size *= 2;
    firn_status status = allocate_lists(&s->grid, homes);
    const struct {
        void *pointer;
        size_t bytes;
    } wanted[] = {
        {&s->grid.list, homes * sizeof *s->grid.list},
        {&s->grid.near,
         homes * (size_t)reach_count(stencil_width(s->settings)) * sizeof *s->grid.near},
        {&s->grid.bodies, blocks * sizeof *s->grid.bodies},
        {&s->grid.node_bodies, blocks * sizeof *s->grid.node_bodies},
        {&s->grid.meeting, (blocks + 1) * sizeof *s->grid.meeting},
        {&s->grid.clearance, EIGHTHS * homes * sizeof *s->grid.clearance},
        {&s->grid.wild, 2 * blocks},
        {&s->hash_keys, s->hash_size * sizeof *s->hash_keys},
        {&s->hash_values, s->hash_size * sizeof *s->hash_values},
        {&s->cell_count, homes * BLOCK_CELLS * sizeof *s->cell_count},
    };
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted && status == FIRN_OK; n++)
        status = device_allocate(wanted[n].pointer, wanted[n].bytes, "blocks");
    if (status == FIRN_OK && !s->counters)
        status = device_allocate(&s->counters, COUNTERS * sizeof *s->counters, "a sort");
    s->home_capacity = homes;
    return status;
}

/* Nodes for the blocks there are, and some more. */
static firn_status make_nodes(backend *s)
{
    if (s->grid.block_count <= s->node_capacity)
        return FIRN_OK;
    device_free(&s->grid.nodes);
    s->node_capacity = s->grid.block_count + s->grid.block_count / 8 + 64;
    return device_allocate(&s->grid.nodes, s->node_capacity * BLOCK_CELLS * s->node_bytes,
                           "the nodes of the grid");
}

/* ---- Sorting ---------------------------------------------------------------------------------- */

static sort_view view_of(backend *s)
{
    sort_view v = {};
    v.grid = s->grid;
    v.keys = s->hash_keys;
    v.values = s->hash_values;
    v.hash_mask = (uint32_t)(s->hash_size - 1);
    v.hash_size = s->hash_size;
    v.home_capacity = (uint32_t)s->home_capacity;
    v.block_capacity = (uint32_t)blocks_for(s->home_capacity);
    v.cell_count = s->cell_count;
    v.counters = s->counters;
    v.p = s->p;
    v.key = s->key;
    v.order = s->order;
    v.count = (uint32_t)s->count;
    v.width = stencil_width(s->settings);
    return v;
}

/* Keys of all particles in a table that is empty, and the blocks around their homes. */
static void launch_keys(backend *s)
{
    const sort_view v = view_of(s);
    clear_table<<<enough_blocks(groups(s->hash_size / 2), s->processors, CLEAR_BLOCKS),
                  SORT_THREADS, 0, s->stream>>>(v);
    if (s->sorted && s->old.home_count > 0)
        next_keys<<<s->old.home_count, SORT_THREADS, 0, s->stream>>>(v, s->old);
    else if (!s->sorted && s->count > 0)
        first_keys<<<groups(s->count), SORT_THREADS, 0, s->stream>>>(v, s->start[0], s->start[1],
                                                                     s->start[2]);
    surround<<<groups(s->home_capacity * 32), SORT_THREADS, 0, s->stream>>>(
        v, s->settings->dimensions == 2);
}

/* Bring every array into the new order, as many at a time as there is room for: up if the room is behind the
 * last, else down. Then it is at the other end, and takes the homes. */
static void launch_moves(backend *s)
{
    const sort_view v = view_of(s);
    const bool up = s->p.first == s->pages;
    const int all = s->array_count, room = s->spare_count, by = up ? room : -room;
    const unsigned moves = (unsigned)((s->count + MOVE_THREADS - 1) / MOVE_THREADS);
    if (s->count > 0) {
        find_places<<<groups(s->count), SORT_THREADS, 0, s->stream>>>(v);
        find_sources<<<groups(s->count), SORT_THREADS, 0, s->stream>>>(v);
    }
    for (int done = 0; done < all && s->count > 0; done += room) {
        const int count = all - done < room ? all - done : room;
        const int first = up ? all - done - count : done;
        move_arrays<<<moves, MOVE_THREADS, 0, s->stream>>>(v, first, count, by);
    }
    s->p.first += by * PAGE_SLOTS;
    s->home.first = (uint32_t *)s->pages + (up ? 0 : all * PAGE_SLOTS);
    if (s->count > 0)
        keep_homes<<<s->processors * CLEAR_BLOCKS, SORT_THREADS, 0, s->stream>>>(v, s->home);
}

/* The order is found and taken while the host waits only for the numbers of blocks. */
static firn_status try_sort(backend *s, bool *is_full)
{
    const particles_view p = s->p;
    const homes_view home = s->home;
    launch_keys(s);
    cudaMemcpyAsync(s->counted, s->counters, COUNTERS * sizeof *s->counted, cudaMemcpyDeviceToHost,
                    s->stream);
    cudaEventRecord(s->mark[MARK_COUNTED], s->stream);
    launch_moves(s);
    firn_status status = cuda_check(cudaGetLastError(), "sorting particles");
    if (status == FIRN_OK)
        status = cuda_check(cudaEventSynchronize(s->mark[MARK_COUNTED]), "sorting particles");
    *is_full = s->counted[FULL] != 0;
    if (status == FIRN_OK && !*is_full)
        return FIRN_OK;
    s->p = p;
    s->home = home;
    return status;
}

/* Exchange the lists of homes: the last ones become the old, the older ones are written anew. */
static firn_status turn_lists(backend *s)
{
    if (s->old_capacity != s->home_capacity) {
        free_lists(&s->old);
        firn_status status = allocate_lists(&s->old, s->home_capacity);
        if (status != FIRN_OK)
            return status;
        s->old_capacity = s->home_capacity;
    }
    grid_view last = s->grid;
    s->grid.at = s->old.at;
    s->grid.first = s->old.first;
    s->grid.count = s->old.count;
    s->old = last;
    return FIRN_OK;
}

firn_status sort_particles(backend *s)
{
    firn_status status = s->sorted ? turn_lists(s) : make_table(s, s->count / 128 + 1024);
    for (bool is_full = true; status == FIRN_OK && is_full;) {
        status = try_sort(s, &is_full);
        if (status == FIRN_OK && is_full)
            status = make_table(s, 2 * s->home_capacity);
    }
    if (status != FIRN_OK)
        return status;
    s->grid.home_count = s->counted[HOMES];
    s->grid.block_count = s->counted[HOMES] + s->counted[BLOCKS];
    s->densest = s->counted[DENSEST];
    for (int a = 0; a < 3 && !s->sorted; a++)
        device_free(&s->start[a]);
    s->sorted = true;
    s->places_known = s->drifted = false;
    s->steps_between_sorts = s->steps_since_sort;
    s->steps_since_sort = 0;
    return make_nodes(s);
}
