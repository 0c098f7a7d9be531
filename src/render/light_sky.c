#include "render/light_sky.h"

#include "render/phase.h"

static const float lowest_sun = 0.02f; /* sine of its elevation */

static vec3 rgb_from_xyz(float X, float Y, float Z)
{
    return (vec3){3.2406f * X - 1.5372f * Y - 0.4986f * Z, -0.9689f * X + 1.8758f * Y + 0.0415f * Z,
                  0.0557f * X - 0.2040f * Y + 1.0570f * Z};
}

/* ---- The sun ------------------------------------------------------------------------------------ */

/* Appendix A.1: what is left after Rayleigh scattering, aerosols and ozone, at one wavelength. */
static float air_passes(float micrometres, float ozone, float mass, float turbidity)
{
    float beta = 0.04608f * turbidity - 0.04586f;
    float rayleigh = 0.008735f * powf(micrometres, -4.08f);
    float aerosol = beta * powf(micrometres, -1.3f);
    return expf(-mass * (rayleigh + aerosol + 0.35f * ozone));
}

static float sun_sine(vec3 sun, vec3 up)
{
    return fmaxf(vec_dot(sun, up), lowest_sun);
}

vec3 sky_sunlight(vec3 sun, vec3 up, float turbidity)
{
    float sine = sun_sine(sun, up), from_zenith = acosf(fminf(sine, 1)) * 180 / PI_F;
    float mass = 1 / (sine + 0.15f * powf(93.885f - from_zenith, -1.253f));
    const float outside = 133 / SKY_WHITE; /* klx above the air */
    /* The middle of each primary; ozone's absorption there, per centimetre. */
    return (vec3){outside * 1.00f * air_passes(0.605f, 0.120f, mass, turbidity),
                  outside * 1.00f * air_passes(0.545f, 0.082f, mass, turbidity),
                  outside * 1.02f * air_passes(0.460f, 0.008f, mass, turbidity)};
}

/* ---- The sky ------------------------------------------------------------------------------------ */

/* Perez et al.: luminance by the angle from the zenith and the angle from the sun. */
static float perez(const float c[5], float cosine, float angle)
{
    float near_sun = cosf(angle);
    return (1 + c[0] * expf(c[1] / cosine)) *
           (1 + c[2] * expf(c[3] * angle) + c[4] * near_sun * near_sun);
}

static float zenith_chromaticity(const float m[3][4], float T, float angle)
{
    float value = 0;
    for (int i = 0; i < 3; i++) {
        float row = ((m[i][0] * angle + m[i][1]) * angle + m[i][2]) * angle + m[i][3];
        value = value * T + row;
    }
    return value;
}

static void set_zenith(sky_model *sky, float T, float angle)
{
    static const float x[3][4] = {{0.00166f, -0.00375f, 0.00209f, 0},
                                  {-0.02903f, 0.06377f, -0.03202f, 0.00394f},
                                  {0.11693f, -0.21196f, 0.06052f, 0.25886f}};
    static const float y[3][4] = {{0.00275f, -0.00610f, 0.00317f, 0},
                                  {-0.04214f, 0.08970f, -0.04153f, 0.00516f},
                                  {0.15346f, -0.26756f, 0.06670f, 0.26688f}};
    float chi = (4.0f / 9 - T / 120) * (PI_F - 2 * angle);
    sky->zenith[0] = fmaxf((4.0453f * T - 4.9710f) * tanf(chi) - 0.2155f * T + 2.4192f, 0.05f);
    sky->zenith[1] = zenith_chromaticity(x, T, angle);
    sky->zenith[2] = zenith_chromaticity(y, T, angle);
}

/* Appendix A.2 */
static void set_perez(sky_model *sky, float T)
{
    static const float slope[3][5] = {{0.1787f, -0.3554f, -0.0227f, 0.1206f, -0.0670f},
                                      {-0.0193f, -0.0665f, -0.0004f, -0.0641f, -0.0033f},
                                      {-0.0167f, -0.0950f, -0.0079f, -0.0441f, -0.0109f}};
    static const float base[3][5] = {{-1.4630f, 0.4275f, 5.3251f, -2.5771f, 0.3703f},
                                     {-0.2592f, 0.0008f, 0.2125f, -0.8989f, 0.0452f},
                                     {-0.2608f, 0.0092f, 0.2102f, -1.6537f, 0.0529f}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 5; k++)
            sky->perez[i][k] = slope[i][k] * T + base[i][k];
}

static vec3 above(const sky_model *sky, vec3 direction)
{
    float cosine = fmaxf(vec_dot(direction, sky->up), 0.01f);
    float angle = acosf(fminf(fmaxf(vec_dot(direction, sky->sun), -1), 1)), value[3];
    for (int i = 0; i < 3; i++)
        value[i] = sky->zenith[i] * perez(sky->perez[i], cosine, angle) / sky->at_zenith[i];
    float Y = fmaxf(value[0], 0) / SKY_WHITE, x = value[1], y = fmaxf(value[2], 1e-3f);
    vec3 rgb = rgb_from_xyz(x / y * Y, Y, (1 - x - y) / y * Y);
    return (vec3){fmaxf(rgb.x, 0), fmaxf(rgb.y, 0), fmaxf(rgb.z, 0)};
}

/* Light on level ground from the sky, by a spiral of directions that carry equal shares. */
static vec3 sky_on_ground(const sky_model *sky)
{
    enum { DIRECTIONS = 1024 };
    vec3 sum = {0, 0, 0};
    for (int i = 0; i < DIRECTIONS; i++) {
        float cosine = sqrtf(((float)i + 0.5f) / DIRECTIONS), turn = 0.618034f * (float)i;
        sum = vec_add(sum, above(sky, frame_direction(sky->up, cosine, turn - floorf(turn))));
    }
    return vec_scale(sum, PI_F / DIRECTIONS);
}

sky_model sky_create(vec3 sun, vec3 up, float turbidity)
{
    const float earth = 0.25f; /* reflectance of what lies below the horizon */
    float sine = sun_sine(sun, up), angle = acosf(fminf(sine, 1));
    sky_model sky = {.up = up, .sun = sun};
    set_zenith(&sky, turbidity, angle);
    set_perez(&sky, turbidity);
    for (int i = 0; i < 3; i++)
        sky.at_zenith[i] = perez(sky.perez[i], 1, angle);
    vec3 sunlight = vec_scale(sky_sunlight(sun, up, turbidity), sine);
    sky.ground = vec_scale(vec_add(sky_on_ground(&sky), sunlight), earth / PI_F);
    return sky;
}

vec3 sky_radiance(const sky_model *sky, vec3 direction)
{
    return vec_dot(direction, sky->up) < 0 ? sky->ground : above(sky, direction);
}
