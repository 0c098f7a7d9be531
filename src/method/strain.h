/*
 * How far F is from a rotation: E = F F^T - I and det F - 1, from G = F - I, where small deformations have all their
 * digits. A rotation behind F is no part of it, and one before F turns E with it.
 */
#ifndef FIRN_METHOD_STRAIN_H
#define FIRN_METHOD_STRAIN_H

#include "method/mat.h"

/* E = G + G^T + G G^T, symmetric */
FN mat strain_of(mat F)
{
    mat G = mat_sub(F, mat_identity()), E;
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j <= i; j++) {
            real e = G.m[i][0] * G.m[j][0];
            for (int k = 1; k < FIRN_DIM; k++)
                e += G.m[i][k] * G.m[j][k];
            E.m[i][j] = E.m[j][i] = e + (G.m[i][j] + G.m[j][i]);
        }
    return E;
}

/* |E|^2, which bounds the square of every eigenvalue of E. */
FN real strain_size(mat E)
{
    return mat_dot(E, E);
}

#if FIRN_DIM == 3
/* det F - 1 */
FN real strain_dilation(mat F)
{
    mat G = mat_sub(F, mat_identity());
    mat cof = mat_cof(G);
    real det = G.m[0][0] * cof.m[0][0] + G.m[0][1] * cof.m[0][1] + G.m[0][2] * cof.m[0][2];
    return mat_trace(G) + (mat_trace(cof) + det);
}
#endif

#endif
