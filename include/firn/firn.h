/*
 * Firn: snow by the Material Point Method. This header creates a simulation, steps it and reads it back.
 *
 *     firn_scene *scene;
 *     firn_sim *sim;
 *     if (firn_scene_load("snowball.yaml", NULL, 0, &scene) != FIRN_OK ||
 *         firn_sim_create(scene, NULL, &sim) != FIRN_OK)
 *         return fprintf(stderr, "%s\n", firn_last_error()), 1;
 *     while (firn_sim_frame(sim) < 24 && firn_sim_advance_frame(sim, NULL, NULL) == FIRN_OK)
 *         ...
 *     firn_sim_destroy(&sim);
 *     firn_scene_destroy(&scene);
 *
 * Conventions. Everything is in SI units. Every fallible function returns a firn_status; when it is not
 * FIRN_OK, firn_last_error() says what happened and the objects given to the function are unchanged.
 * After FIRN_BLOWUP a simulation stays at its last good step: it can be read, saved and destroyed, but
 * it steps no further. Objects are made by `create` or `load` and ended by `destroy(&object)`, which
 * accepts NULL and sets the pointer to NULL.
 * One object may be used by one thread at a time; the library makes its own threads inside a step.
 *
 * Does NOT do: print, exit, install signal handlers, keep global state other than the log callback.
 */
#ifndef FIRN_FIRN_H
#define FIRN_FIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and messages ------------------------------------------------------------------------ */

/* The values are the program's exit codes. */
typedef enum firn_status {
    FIRN_OK = 0,
    FIRN_USAGE = 2,      /* a call that makes no sense: wrong option, unknown backend */
    FIRN_BAD_SCENE = 65, /* input that was read but is wrong */
    FIRN_NO_INPUT = 66,  /* input that could not be read */
    FIRN_BLOWUP = 70,    /* no step, however small, leads on from this state */
    FIRN_NO_MEMORY = 71, /* memory or another resource of the system ran out */
    FIRN_NO_OUTPUT = 74, /* output that could not be written */
    FIRN_STOPPED = 75,   /* stopped on request; can be resumed */
} firn_status;

/* The message of this thread's last failure; borrowed, valid until the next failing call. */
const char *firn_last_error(void);

typedef enum firn_log_level { FIRN_LOG_DEBUG, FIRN_LOG_INFO, FIRN_LOG_WARNING } firn_log_level;
typedef void firn_log_fn(firn_log_level level, const char *message, void *user);

/* Receive the library's remarks. Without a callback they are dropped. */
void firn_set_log(firn_log_fn *callback, void *user);

const char *firn_version(void);  /* "0.1.0" */
const char *firn_features(void); /* "backends: ref cpu; isa: avx512; ..." */

/* A checksum of the public headers that the library was built from, by which a binding that reads them
 * knows that they belong together: SHA-256, in hexadecimal, over the SHA-256 of each in order of name. */
const char *firn_interface(void);

/* Bytes of the GPU's memory that are free now, whoever holds the rest; 0 without a GPU that can run this
 * build. */
double firn_gpu_free_bytes(void);

/* ---- Simulations -------------------------------------------------------------------------------- */

typedef enum firn_kernel { FIRN_CUBIC, FIRN_QUADRATIC } firn_kernel;
typedef struct firn_scene firn_scene; /* scene.h */
typedef struct firn_sim firn_sim;

/* Zero-initialised means default. */
typedef struct firn_sim_options {
    const char *backend; /* "auto" (NULL), "ref", "cpu" */
    int threads;         /* 0 = as many as the machine offers */
} firn_sim_options;

/* Particles as arrays, one row a particle, borrowed for the call. A NULL array takes the default in
 * brackets. d is the scene's `dimensions`; matrices are row major. */
typedef struct firn_particles {
    size_t count;
    const uint64_t *id;     /* strictly increasing [0, 1, 2, ...] */
    const uint32_t *object; /* index of the snow object it belongs to [0] */
    const double *position; /* count x d, m; required */
    const double *velocity; /* count x d, m/s [0] */
    const double *mass;     /* kg; required */
    const double *volume;   /* rest volume V0, m^d; required */
    const double *F_E;      /* count x d x d [identity] */
    const double *J_P;      /* [1] */
    const double *B;        /* count x d x d, APIC and MLS only [0] */
    const double *mu0;      /* Pa [the snow preset's, likewise below] */
    const double *lambda0;  /* Pa */
    const double *hardening;
    const double *theta_c;
    const double *theta_s;
} firn_particles;

/* Fill the scene's shapes with particles at rest state, time 0. The scene is copied: it may be
 * destroyed before the simulation. `options` may be NULL. The simulation is owned by the caller. */
firn_status firn_sim_create(const firn_scene *scene, const firn_sim_options *options,
                            firn_sim **sim);

/* The scene's settings and colliders, with these particles in place of its `snow`. */
firn_status firn_sim_create_from_particles(const firn_scene *scene, const firn_sim_options *options,
                                           const firn_particles *particles, firn_sim **sim);

