// Launchers for test_bench_gpu.py: right, out of bounds, and without end.
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out, long long count) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < count) out[i] = a[i] + b[i];
}

__global__ void far_away(float* out) { out[(1ll << 40) + threadIdx.x] = 1.0f; }

__global__ void endless(float* out, const volatile float* a) {
  while (a[0] >= 0.0f) out[1] = a[0];
}

extern "C" int launch_add(const float* a, const float* b, float* out, long long count,
                          long long block, cudaStream_t stream) {
  if (count <= 0 || block <= 0) return cudaErrorInvalidValue;
  add<<<static_cast<unsigned>((count + block - 1) / block), static_cast<unsigned>(block), 0,
        stream>>>(a, b, out, count);
  return cudaGetLastError();
}

extern "C" int launch_far_away(float* out, cudaStream_t stream) {
  far_away<<<1, 32, 0, stream>>>(out);
  return cudaGetLastError();
}

extern "C" int launch_endless(const float* a, float* out, cudaStream_t stream) {
  endless<<<1, 32, 0, stream>>>(out, a);
  return cudaGetLastError();
}
