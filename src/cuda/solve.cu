/* The order of the kernels of step 6, as in cpu/solve.c. Each line of algebra is one pass. */
#include "cuda/solve.cuh"

extern "C" {
#include "method/solve_control.h"
}

/* Iterations between two looks of the host. */
enum { ITERATIONS_AT_ONCE = 8 };

/* Products done again in one solve; more only where values are not finite. */
enum { MOST_OVERFLOWS = 64 };

struct solver {
    solve_view view;
    solve_kernels run;
    size_t block_capacity, particle_capacity;
    int shift;           /* bits of the range given up in products, so that all sums fit */
    int safe_shift;      /* and in other sums, which fit for certain */
    solve_control *seen; /* pinned, on the host */
    cudaStream_t stream;
};

/* ---- Memory ------------------------------------------------------------------------------------- */

/* The vectors that these settings ask for. */
static bool is_wanted(const firn_settings *settings, int vector)
{
    switch (vector) {
    case SOLVE_Z:
    case SOLVE_DIAGONAL:
        return settings->preconditioner != FIRN_NO_PRECONDITIONER;
    case SOLVE_BESIDE:
        return settings->preconditioner == FIRN_BLOCK;
    case SOLVE_V:
    case SOLVE_U:
        return settings->newton_iterations > 1;
    default:
        return true;
    }
}

static int sums_wanted(const firn_settings *settings)
{
    return settings->newton_iterations > 1 ? 2 : 1;
}

double solver_memory(const firn_settings *settings, double particles, double nodes)
{
    double node = sums_wanted(settings) * sizeof(solve_sums);
    for (int k = 0; k < SOLVE_VECTORS; k++)
        node += is_wanted(settings, k) ? sizeof(float4) : 0;
    return particles * TANGENT_FLOATS * sizeof(float) + node * nodes;
}

static void free_fields(solver *o)
{
    solve_view *v = &o->view;
    if (!v->preconditioned)
        v->vector[SOLVE_Z] = NULL; /* it was R */
    for (int k = 0; k < SOLVE_VECTORS; k++)
        device_free(&v->vector[k]);
    device_free(&v->sums[0]);
    device_free(&v->sums[1]);
    o->block_capacity = 0;
}

void solver_free(solver **self)
{
    solver *o = *self;
    if (!o)
        return;
    free_fields(o);
    device_free(&o->view.tangents);
    device_free(&o->view.control);
    cudaFreeHost(o->seen);
    free(o);
    *self = NULL;
}

static firn_status make_fields(solver *o, const firn_settings *settings, size_t blocks)
{
    solve_view *v = &o->view;
    free_fields(o);
    firn_status status = FIRN_OK;
    for (int k = 0; k < SOLVE_VECTORS && status == FIRN_OK; k++)
        if (is_wanted(settings, k))
            status = device_allocate(&v->vector[k], blocks * BLOCK_CELLS * sizeof(float4),
                                     "vectors of the solver");
    for (int k = 0; k < sums_wanted(settings) && status == FIRN_OK; k++)
        status = device_allocate(&v->sums[k], blocks * BLOCK_CELLS * sizeof(solve_sums),
                                 "sums of the solver");
    if (!v->preconditioned)
        v->vector[SOLVE_Z] = v->vector[SOLVE_R];
    o->block_capacity = status == FIRN_OK ? blocks : 0;
    return status;
}

static firn_status make_tangents(solver *o, size_t particles)
{
    device_free(&o->view.tangents);
    o->particle_capacity = 0;
    firn_status status = device_allocate(
        &o->view.tangents, particles * TANGENT_FLOATS * sizeof(float), "derivatives of the stress");
    if (status == FIRN_OK)
        o->particle_capacity = o->view.tangent_stride = particles;
    return status;
}

