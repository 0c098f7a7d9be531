/*
 * Equation (9) as a dense system, assembled and solved here from the formulas of the method without a
 * word of the solvers' own code: its matrix is the derivative of the forces, and one step of the backend
 * is its solution, with nodes that are free, stick to a body, slide on it, and are pushed by it.
 */
#define REAL_DOUBLE
#include "method/snow_law.h"
#include "method/spline.h"
#include "method/step06_solve.h"
#include "method/svd.h"
#include "physics.h"

enum { D = FIRN_DIM, PARTICLES = FIRN_DIM == 3 ? 3 : 6, MOST_NODES = 400, MOST = MOST_NODES * D };

static const double H = 0.1, DT = 0.008, GRAVITY[3] = {0.5, -9.81, 0.3};

typedef struct body {
    const char *name, *words; /* `words` as in a scene, after its shape */
    bool exists, sticky;
    double friction;
    double velocity[3];
} body;

static const body bodies[] = {
    {.name = "free"},
    {"sticky", "sticky: true", true, true, 0, {0}},
    {"sticky, moving", "sticky: true, velocity: [0.3, 0.5%s]", true, true, 0, {0.3, 0.5, -0.2}},
    {"slippery", "friction: 0", true, false, 0, {0}},
    {"rough", "friction: 0.4", true, false, 0.4, {0}},
    {"rough, moving", "friction: 0.4, velocity: [0.3, 0.5%s]", true, false, 0.4, {0.3, 0.5, -0.2}},
};
enum { BODIES = sizeof bodies / sizeof *bodies };

/* Gradients of the weights, and those of the fit. */
static const method variants[] = {
    {D, "cubic", PIC}, {D, "quadratic", PIC}, {D, "cubic", MLS}, {D, "quadratic", MLS}};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* ---- The grid of a few particles -------------------------------------------------------------- */

typedef struct grid {
    cloud c;
    int count;
    int64_t at[MOST_NODES][D];
    double m[MOST_NODES];
    vec v[MOST_NODES], f[MOST_NODES];
    vec star[MOST_NODES]; /* v*, collided */
    vec normal[MOST_NODES];
    double keep[MOST_NODES];
    int reach;
    int node[PARTICLES][64];
    double w[PARTICLES][64];
    vec grad_w[PARTICLES][64];
} grid;

static grid g;
static double A[MOST][MOST], b[MOST], x[MOST];

static mat mat_at(const cloud *c, size_t p)
{
    mat F;
    memcpy(&F, cloud_row(c, FIRN_F_E, p), sizeof F);
    return F;
}

static vec vec_at(const cloud *c, firn_attribute a, size_t p)
{
    vec v;
    memcpy(&v, cloud_row(c, a, p), sizeof v);
    return v;
}

static lame V0_hard(size_t p)
{
    double V0 = *cloud_row(&g.c, FIRN_VOLUME, p);
    return snow_harden(V0 * *cloud_row(&g.c, FIRN_MU0, p), V0 * *cloud_row(&g.c, FIRN_LAMBDA0, p),
                       *cloud_row(&g.c, FIRN_HARDENING, p), *cloud_row(&g.c, FIRN_J_P, p));
}

static int node_at(const int64_t at[D])
{
    int i = 0;
    while (i < g.count && memcmp(g.at[i], at, sizeof g.at[i]) != 0)
        i++;
    if (i == g.count) {
        assert_true(g.count < MOST_NODES);
        memcpy(g.at[g.count++], at, sizeof g.at[i]);
    }
    return i;
}

static void connect(size_t p, method way)
{
    bool cubic = strcmp(way.kernel, "cubic") == 0, mls = transfer_of(way) == FIRN_MLS;
    int width = cubic ? 4 : 3;
    vec at_p = vec_at(&g.c, FIRN_POSITION, p);
    g.reach = D == 3 ? width * width * width : width * width;
    for (int k = 0; k < g.reach; k++) {
        int step[3] = {k % width, k / width % width, k / width / width};
        int64_t at[D];
        double n[D], dn[D];
        for (int a = 0; a < D; a++) {
            double u = at_p.e[a] / H;
            at[a] = (int64_t)(cubic ? cubic_base(u) : quadratic_base(u)) + step[a];
            double from = u - (double)at[a];
            n[a] = cubic ? cubic_n(from) : quadratic_n(from);
            dn[a] = (mls     ? -n[a] * from * (cubic ? 3 : 4)
                     : cubic ? cubic_dn(from)
                             : quadratic_dn(from)) /
                    H;
        }
        g.node[p][k] = node_at(at);
        g.w[p][k] = 1;
        for (int a = 0; a < D; a++) {
            g.w[p][k] *= n[a];
            g.grad_w[p][k].e[a] = dn[a];
            for (int o = 0; o < D; o++)
                g.grad_w[p][k].e[a] *= o == a ? 1 : n[o];
        }
    }
}

