/*
 * Vectors here have one entry an active node. <a, b> = sum_i m_i a_i . b_i is the inner product in which
 * A = I + beta dt^2 M^-1 H is symmetric; Q takes what bodies leave free of each node's velocity.
 */
#include "ref/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/solve_control.h"
#include "method/step06_solve.h"
#include "status.h"

/* A particle in the solve: its part of H, and the nodes it acts on. */
typedef struct link {
    const particle *p;
    step06_particle H;
    lame V0_hard;
    int count;
    uint32_t node[STENCIL_MAX];
    vec grad_w[STENCIL_MAX];
} link;

#define for_each_link(o, l) for (link *l = (o)->links; l < (o)->links + (o)->link_count; l++)

enum { VECTORS = 9 };

struct solver {
    size_t count, capacity; /* active nodes */
    node **nodes;
    vec *vectors[VECTORS];
    vec *v;          /* the unknown */
    vec *u;          /* where inertia, gravity and (1 - beta) of the old forces lead */
    vec *r, *z;      /* residual Q (b - A v), preconditioned residual */
    vec *p, *Ap, *q; /* direction, A p, preconditioned A p */
    vec *Az;
    vec *d;       /* Newton's direction */
    mat *inverse; /* of the diagonal blocks of A, or of their diagonals */
    size_t link_count, link_capacity;
    link *links;
    double dt, scale; /* beta dt^2 */
    int iterations, most;
};

/* ---- Memory ------------------------------------------------------------------------------------- */

void ref_solver_free(solver **s)
{
    if (!*s)
        return;
    for (int k = 0; k < VECTORS; k++)
        free((*s)->vectors[k]);
    free((*s)->nodes);
    free((*s)->inverse);
    free((*s)->links);
    free(*s);
    *s = NULL;
}

static void name_vectors(solver *s)
{
    vec **const names[VECTORS] = {&s->v, &s->u, &s->r, &s->z, &s->p, &s->Ap, &s->q, &s->Az, &s->d};
    for (int k = 0; k < VECTORS; k++)
        *names[k] = s->vectors[k];
}

/* At least this many, with some to spare: nodes come and go. */
static bool make_room(solver *s, size_t nodes, size_t links)
{
    bool complete = true;
    if (nodes > s->capacity) {
        size_t capacity = nodes + nodes / 4;
        for (int k = 0; k < VECTORS; k++) {
            free(s->vectors[k]);
            complete &= (s->vectors[k] = malloc(capacity * sizeof(vec))) != NULL;
        }
        free(s->nodes);
        free(s->inverse);
        complete &= (s->nodes = malloc(capacity * sizeof *s->nodes)) != NULL;
        complete &= (s->inverse = malloc(capacity * sizeof *s->inverse)) != NULL;
        s->capacity = complete ? capacity : 0;
        name_vectors(s);
    }
    if (links > s->link_capacity) {
        free(s->links);
        s->links = malloc(links * sizeof *s->links);
        s->link_capacity = s->links ? links : 0;
        complete &= s->links != NULL;
    }
    return complete;
}

/* ---- Preparing ---------------------------------------------------------------------------------- */

/* The active nodes in a row, and each particle's nodes among them. */
static firn_status connect(backend *s)
{
    if (!s->solver && !(s->solver = calloc(1, sizeof *s->solver)))
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    size_t count = 0;
    for_each_active_node(s, b, i) i->index = (uint32_t)count++;
    if (!make_room(s->solver, count, s->count))
        return fail(FIRN_NO_MEMORY, "out of memory to solve for %zu nodes", count);
    s->solver->count = count;
    for_each_active_node(s, b, i) s->solver->nodes[i->index] = i;
    s->solver->link_count = 0;
    for_each_giver(s, p)
    {
        stencil t;
        stencil_at(s, p->x, &t);
        link *l = &s->solver->links[s->solver->link_count++];
        l->p = p;
        l->V0_hard = snow_harden(p->mu0 * p->V0, p->lambda0 * p->V0, p->xi, p->J_P);
        l->count = 0;
        for (int k = 0; k < t.count; k++)
            if (t.nodes[k]->m > 0) { /* a weight that underflows has no slope either */
                l->node[l->count] = t.nodes[k]->index;
                l->grad_w[l->count++] = t.grad_w[k];
            }
    }
    return FIRN_OK;
}

