/* A scene after parsing: what the rest of the library reads. */
#ifndef FIRN_SCENE_MODEL_H
#define FIRN_SCENE_MODEL_H

#include "collider/collider.h"
#include "firn/scene.h"
#include "scene/picture.h"
#include "scene/points.h"
#include "shape/sample.h"

typedef enum scene_vary_by {
    SCENE_BY_DEPTH,
    SCENE_BY_COVER,
    SCENE_BY_HEIGHT,
    SCENE_BY_NOISE,
    SCENE_BY_ATTRIBUTE,
    SCENE_BY_CELLS
} scene_vary_by;
typedef enum scene_blend { SCENE_BLEND, SCENE_STEPS } scene_blend;

typedef struct scene_ramp {
    double at, scale;
} scene_ramp;

/* One way in which a material differs from place to place. */
typedef struct scene_vary {
    scene_vary_by by;
    unsigned values; /* which, by the order of scene_material: bit 0 is young_modulus */
    size_t ramp_count;
    scene_ramp *ramp;
    scene_blend blend;
    double size;     /* of noise and cells, m */
    char *attribute; /* of points from a file; owned */
    int octaves;
    uint64_t seed;
} scene_vary;

typedef struct scene_material {
    char *name;
    double young_modulus; /* Pa */
    double poisson_ratio;
    double density;              /* kg/m^3 */
    double hardening;            /* xi */
    double critical_compression; /* theta_c */
    double critical_stretch;     /* theta_s */
    size_t vary_count;
    scene_vary *vary;
    scene_mark mark;
} scene_material;

/* When an emitter lets out snow. */
typedef struct scene_emit {
    double start, until; /* s; until 0: without end */
    double count;        /* of particles; 0: any number */
} scene_emit;

/* Particles as a file has them, in place of a shape that is filled. */
typedef struct scene_points {
    char *file; /* owned */
    double scale;
    unsigned up;
    double translate[3];
    point_set *set; /* shared */
} scene_points;

typedef struct scene_snow {
    char *name;
    shape *shape; /* NULL when it has points */
    size_t has_points;
    scene_points points;
    size_t material; /* index */
    sample_method method;
    double particles_per_cell;
    uint64_t seed;
    double velocity[3], angular_velocity[3]; /* m/s; degrees/s, about the middle of its particles */
    size_t emits;                            /* keeps producing */
    scene_emit emit;
    scene_mark mark;
} scene_snow;

typedef enum scene_where { SCENE_INSIDE, SCENE_OUTSIDE } scene_where;

/* A region that removes snow. */
typedef struct scene_kill {
    char *name;
    shape *shape;
    scene_where where;
    scene_mark mark;
} scene_kill;

typedef enum scene_interpolation { SCENE_SMOOTH, SCENE_LINEAR } scene_interpolation;

/* Keyframes as they are told, in the scene or in a file. */
typedef struct scene_path {
    size_t point_count;
    motion_point *points;
    char *file;
    scene_interpolation interpolation;
} scene_path;

/* Meshes that change, as they are told. */
typedef struct scene_deform {
    char *file, *cache;
    int first, last;
    double start, fps; /* s; frames a second, 0: the scene's */
    double scale;
    unsigned up;
    bool close;
    double shell, voxel; /* m; voxel 0: half a cell */
    double memory;       /* MB */
} scene_deform;

typedef struct scene_collider {
    char *name;
    collider body;              /* its shape and keys are owned here */
    double angular_velocity[3]; /* degrees/s */
    size_t has_path;
    scene_path path;
    size_t deforms;
    scene_deform deform;
    scene_surface surface;
    scene_mark mark;
} scene_collider;

struct firn_scene {
    char *name;
    char *path; /* or the name given to firn_scene_parse */
    firn_settings settings;
    scene_mark simulation_mark;
    size_t material_count;
    scene_material *materials;
    size_t snow_count;
    scene_snow *snow;
    size_t collider_count;
    scene_collider *colliders;
    size_t kill_count;
    scene_kill *kill;
    scene_camera camera;
    scene_render render;
    uint64_t fingerprint;
    size_t body_count;
    shape_field **bodies; /* those from files, while the scene is read; owned */
};

/* A deep copy, owned by the caller. */
firn_scene *scene_copy(const firn_scene *scene);

/* What a material can differ by, at one place. */
typedef struct scene_place {
    const point_set *points; /* and the row there; NULL for shapes */
    size_t row;
    double x[3];
    double depth; /* under the nearest surface of the shape, m */
    double cover; /* of the shape straight above, m */
} scene_place;

/* What this material needs to know of a place in a shape. */
scene_place scene_place_of(const scene_material *m, const shape *s, const double x[3]);

/* The same of a particle of snow, which may come from a file: number `row` of it. */
scene_place scene_place_in(const firn_scene *scene, const scene_snow *snow, const double x[3],
                           size_t row);

/* Its values there. */
scene_material scene_material_at(const scene_material *m, const scene_place *p);

/* The snow preset: what particles given as bare arrays are made of. */
scene_material scene_default_material(void);

/* How snow object `index` is to be filled. */
sample_request scene_sampling(const firn_scene *scene, size_t index);

/* The points of snow object `index`; a failure names the object and where the scene asks for it. */
firn_status scene_sample(const firn_scene *scene, size_t index, sample_points *points);

/* Equal for scenes whose camera, lights and colliders give the same picture of a frame. */
uint64_t scene_picture_fingerprint(const firn_scene *scene);

/* The bodies of a scene at time 0; they borrow from it. */
firn_status scene_colliders(const firn_scene *scene, collider_set *set);

/* What is to be said about bodies that are too thin or too fast, where the snow alone would allow steps
 * of `stable_dt` (0: not known). The lines and their array are owned by the caller. */
size_t collider_remarks(const firn_scene *scene, const collider_set *set, double stable_dt,
                        char ***remarks);

void scene_lame(const scene_material *m, double *mu0, double *lambda0);

/* The largest Poisson's ratio that snow of this scene may have, 1/2 where only its particles tell. */
double scene_poisson_ratio(const firn_scene *scene);

/* What `simulation.cfl` says, or stands for when it is `auto`. */
double scene_cfl(const firn_scene *scene);

#endif
