// Every function of the method as CUDA C, for host and device. Compiling it is the first test; run,
// it compares the two, or exits with 77 where there is no device.
#include <cstdio>
#include <cstdlib>

#include "every.h"

enum { ROWS = 1024 };

static __global__ void run_every(const real *in, real *out)
{
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row < ROWS)
        every_function(in + row * EVERY_IN, out + row * EVERY_OUT);
}

static double uniform(double low, double high)
{
    return low + (high - low) * rand() / RAND_MAX;
}

static void fill_row(real *in)
{
    for (int k = 0; k < EVERY_IN; k++)
        in[k] = R(uniform(-1, 1));
    in[0] = R(uniform(-5, 5));
    in[1] = R(uniform(-20, 20));
    in[2] = R(uniform(0.01, 1));
    real *F = in + 3 + 3 * FIRN_DIM;
    for (int k = 0; k < FIRN_DIM * FIRN_DIM; k++)
        F[k] = R(0.2) * F[k] + R(k % (FIRN_DIM + 1) == 0);
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    real *in, *out;
    if (cudaMallocManaged(&in, sizeof(real) * ROWS * EVERY_IN) != cudaSuccess ||
        cudaMallocManaged(&out, sizeof(real) * ROWS * EVERY_OUT) != cudaSuccess)
        return 1;
    for (int row = 0; row < ROWS; row++)
        fill_row(in + row * EVERY_IN);
    run_every<<<(ROWS + 127) / 128, 128>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;

    const double tolerance = sizeof(real) == sizeof(double) ? 2e-13 : 1e-4;
    for (int row = 0; row < ROWS; row++) {
        real expected[EVERY_OUT];
        every_function(in + row * EVERY_IN, expected);
        for (int k = 0; k < EVERY_OUT; k++) {
            double got = (double)out[row * EVERY_OUT + k], want = (double)expected[k];
            if (!(fabs(got - want) <= tolerance * (1 + fabs(want)))) {
                printf("row %d, output %d is %.9g, not %.9g\n", row, k, got, want);
                return 1;
            }
        }
    }
    return 0;
}