/* grad v of a particle */
static mat gradient(const link *l, const vec *v)
{
    mat grad = mat_zero();
    for (int k = 0; k < l->count; k++)
        grad = mat_add(grad, mat_outer(v[l->node[k]], l->grad_w[k]));
    return grad;
}

/* F(v) = (I + dt grad v) F_E */
static mat deformed(const solver *s, const link *l, const vec *v)
{
    return mat_mad(l->p->F_E, s->dt, mat_mul(gradient(l, v), l->p->F_E));
}

static mat inverse_of(mat A)
{
    return mat_scale(mat_transpose(mat_cof(A)), 1 / mat_det(A));
}

/* The preconditioner: I + beta dt^2 m_i^-1 H_ii of each node, or its diagonal, inverted. The blocks come
 * from the positive part of the curvature, so that they can be. */
static void invert_blocks(const backend *s, const vec *v)
{
    solver *o = s->solver;
    for (size_t i = 0; i < o->count; i++)
        o->inverse[i] = mat_zero();
    for_each_link(o, l)
    {
        mat F = v ? deformed(o, l, v) : l->p->F_E;
        step06_particle H = step06_prepare(svd_of(F), l->p->F_E, l->V0_hard, true);
        for (int n = 0; n < l->count; n++)
            o->inverse[l->node[n]] =
                mat_add(o->inverse[l->node[n]], step06_block(&H, l->grad_w[n]));
    }
    for (size_t i = 0; i < o->count; i++) {
        mat A = mat_mad(mat_identity(), o->scale / o->nodes[i]->m, o->inverse[i]);
        for (int a = 0; a < FIRN_DIM; a++)
            for (int b = 0; b < FIRN_DIM; b++)
                if (a != b && s->settings->preconditioner == FIRN_DIAGONAL)
                    A.m[a][b] = 0;
        o->inverse[i] = inverse_of(A);
    }
}

/* What does not change between iterations: H of every particle at F_E, or at F(v) when v is given. */
static void differentiate(const backend *s, const vec *v)
{
    solver *o = s->solver;
    bool positive = s->settings->hessian == FIRN_PROJECTED;
    for_each_link(o, l)
    {
        mat F = v ? deformed(o, l, v) : l->p->F_E;
        l->H = step06_prepare(svd_of(F), l->p->F_E, l->V0_hard, positive);
    }
    if (s->settings->preconditioner != FIRN_NO_PRECONDITIONER)
        invert_blocks(s, v);
}

/* ---- Algebra ------------------------------------------------------------------------------------ */

/* <a, b> */
static double dot(const solver *s, const vec *a, const vec *b)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        sum += s->nodes[i]->m * vec_dot(a[i], b[i]);
    return sum;
}

static double norm(const solver *s, const vec *a)
{
    return sqrt(dot(s, a, a));
}

/* a <- a + t b */
static void add(const solver *s, vec *a, double t, const vec *b)
{
    for (size_t i = 0; i < s->count; i++)
        a[i] = vec_mad(a[i], t, b[i]);
}

/* a <- b + t a */
static void turn(const solver *s, vec *a, double t, const vec *b)
{
    for (size_t i = 0; i < s->count; i++)
        a[i] = vec_mad(b[i], t, a[i]);
}

static void copy(const solver *s, vec *a, const vec *b)
{
    memcpy(a, b, s->count * sizeof *a);
}

/* Q a */
static vec free_part(const node *i, vec a)
{
    return step06_free_part(a, i->n, i->keep);
}

/* out <- Q A du                                                                      eq (7) (8) (9) */
static void apply(const backend *s, const vec *du, vec *out)
{
    const solver *o = s->solver;
    memset(out, 0, o->count * sizeof *out);
    for_each_link(o, l)
    {
        mat T = step06_apply(&l->H, gradient(l, du));
        for (int k = 0; k < l->count; k++)
            out[l->node[k]] = vec_add(out[l->node[k]], mat_vec(T, l->grad_w[k]));
    }
    for (size_t i = 0; i < o->count; i++)
        out[i] = free_part(o->nodes[i], step06_row(du[i], out[i], o->nodes[i]->m, o->scale));
}

