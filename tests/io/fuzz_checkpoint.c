/*
 * libFuzzer over the readers of frames and checkpoints:
 *
 *     build-fuzz/fuzz/fuzz_checkpoint -max_len=65536 -rss_limit_mb=4096 tests/io/corpus/checkpoint
 *
 * Known and not ours: libhdf5 1.10 itself crashes on text of variable length in a damaged global
 * heap (H5HG_read). Our files have none; a seed that h5py wrote has, and stays out of the corpus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "firn/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    static FILE *nowhere;
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        nowhere = fopen("/dev/null", "w");
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size || !nowhere)
        abort();
    firn_frame frame = {0};
    firn_checkpoint_info info;
    firn_frame_read(path, &frame);
    firn_frame_clear(&frame);
    firn_checkpoint_read_info(path, &info);
    firn_file_describe(path, nowhere);
    return 0;
}
