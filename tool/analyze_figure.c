/* Figures through gnuplot: the script and its SVG stay in the folder. */
#include "analyze_figure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console.h"
#include "firn/firn.h"
#include "run_folder.h"

/* Colours that people with any kind of colour vision tell apart (Okabe and Ito), dark ones
 * first. */
#define PREAMBLE                                                                                   \
    "set encoding utf8\n"                                                                          \
    "set terminal svg size 900,%d dynamic enhanced background '#ffffff' font 'sans-serif,15' "     \
    "lw 1.4\n"                                                                                     \
    "set output '%s.svg.tmp'\n"                                                                    \
    "set datafile separator comma\n"                                                               \
    "set datafile commentschars '#'\n"                                                             \
    "set datafile missing NaN\n"                                                                   \
    "set linetype 1 lc rgb '#0072b2' pt 7\nset linetype 2 lc rgb '#d55e00' pt 5\n"                 \
    "set linetype 3 lc rgb '#009e73' pt 9\nset linetype 4 lc rgb '#cc79a7' pt 11\n"                \
    "set linetype 5 lc rgb '#e69f00' pt 13\nset linetype 6 lc rgb '#56b4e9' pt 6\n"                \
    "set linetype 7 lc rgb '#000000' pt 4\nset linetype 8 lc rgb '#7f7f7f' pt 8\n"                 \
    "set pointsize 0.8\n"                                                                          \
    "set border 3 lc rgb '#444444'\nset tics nomirror tc rgb '#222222'\n"                          \
    "set grid lc rgb '#e0e0e0' lw 0.6\n"                                                           \
    "set key outside right top reverse Left samplen 2 spacing 1.2\n"                               \
    "only(name, column) = strcol(1) eq name ? column(column) : NaN\n"

int figure_check(void)
{
    const char *path = getenv("PATH");
    for (const char *part = path ? path : ""; *part;) {
        size_t length = strcspn(part, ":");
        char *program = new_text("%.*s/gnuplot", (int)length, part);
        bool found = access(program, X_OK) == 0;
        free(program);
        if (found)
            return 0;
        part += length + (part[length] == ':');
    }
    console_error("figures need the program gnuplot, which is not installed (Debian: apt install "
                  "gnuplot-nox)");
    return FIRN_NO_OUTPUT;
}

static int failed(const char *path)
{
    console_error("%s: %s", path, strerror(errno));
    return FIRN_NO_OUTPUT;
}

static int write_script(const char *path, const char *name, int height, const char *script)
{
    FILE *file = fopen(path, "w");
    bool good = file && fprintf(file, PREAMBLE, height, name) > 0 && fputs(script, file) >= 0;
    if ((file && fclose(file) != 0) || !good)
        return failed(path);
    return 0;
}

/* In the folder, so that scripts name files as they lie beside them. */
static int run_gnuplot(const char *folder, const char *script)
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY); /* it warns of every empty line of a legend */
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (chdir(folder) == 0)
            execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child < 0)
        return failed("gnuplot");
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        return 0;
    console_error("%s/%s: gnuplot could not draw this; run it to see why", folder, script);
    return FIRN_NO_OUTPUT;
}

int figure_draw(const char *folder, const char *name, int height, const char *script)
{
    char *file = new_text("%s.gp", name), *path = new_text("%s/%s", folder, file);
    char *temporary = new_text("%s/%s.svg.tmp", folder, name);
    char *picture = new_text("%s/%s.svg", folder, name);
    int code = write_script(path, name, height, script);
    if (!code)
        code = run_gnuplot(folder, file);
    if (!code && rename(temporary, picture) != 0)
        code = failed(picture);
    if (code)
        unlink(temporary);
    free(file);
    free(path);
    free(temporary);
    free(picture);
    return code;
}

int figure_inline(const char *folder, const char *name, FILE *out)
{
    char *path = new_text("%s/%s.svg", folder, name), line[8192];
    FILE *file = fopen(path, "r");
    int code = file ? 0 : failed(path);
    bool inside = false; /* the XML declaration and the document type have no place in HTML */
    while (file && fgets(line, sizeof line, file)) {
        inside = inside || !strncmp(line, "<svg", 4);
        if (inside)
            fputs(line, out);
    }
    if (file)
        fclose(file);
    free(path);
    return code;
}
