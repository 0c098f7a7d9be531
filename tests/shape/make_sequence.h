/* Sequences of meshes on disk for tests, in a folder of their own. */
#ifndef FIRN_TESTS_SHAPE_MAKE_SEQUENCE_H
#define FIRN_TESTS_SHAPE_MAKE_SEQUENCE_H

#include <stdio.h>
#include <unistd.h>

#include "shape/make_mesh.h"

/* The folder of this process; made when first asked for. */
static inline const char *sequence_folder(void)
{
    static char folder[] = "/tmp/firn_sequence_XXXXXX";
    static bool made;
    if (!made && !mkdtemp(folder))
        abort();
    made = true;
    return folder;
}

/* A path in it; overwritten after 64 more. */
static inline const char *sequence_path(const char *name)
{
    static char paths[64][256];
    static int next;
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", sequence_folder(), name);
    return path;
}

static inline void sequence_cleanup(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", sequence_folder());
    if (system(command) != 0)
        abort();
}

static inline void write_obj(const char *name, const triangle_mesh *m)
{
    FILE *out = fopen(sequence_path(name), "w");
    if (!out)
        abort();
    for (size_t v = 0; v < m->vertex_count; v++)
        fprintf(out, "v %.9g %.9g %.9g\n", m->vertices[v][0], m->vertices[v][1], m->vertices[v][2]);
    for (size_t t = 0; t < m->triangle_count; t++)
        fprintf(out, "f %u %u %u\n", m->triangles[t][0] + 1, m->triangles[t][1] + 1,
                m->triangles[t][2] + 1);
    fclose(out);
}

/* The ball of a frame: `radius` about a centre. */
typedef struct ball {
    double radius, center[3];
} ball;

static inline triangle_mesh mesh_of(const ball *b, uint32_t rings)
{
    triangle_mesh m = ball_mesh(rings, b->radius);
    for (size_t v = 0; v < m.vertex_count; v++)
        for (int i = 0; i < 3; i++)
            m.vertices[v][i] += b->center[i];
    return m;
}

/* ball_0001.obj and so on, under another first word. */
static inline void write_balls(const char *word, const ball *frames, int count, uint32_t rings)
{
    for (int k = 0; k < count; k++) {
        char name[100];
        snprintf(name, sizeof name, "%s_%04d.obj", word, k + 1);
        triangle_mesh m = mesh_of(&frames[k], rings);
        write_obj(name, &m);
        mesh_clear(&m);
    }
}

#endif
