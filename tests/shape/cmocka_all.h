/* cmocka and the headers that it must come after. */
#ifndef FIRN_TESTS_SHAPE_CMOCKA_ALL_H
#define FIRN_TESTS_SHAPE_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
