#include "render/surface_set.h"

#include <stdlib.h>

#include "render/surface_body.h"
#include "status.h"

double body_distance(const surface_set *set, const surface_body *body, vec3 x)
{
    const double world[3] = {set->origin[0] + x.x, set->origin[1] + x.y, set->origin[2] + x.z};
    return body->distance(body->user, world);
}

/* ---- Making ------------------------------------------------------------------------------------- */

firn_status surface_set_create(const double origin[3], surface_set **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    for (int a = 0; a < 3; a++)
        (*out)->origin[a] = origin[a];
    return FIRN_OK;
}

void surface_set_destroy(surface_set **set)
{
    if (!*set)
        return;
    rays_destroy(&(*set)->rays);
    surface_return_loans(*set);
    free((*set)->planes);
    free((*set)->bodies);
    free(*set);
    *set = NULL;
}

static bool is_share(vec3 c)
{
    return c.x >= 0 && c.y >= 0 && c.z >= 0 && c.x <= 1 && c.y <= 1 && c.z <= 1;
}

static firn_status check_material(surface_material *m)
{
    if (m->roughness == 0)
        m->roughness = 0.2f;
    if (m->ior == 0)
        m->ior = 1.5f;
    if (!is_share(m->colour) || !is_share(m->other))
        return fail(FIRN_USAGE, "a surface reflects between 0 and 1 of each colour");
    if (!(m->square >= 0) || !isfinite(m->square))
        return fail(FIRN_USAGE, "a checker of squares %g m wide", (double)m->square);
    if (!(m->roughness >= 0.02f && m->roughness <= 1))
        return fail(FIRN_USAGE, "a roughness of %g; it must be 0.02 to 1", (double)m->roughness);
    if (!(m->ior > 1 && m->ior <= 4))
        return fail(FIRN_USAGE, "a refractive index of %g; it must be above 1, at most 4",
                    (double)m->ior);
    return FIRN_OK;
}

static firn_status grow(void **items, size_t count, size_t size)
{
    void *more = realloc(*items, (count + 1) * size);
    if (!more)
        return fail(FIRN_NO_MEMORY, "no memory for the surfaces of a picture");
    *items = more;
    return FIRN_OK;
}

firn_status surface_add_plane(surface_set *set, vec3 point, vec3 normal,
                              const surface_material *material)
{
    surface_plane plane = {point, normal, *material};
    firn_status status = check_material(&plane.material);
    if (status == FIRN_OK)
        status = grow((void **)&set->planes, set->plane_count, sizeof plane);
    if (status != FIRN_OK)
        return status;
    set->planes[set->plane_count++] = plane;
    set->has_glass |= material->kind == SURFACE_GLASS;
    return FIRN_OK;
}

firn_status surface_add_distance(surface_set *set, surface_distance_fn *distance, const void *user,
                                 const double low[3], const double high[3],
                                 const surface_material *material)
{
    surface_body body = {.distance = distance, .user = user, .material = *material};
    firn_status status = check_material(&body.material);
    if (status == FIRN_OK)
        status = grow((void **)&set->bodies, set->body_count, sizeof body);
    if (status != FIRN_OK)
        return status;
    bool bounded = true;
    for (int a = 0; a < 3; a++) {
        body.low[a] = low[a], body.high[a] = high[a];
        bounded = bounded && isfinite(low[a]) && isfinite(high[a]);
    }
    body.meshed = bounded && rays_available();
    body.detail = 1e-4f;
    set->bodies[set->body_count++] = body;
    set->has_glass |= material->kind == SURFACE_GLASS;
    return FIRN_OK;
}

static firn_status mesh_body(surface_set *set, size_t index)
{
    surface_mesh mesh;
    firn_status status = surface_mesh_create(set, &set->bodies[index], &mesh);
    if (status != FIRN_OK)
        return status;
    set->bodies[index].detail = 0.02f * mesh.cell;
    if (mesh.triangle_count > 0)
        status = rays_add(set->rays, &mesh, index);
    surface_mesh_clear(&mesh);
    return status;
}

firn_status surface_commit(surface_set *set)
{
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < set->body_count && status == FIRN_OK; i++) {
        if (!set->bodies[i].meshed)
            continue;
        if (!set->rays)
            status = rays_create(&set->rays);
        if (status == FIRN_OK)
            status = mesh_body(set, i);
    }
    return status == FIRN_OK && set->rays ? rays_commit(set->rays) : status;
}

/* ---- Rays --------------------------------------------------------------------------------------- */

static float plane_meet(const surface_plane *p, vec3 start, vec3 direction)
{
    float height = vec_dot(vec_sub(start, p->point), p->normal);
    float fall = -vec_dot(direction, p->normal), t = height / fall;
    return t > 0 && t < INFINITY ? t : INFINITY;
}

/* What a ray meets first: a plane, or else a body. */
typedef struct meeting {
    float t;
    const surface_plane *plane;
    const surface_body *body;
} meeting;

