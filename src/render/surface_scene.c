/* A scene's colliders as surfaces. */
#include <stdlib.h>

#include "render/surface_body.h"
#include "scene/model.h"
#include "status.h"

static double loan_distance(const void *user, const double world[3])
{
    const surface_loan *loan = user;
    return firn_scene_collider_distance(loan->scene, loan->index, loan->time, world);
}

/* A collider that is one half-space, alone. */
static bool is_plane(const collider *body)
{
    return body->shape && body->shape->count == 1 && body->shape->ops[0].kind == SHAPE_HALFSPACE;
}

/* Where and which way, from its distance, however it moves. */
static firn_status add_plane(surface_set *set, const surface_loan *loan,
                             const surface_material *material)
{
    double at = loan_distance(loan, set->origin), n[3];
    for (int a = 0; a < 3; a++) {
        double beside[3] = {set->origin[0], set->origin[1], set->origin[2]};
        beside[a] += 1;
        n[a] = loan_distance(loan, beside) - at;
    }
    vec3 normal = vec_unit((vec3){(float)n[0], (float)n[1], (float)n[2]});
    return surface_add_plane(set, vec_scale(normal, (float)-at), normal, material);
}

static firn_status add_body(surface_set *set, const firn_scene *scene, size_t index, double time,
                            const surface_material *material)
{
    surface_loan *loan = malloc(sizeof *loan);
    if (!loan)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    *loan = (surface_loan){scene, index, time, set->loans};
    set->loans = loan;
    collider_pose pose;
    collider_pose_at(&scene->colliders[index].body, time, &pose);
    return surface_add_distance(set, loan_distance, loan, pose.low, pose.high, material);
}

firn_status surface_add_scene(surface_set *set, const firn_scene *scene, double time,
                              const surface_material *materials)
{
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < scene->collider_count && status == FIRN_OK; i++) {
        const collider *body = &scene->colliders[i].body;
        const surface_loan plane = {scene, i, time, NULL};
        status = is_plane(body) ? add_plane(set, &plane, &materials[i])
                                : add_body(set, scene, i, time, &materials[i]);
    }
    return status;
}
