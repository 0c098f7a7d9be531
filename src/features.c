/* What this build is and can do. */
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "cpu/kernels.h"
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
    static _Thread_local char text[256];
    snprintf(text, sizeof text,
             "backends: cpu ref; instruction set: %s; OpenVDB: %s; OpenEXR: %s; Embree: %s; "
             "FreeType: %s",
             cpu_isa() ? cpu_isa() : "unknown FIRN_ISA", vdb_version(), exr_version(),
             surface_embree_version(), font_version());
    return text;
}

const backend_ops *backend_find(const char *name, int dimensions)
{
    if (!name || strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0)
        return &cpu_backend;
    if (strcmp(name, "ref") == 0)
        return dimensions == 3 ? &ref3_backend : &ref2_backend;
    fail(FIRN_USAGE, "unknown backend '%s': this build has auto, cpu and ref", name);
    return NULL;
}
