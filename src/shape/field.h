/*
 * Shapes that come from files: a body in its own coordinates, shared by all leaves of shape
 * programs that refer to it.
 *
 * The distance of a field is 0 on its surface, has the right sign everywhere, and is a lower bound
 * in magnitude, exact near the surface. How it is found depends on what it is for:
 *
 *     FIELD_BOUND    whether a body is near at all: of terrain a lower bound, of others as SURFACE
 *     FIELD_SAMPLED  colliders: one look into the samples where there are any
 *     FIELD_SURFACE  filling with snow: exact within a voxel or two of the surface, a bound elsewhere
 *     FIELD_EXACT    exact everywhere: the depth of a place, or a shape grown by much
 *
 * Does NOT do: transforms (shape.h), files (src/scene/bodies.c).
 */
#ifndef FIRN_SHAPE_FIELD_H
#define FIRN_SHAPE_FIELD_H

#include "shape/extrusion.h"
#include "shape/level_set.h"
#include "shape/mesh_tree.h"
#include "shape/outline.h"

typedef enum field_use { FIELD_BOUND, FIELD_SURFACE, FIELD_SAMPLED, FIELD_EXACT } field_use;

typedef struct shape_field shape_field;
typedef struct height_field height_field;

struct shape_field {
    int shares;
    uint64_t fingerprint;   /* of the file's bytes and of how they were read */
    double low[3], high[3]; /* box around the inside */
    double slack;           /* m: how far a bound may be off, for decisions about whole boxes */

    level_set *level_set; /* NULL for terrain; owned */

    /* What it was sampled from; a level set from a file has none. */
    mesh_tree *tree;   /* owned */
    double shell;      /* m: above 0 the body is a wall about the triangles */
    outline *outline;  /* in the plane z = 0; owned */
    extrusion extrude; /* of the outline */

    height_field *height; /* terrain, without samples; owned */
};

/* A field that has nothing yet and one owner. NULL when memory is out. */
shape_field *field_create(void);
shape_field *field_share(shape_field *field);
void field_release(shape_field **field);

/* The body of a mesh, taken to be closed unless it is made a wall (`shell` above 0). Copies what it
 * needs. Owned by the caller. */
firn_status field_from_mesh(const triangle_mesh *mesh, double voxel, double band, double shell,
                            shape_field **out);

/* An outline in the plane z = 0, given depth. Takes it over. Owned by the caller. */
firn_status field_from_outline(outline *figure, const extrusion *extrude, double voxel, double band,
                               shape_field **out);

/* Terrain. Takes it over. NULL when memory is out. */
shape_field *field_from_height(height_field *height);

/* Takes over the level set. NULL when memory is out. */
shape_field *field_from_level_set(level_set *set);

/* Signed distance at x; `gradient` (may be NULL) gets a unit vector away from the inside. */
double field_distance(const shape_field *field, field_use use, const double x[3],
                      double gradient[3]);

#endif
