/* det F of a row-major d x d matrix as files hold them. */
#ifndef FIRN_IO_DETERMINANT_H
#define FIRN_IO_DETERMINANT_H

static inline double determinant(const double *F, int d)
{
    if (d == 2)
        return F[0] * F[3] - F[1] * F[2];
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
           F[2] * (F[3] * F[7] - F[4] * F[6]);
}

#endif
