/*
 * Drops to density. Every block lists the drops that reach it, in their order, and adds them up by
 * itself: no two threads write to the same block, and the order of every sum is fixed.
 */
#include <omp.h>
#include <stdlib.h>

#include "method/spline.h"
#include "render/volume_drops.h"
#include "render/volume_grid.h"
#include "status.h"

enum {
    MOST_REGIONS = 320, /* along an axis: 20,480 voxels */
    MOST_SUPPORT = 64,  /* nodes along an axis that a drop can reach */
    MOST_CHUNKS = 32,   /* parts in which drops are listed */
    SLAB_CELLS = 12,    /* depth of a 2D frame */
};

typedef struct builder {
    volume *v;
    drop_list drops;
    float width;    /* of the spline, voxels */
    bool nodes;     /* drops are the nodes themselves, and reach no others */
    bool flat;      /* 2D: every drop reaches through the slab */
    int slab[2];    /* first and last node of the slab along z */
    float per_node; /* kg/m^3 that a kilogram on one node makes */
    int chunks;
    uint32_t *counts; /* chunks x blocks: drops that a chunk adds to a block's list */
    size_t *starts;   /* blocks + 1 places in the list */
    uint32_t *list;   /* drops by block */
} builder;

/* The nodes along one axis that a drop reaches, and its share on each. */
typedef struct support {
    int first, last;
    float weight[MOST_SUPPORT];
} support;

/* ---- Where drops reach -------------------------------------------------------------------------- */

static float axis_of(vec3 x, int axis)
{
    return axis == 0 ? x.x : axis == 1 ? x.y : x.z;
}

static float drop_axis(const builder *b, const drop *d, int axis)
{
    return (axis_of(d->at, axis) - axis_of(b->v->low, axis)) / b->v->voxel;
}

static void support_range(const builder *b, const drop *d, int axis, support *s)
{
    if (b->flat && axis == 2) {
        s->first = b->slab[0], s->last = b->slab[1];
        return;
    }
    float x = drop_axis(b, d, axis), reach = 2 * b->width;
    if (b->nodes) {
        s->first = s->last = (int)lrintf(x);
        return;
    }
    s->first = (int)floorf(x - reach) + 1;
    s->last = (int)ceilf(x + reach) - 1;
}

static void support_weights(const builder *b, const drop *d, int axis, support *s)
{
    support_range(b, d, axis, s);
    float sum = 0, x = drop_axis(b, d, axis);
    for (int n = s->first; n <= s->last; n++) {
        bool whole = b->nodes || (b->flat && axis == 2);
        float w = whole ? 1 : cubic_n((x - (float)n) / b->width);
        s->weight[n - s->first] = w;
        sum += w;
    }
    if (b->flat && axis == 2)
        return;
    for (int n = s->first; n <= s->last; n++)
        s->weight[n - s->first] /= sum; /* exactly its mass, whatever the width */
}

/* Blocks that hold any of the nodes, a block's last nodes being its neighbour's first. */
typedef struct block_range {
    int first[3], last[3];
} block_range;

static block_range drop_blocks(const builder *b, const drop *d)
{
    block_range r;
    for (int a = 0; a < 3; a++) {
        support s;
        support_range(b, d, a, &s);
        r.first[a] = (s.first - 1) / BLOCK_CELLS;
        r.last[a] = s.last / BLOCK_CELLS;
    }
    return r;
}

#define FOR_BLOCKS(range, at)                                                                      \
    for ((at)[0] = (range).first[0]; (at)[0] <= (range).last[0]; (at)[0]++)                        \
        for ((at)[1] = (range).first[1]; (at)[1] <= (range).last[1]; (at)[1]++)                    \
            for ((at)[2] = (range).first[2]; (at)[2] <= (range).last[2]; (at)[2]++)

/* ---- The grid ----------------------------------------------------------------------------------- */

/* Number the entries that were marked, from 1, in their order. */
static size_t number_marks(uint32_t *marks, size_t count, size_t from)
{
    for (size_t i = 0; i < count; i++)
        if (marks[i])
            marks[i] = (uint32_t)++from;
    return from;
}

static firn_status make_regions(builder *b)
{
    volume *v = b->v;
    firn_status status = volume_allocate_table(v);
    if (status != FIRN_OK)
        return status;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->drops.count; i++) {
        block_range r = drop_blocks(b, &b->drops.items[i]);
        int at[3];
        FOR_BLOCKS(r, at)
        {
            uint32_t *mark = &v->table[volume_table_of_block(v, at)];
#pragma omp atomic write
            *mark = 1;
        }
    }
    size_t cells = (size_t)v->size[0] * (size_t)v->size[1] * (size_t)v->size[2];
    v->region_count = number_marks(v->table, cells, 0);
    return volume_allocate_regions(v);
}

