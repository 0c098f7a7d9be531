/* STL: binary (80 bytes, a count, 50 bytes a triangle) or text (facet, outer loop, vertex). */
#include <math.h>
#include <string.h>

#include "io/mesh_build.h"
#include "status.h"

enum { HEADER = 84, RECORD = 50 };

static bool is_binary(const char *data, size_t size)
{
    return size >= HEADER && (size - HEADER) / RECORD == bytes_u32(data + 80, false) &&
           (size - HEADER) % RECORD == 0;
}

bool is_stl(const char *data, size_t size)
{
    return is_binary(data, size) || (size > 5 && memcmp(data, "solid", 5) == 0);
}

static firn_status add_corner(mesh_builder *b, const double x[3], size_t line)
{
    firn_status status = build_corner(b, b->mesh.vertex_count, line);
    return status == FIRN_OK ? build_vertex(b, x) : status;
}

static firn_status read_binary(const char *name, const char *data, mesh_builder *b)
{
    uint32_t count = bytes_u32(data + 80, false);
    firn_status status = FIRN_OK;
    for (uint32_t t = 0; t < count && status == FIRN_OK; t++) {
        const char *record = data + HEADER + (size_t)t * RECORD + 12; /* after the normal */
        for (int k = 0; k < 3 && status == FIRN_OK; k++) {
            double x[3];
            for (int i = 0; i < 3; i++) {
                x[i] = bytes_f32(record + 12 * k + 4 * i, false);
                if (!isfinite(x[i]))
                    return fail(FIRN_BAD_SCENE,
                                "%s: triangle %u (from 0) has a vertex that is not finite", name,
                                t);
            }
            status = add_corner(b, x, 0);
        }
        if (status == FIRN_OK)
            status = build_polygon(b);
    }
    return status;
}

static firn_status read_text(scan *s, mesh_builder *b)
{
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && scan_skip(s, 0)) {
        double x[3];
        if (scan_match(s, "vertex")) {
            if (scan_reals(s, x, 3) != 3)
                return scan_fail(s, "a vertex needs three finite numbers, %s", scan_found(s));
            status = add_corner(b, x, s->line);
        } else if (scan_match(s, "endloop")) {
            if (b->corner_count < 3)
                return scan_fail(s, "a facet needs three vertices, not %zu", b->corner_count);
            status = build_polygon(b);
        } else {
            scan_next_line(s);
        }
    }
    if (status == FIRN_OK && b->corner_count)
        return scan_fail(s, "the file ends inside a facet");
    return status;
}

firn_status read_stl(const char *name, const char *data, size_t size, mesh_builder *b)
{
    if (is_binary(data, size))
        return read_binary(name, data, b);
    scan s = scan_text(name, data, size);
    if (scan_match(&s, "solid"))
        return read_text(&s, b);
    if (size < HEADER)
        return fail(FIRN_BAD_SCENE, "%s: not an STL file: %zu bytes, without the word solid", name,
                    size);
    return fail(FIRN_BAD_SCENE,
                "%s: a binary STL of %u triangles has %.0f bytes, this file %zu: it is cut short "
                "or damaged",
                name, bytes_u32(data + 80, false),
                HEADER + (double)RECORD * bytes_u32(data + 80, false), size);
}
