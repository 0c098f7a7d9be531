/* Frames as Wavefront OBJ: one `v x y z` line a particle, in their order, and nothing else. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/formats.h"
#include "io/frame.h"
#include "status.h"

enum { BLOCK_ROWS = 4096, LINE = 256, ROUND = 16 };

/* The lines of a block of particles; returns their bytes. */
static size_t print_block(const firn_frame *frame, size_t block, const coordinate_format *format,
                          char *text)
{
    char line[64];
    snprintf(line, sizeof line, "v %s %s %s\n", format->text, format->text, format->text);
    size_t size = 0;
    for (size_t p = block * BLOCK_ROWS; p < frame->count && p < (block + 1) * BLOCK_ROWS; p++) {
        double x[3];
        for (size_t k = 0; k < 3; k++)
            x[k] = frame_coordinate(frame, format, 3 * p + k);
        int length = snprintf(text + size, LINE, line, x[0], x[1], x[2]);
        size += length < LINE ? (size_t)length : LINE - 1;
    }
    return size;
}

static void write_lines(file_draft *draft, const firn_frame *frame, const firn_export *how,
                        char *text)
{
    coordinate_format format = frame_coordinate_format(frame, how);
    size_t blocks = (frame->count + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int threads = how->threads > 0 ? how->threads : omp_get_max_threads();
    for (size_t first = 0; first < blocks && !draft->error; first += ROUND) {
        size_t size[ROUND], count = blocks - first < ROUND ? blocks - first : ROUND;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (size_t k = 0; k < count; k++)
            size[k] =
                print_block(frame, first + k, &format, text + k * (BLOCK_ROWS * (size_t)LINE));
        for (size_t k = 0; k < count; k++)
            file_append(draft, text + k * (BLOCK_ROWS * (size_t)LINE), size[k]);
    }
}

firn_status obj_write(const firn_frame *frame, const char *path, const firn_export *how)
{
    file_draft draft;
    char *text = malloc(sizeof(char[LINE]) * BLOCK_ROWS * ROUND);
    firn_status status =
        text ? file_create(path, &draft) : fail(FIRN_NO_MEMORY, "no memory to write %s", path);
    if (!status) {
        char *head = text_format("# Firn %s, frame %d, time %.17g s, %zu particles\n",
                                 firn_version(), frame->frame, frame->time, frame->count);
        file_append(&draft, head, strlen(head));
        free(head);
        write_lines(&draft, frame, how, text);
        status = file_commit(&draft);
    }
    free(text);
    return status;
}
