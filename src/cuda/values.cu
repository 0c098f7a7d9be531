/* Values of the particles in and out, by rows; and what they bound. */
#include "cuda/stencil.cuh"

enum { VALUE_THREADS = 256 };

/* Farther out a cell number and an offset of 2^-26 no longer fit a double's 53 bits; nor a block's
 * coordinate its 21 bits in a hash key. */
static const double FARTHEST_CELL = 0x1p22;

static unsigned groups(size_t items)
{
    return (unsigned)((items + VALUE_THREADS - 1) / VALUE_THREADS);
}

/* ---- In --------------------------------------------------------------------------------------- */

/* Component k of an attribute: its array, or -1. Matrices of 2D fill the corner of those of 3D. */
static int array_of(firn_attribute attribute, int k, int dimensions, bool affine)
{
    int matrix = dimensions == 2 ? k / 2 * 3 + k % 2 : k;
    switch (attribute) {
    case FIRN_VELOCITY:
        return V_X + k;
    case FIRN_F_E:
        return F_FIRST + matrix;
    case FIRN_J_P:
        return J_P;
    case FIRN_B:
        return affine ? B_FIRST + matrix : -1;
    case FIRN_MASS:
        return MASS;
    case FIRN_VOLUME:
        return VOLUME;
    case FIRN_MU0:
        return MU0;
    case FIRN_LAMBDA0:
        return LAMBDA0;
    case FIRN_HARDENING:
        return XI;
    case FIRN_THETA_C:
        return THETA_C;
    case FIRN_THETA_S:
        return THETA_S;
    default:
        return -1;
    }
}

/* The unit of what is stored. */
static double unit_of(const backend *s, firn_attribute attribute)
{
    return attribute == FIRN_B ? s->settings->cell_size : 1;
}

static firn_status copy_in(void *to, const void *from, size_t bytes)
{
    return cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice),
                      "copying particles to the GPU");
}

static __global__ void put_values(particles_view p, int array, uint32_t first, uint32_t count,
                                  const float *values)
{
    uint32_t r = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (r < count)
        p[first + r][array] = values[r];
}

/* One array of some rows, 4 bytes each. */
static firn_status put(backend *s, int array, size_t first, size_t count, const void *values)
{
    firn_status status = copy_in(s->staging, values, count * sizeof(float));
    if (status == FIRN_OK && count > 0)
        put_values<<<groups(count), VALUE_THREADS>>>(s->p, array, (uint32_t)first, (uint32_t)count,
                                                     (const float *)s->staging);
    return status;
}

/* One axis of positions, as cells and offsets. */
static firn_status set_axis(backend *s, int axis, size_t first, size_t count, const double *values)
{
    int d = s->settings->dimensions;
    int32_t *cells = (int32_t *)s->host_staging, *offsets = cells + count;
    for (size_t r = 0; r < count; r++) {
        double x = axis < d ? values[r * (size_t)d + (size_t)axis] : 0;
        double u = axis < d ? x / s->settings->cell_size - place_origin(s->settings) : 0;
        if (!(fabs(u) < FARTHEST_CELL))
            return fail(FIRN_BAD_SCENE,
                        "particle row %zu is at %g m: more than %g cells from the origin",
                        first + r, x, FARTHEST_CELL);
        double cell = floor(u), offset = rint((u - cell) * 0x1p26);
        bool carried = offset >= 0x1p26;
        cells[r] = (int32_t)cell + carried;
        offsets[r] = carried ? 0 : (int32_t)offset;
    }
    firn_status status = copy_in(s->start[axis] + first, cells, count * sizeof *cells);
    return status == FIRN_OK ? put(s, AT_X + axis, first, count, offsets) : status;
}

static firn_status set_rows(backend *s, firn_attribute attribute, size_t first, size_t count,
                            const double *values)
{
    int d = s->settings->dimensions, width = firn_attribute_components(attribute, d);
    firn_status status = FIRN_OK;
    if (attribute == FIRN_POSITION) {
        for (int a = 0; a < 3 && status == FIRN_OK; a++)
            status = set_axis(s, a, first, count, values);
        return status;
    }
    float *column = (float *)s->host_staging;
    for (int k = 0; k < width && status == FIRN_OK; k++) {
        int array = array_of(attribute, k, d, s->affine);
        if (array < 0)
            continue;
        for (size_t r = 0; r < count; r++) {
            double value = values[r * (size_t)width + (size_t)k];
            column[r] = (float)(value / unit_of(s, attribute));
        }
        status = put(s, array, first, count, column);
    }
    return status;
}

