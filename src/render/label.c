#include "render/label.h"

#include <stdbool.h>
#include <string.h>

/*
 * A glyph is strokes of points "xy": x to the right, y up, base line at 2, small letters to 6,
 * capitals to 8. `/` begins a line through the points; `(` begins a smooth curve that starts and
 * ends in its first and last point and bends towards those between (a quadratic B-spline).
 */
typedef struct glyph {
    char sign;
    char width;
    const char *strokes;
} glyph;

static const glyph glyphs[] = {
    {'0', 4, "(28 08 02 42 48 28"},
    {'1', 2, "/07 28 22"},
    {'2', 4, "(06 08 48 45 02 02 42"},
    {'3', 4, "(07 08 48 45 25(25 45 42 02 03"},
    {'4', 4, "/32 38 04 44"},
    {'5', 4, "/48 08 05(05 46 46 42 02 03"},
    {'6', 4, "(38 08 02 42 46 06 04"},
    {'7', 4, "/08 48 12"},
    {'8', 4, "(25 05 08 48 45 25(25 05 02 42 45 25"},
    {'9', 4, "(12 42 48 08 04 44 46"},
    {'a', 4, "(44 46 06 02 42 44/46 42"},
    {'b', 4, "/08 02(04 06 46 42 02 04"},
    {'c', 4, "(45 46 06 02 42 43"},
    {'d', 4, "/48 42(44 46 06 02 42 44"},
    {'e', 4, "/04 44(44 46 06 02 42 43"},
    {'f', 3, "(38 18 16 12/06 36"},
    {'g', 4, "(44 46 06 02 42 44(46 43 40 00 01"},
    {'h', 4, "/08 02(04 06 46 44 42"},
    {'i', 0, "/06 02/08 08"},
    {'j', 2, "(26 23 20 00/28 28"},
    {'k', 4, "/08 02/46 04/14 42"},
    {'l', 0, "/08 02"},
    {'m', 6, "/06 02(04 06 36 34 32(34 36 66 64 62"},
    {'n', 4, "/06 02(04 06 46 44 42"},
    {'o', 4, "(26 06 02 42 46 26"},
    {'p', 4, "/06 00(04 06 46 42 02 04"},
    {'q', 4, "/46 40(44 46 06 02 42 44"},
    {'r', 3, "/06 02(04 06 36"},
    {'s', 4, "(45 46 06 04 44 42 02 03"},
    {'t', 3, "/06 36(18 14 12 32"},
    {'u', 4, "/46 42(06 04 02 42 44"},
    {'v', 4, "/06 22 46"},
    {'w', 6, "/06 12 36 52 66"},
    {'x', 4, "/06 42/02 46"},
    {'y', 4, "/06 22/46 10"},
    {'z', 4, "/06 46 02 42"},
    {'A', 4, "/02 28 42/14 34"},
    {'B', 4, "/02 08(08 48 45 05(05 45 42 02"},
    {'C', 4, "(46 48 08 02 42 44"},
    {'D', 4, "/02 08(08 48 42 02"},
    {'E', 4, "/48 08 02 42/05 35"},
    {'F', 4, "/48 08 02/05 35"},
    {'G', 4, "(46 48 08 02 42 45/25 45"},
    {'H', 4, "/08 02/48 42/05 45"},
    {'I', 0, "/08 02"},
    {'J', 3, "(38 34 32 02 03"},
    {'K', 4, "/08 02/48 04/16 42"},
    {'L', 4, "/08 02 42"},
    {'M', 5, "/02 08 24 48 42"},
    {'N', 4, "/02 08 42 48"},
    {'O', 5, "(38 08 02 52 58 38"},
    {'P', 4, "/02 08(08 48 44 04"},
    {'Q', 5, "(38 08 02 52 58 38/33 52"},
    {'R', 4, "/02 08(08 48 44 04/24 42"},
    {'S', 4, "(47 48 08 05 45 42 02 03"},
    {'T', 4, "/08 48/28 22"},
    {'U', 4, "(08 04 02 42 44 48"},
    {'V', 4, "/08 22 48"},
    {'W', 6, "/08 12 37 52 68"},
    {'X', 4, "/08 42/02 48"},
    {'Y', 4, "/08 25 48/25 22"},
    {'Z', 4, "/08 48 02 42"},
    {' ', 1, ""},
    {'.', 0, "/02 02"},
    {',', 1, "/12 01"},
    {':', 0, "/02 02/06 06"},
    {'-', 3, "/05 35"},
    {'+', 4, "/05 45/27 23"},
    {'/', 3, "/01 38"},
    {'_', 4, "/01 41"},
    {'=', 4, "/04 44/06 46"},
    {'(', 1, "(18 05 12"},
    {')', 1, "(08 15 02"},
};
static const glyph unknown = {'?', 4, "/02 08 48 42 02"};

