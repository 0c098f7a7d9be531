/*
 * Filling follows Ebeida et al. 2012 (A simple algorithm for maximal Poisson-disk sampling in high
 * dimensions): throw a dart into every cell that may still have room, in random order; then halve
 * the cells that are left and drop the parts that one disk covers or that lie outside the shape.
 * Room that is left shrinks to nothing in a finite number of levels.
 *
 * Invariants: no two points (images included) are closer than the radius; all active cells of a
 * level are of one size and are parts of cells of the cube.
 */
#include "shape/disk_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/array.h"
#include "shape/sample.h"
#include "status.h"

enum {
    FIRST_ROUNDS = 4, /* darts a cell before it is halved for the first time */
    MAX_LEVEL = 30,   /* halvings: room narrower than 2^-30 of a cell is no room */
    SHEET_LEVEL = 2,  /* from here on parts that hold nothing but a sheet without thickness go */
    SHEET_STEPS = 8,
};

typedef struct active_cells {
    size_t count, capacity;
    double (*corner)[3];
    double size;
} active_cells;

/* ---- The grid -------------------------------------------------------------------------------- */

double disk_cell(int dimensions, double radius)
{
    return radius / sqrt(dimensions) * (1 - 1e-9);
}

typedef struct near_step {
    int square; /* of the least distance between the two cells, in cells */
    int32_t step;
} near_step;

static int compare_steps(const void *a, const void *b)
{
    const near_step *p = a, *q = b;
    return p->square != q->square ? (p->square > q->square) - (p->square < q->square)
                                  : (p->step > q->step) - (p->step < q->step);
}

static int gap(int step)
{
    return abs(step) > 1 ? abs(step) - 1 : 0;
}

static void list_near_cells(disk_grid *g)
{
    near_step steps[DISK_NEAR];
    int depth = g->dimensions == 3 ? DISK_HALO : 0;
    for (int k = -depth; k <= depth; k++)
        for (int j = -DISK_HALO; j <= DISK_HALO; j++)
            for (int i = -DISK_HALO; i <= DISK_HALO; i++) {
                int square = gap(i) * gap(i) + gap(j) * gap(j) + gap(k) * gap(k);
                if (square <= g->dimensions) /* = : a radius is a hair more than the diagonal */
                    steps[g->near_count++] = (near_step){square, (k * g->side + j) * g->side + i};
            }
    qsort(steps, g->near_count, sizeof *steps, compare_steps);
    for (int n = 0; n < g->near_count; n++)
        g->near[n] = steps[n].step;
}

static size_t table_size(const disk_grid *g)
{
    size_t side = g->side;
    return g->dimensions == 3 ? side * side * side : side * side;
}

firn_status disk_grid_create(int dimensions, int cells, bool periodic, double radius,
                             disk_grid *grid)
{
    *grid = (disk_grid){.dimensions = dimensions,
                        .cells = cells,
                        .periodic = periodic,
                        .radius = radius,
                        .cell = disk_cell(dimensions, radius),
                        .side = cells + 2 * DISK_HALO};
    grid->cells_per_metre = 1 / grid->cell;
    grid->at = malloc(table_size(grid) * sizeof *grid->at);
    if (!grid->at)
        return fail(FIRN_NO_MEMORY, "not enough memory to sample a shape");
    list_near_cells(grid);
    disk_grid_reset(grid, (double[3]){0, 0, 0});
    return FIRN_OK;
}

void disk_grid_clear(disk_grid *grid)
{
    free(grid->at);
    free(grid->points);
    *grid = (disk_grid){0};
}

void disk_grid_reset(disk_grid *grid, const double origin[3])
{
    memcpy(grid->origin, origin, sizeof grid->origin);
    memset(grid->at, 0xff, table_size(grid) * sizeof *grid->at);
    grid->count = 0;
}

/* Index of the cell of x, which may lie in the halo; -1 beyond it. */
static int64_t cell_index(const disk_grid *g, const double x[3])
{
    int64_t index = 0;
    for (int i = g->dimensions - 1; i >= 0; i--) {
        double c = (x[i] - g->origin[i]) * g->cells_per_metre + DISK_HALO;
        if (!(c >= 0 && c < g->side))
            return -1;
        index = index * g->side + (int64_t)c;
    }
    return index;
}