firn_status cuda_set(backend *s, firn_attribute attribute, size_t first, size_t count,
                     const double *values)
{
    if (s->sorted)
        return fail(FIRN_USAGE, "values can only be set before the first step");
    s->limits_known = false;
    size_t width = (size_t)firn_attribute_components(attribute, s->settings->dimensions);
    firn_status status = FIRN_OK;
    for (size_t done = 0; done < count && status == FIRN_OK; done += STAGING_ROWS) {
        size_t rows = count - done < STAGING_ROWS ? count - done : STAGING_ROWS;
        status = set_rows(s, attribute, first + done, rows, values + done * width);
    }
    return status;
}

/* ---- Out -------------------------------------------------------------------------------------- */

static __global__ void note_places(uint32_t count, particles_view p, uint32_t *place)
{
    uint32_t k = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (k < count)
        place[p[k].row()] = k;
}

typedef struct get_view {
    const uint32_t *place; /* slot of a row; NULL: the same */
    uint32_t first, count;
    int width;
    particles_view p;
    int array[9]; /* -1: zero */
    double unit;
    double *out;
} get_view;

static __global__ void get_values(const get_view g)
{
    uint32_t r = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (r >= g.count)
        return;
    uint32_t slot = g.place ? g.place[g.first + r] : g.first + r;
    for (int k = 0; k < g.width; k++)
        g.out[(size_t)r * (size_t)g.width + (size_t)k] =
            g.array[k] >= 0 ? (double)g.p[slot][g.array[k]] * g.unit : 0;
}

typedef struct get_places_view {
    get_view get;
    homes_view home;         /* of a slot */
    const int4 *at;          /* of homes */
    const int32_t *start[3]; /* cells of rows, when not sorted */
    double origin, cell_size;
} get_places_view;

static __global__ void get_places(const get_places_view p)
{
    const get_view &g = p.get;
    uint32_t r = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (r >= g.count)
        return;
    uint32_t slot = g.place ? g.place[g.first + r] : g.first + r;
    for (int k = 0; k < g.width; k++) {
        double cells = (double)g.p[slot].place(k) * 0x1p-26 + p.origin;
        if (p.home.first) {
            cells += home_begin(p.at[p.home[slot]], k);
        } else {
            cells += p.start[k][slot];
        }
        g.out[(size_t)r * (size_t)g.width + (size_t)k] = cells * p.cell_size;
    }
}

void know_places(const backend *s)
{
    backend *cache = (backend *)s;
    if (!s->sorted || s->places_known || s->count == 0)
        return;
    note_places<<<groups(s->count), VALUE_THREADS, 0, s->stream>>>((uint32_t)s->count, s->p,
                                                                   s->order);
    cache->places_known = true;
}

static firn_status get_rows(const backend *s, firn_attribute attribute, size_t first, size_t count,
                            double *values)
{
    int d = s->settings->dimensions;
    get_view g = {};
    g.place = s->sorted ? s->order : NULL;
    g.first = (uint32_t)first;
    g.count = (uint32_t)count;
    g.width = firn_attribute_components(attribute, d);
    g.p = s->p;
    g.unit = unit_of(s, attribute);
    g.out = s->staging;
    if (attribute == FIRN_POSITION) {
        get_places_view p = {};
        for (int a = 0; a < d; a++)
            p.start[a] = s->start[a];
        p.get = g;
        p.home = s->home;
        p.at = s->grid.at;
        p.origin = place_origin(s->settings);
        p.cell_size = s->settings->cell_size;
        get_places<<<groups(count), VALUE_THREADS, 0, s->stream>>>(p);
    } else {
        for (int k = 0; k < g.width; k++)
            g.array[k] = array_of(attribute, k, d, s->affine);
        get_values<<<groups(count), VALUE_THREADS, 0, s->stream>>>(g);
    }
    firn_status status =
        cuda_check(cudaMemcpyAsync(values, s->staging, count * (size_t)g.width * sizeof *values,
                                   cudaMemcpyDeviceToHost, s->stream),
                   "copying particles from the GPU");
    return status == FIRN_OK
               ? cuda_check(cudaStreamSynchronize(s->stream), "copying particles from the GPU")
               : status;
}

