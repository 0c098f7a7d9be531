/*
 * The folder of a run: its lock, its frames by name, and two checkpoints that replace each other.
 *
 * At any instant, and after any kind of death, at least one of checkpoint.h5 and
 * checkpoint_previous.h5 is whole once the first has been written.
 *
 * Functions that can fail tell the user why and return the exit code, 0 when all is well.
 * Does NOT do: choose what to resume from, decide when to write.
 */
#ifndef FIRN_TOOL_RUN_FOLDER_H
#define FIRN_TOOL_RUN_FOLDER_H

#include <stdbool.h>

#include "arguments.h"
#include "firn/firn.h"

typedef struct run_folder {
    char *path;
    char *checkpoint, *previous, *next; /* paths of the checkpoints */
    char *costs;                        /* what unfinished frames had cost: run_log.h */
    int lock;
} run_folder;

/* A printf into fresh memory, owned by the caller. */
char *new_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Make a folder, and those it is in, and prove that files can be written in it. */
int folder_make(const char *path);

/* Make the folder, prove that files can be written in it, keep other runs out of it, and sweep away
 * what a killed run left unfinished. */
int folder_open(run_folder *f, const char *path);
void folder_close(run_folder *f);

/* Whether `path` could be created: tells and gives 74 if not. */
int output_file_check(const char *path);

/* Save the state as checkpoint.h5; what was there becomes checkpoint_previous.h5. */
int folder_save(const run_folder *f, firn_sim *sim);

/* Save it as the only one, for a run that does not continue what the folder holds. `source` is the
 * checkpoint it came from (or NULL) and survives if it is checkpoint_previous.h5. */
int folder_save_first(const run_folder *f, firn_sim *sim, const char *source);

/* Which scene the folder's run is of, with its overrides, for pictures of it: scene.txt. Reading gives
 * the scene's path, owned by the caller as is the list; the list's texts lie behind the path in the same
 * memory. NULL when the folder does not tell. */
int folder_write_scene(const run_folder *f, const char *scene_path, const argument_list *sets);
char *folder_read_scene(const char *folder, argument_list *sets);

/* frame_0012.hdf. Owned by the caller. */
char *folder_frame_path(const char *folder, int frame, unsigned format);

/* Whether `name` is that of a frame; its number and FIRN_FORMAT_. */
bool frame_name_parse(const char *name, long *frame, unsigned *format);

/* The numbers of the frames up to `last` in one format, in order; the array is owned by the caller. */
size_t folder_list_frames(const char *folder, unsigned format, long last, long **frames);

bool folder_has_frames(const char *folder);

/* Remove frames later than `last` and their pictures, of `last` those not in `formats`, and indexes of
 * formats not in `formats`. Returns how many frames. */
int folder_remove_frames(const char *folder, long last, unsigned formats);

#endif
