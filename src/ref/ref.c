/*
 * The reference solver: section 4.1 of the paper, one function a step, in double, in order, alone.
 *
 * It is the judge of the other backends, so it is written to be read: every step is its own loop and
 * nothing is fused. The formulas are in src/method; this file only walks particles and nodes. Compiled
 * once for 2D and once for 3D.
 *
 * Deterministic: sums run over particles in row order and over stencils in a fixed order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/snow_law.h"
#include "method/step01_rasterize.h"
#include "method/step02_volume.h"
#include "method/step03_force.h"
#include "method/step04_grid_velocity.h"
#include "method/step07_deformation.h"
#include "method/step08_particle_velocity.h"
#include "method/step10_position.h"
#include "ref/sleep.h"
#include "ref/solve.h"
#include "ref/state.h"
#include "status.h"

/* Beyond this many cells from the origin neighbouring doubles are too far apart to place a particle. */
static const double FARTHEST_CELL = 1e12;

/* ---- The ten steps ------------------------------------------------------------------------------ */

/* 1. m_i = sum_p m_p w_ip,  v_i = sum_p m_p v_p w_ip / m_i */
static firn_status step01_rasterize(backend *s)
{
    bool affine = transfer_is_affine(s->settings->transfer);
    real h = s->settings->cell_size;
    real inv_D = (s->settings->kernel == FIRN_CUBIC ? 3 : 4) / (h * h);
    for_each_giver(s, p)
    {
        stencil t;
        if (!stencil_at(s, p->x, &t))
            return fail(FIRN_NO_MEMORY, "out of memory for the grid (%zu blocks of nodes)",
                        s->grid.count);
        mat C = affine ? step01_apic_C(p->B, inv_D) : mat_zero();
        for (int k = 0; k < t.count; k++) {
            node *i = t.nodes[k];
            i->m += t.w[k] * p->m;
            i->v = vec_mad(i->v, t.w[k] * p->m, step01_velocity(p->v, C, t.d[k]));
        }
    }
    ref_sleep_hold(s);
    for_each_active_node(s, b, i) i->v = vec_scale(i->v, 1 / i->m);
    return FIRN_OK;
}

/* 2. rho_p = sum_i m_i w_ip / h^d,  V_p = m_p / rho_p; on the first step only */
static void step02_volumes(backend *s)
{
    real cell = pow(s->settings->cell_size, FIRN_DIM);
    for_each_giver(s, p)
    {
        stencil t;
        stencil_at(s, p->x, &t);
        real mass = 0;
        for (int k = 0; k < t.count; k++)
            mass += t.w[k] * t.nodes[k]->m;
        p->V0 = step02_volume(p->m, mass, cell);
    }
}

/* 3. f_i = - sum_p V0 P F_E^T grad w_ip                                                      eq (6) */
static void step03_forces(backend *s)
{
    for_each_giver(s, p)
    {
        stencil t;
        stencil_at(s, p->x, &t);
        mat stress = step03_stress(p->F_E, p->J_P, p->V0, p->mu0, p->lambda0, p->xi);
        for (int k = 0; k < t.count; k++)
            t.nodes[k]->f = vec_add(t.nodes[k]->f, step03_force(stress, t.grad_w[k]));
    }
}

/* 4. v*_i = v_i + dt (f_i / m_i + g)                                                        eq (10) */
static void step04_grid_velocities(backend *s, double dt)
{
    vec g;
    for (int a = 0; a < FIRN_DIM; a++)
        g.e[a] = s->settings->gravity[a];
    for_each_active_node(s, b, i) i->v_new = step04_velocity(i->v, i->f, i->m, g, dt);
}

/* 5. v*_i against the colliders: nodes, particles and bodies all where they are at time n   section 8 */
static void step05_grid_collisions(backend *s)
{
    for_each_active_node(s, b, i)
    {
        const grid_block *block = s->grid.blocks[b];
        ptrdiff_t k = i - block->nodes;
        double x[3] = {0}, v[3] = {0};
        for (int a = 0; a < FIRN_DIM; a++)
            x[a] = (double)(4 * block->at[a] + (k >> 2 * a & 3)) * s->settings->cell_size;
        memcpy(v, i->v_new.e, sizeof i->v_new.e);
        collider_bond bond;
        collide_and_bind(s->colliders, COLLIDER_ALL, x, v, &bond);
        memcpy(i->v_new.e, v, sizeof i->v_new.e);
        i->keep = bond.held ? 0 : 1;
        memcpy(i->n.e, bond.normal, sizeof i->n.e);
    }
}