firn_status cuda_get(const backend *s, firn_attribute attribute, size_t first, size_t count,
                     double *values)
{
    if (count == 0)
        return FIRN_OK;
    firn_status status = settle((backend *)s);
    know_places(s);
    size_t width = (size_t)firn_attribute_components(attribute, s->settings->dimensions);
    for (size_t done = 0; done < count && status == FIRN_OK; done += STAGING_ROWS) {
        size_t rows = count - done < STAGING_ROWS ? count - done : STAGING_ROWS;
        status = get_rows(s, attribute, first + done, rows, values + done * width);
    }
    return status;
}

/* ---- Limits ----------------------------------------------------------------------------------- */

static __global__ void know_waves(particles_view p, uint32_t count)
{
    uint32_t k = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (k < count)
        p[k][LOG_WAVE2] =
            logf(fmaxf(p[k][LAMBDA0] + 2 * p[k][MU0], FLT_MIN) * (p[k][VOLUME] / p[k][MASS]));
}

void waves_launch(const particles_view *p, size_t count, cudaStream_t stream)
{
    if (count > 0)
        know_waves<<<groups(count), VALUE_THREADS, 0, stream>>>(*p, (uint32_t)count);
}

/* What never changes while particles neither come nor go. */
struct material_limits {
    uint32_t mass = 0, lightness = 0, strain = 0;

    __device__ void add(float m, float theta_c, float theta_s)
    {
        float low = 1 - theta_c, high = 1 + theta_s;
        mass = max(mass, __float_as_uint(m));
        lightness = max(lightness, __float_as_uint(1 / m));
        strain = max(strain, __float_as_uint(fmaxf(fabsf(1 - low * low), fabsf(high * high - 1))));
    }

    __device__ void tell(outcome *out) const
    {
        raise(&out->max_mass, mass);
        raise(&out->max_lightness, lightness);
        raise(&out->max_strain, strain);
    }
};

static __global__ void find_limits(const pass_view s, uint32_t count, float inv_D_reach)
{
    uint32_t k = blockIdx.x * VALUE_THREADS + threadIdx.x;
    particle_limits limits;
    material_limits materials;
    if (k < count) {
        const particle q = s.p[k];
        limits.add_velocity(load_velocity(q));
        limits.add_stress(q[LOG_WAVE2], q[XI], q[J_P], strain(load_mat(q, F_FIRST)));
        if (inv_D_reach > 0)
            limits.add_affine(load_mat(q, B_FIRST), inv_D_reach);
        materials.add(q[MASS], q[THETA_C], q[THETA_S]);
    }
    __syncwarp();
    limits.tell<true, true>(s.out, 0);
    materials.tell(s.out);
}

void limits_launch(const pass_view *pass, size_t count, float inv_D_reach, cudaStream_t stream)
{
    if (count > 0)
        find_limits<<<groups(count), VALUE_THREADS, 0, stream>>>(*pass, (uint32_t)count,
                                                                 inv_D_reach);
}

/* ---- Bounds ----------------------------------------------------------------------------------- */

typedef struct box_view {
    particles_view p;
    homes_view home;
    const int4 *at;
    const int32_t *start[3];
    uint32_t count;
    int *box;
} box_view;

static __global__ void find_box(const box_view b, const pass_view pass)
{
    uint32_t k = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (pass.in_row && pass.halted())
        return;
    for (int a = 0; a < 3; a++) {
        int low = INT32_MAX, high = INT32_MAX;
        if (k < b.count) {
            int cell = b.home.first ? b.p[k].place(a) >> PLACE_BITS : b.start[a][k];
            if (b.home.first)
                cell += home_begin(b.at[b.home[k]], a);
            low = cell >> 2;
            high = ~low;
        }
        for (int n = 16; n > 0; n >>= 1) {
            low = min(low, __shfl_xor_sync(0xffffffffu, low, n));
            high = min(high, __shfl_xor_sync(0xffffffffu, high, n));
        }
        if ((threadIdx.x & 31) == 0) {
            if (low < *(volatile int *)&b.box[a])
                atomicMin(&b.box[a], low);
            if (high < *(volatile int *)&b.box[3 + a])
                atomicMin(&b.box[3 + a], high);
        }
    }
}

int *box_of(const backend *s)
{
    return (int *)s->staging;
}

void box_launch(const backend *s, const pass_view *pass)
{
    box_view b = {};
    for (int a = 0; a < 3; a++)
        b.start[a] = s->start[a];
    b.p = s->p;
    b.home = s->home;
    b.at = s->grid.at;
    b.count = (uint32_t)s->count;
    b.box = box_of(s);
    cudaMemsetAsync(b.box, 0x7f, BOX_VALUES * sizeof *b.box, s->stream); /* beyond any block */
    if (s->count > 0)
        find_box<<<groups(s->count), VALUE_THREADS, 0, s->stream>>>(b, pass ? *pass : pass_view{});
}

