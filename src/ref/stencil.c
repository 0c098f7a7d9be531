#include <string.h>

#include "method/spline.h"
#include "ref/state.h"

/* Along one axis: with MLS, gradients are those of the fit. */
static void axis_slopes(const firn_settings *settings, real f, real slope[4])
{
    bool cubic = settings->kernel == FIRN_CUBIC;
    if (settings->transfer == FIRN_MLS)
        (cubic ? cubic_mls_slopes : quadratic_mls_slopes)(f, slope);
    else
        (cubic ? cubic_slopes : quadratic_slopes)(f, slope);
}

bool stencil_at(backend *s, vec x, stencil *t)
{
    bool cubic = s->settings->kernel == FIRN_CUBIC;
    int width = cubic ? 4 : 3;
    real h = s->settings->cell_size;
    int64_t base[FIRN_DIM];
    real w[FIRN_DIM][4], slope[FIRN_DIM][4], offset[FIRN_DIM];
    for (int a = 0; a < FIRN_DIM; a++) {
        real u = x.e[a] / h;
        real first = cubic ? cubic_base(u) : quadratic_base(u);
        offset[a] = u - first;
        base[a] = (int64_t)first;
        (cubic ? cubic_weights : quadratic_weights)(offset[a], w[a]);
        axis_slopes(s->settings, offset[a], slope[a]);
    }

    grid_block *block = NULL;
    t->count = 0;
    for (int k = 0; k < (FIRN_DIM == 3 ? width * width * width : width * width); k++) {
        int step[3] = {k % width, k / width % width, k / (width * width)};
        int64_t at[FIRN_DIM];
        int within = 0;
        for (int a = FIRN_DIM - 1; a >= 0; a--) {
            at[a] = (base[a] + step[a]) >> 2;
            within = 4 * within + (int)((base[a] + step[a]) & 3);
        }
        if (!block || memcmp(block->at, at, sizeof at) != 0)
            block = grid_block_at(&s->grid, at);
        if (!block)
            return false;

        t->nodes[k] = &block->nodes[within];
        t->w[k] = 1;
        for (int a = 0; a < FIRN_DIM; a++) {
            t->w[k] *= w[a][step[a]];
            t->d[k].e[a] = (step[a] - offset[a]) * h;
            t->grad_w[k].e[a] = slope[a][step[a]] / h;
            for (int b = 0; b < FIRN_DIM; b++)
                if (b != a)
                    t->grad_w[k].e[a] *= w[b][step[b]];
        }
        t->count++;
    }
    return true;
}
