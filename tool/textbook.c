#include "textbook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16 }; /* nodes of the grid each way; beyond, it begins again */

static const double E = 1.4e5, NU = 0.2, DENSITY = 400, ALPHA = 0.95;
static const double THETA_C = 2.5e-2, THETA_S = 7.5e-3, XI = 10;

double textbook_particle_volume(double cell)
{
    return cell * cell * cell / 8;
}

#define REAL float
#define NAMED(name) name##_float
#include "textbook_steps.h"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_double
#include "textbook_steps.h"
