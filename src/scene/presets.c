/*
 * Kinds of snow by name. `snow` is the paper's table 2; the others move from it in the directions
 * that the paper's section 5 and figure 8 give: critical compression and stretch up for wet and
 * chunky, down for dry and powdery; hardening and stiffness up for icy and brittle, down for muddy
 * and ductile. Densities follow weather: fresh powder is light, soaked snow heavy. All values lie
 * within the usual ranges of the option table.
 */
#include <math.h>
#include <string.h>

#include "method/time_step.h"
#include "scene/options.h"

static const preset presets[] = {
    {{.name = "snow",
      .young_modulus = 1.4e5,
      .poisson_ratio = 0.2,
      .density = 400,
      .hardening = 10,
      .critical_compression = 2.5e-2,
      .critical_stretch = 7.5e-3},
     "Packing snow; the starting point of the paper (table 2)."},
    {{.name = "powder",
      .young_modulus = 4.8e4,
      .poisson_ratio = 0.2,
      .density = 100,
      .hardening = 10,
      .critical_compression = 1.9e-2,
      .critical_stretch = 5e-3},
     "Dry, light and soft; breaks at once into dust."},
    {{.name = "wet",
      .young_modulus = 1.4e5,
      .poisson_ratio = 0.25,
      .density = 450,
      .hardening = 10,
      .critical_compression = 4e-2,
      .critical_stretch = 1e-2},
     "Heavy; holds together and tears into chunks."},
    {{.name = "icy",
      .young_modulus = 4e5,
      .poisson_ratio = 0.2,
      .density = 450,
      .hardening = 15,
      .critical_compression = 2.5e-2,
      .critical_stretch = 7.5e-3},
     "Stiff and brittle; shatters into hard lumps."},
    {{.name = "muddy",
      .young_modulus = 4.8e4,
      .poisson_ratio = 0.3,
      .density = 500,
      .hardening = 5,
      .critical_compression = 2.5e-2,
      .critical_stretch = 7.5e-3},
     "Soft and ductile slush; flows and keeps dents."},
    {{.name = "crust",
      .young_modulus = 2.8e5,
      .poisson_ratio = 0.2,
      .density = 350,
      .hardening = 13,
      .critical_compression = 1.9e-2,
      .critical_stretch = 5e-3},
     "The frozen top of a snow field: stiff, and cracks early."},
};

const char *const preset_names[] = {"snow", "powder", "wet", "icy", "muddy", "crust", NULL};
_Static_assert(sizeof presets / sizeof *presets + 1 == sizeof preset_names / sizeof *preset_names,
               "one name per preset");

const preset *preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].values.name, name) == 0)
            return &presets[i];
    return NULL;
}

scene_material scene_default_material(void)
{
    return presets[0].values;
}

void scene_lame(const scene_material *m, double *mu0, double *lambda0)
{
    double E = m->young_modulus, nu = m->poisson_ratio;
    *mu0 = E / (2 * (1 + nu));
    *lambda0 = E * nu / ((1 + nu) * (1 - 2 * nu));
}

static bool varies_poisson(const scene_material *m)
{
    const unsigned poisson_bit = 1u << 1; /* the second of the values of scene_vary */
    unsigned varied = 0;
    for (size_t k = 0; k < m->vary_count; k++)
        varied |= m->vary[k].values;
    return varied & poisson_bit;
}

double scene_poisson_ratio(const firn_scene *scene)
{
    double largest = scene->snow_count > 0 ? 0 : 0.5;
    for (size_t i = 0; i < scene->snow_count; i++) {
        const scene_material *m = &scene->materials[scene->snow[i].material];
        const point_set *points = scene->snow[i].points.set;
        bool own = points && (points->state[FIRN_MU0] || points->state[FIRN_LAMBDA0]);
        largest = fmax(largest, own || varies_poisson(m) ? 0.5 : m->poisson_ratio);
    }
    return largest;
}

double scene_cfl(const firn_scene *scene)
{
    const firn_settings *s = &scene->settings;
    return s->cfl > 0 ? s->cfl
                      : time_step_cfl(s->dimensions, s->kernel == FIRN_CUBIC, s->transfer,
                                      scene_poisson_ratio(scene));
}
