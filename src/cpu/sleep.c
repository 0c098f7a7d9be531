#include "cpu/sleep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blocks.h"
#include "status.h"
#include "stirred.h"

/* The corner-th of the blocks that stencils of a block reach: itself and its upper neighbours. */
static int upper(int corner)
{
    return CPU_STAY + (corner & 1) + 3 * (corner >> 1 & 1) + 9 * (corner >> 2);
}

static bool is_stirred_by_bodies(const backend *s, const cpu_block *block)
{
    double low[3] = {0};
    for (int a = 0; a < s->settings->dimensions; a++)
        low[a] = 4.0 * block->at[a] * s->settings->cell_size;
    return is_stirred(s->colliders, s->settings->dimensions, s->settings->cell_size, low);
}

static void look_at_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        cpu_block *block = &s->grid.blocks[b];
        if (block->count == 0 || is_stirred_by_bodies(s, block))
            block->still = 0;
        block->awake = block->live = block->takes_part = block->touched = false;
    }
}

/* Bring the particles of a block to rest. */
static void lay_down(const backend *s, const cpu_block *block)
{
    for (uint32_t k = block->first; k < block->first + block->count; k++) {
        uint32_t slot = s->store.order[k];
        memset(s->store.hot[slot].v, 0, sizeof s->store.hot[slot].v);
        if (s->store.affine)
            s->store.affine[slot] = (cpu_affine){0};
    }
}

/* A block and all around it. */
static void wake_around(cpu_grid *grid, uint32_t block)
{
    for (int d = 0; d < CPU_DIRECTIONS; d++) {
        uint32_t near = blocks_beside(grid, block, d);
        if (near != CPU_NONE)
            grid->blocks[near].awake |= grid->blocks[near].count > 0;
    }
}

static void choose_awake(backend *s)
{
    cpu_grid *grid = &s->grid;
    for (uint32_t b = 0; b < grid->count; b++)
        if (grid->blocks[b].count > 0 && !(grid->blocks[b].still >= s->settings->sleep_after))
            wake_around(grid, b);
    for (uint32_t b = 0; b < grid->count; b++)
        for (int c = 0; grid->blocks[b].awake && c < 8; c++)
            if (grid->blocks[b].near[upper(c)] != CPU_NONE)
                grid->blocks[grid->blocks[b].near[upper(c)]].live = true;
}

static void choose_parts(backend *s)
{
    cpu_grid *grid = &s->grid;
    memset(grid->colour_count, 0, sizeof grid->colour_count);
    for (uint32_t b = 0; b < grid->count; b++) {
        cpu_block *block = &grid->blocks[b];
        for (int c = 0; block->count > 0 && c < 8; c++) {
            uint32_t near = block->near[upper(c)];
            block->takes_part |= near != CPU_NONE && grid->blocks[near].live;
        }
        if (!block->takes_part)
            continue;
        for (int c = 0; c < 8; c++)
            if (block->near[upper(c)] != CPU_NONE)
                grid->blocks[block->near[upper(c)]].touched = true;
        int colour = (block->at[0] & 1) | (block->at[1] & 1) << 1 | (block->at[2] & 1) << 2;
        grid->colour[colour][grid->colour_count[colour]++] = b;
    }
}

static void settle_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        cpu_block *block = &s->grid.blocks[b];
        if (block->count > 0 && !block->awake && !block->asleep)
            lay_down(s, block);
        block->asleep = !block->awake;
    }
}

void sleep_choose(backend *s)
{
    team_for(s->threads, s->grid.count, 64, look_at_blocks, s);
    choose_awake(s);
    choose_parts(s);
    team_for(s->threads, s->grid.count, 64, settle_blocks, s);
}

void sleep_note(const backend *s, cpu_block *block, const cpu_outcome *outcome)
{
    float speed2 = 0;
    block->log_wave2 = -FLT_MAX;
    for (int k = 0; k < 16; k++) {
        speed2 = fmaxf(speed2, outcome->max_speed2[k]);
        block->log_wave2 = fmaxf(block->log_wave2, outcome->max_log_wave2[k]);
    }
    bool is_still = sqrt(speed2) < s->settings->sleep_speed;
    block->still = is_still ? block->still + s->pass.dt : 0;
}

void sleep_add_limits(const backend *s, cpu_outcome *outcome)
{
    for (uint32_t b = 0; b < s->grid.count; b++) {
        const cpu_block *block = &s->grid.blocks[b];
        if (block->count > 0 && !block->awake)
            outcome->max_log_wave2[0] = fmaxf(outcome->max_log_wave2[0], block->log_wave2);
    }
}

/* The records have just been sorted: a block's particles are neighbours in memory. */
static void start_blocks(void *context, int thread, size_t begin, size_t end)
{
    backend *s = context;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        cpu_block *block = &s->grid.blocks[b];
        cpu_outcome outcome = {.max_log_wave2 = {[0 ... 15] = -FLT_MAX}};
        if (block->count == 0)
            continue;
        s->kernels->limits(&s->pass, block->first, block->count, &outcome);
        sleep_note(s, block, &outcome);
        block->still = s->rest ? INFINITY : 0;
        for (uint32_t k = block->first; s->rest && k < block->first + block->count; k++)
            block->still = fmin(block->still, s->rest[s->store.row[k]]);
    }
}

void sleep_start(backend *s)
{
    team_for(s->threads, s->grid.count, 16, start_blocks, s);
    free(s->rest);
    s->rest = NULL;
}

firn_status cpu_get_rest(const backend *s, double *rest)
{
    if (!s->sorted) {
        for (size_t r = 0; r < s->store.count; r++)
            rest[r] = s->rest ? s->rest[r] : 0;
        return FIRN_OK;
    }
    for (const cpu_block *block = s->grid.blocks; block < s->grid.blocks + s->grid.count; block++)
        for (uint32_t k = block->first; k < block->first + block->count; k++)
            rest[s->store.row[s->store.order[k]]] = block->still;
    return FIRN_OK;
}

firn_status sleep_carry(backend *s, const bool *kept, size_t added, double **rest)
{
    size_t count = s->store.count, stay = 0;
    *rest = NULL;
    if (!(s->settings->sleep_speed > 0))
        return FIRN_OK;
    if (!(*rest = calloc(count + added + 1, sizeof **rest)))
        return fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count + added);
    cpu_block *blocks = s->grid.blocks;
    for (cpu_block *block = blocks; s->sorted && block < blocks + s->grid.count; block++)
        for (uint32_t k = block->first; kept && k < block->first + block->count; k++)
            if (!kept[s->store.row[s->store.order[k]]])
                block->still = 0; /* what is left has lost its hold */
    cpu_get_rest(s, *rest);
    for (size_t r = 0; r < count; r++)
        if (!kept || kept[r])
            (*rest)[stay++] = (*rest)[r];
    memset(*rest + stay, 0, (count + added - stay) * sizeof **rest);
    return FIRN_OK;
}

firn_status cpu_set_rest(backend *s, const double *rest)
{
    free(s->rest);
    s->rest = malloc((s->store.count + 1) * sizeof *s->rest);
    if (!s->rest)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu particles", s->store.count);
    memcpy(s->rest, rest, s->store.count * sizeof *s->rest);
    return FIRN_OK;
}