bool disk_grid_put(disk_grid *grid, const double x[3])
{
    int64_t index = cell_index(grid, x);
    if (index < 0)
        return true;
    if (!array_grow(&grid->points, &grid->capacity, grid->count, sizeof *grid->points))
        return false;
    grid->at[index] = (int32_t)grid->count;
    memcpy(grid->points[grid->count++], x, sizeof *grid->points);
    return true;
}

/* A new point of the cube and, in a periodic grid, its images in the halo. */
static bool add_point(disk_grid *g, const double x[3])
{
    if (!disk_grid_put(g, x))
        return false;
    if (!g->periodic)
        return true;
    double period = g->cells * g->cell;
    int images = g->dimensions == 3 ? 27 : 9;
    for (int n = 0; n < images; n++) {
        const int shift[3] = {n % 3 - 1, n / 3 % 3 - 1, images == 27 ? n / 9 - 1 : 0};
        const double image[3] = {x[0] + shift[0] * period, x[1] + shift[1] * period,
                                 x[2] + shift[2] * period};
        if ((shift[0] || shift[1] || shift[2]) && !disk_grid_put(g, image))
            return false;
    }
    return true;
}

const double *disk_grid_point(const disk_grid *grid, const int cell[3])
{
    int64_t index = 0;
    for (int i = grid->dimensions - 1; i >= 0; i--)
        index = index * grid->side + cell[i] + DISK_HALO;
    return grid->at[index] < 0 ? NULL : grid->points[grid->at[index]];
}

/* ---- Tests of a place or a part of a cell ---------------------------------------------------- */

