/* Frames by name: all that a command line means by folders and files. */
#ifndef FIRN_TOOL_FRAME_LIST_H
#define FIRN_TOOL_FRAME_LIST_H

#include "arguments.h"

typedef struct frame_list {
    size_t count;
    char **paths; /* owned */
} frame_list;

/* Files as they are; of folders every n-th frame (frame_0000.hdf, ...), in order. Tells what is
 * missing and returns the exit code. */
int frame_list_create(const argument_list *operands, long every, frame_list *list);
void frame_list_clear(frame_list *list);

#endif