firn_status box_read(const backend *s, int box[BOX_VALUES])
{
    box_launch(s, NULL);
    cudaMemcpyAsync(box, box_of(s), BOX_VALUES * sizeof *box, cudaMemcpyDeviceToHost, s->stream);
    return cuda_check(cudaStreamSynchronize(s->stream), "finding where particles are");
}

/* By whole blocks, as cpu does: the cells of block b have their corners in 4 b .. 4 b + 5. */
void cuda_bounds(const backend *s, double low[3], double high[3])
{
    int box[BOX_VALUES] = {};
    const bool none = s->count == 0 || box_read(s, box) != FIRN_OK;
    for (int a = 0; a < 3; a++) {
        bool flat = a >= s->settings->dimensions;
        low[a] = flat ? 0 : none ? INFINITY : 4.0 * box[a] * s->settings->cell_size;
        high[a] = flat ? 0 : none ? -INFINITY : (4.0 * ~box[a + 3] + 5) * s->settings->cell_size;
    }
}

/* ---- Particles that come and go ---------------------------------------------------------------- */

typedef struct reshape_view {
    particles_view from, to;
    int arrays;
    const uint32_t *row;     /* of the old state, by rows of the new one */
    const uint32_t *place;   /* slot of an old row; NULL: the same */
    homes_view home;         /* of a slot */
    const int4 *at;          /* of homes */
    const int32_t *start[3]; /* cells of old rows, when not sorted */
    int32_t *to_start[3];
    uint32_t count;
} reshape_view;

/* The rows that stay, as if they had just been set. */
static __global__ void move_rows(const reshape_view v)
{
    uint32_t r = blockIdx.x * VALUE_THREADS + threadIdx.x;
    if (r >= v.count)
        return;
    uint32_t slot = v.place ? v.place[v.row[r]] : v.row[r];
    for (int a = 0; a < v.arrays; a++)
        if (a != ROW)
            v.to[r][a] = v.from[slot][a];
    for (int a = 0; a < 3; a++) {
        int at = v.from[slot].place(a);
        int cell = v.home.first ? at >> PLACE_BITS : v.start[a][slot];
        if (v.home.first)
            cell += home_begin(v.at[v.home[slot]], a);
        v.to_start[a][r] = cell;
        v.to[r].place(a) = at & ((1 << PLACE_BITS) - 1);
    }
}

static firn_status copy_rows(backend *old, backend *s, const uint32_t *row, size_t stay)
{
    uint32_t *on_gpu = NULL;
    firn_status status = device_allocate(&on_gpu, stay * sizeof *on_gpu, "a list of rows");
    if (status == FIRN_OK)
        status = copy_in(on_gpu, row, stay * sizeof *on_gpu);
    if (status == FIRN_OK && stay > 0) {
        reshape_view v = {};
        v.from = old->p;
        v.to = s->p;
        v.arrays = s->array_count;
        v.row = on_gpu;
        v.place = old->sorted ? old->order : NULL;
        v.home = old->home;
        v.at = old->grid.at;
        for (int a = 0; a < 3; a++) {
            v.start[a] = old->start[a];
            v.to_start[a] = s->start[a];
        }
        v.count = (uint32_t)stay;
        move_rows<<<groups(stay), VALUE_THREADS, 0, s->stream>>>(v);
        status = cuda_check(cudaStreamSynchronize(s->stream), "moving particles");
    }
    device_free(&on_gpu);
    return status;
}

firn_status cuda_reshape(backend *s, const bool *kept, size_t added)
{
    firn_status status = settle(s);
    if (status != FIRN_OK)
        return status;
    size_t stay = 0;
    uint32_t *row = (uint32_t *)malloc((s->count + 1) * sizeof *row);
    if (!row)
        return fail(FIRN_NO_MEMORY, "out of memory for a list of %zu rows", s->count);
    for (size_t r = 0; r < s->count; r++)
        if (!kept || kept[r])
            row[stay++] = (uint32_t)r;
    know_places(s);
    backend old = *s;
    uint64_t steps = s->steps;
    forget_particles(s);
    status = cuda_resize(s, stay + added);
    if (status == FIRN_OK)
        status = copy_rows(&old, s, row, stay);
    backend *leaving = status == FIRN_OK ? &old : s;
    free_particles(leaving);
    sort_free(leaving);
    if (status == FIRN_OK)
        s->steps = steps;
    else
        *s = old;
    free(row);
    return status;
}