/* out <- P^-1 a */
static void precondition(const backend *s, const vec *a, vec *out)
{
    const solver *o = s->solver;
    if (s->settings->preconditioner == FIRN_NO_PRECONDITIONER) {
        copy(o, out, a);
        return;
    }
    for (size_t i = 0; i < o->count; i++)
        out[i] = free_part(o->nodes[i], mat_vec(o->inverse[i], a[i]));
}

/* ---- The linear system -------------------------------------------------------------------------- */

/* Conjugate residuals from x with residual r = Q (b - A x), until |r| <= target. Returns |r|. */
static double conjugate_residual(backend *s, vec *x, double target)
{
    solver *o = s->solver;
    double size = norm(o, o->r);
    if (size <= target)
        return size;
    precondition(s, o->r, o->z);      // z <- P^-1 r
    apply(s, o->z, o->Az);            // Az
    copy(o, o->p, o->z);              // p <- z
    copy(o, o->Ap, o->Az);            // Ap
    double zAz = dot(o, o->z, o->Az); // <z, A z>
    while (o->iterations < o->most && isfinite(size)) {
        precondition(s, o->Ap, o->q);       // q <- P^-1 A p
        double along = dot(o, o->Ap, o->q); // <A p, P^-1 A p>
        if (!(along > 0) || zAz == 0)       // cannot go on from here
            break;
        double alpha = zAz / along;
        o->iterations++;
        add(o, x, alpha, o->p);      // x <- x + alpha p
        add(o, o->r, -alpha, o->Ap); // r <- r - alpha A p
        add(o, o->z, -alpha, o->q);  // z <- z - alpha P^-1 A p
        size = norm(o, o->r);
        if (size <= target)
            break;
        apply(s, o->z, o->Az);
        double next = dot(o, o->z, o->Az), beta = next / zAz;
        zAz = next;
        turn(o, o->p, beta, o->z);   // p <- z + beta p
        turn(o, o->Ap, beta, o->Az); // A p <- A z + beta A p
    }
    return size;
}

/* r <- Q (v* - A v) */
static void residual_of_9(backend *s)
{
    solver *o = s->solver;
    apply(s, o->v, o->r);
    for (size_t i = 0; i < o->count; i++)
        o->r[i] = vec_sub(free_part(o->nodes[i], o->nodes[i]->v_new), o->r[i]);
}

/* ---- Newton's method ---------------------------------------------------------------------------- */

/* E(v) = sum_i m_i |v_i - u_i|^2 / 2 + beta sum_p V0 Psi(F(v)) */
static double potential(const backend *s, const vec *v)
{
    const solver *o = s->solver;
    double kinetic = 0, elastic = 0;
    for (size_t i = 0; i < o->count; i++)
        kinetic += 0.5 * o->nodes[i]->m * vec_norm2(vec_sub(v[i], o->u[i]));
    for_each_link(o, l)
    {
        mat F = deformed(o, l, v);
        elastic += snow_energy(F, svd_polar(svd_of(F)), l->V0_hard);
    }
    return kinetic + s->settings->beta * elastic;
}

/* r <- -Q M^-1 grad E = Q (u - v + beta dt M^-1 f(F(v))) */
static void residual_of_newton(const backend *s)
{
    solver *o = s->solver;
    memset(o->r, 0, o->count * sizeof *o->r);
    for_each_link(o, l)
    {
        mat F = deformed(o, l, o->v);
        mat P = snow_stress(F, svd_polar(svd_of(F)), l->V0_hard);
        mat T = mat_mul_t(P, l->p->F_E);
        for (int k = 0; k < l->count; k++)
            o->r[l->node[k]] = vec_sub(o->r[l->node[k]], mat_vec(T, l->grad_w[k]));
    }
    for (size_t i = 0; i < o->count; i++) {
        vec r = vec_sub(o->u[i], o->v[i]);
        r = vec_mad(r, s->settings->beta * o->dt / o->nodes[i]->m, o->r[i]);
        o->r[i] = free_part(o->nodes[i], r);
    }
}

/* v <- v + t d with the first t = 1, 1/2, 1/4, ... that lowers E; false when none does. `slope` is that of
 * E along d. */
