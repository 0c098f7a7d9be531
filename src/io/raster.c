/* Which of the two it is, and ESRI ASCII grids. */
#include "io/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/raster_png.h"
#include "io/scan.h"
#include "status.h"

static const double MOST_SAMPLES = 1 << 28;

void raster_clear(raster *r)
{
    free(r->values);
    *r = (raster){0};
}

firn_status raster_allocate(const char *name, double columns, double rows, raster *r)
{
    if (!(columns >= 2 && rows >= 2))
        return fail(FIRN_BAD_SCENE, "%s: %g columns and %g rows: a surface needs 2 or more of both",
                    name, columns, rows);
    if (!(columns * rows <= MOST_SAMPLES))
        return fail(FIRN_BAD_SCENE, "%s: %g columns and %g rows are more than %g samples", name,
                    columns, rows, MOST_SAMPLES);
    r->columns = (int32_t)columns;
    r->rows = (int32_t)rows;
    r->values = malloc((size_t)r->columns * (size_t)r->rows * sizeof *r->values);
    return r->values ? FIRN_OK : fail(FIRN_NO_MEMORY, "%s: not enough memory", name);
}

/* ---- ESRI ASCII ------------------------------------------------------------------------------ */

enum { COLUMNS, ROWS, X_CORNER, Y_CORNER, X_CENTER, Y_CENTER, CELL, DX, DY, NO_DATA, KEYS };
static const char *const keys[KEYS] = {"ncols",     "nrows",       "xllcorner", "yllcorner",
                                       "xllcenter", "yllcenter",   "cellsize",  "dx",
                                       "dy",        "nodata_value"};

typedef struct asc_header {
    double value[KEYS];
    bool said[KEYS];
} asc_header;

static int find_key(const char *word)
{
    for (int k = 0; k < KEYS; k++)
        if (strcasecmp(word, keys[k]) == 0)
            return k;
    return -1;
}

/* Lines of a word and a number, up to the first that begins with a number. */
static firn_status read_header(scan *s, asc_header *h)
{
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && scan_skip(s, 0) && !strchr("+-.0123456789", *s->at)) {
        char word[32];
        scan before = *s;
        scan_word(s, word, sizeof word);
        int key = find_key(word);
        if (key < 0)
            return scan_fail(&before,
                             "not an ESRI grid: its header has ncols, nrows, xllcorner, "
                             "yllcorner, cellsize and NODATA_value, %s",
                             scan_found(&before));
        if (h->said[key])
            return scan_fail(&before, "%s is there twice", keys[key]);
        status = scan_real(s, &h->value[key]);
        h->said[key] = true;
    }
    return status;
}

static firn_status check_header(scan *s, asc_header *h)
{
    for (int k = COLUMNS; k <= ROWS; k++) {
        if (!h->said[k])
            return scan_fail(s, "the header does not say %s", keys[k]);
        if (h->value[k] != floor(h->value[k]))
            return scan_fail(s, "%s is %g: not a whole number", keys[k], h->value[k]);
    }
    for (int k = DX; k <= DY; k++) {
        if (!h->said[k] && !h->said[CELL])
            return scan_fail(s, "the header does not say cellsize");
        if (!h->said[k])
            h->value[k] = h->value[CELL];
        if (!(h->value[k] > 0))
            return scan_fail(s, "cellsize is %g; it must be above 0", h->value[k]);
    }
    return FIRN_OK;
}

/* The corner is that of the south-west cell; samples are in the middle of cells. */
static void place_grid(const asc_header *h, raster *r)
{
    for (int i = 0; i < 2; i++) {
        r->step[i] = h->value[DX + i];
        double first = h->said[X_CENTER + i] ? h->value[X_CENTER + i]
                                             : h->value[X_CORNER + i] + r->step[i] / 2;
        r->corner[i] = first + (i ? r->step[1] * (r->rows - 1) : 0);
    }
}

static firn_status read_heights(scan *s, const asc_header *h, raster *r)
{
    size_t count = (size_t)r->columns * (size_t)r->rows;
    double none = h->said[NO_DATA] ? h->value[NO_DATA] : -9999;
    for (size_t n = 0; n < count; n++) {
        double value;
        if (!scan_skip(s, 0))
            return scan_fail(s, "the file ends after %zu of %zu heights", n, count);
        if (scan_match(s, "nan") || scan_match(s, "NaN") || scan_match(s, "-nan")) {
            r->values[n] = NAN;
            continue;
        }
        firn_status status = scan_real(s, &value);
        if (status != FIRN_OK)
            return status;
        if (value != none && !(fabs(value) <= 1e6))
            return scan_fail(s, "a height of %g m is beyond 1e6 m", value);
        r->values[n] = value == none ? NAN : (float)value;
    }
    if (scan_skip(s, 0))
        return scan_fail(s, "there is more after the last of %zu heights, %s", count,
                         scan_found(s));
    return FIRN_OK;
}

static firn_status read_asc(const char *name, const char *data, size_t size, raster *r)
{
    scan s = scan_text(name, data, size);
    asc_header h = {0};
    firn_status status = read_header(&s, &h);
    if (status == FIRN_OK)
        status = check_header(&s, &h);
    if (status == FIRN_OK && h.value[COLUMNS] * h.value[ROWS] > (double)size)
        status = scan_fail(&s, "%g columns and %g rows do not fit into %zu bytes", h.value[COLUMNS],
                           h.value[ROWS], size);
    if (status == FIRN_OK)
        status = raster_allocate(name, h.value[COLUMNS], h.value[ROWS], r);
    if (status == FIRN_OK) {
        place_grid(&h, r);
        status = read_heights(&s, &h, r);
    }
    return status;
}

/* ---- Either ---------------------------------------------------------------------------------- */

static firn_status check_cells(const char *name, const raster *r)
{
    size_t width = (size_t)r->columns;
    for (size_t row = 0; row + 1 < (size_t)r->rows; row++)
        for (size_t c = 0; c + 1 < width; c++) {
            const float *v = r->values + row * width + c;
            if (!isnan(v[0]) && !isnan(v[1]) && !isnan(v[width]) && !isnan(v[width + 1]))
                return FIRN_OK;
        }
    return fail(FIRN_BAD_SCENE, "%s: no four neighbours have heights: there is no surface", name);
}

firn_status raster_parse(const char *name, const void *data, size_t size, raster *out)
{
    *out = (raster){0};
    firn_status status =
        is_png(data, size) ? read_png(name, data, size, out) : read_asc(name, data, size, out);
    if (status == FIRN_OK)
        status = check_cells(name, out);
    if (status != FIRN_OK)
        raster_clear(out);
    return status;
}
