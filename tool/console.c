#include "console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static console_level loudness = CONSOLE_NORMAL;
static bool live_line_shown;

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && !strcmp(kind, "dumb"));
}

static bool has_colour(void)
{
    const char *no = getenv("NO_COLOR");
    return is_terminal() && !(no && *no);
}

static void say(const char *label, const char *colour, const char *format, va_list args)
{
    char text[8192];
    vsnprintf(text, sizeof text, format, args);
    console_live("");
    if (*label && has_colour())
        fprintf(stderr, "\033[%sm%s\033[0m %s\n", colour, label, text);
    else
        fprintf(stderr, "%s%s%s\n", label, *label ? " " : "", text);
}

void console_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("error:", "1;31", format, args);
    va_end(args);
}

void console_warning(const char *format, ...)
{
    if (loudness == CONSOLE_QUIET)
        return;
    va_list args;
    va_start(args, format);
    say("warning:", "1;33", format, args);
    va_end(args);
}

void console_note(const char *format, ...)
{
    if (loudness == CONSOLE_QUIET)
        return;
    va_list args;
    va_start(args, format);
    say("", "", format, args);
    va_end(args);
}

int console_failure(firn_status status)
{
    console_error("%s", firn_last_error());
    return (int)status;
}

static void hear_library(firn_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == FIRN_LOG_WARNING)
        console_warning("%s", message);
    else if (level == FIRN_LOG_INFO || loudness == CONSOLE_VERBOSE)
        console_note("%s", message);
}

void console_setup(console_level level)
{
    loudness = level;
    firn_set_log(hear_library, NULL);
}

bool console_is_live(void)
{
    return loudness != CONSOLE_QUIET && is_terminal();
}

void console_live(const char *line)
{
    if (!*line && !live_line_shown)
        return;
    struct winsize size;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
    fprintf(stderr, "\r\033[K%.*s", width - 1, line);
    fflush(stderr);
    live_line_shown = *line;
}
