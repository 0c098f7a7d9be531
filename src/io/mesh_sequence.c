#include "io/mesh_sequence.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/point_cache.h"
#include "status.h"

struct mesh_sequence_files {
    char *head, *tail; /* of the names, before and after the number; owned */
    int digits;
    int first; /* number */
    point_cache cache;
    bool has_cache;
    double scale;
    bool z_up;
    size_t file_vertices; /* before equal ones were joined */
    uint64_t faces;
    size_t kept;    /* vertices; those of the mesh beyond are the middles of filled holes */
    uint32_t *pick; /* the vertex of the file for each that is kept; owned */
};

static firn_status out_of_memory(void)
{
    return fail(FIRN_NO_MEMORY, "not enough memory for a sequence of meshes");
}

static char *join(const char *format, const char *head, int digits, int number, const char *tail)
{
    char *text = NULL;
    return asprintf(&text, format, head, digits, number, tail) < 0 ? NULL : text;
}

char *mesh_sequence_name(const mesh_sequence *s, size_t frame)
{
    const struct mesh_sequence_files *f = s->files;
    if (!f->has_cache)
        return join("%s%0*d%s", f->head, f->digits, f->first + (int)frame, f->tail);
    return join("%s: sample %0*d%s", f->cache.name, 1, (int)frame, "");
}

/* ---- Which files there are ------------------------------------------------------------------- */

static firn_status split_name(const char *file, struct mesh_sequence_files *f)
{
    const char *last = strrchr(file, '#'), *first = last;
    if (!last)
        return fail(FIRN_BAD_SCENE,
                    "%s: a sequence needs #### where the number of its files stands, or a `cache`",
                    file);
    while (first > file && first[-1] == '#')
        first--;
    f->digits = (int)(last - first) + 1;
    f->head = strndup(file, (size_t)(first - file));
    f->tail = strdup(last + 1);
    return f->head && f->tail ? FIRN_OK : out_of_memory();
}

/* The number in the name of a file of the folder, -1 when it is not one of the sequence. */
static int number_in(const char *name, const char *head, const char *tail, int digits)
{
    size_t skip = strlen(head), count = 0;
    if (strncmp(name, head, skip) != 0)
        return -1;
    while (isdigit((unsigned char)name[skip + count]))
        count++;
    if (strcmp(name + skip + count, tail) != 0 || (int)count < digits || count > 9 ||
        (count > (size_t)digits && name[skip] == '0'))
        return -1;
    return atoi(name + skip);
}

/* The lowest and the highest number there is; first > last when there are none. */
static void find_numbers(const struct mesh_sequence_files *f, int *first, int *last)
{
    const char *slash = strrchr(f->head, '/');
    char *folder = slash ? strndup(f->head, (size_t)(slash - f->head + 1)) : strdup(".");
    DIR *listing = folder ? opendir(folder) : NULL;
    *first = 1;
    *last = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        int number = number_in(entry->d_name, slash ? slash + 1 : f->head, f->tail, f->digits);
        if (number < 0)
            continue;
        bool none = *first > *last;
        *first = none || number < *first ? number : *first;
        *last = none || number > *last ? number : *last;
    }
    if (listing)
        closedir(listing);
    free(folder);
}

static firn_status count_files(const mesh_sequence_request *r, mesh_sequence *s)
{
    int first, last;
    find_numbers(s->files, &first, &last);
    if (first > last)
        return fail(FIRN_NO_INPUT, "%s: there are no files of this name", r->file);
    s->files->first = r->has_first ? r->first : first;
    int end = r->has_last ? r->last : last;
    if (end <= s->files->first)
        return fail(FIRN_BAD_SCENE,
                    "%s: files %d to %d are no sequence; it needs two frames or more", r->file,
                    s->files->first, end);
    s->count = (size_t)(end - s->files->first) + 1;
    return FIRN_OK;
}

static firn_status make_times(const mesh_sequence_request *r, mesh_sequence *s)
{
    const point_cache *cache = s->files->has_cache ? &s->files->cache : NULL;
    if (!(s->times = malloc(s->count * sizeof *s->times)))
        return out_of_memory();
    double between = (cache ? cache->frames_between : 1) / r->fps;
    for (size_t k = 0; k < s->count; k++)
        s->times[k] = r->start + (cache && cache->times ? cache->times[k] - cache->times[0]
                                                        : (double)k * between);
    return FIRN_OK;
}

/* ---- The mesh -------------------------------------------------------------------------------- */

static void to_metres(const struct mesh_sequence_files *f, double (*x)[3], size_t count)
{
    for (size_t v = 0; v < count; v++) {
        double y = x[v][1], z = x[v][2];
        x[v][0] *= f->scale;
        x[v][1] = f->scale * (f->z_up ? z : y);
        x[v][2] = f->scale * (f->z_up ? -y : z);
    }
}

static firn_status load_apart(const char *path, triangle_mesh *mesh)
{
    input in;
    *mesh = (triangle_mesh){0};
    firn_status status = input_open(path, &in);
    if (status != FIRN_OK)
        return status;
    status = mesh_parse_apart(path, in.data, in.size, mesh);
    input_close(&in);
    return status;
}

