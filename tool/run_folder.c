#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "console.h"
#include "firn/io.h"

char *new_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        abort();
    return text;
}

static int output_failed(const char *path)
{
    console_error("%s: %s", path, strerror(errno));
    return FIRN_NO_OUTPUT;
}

/* ---- The folder itself ----------------------------------------------------------------------- */

/* mkdir -p */
static bool make_folders(const char *path)
{
    char *part = new_text("%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(part, 0777); /* the last one decides */
        *slash = '/';
    }
    bool made = mkdir(part, 0777) == 0 || errno == EEXIST;
    free(part);
    return made;
}

/* Asked, not tried: a file made for a trial would stay behind where the run is killed before it is gone. */
static int prove_writable(const char *folder)
{
    return access(folder, W_OK | X_OK) == 0 ? 0 : output_failed(folder);
}

/* A run that was killed a moment ago may take a little while to be gone. */
static bool lock_folder(int fd)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    for (int attempt = 0; attempt < 20; attempt++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true; /* file systems without locks are trusted */
        nanosleep(&tenth, NULL);
    }
    return false;
}

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length >= size && !strcmp(name + length - size, ending);
}

/* Files under temporary names, which a killed run could not remove. */
static void sweep(const char *folder)
{
    static const char *const starts[] = {"frame_",    "frames.",  "checkpoint",
                                         "log.jsonl", "picture_", "scene.txt"};
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++)
            if (!strncmp(entry->d_name, starts[k], strlen(starts[k])) &&
                has_ending(entry->d_name, ".tmp"))
                unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
}

int folder_make(const char *path)
{
    return make_folders(path) ? prove_writable(path) : output_failed(path);
}

int folder_open(run_folder *f, const char *path)
{
    *f = (run_folder){
        .path = new_text("%s", path),
        .checkpoint = new_text("%s/checkpoint.h5", path),
        .previous = new_text("%s/checkpoint_previous.h5", path),
        .next = new_text("%s/checkpoint_next.h5", path),
        .costs = new_text("%s/checkpoint.jsonl", path),
        .lock = -1,
    };
    if (!make_folders(path))
        return output_failed(path);
    f->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock < 0)
        return output_failed(path);
    if (!lock_folder(f->lock)) {
        console_error("%s: another run is writing to this folder", path);
        return FIRN_NO_OUTPUT;
    }
    sweep(path);
    return prove_writable(path);
}

void folder_close(run_folder *f)
{
    if (!f->path)
        return;
    if (f->lock >= 0)
        close(f->lock);
    free(f->path);
    free(f->checkpoint);
    free(f->previous);
    free(f->next);
    free(f->costs);
    *f = (run_folder){0};
}

int output_file_check(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return output_failed(path);
    }
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return 0;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? new_text("%.*s", (int)(slash - path + 1), path) : new_text(".");
    int code = prove_writable(folder);
    free(folder);
    return code;
}

/* ---- The scene ------------------------------------------------------------------------------- */

/* One line for the path and one for each override; a line break within one is a space to YAML too. */
static void write_line(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(*text == '\n' ? ' ' : *text, out);
    fputc('\n', out);
}

int folder_write_scene(const run_folder *f, const char *scene_path, const argument_list *sets)
{
    char *path = new_text("%s/scene.txt", f->path), *temporary = new_text("%s.tmp", path);
    char *whole = realpath(scene_path, NULL);
    FILE *out = fopen(temporary, "w");
    if (out) {
        write_line(out, whole ? whole : scene_path);
        for (size_t k = 0; k < sets->count; k++)
            write_line(out, sets->items[k]);
    }
    bool written = out && !ferror(out);
    if (out && fclose(out) != 0)
        written = false;
    int code = written && rename(temporary, path) == 0 ? 0 : output_failed(path);
    if (code)
        unlink(temporary);
    free(whole);
    free(temporary);
    free(path);
    return code;
}

