/* A scene's colliders as surfaces. */
#include <stdlib.h>

#include "render/surface_body.h"
#include "scene/model.h"
#include "status.h"

static double loan_distance(const void *user, const double world[3])
{
    const surface_loan *loan = user;
    return collider_distance(loan->body, &loan->pose, world, NULL, NULL);
}

void surface_return_loans(surface_set *set)
{
    for (surface_loan *next; set->loans; set->loans = next) {
        next = set->loans->next;
        collider_leave(set->loans->body, &set->loans->pose);
        free(set->loans);
    }
}

static firn_status take_loan(surface_set *set, const collider *body, double time)
{
    surface_loan *loan = calloc(1, sizeof *loan);
    if (!loan)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    firn_status status = collider_stand(body, time, &loan->pose);
    if (status != FIRN_OK) {
        free(loan);
        return status;
    }
    loan->body = body;
    loan->next = set->loans;
    set->loans = loan;
    return FIRN_OK;
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

firn_status surface_add_scene(surface_set *set, const firn_scene *scene, double time,
                              const surface_material *materials)
{
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < scene->collider_count && status == FIRN_OK; i++) {
        const collider *body = &scene->colliders[i].body;
        if ((status = take_loan(set, body, time)) != FIRN_OK)
            break;
        const surface_loan *loan = set->loans;
        status = is_plane(body) ? add_plane(set, loan, &materials[i])
                                : surface_add_distance(set, loan_distance, loan, loan->pose.low,
                                                       loan->pose.high, &materials[i]);
    }
    return status;
}
