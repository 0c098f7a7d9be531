/* What a study ends in: a table, a labelled sheet, or a script that runs it elsewhere. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console.h"
#include "firn/io.h"
#include "firn/render.h"
#include "measure.h"
#include "run_folder.h"
#include "shell.h"
#include "wedge.h"

/* One case as it is shown. */
typedef struct result {
    firn_frame frame;
    firn_scene *scene;
    char *label;
    double values[MEASURES];
    bool has_frame;
} result;

/* ---- Gathering ------------------------------------------------------------------------------- */

/* "young_modulus" of "materials.snow.young_modulus" */
static const char *short_name(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

static char *make_label(const wedge *w, size_t index)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    for (size_t k = 0; k < w->axis_count; k++)
        fprintf(out, "%s %s\n", short_name(w->axes[k].key),
                strchr(w->cases[index].sets[k], '=') + 1);
    fclose(out);
    return text;
}

/* The frame that is asked for, or the last that the run has; -1 when there is none. */
static long choose_frame(const wedge *w, const wedge_case *c)
{
    long *frames;
    long last = w->options->frame >= 0 ? (long)w->options->frame : c->frames;
    size_t count = folder_list_frames(c->folder, FIRN_FORMAT_VTKHDF, last, &frames);
    long chosen = count ? frames[count - 1] : -1;
    free(frames);
    return chosen;
}

static int gather(const wedge *w, size_t index, result *r)
{
    const wedge_case *c = &w->cases[index];
    r->label = make_label(w, index);
    long number = choose_frame(w, c);
    int code = wedge_load(w, index, &r->scene);
    if (code || number < 0)
        return code;
    char *path = folder_frame_path(c->folder, (int)number, FIRN_FORMAT_VTKHDF);
    firn_status status = firn_frame_read(path, &r->frame);
    free(path);
    r->has_frame = status == FIRN_OK;
    firn_measurement m = {0};
    if (status == FIRN_OK)
        status = firn_frame_measure(&r->frame, r->scene, NULL, &m);
    measure_values(&m, r->values);
    firn_measurement_clear(&m);
    return status == FIRN_OK ? 0 : console_failure(status);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* A field of a CSV file, quoted where it must be. */
static void write_field(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, 0}, out);
    fputc('"', out);
}

static void write_rows(const wedge *w, const result *results, FILE *out)
{
    fputs("case", out);
    for (size_t k = 0; k < w->axis_count; k++) {
        fputc(',', out);
        write_field(out, w->axes[k].key);
    }
    fputs(",exit_code,frame", out);
    for (int k = 0; k < MEASURES; k++)
        fprintf(out, ",%s", measure_names[k]);
    fputc('\n', out);
    for (size_t i = 0; i < w->count; i++) {
        fprintf(out, "%zu", i);
        for (size_t k = 0; k < w->axis_count; k++) {
            fputc(',', out);
            write_field(out, strchr(w->cases[i].sets[k], '=') + 1);
        }
        fprintf(out, ",%d", w->cases[i].code);
        if (results[i].has_frame)
            fprintf(out, ",%d", results[i].frame.frame);
        else
            fputc(',', out);
        for (int k = 0; k < MEASURES; k++)
            if (results[i].has_frame)
                fprintf(out, ",%.9g", results[i].values[k]);
            else
                fputc(',', out);
        fputc('\n', out);
    }
}

static int write_table(const wedge *w, const result *results)
{
    char *path = new_text("%s/wedge.csv", w->folder), *draft = new_text("%s.part", path);
    FILE *out = fopen(draft, "w");
    bool good = out != NULL;
    if (good) {
        write_rows(w, results, out);
        good = !ferror(out);
        good = !fclose(out) && good;
        good = good && !rename(draft, path);
    }
    if (!good)
        console_error("%s: %s", path, strerror(errno));
    else
        console_note("table %s", path);
    free(draft);
    free(path);
    return good ? 0 : FIRN_NO_OUTPUT;
}

static int value_width(const wedge *w, size_t axis)
{
    size_t width = strlen(short_name(w->axes[axis].key));
    for (size_t i = 0; i < w->axes[axis].count; i++) {
        size_t length = strlen(w->axes[axis].values[i]);
        width = length > width ? length : width;
    }
    return (int)width;
}

