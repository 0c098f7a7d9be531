/*
 * A mesh that changes its shape: the same triangles with other vertices at other times. Comes as
 * numbered mesh files, or as one mesh with a point cache beside it.
 *
 * Frames are read when they are asked for; only the first one is kept.
 *
 * Does NOT do: what is between two frames (collider/deform.h).
 */
#ifndef FIRN_IO_MESH_SEQUENCE_H
#define FIRN_IO_MESH_SEQUENCE_H

#include "shape/mesh.h"

typedef struct mesh_sequence_request {
    const char *file;  /* the mesh; of numbered ones `####` stands for the number */
    const char *cache; /* PC2 or MDD; NULL: numbered files */
    bool has_first, has_last;
    int first, last;   /* numbers of files; not given: the lowest and the highest there are */
    double start, fps; /* s, of the first frame; frames a second */
    double scale;      /* m for one unit of the file */
    bool z_up;         /* turned to stand up */
    bool open;         /* need not have an inside */
    bool close;        /* fill its holes */
} mesh_sequence_request;

typedef struct mesh_sequence {
    triangle_mesh mesh; /* the first frame; its triangles face outward */
    size_t count;
    double *times; /* s, growing; owned */
    struct mesh_sequence_files *files;
} mesh_sequence;

/* FIRN_NO_INPUT: a file is missing; FIRN_BAD_SCENE: what is in it cannot be used. The answer is owned
 * by the caller. */
firn_status mesh_sequence_open(const mesh_sequence_request *request, mesh_sequence **out);
void mesh_sequence_close(mesh_sequence **sequence);

/* The vertices of a frame, as many as the first has. Fails likewise, and when the frame has other
 * vertices or faces than the first. */
firn_status mesh_sequence_read(const mesh_sequence *sequence, size_t frame, double (*vertices)[3]);

/* What messages call a frame; owned by the caller. */
char *mesh_sequence_name(const mesh_sequence *sequence, size_t frame);

#endif
