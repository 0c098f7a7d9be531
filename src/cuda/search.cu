/*
 * The particles in some parts of space, for those who need few of all, such as kill regions: the host chooses among
 * the balls around homes, and gets only the particles of these.
 */
#include "cuda/state.cuh"

enum { SEARCH_THREADS = 128, SEARCH_ROWS = STAGING_ROWS };

/* Some particles of a home, and where they go. */
typedef struct search_piece {
    uint32_t home, first, count, to;
} search_piece;

/* In the memory of values on their way. */
typedef struct search_memory {
    double x[SEARCH_ROWS][3];
    uint32_t row[SEARCH_ROWS];
    search_piece piece[SEARCH_ROWS];
} search_memory;

static_assert(sizeof(search_memory) <= STAGING_ROWS * 9 * sizeof(double), "no room to search");

typedef struct search_view {
    particles_view p;
    const int4 *at;
    double origin, cell_size;
    bool planar;
    search_memory *memory;
} search_view;

/* A CUDA block a piece. */
static __global__ void __launch_bounds__(SEARCH_THREADS) fetch_pieces(const search_view s)
{
    const search_piece piece = s.memory->piece[blockIdx.x];
    const int4 at = s.at[piece.home];
    for (uint32_t n = threadIdx.x; n < piece.count; n += SEARCH_THREADS) {
        const particle q = s.p[piece.first + n];
        for (int a = 0; a < 3; a++) {
            double cells = home_begin(at, a) + s.origin + (double)q.place(a) * 0x1p-26;
            s.memory->x[piece.to + n][a] = a == 2 && s.planar ? 0 : cells * s.cell_size;
        }
        s.memory->row[piece.to + n] = q.row();
    }
}

/* What the host knows of the homes. */
typedef struct home_lists {
    size_t count;
    int4 *at;
    uint32_t *first, *particles;
    double (*middle)[3];
    bool *wanted;
} home_lists;

static void lists_free(home_lists *h)
{
    free(h->at);
    free(h->first);
    free(h->particles);
    free(h->middle);
    free(h->wanted);
}

static firn_status lists_read(const backend *s, home_lists *h)
{
    const size_t n = h->count = s->grid.home_count;
    h->at = (int4 *)malloc((n + 1) * sizeof *h->at);
    h->first = (uint32_t *)malloc((n + 1) * sizeof *h->first);
    h->particles = (uint32_t *)malloc((n + 1) * sizeof *h->particles);
    h->middle = (double(*)[3])malloc((n + 1) * sizeof *h->middle);
    h->wanted = (bool *)calloc(n + 1, sizeof *h->wanted);
    if (!h->at || !h->first || !h->particles || !h->middle || !h->wanted)
        return fail(FIRN_NO_MEMORY, "out of memory for %zu blocks", n);
    cudaMemcpyAsync(h->at, s->grid.at, n * sizeof *h->at, cudaMemcpyDeviceToHost, s->stream);
    cudaMemcpyAsync(h->first, s->grid.first, n * sizeof *h->first, cudaMemcpyDeviceToHost,
                    s->stream);
    cudaMemcpyAsync(h->particles, s->grid.count, n * sizeof *h->particles, cudaMemcpyDeviceToHost,
                    s->stream);
    return cuda_check(cudaStreamSynchronize(s->stream), "searching particles");
}

/* Balls around homes, with a cell of drift and one of the step that made a sort due: which of them are wanted. */
static void lists_choose(const backend *s, balls_fn *want, void *user, home_lists *h)
{
    const double size = s->settings->cell_size, origin = place_origin(s->settings);
    const int d = s->settings->dimensions;
    for (size_t n = 0; n < h->count; n++)
        for (int a = 0; a < 3; a++)
            h->middle[n][a] = a < d ? (home_begin(h->at[n], a) + origin + 2) * size : 0;
    want(user, (const double(*)[3])h->middle, h->count, 4.001 * sqrt((double)d) * size, h->wanted);
}

/* Fetches `pieces` pieces with `rows` rows, and shows them. */
static firn_status show_pieces(const search_view *view, search_memory *host, uint32_t pieces,
                               uint32_t rows, places_fn *visit, void *user, cudaStream_t stream)
{
    search_memory *device = view->memory;
    cudaMemcpyAsync(device->piece, host->piece, pieces * sizeof *host->piece,
                    cudaMemcpyHostToDevice, stream);
    fetch_pieces<<<pieces, SEARCH_THREADS, 0, stream>>>(*view);
    cudaMemcpyAsync(host->x, device->x, rows * sizeof *host->x, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(host->row, device->row, rows * sizeof *host->row, cudaMemcpyDeviceToHost,
                    stream);
    firn_status status = cuda_check(cudaStreamSynchronize(stream), "searching particles");
    if (status == FIRN_OK)
        visit(user, host->row, (const double(*)[3])host->x, rows);
    return status;
}

/* The wanted homes, as many particles at a time as there is room for. */
static firn_status show_wanted(const backend *s, const home_lists *h, search_memory *host,
                               places_fn *visit, void *user)
{
    const search_view view = {.p = s->p,
                              .at = s->grid.at,
                              .origin = place_origin(s->settings),
                              .cell_size = s->settings->cell_size,
                              .planar = s->settings->dimensions == 2,
                              .memory = (search_memory *)s->staging};
    uint32_t pieces = 0, rows = 0;
    firn_status status = FIRN_OK;
    for (size_t n = 0; n < h->count; n++) {
        uint32_t done = 0, all = h->wanted[n] ? h->particles[n] : 0;
        while (done < all && status == FIRN_OK) {
            const uint32_t room = SEARCH_ROWS - rows, count = all - done < room ? all - done : room;
            host->piece[pieces++] = (search_piece){(uint32_t)n, h->first[n] + done, count, rows};
            done += count;
            rows += count;
            if (rows < SEARCH_ROWS)
                continue;
            status = show_pieces(&view, host, pieces, rows, visit, user, s->stream);
            pieces = rows = 0;
        }
    }
    return status == FIRN_OK && rows > 0
               ? show_pieces(&view, host, pieces, rows, visit, user, s->stream)
               : status;
}

firn_status cuda_search(backend *s, balls_fn *want, places_fn *visit, void *user)
{
    home_lists homes = {};
    search_memory *host = (search_memory *)malloc(sizeof *host);
    firn_status status = host ? FIRN_OK : fail(FIRN_NO_MEMORY, "out of memory for particle values");
    if (status == FIRN_OK && s->count > 0 && !s->sorted)
        status = sort_particles(s);
    if (status == FIRN_OK && s->count > 0)
        status = lists_read(s, &homes);
    if (status == FIRN_OK && s->count > 0) {
        lists_choose(s, want, user, &homes);
        status = show_wanted(s, &homes, host, visit, user);
    }
    lists_free(&homes);
    free(host);
    return status;
}
