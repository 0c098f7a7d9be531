/* Simulations of the studies: from a few lines of scene, through the public interface. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze.h"
#include "console.h"
#include "signals.h"

bool study_fail(study *s, firn_status status)
{
    if (!s->code)
        s->code = console_failure(status);
    return false;
}

firn_scene *study_scene(study *s, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    firn_scene *scene = NULL;
    firn_status status = s->code ? FIRN_OK : firn_scene_parse(text, s->name, NULL, 0, &scene);
    free(text);
    if (status != FIRN_OK)
        study_fail(s, status);
    return scene;
}

firn_sim *study_sim(study *s, const firn_scene *scene, const char *backend, int threads)
{
    const firn_sim_options options = {.backend = backend, .threads = threads};
    firn_sim *sim = NULL;
    if (s->code || !scene)
        return NULL;
    firn_status status = firn_sim_create(scene, &options, &sim);
    if (status != FIRN_OK)
        study_fail(s, status);
    return sim;
}

static bool go_on(study *s)
{
    if (signals_asked_to_stop() && !s->code)
        s->code = FIRN_STOPPED;
    return !s->code;
}

bool study_advance(study *s, firn_sim *sim, double time, uint64_t most, bool *gave_up)
{
    if (gave_up)
        *gave_up = false;
    while (go_on(s) && firn_sim_time(sim) < time) {
        if (gave_up && firn_sim_steps(sim) >= most)
            return *gave_up = true;
        firn_status status = firn_sim_step(sim);
        if (status == FIRN_BLOWUP && gave_up)
            return *gave_up = true;
        if (status != FIRN_OK)
            return study_fail(s, status);
    }
    return !s->code;
}

bool study_steps(study *s, firn_sim *sim, size_t count)
{
    for (size_t k = 0; k < count && go_on(s); k++) {
        firn_status status = firn_sim_step(sim);
        if (status != FIRN_OK)
            return study_fail(s, status);
    }
    return !s->code;
}

bool study_stats(study *s, firn_sim *sim, firn_stats *stats)
{
    firn_status status = s->code ? FIRN_OK : firn_sim_stats(sim, stats);
    return status == FIRN_OK ? !s->code : study_fail(s, status);
}

double *study_read(study *s, const firn_sim *sim, firn_attribute attribute)
{
    size_t count = firn_sim_particle_count(sim);
    int width = firn_attribute_components(attribute, firn_sim_dimensions(sim));
    double *values = calloc(count * (size_t)width + 1, sizeof *values);
    if (!values)
        abort();
    firn_status status = firn_sim_read(sim, attribute, 0, count, values);
    if (status != FIRN_OK)
        study_fail(s, status);
    return values;
}

bool has_backend(const char *name)
{
    char list[128] = "", word[32];
    sscanf(firn_features(), "backends: %127[^;]", list);
    for (char *at = list; sscanf(at, "%31s", word) == 1; at += strcspn(at, " ")) {
        if (!strcmp(word, name))
            return true;
        at += strspn(at, " ");
    }
    return false;
}
