#include "ref/sleep.h"

#include <math.h>
#include <string.h>

#include "method/spline.h"
#include "status.h"
#include "stirred.h"

enum { AROUND = FIRN_DIM == 3 ? 27 : 9, UPPER = FIRN_DIM == 3 ? 8 : 4 };

static bool sleeps(const backend *s)
{
    return s->settings->sleep_speed > 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------- */

/* Coordinates of the block in which the stencil of a position begins. */
static void home_at(const backend *s, vec x, int64_t at[FIRN_DIM])
{
    for (int a = 0; a < FIRN_DIM; a++) {
        real u = x.e[a] / s->settings->cell_size;
        real first = s->settings->kernel == FIRN_CUBIC ? cubic_base(u) : quadratic_base(u);
        at[a] = (int64_t)first >> 2;
    }
}

/* The n-th of the 3^d blocks around one, itself among them. */
static void beside(const grid_block *block, int n, int64_t at[FIRN_DIM])
{
    for (int a = 0; a < FIRN_DIM; a++, n /= 3)
        at[a] = block->at[a] + n % 3 - 1;
}

/* The n-th of the 2^d blocks that stencils reach that begin in one: itself and those above. */
static void above(const grid_block *block, int n, int64_t at[FIRN_DIM])
{
    for (int a = 0; a < FIRN_DIM; a++)
        at[a] = block->at[a] + (n >> a & 1);
}

static firn_status out_of_memory(const backend *s)
{
    return fail(FIRN_NO_MEMORY, "out of memory for the grid (%zu blocks of nodes)", s->grid.count);
}

/* The blocks in which particles begin, on an empty grid, and for how long they have been still. */
static firn_status find_homes(backend *s)
{
    for_each_particle(s, p)
    {
        int64_t at[FIRN_DIM];
        home_at(s, p->x, at);
        grid_block *home = grid_block_at(&s->grid, at);
        if (!home)
            return out_of_memory(s);
        home->still = home->holds ? fmin(home->still, p->rest) : p->rest;
        home->holds = true;
        p->home = home;
    }
    for (size_t b = 0; b < s->grid.count; b++) {
        grid_block *block = s->grid.blocks[b];
        double low[3] = {0}, h = s->settings->cell_size;
        for (int a = 0; a < FIRN_DIM; a++)
            low[a] = 4.0 * (double)block->at[a] * h;
        if (is_stirred(s->colliders, FIRN_DIM, h, low))
            block->still = 0;
    }
    return FIRN_OK;
}

/* ---- Before a step ------------------------------------------------------------------------------ */

/* Blocks that are not settled wake all around them. */
static void wake(const backend *s)
{
    int64_t at[FIRN_DIM];
    for (size_t b = 0; b < s->grid.count; b++)
        for (int n = 0; n < AROUND; n++) {
            beside(s->grid.blocks[b], n, at);
            grid_block *near = grid_find(&s->grid, at);
            if (near && !(s->grid.blocks[b]->still >= s->settings->sleep_after))
                near->awake = true;
        }
}

/* The nodes that those reach that are awake, and the blocks that give to such nodes. */
static firn_status enliven(backend *s)
{
    int64_t at[FIRN_DIM];
    size_t homes = s->grid.count;
    for (size_t b = 0; b < homes; b++)
        for (int n = 0; n < UPPER && s->grid.blocks[b]->awake; n++) {
            above(s->grid.blocks[b], n, at);
            grid_block *reached = grid_block_at(&s->grid, at);
            if (!reached)
                return out_of_memory(s);
            reached->live = true;
        }
    for (size_t b = 0; b < homes; b++)
        for (int n = 0; n < UPPER; n++) {
            above(s->grid.blocks[b], n, at);
            const grid_block *reached = grid_find(&s->grid, at);
            s->grid.blocks[b]->gives |= reached && reached->live;
        }
    return FIRN_OK;
}

firn_status ref_sleep_choose(backend *s)
{
    for_each_particle(s, p) p->part = MOVES;
    if (!sleeps(s))
        return FIRN_OK;
    firn_status status = find_homes(s);
    if (status != FIRN_OK)
        return status;
    wake(s);
    status = enliven(s);
    for_each_particle(s, p) if (!p->home->awake)
    {
        p->part = p->home->gives ? GIVES : ABSENT;
        p->v = vec_zero();
        p->B = mat_zero();
    }
    return status;
}

void ref_sleep_hold(backend *s)
{
    for (size_t b = 0; b < s->grid.count && sleeps(s); b++)
        for (int n = 0; n < GRID_BLOCK_NODES && !s->grid.blocks[b]->live; n++)
            s->grid.blocks[b]->nodes[n].m = 0;
}

/* ---- After a step ------------------------------------------------------------------------------- */

void ref_sleep_note(backend *s, double dt)
{
    if (!sleeps(s))
        return;
    for_each_mover(s, p) p->home->fastest2 = fmax(p->home->fastest2, vec_norm2(p->v));
    for (size_t b = 0; b < s->grid.count; b++) {
        grid_block *block = s->grid.blocks[b];
        if (block->awake)
            block->still = sqrt(block->fastest2) < s->settings->sleep_speed ? block->still + dt : 0;
    }
    for_each_mover(s, p)
    {
        int64_t at[FIRN_DIM];
        home_at(s, p->x, at);
        const grid_block *now = grid_find(&s->grid, at);
        p->rest = now && now->awake ? now->still : 0; /* who comes to sleepers wakes them */
    }
}

/* ---- Between steps ------------------------------------------------------------------------------ */

firn_status ref_sleep_lose(backend *s, const bool *kept)
{
    if (!sleeps(s) || !kept)
        return FIRN_OK;
    grid_clear(&s->grid);
    firn_status status = find_homes(s);
    if (status != FIRN_OK)
        return status;
    for_each_particle(s, p) if (!kept[p - s->particles]) p->home->still = 0;
    for_each_particle(s, p) p->rest = fmin(p->rest, p->home->still);
    return FIRN_OK;
}

firn_status ref_get_rest(const backend *s, double *rest)
{
    for_each_particle(s, p) rest[p - s->particles] = p->rest;
    return FIRN_OK;
}

firn_status ref_set_rest(backend *s, const double *rest)
{
    for_each_particle(s, p) p->rest = rest[p - s->particles];
    return FIRN_OK;
}
