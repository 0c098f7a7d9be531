/* What this build is and can do. */
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "cpu/kernels.h"
#include "cuda/cuda.h"
#include "interface.h"
#include "io/exr.h"
#include "io/font.h"
#include "io/vdb.h"
#include "render/surface_set.h"
#include "scene/model.h"
#include "status.h"

const char *firn_version(void)
{
    return FIRN_VERSION;
}

const char *firn_interface(void)
{
    return FIRN_INTERFACE;
}

const char *firn_features(void)
{
    static _Thread_local char text[384];
    const char *why, *gpu = cuda_device(&why);
    snprintf(
        text, sizeof text,
        "backends: %scpu ref; GPU: %s; instruction set: %s; OpenVDB: %s; OpenEXR: %s; Embree: %s; "
        "FreeType: %s",
        gpu ? "cuda " : "", gpu ? gpu : why, cpu_isa() ? cpu_isa() : "unknown FIRN_ISA",
        vdb_version(), exr_version(), surface_embree_version(), font_version());
    return text;
}

double firn_gpu_free_bytes(void)
{
    return cuda_device(NULL) ? cuda_free_memory() : 0;
}

/* ---- Backends -------------------------------------------------------------------------------- */

double backend_gpu_bytes(const firn_scene *scene, size_t particles, double active_blocks)
{
    bool changes = scene->kill_count > 0;
    for (size_t k = 0; k < scene->snow_count; k++)
        changes = changes || scene->snow[k].emits;
    return cuda_memory(&scene->settings, particles, (size_t)active_blocks) +
           (changes ? cuda_reshape_memory(&scene->settings, particles) : 0);
}

/* The GPU when it can do the scene and has room for it; says which and why. */
static const backend_ops *choose_backend(const firn_scene *scene, size_t particles)
{
    const char *why, *gpu = cuda_device(&why);
    if (!gpu) {
        log_message(FIRN_LOG_DEBUG, "backend cpu: %s", why);
        return &cpu_backend;
    }
    const double particles_per_block = 128; /* few: thin snow needs more blocks */
    double needed =
        backend_gpu_bytes(scene, particles, 4 * (double)particles / particles_per_block + 4096);
    double room = cuda_free_memory();
    if (particles > 0 && needed > room)
        log_message(FIRN_LOG_INFO, "backend cpu: %s has %.3g GB free, of the %.3g GB needed", gpu,
                    1e-9 * room, 1e-9 * needed);
    else if (particles > 0)
        log_message(FIRN_LOG_INFO, "backend cuda: %s, which has room for the %zu particles", gpu,
                    particles);
    return needed > room ? &cpu_backend : &cuda_backend;
}

const backend_ops *backend_find(const char *name, const firn_scene *scene, size_t particles)
{
    if (!name || strcmp(name, "auto") == 0)
        return choose_backend(scene, particles);
    if (strcmp(name, "cpu") == 0)
        return &cpu_backend;
    if (strcmp(name, "ref") == 0)
        return scene->settings.dimensions == 3 ? &ref3_backend : &ref2_backend;
    const char *why;
    if (strcmp(name, "cuda") == 0) {
        if (cuda_device(&why))
            return &cuda_backend;
        fail(FIRN_USAGE, "backend cuda: %s; use --backend cpu", why);
        return NULL;
    }
    fail(FIRN_USAGE, "unknown backend '%s': there are auto, cpu, cuda and ref", name);
    return NULL;
}
