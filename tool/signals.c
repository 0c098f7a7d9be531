#include "signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    if (stop_signal) { /* asked twice: at once */
        signal(number, SIG_DFL);
        raise(number);
    }
    stop_signal = number;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup */
        sigaction(SIGHUP, &action, NULL);
}

bool signals_asked_to_stop(void)
{
    return stop_signal != 0;
}