static firn_status make_solver(backend *b)
{
    const firn_settings *settings = b->settings;
    solver *o = b->solver = (solver *)calloc(1, sizeof *o);
    if (!o)
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    o->run = solve_kernels_find(settings);
    o->stream = b->stream;
    o->view.node_bytes = (int)b->node_bytes;
    o->view.preconditioned = settings->preconditioner != FIRN_NO_PRECONDITIONER;
    o->view.diagonal = settings->preconditioner == FIRN_DIAGONAL;
    firn_status status =
        device_allocate(&o->view.control, sizeof *o->view.control, "the state of a solve");
    if (status == FIRN_OK)
        status = cuda_check(cudaMallocHost((void **)&o->seen, sizeof *o->seen), "starting");
    return status;
}

/* What one contribution may use of a sum's range. */
static float room_of(int shift)
{
    return 0.99f * ldexpf(FIXED_LARGEST, -shift);
}

/* Bits to give up so that all particles that reach a node, each with the largest contribution, fit into a sum. */
static int shift_for(const firn_settings *settings, uint32_t densest)
{
    double cells = pow(stencil_width(settings), settings->dimensions);
    return (int)fmax(0, ceil(log2(cells * densest * FIXED_LARGEST / FIXED_SUM_LIMIT)));
}

firn_status solver_note(backend *b, const pass_view *pass)
{
    firn_status status = b->solver ? FIRN_OK : make_solver(b);
    if (status != FIRN_OK)
        return status;
    solver *o = b->solver;
    size_t blocks = pass->grid.block_count;
    if (blocks > o->block_capacity)
        status = make_fields(o, b->settings, blocks + blocks / 8);
    if (status == FIRN_OK && b->count > o->particle_capacity)
        status = make_tangents(o, b->count);
    if (status != FIRN_OK)
        return status;
    o->view.pass = *pass;
    o->run.note(&o->view, o->stream);
    return cuda_check(cudaGetLastError(), "preparing to solve");
}

/* ---- Passes ------------------------------------------------------------------------------------- */

static firn_status see(solver *o)
{
    cudaMemcpyAsync(o->seen, o->view.control, sizeof *o->seen, cudaMemcpyDeviceToHost, o->stream);
    firn_status status = cuda_check(cudaGetLastError(), "solving");
    return status == FIRN_OK ? cuda_check(cudaStreamSynchronize(o->stream), "solving") : status;
}

static void rows(solver *o, solve_rows pass)
{
    solve_rows_launch(&o->view, pass, o->stream);
}

/* A pass and its sum; NAN when the GPU fails, which the step finds out at its end. */
static double sum_of(solver *o, solve_rows pass)
{
    rows(o, pass);
    return see(o) == FIRN_OK ? o->seen->result : NAN;
}

/* Nothing is known of the contributions to come. */
static void forget_contributions(solver *o)
{
    cudaMemsetAsync(o->view.control, 0, offsetof(solve_control, iterations), o->stream);
}

/* H z of a vector, with a unit that fits. */
static void multiply(solver *o, int vector)
{
    forget_contributions(o);
    o->view.room = room_of(o->shift);
    o->run.apply(&o->view, vector, true, o->stream);
    o->run.apply(&o->view, vector, false, o->stream);
}

/* Whether the sums just taken were too large for their range. The next have more room. */
static bool overflowed(solver *o)
{
    if (!o->seen->sums_overflow || o->shift > FIXED_BITS)
        return false;
    o->shift += 2;
    return true;
}

static void precondition_part(backend *b, bool beside)
{
    solver *o = b->solver;
    forget_contributions(o);
    o->view.room = room_of(o->safe_shift);
    o->run.blocks(&o->view, beside, true, o->stream);
    o->run.blocks(&o->view, beside, false, o->stream);
    rows(o, beside ? ROWS_TAKE_BESIDE : ROWS_TAKE_ON);
}

