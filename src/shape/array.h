/* Growing arrays. */
#ifndef FIRN_SHAPE_ARRAY_H
#define FIRN_SHAPE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Make room for one item more than `count` in the array that `array` points to. False, and nothing
 * changed, when memory is out. */
static inline bool array_grow(void *array, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return true;
    void *items;
    memcpy(&items, array, sizeof items);
    size_t wanted = *capacity ? 2 * *capacity : 256;
    items = realloc(items, wanted * item_size);
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}

#endif
