#include "analyze_snow.h"

/* Ranges: theta_c, theta_s and xi from the paper's figure 8 (the thesis proposes 0 < xi <= 15
 * and no others), E, nu and density from the thesis, sections 4.2.3 and 4.2.4. */
const parameter parameters[PARAMETERS] = {
    {"theta_c",
     "θ_c",
     "critical compression θ_c",
     2.5e-2,
     1.9e-2,
     5e-2,
     9,
     {1e-3, 4e-3, 1e-2, 1.9e-2, 2.5e-2, 5e-2, 0.1, 0.2, 0.4}},
    {"theta_s",
     "θ_s",
     "critical stretch θ_s",
     7.5e-3,
     5e-3,
     1e-2,
     9,
     {1e-4, 1e-3, 2.5e-3, 5e-3, 7.5e-3, 1e-2, 2e-2, 5e-2, 0.2}},
    {"xi", "ξ", "hardening ξ", 10, 5, 15, 8, {0, 1, 2.5, 5, 10, 15, 25, 40}},
    {"E",
     "E",
     "Young’s modulus E (Pa)",
     1.4e5,
     1.4e3,
     1.4e5,
     9,
     {1.4e1, 1.4e2, 1.4e3, 1e4, 4.8e4, 1.4e5, 1.4e6, 1.4e7, 1.4e8}},
    {"nu", "ν", "Poisson’s ratio ν", 0.2, 0.2, 0.35, 8, {0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.49}},
    {"density",
     "density",
     "density (kg/m³)",
     400,
     50,
     500,
     9,
     {5, 20, 50, 100, 200, 400, 500, 917, 3000}},
};

snow snow_usual(void)
{
    snow s;
    for (int k = 0; k < PARAMETERS; k++)
        s.value[k] = parameters[k].usual;
    return s;
}

snow snow_with(int which, double value)
{
    snow s = snow_usual();
    s.value[which] = value;
    return s;
}

double snow_modulus(const snow *s)
{
    double E = s->value[YOUNG], nu = s->value[POISSON];
    return E * (1 - nu) / ((1 + nu) * (1 - 2 * nu));
}

double snow_standing_height(const snow *s)
{
    return s->value[THETA_C] * snow_modulus(s) / (s->value[DENSITY] * 9.81);
}
