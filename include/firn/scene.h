/*
 * Scenes: a YAML (or JSON) file, checked against one table of options, becomes a firn_scene.
 *
 * The same table makes the parser, `--set`, the JSON schema and docs/scene.md. Unknown keys, wrong
 * types and values out of range are errors with file:line:column, a caret and a suggestion.
 *
 * Does NOT do: create particles (firn_sim_create does), read frames or checkpoints (io.h).
 */
#ifndef FIRN_SCENE_H
#define FIRN_SCENE_H

#include <stdio.h>

#include "firn/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_transfer { FIRN_FLIP, FIRN_APIC, FIRN_MLS } firn_transfer;
typedef enum firn_integrator { FIRN_EXPLICIT, FIRN_SEMI_IMPLICIT, FIRN_CHEAPER } firn_integrator;
typedef enum firn_preconditioner {
    FIRN_NO_PRECONDITIONER,
    FIRN_DIAGONAL,
    FIRN_BLOCK
} firn_preconditioner;
typedef enum firn_hessian { FIRN_EXACT, FIRN_PROJECTED } firn_hessian;
typedef enum firn_rest_volume { FIRN_VOLUME_GRID, FIRN_VOLUME_SAMPLED } firn_rest_volume;

/* Output formats are bits, so that a scene can ask for several. */
enum {
    FIRN_FORMAT_VTKHDF = 1,
    FIRN_FORMAT_PLY = 2,
    FIRN_FORMAT_VDB = 4,
    FIRN_FORMAT_BGEO = 8,
    FIRN_FORMAT_OBJ = 16,
    FIRN_FORMAT_USDA = 32,
    FIRN_FORMAT_NPZ = 64,
};

/* Grids of a VDB file are bits too. */
enum {
    FIRN_GRID_DENSITY = 1,
    FIRN_GRID_VELOCITY = 2,
    FIRN_GRID_J_P = 4,
    FIRN_GRID_STRESS = 8,
    FIRN_GRID_SURFACE = 16, /* a level set */
};
typedef enum firn_grid_type { FIRN_GRID_FLOAT, FIRN_GRID_HALF } firn_grid_type;
typedef enum firn_compression { FIRN_BLOSC, FIRN_ZIP, FIRN_UNCOMPRESSED } firn_compression;
typedef enum firn_up { FIRN_UP_Y, FIRN_UP_Z } firn_up;

/* How frames are written for other programs. Zero-initialised means default. */
typedef struct firn_export {
    unsigned attributes; /* of particles, bits 1 << firn_attribute [velocity, density, J_P, mass] */
    unsigned grids;      /* of VDB files, FIRN_GRID_ bits [density, velocity] */
    firn_grid_type grid_type;
    firn_compression compression; /* of VDB files */
    firn_up up;                   /* z turns y to z and z to -y */
    double scale;                 /* units in a metre, of all lengths [1] */
    double precision;             /* positions may be wrong by so many metres [0: as they are] */
    int usda_points;              /* the most particles that a USDA file carries [20000] */
    int threads;                  /* [as many as the machine offers] */
} firn_export;

/* The `simulation` and `output` blocks of a scene, checked and with defaults filled in. */
typedef struct firn_settings {
    int dimensions;
    int frames;
    double fps;
    double cell_size;  /* h, m: the scene's, divided by */
    double resolution; /* 1 = as the scene was made */
    double gravity[3]; /* m/s^2; [2] is 0 in 2D */
    firn_kernel kernel;
    firn_transfer transfer;
    double blend; /* alpha: 0 PIC .. 1 FLIP */
    firn_integrator integrator;
    double beta;      /* 0 explicit, 1/2 trapezoidal, 1 backward Euler */
    double tolerance; /* of the solve, relative: see docs/method.md */
    int max_iterations;
    firn_preconditioner preconditioner;
    firn_hessian hessian;
    int newton_iterations; /* 1 = the linear system (9) alone */
    double time_step;      /* s; 0 = automatic */
    double cfl;            /* automatic step: fraction of a cell a wave may cross; 0 = auto */
    double travel;         /* automatic step: fraction of a cell that a particle may cross */
    int retries;           /* halvings of the step before a run ends */
    double sleep_speed;    /* m/s below which snow may sleep; 0 = never */
    double sleep_after;    /* s for which it must have been that slow */
    firn_rest_volume rest_volume; /* V0 from the grid (the paper's step 2) or as sampled */
    unsigned formats;             /* FIRN_FORMAT_ bits */
    int every;                    /* write every n-th frame */
    firn_export output;           /* how other formats than VTKHDF are written */
} firn_settings;

/* Read a scene. `sets` are `key.path=value` overrides, applied in order before checking; list entries
 * are addressed by index or by their `name` (snow.ball.velocity=[0,-1,0]). Owned by the caller. */
firn_status firn_scene_load(const char *path, const char *const *sets, size_t set_count,
                            firn_scene **scene);

/* The same from text in memory; `name` stands in messages where the path would. */
firn_status firn_scene_parse(const char *text, const char *name, const char *const *sets,
                             size_t set_count, firn_scene **scene);

void firn_scene_destroy(firn_scene **scene);

const char *firn_scene_name(const firn_scene *scene);
const firn_settings *firn_scene_settings(const firn_scene *scene); /* borrowed */

/* Identifies the physics: equal for scenes that give the same bits, whatever their name, comments,
 * number of frames or output formats. */
uint64_t firn_scene_fingerprint(const firn_scene *scene);

size_t firn_scene_object_count(const firn_scene *scene);
const char *firn_scene_object_name(const firn_scene *scene, size_t index);
size_t firn_scene_collider_count(const firn_scene *scene);
const char *firn_scene_collider_name(const firn_scene *scene, size_t index);

/* Signed distance to a collider at a time (for pictures): negative inside. x has 3 entries. INFINITY
 * when the files of a body that deforms cannot be read any more. */
double firn_scene_collider_distance(const firn_scene *scene, size_t index, double time,
                                    const double x[3]);

/* What a run of this scene would take. `firn check` prints it. */
typedef struct firn_estimate {
    size_t particles;
    double particles_per_cell; /* mean over occupied cells */
    size_t occupied_cells;
    size_t active_nodes;
    double mass;
    double memory_bytes; /* at most, of the whole program */
    double frame_bytes;  /* of them: frames that wait to be written */
    double wave_speed;
    double stable_dt;
    double steps;   /* whole run, at stable_dt */
    double seconds; /* whole run, rough */
    size_t warning_count;
    char **warnings; /* each names the thing and the remedy */
} firn_estimate;
firn_status firn_scene_estimate(const firn_scene *scene, const firn_sim_options *options,
                                firn_estimate *estimate);
void firn_estimate_clear(firn_estimate *estimate);

/* The option table as a page and as a JSON schema. */
void firn_scene_write_reference(FILE *out);
void firn_scene_write_schema(FILE *out);

#ifdef __cplusplus
}
#endif
#endif
