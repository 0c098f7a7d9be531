/*
 * Singular values: F = U diag(sigma) V^T with U and V rotations (det +1), |sigma| descending, and
 * the sign of det F on the last one: what the polar factor and the return map of snow need.
 *
 * The eigenvectors of F^T F, in closed form, are a first V, blind only to singular values below
 * sqrt(epsilon) of the largest. One sweep of Jacobi's method on the columns of B = F V (Hestenes)
 * sees those too: it turns pairs of columns until all are perpendicular, and their lengths are the
 * singular values. The number of operations is fixed and nothing branches, so it serves lanes. The
 * error is a few roundings of the largest singular value for every F: repeated, zero, negative, and
 * of any size whose inverse is a normal number.
 *
 * Does NOT do: small singular values to their own relative accuracy.
 */
#ifndef FIRN_METHOD_SVD_H
#define FIRN_METHOD_SVD_H

#include "method/mat.h"

typedef struct svd {
    mat U;
    vec sigma;
    mat V;
} svd;

/* U diag(d) V^T */
FN mat svd_compose(mat U, vec d, mat V)
{
    return mat_mul_t(mat_mul_diagonal(U, d), V);
}

/* R = U V^T, the rotation in F = R S. */
FN mat svd_polar(svd s)
{
    return mat_mul_t(s.U, s.V);
}

/* S = V diag(sigma) V^T, the symmetric factor in F = R S. */
FN mat svd_stretch(svd s)
{
    return svd_compose(s.V, s.sigma, s.V);
}

/* A turn of two columns: p' = c p + s q, q' = c q - s p. */
typedef struct svd_turn {
    real c, s;
} svd_turn;

/*
 * The turn that makes p and q perpendicular and |p'| >= |q'|, from d = |p|^2 - |q|^2 and o = 2 p.q.
 * tan(2 angle) = o / d with h = sqrt(d^2 + o^2) as hypotenuse; c and s follow by halving the angle.
 * Where d < 0 the turn goes 90 degrees further, which only exchanges c and s. The `none` lets
 * equal, perpendicular columns (d = o = 0) rest.
 */
FN svd_turn svd_turn_of(real d, real o)
{
    const real_scalar none = sizeof(real_scalar) == 4 ? R(1e-18) : R(1e-140);
    real size = real_abs(d) + none;
    real inv_h = real_rsqrt(size * size + o * o);
    real c2 = R(0.5) + (R(0.5) * size) * inv_h;
    real inv_c = real_rsqrt(c2);
    real c = c2 * inv_c, s = (R(0.5) * o) * inv_h * inv_c;
    lane_mask in_order = d >= R(0);
    svd_turn turn;
    turn.c = lane_select(in_order, c, s);
    turn.s = lane_select(in_order, s, c);
    return turn;
}

FN mat svd_turned(mat A, svd_turn turn, int p, int q)
{
    for (int i = 0; i < FIRN_DIM; i++) {
        real a = A.m[i][p], b = A.m[i][q];
        A.m[i][p] = turn.c * a + turn.s * b;
        A.m[i][q] = turn.c * b - turn.s * a;
    }
    return A;
}

/* Make columns p < q of B perpendicular, and turn V along. */
FN void svd_rotate(mat *B, mat *V, int p, int q)
{
    vec bp = mat_column(*B, p), bq = mat_column(*B, q);
    svd_turn turn = svd_turn_of(vec_norm2(bp) - vec_norm2(bq), R(2) * vec_dot(bp, bq));
    *B = svd_turned(*B, turn, p, q);
    *V = svd_turned(*V, turn, p, q);
}

/* max |F_ij|, and never so small that its inverse is not finite. */
FN real svd_size(mat F)
{
    real size = real_of(REAL_TINY);
    for (int i = 0; i < FIRN_DIM; i++)
        for (int j = 0; j < FIRN_DIM; j++)
            size = real_max(size, real_abs(F.m[i][j]));
    return size;
}

/* a / |a| where |a|^2 is above `floor2` and normal, else the fallback. */
FN vec svd_unit(vec a, real floor2, vec fallback)
{
    real a2 = vec_norm2(a);
    real least = real_max(floor2, real_of(REAL_TINY));
    return vec_select(a2 > least, vec_scale(a, real_rsqrt(real_max(a2, least))), fallback);
}

FN vec svd_axis(void)
{
    vec x = vec_zero();
    x.e[0] = real_of(1);
    return x;
}

#if FIRN_DIM == 3

/* A unit vector perpendicular to the unit vector n (Duff et al. 2017). */
FN vec svd_perpendicular(vec n)
{
    real sign = lane_select(n.e[2] < R(0), real_of(-1), real_of(1));
    real a = n.e[0] / (sign + n.e[2]);
    vec r;
    r.e[0] = R(1) - sign * n.e[0] * a;
    r.e[1] = -(sign * n.e[1] * a);
    r.e[2] = -(sign * n.e[0]);
    return r;
}

