// One kernel of each floating-point kind, for comparing what NVIDIA's counters and the opcode mix
// say of it. Operands come from memory, so that nothing is folded; half of the threads skip the
// last operation, by predicate or branch. Builds with nvcc -arch=native, no input.
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int BLOCKS = 8, THREADS = 256;

template <typename T>
__global__ void scalar(const T *in, T *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const T x = in[i], y = in[i + 1];
  T sum = x + y, product = x * y;
  asm volatile("" ::: "memory");
  T fused = sum * product + x;
  if (i % 2 != 0) fused += y;
  out[i] = fused;
}

template <typename T>
__global__ void packed(const T *in, T *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const T x = in[i], y = in[i + 1];
  out[3 * i] = __hadd2_rn(x, y); // the _rn forms are never fused
  out[3 * i + 1] = __hmul2_rn(x, y);
  out[3 * i + 2] = __hfma2(x, y, y);
}

__global__ void single_half(const __half *in, __half *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __hadd_rn(in[i], in[i + 1]);
}

__global__ void convert(const __half2 *in, float *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float2 pair = __half22float2(in[i]);
  out[i] = fmaxf(pair.x, pair.y); // no addition anywhere
}

int main() {
  void *in = nullptr, *out = nullptr;
  const size_t bytes = 4 * sizeof(double) * BLOCKS * THREADS;
  if (cudaMalloc(&in, bytes) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess) return 1;
  cudaMemset(in, 0, bytes);
  scalar<<<BLOCKS, THREADS>>>((const float *)in, (float *)out);
  scalar<<<BLOCKS, THREADS>>>((const double *)in, (double *)out);
  packed<<<BLOCKS, THREADS>>>((const __half2 *)in, (__half2 *)out);
  packed<<<BLOCKS, THREADS>>>((const __nv_bfloat162 *)in, (__nv_bfloat162 *)out);
  single_half<<<BLOCKS, THREADS>>>((const __half *)in, (__half *)out);
  convert<<<BLOCKS, THREADS>>>((const __half2 *)in, (float *)out);
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::printf("%s\n", cudaGetErrorString(status));
  return status != cudaSuccess;
}
