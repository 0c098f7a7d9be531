/*
 * What the parts of `firn wedge` share: a study is a list of cases, each a run of the scene in a folder
 * of its own, DIR/case_000 and on.
 *
 * Functions that can fail tell the user why and return the exit code, 0 when all is well.
 */
#ifndef FIRN_TOOL_WEDGE_H
#define FIRN_TOOL_WEDGE_H

#include <sys/types.h>

#include "arguments.h"
#include "firn/scene.h"

typedef struct wedge_options {
    const char *output;
    argument_list vary, sets;
    bool list;
    int64_t jobs, threads; /* 0 = as fits the machine */
    int64_t frames, frame; /* -1 = the scene's, the last */
    const char *backend;
    const char *slurm;
    const char *size;
    int64_t columns;
    int colour;
    bool quiet;
} wedge_options;

/* One key with the values it takes. */
typedef struct wedge_axis {
    char *key;
    size_t count;
    char **values;
} wedge_axis;

typedef struct wedge_case {
    char **sets;   /* "key=value", one an axis */
    char *folder;  /* of its run */
    pid_t process; /* 0 = not running */
    bool is_done;  /* ended, well or not */
    int code;      /* exit code of its run */
    int frames;    /* of its run */
    int reached;   /* the last frame in its log */
} wedge_case;

typedef struct wedge {
    const wedge_options *options;
    const char *scene_path;
    char *folder;
    char *program; /* this program's own file */
    size_t axis_count;
    wedge_axis *axes;
    size_t count;
    wedge_case *cases;
} wedge;

/* wedge_cases.c: every combination, or with --list the n-th values together. */
int wedge_plan(wedge *w);
void wedge_clear(wedge *w);

/* The scene of a case; owned by the caller. */
int wedge_load(const wedge *w, size_t index, firn_scene **scene);

/* The words of the command that runs a case, NULL at the end: the array is owned, `threads` is room for
 * a number. */
char **wedge_command(const wedge *w, size_t index, int threads, char text[32]);

/* wedge_report.c: the table to DIR/wedge.csv and standard output, and the sheet DIR/wedge.png. */
int wedge_report(const wedge *w);

/* A script for `sbatch` that runs the cases as an array of jobs. */
int wedge_write_slurm(const wedge *w);

#endif