static void differentiate(backend *b, int at)
{
    solver *o = b->solver;
    bool positive = b->settings->hessian == FIRN_PROJECTED;
    if (o->view.preconditioned) { /* made of the clamped one, so that they can be inverted */
        o->view.positive = true;
        o->run.prepare(&o->view, at, o->stream);
        precondition_part(b, false);
        if (!o->view.diagonal)
            precondition_part(b, true);
        rows(o, ROWS_INVERT);
    }
    if (!o->view.preconditioned || !positive) {
        o->view.positive = positive;
        o->run.prepare(&o->view, at, o->stream);
    }
}

static void clear_sums(backend *b)
{
    solver *o = b->solver;
    for (int k = 0; k < sums_wanted(b->settings); k++)
        cudaMemsetAsync(o->view.sums[k], 0,
                        o->view.pass.grid.block_count * BLOCK_CELLS * sizeof(solve_sums),
                        o->stream);
}

/* Counted anew: what the last sort found would show in the bits when that was. */
static void find_safe_shift(backend *b)
{
    solver *o = b->solver;
    o->run.crowd(&o->view, o->stream);
    if (see(o) == FIRN_OK)
        o->safe_shift = shift_for(b->settings, o->seen->densest);
    clear_sums(b);
}

/* ---- The linear system -------------------------------------------------------------------------- */

/* r <- -Q beta dt^2 M^-1 H v*; returns |r|. */
static double find_residual(solver *o)
{
    do {
        rows(o, ROWS_BEGIN);
        multiply(o, SOLVE_Z);
        sum_of(o, ROWS_RESIDUAL);
    } while (overflowed(o));
    return o->seen->size;
}

/* Conjugate residuals for A x = r, from x = 0, until |r| <= target. Given and returned: |r|. */
static double conjugate_residual(backend *b, double size, double target)
{
    solver *o = b->solver;
    rows(o, ROWS_START); // x <- 0, z <- P^-1 r
    if (size <= target)
        return size;
    o->view.target = target;
    o->view.looped = true;
    int again = 0;
    do {
        if (again == 0 || o->seen->verdict == SOLVE_OVERFLOW) {
            multiply(o, SOLVE_Z);
            rows(o, ROWS_PRODUCT);
            again++;
        }
        for (int n = 0; n < ITERATIONS_AT_ONCE; n++) {
            rows(o, ROWS_TURN);    // p <- z + beta p, <A p, P^-1 A p>
            rows(o, ROWS_ADVANCE); // x <- x + alpha p, r <- r - alpha A p
            o->run.apply(&o->view, SOLVE_Z, false, o->stream);
            rows(o, ROWS_PRODUCT);
        }
        if (see(o) != FIRN_OK)
            break;
        overflowed(o);
    } while (o->seen->verdict == SOLVE_GOES_ON ||
             (o->seen->verdict == SOLVE_OVERFLOW && again < MOST_OVERFLOWS));
    o->view.looped = false;
    return o->seen->size;
}

/* ---- Newton's method ---------------------------------------------------------------------------- */

/* E(v) = <v - u, v - u> / 2 + beta sum_p V0 Psi(F(v)) */
static double potential(backend *b)
{
    solver *o = b->solver;
    double kinetic = sum_of(o, ROWS_KINETIC);
    o->run.energy(&o->view, o->stream);
    return see(o) == FIRN_OK ? kinetic + b->settings->beta * o->seen->result : NAN;
}

/* f(F(v)) */
static void find_forces(backend *b)
{
    solver *o = b->solver;
    forget_contributions(o);
    o->view.room = room_of(o->safe_shift);
    o->run.forces(&o->view, true, o->stream);
    o->run.forces(&o->view, false, o->stream);
}

/* r <- -Q M^-1 grad E; returns |r|. */
static double find_gradient(backend *b)
{
    find_forces(b);
    double square = sum_of(b->solver, ROWS_GRADIENT);
    return b->solver->seen->sums_overflow ? NAN : sqrt(square);
}

static void walk(solver *o, double t)
{
    o->view.walk = (float)t;
    rows(o, ROWS_WALK);
}

