#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int processor_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void machine_text(char text[256])
{
    char line[256], model[200] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %199[^\n]", model) == 1)
            break;
    if (file)
        fclose(file);
    snprintf(text, 256, "%s, %d threads", model, processor_count());
}

void memory_forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

/* An entry of /proc/self/status, in kB there; 0 where there is none. */
static double status_bytes(const char *name)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) &&
            sscanf(line + strlen(name), ": %lf kB", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return 1024 * kilobytes;
}

double memory_peak_bytes(void)
{
    struct rusage usage;
    double bytes = status_bytes("VmHWM");
    return bytes > 0 || getrusage(RUSAGE_SELF, &usage) != 0 ? bytes
                                                            : 1024.0 * (double)usage.ru_maxrss;
}

double memory_now_bytes(void)
{
    return status_bytes("VmRSS");
}
