/* Being asked to stop: SIGINT, SIGTERM and SIGHUP are noted; one more, a tenth of a second later or after that, ends the
 * process at once. */
#ifndef FIRN_TOOL_SIGNALS_H
#define FIRN_TOOL_SIGNALS_H

#include <stdbool.h>

void signals_catch(void);
bool signals_asked_to_stop(void);

#endif
