// The launchers of `kprof bench vector-add`: bench.py has them compiled and calls them. The kernels
// are those of simple.cu, grid_stride.cu and float4.cu, with block sizes to choose.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace {

constexpr long long kQuad = 4;  // floats in a float4

__global__ void vector_add_simple(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ sum, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

__global__ void vector_add_grid_stride(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ sum, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    sum[i] = a[i] + b[i];
}

// The first `head` elements bring the pointers to a multiple of 16 bytes; they and the last few,
// which fill no float4, are added one by one.
__global__ void vector_add_float4(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ sum, long long count, long long head) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long quads = (count - head) / kQuad;
  if (i < quads) {
    const float4 x = reinterpret_cast<const float4*>(a + head)[i];
    const float4 y = reinterpret_cast<const float4*>(b + head)[i];
    reinterpret_cast<float4*>(sum + head)[i] =
        make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
  const long long tail = head + quads * kQuad + i;
  if (i < head) sum[i] = a[i] + b[i];
  if (i < kQuad && tail < count) sum[tail] = a[tail] + b[tail];
}

// Whole warps, so that no lane is idle in every block; the devices' limit is 1024.
cudaError_t check(const float* a, const float* b, const float* sum, long long count,
                  long long block) {
  const bool possible = a && b && sum && count > 0 && block > 0 && block <= 1024 && block % 32 == 0;
  return possible ? cudaSuccess : cudaErrorInvalidValue;
}

// gridDim.x holds 2^31 - 1.
cudaError_t blocks_for(long long threads, long long block, unsigned& blocks) {
  const long long needed = std::max(1LL, (threads + block - 1) / block);
  if (needed > 0x7fffffff) return cudaErrorNotSupported;
  blocks = static_cast<unsigned>(needed);
  return cudaSuccess;
}

// As many blocks as the device holds at once.
cudaError_t one_wave(long long block, unsigned& blocks) {
  int device = 0, sms = 0, per_sm = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, vector_add_grid_stride,
                                                           static_cast<int>(block), 0);
  blocks = static_cast<unsigned>(per_sm * sms);
  return status;
}

long long offset_of(const float* pointer) {
  return static_cast<long long>(reinterpret_cast<std::uintptr_t>(pointer) / sizeof(float) % kQuad);
}

}  // namespace

extern "C" int vector_add_one_per_thread(const float* a, const float* b, float* sum,
                                         long long count, long long block, cudaStream_t stream) {
  unsigned blocks = 0;
  cudaError_t status = check(a, b, sum, count, block);
  if (status == cudaSuccess) status = blocks_for(count, block, blocks);
  if (status != cudaSuccess) return status;
  vector_add_simple<<<blocks, static_cast<unsigned>(block), 0, stream>>>(a, b, sum, count);
  return cudaGetLastError();
}

extern "C" int vector_add_in_one_wave(const float* a, const float* b, float* sum, long long count,
                                      long long block, cudaStream_t stream) {
  unsigned blocks = 0;
  cudaError_t status = check(a, b, sum, count, block);
  if (status == cudaSuccess) status = one_wave(block, blocks);
  if (status != cudaSuccess) return status;
  vector_add_grid_stride<<<blocks, static_cast<unsigned>(block), 0, stream>>>(a, b, sum, count);
  return cudaGetLastError();
}

// cudaErrorNotSupported: the pointers are not aligned alike, and no float4 fits all three.
extern "C" int vector_add_by_float4(const float* a, const float* b, float* sum, long long count,
                                    long long block, cudaStream_t stream) {
  unsigned blocks = 0;
  cudaError_t status = check(a, b, sum, count, block);
  const long long offset = offset_of(a);
  if (status == cudaSuccess && (offset_of(b) != offset || offset_of(sum) != offset))
    status = cudaErrorNotSupported;
  const long long head = std::min((kQuad - offset) % kQuad, count);
  if (status == cudaSuccess) status = blocks_for((count - head) / kQuad, block, blocks);
  if (status != cudaSuccess) return status;
  vector_add_float4<<<blocks, static_cast<unsigned>(block), 0, stream>>>(a, b, sum, count, head);
  return cudaGetLastError();
}
