#include "render/legend.h"

#include <stdio.h>
#include <string.h>

#include "render/label.h"

static const vec3 ink = {0.96f, 0.97f, 0.98f};

static float text_size(const image_view *view)
{
    return fmaxf((float)view->height / 34, 7);
}

int legend_decimals(const firn_frame *frames, size_t count)
{
    double least = fabs(frames[0].time) > 0 ? fabs(frames[0].time) : INFINITY;
    for (size_t i = 1; i < count; i++) {
        double apart = fabs(frames[i].time - frames[i - 1].time);
        least = apart > 0 ? fmin(least, apart) : least;
    }
    int decimals = 2;
    for (double unit = 0.01; decimals < 7 && unit > 0.5 * least; unit /= 10)
        decimals++;
    return decimals;
}

void legend_time(const image_view *view, double seconds, int decimals)
{
    char text[64];
    snprintf(text, sizeof text, fabs(seconds) < 1e9 ? "%.*f s" : "%.*e s", decimals, seconds);
    float size = 1.15f * text_size(view);
    label_draw(view, 1.2f * size, 2.2f * size, size, text, ink);
}

void legend_lines(const image_view *view, const char *lines)
{
    enum { LONGEST = 255 };
    float size = 1.15f * text_size(view), left = 1.2f * size, base = 2.2f * size;
    while (*lines) {
        char text[LONGEST + 1];
        int length = (int)strcspn(lines, "\n");
        snprintf(text, sizeof text, "%.*s", length, lines);
        float room = (float)view->width - 2 * left, width = label_width(size, text);
        base += 1.75f * size;
        label_draw(view, left, base, width > room ? size * room / width : size, text, ink);
        lines += length + (lines[length] == '\n');
    }
}

float legend_round(float metres)
{
    float power = powf(10, floorf(log10f(metres))), lead = metres / power;
    return power * (lead < 1.5f ? 1 : lead < 3.5f ? 2 : lead < 7.5f ? 5 : 10);
}

void legend_squares(const image_view *view, float metres)
{
    static const struct {
        float metres;
        const char *unit;
    } units[] = {{1000, "km"}, {1, "m"}, {0.01f, "cm"}, {0.001f, "mm"}};
    size_t u = 0;
    while (u < 3 && metres < 0.999f * units[u].metres)
        u++;
    char text[64];
    snprintf(text, sizeof text, "squares %.3g %s", (double)(metres / units[u].metres),
             units[u].unit);
    float size = 0.85f * text_size(view), width = label_width(size, text);
    label_draw(view, (float)view->width - width - 1.2f * size, 2.8f * size, size, text, ink);
}

static void fill(const image_view *view, int x, int y, int width, int height, vec3 linear)
{
    vec3 display = image_encode(linear);
    for (int j = y; j < y + height; j++)
        for (int i = x; i < x + width; i++)
            image_set(view, i, j, display);
}

static void draw_scale(const image_view *view, const panel_style *style)
{
    float size = 0.85f * text_size(view), left = 1.4f * size;
    float base = (float)view->height - 1.5f * size;
    int length = view->width * 2 / 7, height = (int)(0.8f * size);
    int x = (int)left, y = (int)(base - 2 * size) - height / 2;
    for (int i = 0; i < length; i++)
        fill(view, x + i, y, 1, height, colour_scale((float)i / (float)(length - 1)));
    char text[64];
    snprintf(text, sizeof text, "%s%s", colour_name(style->colour.mode),
             colour_unit(style->colour.mode, style->camera.flat ? 2 : 3));
    label_draw(view, left, (float)y - 0.7f * size, size, text, ink);
    snprintf(text, sizeof text, "%.3g", (double)style->colour.low);
    label_draw(view, left, base, size, text, ink);
    snprintf(text, sizeof text, "%.3g", (double)style->colour.high);
    label_draw(view, left + (float)length - label_width(size, text), base, size, text, ink);
}

static void draw_kinds(const image_view *view, const colour_rule *rule)
{
    enum { MOST = 10 };
    float size = 0.85f * text_size(view), left = 1.4f * size;
    uint32_t last = rule->last_kind < MOST ? rule->last_kind : MOST - 1;
    for (uint32_t i = 0; i <= last; i++) {
        float base = (float)view->height - 1.5f * size - (float)(last - i) * 1.9f * size;
        char text[64];
        const char *name = colour_kind_name(rule, i);
        if (name)
            snprintf(text, sizeof text, "%s", name);
        else
            snprintf(text, sizeof text, "object %u", (unsigned)i);
        fill(view, (int)left, (int)(base - size), (int)size, (int)size, colour_kind(i));
        label_draw(view, left + 1.8f * size, base, size, text, ink);
    }
}

void legend_colours(const image_view *view, const panel_style *style)
{
    if (colour_has_kinds(&style->colour))
        draw_kinds(view, &style->colour);
    else if (colour_has_scale(&style->colour))
        draw_scale(view, style);
}
