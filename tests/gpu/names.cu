// Kernels that are hard to tell apart by name: extern "C", instances of one template with one
// shape, a namespace; one name with two grids. Launched ROUNDS times over: names ROUNDS.
#include <cstdio>
#include <cstdlib>

extern "C" __global__ void ea(float *p) { p[threadIdx.x] += 1; }
extern "C" __global__ void eb(float *p) { p[threadIdx.x] += 2; }
extern "C" __global__ void ec_with_a_longer_name_than_the_others(float *p) { p[threadIdx.x] += 3; }
template <int N> __global__ void instance(float *p) { p[threadIdx.x] += N; }
namespace inner {
__global__ void plain(float *p) { p[threadIdx.x] *= 0.5f; }
} // namespace inner

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1;
  float *p;
  cudaMalloc(&p, 4096);
  cudaMemset(p, 0, 4096);
  for (int round = 0; round < rounds; round++) {
    ea<<<1, 32>>>(p);
    instance<1><<<4, 32>>>(p);
    eb<<<2, 32>>>(p);
    ec_with_a_longer_name_than_the_others<<<3, 32>>>(p);
    instance<2><<<4, 32>>>(p);
    inner::plain<<<4, 32>>>(p);
    eb<<<5, 32>>>(p);
  }
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess)
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
  else
    puts("done");
  return error != cudaSuccess;
}
