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

/* Whether float32 positions would show: their spacing is coarser than a thousandth of a cell. */
bool frame_is_far(const firn_frame *frame);

/* A frame with axes and lengths as `how` asks. Borrows what does not change from `frame` and owns
 * the rest; ended by oriented_clear. */
typedef struct oriented_frame {
    firn_frame frame;
    unsigned owned; /* bits of the attributes whose arrays are its own */
    bool owns_place;
} oriented_frame;
firn_status oriented_create(const firn_frame *frame, const firn_export *how, oriented_frame *out);
void oriented_clear(oriented_frame *out);

/* The attributes to write, apart from the position: those that `how` names, all of which the frame
 * must hold, or those of `usual` that it holds. */
firn_status frame_selection(const firn_frame *frame, const firn_export *how, unsigned usual,
                            const char *path, unsigned *selected);

#endif
