#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_error[4096];

static firn_log_fn *log_callback;
static void *log_user;

const char *firn_last_error(void)
{
    return last_error;
}

firn_status fail(firn_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

firn_status fail_within(firn_status status, const char *format, ...)
{
    char inner[sizeof last_error];
    memcpy(inner, last_error, sizeof inner);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof last_error)
        snprintf(last_error + used, sizeof last_error - (size_t)used, "%s", inner);
    return status;
}

void firn_set_log(firn_log_fn *callback, void *user)
{
    log_callback = callback;
    log_user = user;
}

void log_message(firn_log_level level, const char *format, ...)
{
    if (!log_callback)
        return;
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    log_callback(level, message, log_user);
}

char *text_format(const char *format, ...)
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

char *text_copy(const char *text)
{
    return text_format("%s", text);
}
