/* OFF, text and binary: [ST][C][N]OFF. Colours and normals are passed over. */
#include <math.h>
#include <string.h>

#include "io/mesh_build.h"
#include "status.h"

typedef struct off_header {
    bool binary;
    int extra; /* floats after the coordinates of a vertex, in binary files */
} off_header;

static bool take(scan *s, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
        return false;
    s->at += length;
    return true;
}

/* Whether the header's word stands here; it is passed over. */
static bool take_header(scan *s, off_header *h)
{
    *h = (off_header){0};
    h->extra += take(s, "ST") ? 2 : 0;
    h->extra += take(s, "C") ? 4 : 0;
    h->extra += take(s, "N") ? 3 : 0;
    if (!take(s, "OFF"))
        return false;
    if (s->at < s->end && !scan_is_blank(*s->at) && *s->at != '\n')
        return false;
    h->binary = scan_match(s, "BINARY");
    return true;
}

bool is_off(const char *data, size_t size)
{
    off_header h;
    scan s = scan_text("", data, size);
    return scan_skip(&s, '#') && take_header(&s, &h);
}

/* ---- text ------------------------------------------------------------------------------------ */

static firn_status ends_early(scan *s, const char *what, int64_t read, int64_t wanted)
{
    return scan_fail(s, "the file ends after %lld of %lld %s", (long long)read, (long long)wanted,
                     what);
}

static firn_status read_text_face(scan *s, mesh_builder *b)
{
    int64_t corners = 0, index;
    firn_status status = scan_whole(s, &corners);
    if (status == FIRN_OK && corners < 1)
        return scan_fail(s, "a face has %lld vertices", (long long)corners);
    for (int64_t k = 0; k < corners && status == FIRN_OK; k++) {
        status = scan_whole(s, &index);
        if (status == FIRN_OK && index < 0)
            return scan_fail(s, "a face names vertex %lld", (long long)index);
        if (status == FIRN_OK)
            status = build_corner(b, (uint64_t)index, s->line);
    }
    return status == FIRN_OK ? build_polygon(b) : status;
}

static firn_status read_text(scan *s, mesh_builder *b)
{
    int64_t counts[2] = {0};
    if (!scan_skip(s, '#'))
        return scan_fail(s, "the file ends before the numbers of vertices and faces");
    firn_status status = FIRN_OK;
    for (int k = 0; k < 2 && status == FIRN_OK; k++)
        status = scan_whole(s, &counts[k]);
    if (status != FIRN_OK)
        return status;
    for (int64_t n = 0; n < counts[0] && status == FIRN_OK; n++) {
        double x[3];
        scan_next_line(s);
        if (!scan_skip(s, '#'))
            return ends_early(s, "vertices", n, counts[0]);
        if (scan_reals(s, x, 3) != 3)
            return scan_fail(s, "a vertex needs three finite numbers, %s", scan_found(s));
        status = build_vertex(b, x);
    }
    for (int64_t n = 0; n < counts[1] && status == FIRN_OK; n++) {
        scan_next_line(s);
        if (!scan_skip(s, '#'))
            return ends_early(s, "faces", n, counts[1]);
        status = read_text_face(s, b);
    }
    return status;
}

/* ---- binary: big endian ---------------------------------------------------------------------- */

static firn_status cut_short(const scan *s)
{
    return fail(FIRN_BAD_SCENE, "%s: the file ends in the middle of its vertices or faces",
                s->name);
}

static bool take_u32(scan *s, uint32_t *value)
{
    if (s->end - s->at < 4)
        return false;
    *value = bytes_u32(s->at, true);
    s->at += 4;
    return true;
}

static firn_status read_binary_face(scan *s, mesh_builder *b)
{
    uint32_t corners, index, colours;
    firn_status status = FIRN_OK;
    if (!take_u32(s, &corners))
        return cut_short(s);
    for (uint32_t k = 0; k < corners && status == FIRN_OK; k++)
        status = take_u32(s, &index) ? build_corner(b, index, 0) : cut_short(s);
    if (status != FIRN_OK)
        return status;
    if (!take_u32(s, &colours) || (uint64_t)(s->end - s->at) / 4 < colours)
        return cut_short(s);
    s->at += 4 * (size_t)colours;
    return build_polygon(b);
}

static firn_status read_binary(scan *s, const off_header *h, mesh_builder *b)
{
    scan_next_line(s);
    uint32_t counts[3];
    for (int k = 0; k < 3; k++)
        if (!take_u32(s, &counts[k]))
            return cut_short(s);
    firn_status status = FIRN_OK;
    size_t row = 4 * (3 + (size_t)h->extra);
    for (uint32_t n = 0; n < counts[0] && status == FIRN_OK; n++, s->at += row) {
        double x[3];
        if ((size_t)(s->end - s->at) < row)
            return cut_short(s);
        for (int i = 0; i < 3; i++) {
            x[i] = bytes_f32(s->at + 4 * i, true);
            if (!isfinite(x[i]))
                return fail(FIRN_BAD_SCENE, "%s: vertex %u (from 0) is not finite", s->name, n);
        }
        status = build_vertex(b, x);
    }
    for (uint32_t n = 0; n < counts[1] && status == FIRN_OK; n++)
        status = read_binary_face(s, b);
    return status;
}

firn_status read_off(const char *name, const char *data, size_t size, mesh_builder *b)
{
    off_header h;
    scan s = scan_text(name, data, size);
    if (!scan_skip(&s, '#') || !take_header(&s, &h))
        return scan_fail(&s, "an OFF file starts with the word OFF, %s", scan_found(&s));
    return h.binary ? read_binary(&s, &h, b) : read_text(&s, b);
}
