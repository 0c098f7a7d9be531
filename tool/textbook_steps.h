/* The steps of textbook.c, which includes this once for each REAL; NAMED makes the names. */

typedef struct NAMED(grain) {
    REAL x[3], v[3], F[3][3], J_P;
} NAMED(grain);

typedef struct NAMED(knot) {
    REAL m, v[3], v_new[3], f[3];
} NAMED(knot);

typedef struct NAMED(world) {
    size_t count;
    NAMED(grain) * grains;
    NAMED(knot) grid[SIDE][SIDE][SIDE];
    REAL h, dt, m, V0;
} NAMED(world);

/* N(x) and N'(x) as printed in the paper. */
static REAL NAMED(spline)(REAL x)
{
    REAL a = x < 0 ? -x : x;
    if (a < 1)
        return a * a * a / 2 - a * a + (REAL)2 / 3;
    return a < 2 ? -a * a * a / 6 + a * a - 2 * a + (REAL)4 / 3 : 0;
}

static REAL NAMED(slope)(REAL x)
{
    REAL a = x < 0 ? -x : x, sign = x < 0 ? -1 : 1;
    if (a < 1)
        return x * (3 * a - 4) / 2;
    return a < 2 ? -sign * (a - 2) * (a - 2) / 2 : 0;
}

/* A = U diag(s) V^T by one-sided Jacobi rotations: fit for F near a rotation. */
static void NAMED(decompose)(REAL A[3][3], REAL U[3][3], REAL s[3], REAL V[3][3])
{
    memcpy(U, A, 9 * sizeof(REAL));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            V[i][j] = i == j;
    for (int sweep = 0; sweep < 6; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                REAL pp = 0, qq = 0, pq = 0;
                for (int i = 0; i < 3; i++) {
                    pp += U[i][p] * U[i][p];
                    qq += U[i][q] * U[i][q];
                    pq += U[i][p] * U[i][q];
                }
                if (pq == 0)
                    continue;
                REAL angle = (REAL)(0.5 * atan2(2 * (double)pq, (double)(pp - qq)));
                REAL c = (REAL)cos((double)angle), n = (REAL)sin((double)angle);
                for (int i = 0; i < 3; i++) {
                    REAL u = U[i][p], v = V[i][p];
                    U[i][p] = c * u + n * U[i][q];
                    U[i][q] = c * U[i][q] - n * u;
                    V[i][p] = c * v + n * V[i][q];
                    V[i][q] = c * V[i][q] - n * v;
                }
            }
    for (int j = 0; j < 3; j++) {
        s[j] = (REAL)sqrt((double)(U[0][j] * U[0][j] + U[1][j] * U[1][j] + U[2][j] * U[2][j]));
        for (int i = 0; i < 3; i++)
            U[i][j] /= s[j];
    }
}

/* Walks the 4 x 4 x 4 nodes around a particle with their weight and its gradient. */
#define EACH_KNOT(world, p, body)                                                                  \
    for (int n = 0; n < 64; n++) {                                                                 \
        int step[3] = {n & 3, n >> 2 & 3, n >> 4}, at[3];                                          \
        REAL N[3], D[3];                                                                           \
        for (int a = 0; a < 3; a++) {                                                              \
            REAL u = (p)->x[a] / (world)->h, node = (REAL)floor((double)u) - 1 + (REAL)step[a];    \
            N[a] = NAMED(spline)(u - node);                                                        \
            D[a] = NAMED(slope)(u - node) / (world)->h;                                            \
            at[a] = (int)node & (SIDE - 1);                                                        \
        }                                                                                          \
        NAMED(knot) *i = &(world)->grid[at[2]][at[1]][at[0]];                                      \
        REAL w = N[0] * N[1] * N[2];                                                               \
        REAL g[3] = {D[0] * N[1] * N[2], N[0] * D[1] * N[2], N[0] * N[1] * D[2]};                  \
        body                                                                                       \
    }

/* V0 P F_E^T */
static void NAMED(stress)(const NAMED(world) * w, NAMED(grain) * p, REAL t[3][3])
{
    REAL U[3][3], V[3][3], s[3], hard = (REAL)exp(XI * (1 - (double)p->J_P));
    REAL mu = hard * (REAL)(E / (2 * (1 + NU)));
    REAL lambda = hard * (REAL)(E * NU / ((1 + NU) * (1 - 2 * NU)));
    NAMED(decompose)(p->F, U, s, V);
    REAL J = s[0] * s[1] * s[2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            t[i][j] = 0;
            for (int k = 0; k < 3; k++)
                t[i][j] +=
                    U[i][k] * w->V0 * (2 * mu * (s[k] - 1) * s[k] + lambda * (J - 1) * J) * U[j][k];
        }
}

