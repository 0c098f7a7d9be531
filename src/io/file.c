#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "status.h"

static firn_status cannot_write(const char *path, int error)
{
    return fail(FIRN_NO_OUTPUT, "cannot write %s: %s", path, strerror(error));
}

static void forget(file_draft *draft)
{
    free(draft->path);
    free(draft->temporary);
    *draft = (file_draft){.fd = -1};
}

firn_status file_create(const char *path, file_draft *draft)
{
    static atomic_uint serial; /* threads of one process may write the same name */
    struct stat old;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return fail(FIRN_NO_OUTPUT, "cannot write %s: it exists and is not a regular file", path);
    /* A name that a process killed in the past left behind is simply stepped over. */
    for (;;) {
        char *temporary = text_format("%s.%ld-%u.tmp", path, (long)getpid(), serial++);
        int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *draft = (file_draft){.path = text_copy(path), .temporary = temporary, .fd = fd};
            return FIRN_OK;
        }
        int error = errno;
        free(temporary);
        if (error != EEXIST)
            return cannot_write(path, error);
    }
}

void file_write_at(file_draft *draft, uint64_t offset, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0 && !draft->error) {
        ssize_t written = pwrite(draft->fd, from, size, (off_t)offset);
        if (written > 0) {
            from += written;
            offset += (uint64_t)written;
            size -= (size_t)written;
        } else if (written == 0) {
            draft->error = ENOSPC;
        } else if (errno != EINTR) {
            draft->error = errno;
        }
    }
}

void file_append(file_draft *draft, const void *data, size_t size)
{
    file_write_at(draft, draft->size, data, size);
    draft->size += size;
}

void file_truncate(file_draft *draft, uint64_t size)
{
    if (!draft->error && ftruncate(draft->fd, (off_t)size) != 0)
        draft->error = errno;
}

/* So that the new name outlives a power cut. Some file systems cannot, and say EINVAL. */
static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? text_format("%.*s", (int)(slash - path) + 1, path) : text_copy(".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    int error = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return error == EINVAL || error == EACCES ? 0 : error;
}

firn_status file_commit(file_draft *draft)
{
    int error = draft->error;
    if (!error && fsync(draft->fd) != 0)
        error = errno;
    if (close(draft->fd) != 0 && !error)
        error = errno;
    if (!error && rename(draft->temporary, draft->path) != 0)
        error = errno;
    if (error)
        unlink(draft->temporary);
    else
        error = sync_folder_of(draft->path);
    firn_status status = error ? cannot_write(draft->path, error) : FIRN_OK;
    forget(draft);
    return status;
}

void file_discard(file_draft *draft)
{
    close(draft->fd);
    unlink(draft->temporary);
    forget(draft);
}

firn_status file_open_input(const char *path, int *fd, uint64_t *size)
{
    struct stat found;
    /* O_NONBLOCK: a pipe under this name must not make us wait for its writer. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return fail(FIRN_NO_INPUT, "cannot read %s: %s", path, strerror(errno));
    if (fstat(*fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        close(*fd);
        return fail(FIRN_NO_INPUT, "cannot read %s: it is not a regular file", path);
    }
    *size = (uint64_t)found.st_size;
    return FIRN_OK;
}