/* 6. Explicit: v_i^{n+1} = v*_i, which is already in place. Semi-implicit: the solution of (9), after
 *    which nodes that were leaving a body may have to meet it again. */
static firn_status step06_solve(backend *s, const step_plan *plan, step_report *report)
{
    firn_status status = ref_solve(s, plan->dt, report);
    if (status == FIRN_OK)
        step05_grid_collisions(s);
    return status;
}

/* 7. F_E = (I + dt grad v_p) F_E, then the return map                              eq (11) and (12) */
static void step07_deformations(backend *s, double dt)
{
    for_each_mover(s, p)
    {
        stencil t;
        stencil_at(s, p->x, &t);
        mat grad_v = mat_zero();
        for (int k = 0; k < t.count; k++)
            grad_v = mat_add(grad_v, mat_outer(t.nodes[k]->v_new, t.grad_w[k]));
        deformation after = step07_deform(grad_v, dt, p->F_E, p->J_P, p->theta_c, p->theta_s);
        p->F_E = after.F_E;
        p->J_P = after.J_P;
    }
}

/* 8. v_p = (1 - alpha) PIC + alpha FLIP, or APIC's */
static void step08_particle_velocities(backend *s)
{
    for_each_mover(s, p)
    {
        stencil t;
        stencil_at(s, p->x, &t);
        vec old = vec_zero(), new = vec_zero();
        mat B = mat_zero();
        for (int k = 0; k < t.count; k++) {
            old = vec_mad(old, t.w[k], t.nodes[k]->v);
            new = vec_mad(new, t.w[k], t.nodes[k]->v_new);
            B = mat_mad(B, t.w[k], mat_outer(t.nodes[k]->v_new, t.d[k]));
        }
        bool affine = transfer_is_affine(s->settings->transfer);
        p->v = affine ? new : step08_flip(p->v, new, old, s->settings->blend);
        p->B = affine ? B : mat_zero();
    }
}

/* 9. v_p against the colliders, and out of those it sank into                             section 8 */
static void step09_particle_collisions(backend *s)
{
    for_each_mover(s, p)
    {
        double x3[3] = {0}, v3[3] = {0}, shift[3] = {0};
        memcpy(x3, p->x.e, sizeof p->x.e);
        memcpy(v3, p->v.e, sizeof p->v.e);
        collide_particle(s->colliders, COLLIDER_ALL, x3, v3, shift);
        for (int a = 0; a < FIRN_DIM; a++) {
            p->v.e[a] = v3[a];
            p->x.e[a] += shift[a];
        }
    }
}

/* 10. x_p += dt v_p */
static void step10_positions(backend *s, double dt)
{
    for_each_mover(s, p) p->x = step10_position(p->x, p->v, dt);
}

/* ---- Watching over a step ----------------------------------------------------------------------- */

/* Finds the first particle that left the numbers a solver can go on from. */
static firn_status check_particles(const backend *s, double dt, step_report *report)
{
    double h = s->settings->cell_size;
    for_each_particle(s, p)
    {
        double speed = vec_norm(p->v), stretch = mat_dot(p->F_E, p->F_E);
        double farthest = 0;
        for (int a = 0; a < FIRN_DIM; a++)
            farthest = fmax(farthest, fabs(p->x.e[a]));
        const char *what = NULL;
        double value = 0;
        if (!isfinite(speed))
            what = "velocity is not finite", value = speed;
        else if (!isfinite(stretch))
            what = "deformation is not finite", value = stretch;
        else if (!isfinite(p->J_P) || p->J_P <= 0)
            what = "plastic volume ratio J_P is not positive", value = p->J_P;
        else if (speed * dt > h)
            what = "moved more than a cell in one step, at a speed in m/s of", value = speed;
        else if (farthest > FARTHEST_CELL * h)
            what = "is farther from the origin than positions can resolve", value = farthest;
        if (!what)
            continue;
        report->bad_row = (size_t)(p - s->particles);
        report->bad_what = what;
        report->bad_value = value;
        memcpy(report->bad_position, s->before[report->bad_row].x.e, sizeof p->x.e);
        return fail(FIRN_BLOWUP, "particle row %zu: %s %g", report->bad_row, what, value);
    }
    return FIRN_OK;
}

