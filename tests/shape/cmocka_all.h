/* cmocka and the headers that it must come after. */
#ifndef FIRN_TESTS_SHAPE_CMOCKA_ALL_H
#define FIRN_TESTS_SHAPE_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_close(found, expected, tolerance)                                                   \
    do {                                                                                           \
        double found_ = (found), expected_ = (expected);                                           \
        if (!(__builtin_fabs(found_ - expected_) <= (tolerance)))                                  \
            fail_msg("%s is %.17g, not %.17g", #found, found_, expected_);                         \
    } while (0)

#endif
