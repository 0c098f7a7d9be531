/* The words for the library's numbers, as scenes and logs spell them. */
#ifndef FIRN_TOOL_NAMES_H
#define FIRN_TOOL_NAMES_H

#include "firn/scene.h"

const char *kernel_name(firn_kernel kernel);
const char *transfer_name(firn_transfer transfer);
const char *integrator_name(firn_integrator integrator);
const char *stage_name(firn_stage stage);

#endif