static firn_status make_blocks(builder *b)
{
    volume *v = b->v;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->drops.count; i++) {
        block_range r = drop_blocks(b, &b->drops.items[i]);
        int at[3];
        FOR_BLOCKS(r, at)
        {
            uint32_t *mark = volume_number_of_block(v, at);
#pragma omp atomic write
            *mark = 1;
        }
    }
    for (size_t r = 0; r < v->region_count; r++)
        v->block_count = number_marks(v->regions[r].block, REGION_BLOCKS, v->block_count);
    return volume_allocate_blocks(v);
}

/* ---- The lists ---------------------------------------------------------------------------------- */

static size_t chunk_start(const builder *b, int chunk)
{
    return b->drops.count * (size_t)chunk / (size_t)b->chunks;
}

/* Either count the drops of a chunk by block, or put them in the places that `counts` has become. */
static void visit_chunk(builder *b, int chunk, bool counting)
{
    uint32_t *counts = b->counts + (size_t)chunk * b->v->block_count;
    for (size_t i = chunk_start(b, chunk); i < chunk_start(b, chunk + 1); i++) {
        block_range r = drop_blocks(b, &b->drops.items[i]);
        int at[3];
        FOR_BLOCKS(r, at)
        {
            size_t block = *volume_number_of_block(b->v, at) - 1;
            if (counting)
                counts[block]++;
            else
                b->list[b->starts[block] + counts[block]++] = (uint32_t)i;
        }
    }
}

/* A chunk's places in a block's list follow those of the chunks before it, so that lists are in the order
 * of drops however many chunks there are. */
static size_t place_chunks(builder *b)
{
    size_t total = 0, blocks = b->v->block_count;
    for (size_t n = 0; n < blocks; n++) {
        b->starts[n] = total;
        uint32_t before = 0;
        for (int c = 0; c < b->chunks; c++) {
            uint32_t *count = &b->counts[(size_t)c * blocks + n], own = *count;
            *count = before;
            before += own;
        }
        total += before;
    }
    b->starts[blocks] = total;
    return total;
}

static firn_status list_drops(builder *b)
{
    int threads = omp_get_max_threads();
    b->chunks = threads < MOST_CHUNKS ? threads : MOST_CHUNKS;
    b->counts = calloc(b->v->block_count * (size_t)b->chunks + 1, sizeof *b->counts);
    b->starts = malloc((b->v->block_count + 1) * sizeof *b->starts);
    if (!b->counts || !b->starts)
        return fail(FIRN_NO_MEMORY, "no memory to draw %zu particles", b->drops.count);
#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < b->chunks; c++)
        visit_chunk(b, c, true);
    b->list = malloc((place_chunks(b) + 1) * sizeof *b->list);
    if (!b->list)
        return fail(FIRN_NO_MEMORY, "no memory to draw %zu particles", b->drops.count);
#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < b->chunks; c++)
        visit_chunk(b, c, false);
    return FIRN_OK;
}

/* ---- The sums ----------------------------------------------------------------------------------- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void add_drop(const builder *b, const drop *d, const int corner[3], float *nodes)
{
    support s[3];
    int low[3], high[3];
    for (int a = 0; a < 3; a++) {
        support_weights(b, d, a, &s[a]);
        low[a] = larger(s[a].first, corner[a]);
        high[a] = smaller(s[a].last, corner[a] + BLOCK_CELLS);
    }
    float density = d->mass * b->per_node;
    for (int i = low[0]; i <= high[0]; i++)
        for (int j = low[1]; j <= high[1]; j++) {
            float share = density * s[0].weight[i - s[0].first] * s[1].weight[j - s[1].first];
            float *row = nodes + ((i - corner[0]) * BLOCK_SIDE + j - corner[1]) * BLOCK_SIDE;
            for (int k = low[2]; k <= high[2]; k++)
                row[k - corner[2]] += share * s[2].weight[k - s[2].first];
        }
}

static void sum_blocks(const builder *b)
{
    volume *v = b->v;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t n = 0; n < v->block_count; n++)
        for (size_t i = b->starts[n]; i < b->starts[n + 1]; i++)
            add_drop(b, &b->drops.items[b->list[i]], v->corners[n], v->blocks[n].nodes);
}

/* ---- Putting it together ------------------------------------------------------------------------ */

/* The grid's nodes are those of the world, so that the snow does not shimmer from frame to frame as its
 * extent changes; or those that drops are. One voxel more than the kernel reaches keeps all nodes
 * positive. */
static void lay_grid(builder *b, const double origin[3], double thickness)
{
    volume *v = b->v;
    const drop_list *d = &b->drops;
    const double voxel = v->voxel, margin = 2 * b->width + 2;
    double half = b->flat ? thickness / 2 / voxel : 0;
    float *low[3] = {&v->low.x, &v->low.y, &v->low.z};
    for (int a = 0; a < 3; a++) {
        double first = d->count ? axis_of(d->low, a) / voxel : 0;
        double last = d->count ? axis_of(d->high, a) / voxel : 0;
        double shift = origin[a] / voxel, wide = margin + (a == 2 ? half : 0);
        double corner = b->nodes ? first - ceil(wide) : floor(first - wide + shift) - shift;
        *low[a] = (float)(corner * voxel);
        v->size[a] = (int)ceil((last + wide - corner + 1) / REGION_CELLS);
        if (a == 2)
            b->slab[0] = (int)ceil(first - half - corner),
            b->slab[1] = (int)floor(last + half - corner);
    }
    double depth = b->flat ? 1 : voxel; /* of a node: in 2D masses are per metre */
    b->per_node = (float)(1 / (voxel * voxel * depth));
}