static void NAMED(to_grid)(NAMED(world) * world)
{
    memset(world->grid, 0, sizeof world->grid);
    for (size_t k = 0; k < world->count; k++) {
        NAMED(grain) *p = &world->grains[k];
        REAL t[3][3];
        NAMED(stress)(world, p, t);
        EACH_KNOT(world, p, {
            i->m += world->m * w;
            for (int a = 0; a < 3; a++) {
                i->v[a] += world->m * w * p->v[a];
                i->f[a] -= t[a][0] * g[0] + t[a][1] * g[1] + t[a][2] * g[2];
            }
        })
    }
}

static void NAMED(on_grid)(NAMED(world) * world, textbook_step *seen)
{
    NAMED(knot) *knots = &world->grid[0][0][0];
    for (int n = 0; n < SIDE * SIDE * SIDE; n++) {
        NAMED(knot) *i = &knots[n];
        for (int a = 0; a < 3 && i->m > 0; a++) {
            i->v[a] /= i->m;
            REAL kick = world->dt * (i->f[a] / i->m);
            i->v_new[a] = i->v[a] + kick;
            seen->kick = fmax(seen->kick, fabs((double)kick));
        }
    }
}

static void NAMED(deform)(NAMED(world) * world, NAMED(grain) * p, REAL L[3][3], textbook_step *seen)
{
    REAL F[3][3], U[3][3], V[3][3], s[3], before = 1, after = 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            F[a][b] = p->F[a][b];
            for (int c = 0; c < 3; c++)
                F[a][b] += world->dt * L[a][c] * p->F[c][b];
            seen->gradient = fmax(seen->gradient, fabs((double)L[a][b]));
        }
    NAMED(decompose)(F, U, s, V);
    for (int a = 0; a < 3; a++) {
        before *= s[a];
        s[a] = (REAL)fmin(fmax((double)s[a], 1 - THETA_C), 1 + THETA_S);
        after *= s[a];
        seen->strain = fmax(seen->strain, fabs((double)(s[a] * s[a] - 1)));
    }
    p->J_P *= before / after;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            p->F[a][b] =
                U[a][0] * s[0] * V[b][0] + U[a][1] * s[1] * V[b][1] + U[a][2] * s[2] * V[b][2];
}

static void NAMED(from_grid)(NAMED(world) * world, textbook_step *seen)
{
    for (size_t k = 0; k < world->count; k++) {
        NAMED(grain) *p = &world->grains[k];
        REAL L[3][3] = {{0}}, pic[3] = {0}, flip[3] = {0};
        EACH_KNOT(world, p, {
            for (int a = 0; a < 3; a++) {
                pic[a] += w * i->v_new[a];
                flip[a] += w * (i->v_new[a] - i->v[a]);
                for (int b = 0; b < 3; b++)
                    L[a][b] += i->v_new[a] * g[b];
            }
        })
        NAMED(deform)(world, p, L, seen);
        for (int a = 0; a < 3; a++) {
            p->v[a] = (REAL)(1 - ALPHA) * pic[a] + (REAL)ALPHA * (p->v[a] + flip[a]);
            p->x[a] += world->dt * p->v[a];
            seen->kinetic += 0.5 * (double)world->m * (double)p->v[a] * (double)p->v[a];
        }
    }
}

void NAMED(textbook_run)(const textbook_setup *setup, size_t steps, textbook_step *history)
{
    NAMED(world) *world = calloc(1, sizeof *world);
    if (!world || !(world->grains = calloc(setup->count, sizeof *world->grains)))
        abort();
    world->count = setup->count;
    world->h = (REAL)setup->cell;
    world->dt = (REAL)setup->dt;
    world->V0 = (REAL)textbook_particle_volume(setup->cell);
    world->m = (REAL)DENSITY * world->V0;
    for (size_t k = 0; k < setup->count; k++)
        for (int a = 0; a < 3; a++) {
            world->grains[k].x[a] = (REAL)setup->position[3 * k + (size_t)a];
            world->grains[k].v[a] = (REAL)setup->velocity[3 * k + (size_t)a];
            world->grains[k].F[a][a] = (REAL)(1 + setup->strain);
            world->grains[k].J_P = 1;
        }
    for (size_t n = 0; n < steps; n++) {
        history[n] = (textbook_step){0};
        NAMED(to_grid)(world);
        NAMED(on_grid)(world, &history[n]);
        NAMED(from_grid)(world, &history[n]);
    }
    free(world->grains);
    free(world);
}