/* Swapping takes the place of copying back. */
static void undo(backend *s)
{
    particle *spoiled = s->particles;
    s->particles = s->before;
    s->before = spoiled;
}

static firn_status ref_step(backend *s, const step_plan *plan, step_report *report)
{
    double clock = stage_clock(), dt = plan->dt;
    *report = (step_report){0};
    memcpy(s->before, s->particles, s->count * sizeof *s->particles);
    grid_clear(&s->grid);
    firn_status status = ref_sleep_choose(s);
    if (status == FIRN_OK)
        status = step01_rasterize(s); //         m_i, v_i     §4.1(1)
    if (status != FIRN_OK) {
        undo(s);
        return status;
    }
    if (plan->first && s->settings->rest_volume == FIRN_VOLUME_GRID)
        step02_volumes(s); //                    V_p          §4.1(2)
    step03_forces(s);      //                         f_i          eq (6)
    stage_charge(report, FIRN_STAGE_P2G, &clock);

    step04_grid_velocities(s, dt); //            v*_i         eq (10)
    step05_grid_collisions(s);     //          v*_i         §8
    stage_charge(report, FIRN_STAGE_GRID, &clock);

    if (plan->implicit)
        status = step06_solve(s, plan, report); //     v_i^{n+1}    eq (9)
    stage_charge(report, FIRN_STAGE_SOLVE, &clock);
    if (status != FIRN_OK) {
        undo(s); /* of step 2, and of what fell asleep */
        return status;
    }

    step07_deformations(s, dt);    //               F_E, J_P     eq (11), (12)
    step08_particle_velocities(s); //            v_p          §4.1(8)
    step09_particle_collisions(s); //      v_p          §8
    step10_positions(s, dt);       //                  x_p          §4.1(10)
    stage_charge(report, FIRN_STAGE_G2P, &clock);

    for_each_active_node(s, b, i) report->active_nodes++;
    status = check_particles(s, dt, report);
    if (status == FIRN_OK)
        ref_sleep_note(s, dt);
    else
        undo(s);
    return status;
}

static void ref_limits(backend *s, step_limits *limits)
{
    real speed2 = 0, wave2 = 0;
    for_each_particle(s, p)
    {
        lame hard = snow_harden(p->mu0, p->lambda0, p->xi, p->J_P);
        speed2 = fmax(speed2, vec_norm2(p->v));
        wave2 = fmax(wave2, snow_wave_speed2(hard, p->m / p->V0));
    }
    *limits = (step_limits){.max_speed = sqrt(speed2), .max_wave_speed = sqrt(wave2)};
}

static void ref_bounds(const backend *s, double low[3], double high[3])
{
    for (int a = 0; a < 3; a++) {
        low[a] = a < FIRN_DIM ? INFINITY : 0;
        high[a] = a < FIRN_DIM ? -INFINITY : 0;
    }
    for_each_particle(s, p)
    {
        for (int a = 0; a < FIRN_DIM; a++) {
            low[a] = fmin(low[a], p->x.e[a]);
            high[a] = fmax(high[a], p->x.e[a]);
        }
    }
}

/* ---- State in and out --------------------------------------------------------------------------- */

static const size_t attribute_offset[FIRN_STATE_ATTRIBUTES] = {
    [FIRN_POSITION] = offsetof(particle, x),
    [FIRN_VELOCITY] = offsetof(particle, v),
    [FIRN_MASS] = offsetof(particle, m),
    [FIRN_VOLUME] = offsetof(particle, V0),
    [FIRN_F_E] = offsetof(particle, F_E),
    [FIRN_J_P] = offsetof(particle, J_P),
    [FIRN_B] = offsetof(particle, B),
    [FIRN_MU0] = offsetof(particle, mu0),
    [FIRN_LAMBDA0] = offsetof(particle, lambda0),
    [FIRN_HARDENING] = offsetof(particle, xi),
    [FIRN_THETA_C] = offsetof(particle, theta_c),
    [FIRN_THETA_S] = offsetof(particle, theta_s),
};