/* v <- v + t x with the first t = 1, 1/2, 1/4, ... that lowers E; false when none does. */
static bool line_search(backend *b)
{
    solver *o = b->solver;
    const double slope = -sum_of(o, ROWS_SLOPE);
    const double before = potential(b), rounding = (double)FLT_EPSILON * fabs(before);
    double t = 1;
    walk(o, t);
    for (int n = 0; n < SOLVE_MOST_HALVINGS; n++) {
        if (potential(b) <= before + SOLVE_ENOUGH_DESCENT * t * slope + rounding)
            return true;
        t /= 2;
        walk(o, -t);
    }
    return false;
}

/* From the solution of (9) in x to a minimum of E. Returns |r|. */
static double newton(backend *b, double target, step_report *report)
{
    solver *o = b->solver;
    rows(o, ROWS_REST);
    find_forces(b); // f(F_E)
    rows(o, ROWS_INERTIA);
    rows(o, ROWS_DEPART); // the first direction leads from rest to the solution of (9)
    double size = INFINITY;
    for (int n = 1;; n++) {
        find_gradient(b);
        if (!line_search(b))
            return INFINITY;
        size = find_gradient(b);
        report->newton_iterations++;
        if (size <= target || n == b->settings->newton_iterations || !isfinite(size))
            break;
        differentiate(b, SOLVE_V);
        o->view.most = o->seen->iterations + (uint32_t)b->settings->max_iterations;
        conjugate_residual(b, size, fmax(0.5 * target, SOLVE_NEWTON_PART * size));
    }
    rows(o, ROWS_ARRIVE);
    return size;
}

/* ---- Step 6 ------------------------------------------------------------------------------------- */

/* Names the first particle at a node with the largest residual. */
static firn_status report_stall(backend *b, step_report *report)
{
    solver *o = b->solver;
    cudaMemsetAsync(&o->view.control->worst, 0, sizeof(uint32_t), o->stream);
    cudaMemsetAsync(&o->view.control->bad_row, 0xff, sizeof(uint32_t), o->stream);
    rows(o, ROWS_WORST);
    o->run.stall(&o->view, o->stream);
    firn_status status = see(o);
    report->bad_row = o->seen->bad_row < b->count ? o->seen->bad_row : 0;
    report->bad_what = "the solve did not converge; its residual is so many times the first one:";
    report->bad_value = report->solver_residual;
    if (status == FIRN_OK)
        status = cuda_get(b, FIRN_POSITION, report->bad_row, 1, report->bad_position);
    return status != FIRN_OK ? status
                             : fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row,
                                    report->bad_what, report->bad_value);
}

firn_status cuda_solve(backend *b, const step_plan *plan, step_report *report)
{
    solver *o = b->solver;
    const firn_settings *settings = b->settings;
    o->view.scale = (float)(settings->beta * plan->dt * plan->dt);
    o->view.step = (float)(plan->dt / settings->cell_size);
    o->view.most = (uint32_t)settings->max_iterations;
    o->shift = 0;
    cudaMemsetAsync(o->view.control, 0, sizeof *o->view.control, o->stream);
    clear_sums(b);
    if (o->view.preconditioned || settings->newton_iterations > 1)
        find_safe_shift(b);
    differentiate(b, -1);
    double mass = sum_of(o, ROWS_BEGIN), first = find_residual(o);
    double target = solve_target(first, mass, settings->cell_size, plan->dt, settings->tolerance);
    double size = conjugate_residual(b, first, target);
    if (settings->newton_iterations > 1 && size <= target)
        size = newton(b, target, report);
    firn_status status = see(o);
    if (status != FIRN_OK)
        return status;
    report->solver_iterations = o->seen->iterations;
    report->solver_residual = first > 0 ? size / first : 0;
    report->converged = size <= target;
    if (!report->converged)
        return report_stall(b, report);
    cudaMemsetAsync(&b->out->wild, 0, sizeof b->out->wild, o->stream);
    o->run.solved(&o->view, o->stream);
    return cuda_check(cudaGetLastError(), "solving");
}
