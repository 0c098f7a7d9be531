/*
 * What people read, on stderr: errors, warnings, notes and one live line that is redrawn in place.
 *
 * Colour and the live line appear only on a terminal; colour not if NO_COLOR is set.
 * Does NOT do: stdout, which carries data only.
 */
#ifndef FIRN_TOOL_CONSOLE_H
#define FIRN_TOOL_CONSOLE_H

#include <stdbool.h>

#include "firn/firn.h"

typedef enum console_level { CONSOLE_QUIET, CONSOLE_NORMAL, CONSOLE_VERBOSE } console_level;

/* Set how much is said, and hear the library's remarks. Quiet leaves errors only. */
void console_setup(console_level level);
bool console_is_live(void); /* whether the live line would be seen */

void console_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tell the library's last error; returns its status as the exit code. */
int console_failure(firn_status status);

/* Replace the live line; "" takes it away. Every message does so too. */
void console_live(const char *line);

#endif