static double distance_square(int dimensions, const double a[3], const double b[3])
{
    double sum = 0;
    for (int i = 0; i < dimensions; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static bool has_room(const disk_grid *g, const double x[3])
{
    int64_t index = cell_index(g, x);
    for (int n = 0; n < g->near_count; n++) {
        int32_t p = g->at[index + g->near[n]];
        if (p >= 0 && distance_square(g->dimensions, x, g->points[p]) < g->radius * g->radius)
            return false;
    }
    return true;
}

static bool is_covered_by(const disk_grid *g, const double center[3], double half,
                          const double disk[3])
{
    double sum = 0;
    for (int i = 0; i < g->dimensions; i++) {
        double farthest = fabs(center[i] - disk[i]) + half;
        sum += farthest * farthest;
    }
    return sum < g->radius * g->radius;
}

/* Points whose disks cover x. */
static int list_disks_over(const disk_grid *g, const double x[3], const double *disks[DISK_NEAR])
{
    int count = 0;
    int64_t index = cell_index(g, x);
    for (int n = 0; n < g->near_count; n++) {
        int32_t p = g->at[index + g->near[n]];
        if (p >= 0 && distance_square(g->dimensions, x, g->points[p]) < g->radius * g->radius)
            disks[count++] = g->points[p];
    }
    return count;
}

static bool is_in_cube(const disk_grid *g, const double x[3])
{
    for (int i = 0; i < g->dimensions; i++)
        if (!(x[i] >= g->origin[i] && x[i] <= g->origin[i] + g->cells * g->cell))
            return false;
    return true;
}

/* Whether the shape near x, a place outside it, has any thickness. Where two faces of a difference
 * coincide the distance falls to zero and rises again, and what lies between would otherwise be
 * followed to the last level. */
static bool has_thickness(const disk_grid *g, const disk_domain *domain, const double x[3])
{
    double y[3] = {x[0], x[1], x[2]}, gradient[3], thickness = 1e-6 * g->radius;
    for (int n = 0; n < SHEET_STEPS; n++) {
        double distance =
            shape_distance(is_in_cube(g, y) ? domain->shape : domain->whole, y, gradient);
        if (distance <= 0)
            return true;
        for (int i = 0; i < g->dimensions; i++)
            y[i] -= (distance + thickness) * gradient[i];
    }
    return false;
}

static bool may_have_room(const disk_grid *g, const disk_domain *domain, int level,
                          const double center[3], double half, const double *const *disks,
                          int disk_count)
{
    for (int n = 0; n < disk_count; n++)
        if (is_covered_by(g, center, half, disks[n]))
            return false;
    if (!domain->shape)
        return true;
    double radius = half * sqrt(g->dimensions) * (1 + 1e-12);
    double distance = shape_distance(domain->shape, center, NULL);
    if (distance > radius || distance < -domain->covered - radius)
        return false;
    return level < SHEET_LEVEL || has_thickness(g, domain, center);
}

/* ---- Filling --------------------------------------------------------------------------------- */

static bool push_active(active_cells *a, const double corner[3])
{
    if (!array_grow(&a->corner, &a->capacity, a->count, sizeof *a->corner))
        return false;
    memcpy(a->corner[a->count++], corner, sizeof *a->corner);
    return true;
}

static bool list_empty_cells(const disk_grid *g, const disk_domain *domain, active_cells *active)
{
    active->size = g->cell;
    int depth = g->dimensions == 3 ? g->cells : 1;
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < g->cells; j++)
            for (int i = 0; i < g->cells; i++) {
                const int cell[3] = {i, j, k};
                double corner[3] = {0}, center[3] = {0};
                for (int a = 0; a < g->dimensions; a++) {
                    corner[a] = g->origin[a] + cell[a] * g->cell;
                    center[a] = corner[a] + g->cell / 2;
                }
                if (!disk_grid_point(g, cell) &&
                    may_have_room(g, domain, 0, center, g->cell / 2, NULL, 0) &&
                    !push_active(active, corner))
                    return false;
            }
    return true;
}

static void shuffle(active_cells *a, random_stream *random)
{
    for (size_t n = a->count; n > 1; n--) {
        size_t pick = (size_t)(random_unit(random->seed, random->next++) * (double)n);
        double held[3];
        memcpy(held, a->corner[n - 1], sizeof held);
        memcpy(a->corner[n - 1], a->corner[pick], sizeof held);
        memcpy(a->corner[pick], held, sizeof held);
    }
}

/* One dart into each active cell; the cells that were hit leave the list. */
static bool throw_darts(disk_grid *g, const disk_domain *domain, active_cells *a,
                        random_stream *random)
{
    size_t kept = 0;
    for (size_t n = 0; n < a->count; n++) {
        double x[3] = {0};
        for (int i = 0; i < g->dimensions; i++)
            x[i] = a->corner[n][i] + a->size * random_unit(random->seed, random->next++);
        bool hit =
            has_room(g, x) && (!domain->shape || shape_distance(domain->shape, x, NULL) <= 0);
        if (hit && !add_point(g, x))
            return false;
        if (!hit)
            memmove(a->corner[kept++], a->corner[n], sizeof *a->corner);
    }
    a->count = kept;
    return true;
}

/* Halve the active cells along each axis and keep the parts that may have room. The centre of a
 * cell is a corner of each part, so only disks over the centre can cover a part. */
static bool halve(const disk_grid *g, const disk_domain *domain, int level, active_cells *a)
{
    active_cells parts = {.size = a->size / 2};
    double half = parts.size / 2;
    bool fits = true;
    for (size_t n = 0; n < a->count && fits; n++) {
        double center[3] = {0};
        for (int i = 0; i < g->dimensions; i++)
            center[i] = a->corner[n][i] + parts.size;
        const double *disks[DISK_NEAR];
        int disk_count = list_disks_over(g, center, disks);
        for (int part = 0; part < 1 << g->dimensions && fits; part++) {
            double corner[3] = {0};
            for (int i = 0; i < g->dimensions; i++) {
                corner[i] = a->corner[n][i] + (part >> i & 1) * parts.size;
                center[i] = corner[i] + half;
            }
            if (may_have_room(g, domain, level, center, half, disks, disk_count))
                fits = push_active(&parts, corner);
        }
    }
    free(a->corner);
    *a = parts;
    return fits;
}

firn_status disk_grid_fill(disk_grid *grid, const disk_domain *domain, disk_effort effort,
                           random_stream *random)
{
    active_cells active = {0};
    bool fits = list_empty_cells(grid, domain, &active);
    shuffle(&active, random);
    for (int round = 0; fits && round < FIRST_ROUNDS; round++)
        fits = throw_darts(grid, domain, &active, random);
    for (int level = 1; fits && effort == DISK_MAXIMAL && active.count && level < MAX_LEVEL;
         level++) {
        fits = halve(grid, domain, level, &active) && throw_darts(grid, domain, &active, random);
    }
    free(active.corner);
    return fits ? FIRN_OK : fail(FIRN_NO_MEMORY, "not enough memory to sample a shape");
}