/* Equal vertices of the first frame are one in every frame. */
static firn_status join_first(mesh_sequence *s)
{
    struct mesh_sequence_files *f = s->files;
    uint32_t kept = 0, *now = malloc((s->mesh.vertex_count + 1) * sizeof *now);
    f->file_vertices = s->mesh.vertex_count;
    f->faces = s->mesh.faces;
    f->pick = malloc((s->mesh.vertex_count + 1) * sizeof *f->pick);
    bool joined = now && f->pick && mesh_join(&s->mesh, now);
    for (uint32_t v = 0; joined && v < f->file_vertices; v++)
        if (now[v] == kept)
            f->pick[kept++] = v;
    free(now);
    f->kept = kept;
    return joined ? FIRN_OK : out_of_memory();
}

static firn_status turn_outward(const char *name, bool close, triangle_mesh *mesh)
{
    mesh_report report;
    if (!mesh_check(mesh, &report))
        return out_of_memory();
    firn_status status = close ? FIRN_OK : mesh_require_closed(name, &report);
    return status == FIRN_OK ? mesh_repair(mesh, close) : status;
}

static firn_status read_first(const mesh_sequence_request *r, mesh_sequence *s)
{
    char *name = s->files->has_cache ? strdup(r->file) : mesh_sequence_name(s, 0);
    if (!name)
        return out_of_memory();
    firn_status status = load_apart(name, &s->mesh);
    if (status == FIRN_OK && s->files->has_cache &&
        s->files->cache.point_count != s->mesh.vertex_count)
        status =
            fail(FIRN_BAD_SCENE, "%s: %zu points, but %s has %zu vertices", s->files->cache.name,
                 s->files->cache.point_count, name, s->mesh.vertex_count);
    if (status == FIRN_OK)
        status = join_first(s);
    if (status == FIRN_OK && !r->open)
        status = turn_outward(name, r->close, &s->mesh);
    free(name);
    return status == FIRN_OK ? mesh_sequence_read(s, 0, s->mesh.vertices) : status;
}

/* ---- Opening and reading --------------------------------------------------------------------- */

firn_status mesh_sequence_open(const mesh_sequence_request *r, mesh_sequence **out)
{
    mesh_sequence *s = *out = calloc(1, sizeof *s);
    if (s)
        s->files = calloc(1, sizeof *s->files);
    firn_status status = s && s->files ? FIRN_OK : out_of_memory();
    if (status == FIRN_OK) {
        s->files->scale = r->scale;
        s->files->z_up = r->z_up;
        status =
            r->cache ? point_cache_open(r->cache, &s->files->cache) : split_name(r->file, s->files);
    }
    if (status == FIRN_OK && r->cache) {
        s->files->has_cache = true;
        s->count = s->files->cache.sample_count;
        if (s->count < 2)
            status = fail(FIRN_BAD_SCENE, "%s: one sample is no sequence", r->cache);
    } else if (status == FIRN_OK) {
        status = count_files(r, s);
    }
    if (status == FIRN_OK)
        status = make_times(r, s);
    if (status == FIRN_OK)
        status = read_first(r, s);
    if (status != FIRN_OK)
        mesh_sequence_close(out);
    return status;
}

void mesh_sequence_close(mesh_sequence **sequence)
{
    mesh_sequence *s = *sequence;
    *sequence = NULL;
    if (s && s->files) {
        free(s->files->head);
        free(s->files->tail);
        free(s->files->pick);
        point_cache_close(&s->files->cache);
        free(s->files);
    }
    if (s) {
        mesh_clear(&s->mesh);
        free(s->times);
    }
    free(s);
}

/* A frame's vertices as its file has them; owned by the caller. */
static firn_status read_points(const mesh_sequence *s, size_t frame, const char *name,
                               triangle_mesh *mesh)
{
    const struct mesh_sequence_files *f = s->files;
    *mesh = (triangle_mesh){0};
    if (f->has_cache) {
        mesh->vertices = malloc(f->file_vertices * sizeof *mesh->vertices);
        return mesh->vertices ? point_cache_read(&f->cache, frame, mesh->vertices)
                              : out_of_memory();
    }
    firn_status status = load_apart(name, mesh);
    if (status == FIRN_OK && mesh->vertex_count != f->file_vertices)
        status = fail(FIRN_BAD_SCENE,
                      "%s: %zu vertices, but the first of the sequence has %zu; all must have the "
                      "same, in the same order",
                      name, mesh->vertex_count, f->file_vertices);
    if (status == FIRN_OK && mesh->faces != f->faces)
        status = fail(FIRN_BAD_SCENE,
                      "%s: other faces than the first of the sequence; all must have the same, in "
                      "the same order",
                      name);
    return status;
}

firn_status mesh_sequence_read(const mesh_sequence *s, size_t frame, double (*vertices)[3])
{
    triangle_mesh mesh;
    char *name = mesh_sequence_name(s, frame);
    firn_status status = name ? read_points(s, frame, name, &mesh) : out_of_memory();
    if (name && status == FIRN_OK) {
        for (size_t v = 0; v < s->files->kept; v++)
            memcpy(vertices[v], mesh.vertices[s->files->pick[v]], sizeof *vertices);
        to_metres(s->files, vertices, s->files->kept);
        if (!mesh_place_middles(&s->mesh, s->files->kept, vertices))
            status = out_of_memory();
    }
    if (name)
        mesh_clear(&mesh);
    free(name);
    return status;
}