static bool line_search(const backend *s, double slope)
{
    solver *o = s->solver;
    double before = potential(s, o->v), rounding = 1e-14 * fabs(before), t = 1;
    add(o, o->v, t, o->d);
    for (int n = 0; n < SOLVE_MOST_HALVINGS; n++) {
        if (potential(s, o->v) <= before + SOLVE_ENOUGH_DESCENT * t * slope + rounding)
            return true;
        t /= 2;
        add(o, o->v, -t, o->d);
    }
    return false;
}

/* From the solution of (9) in v to a minimum of E. Returns |r|. */
static double newton(backend *s, double target, step_report *report)
{
    solver *o = s->solver;
    /* The first direction leads from rest to the solution of (9). */
    for (size_t i = 0; i < o->count; i++) {
        vec given = vec_sub(o->nodes[i]->v_new, free_part(o->nodes[i], o->nodes[i]->v_new));
        o->d[i] = vec_sub(o->v[i], given);
        o->v[i] = given;
    }
    for (int n = 1;; n++) {
        residual_of_newton(s);
        if (!line_search(s, -dot(o, o->r, o->d)))
            return INFINITY;
        residual_of_newton(s);
        double size = norm(o, o->r);
        report->newton_iterations++;
        if (size <= target || n == s->settings->newton_iterations || !isfinite(size))
            return size;
        differentiate(s, o->v);
        memset(o->d, 0, o->count * sizeof *o->d);
        o->most = o->iterations + s->settings->max_iterations;
        conjugate_residual(s, o->d, fmax(0.5 * target, SOLVE_NEWTON_PART * size));
    }
}

/* ---- Step 6 ------------------------------------------------------------------------------------- */

static void find_inertia(backend *s)
{
    solver *o = s->solver;
    double beta = s->settings->beta;
    for (size_t i = 0; i < o->count; i++) {
        const node *n = o->nodes[i];
        vec u = vec_mad(n->v, (1 - beta) * o->dt / n->m, n->f);
        for (int a = 0; a < FIRN_DIM; a++)
            u.e[a] += o->dt * s->settings->gravity[a];
        o->u[i] = u;
    }
}

/* Names the first particle at the node with the largest residual. */
static firn_status report_stall(const backend *s, step_report *report)
{
    const solver *o = s->solver;
    size_t worst = 0;
    double largest = -1;
    for (size_t i = 0; i < o->count; i++) {
        double size = o->nodes[i]->m * vec_norm2(o->r[i]);
        if (!(size <= largest)) {
            largest = size;
            worst = i;
        }
    }
    for (const link *l = o->links + o->link_count; l-- > o->links;)
        for (int n = 0; n < l->count; n++)
            if (l->node[n] == worst)
                report->bad_row = (size_t)(l->p - s->particles);
    memcpy(report->bad_position, s->particles[report->bad_row].x.e, sizeof(vec));
    report->bad_what = "the solve did not converge; its residual is so many times the first one:";
    report->bad_value = report->solver_residual;
    return fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row, report->bad_what,
                report->bad_value);
}

firn_status ref_solve(backend *s, double dt, step_report *report)
{
    firn_status status = connect(s);
    if (status != FIRN_OK)
        return status;
    solver *o = s->solver;
    o->dt = dt;
    o->scale = s->settings->beta * dt * dt;
    o->iterations = 0;
    o->most = s->settings->max_iterations;
    double mass = 0;
    for (size_t i = 0; i < o->count; i++) {
        o->v[i] = o->nodes[i]->v_new; /* start from v* */
        mass += o->nodes[i]->m;
    }
    differentiate(s, NULL);
    residual_of_9(s);
    double first = norm(o, o->r), size;
    double target = solve_target(first, mass, s->settings->cell_size, dt, s->settings->tolerance);
    size = conjugate_residual(s, o->v, target);
    if (s->settings->newton_iterations > 1 && size <= target) {
        find_inertia(s);
        size = newton(s, target, report);
    }
    report->solver_iterations = (uint64_t)o->iterations;
    report->solver_residual = first > 0 ? size / first : 0;
    report->converged = size <= target;
    if (!report->converged)
        return report_stall(s, report);
    for (size_t i = 0; i < o->count; i++)
        o->nodes[i]->v_new = o->v[i];
    return FIRN_OK;
}
