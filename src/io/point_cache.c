#include "io/point_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/mesh_build.h"
#include "status.h"

enum { PC2_HEADER = 32, MDD_HEADER = 8, POINT_BYTES = 12 };
static const char PC2_WORD[12] = "POINTCACHE2";

/* What follows the header must be there to the byte. */
static firn_status check_size(const point_cache *c, uint64_t points, uint64_t samples,
                              uint64_t header)
{
    if (points == 0 || samples == 0)
        return fail(FIRN_BAD_SCENE, "%s: a cache of %llu points at %llu times holds nothing",
                    c->name, (unsigned long long)points, (unsigned long long)samples);
    if (header <= c->in.size && (c->in.size - header) / POINT_BYTES / points >= samples)
        return FIRN_OK;
    return fail(FIRN_BAD_SCENE,
                "%s: cut short: %llu points at %llu times need more than its %zu bytes", c->name,
                (unsigned long long)points, (unsigned long long)samples, c->in.size);
}

/* "POINTCACHE2\0", int version, points, float first frame, frames between, int samples. */
static firn_status open_pc2(point_cache *c)
{
    const char *at = c->in.data;
    if (c->in.size < PC2_HEADER)
        return fail(FIRN_BAD_SCENE, "%s: cut short within the header of a PC2 cache", c->name);
    c->first = PC2_HEADER;
    c->point_count = bytes_u32(at + 16, false);
    c->sample_count = bytes_u32(at + 28, false);
    c->frames_between = bytes_f32(at + 24, false);
    if (!(c->frames_between > 0 && c->frames_between < 1e6))
        return fail(FIRN_BAD_SCENE, "%s: %g frames from sample to sample make no sense", c->name,
                    c->frames_between);
    return check_size(c, c->point_count, c->sample_count, c->first);
}

/* int samples, points; float times; then the points, all big endian. */
static firn_status open_mdd(point_cache *c)
{
    const char *at = c->in.data;
    if (c->in.size < MDD_HEADER)
        return fail(FIRN_BAD_SCENE, "%s: neither a PC2 nor an MDD cache", c->name);
    c->big_endian = true;
    c->sample_count = bytes_u32(at, true);
    c->point_count = bytes_u32(at + 4, true);
    c->first = MDD_HEADER + 4 * c->sample_count;
    firn_status status = check_size(c, c->point_count, c->sample_count, c->first);
    if (status != FIRN_OK)
        return status;
    if (!(c->times = malloc(c->sample_count * sizeof *c->times)))
        return fail(FIRN_NO_MEMORY, "%s: not enough memory", c->name);
    for (size_t k = 0; k < c->sample_count; k++) {
        c->times[k] = bytes_f32(at + MDD_HEADER + 4 * k, true);
        if (!isfinite(c->times[k]) || (k > 0 && !(c->times[k] > c->times[k - 1])))
            return fail(FIRN_BAD_SCENE, "%s: time %zu (%g s) is not after the one before", c->name,
                        k, c->times[k]);
    }
    return FIRN_OK;
}

firn_status point_cache_open(const char *path, point_cache *cache)
{
    *cache = (point_cache){.name = strdup(path)};
    if (!cache->name)
        return fail(FIRN_NO_MEMORY, "not enough memory");
    firn_status status = input_open(path, &cache->in);
    if (status == FIRN_OK) {
        bool pc2 = cache->in.size >= sizeof PC2_WORD &&
                   memcmp(cache->in.data, PC2_WORD, sizeof PC2_WORD) == 0;
        status = pc2 ? open_pc2(cache) : open_mdd(cache);
    }
    if (status != FIRN_OK)
        point_cache_close(cache);
    return status;
}

void point_cache_close(point_cache *cache)
{
    free(cache->name);
    free(cache->times);
    input_close(&cache->in);
    *cache = (point_cache){0};
}

firn_status point_cache_read(const point_cache *c, size_t sample, double (*points)[3])
{
    const char *at = c->in.data + c->first + sample * c->point_count * POINT_BYTES;
    for (size_t p = 0; p < c->point_count; p++)
        for (int i = 0; i < 3; i++, at += 4) {
            points[p][i] = bytes_f32(at, c->big_endian);
            if (!isfinite(points[p][i]))
                return fail(FIRN_BAD_SCENE, "%s: point %zu of sample %zu is not finite", c->name, p,
                            sample);
        }
    return FIRN_OK;
}