static firn_status build(builder *b, const firn_frame *frame, const double origin[3],
                         const volume_options *options)
{
    const float reach = (float)(MOST_REGIONS / 2 - 1) * REGION_CELLS * b->v->voxel;
    double thickness = options->thickness > 0
                           ? options->thickness
                           : fmin(SLAB_CELLS * frame->cell_size, (MOST_SUPPORT - 2) * b->v->voxel);
    firn_status status = drops_create(frame, origin, options, reach, &b->drops);
    if (status != FIRN_OK)
        return status;
    b->v->left_out = b->drops.left_out;
    if (b->drops.too_far > frame->count / 50)
        return fail(FIRN_USAGE,
                    "voxels of %g m reach %g m from the middle of the snow, and %zu of %zu "
                    "particles lie farther out; choose larger voxels",
                    (double)b->v->voxel, (double)reach, b->drops.too_far, frame->count);
    lay_grid(b, origin, thickness);
    if (b->drops.count == 0)
        b->v->size[0] = b->v->size[1] = b->v->size[2] = 0;
    if ((status = make_regions(b)) != FIRN_OK || (status = make_blocks(b)) != FIRN_OK ||
        (status = list_drops(b)) != FIRN_OK)
        return status;
    sum_blocks(b);
    return volume_finish(b->v);
}

static firn_status check(const firn_frame *frame, const volume_options *o)
{
    if (frame->count > 0 && (!frame->position || !frame->mass))
        return fail(FIRN_BAD_SCENE, "frame %d has no %s: snow cannot be drawn as a volume",
                    frame->frame, frame->position ? "masses" : "positions");
    if (o->shift != 0 && frame->count > 0 && !frame->velocity)
        return fail(FIRN_BAD_SCENE, "frame %d has no velocities: motion blur needs them%s",
                    frame->frame, frame->is_grid ? ", and particles rather than a volume" : "");
    if (o->voxel_size < 0 || !isfinite(o->voxel_size) || !isfinite(o->shift))
        return fail(FIRN_USAGE, "a voxel size of %g m; it must be positive", o->voxel_size);
    if (o->voxel_size == 0 && !(frame->cell_size > 0 && frame->cell_size < 1e6))
        return fail(FIRN_BAD_SCENE, "frame %d has a cell size of %g m; give a voxel size",
                    frame->frame, frame->cell_size);
    if (o->kernel_width != 0 && !(o->kernel_width >= 1 && o->kernel_width <= 4))
        return fail(FIRN_USAGE, "a kernel %g voxels wide; it must be 1 to 4", o->kernel_width);
    if (o->grains < 0 || o->grains > 1000)
        return fail(FIRN_USAGE, "%d grains a particle; it must be 1 to 1000", o->grains);
    if (frame->count * (size_t)(o->grains > 1 ? o->grains : 1) > UINT32_MAX)
        return fail(FIRN_USAGE, "%zu particles of %d grains are too many", frame->count, o->grains);
    return FIRN_OK;
}

firn_status volume_create(const firn_frame *frame, const double origin[3],
                          const volume_options *options, volume **out)
{
    const volume_options as_it_is = {.voxel_size = frame->cell_size,
                                     .shift = options ? options->shift : 0};
    const volume_options defaults = {0};
    if (!options || frame->is_grid)
        options = frame->is_grid ? &as_it_is : &defaults;
    firn_status status = check(frame, options);
    if (status != FIRN_OK)
        return status;
    builder b = {.v = calloc(1, sizeof *b.v),
                 .width = options->kernel_width > 0 ? (float)options->kernel_width : 1,
                 .nodes = frame->is_grid,
                 .flat = frame->dimensions == 2};
    if (!b.v)
        return fail(FIRN_NO_MEMORY, "no memory for a density grid");
    b.v->voxel = (float)(options->voxel_size > 0 ? options->voxel_size : frame->cell_size / 2);
    double layers = options->thickness / b.v->voxel;
    if (b.flat && layers > MOST_SUPPORT - 1)
        status = fail(FIRN_USAGE, "a slab %g m thick is %.0f voxels deep; at most %d can be drawn",
                      options->thickness, layers, MOST_SUPPORT - 1);
    else
        status = build(&b, frame, origin, options);
    drops_clear(&b.drops);
    free(b.counts);
    free(b.starts);
    free(b.list);
    if (status != FIRN_OK)
        volume_destroy(&b.v);
    *out = b.v;
    return status;
}
