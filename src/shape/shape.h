/*
 * Shapes as signed distances: primitives and fields (meshes, level sets, terrain, text) with
 * transforms, grown or shrunk, combined by union, intersection and subtraction. Negative inside.
 *
 * A shape is a flat postfix program: a primitive pushes (distance, gradient), an operation combines
 * the top of the stack. Flat, so that it can be copied to another processor as it is. In 2D a shape
 * is its own slice at z = 0; half extents and half heights may be INFINITY, so that no face lies
 * nearer than those seen in the plane.
 *
 * The distance is exact for primitives; for combinations it is a lower bound of the true distance
 * in magnitude, which is all that sampling, volumes and colliders rely on.
 *
 * Does NOT do: parsing (src/scene), motion (src/collider).
 */
#ifndef FIRN_SHAPE_SHAPE_H
#define FIRN_SHAPE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "firn/firn.h"
#include "shape/field.h"

typedef enum shape_kind {
    SHAPE_SPHERE,    /* radius */
    SHAPE_BOX,       /* half extents hx hy hz */
    SHAPE_CAPSULE,   /* along local y: half length of the segment, radius */
    SHAPE_CYLINDER,  /* along local y: half height, radius */
    SHAPE_HALFSPACE, /* y <= 0 is inside */
    SHAPE_FIELD,     /* a body from a file */
    SHAPE_UNION,     /* of the two topmost */
    SHAPE_INTERSECT,
    SHAPE_SUBTRACT, /* second from top minus top */
} shape_kind;

typedef struct shape_op {
    shape_kind kind;
    double params[4];
    double origin[3];      /* of the primitive's own frame, in the world */
    double rotation[3][3]; /* columns are the frame's axes in the world */
    double offset;         /* the primitive is grown by it: m in the world, below 0 shrunk */
    shape_field *field;    /* SHAPE_FIELD; shared */
    double scale;          /* SHAPE_FIELD: metres in the world for one in the field */
    bool sampled;          /* SHAPE_FIELD: samples will do */
} shape_op;

typedef struct shape {
    size_t count;
    shape_op *ops;
    size_t depth; /* of the stack that evaluation needs */
} shape;

enum { SHAPE_MAX_DEPTH = 32 };

/* A primitive, in its own frame at the origin. Owned by the caller. */
shape *shape_primitive(shape_kind kind, const double params[4]);

/* A body from a file, in its own coordinates; takes over the field. */
shape *shape_from_field(shape_field *field);

/* a op b; takes ownership of both, returns one. NULL when the stack would be too deep (both
 * freed). */
shape *shape_combine(shape_kind op, shape *a, shape *b);

/* Turn about the world origin, then move, in place. */
void shape_rotate(shape *s, const double rotation[3][3]);
void shape_translate(shape *s, const double offset[3]);

/* Make it `factor` times as large about the world origin, in place. */
void shape_scale(shape *s, double factor);

/* Everything within `distance` of the shape; below 0 what lies that deep in it. Edges that stick
 * out get round where they belong to one primitive and stay sharp where two meet. */
void shape_grow(shape *s, double distance);

/* The wall of this thickness about the surface. Takes ownership; NULL like shape_combine. */
shape *shape_hollow(shape *s, double thickness);

/* For colliders: let fields answer from their samples, quickly. */
void shape_use_samples(shape *s);

shape *shape_copy(const shape *s);
void shape_destroy(shape **s);

/* Signed distance at x; `gradient` (may be NULL) gets a unit vector away from the inside (the zero
 * vector only where the distance has none, such as the centre of a sphere: then +y). */
double shape_distance(const shape *s, const double x[3], double gradient[3]);

/* The same, exact far from the surfaces of fields too: how deep a place lies in the shape. */
double shape_depth(const shape *s, const double x[3]);

/* How far |distance| may exceed the true one, in m: what decides about whole boxes allows for it. */
double shape_slack(const shape *s);

/* A box that holds the shape. Sides that have no end are +-INFINITY; returns whether all are finite
 * in the first `dimensions` axes. May be larger than needed for combinations. */
bool shape_bounds(const shape *s, int dimensions, double low[3], double high[3]);

/* Volume (area of the slice in 2D) within `tolerance` relative, by adaptive subdivision; 0 for an
 * empty shape, INFINITY for an unbounded one. */
double shape_volume(const shape *s, int dimensions, double tolerance);

#endif
