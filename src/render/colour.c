#include "render/colour.h"

#include "scene/model.h"
#include "status.h"

static const vec3 snow = {0.92f, 0.93f, 0.95f};

vec3 colour_from_oklab(float lightness, float a, float b)
{
    /* Oklab (Ottosson 2020): to cube roots of cone responses, then linear sRGB. */
    float l = lightness + 0.3963377774f * a + 0.2158037573f * b;
    float m = lightness - 0.1055613458f * a - 0.0638541728f * b;
    float s = lightness - 0.0894841775f * a - 1.2914855480f * b;
    l = l * l * l, m = m * m * m, s = s * s * s;
    return (vec3){clamp01(4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s),
                  clamp01(-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s),
                  clamp01(-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s)};
}

vec3 colour_scale(float t)
{
    /* Lightness rises evenly; the hue turns evenly from blue through violet and rose to gold. */
    t = clamp01(t);
    float hue = -1.75f + 3.25f * t, chroma = 0.155f - 0.10f * (t - 0.45f) * (t - 0.45f);
    return colour_from_oklab(0.34f + 0.56f * t, chroma * cosf(hue), chroma * sinf(hue));
}

vec3 colour_kind(uint32_t index)
{
    float hue = 4.2f + 2.39996323f * (float)index;
    return colour_from_oklab(0.74f, 0.13f * cosf(hue), 0.13f * sinf(hue));
}

static float value_of(firn_colour mode, const firn_frame *frame, size_t i)
{
    if (mode == FIRN_COLOUR_ID)
        return (float)frame->id[i];
    if (mode == FIRN_COLOUR_DENSITY)
        return frame->density[i];
    if (mode == FIRN_COLOUR_J_P)
        return frame->J_P[i];
    const float *v = frame->velocity + 3 * i;
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static const void *values_of(firn_colour mode, const firn_frame *frame)
{
    switch (mode) {
    case FIRN_COLOUR_SPEED:
        return frame->velocity;
    case FIRN_COLOUR_DENSITY:
        return frame->density;
    case FIRN_COLOUR_J_P:
        return frame->J_P;
    case FIRN_COLOUR_OBJECT:
    case FIRN_COLOUR_MATERIAL:
        return frame->object;
    case FIRN_COLOUR_ID:
        return frame->id;
    default:
        return frame->position;
    }
}

static void widen(colour_rule *rule, const firn_frame *frame, points_sample *scratch)
{
    size_t found = 0, stride = points_stride(frame->count);
    for (size_t i = 0; i < frame->count; i += stride) {
        float value = value_of(rule->mode, frame, i);
        if (isfinite(value))
            scratch->values[found++] = value;
    }
    if (found == 0)
        return;
    rule->low = fminf(rule->low, points_quantile(scratch->values, found, 0.005f));
    rule->high = fmaxf(rule->high, points_quantile(scratch->values, found, 0.995f));
}

bool colour_has_kinds(const colour_rule *rule)
{
    return rule->mode == FIRN_COLOUR_OBJECT || rule->mode == FIRN_COLOUR_MATERIAL;
}

bool colour_has_scale(const colour_rule *rule)
{
    return rule->mode != FIRN_COLOUR_SNOW && !colour_has_kinds(rule);
}

static uint32_t kind_of(const colour_rule *rule, uint32_t object)
{
    if (rule->mode == FIRN_COLOUR_OBJECT)
        return object;
    return object < rule->scene->snow_count ? (uint32_t)rule->scene->snow[object].material : 0;
}

const char *colour_kind_name(const colour_rule *rule, uint32_t index)
{
    if (rule->mode == FIRN_COLOUR_MATERIAL)
        return rule->scene->materials[index].name;
    bool named = rule->scene && index < rule->scene->snow_count;
    return named ? rule->scene->snow[index].name : NULL;
}

firn_status colour_choose(const firn_frame *frames, size_t count, firn_colour mode,
                          const firn_scene *scene, points_sample *scratch, colour_rule *rule)
{
    *rule = (colour_rule){.mode = mode, .low = INFINITY, .high = -INFINITY, .scene = scene};
    if (mode < FIRN_COLOUR_SNOW || mode > FIRN_COLOUR_ID)
        return fail(FIRN_USAGE, "there is no colour number %d", (int)mode);
    if (mode == FIRN_COLOUR_MATERIAL && (!scene || scene->snow_count == 0))
        return fail(FIRN_USAGE, "to colour by material takes the scene that says which is which");
    for (size_t f = 0; f < count; f++) {
        if (frames[f].count > 0 && !values_of(mode, &frames[f]))
            return fail(FIRN_USAGE, "frame %d has no %s to colour by", frames[f].frame,
                        colour_name(mode));
        if (colour_has_scale(rule))
            widen(rule, &frames[f], scratch);
        for (size_t i = 0; colour_has_kinds(rule) && i < frames[f].count; i++) {
            uint32_t kind = kind_of(rule, frames[f].object[i]);
            rule->last_kind = kind > rule->last_kind ? kind : rule->last_kind;
        }
    }
    if (!(rule->low <= rule->high))
        rule->low = rule->high = 0;
    if (mode == FIRN_COLOUR_SPEED)
        rule->low = 0;
    return FIRN_OK;
}

vec3 colour_particle(const colour_rule *rule, const firn_frame *frame, size_t index)
{
    if (rule->mode == FIRN_COLOUR_SNOW)
        return snow;
    if (colour_has_kinds(rule))
        return colour_kind(kind_of(rule, frame->object[index]));
    float range = rule->high - rule->low;
    float value = value_of(rule->mode, frame, index) - rule->low;
    return colour_scale(range > 0 && isfinite(value) ? value / range : 0.5f);
}

const char *colour_name(firn_colour mode)
{
    static const char *const names[] = {"position", "speed",    "density", "J_P",
                                        "object",   "material", "id"};
    return names[mode];
}

const char *colour_unit(firn_colour mode, int dimensions)
{
    if (mode == FIRN_COLOUR_SPEED)
        return " m/s";
    if (mode == FIRN_COLOUR_DENSITY)
        return dimensions == 2 ? " kg/m^2" : " kg/m^3";
    return "";
}
