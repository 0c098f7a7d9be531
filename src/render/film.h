/*
 * What light has left on a picture so far: sums over samples, how far each row is, the layers they make,
 * and a file to go on from.
 *
 * Rows may be at different samples while a picture is under way. A row is only ever ahead by whole
 * samples, each added in order, so that a film that was saved, loaded and finished has the bits of one
 * that was never interrupted.
 */
#ifndef FIRN_RENDER_FILM_H
#define FIRN_RENDER_FILM_H

#include "render/trace.h"

typedef struct film {
    trace_film sums;     /* owned pixels */
    uint32_t *done;      /* samples of each row; owned */
    trace_pixel *backup; /* of a band that is being traced; owned */
} film;

firn_status film_create(film *f, int width, int height);
void film_clear(film *f);

/* Some rows and samples that still lack, those that are farthest behind first: at most `rows` rows and
 * `samples` samples, up to `wanted`. False when there are none. */
typedef struct film_band {
    int y0, y1;
    uint32_t first, count;
} film_band;
bool film_next(const film *f, uint32_t wanted, int rows, uint32_t samples, film_band *band);

/* Around tracing a band: keep what was there, then count it as done or put it back. */
void film_begin(film *f, const film_band *band);
void film_end(film *f, const film_band *band, bool complete);

uint32_t film_samples(const film *f); /* of the row that is farthest behind */

/* EXR with the sums themselves. FIRN_BAD_SCENE when a file is not the film of this picture. */
firn_status film_save(const film *f, uint64_t identity, const char *path);
firn_status film_load(film *f, uint64_t identity, const char *path);

/* Means over the samples, every value finite. */
typedef struct film_layers {
    int width, height;
    vec3 *light, *albedo, *normal;
    float *depth;    /* of what was met; 0 where nothing was */
    float *cover;    /* 0 sky .. 1 */
    float *variance; /* of the mean's luminance */
} film_layers;       /* all owned */

firn_status film_resolve(const film *f, film_layers *layers);
void film_layers_clear(film_layers *layers);

#endif