/* F(u) = (I + sum_j u_j grad w^T) F_E */
static mat deformed(size_t p, const vec *u)
{
    mat grad = mat_zero();
    for (int k = 0; k < g.reach; k++)
        grad = mat_add(grad, mat_outer(u[g.node[p][k]], g.grad_w[p][k]));
    return mat_add(mat_at(&g.c, p), mat_mul(grad, mat_at(&g.c, p)));
}

/* The forces after nodes have moved by u, eq (6) at x^ = x + u. */
static void forces(const vec *u, vec *f)
{
    for (int i = 0; i < g.count; i++)
        f[i] = vec_zero();
    for (size_t p = 0; p < PARTICLES; p++) {
        mat F = deformed(p, u);
        mat T = mat_mul_t(snow_stress(F, svd_polar(svd_of(F)), V0_hard(p)), mat_at(&g.c, p));
        for (int k = 0; k < g.reach; k++)
            f[g.node[p][k]] = vec_sub(f[g.node[p][k]], mat_vec(T, g.grad_w[p][k]));
    }
}

/* Section 5 of the method, for the half-space below y = 0. */
static vec collide(const body *o, int i, vec v)
{
    g.normal[i] = vec_zero();
    g.keep[i] = 1;
    if (!o->exists || g.at[i][1] > 0)
        return v;
    vec body_v;
    for (int a = 0; a < D; a++)
        body_v.e[a] = o->velocity[a];
    vec rel = vec_sub(v, body_v);
    double v_n = rel.e[1];
    if (!o->sticky && v_n >= 0)
        return v;
    rel.e[1] = 0;
    double slip = vec_norm(rel);
    if (o->sticky || slip <= -o->friction * v_n) {
        g.keep[i] = 0;
        return body_v;
    }
    g.normal[i].e[1] = 1;
    return vec_mad(body_v, 1 + o->friction * v_n / slip, rel);
}

static void rasterize(const body *o, method way)
{
    g.count = 0;
    for (size_t p = 0; p < PARTICLES; p++)
        connect(p, way);
    static const vec still[MOST_NODES];
    forces(still, g.f);
    memset(g.m, 0, sizeof g.m);
    memset(g.v, 0, sizeof g.v);
    for (size_t p = 0; p < PARTICLES; p++)
        for (int k = 0; k < g.reach; k++) {
            double m = g.w[p][k] * *cloud_row(&g.c, FIRN_MASS, p);
            int i = g.node[p][k];
            g.m[i] += m;
            g.v[i] = vec_mad(g.v[i], m, vec_at(&g.c, FIRN_VELOCITY, p));
        }
    for (int i = 0; i < g.count; i++) {
        g.v[i] = vec_scale(g.v[i], 1 / g.m[i]);
        vec star = vec_mad(g.v[i], DT / g.m[i], g.f[i]);
        for (int a = 0; a < D; a++)
            star.e[a] += DT * GRAVITY[a];
        g.star[i] = collide(o, i, star);
    }
}

/* ---- The system ------------------------------------------------------------------------------- */

/* Column (j, b) of H: what the particles do when node j moves along axis b. */
static void column_of_H(int j, int axis, vec *out)
{
    for (int i = 0; i < g.count; i++)
        out[i] = vec_zero();
    for (size_t p = 0; p < PARTICLES; p++)
        for (int k = 0; k < g.reach; k++) {
            if (g.node[p][k] != j)
                continue;
            vec e = vec_zero();
            e.e[axis] = 1;
            mat F = mat_at(&g.c, p), dF = mat_mul(mat_outer(e, g.grad_w[p][k]), F);
            svd s = svd_of(F);
            mat dP = snow_stress_derivative(F, svd_polar(s), svd_stretch(s), V0_hard(p), dF);
            mat T = mat_mul_t(dP, F);
            for (int n = 0; n < g.reach; n++)
                out[g.node[p][n]] = vec_add(out[g.node[p][n]], mat_vec(T, g.grad_w[p][n]));
        }
}

/* Q a */
static vec free_part(int i, vec a)
{
    return vec_scale(vec_mad(a, -vec_dot(a, g.normal[i]), g.normal[i]), g.keep[i]);
}