static void print_table(const wedge *w, const result *results)
{
    printf("case");
    for (size_t k = 0; k < w->axis_count; k++)
        printf("  %*s", value_width(w, k), short_name(w->axes[k].key));
    printf("  pieces  largest   loose    top m  spread m  density     J_P\n");
    for (size_t i = 0; i < w->count; i++) {
        printf("%4zu", i);
        for (size_t k = 0; k < w->axis_count; k++)
            printf("  %*s", value_width(w, k), strchr(w->cases[i].sets[k], '=') + 1);
        const double *v = results[i].values;
        if (results[i].has_frame)
            printf("  %6.0f  %6.1f%%  %5.1f%%  %7.4g  %8.4g  %7.1f  %6.4f", v[3], 100 * v[4],
                   100 * v[5], v[10], v[15], v[16], v[17]);
        if (w->cases[i].code)
            printf("  exit code %d", w->cases[i].code);
        printf("\n");
    }
}

/* ---- The sheet ------------------------------------------------------------------------------- */

static int draw_sheet(const wedge *w, const result *results)
{
    const wedge_options *o = w->options;
    firn_frame *frames = calloc(w->count, sizeof *frames);
    const char **labels = calloc(w->count, sizeof *labels);
    const firn_scene **scenes = calloc(w->count, sizeof *scenes);
    if (!frames || !labels || !scenes)
        abort();
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (!results[i].has_frame || results[i].frame.count == 0)
            continue;
        frames[count] = results[i].frame;
        labels[count] = results[i].label;
        scenes[count++] = results[i].scene;
    }
    firn_preview_options options = {.width = 480,
                                    .height = 360,
                                    .colour = (firn_colour)o->colour,
                                    .scene = count ? scenes[0] : NULL,
                                    .labels = labels,
                                    .scenes = scenes};
    int code = 0;
    char *path = new_text("%s/wedge.png", w->folder), rest;
    if (o->size && sscanf(o->size, "%5dx%5d%c", &options.width, &options.height, &rest) != 2) {
        console_error("firn wedge: --size is WIDTHxHEIGHT in pixels, such as 480x360, not '%s'",
                      o->size);
        code = 2;
    } else if (count == 0) {
        console_warning("no case has a frame to draw");
    } else {
        firn_status status = firn_preview_sheet(frames, count, (int)o->columns, &options, path);
        code = status == FIRN_OK ? 0 : console_failure(status);
        if (!code)
            console_note("sheet %s", path);
    }
    free(path);
    free(scenes);
    free(labels);
    free(frames);
    return code;
}

int wedge_report(const wedge *w)
{
    result *results = calloc(w->count, sizeof *results);
    if (!results)
        abort();
    int code = 0;
    for (size_t i = 0; i < w->count && !code; i++)
        code = gather(w, i, &results[i]);
    if (!code)
        code = write_table(w, results);
    if (!code) {
        print_table(w, results);
        code = draw_sheet(w, results);
    }
    for (size_t i = 0; i < w->count; i++) {
        if (results[i].has_frame)
            firn_frame_clear(&results[i].frame);
        firn_scene_destroy(&results[i].scene);
        free(results[i].label);
    }
    free(results);
    return code;
}

/* ---- Elsewhere ------------------------------------------------------------------------------- */

static void write_script(const wedge *w, int threads, FILE *out)
{
    char *here = realpath(".", NULL);
    fprintf(out,
            "#!/bin/bash\n"
            "#SBATCH --job-name=firn-wedge\n"
            "#SBATCH --array=0-%zu\n"
            "#SBATCH --cpus-per-task=%d\n"
            "#SBATCH --requeue\n"
            "#SBATCH --open-mode=append\n"
            "# Before the time is up: save and stop; a job that is queued again continues.\n"
            "#SBATCH --signal=B:TERM@120\n"
            "# When all are done, the same `firn wedge` without --slurm makes the table and the "
            "sheet.\n"
            "cd",
            w->count - 1, threads);
    shell_word(out, here ? here : ".");
    fprintf(out, " || exit 66\ncase $SLURM_ARRAY_TASK_ID in\n");
    for (size_t i = 0; i < w->count; i++) {
        char numbers[32];
        char **words = wedge_command(w, i, threads, numbers);
        fprintf(out, "%zu) exec", i);
        for (size_t k = 0; words[k]; k++)
            shell_word(out, words[k]);
        fprintf(out, " ;;\n");
        free(words);
    }
    fprintf(out, "*) echo \"no case $SLURM_ARRAY_TASK_ID\" >&2; exit 2 ;;\nesac\n");
    free(here);
}

int wedge_write_slurm(const wedge *w)
{
    const char *path = w->options->slurm;
    FILE *out = fopen(path, "w");
    bool good = out != NULL;
    if (good) {
        write_script(w, w->options->threads ? (int)w->options->threads : 8, out);
        good = !ferror(out);
        good = !fclose(out) && good && !chmod(path, 0755);
    }
    if (!good) {
        console_error("%s: %s", path, strerror(errno));
        return FIRN_NO_OUTPUT;
    }
    console_note("%zu cases: sbatch %s", w->count, path);
    return 0;
}