static meeting find_meeting(const surface_set *set, vec3 start, vec3 direction, float limit)
{
    meeting m = {.t = limit};
    for (size_t i = 0; i < set->plane_count; i++) {
        float t = plane_meet(&set->planes[i], start, direction);
        if (t < m.t)
            m = (meeting){t, &set->planes[i], NULL};
    }
    for (size_t i = 0; i < set->body_count; i++) {
        if (set->bodies[i].meshed)
            continue;
        float t = march_body(set, &set->bodies[i], start, direction, m.t);
        if (t < m.t)
            m = (meeting){t, NULL, &set->bodies[i]};
    }
    if (set->rays) {
        size_t body = 0;
        float t = rays_meet(set->rays, start, direction, m.t, &body);
        if (t < m.t)
            m = (meeting){t, NULL, &set->bodies[body]};
    }
    return m;
}

static vec3 body_normal(const surface_set *set, const surface_body *body, vec3 x)
{
    static const vec3 corner[4] = {{1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {1, 1, 1}};
    vec3 gradient = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        double phi = body_distance(set, body, vec_add(x, vec_scale(corner[i], body->detail)));
        gradient = vec_add(gradient, vec_scale(corner[i], (float)phi));
    }
    float length = vec_length(gradient);
    return length > 0 ? vec_scale(gradient, 1 / length) : (vec3){0, 1, 0};
}

/* Which of the checker's colours: by the squares of the two axes that the surface faces least. */
static vec3 colour_at(const surface_set *set, const surface_material *m, vec3 x, vec3 normal)
{
    if (m->square == 0)
        return m->colour;
    const double world[3] = {set->origin[0] + x.x, set->origin[1] + x.y, set->origin[2] + x.z};
    const float n[3] = {fabsf(normal.x), fabsf(normal.y), fabsf(normal.z)};
    int facing = n[1] >= n[0] && n[1] >= n[2] ? 1 : n[0] > n[2] ? 0 : 2;
    double odd = 0;
    for (int a = 0; a < 3; a++)
        if (a != facing)
            odd += floor(world[a] / (double)m->square);
    return fmod(odd, 2) == 0 ? m->colour : m->other;
}

bool surface_meet(const surface_set *set, vec3 start, vec3 direction, float limit, surface_hit *hit)
{
    meeting m = find_meeting(set, start, direction, limit);
    if (!m.plane && !m.body)
        return false;
    vec3 x = vec_add(start, vec_scale(direction, m.t));
    hit->t = m.t;
    hit->normal = m.plane ? m.plane->normal : body_normal(set, m.body, x);
    hit->material = m.plane ? &m.plane->material : &m.body->material;
    hit->colour = colour_at(set, hit->material, x, hit->normal);
    return true;
}

static bool is_blocked(const surface_set *set, vec3 start, vec3 direction, float limit)
{
    for (size_t i = 0; i < set->plane_count; i++)
        if (plane_meet(&set->planes[i], start, direction) < limit)
            return true;
    if (set->rays && rays_blocked(set->rays, start, direction, limit))
        return true;
    for (size_t i = 0; i < set->body_count; i++)
        if (!set->bodies[i].meshed &&
            march_body(set, &set->bodies[i], start, direction, limit) < limit)
            return true;
    return false;
}

vec3 surface_passes(const surface_set *set, vec3 start, vec3 direction, float limit)
{
    enum { MOST_PANES = 16 };
    vec3 passed = {1, 1, 1};
    if (!set->has_glass)
        return is_blocked(set, start, direction, limit) ? (vec3){0, 0, 0} : passed;
    for (int i = 0; i < MOST_PANES; i++) {
        surface_hit hit;
        if (!surface_meet(set, start, direction, limit, &hit))
            return passed;
        if (hit.material->kind != SURFACE_GLASS)
            break;
        passed = vec_mul(passed, hit.colour);
        vec3 beyond = surface_leave(&hit, start, direction, direction);
        limit -= vec_length(vec_sub(beyond, start));
        start = beyond;
    }
    return (vec3){0, 0, 0};
}

float surface_clearance(const surface_set *set, vec3 x)
{
    float nearest = INFINITY;
    for (size_t i = 0; i < set->plane_count; i++) {
        const surface_plane *p = &set->planes[i];
        nearest = lesser(nearest, fabsf(vec_dot(vec_sub(x, p->point), p->normal)));
    }
    for (size_t i = 0; i < set->body_count; i++) {
        const surface_body *b = &set->bodies[i];
        /* A mesh lies within a fraction of a cell of the surface it stands for. */
        float slack = b->meshed ? 50 * b->detail : b->detail;
        nearest = lesser(nearest, (float)fabs(body_distance(set, b, x)) - slack);
    }
    return greater(nearest, 0);
}

vec3 surface_leave(const surface_hit *hit, vec3 start, vec3 ray, vec3 direction)
{
    vec3 x = vec_add(start, vec_scale(ray, hit->t));
    float size = greater(greater(fabsf(x.x), fabsf(x.y)), greater(fabsf(x.z), hit->t));
    float gap = 4e-5f + 5e-6f * size;
    return vec_add(x, vec_scale(hit->normal, vec_dot(direction, hit->normal) < 0 ? -gap : gap));
}
