/*
 * Files: frames out (VTKHDF, PLY), frames back in, and a look into any file Firn wrote.
 *
 * Every file is written under a temporary name and renamed when complete, so a name that exists is a
 * whole file. Checkpoints are written by firn_sim_save and read by firn_sim_create_from_checkpoint.
 *
 * Does NOT do: decide when or where to write; that is the program's part.
 */
#ifndef FIRN_IO_H
#define FIRN_IO_H

#include "firn/firn.h"
#include "firn/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write the particles as they are now in one FIRN_FORMAT_. */
firn_status firn_frame_write(const firn_sim *sim, const char *path, unsigned format);
const char *firn_format_extension(unsigned format); /* "hdf", "ply" */

/* A frame or checkpoint in memory; all arrays owned by it, float32, 3 components even in 2D. */
typedef struct firn_frame {
    int dimensions;
    size_t count;
    double time;
    double cell_size;
    int frame;
    uint64_t step;
    uint64_t *id;
    uint32_t *object;
    float *position; /* count x 3 */
    float *velocity; /* count x 3 */
    float *mass;
    float *density;
    float *J_P;
} firn_frame;

/* Reads VTKHDF frames (.hdf) and checkpoints (.h5). */
firn_status firn_frame_read(const char *path, firn_frame *frame);
void firn_frame_clear(firn_frame *frame);

/* Whether `path` is a complete checkpoint, and of what. */
typedef struct firn_checkpoint_info {
    char version[32];
    double time;
    uint64_t step;
    int frame;
    double cell_size;
    int dimensions;
    char kernel[16];
    char transfer[16];
    char backend[16];
    uint64_t fingerprint;
    double dt_limit; /* the largest step to try next, s, after one that failed; 0 = none */
    size_t particles;
    bool is_double;
} firn_checkpoint_info;
firn_status firn_checkpoint_read_info(const char *path, firn_checkpoint_info *info);

/* A report for people on any frame or checkpoint: what it holds, ranges of every attribute. */
firn_status firn_file_describe(const char *path, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
