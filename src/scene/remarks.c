/* What to say about bodies that are too thin or too fast for the grid. */
#include <math.h>
#include <stdlib.h>

#include "scene/options.h"

enum { LOOKS = 200 }; /* at a moving body, over the run */

/* The largest speed of a body during the run; of its pivot if it has no end. */
static double fastest(const firn_scene *scene, const collider *c)
{
    const firn_settings *s = &scene->settings;
    double speed = 0, seconds = s->frames / s->fps;
    for (int k = 0; k <= LOOKS && motion_moves(&c->motion); k++) {
        collider_pose pose;
        collider_pose_at(c, seconds * k / LOOKS, &pose);
        for (int i = 0; i < 3; i++)
            if (!isfinite(pose.high[i] - pose.low[i]) || i >= s->dimensions)
                pose.low[i] = pose.high[i] = pose.at.place[i];
        speed = fmax(speed, collider_speed(&pose, pose.low, pose.high));
    }
    return speed + (c->deform ? deform_speed(c->deform, 0, seconds) : 0);
}

static char *thin_remark(const firn_scene *scene, const scene_collider *body, double thickness)
{
    double h = scene->settings.cell_size;
    if (thickness >= h)
        return NULL;
    return text_format(
        "%s: collider '%s' is only about %.2g cells thick: nodes of the grid may miss "
        "it, and the steps near it shrink with its thickness; make it at least %g m "
        "thick, or simulation.cell_size at most %.2g m",
        body->mark.where, body->name, thickness / h, 2 * h, thickness);
}

static char *fast_remark(const firn_scene *scene, const scene_collider *body, double speed,
                         double stable_dt)
{
    const firn_settings *s = &scene->settings;
    double allowed = s->travel * s->cell_size / speed;
    if (s->time_step > allowed)
        return text_format(
            "%s: collider '%s' moves at up to %.3g m/s, %.2g cells in a step of "
            "simulation.time_step: it will leave snow inside; lower the step to %.2g s "
            "or write auto",
            body->mark.where, body->name, speed, speed * s->time_step / s->cell_size, allowed);
    if (s->time_step == 0 && allowed < stable_dt / 2)
        return text_format("%s: collider '%s' moves at up to %.3g m/s: near the snow steps will be "
                           "%.2g s, where the snow alone allows %.2g s",
                           body->mark.where, body->name, speed, allowed, stable_dt);
    return NULL;
}

size_t collider_remarks(const firn_scene *scene, const collider_set *set, double stable_dt,
                        char ***remarks)
{
    size_t count = 0;
    *remarks = allocate(2 * set->count, sizeof **remarks);
    for (size_t n = 0; n < set->count; n++) {
        const scene_collider *body = &scene->colliders[n];
        char *found[2] = {thin_remark(scene, body, set->items[n].thickness),
                          fast_remark(scene, body, fastest(scene, &set->items[n]), stable_dt)};
        for (int k = 0; k < 2; k++)
            if (found[k])
                (*remarks)[count++] = found[k];
    }
    return count;
}