/* The root in [sqrt 3, 2] of x^3 - 3 x = y, for y in [0, 2]: Newton's method from a polynomial within 1e-4 of it. */
FN real svd_cubic_root(real y)
{
    const int steps = sizeof(real_scalar) == 4 ? 1 : 2;
    real x = R(1.7321326) + y * (R(0.16533035) + y * (R(0.0023299210) * y - R(0.020345599)));
    for (int i = 0; i < steps; i++)
        x = (R(2) * x * x * x + y) / (R(3) * x * x - R(3));
    return x;
}

/* The eigenvector of A to its eigenvalue 0, the other two being apart from it: the longest column
 * of the cofactors, which are all multiples of it. */
FN vec svd_null(mat A)
{
    mat cof = mat_cof(A);
    vec v = mat_column(cof, 0);
    real length = cof.m[0][0];
    for (int j = 1; j < 3; j++) {
        lane_mask longer = cof.m[j][j] > length;
        length = lane_select(longer, cof.m[j][j], length);
        v = vec_select(longer, mat_column(cof, j), v);
    }
    return vec_normalize(v);
}

/* T = (S - q) / p of the symmetric S, with trace 0 and T:T = 6; also of one that is q but for rounding, or the root
 * below could belong to two directions. */
FN mat svd_deviator(mat S)
{
    real q = R(1.0 / 3.0) * mat_trace(S);
    mat T = mat_mad(S, -q, mat_identity());
    T.m[2][2] = -(T.m[0][0] + T.m[1][1]);
    return mat_scale(T, real_rsqrt(real_max(R(1.0 / 6.0) * mat_dot(T, T), real_of(REAL_TINY))));
}

/* The eigenvector of such a T to the root of its characteristic equation x^3 - 3 x = det T that lies apart from the
 * other two. */
FN vec svd_apart(mat T)
{
    real det = mat_det(T);
    real x = svd_cubic_root(real_abs(det));
    x = lane_select(det < R(0), -x, x);
    return svd_null(mat_mad(T, -x, mat_identity()));
}

/* The eigenvectors of the symmetric S, to rounding of its largest entry: one that is apart from the others, and one
 * turn in the plane across it. */
FN mat svd_eigenvectors(mat S)
{
    mat T = svd_deviator(S);
    vec v0 = svd_apart(T), v1 = svd_perpendicular(v0), v2 = vec_cross(v0, v1);
    vec T1 = mat_vec(T, v1), T2 = mat_vec(T, v2);
    svd_turn turn = svd_turn_of(vec_dot(v1, T1) - vec_dot(v2, T2), R(2) * vec_dot(v1, T2));
    return svd_turned(mat_of_columns(v0, v1, v2), turn, 1, 2);
}

/*
 * The singular values and U from perpendicular columns in descending order. What is left of b1 once
 * its part along u0 is taken away gives u1, unless little is left: then b1 is but rounding error.
 */
FN svd svd_of_columns(mat B, mat V)
{
    vec b0 = mat_column(B, 0), b1 = mat_column(B, 1), b2 = mat_column(B, 2);
    vec u0 = svd_unit(b0, real_of(0), svd_axis());
    vec rest = vec_mad(b1, -vec_dot(u0, b1), u0);
    vec u1 = svd_unit(rest, R(0.25) * vec_norm2(b1), svd_perpendicular(u0));
    vec u2 = vec_cross(u0, u1);
    svd r;
    r.U = mat_of_columns(u0, u1, u2);
    r.V = V;
    r.sigma.e[2] = vec_dot(u2, b2);
    /* Equal values may come out in the wrong order by a rounding. */
    r.sigma.e[1] = real_max(vec_dot(u1, b1), real_abs(r.sigma.e[2]));
    r.sigma.e[0] = real_max(vec_dot(u0, b0), r.sigma.e[1]);
    return r;
}

FN svd svd_of(mat F)
{
    real size = svd_size(F);
    mat A = mat_scale(F, R(1) / size);
    mat V = svd_eigenvectors(mat_t_mul(A, A)), B = mat_mul(A, V);
    svd_rotate(&B, &V, 0, 1);
    svd_rotate(&B, &V, 0, 2);
    svd_rotate(&B, &V, 1, 2);
    svd r = svd_of_columns(B, V);
    r.sigma = vec_scale(r.sigma, size);
    return r;
}

#else

/* The eigenvectors of the symmetric S, to rounding of its largest entry. */
FN mat svd_eigenvectors(mat S)
{
    return svd_turned(mat_identity(), svd_turn_of(S.m[0][0] - S.m[1][1], R(2) * S.m[0][1]), 0, 1);
}

/* One turn is exact in 2D. */
FN svd svd_of(mat F)
{
    real size = svd_size(F);
    mat B = mat_scale(F, R(1) / size), V = mat_identity();
    svd_rotate(&B, &V, 0, 1);
    vec b0 = mat_column(B, 0), b1 = mat_column(B, 1);
    vec u0 = svd_unit(b0, real_of(0), svd_axis()), u1;
    u1.e[0] = -u0.e[1];
    u1.e[1] = u0.e[0];
    svd r;
    r.U = mat_of_columns(u0, u1);
    r.V = V;
    r.sigma.e[1] = vec_dot(u1, b1);
    r.sigma.e[0] = real_max(vec_dot(u0, b0), real_abs(r.sigma.e[1]));
    r.sigma = vec_scale(r.sigma, size);
    return r;
}

#endif

#endif
