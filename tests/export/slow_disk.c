/* Preloaded into the program: every fsync takes the milliseconds of SLOW_DISK_MS. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int fd)
{
    static int (*real)(int);
    const char *ms = getenv("SLOW_DISK_MS");
    if (!real)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    usleep(1000 * (unsigned)(ms ? atoi(ms) : 0));
    return real(fd);
}