/* Gauss with pivots: x = A^-1 b. */
static void eliminate(int n)
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int r = c; r < n; r++)
            best = fabs(A[r][c]) > fabs(A[best][c]) ? r : best;
        for (int k = 0; k < n; k++) {
            double t = A[c][k];
            A[c][k] = A[best][k];
            A[best][k] = t;
        }
        double t = b[c];
        b[c] = b[best];
        b[best] = t;
        for (int r = c + 1; r < n; r++) {
            double factor = A[r][c] / A[c][c];
            for (int k = c; factor != 0 && k < n; k++)
                A[r][k] -= factor * A[c][k];
            b[r] -= factor * b[c];
        }
    }
    for (int r = n - 1; r >= 0; r--) {
        x[r] = b[r];
        for (int k = r + 1; k < n; k++)
            x[r] -= A[r][k] * x[k];
        x[r] /= A[r][r];
    }
}

/* v = c + w: c given by bodies, w = Q w from (Q A Q + 1 - Q) w = Q (v* - A c), A = 1 + beta dt^2 M^-1 H. */
static void solve_dense(const body *o, double beta, vec *v)
{
    static vec column[MOST_NODES], given[MOST_NODES], pushed[MOST_NODES];
    for (int i = 0; i < g.count; i++) {
        given[i] = vec_sub(g.star[i], free_part(i, g.star[i]));
        pushed[i] = given[i];
    }
    for (int j = 0; j < g.count; j++)
        for (int axis = 0; axis < D; axis++) {
            vec e = vec_zero();
            e.e[axis] = 1;
            vec along = free_part(j, e);
            for (int i = 0; i < g.count; i++)
                for (int a = 0; a < D; a++)
                    A[i * D + a][j * D + axis] = i == j && a == axis;
            /* Q A Q e: A applied to the free part of the unit vector, axis by axis. */
            for (int k = 0; k < D; k++) {
                column_of_H(j, k, column);
                for (int i = 0; i < g.count; i++) {
                    vec H_e = vec_scale(column[i], beta * DT * DT / g.m[i] * along.e[k]);
                    vec row = free_part(i, H_e);
                    for (int a = 0; a < D; a++)
                        A[i * D + a][j * D + axis] += row.e[a];
                    if (axis == 0) /* each column of H once */
                        pushed[i] =
                            vec_mad(pushed[i], beta * DT * DT / g.m[i] * given[j].e[k], column[i]);
                }
            }
        }
    for (int i = 0; i < g.count; i++) {
        vec rest = free_part(i, vec_sub(g.star[i], pushed[i]));
        memcpy(b + i * D, rest.e, sizeof rest.e);
    }
    eliminate(g.count * D);
    for (int i = 0; i < g.count; i++) {
        vec w;
        memcpy(w.e, x + i * D, sizeof w.e);
        v[i] = vec_add(given[i], free_part(i, w));
        v[i] = collide(o, i, v[i]); /* a node that was leaving may have turned */
    }
}

/* ---- Tests ------------------------------------------------------------------------------------ */

/* Close together, deformed by a few per cent, above the ground but with nodes below it. */
static void scatter_particles(int seed)
{
    g.c = cloud_make(D, PARTICLES);
    for (size_t p = 0; p < PARTICLES; p++) {
        uint64_t n = 100 * (uint64_t)seed + 20 * p;
        for (int a = 0; a < D; a++) {
            cloud_row(&g.c, FIRN_POSITION, p)[a] = 0.07 * noise(n + (uint64_t)a) + (a == 1) * 0.08;
            cloud_row(&g.c, FIRN_VELOCITY, p)[a] = noise(n + 3 + (uint64_t)a) - (a == 1);
        }
        for (int k = 0; k < D * D; k++)
            cloud_row(&g.c, FIRN_F_E, p)[k] += 0.03 * noise(n + 6 + (uint64_t)k);
        *cloud_row(&g.c, FIRN_J_P, p) = 1 + 0.05 * noise(n + 16);
        *cloud_row(&g.c, FIRN_VOLUME, p) = pow(H, D) / 4;
        *cloud_row(&g.c, FIRN_MASS, p) = 400 * pow(H, D) / 4;
    }
}

