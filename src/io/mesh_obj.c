/* Wavefront OBJ: `v` and `f` lines; everything else is passed over. */
#include "io/mesh_build.h"

static firn_status read_vertex(scan *s, mesh_builder *b)
{
    double x[3];
    if (scan_reals(s, x, 3) != 3)
        return scan_fail(s, "a vertex needs three finite numbers, %s", scan_found(s));
    return build_vertex(b, x);
}

/* A backslash at the end of a line makes the next one part of it. */
static bool face_ends(scan *s)
{
    while (!scan_line_ends(s) && *s->at == '\\') {
        s->at++;
        if (!scan_line_ends(s))
            return false;
        scan_next_line(s);
    }
    return scan_line_ends(s);
}

/* f 1 2 3, f 1/4 2/5 3/6, f 1//7 ..., f -3 -2 -1: what follows a slash is texture and normal. */
static firn_status read_face(scan *s, mesh_builder *b)
{
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && !face_ends(s)) {
        int64_t index;
        status = scan_whole(s, &index);
        if (status != FIRN_OK)
            break;
        int64_t vertices = (int64_t)b->mesh.vertex_count;
        if (index == 0 || index < -vertices)
            return scan_fail(s, "a face names vertex %lld; there are %lld, counted from 1",
                             (long long)index, (long long)vertices);
        while (s->at < s->end && !scan_is_blank(*s->at) && *s->at != '\n')
            s->at++;
        status = build_corner(b, (uint64_t)(index < 0 ? vertices + index : index - 1), s->line);
    }
    if (status == FIRN_OK && b->corner_count < 3)
        return scan_fail(s, "a face needs three vertices, not %zu", b->corner_count);
    return status == FIRN_OK ? build_polygon(b) : status;
}

firn_status read_obj(const char *name, const char *data, size_t size, mesh_builder *b)
{
    scan s = scan_text(name, data, size);
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && s.at < s.end) {
        scan_blanks(&s);
        bool keyword = s.end - s.at > 1 && scan_is_blank(s.at[1]);
        if (keyword && *s.at == 'v') {
            s.at++;
            status = read_vertex(&s, b);
        } else if (keyword && *s.at == 'f') {
            s.at++;
            status = read_face(&s, b);
        }
        if (status == FIRN_OK)
            scan_next_line(&s);
    }
    return status;
}
