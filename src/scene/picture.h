/*
 * What a scene says of its pictures: camera, lights, what snow and bodies look like, and how well to
 * draw. Filled by the tables in options_picture.c; nothing here enters the physics.
 */
#ifndef FIRN_SCENE_PICTURE_H
#define FIRN_SCENE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where in the input something was said, for messages: "snow.yaml:12:5". Owned text. */
typedef struct scene_mark {
    char *where;
} scene_mark;

/* A value that was not given is chosen when a picture is framed. */
typedef struct scene_camera {
    bool has_position, has_target, has_up, has_azimuth, has_elevation;
    double position[3], target[3], up[3];
    double azimuth, elevation; /* degrees, of the place that the camera looks from */
    double zoom;               /* 1: what was framed just fits */
    double field_of_view;      /* degrees, across the shorter side */
    double aperture;           /* diameter of the lens, m */
    double focus;              /* m; 0 = the target */
    double shutter;            /* share of the time between two frames */
    int shutter_steps;
} scene_camera;

typedef enum scene_light_kind {
    SCENE_LIGHT_SPHERE,
    SCENE_LIGHT_RECTANGLE,
    SCENE_LIGHT_CONSTANT,
    SCENE_LIGHT_ENVIRONMENT
} scene_light_kind;

typedef struct scene_light {
    char *name;
    scene_light_kind kind;
    double colour[3], strength;
    double position[3], radius;            /* sphere; rectangle: its middle */
    double normal[3], width, height, turn; /* rectangle; degrees about its normal */
    char *file;     /* environment: resolved against the scene's folder; owned */
    double azimuth; /* environment: degrees about the vertical */
    scene_mark mark;
} scene_light;

typedef enum scene_surface_kind { SCENE_DIFFUSE, SCENE_GLOSSY, SCENE_GLASS } scene_surface_kind;

typedef struct scene_surface {
    bool has_colour, has_checker;
    scene_surface_kind kind;
    double colour[3], checker[3];
    double square; /* m; 0 = by the size of the picture */
    double roughness, ior;
    bool visible;
} scene_surface;

typedef enum scene_tracking { SCENE_TRACK_EXACT, SCENE_TRACK_DELTA } scene_tracking;
typedef enum scene_tone { SCENE_FILMIC, SCENE_PLAIN } scene_tone;
typedef enum scene_denoise {
    SCENE_DENOISE_AUTO,
    SCENE_DENOISE_ON,
    SCENE_DENOISE_OFF
} scene_denoise;
typedef enum scene_precision { SCENE_HALF, SCENE_FLOAT } scene_precision;

typedef struct scene_render {
    int width, height, samples;
    uint64_t seed;
    double exposure; /* stops */
    scene_tone tone;
    scene_denoise denoise;
    scene_precision precision;
    int bounces, similarity;
    /* snow */
    double extinction, reference_density, albedo[3], mean_cosine;
    scene_tracking tracking;
    double voxel_size, kernel_width, thickness; /* 0 = automatic */
    int grains;
    /* sun and sky */
    bool has_sun_azimuth;
    double sun_elevation, sun_azimuth, sun_angle, sun_strength;
    double sky_strength, turbidity;
    size_t light_count;
    scene_light *lights;
} scene_render;

#endif