static firn_status ref_set(backend *s, firn_attribute attribute, size_t first, size_t count,
                           const double *values)
{
    size_t width = (size_t)firn_attribute_components(attribute, FIRN_DIM);
    double farthest = FARTHEST_CELL * s->settings->cell_size;
    for (size_t k = 0; attribute == FIRN_POSITION && k < count * width; k++)
        if (fabs(values[k]) > farthest)
            return fail(FIRN_BAD_SCENE,
                        "particle row %zu is at %g m: more than %g cells from the origin",
                        first + k / width, values[k], FARTHEST_CELL);
    for (size_t r = 0; r < count; r++)
        memcpy((char *)&s->particles[first + r] + attribute_offset[attribute], values + r * width,
               width * sizeof *values);
    return FIRN_OK;
}

static firn_status ref_get(const backend *s, firn_attribute attribute, size_t first, size_t count,
                           double *values)
{
    size_t width = (size_t)firn_attribute_components(attribute, FIRN_DIM);
    for (size_t r = 0; r < count; r++)
        memcpy(values + r * width, (char *)&s->particles[first + r] + attribute_offset[attribute],
               width * sizeof *values);
    return FIRN_OK;
}

static firn_status ref_create(const backend_problem *problem, backend **out)
{
    backend *s = calloc(1, sizeof *s);
    if (!s)
        return fail(FIRN_NO_MEMORY, "out of memory for the solver");
    s->settings = problem->settings;
    s->colliders = problem->colliders;
    *out = s;
    return FIRN_OK;
}

static void ref_destroy(backend **self)
{
    if (!*self)
        return;
    grid_free(&(*self)->grid);
    free((*self)->particles);
    free((*self)->before);
    ref_solver_free(&(*self)->solver);
    free(*self);
    *self = NULL;
}

static firn_status make_room(backend *s, size_t count)
{
    size_t bytes = (count ? count : 1) * sizeof *s->particles;
    particle *particles = realloc(s->particles, bytes);
    if (particles)
        s->particles = particles;
    particle *before = realloc(s->before, bytes);
    if (before)
        s->before = before;
    return particles && before ? FIRN_OK
                               : fail(FIRN_NO_MEMORY, "out of memory for %zu particles", count);
}

static firn_status ref_resize(backend *s, size_t count)
{
    firn_status status = make_room(s, count);
    if (status != FIRN_OK)
        return status;
    s->count = count;
    for_each_particle(s, p) p->rest = 0;
    return FIRN_OK;
}

static firn_status ref_reshape(backend *s, const bool *kept, size_t added)
{
    size_t stay = 0, count = s->count;
    for (size_t r = 0; r < count; r++)
        stay += !kept || kept[r];
    firn_status status = make_room(s, count > stay + added ? count : stay + added);
    if (status == FIRN_OK)
        status = ref_sleep_lose(s, kept);
    if (status != FIRN_OK)
        return status;
    stay = 0;
    for (size_t r = 0; r < count; r++)
        if (!kept || kept[r])
            s->particles[stay++] = s->particles[r];
    s->count = stay + added;
    for (size_t r = stay; r < s->count; r++)
        s->particles[r].rest = 0;
    return FIRN_OK;
}

static double ref_memory(const firn_settings *settings, size_t particles, size_t active_blocks)
{
    (void)settings;
    return 2 * (double)particles * sizeof(particle) +
           (double)active_blocks * (sizeof(grid_block) + 4 * sizeof(uint32_t) + sizeof(void *));
}

const backend_ops REF_NAME(FIRN_DIM, backend) = {
    .name = "ref",
    .is_double = true,
    .has_solver = true,
    .create = ref_create,
    .destroy = ref_destroy,
    .resize = ref_resize,
    .reshape = ref_reshape,
    .set = ref_set,
    .get = ref_get,
    .step = ref_step,
    .limits = ref_limits,
    .bounds = ref_bounds,
    .get_rest = ref_get_rest,
    .set_rest = ref_set_rest,
    .memory = ref_memory,
};
