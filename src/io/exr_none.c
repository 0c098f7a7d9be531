/* OpenEXR files in a build without the library: clear refusals. */
#include "io/exr.h"

#include "status.h"

firn_status exr_write(const char *path, int width, int height, const exr_channel *channels,
                      size_t channel_count, const exr_note *notes, size_t note_count)
{
    (void)width, (void)height, (void)channels, (void)channel_count, (void)notes, (void)note_count;
    return fail(FIRN_USAGE, "cannot write %s: this build has no OpenEXR", path);
}

firn_status exr_read(const char *path, exr_image *image)
{
    *image = (exr_image){0};
    return fail(FIRN_USAGE, "cannot read %s: this build has no OpenEXR", path);
}

void exr_clear(exr_image *image)
{
    *image = (exr_image){0};
}

const float *exr_find(const exr_image *image, const char *channel)
{
    (void)image, (void)channel;
    return NULL;
}

const char *exr_find_note(const exr_image *image, const char *name)
{
    (void)image, (void)name;
    return NULL;
}

const char *exr_version(void)
{
    return "none";
}
