/* What the files of this folder share about frames: memory, and a frame as `how` wants it seen. */
#ifndef FIRN_IO_FRAME_H
#define FIRN_IO_FRAME_H

#include "firn/io.h"

/* Arrays for `count` particles: id, object, place if asked for, position and those of
 * `attributes`. Arrays of the right size that the frame has already are kept, others freed. */
firn_status frame_resize(firn_frame *frame, size_t count, unsigned attributes, bool with_place);

/* Rows of an attribute as a simulation or checkpoint gives them, `have` numbers each, into rows as
 * frames have them; what two dimensions leave out is 0, and 1 at the end of F_E. */
void frame_put(firn_frame *frame, firn_attribute attribute, size_t first, size_t count,
               const double *rows, size_t have);

/* Whether float32 positions would show: their spacing is coarser than a thousandth of a cell, or than
 * the precision that `how` asks for. */
bool frame_is_far(const firn_frame *frame, const firn_export *how);

/* That of a ball (in 2D a disk) of the particle's volume, m / rho, in the units that `how` asks for; a
 * quarter of a cell when that is not known. */
double frame_radius(const firn_frame *frame, const firn_export *how, size_t p);

/* How coordinates are printed so that they read back as precisely as the file could hold them, or as
 * `how` asks. */
typedef struct coordinate_format {
    char text[16]; /* for printf */
    bool full;     /* of places, rather than of float32 positions */
} coordinate_format;
coordinate_format frame_coordinate_format(const firn_frame *frame, const firn_export *how);

static inline double frame_coordinate(const firn_frame *frame, const coordinate_format *format,
                                      size_t k)
{
    return format->full && frame->place ? frame->place[k] : (double)frame->position[k];
}

/* A frame with axes, lengths and (unless it must be exact) precision as `how` asks. Borrows what does not change from `frame` and owns
 * the rest; ended by oriented_clear. */
typedef struct oriented_frame {
    firn_frame frame;
    unsigned owned; /* bits of the attributes whose arrays are its own */
    bool owns_place;
} oriented_frame;
firn_status oriented_create(const firn_frame *frame, const firn_export *how, bool exact,
                            oriented_frame *out);
void oriented_clear(oriented_frame *out);

/* Whether particles carry the usual attributes, by default or by name. */
static inline bool export_is_usual(const firn_export *how)
{
    return !how->attributes || (how->attributes | FIRN_BIT(FIRN_POSITION)) == FIRN_BASIC_ATTRIBUTES;
}

/* The attributes to write, apart from the position: those that `how` names, all of which the frame
 * must hold, or those of `usual` that it holds. */
firn_status frame_selection(const firn_frame *frame, const firn_export *how, unsigned usual,
                            const char *path, unsigned *selected);

#endif
