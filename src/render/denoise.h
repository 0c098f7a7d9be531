/*
 * Noise out of a traced picture, detail kept: each pixel becomes a mean of those nearby that look alike,
 * in light as far as its own variance lets one tell, and in what was met (albedo, normal, depth).
 *
 * Joint non-local means after Rousselle, Manzi and Zwicker, Robust Denoising using Feature and Color
 * Information (2013): patches of light compared relative to their variance, features relative to their
 * own slope. Fireflies are first brought down to their neighbours.
 *
 * It moves light between pixels and so is not unbiased: for drafts, and for the last bit of grain.
 */
#ifndef FIRN_RENDER_DENOISE_H
#define FIRN_RENDER_DENOISE_H

#include "render/film.h"

/* Replace layers->light. The same bits for any number of threads. */
firn_status denoise(film_layers *layers);

#endif