enum { MOST_POINTS = 16, CURVE_PARTS = 6, MOST_SEGMENTS = 64 };
static const float advance = 1.7f; /* between glyphs, in the font's units */

typedef struct pen {
    vec3 display;
    float half;     /* width of the full stroke to each side, pixels */
    float soft;     /* over which the edge fades, pixels */
    float strength; /* 0 .. 1 */
} pen;

typedef struct segment {
    float ax, ay, bx, by;
} segment;

static const glyph *find_glyph(char sign)
{
    for (size_t i = 0; i < sizeof glyphs / sizeof glyphs[0]; i++)
        if (glyphs[i].sign == sign)
            return &glyphs[i];
    return &unknown;
}

static int add_segment(segment *out, int count, vec3 a, vec3 b)
{
    if (count < MOST_SEGMENTS)
        out[count++] = (segment){a.x, a.y, b.x, b.y};
    return count;
}

/* Each inner point bends one arc, between the middles of its two sides. */
static int flatten_curve(const vec3 *p, int n, segment *out, int count)
{
    for (int i = 1; i + 1 < n; i++) {
        vec3 from = i == 1 ? p[0] : vec_mix(p[i - 1], p[i], 0.5f);
        vec3 to = i + 2 == n ? p[n - 1] : vec_mix(p[i], p[i + 1], 0.5f);
        vec3 last = from;
        for (int k = 1; k <= CURVE_PARTS; k++) {
            float t = (float)k / CURVE_PARTS;
            vec3 now = vec_mix(vec_mix(from, p[i], t), vec_mix(p[i], to, t), t);
            count = add_segment(out, count, last, now);
            last = now;
        }
    }
    return count;
}

static int flatten(const char *strokes, segment *out)
{
    int count = 0;
    while (*strokes) {
        bool smooth = *strokes++ == '(';
        vec3 p[MOST_POINTS];
        int n = 0;
        while (*strokes && *strokes != '/' && *strokes != '(') {
            if (*strokes == ' ')
                strokes++;
            p[n++] = (vec3){(float)(strokes[0] - '0'), (float)(strokes[1] - '2'), 0};
            strokes += 2;
        }
        if (smooth)
            count = flatten_curve(p, n, out, count);
        for (int i = 0; !smooth && i + 1 < n; i++)
            count = add_segment(out, count, p[i], p[i + 1]);
    }
    return count;
}

static float distance_to(const segment *s, float x, float y)
{
    float dx = s->bx - s->ax, dy = s->by - s->ay, square = dx * dx + dy * dy;
    float along = (x - s->ax) * dx + (y - s->ay) * dy;
    float t = square > 0 ? clamp01(along / square) : 0;
    return hypotf(x - s->ax - t * dx, y - s->ay - t * dy);
}

static void draw_glyph(const image_view *view, float left, float base, float unit, const glyph *g,
                       const pen *with)
{
    segment segments[MOST_SEGMENTS];
    int count = flatten(g->strokes, segments);
    float room = with->half + with->soft + 1;
    int x0 = (int)(left - room), x1 = (int)(left + (float)g->width * unit + room);
    int y0 = (int)(base - 6 * unit - room), y1 = (int)(base + 2 * unit + room);
    for (int y = y0; y <= y1 && count > 0; y++) {
        for (int x = x0; x <= x1; x++) {
            float u = ((float)x + 0.5f - left) / unit, v = (base - (float)y - 0.5f) / unit;
            float nearest = INFINITY;
            for (int i = 0; i < count; i++)
                nearest = fminf(nearest, distance_to(&segments[i], u, v));
            float share = 0.5f + (with->half - nearest * unit) / with->soft;
            if (share > 0)
                image_cover(view, x, y, with->display, with->strength * clamp01(share));
        }
    }
}

/* Walk the text; draws when there is a pen. Returns the width. */
static float walk(const image_view *view, float x, float y, float size, const char *text,
                  const pen *with)
{
    float start = x, unit = size / 6;
    for (; *text; text++) {
        float scale = 1, raise = 0;
        if (*text == '^' && text[1])
            text++, scale = 0.62f, raise = 3.2f * unit;
        const glyph *g = find_glyph(*text);
        if (with)
            draw_glyph(view, x, y - raise, unit * scale, g, with);
        x += ((float)g->width + advance) * unit * scale;
    }
    return x - start;
}

float label_draw(const image_view *view, float x, float y, float size, const char *text,
                 vec3 display)
{
    float half = fmaxf(size / 15, 0.55f);
    walk(view, x, y, size, text, &(pen){{0.06f, 0.10f, 0.16f}, half, size / 2, 0.4f});
    return walk(view, x, y, size, text, &(pen){display, half, 1, 1});
}

float label_width(float size, const char *text)
{
    return walk(NULL, 0, 0, size, text, NULL);
}
