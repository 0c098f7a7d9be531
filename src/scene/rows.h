/* Short words for writing option tables. */
#ifndef FIRN_SCENE_ROWS_H
#define FIRN_SCENE_ROWS_H

#define ROWS(rows) .options = rows, .count = sizeof rows / sizeof *rows
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LENGTH_LIMIT 1e6 /* m: coordinates beyond it leave no digits for cells */
#define COORDINATE .low = -LENGTH_LIMIT, .high = LENGTH_LIMIT, .unit = "m"
#define POSITIVE_LENGTH .low = 0, .open_low = true, .high = LENGTH_LIMIT, .unit = "m"

#endif
