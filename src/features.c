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

/* The GPU when it can do the scene and has room for it; says which and why. */
static const backend_ops *choose_backend(const firn_settings *settings, size_t particles)
{
    const char *why, *gpu = cuda_device(&why);
    if (!gpu) {
        log_message(FIRN_LOG_DEBUG, "backend cpu: %s", why);
        return &cpu_backend;
    }
    const size_t particles_per_block = 128; /* few: thin snow needs more blocks */
    double needed = cuda_memory(settings, particles, 4 * particles / particles_per_block + 4096);
    double room = cuda_free_memory();
    if (needed > room) {
        log_message(FIRN_LOG_INFO, "backend cpu: %s has %.3g GB free, of the %.3g GB needed", gpu,
                    1e-9 * room, 1e-9 * needed);
        return &cpu_backend;
    }
    log_message(FIRN_LOG_INFO, "backend cuda: %s, which has room for the %zu particles", gpu,
                particles);
    return &cuda_backend;
}

const backend_ops *backend_find(const char *name, const firn_settings *settings, size_t particles)
{
    if (!name || strcmp(name, "auto") == 0)
        return choose_backend(settings, particles);
    if (strcmp(name, "cpu") == 0)
        return &cpu_backend;
    if (strcmp(name, "ref") == 0)
        return settings->dimensions == 3 ? &ref3_backend : &ref2_backend;
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
