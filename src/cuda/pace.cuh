/*
 * How far to step and in which units to sum, from what bounds the particles' values: chosen on the GPU for
 * many steps in a row, on the host for one, by the same functions and with the same bits. So pace.cu is
 * built without fused multiply-adds and takes nothing of the mathematical libraries that IEEE 754 leaves open.
 *
 * With MLS, P2G is who finds F and J_P as the step before left them (deform.cuh), and so the wave speed and the stress
 * that its own step is chosen by. That step is chosen by those of one step earlier, with the range in which they make no
 * difference (foreseen). When P2G tells others, nothing comes of the step but what was owed, and it is chosen again: so
 * all steps are those that the particles ask for.
 *
 * Does NOT do: decide what happens when a step fails. Then the GPU halts, and the host takes that step.
 */
#ifndef FIRN_CUDA_PACE_CUH
#define FIRN_CUDA_PACE_CUH

#include "cuda/stencil.cuh"

/* What the largest values of particles say. */
struct pace_limits {
    double max_speed, max_wave_speed;
    double max_affine, max_stress; /* m/s; m^2/s^2, of V0 |P F^T| / m */
    double frame[3], frame_range;  /* the middle of all velocities, and how far they are from it */
};

/* What stays as it is until the next sort. By value to kernels. */
typedef struct pace_rules {
    firn_settings settings;
    double largest_mass, least_mass;
    uint32_t densest; /* particles in a cell, at the last sort */
} pace_rules;

/* What one particle may add to a sum, in SI; its whole mass. */
typedef struct sum_ranges {
    double mass, momentum, force;
    int shift; /* bits given up so that more particles fit into a node */
} sum_ranges;

/* Steps in a row, on the GPU. */
struct pace_state {
    step_now now;
    bool tries, met_wild; /* nodes */
    bool owes;            /* steps leave their step 7 to the next P2G */
    particle_most most;   /* after the last good step; if that owes, wave2 and stress before it */
    particle_trend trend;
    double cfl, frame_time; /* as sim.c says */
    double pause_time, flow_speed;
    double time, dt_limit;
    uint32_t wanted, steps; /* at most, and done */
    double dt_min, dt_max;
    unsigned long long active_nodes; /* of the last good step */
    /* Among bodies that move: what is planned, and what that rests on. */
    const body_step *planned; /* NULL: nothing */
    const collider_wall *walls;
    size_t bodies;
    bool bodies_move;
    const int *box;
    int planned_box[BOX_VALUES];
    /* Of the step under way, if there is one. */
    bool begun;
    double dt, limit, choice;
};

pace_limits pace_limits_of(const particle_most *most);

/* Wave speed and stress as P2G has told them. */
void pace_settle(const particle_most *told, particle_most *most, particle_trend *trend);

/*
 * Values are of one particle, as much as may go to a node. Where they turn out
 * larger (F turned inside out), P2G says so and the ranges are widened. A cell of up to 64 particles
 * cannot fill a sum's nine bits of room twice over, so that the grid pass sees every overflow; more than
 * that give up bits beforehand.
 */
sum_ranges pace_ranges(const pace_rules *rules, const pace_limits *limits, double dt);

/* For a step of dt, with sums of these ranges, whose nodes are calm up to a speed. */
step_now pace_now(const pace_rules *rules, const pace_limits *limits, const sum_ranges *ranges,
                  double dt, float calm);

/* Between two steps: account for the one before, choose the next, and empty the nodes for it. The last one
 * only accounts. */
void pace_turn_launch(const pass_view *pass, const pace_rules *rules, pace_state *p,
                      cudaStream_t stream);
void pace_end_launch(const pass_view *pass, pace_state *p, cudaStream_t stream);

#endif
