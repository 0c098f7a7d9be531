/*
 * Files: frames out (VTKHDF, PLY, OpenVDB, BGEO, OBJ, USDA, NPZ), frames and volumes back in, and a look
 * into any file Firn wrote.
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

/* A frame or checkpoint in memory; all arrays owned by it. Vectors have 3 components and matrices 9
 * even in 2D, stress has 6. An array is NULL when it was not asked for or is not in the file. */
typedef struct firn_frame {
    int dimensions;
    size_t count;
    double time;
    double cell_size;
    int frame;
    uint64_t step;
    firn_kernel kernel;
    bool is_grid; /* rows are nodes of a grid, cell_size apart, rather than particles */
    uint64_t *id;
    uint32_t *object;
    double *place; /* position in full, count x 3; NULL when float32 is all that is known */
    union {
        struct { /* in the order of firn_attribute */
            float *position, *velocity, *mass, *volume, *F_E, *J_P, *B;
            float *mu0, *lambda0, *hardening, *theta_c, *theta_s;
            float *density, *stress;
        };
        float *values[FIRN_ATTRIBUTES]; /* the same */
    };
} firn_frame;

int firn_frame_components(firn_attribute attribute); /* of a row in a firn_frame */

/* Attributes as a set of bits. */
#define FIRN_BIT(attribute) (1u << (attribute))
#define FIRN_BASIC_ATTRIBUTES                                                                      \
    (FIRN_BIT(FIRN_POSITION) | FIRN_BIT(FIRN_VELOCITY) | FIRN_BIT(FIRN_MASS) |                     \
     FIRN_BIT(FIRN_J_P) | FIRN_BIT(FIRN_DENSITY))

/* Reads VTKHDF frames (.hdf) and checkpoints (.h5): the basic attributes, all of which must be
 * there. */
firn_status firn_frame_read(const char *path, firn_frame *frame);

/* The same with those of `attributes` (and the position) that the file holds or implies. */
firn_status firn_frame_load(const char *path, unsigned attributes, firn_frame *frame);

/* Reads the density of an OpenVDB file, of this program or another: `is_grid`, a row for each voxel that
 * has any, with position, mass and density. `grid` NULL takes that named density, or else the first fog
 * volume, level set or grid of numbers. A level set is filled with snow of 400 kg/m^3. */
firn_status firn_frame_read_volume(const char *path, const char *grid, firn_frame *frame);

/* Copies the particles as they are now. `frame` is zero-initialised or holds an earlier capture,
 * whose memory is used again. */
firn_status firn_frame_capture(const firn_sim *sim, unsigned attributes, firn_frame *frame);
void firn_frame_clear(firn_frame *frame);

/* Writes a frame in one FIRN_FORMAT_. `how` may be NULL. An attribute that `how` names and the frame
 * does not hold is an error. */
firn_status firn_frame_export(const firn_frame *frame, const char *path, unsigned format,
                              const firn_export *how);

/* The attributes that a frame should hold to be written in these formats. */
unsigned firn_export_attributes(unsigned formats, const firn_export *how);

/* The particles of a simulation as they are now, in one format, as it is by default. */
firn_status firn_frame_write(const firn_sim *sim, const char *path, unsigned format);

const char *firn_format_name(unsigned format); /* "vtkhdf", as in scenes; NULL: no such format */
const char *firn_format_extension(unsigned format); /* "hdf" */
const char *firn_grid_name(unsigned grid);          /* of a FIRN_GRID_, as in scenes, or NULL */

/* One frame of a folder: NAME.hdf, NAME.usda, ... */
typedef struct firn_index_entry {
    const char *name; /* borrowed */
    int frame;
    double time;
} firn_index_entry;

/* Writes the index of a format, in the order of time: frames.hdf.series for VTKHDF,
 * frames.usda for USDA; other formats have none. `how` is that of the frames, and may be NULL. */
bool firn_format_has_index(unsigned format);
firn_status firn_index_write(const char *folder, unsigned format, const firn_index_entry *entries,
                             size_t count, const firn_export *how);

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
    double dt_limit;  /* the largest step to try next, s, after one that failed; 0 = none */
    uint64_t next_id; /* of the next particle that an emitter lets out */
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
