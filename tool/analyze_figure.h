/* Figures of the studies: gnuplot scripts drawn to SVG files. Exit codes come back, errors are
 * told. */
#ifndef FIRN_TOOL_ANALYZE_FIGURE_H
#define FIRN_TOOL_ANALYZE_FIGURE_H

#include <stdio.h>

/* Whether there is a gnuplot to be found: asked before minutes of work, not after. */
int figure_check(void);

/* Draw FOLDER/NAME.svg, 900 wide. The script runs in the folder and is kept there as NAME.gp;
 * terminal, colours and the separator are set before it, and the function only(label, column). */
int figure_draw(const char *folder, const char *name, int height, const char *script);

/* The figure as part of an HTML page. */
int figure_inline(const char *folder, const char *name, FILE *out);

#endif
