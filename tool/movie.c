#include "movie.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console.h"
#include "firn/firn.h"
#include "run_folder.h"

int movie_check(void)
{
    const char *path = getenv("PATH");
    for (const char *part = path ? path : ""; *part;) {
        size_t length = strcspn(part, ":");
        char *program = new_text("%.*s/ffmpeg", (int)length, part);
        bool found = access(program, X_OK) == 0;
        free(program);
        if (found)
            return 0;
        part += length + (part[length] == ':');
    }
    console_error("films need the program ffmpeg, which is not installed (Debian: apt install "
                  "ffmpeg); -o NAME_####.png writes the pictures alone");
    return FIRN_NO_OUTPUT;
}

static int output_failed(const char *path)
{
    console_error("%s: %s", path, strerror(errno));
    return FIRN_NO_OUTPUT;
}

int movie_folder(const char *folder)
{
    return mkdir(folder, 0777) == 0 || errno == EEXIST ? 0 : output_failed(folder);
}

static int is_picture(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && !strcmp(entry->d_name + length - 4, ".png");
}

void movie_remove_folder(const char *folder)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, is_picture, alphasort);
    for (int k = 0; k < found; k++) {
        char *path = new_text("%s/%s", folder, entries[k]->d_name);
        unlink(path);
        free(path);
        free(entries[k]);
    }
    if (found >= 0)
        free(entries);
    rmdir(folder); /* stays when something else is in it */
}

/* ---- ffmpeg ---------------------------------------------------------------------------------- */

/* The program reading pictures from a pipe, whose writing end is returned; -1 when it did not start. */
static int start(const char *fps, const char *path, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *child = fork();
    if (*child == 0) {
        dup2(ends[0], STDIN_FILENO);
        /* Even sides for 4:2:0; sRGB pictures are BT.709 but for the curve, which players ignore. */
        execlp("ffmpeg", "ffmpeg", "-y", "-loglevel", "error", "-f", "image2pipe", "-framerate",
               fps, "-c:v", "png", "-i", "-", "-vf",
               "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,"
               "format=yuv420p",
               "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709",
               "-color_range", "tv", "-c:v", "libx264", "-preset", "slow", "-crf", "17",
               "-movflags", "+faststart", "-f", "mp4", path, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (*child > 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

static bool copy(const char *path, int to)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[1 << 16];
    bool good = from >= 0;
    for (ssize_t got; good && (got = read(from, bytes, sizeof bytes)) != 0;) {
        good = got > 0;
        for (ssize_t sent = 0, n; good && sent < got; sent += n) {
            n = write(to, bytes + sent, (size_t)(got - sent));
            good = n > 0;
        }
    }
    if (from >= 0)
        close(from);
    return good;
}

static int encode(struct dirent **entries, size_t count, const char *folder, double fps,
                  const char *path, const char *temporary)
{
    char rate[32];
    snprintf(rate, sizeof rate, "%.10g", fps);
    pid_t child;
    int end = start(rate, temporary, &child), status = -1;
    if (end < 0)
        return output_failed("ffmpeg");
    bool sent = true;
    for (size_t k = 0; k < count && sent; k++) {
        char *picture = new_text("%s/%s", folder, entries[k]->d_name);
        sent = copy(picture, end);
        free(picture);
    }
    close(end);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (sent && status == 0 && rename(temporary, path) == 0)
        return 0;
    unlink(temporary);
    console_error("%s: ffmpeg could not make the film; its pictures are in %s", path, folder);
    return FIRN_NO_OUTPUT;
}

int movie_encode(const char *folder, size_t count, double fps, const char *path)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, is_picture, alphasort);
    if (found < 0)
        return output_failed(folder);
    char *temporary = new_text("%s.%ld.tmp", path, (long)getpid());
    size_t have = (size_t)found < count ? (size_t)found : count;
    int code = encode(entries, have, folder, fps, path, temporary);
    free(temporary);
    for (int k = 0; k < found; k++)
        free(entries[k]);
    free(entries);
    return code;
}