char *folder_read_scene(const char *folder, argument_list *sets)
{
    char *path = new_text("%s/scene.txt", folder), *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "r");
    ssize_t length = in ? getdelim(&text, &size, 0, in) : -1;
    if (in)
        fclose(in);
    free(path);
    if (length <= 0) {
        free(text);
        return NULL;
    }
    for (char *line = text; (line = strchr(line, '\n'));) {
        *line++ = 0;
        if (!*line)
            break;
        sets->items = realloc(sets->items, (sets->count + 1) * sizeof *sets->items);
        if (!sets->items)
            abort();
        sets->items[sets->count++] = line;
    }
    return text;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

int folder_save(const run_folder *f, firn_sim *sim)
{
    firn_status status = firn_sim_save(sim, f->next);
    if (status != FIRN_OK)
        return console_failure(status);
    if (rename(f->checkpoint, f->previous) != 0 && errno != ENOENT)
        return output_failed(f->previous);
    if (rename(f->next, f->checkpoint) != 0)
        return output_failed(f->checkpoint);
    return 0;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int folder_save_first(const run_folder *f, firn_sim *sim, const char *source)
{
    firn_status status = firn_sim_save(sim, f->next);
    if (status != FIRN_OK)
        return console_failure(status);
    if (!(source && is_same_file(source, f->previous)))
        unlink(f->previous);
    if (rename(f->next, f->checkpoint) != 0)
        return output_failed(f->checkpoint);
    return 0;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

char *folder_frame_path(const char *folder, int frame, unsigned format)
{
    return new_text("%s/frame_%04d.%s", folder, frame, firn_format_extension(format));
}

bool frame_name_parse(const char *name, long *frame, unsigned *format)
{
    if (strncmp(name, "frame_", 6))
        return false;
    const char *digits = name + 6;
    size_t length = strspn(digits, "0123456789");
    if (length < 4 || length > 9 || digits[length] != '.')
        return false;
    *frame = strtol(digits, NULL, 10);
    for (*format = 1; firn_format_name(*format); *format <<= 1)
        if (!strcmp(digits + length + 1, firn_format_extension(*format)))
            return true;
    return false;
}

static int by_number(const void *a, const void *b)
{
    const long *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t folder_list_frames(const char *folder, unsigned format, long last, long **frames)
{
    DIR *listing = opendir(folder);
    size_t count = 0, room = 0;
    *frames = NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        long frame;
        unsigned kind;
        if (!frame_name_parse(entry->d_name, &frame, &kind) || kind != format || frame > last)
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            *frames = realloc(*frames, room * sizeof **frames);
            if (!*frames)
                abort();
        }
        (*frames)[count++] = frame;
    }
    if (listing)
        closedir(listing);
    if (count)
        qsort(*frames, count, sizeof **frames, by_number);
    return count;
}

/* Count the frames later than `last` (or of it and not in `formats`), and remove them if asked. */
static int visit_later_frames(const char *folder, long last, unsigned formats, bool remove)
{
    DIR *listing = opendir(folder);
    int count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        long frame;
        unsigned format;
        if (!frame_name_parse(entry->d_name, &frame, &format))
            continue;
        if (frame < last || (frame == last && (format & formats)))
            continue;
        if (!remove || unlinkat(dirfd(listing), entry->d_name, 0) == 0)
            count++;
    }
    if (listing)
        closedir(listing);
    return count;
}

bool folder_has_frames(const char *folder)
{
    return visit_later_frames(folder, -1, 0, false) > 0;
}

/* Pictures of frames that are no more. */
static void remove_pictures(const char *folder, long last)
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        long frame;
        if (sscanf(entry->d_name, "picture_%9ld.png", &frame) == 1 && frame > last)
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    if (listing)
        closedir(listing);
}

int folder_remove_frames(const char *folder, long last, unsigned formats)
{
    remove_pictures(folder, last);
    static const struct {
        unsigned format;
        const char *name;
    } indexes[] = {{FIRN_FORMAT_VTKHDF, "frames.hdf.series"}, {FIRN_FORMAT_USDA, "frames.usda"}};
    for (size_t k = 0; k < sizeof indexes / sizeof *indexes; k++) {
        char *path = new_text("%s/%s", folder, indexes[k].name);
        if (!(formats & indexes[k].format))
            unlink(path);
        free(path);
    }
    return visit_later_frames(folder, last, formats, true);
}
