#include "shape/level_set.h"

#include <stdlib.h>

#include "shape/level_set_look.h"

level_set *level_set_share(level_set *set)
{
    __atomic_add_fetch(&set->shares, 1, __ATOMIC_RELAXED);
    return set;
}

void level_set_release(level_set **set)
{
    level_set *s = *set;
    *set = NULL;
    if (!s || __atomic_sub_fetch(&s->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(s->table);
    free(s->far);
    free(s->depth);
    free(s->place);
    free(s->samples);
    free(s);
}

level_set_cell level_set_locate(const level_set *set, const double x[3])
{
    int32_t place[3];
    double in[3];
    if (!level_set_find_block(set, x, place, in) || set->table[level_set_index(set, place)] < 0)
        return (level_set_cell){.block = -1};
    return level_set_cell_in(set->table[level_set_index(set, place)], in);
}

double level_set_distance(const level_set *set, const double x[3], double gradient[3])
{
    return level_set_look(set, x, gradient);
}

int level_set_side(const level_set *set, const double x[3])
{
    level_set_cell cell = level_set_locate(set, x);
    if (cell.block < 0)
        return level_set_distance(set, x, NULL) < 0 ? -1 : 1;
    const float *s = set->samples + (size_t)cell.block * LEVEL_SET_BLOCK + cell.sample;
    int inside = 0;
    for (int c = 0; c < 8; c++)
        inside += s[(c & 1) * LEVEL_SET_STEP(0) + (c >> 1 & 1) * LEVEL_SET_STEP(1) +
                    (c >> 2) * LEVEL_SET_STEP(2)] < 0;
    return inside == 8 ? -1 : inside == 0 ? 1 : 0;
}