static void test_H(void **state)
{
    (void)state;
    for (int way = 0; way < VARIANTS; way++) {
        scatter_particles(way);
        rasterize(&bodies[0], variants[way]);
        static vec column[MOST_NODES], u[MOST_NODES], f[4][MOST_NODES];
        const double step = 1e-4 * H;
        double worst = 0, asymmetric = 0, size = 0;
        for (int j = 0; j < g.count; j++)
            for (int axis = 0; axis < D; axis++) {
                for (int s = 0; s < 4; s++) {
                    memset(u, 0, sizeof u);
                    u[j].e[axis] = step * (double[]){-2, -1, 1, 2}[s];
                    forces(u, f[s]);
                }
                column_of_H(j, axis, column);
                for (int i = 0; i < g.count; i++)
                    for (int a = 0; a < D; a++) {
                        double slope =
                            (8 * (f[2][i].e[a] - f[1][i].e[a]) - (f[3][i].e[a] - f[0][i].e[a])) /
                            (12 * step);
                        worst = fmax(worst, fabs(slope + column[i].e[a]));
                        size = fmax(size, fabs(column[i].e[a]));
                        A[i * D + a][j * D + axis] = column[i].e[a];
                    }
            }
        for (int r = 0; r < g.count * D; r++)
            for (int c = 0; c < r; c++)
                asymmetric = fmax(asymmetric, fabs(A[r][c] - A[c][r]));
        const char *name = method_name(variants[way]);
        at_most(worst / size, 1e-6, "%s: H against differences of forces", name);
        at_most(asymmetric / size, 1e-12, "%s: H against its transpose", name);
        cloud_free(&g.c);
    }
}

static firn_sim *make_step(const body *o, method way, double beta, const char *preconditioner)
{
    char words[100], collider[300] = "";
    const char *z = D == 3 ? ", 0" : "";
    if (o->exists) {
        snprintf(words, sizeof words, o->words, D == 3 ? ", -0.2" : "");
        snprintf(collider, sizeof collider,
                 "colliders:\n  - {shape: {plane: {point: [0, 0%s], normal: [0, 1%s]}}, %s}\n", z,
                 z, words);
    }
    firn_scene *scene = make_scene(
        way,
        "  cell_size: %g\n  fps: 1\n  time_step: %g\n  gravity: [%g, %g%s]\n"
        "  rest_volume: sampled\n"
        "  integrator: {type: semi_implicit, beta: %g, tolerance: 1e-13, max_iterations: 20000,\n"
        "               hessian: exact, preconditioner: %s}\n%s",
        H, DT, GRAVITY[0], GRAVITY[1], D == 3 ? ", 0.3" : "", beta, preconditioner, collider);
    return make_sim_of(scene, &g.c);
}

static void compare_step(const body *o, method way, double beta, const char *preconditioner)
{
    static vec v[MOST_NODES];
    rasterize(o, way);
    solve_dense(o, beta, v);
    firn_sim *sim = make_step(o, way, beta, preconditioner);
    step(sim);
    near_to(firn_sim_time(sim), DT, 1e-12, "dt");
    cloud after = cloud_of(sim);
    double worst = 0, change = 0;
    for (size_t p = 0; p < PARTICLES; p++) {
        vec v_p = vec_zero(), star = vec_zero();
        for (int k = 0; k < g.reach; k++) {
            v_p = vec_mad(v_p, g.w[p][k], v[g.node[p][k]]);
            star = vec_mad(star, g.w[p][k], g.star[g.node[p][k]]);
        }
        worst = fmax(worst, vec_norm(vec_sub(v_p, vec_at(&after, FIRN_VELOCITY, p))));
        change = fmax(change, vec_norm(vec_sub(v_p, star)));
        for (int i = 0; i < g.count; i++)
            v[i] = vec_scale(v[i], DT); /* displacements */
        mat F = deformed(p, v);
        worst = fmax(worst,
                     sqrt(mat_dot(mat_sub(F, mat_at(&after, p)), mat_sub(F, mat_at(&after, p)))));
        for (int i = 0; i < g.count; i++)
            v[i] = vec_scale(v[i], 1 / DT);
    }
    assert_true(change > 0.02); /* the solve had something to do */
    at_most(worst, firn_sim_is_double(sim) ? 1e-9 : 1e-4, "%s, %s, beta %g, preconditioner %s",
            o->name, method_name(way), beta, preconditioner);
    cloud_free(&after);
    firn_sim_destroy(&sim);
}

static void test_step(void **state)
{
    (void)state;
    static const char *const preconditioners[] = {"none", "diagonal", "block"};
    if (!has_solver())
        skip();
    for (int k = 0; k < BODIES; k++)
        for (int way = 0; way < VARIANTS; way++) {
            scatter_particles(k);
            compare_step(&bodies[k], variants[way], k % 2 ? 0.5 : 1, preconditioners[k % 3]);
            cloud_free(&g.c);
        }
}

int main(int argc, char **argv)
{
    use_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_H),
        cmocka_unit_test(test_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
