/* The words and scales on a panel: its time, the size of the squares, what the colours mean. */
#ifndef FIRN_RENDER_LEGEND_H
#define FIRN_RENDER_LEGEND_H

#include "render/panel.h"

/* As many decimals as tell these times apart, at least two. */
int legend_decimals(const firn_frame *frames, size_t count);
/* Lines of text below the time, each shrunk to fit. */
void legend_lines(const image_view *view, const char *lines);

void legend_time(const image_view *view, double seconds, int decimals);
void legend_squares(const image_view *view, float metres);
void legend_colours(const image_view *view, const panel_style *style);

/* The nearest length that is 1, 2 or 5 times a power of ten. */
float legend_round(float metres);

#endif
