/* Leaving a message behind a status, remarks to the log, and allocation that says when it fails. */
#ifndef FIRN_SRC_STATUS_H
#define FIRN_SRC_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#include "firn/firn.h"

/* Record the message of a failure and return its status: `return fail(FIRN_BAD_SCENE, "...");` */
firn_status fail(firn_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put words before the message already recorded: "scene.yaml: " and so on. */
firn_status fail_within(firn_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void log_message(firn_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A printf into fresh memory, owned by the caller. Never NULL: ends the process when even that fails. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_copy(const char *text);

#endif
