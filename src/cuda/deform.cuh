/*
 * Step 7 for one particle: in G2P, on trial, and for MLS in the P2G of the next step.
 *
 * With MLS grad v is known from B, which P2G reads anyway. So there G2P leaves F as it is, and the next P2G brings it
 * up to date: F, J_P and the material are read once a step instead of twice. See pace.cuh for what this means to a
 * step's choice.
 */
#ifndef FIRN_CUDA_DEFORM_CUH
#define FIRN_CUDA_DEFORM_CUH

#include "cuda/stencil.cuh"
#include "method/step07_deformation.h"

/* Note the first row that went wrong; once that is known, what of it. */
static __device__ __noinline__ void note_bad(outcome *out, uint32_t row, float speed2,
                                             float stretch, float J)
{
    if (atomicMax(&out->bad_row_mark, ~row) != ~row)
        return;
    out->bad_speed = sqrtf(speed2);
    out->bad_stretch = stretch;
    out->bad_J_P = J;
}

/* The end of step 7 for a particle that yields. In 2D the third row and column stay as they are. */
static __device__ __forceinline__ deformation return_particle(const pass_view &s, const mat &F,
                                                              const strain &e, float J,
                                                              float theta_c, float theta_s)
{
    deformation r = step07_is_near(e.E, e.J()) ? step07_return_near(F, e.E, J, theta_c, theta_s)
                                               : step07_return(F, J, theta_c, theta_s);
    for (int i = 0; i < 3 && s.planar; i++) {
        r.F_E.m[i][2] = F.m[i][2];
        r.F_E.m[2][i] = F.m[2][i];
    }
    return r;
}

static __device__ __forceinline__ bool is_sound(float stretch, float J)
{
    return J > 0 && J <= FLT_MAX && stretch <= FLT_MAX;
}

/* F and J_P of `q` after a step with `cells` = dt / h, of which J_P is stored where it changes. `speed2` is for a
 * report. */
static __device__ __forceinline__ strain step_7(const pass_view &s, particle q, float speed2,
                                                float cells, const mat &grad, float theta_c,
                                                float theta_s, mat *F, float *J)
{
    *F = mat_mad(*F, cells, mat_mul(grad, *F));
    strain e(*F);
    if (step07_beyond(e.E, e.J(), theta_c, theta_s)) {
        deformation r = return_particle(s, *F, e, *J, theta_c, theta_s);
        *F = r.F_E;
        *J = r.J_P;
        e = strain(*F);
        float stretch = mat_dot(*F, *F);
        if (!is_sound(stretch, *J))
            note_bad(s.out, q.row(), speed2, stretch, *J);
        q[J_P] = *J;
    }
    return e;
}

#endif
