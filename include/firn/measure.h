/*
 * What became of the snow: pieces, spread, packing and contact, as numbers.
 *
 *     firn_measurement m;
 *     if (firn_frame_measure(&frame, scene, NULL, &m) == FIRN_OK)
 *         printf("%zu pieces, the largest of %g kg\n", m.piece_count, m.pieces[0]);
 *     firn_measurement_clear(&m);
 *
 * A piece is snow that hangs together: cells of the simulation's grid that are full enough of snow, and
 * share a face with one another. What lies in other cells is loose: dust, crumbs, and the thin rim of
 * pieces. Sums are taken in a fixed order.
 *
 * Does NOT do: anything over time; compare the measurements of two frames for that.
 */
#ifndef FIRN_MEASURE_H
#define FIRN_MEASURE_H

#include "firn/io.h"
#include "firn/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialised means default. */
typedef struct firn_measure_options {
    const double *box; /* low x y z, high x y z: only the snow in there [all of it]; borrowed */
    double fill;       /* share of a cell that its snow, unpacked, must fill for a piece [0.35] */
    double least;      /* the smallest piece that counts as one, as a share of the mass [0.001] */
} firn_measure_options;

/* How a collider stands to the snow at the frame's time. */
typedef struct firn_contact {
    const char *name; /* borrowed from the scene */
    double touching;  /* kg within a cell of its surface, or inside of it */
    double deepest;   /* m that the deepest particle lies inside of it; 0: none does */
} firn_contact;

typedef struct firn_measurement {
    int frame;
    double time;
    size_t particles;
    double mass;
    double low[3], high[3]; /* the box around the snow */
    double center[3];       /* of mass */
    double velocity[3];     /* of that */
    double spread;          /* root of the mean square distance from the centre, m */
    double density;         /* mean of particles by mass, kg/m^d */
    double J_P;             /* likewise */
    double packed;          /* kg of snow that is denser than at rest: J_P below 0.99 */
    double torn;            /* kg of snow that was pulled apart: J_P above 1.01 */
    double loose;           /* kg in no piece */
    size_t piece_count;
    double *pieces; /* kg, the largest first; owned */
    size_t contact_count;
    firn_contact *contacts; /* one a collider of the scene, in order; owned */
} firn_measurement;

/* The frame needs its basic attributes. `scene` (for contacts) and `options` may be NULL. The result is
 * ended by firn_measurement_clear, also after a failure. */
firn_status firn_frame_measure(const firn_frame *frame, const firn_scene *scene,
                               const firn_measure_options *options, firn_measurement *out);
void firn_measurement_clear(firn_measurement *m);

#ifdef __cplusplus
}
#endif
#endif
