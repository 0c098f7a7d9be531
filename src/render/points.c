#include "render/points.h"

#include <stdlib.h>

static const double world_origin[3] = {0, 0, 0};
size_t points_stride(size_t count)
{
    return (count + POINTS_SAMPLE - 1) / POINTS_SAMPLE;
}

void points_choose(const firn_frame *frame, const double origin[3], points_sample *sample)
{
    size_t stride = points_stride(frame->count);
    sample->count = 0;
    for (size_t i = 0; i < frame->count; i += stride)
        sample->count += points_local(frame, i, origin, &sample->points[sample->count]);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

float points_quantile(float *values, size_t count, float q)
{
    qsort(values, count, sizeof *values, compare_floats);
    return values[(size_t)(q * (float)(count - 1) + 0.5f)];
}

points_span points_measure(points_sample *sample, vec3 direction)
{
    size_t n = sample->count;
    if (n == 0)
        return (points_span){0, 0, 0};
    for (size_t i = 0; i < n; i++)
        sample->values[i] = vec_dot(sample->points[i], direction);
    float middle = points_quantile(sample->values, n, 0.5f);
    size_t trim = n / 800;
    return (points_span){sample->values[trim], middle, sample->values[n - 1 - trim]};
}

points_box points_bounds(points_sample *sample)
{
    points_span x = points_measure(sample, (vec3){1, 0, 0});
    points_span y = points_measure(sample, (vec3){0, 1, 0});
    points_span z = points_measure(sample, (vec3){0, 0, 1});
    return (points_box){
        {x.low, y.low, z.low}, {x.middle, y.middle, z.middle}, {x.high, y.high, z.high}};
}

void points_origin(const firn_frame *frames, size_t count, double origin[3])
{
    origin[0] = origin[1] = origin[2] = 0;
    for (size_t f = 0; f < count; f++) {
        for (size_t i = 0; i < frames[f].count; i++) {
            vec3 p;
            size_t from_middle = (i + frames[f].count / 2) % frames[f].count;
            if (!points_local(&frames[f], from_middle, world_origin, &p))
                continue;
            origin[0] = p.x, origin[1] = p.y, origin[2] = p.z;
            return;
        }
    }
}

/* The median of (m / density)^(1/d); 0 when the frame does not tell. */
static float frame_spacing(const firn_frame *frame, points_sample *scratch)
{
    if (!frame->mass || !frame->density)
        return 0;
    size_t found = 0, stride = points_stride(frame->count);
    for (size_t i = 0; i < frame->count; i += stride) {
        float volume = frame->density[i] > 0 ? frame->mass[i] / frame->density[i] : 0;
        if (volume > 0 && isfinite(volume))
            scratch->values[found++] = volume;
    }
    float median = found ? points_quantile(scratch->values, found, 0.5f) : 0;
    return frame->dimensions == 2 ? sqrtf(median) : cbrtf(median);
}

float points_spacing(const firn_frame *frames, size_t count, points_sample *scratch)
{
    float cell = 0;
    for (size_t f = 0; f < count; f++) {
        if (isfinite(frames[f].cell_size))
            cell = fmaxf(cell, (float)frames[f].cell_size);
        float spacing = frame_spacing(&frames[f], scratch);
        /* A density far off (blown up, or left out) must not make the drawing a fog or a dust. */
        if (spacing > 0 && (cell == 0 || (spacing > 0.1f * cell && spacing < 2 * cell)))
            return spacing;
    }
    return cell > 0 ? cell / 2 : 0.01f;
}
