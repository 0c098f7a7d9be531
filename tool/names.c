#include "names.h"

const char *kernel_name(firn_kernel kernel)
{
    return kernel == FIRN_CUBIC ? "cubic" : "quadratic";
}

const char *transfer_name(firn_transfer transfer)
{
    static const char *const names[] = {
        [FIRN_FLIP] = "flip", [FIRN_APIC] = "apic", [FIRN_MLS] = "mls"};
    return names[transfer];
}

const char *integrator_name(firn_integrator integrator)
{
    static const char *const names[] = {[FIRN_EXPLICIT] = "explicit",
                                        [FIRN_SEMI_IMPLICIT] = "semi_implicit",
                                        [FIRN_CHEAPER] = "auto"};
    return names[integrator];
}

const char *stage_name(firn_stage stage)
{
    static const char *const names[FIRN_STAGES] = {
        [FIRN_STAGE_SORT] = "sort",   [FIRN_STAGE_P2G] = "p2g", [FIRN_STAGE_GRID] = "grid",
        [FIRN_STAGE_SOLVE] = "solve", [FIRN_STAGE_G2P] = "g2p",
    };
    return names[stage];
}
