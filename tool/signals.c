#include "signals.h"

#include <signal.h>
#include <stddef.h>

#include "progress.h"

/* s. timeout(1) and batch systems signal a program, and then its group. */
static const double ONE_REQUEST = 0.1;

static volatile sig_atomic_t stop_signal;
static double stop_clock;

static void on_signal(int number)
{
    if (!stop_signal) {
        stop_clock = clock_seconds();
        stop_signal = number;
    } else if (clock_seconds() - stop_clock > ONE_REQUEST) { /* asked twice: at once */
        signal(number, SIG_DFL);
        raise(number);
    }
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