/* Continue from a checkpoint (.h5) written by firn_sim_save, on the same or another backend. */
firn_status firn_sim_create_from_checkpoint(const firn_scene *scene,
                                            const firn_sim_options *options, const char *path,
                                            firn_sim **sim);

/* Change the particles between two steps: arrays that are given replace the values of all particles,
 * NULL ones leave them. `count` must be the simulation's and `id` NULL. Before the first step `volume`
 * lasts only if the scene's rest_volume is `sampled`. */
firn_status firn_sim_set_particles(firn_sim *sim, const firn_particles *changes);

/* Write the whole state to `path` (through a temporary file and a rename). */
firn_status firn_sim_save(firn_sim *sim, const char *path);

void firn_sim_destroy(firn_sim **sim);

/* One step of at most the stable time step, landing exactly on frame times. A step that fails (a value
 * that is not finite, a particle that crosses more than a cell, a solve that does not converge) is
 * undone and tried again with half the time step; FIRN_BLOWUP comes only when that falls below the
 * floor of the scene's `retries`, and its message names the step, the particle and what grew. */
firn_status firn_sim_step(firn_sim *sim);

/* Steps until the next frame time. `stop` (may be NULL) is asked before each step; when it returns
 * true the function returns FIRN_STOPPED between two steps, and calling again goes on. */
typedef bool firn_stop_fn(const firn_sim *sim, void *user);
firn_status firn_sim_advance_frame(firn_sim *sim, firn_stop_fn *stop, void *user);

/* ---- Reading back ------------------------------------------------------------------------------- */

typedef enum firn_attribute {
    FIRN_POSITION,
    FIRN_VELOCITY,
    FIRN_MASS,
    FIRN_VOLUME,
    FIRN_F_E,
    FIRN_J_P,
    FIRN_B,
    FIRN_MU0,
    FIRN_LAMBDA0,
    FIRN_HARDENING,
    FIRN_THETA_C,
    FIRN_THETA_S,
    FIRN_STATE_ATTRIBUTES, /* the ones above are the state: a checkpoint holds them */
    FIRN_DENSITY = FIRN_STATE_ATTRIBUTES, /* m / (V0 det F_E J_P), kg/m^d */
    FIRN_STRESS, /* Cauchy's, P F_E^T / (det F_E J_P), Pa: xx yy zz xy yz xz, in 2D too */
    FIRN_ATTRIBUTES
} firn_attribute;

const char *firn_attribute_name(firn_attribute attribute); /* as in checkpoints: "F_E" */
int firn_attribute_components(firn_attribute attribute, int dimensions);

size_t firn_sim_particle_count(const firn_sim *sim);
int firn_sim_dimensions(const firn_sim *sim);
double firn_sim_cell_size(const firn_sim *sim);
firn_kernel firn_sim_kernel(const firn_sim *sim);
double firn_sim_time(const firn_sim *sim);
uint64_t firn_sim_steps(const firn_sim *sim); /* since the start of the simulation */
int firn_sim_frame(const firn_sim *sim);      /* the last frame time that was reached */
const char *firn_sim_backend(const firn_sim *sim);
bool firn_sim_is_double(const firn_sim *sim); /* whether the backend's state is float64 */

/* Rows [first, first + count) of an attribute, in id order, copied into `out`. */
firn_status firn_sim_read(const firn_sim *sim, firn_attribute attribute, size_t first, size_t count,
                          double *out);
const uint64_t *firn_sim_ids(const firn_sim *sim);     /* borrowed until the next step */
const uint32_t *firn_sim_objects(const firn_sim *sim); /* borrowed until the next step */

/* What the snow is doing now. Sums are taken in a fixed order. */
typedef struct firn_stats {
    size_t particles;
    size_t active_nodes; /* of the last step */
    double mass;
    double momentum[3];
    double angular_momentum[3]; /* about the origin; with APIC and MLS the affine part included */
    double kinetic_energy;
    double elastic_energy;
    double max_speed;
    double J_P_min, J_P_max;
    double wave_speed; /* the fastest hardened elastic wave, m/s */
    double stable_dt;  /* the largest step the automatic control would take now */
} firn_stats;
firn_status firn_sim_stats(firn_sim *sim, firn_stats *stats);

/* Where the time went, in milliseconds, since the last reset. */
typedef enum firn_stage {
    FIRN_STAGE_SORT,
    FIRN_STAGE_P2G,
    FIRN_STAGE_GRID,
    FIRN_STAGE_SOLVE,
    FIRN_STAGE_G2P,
    FIRN_STAGES
} firn_stage;
typedef struct firn_progress {
    uint64_t steps;
    uint64_t retries; /* steps that failed and were tried again, smaller */
    double dt_min, dt_max;
    uint64_t implicit_steps;    /* those of the steps that solved equation (9) */
    uint64_t solver_iterations; /* of failed steps too, like the times */
    uint64_t newton_iterations; /* likewise */
    double solver_residual;     /* the largest that a step was content with, relative */
    double stage_ms[FIRN_STAGES];
    double bodies_ms; /* of these, what meeting colliders took; 0: the backend does not tell */
} firn_progress;
firn_progress firn_sim_progress(const firn_sim *sim);
void firn_sim_reset_progress(firn_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
