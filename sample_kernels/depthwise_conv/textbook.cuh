// The first two steps, for every filter, stride and padding: naive.cu and tiled.cu are the same
// kernels for 3 x 3 at stride 1, with a main() that checks them.
#pragma once

#include <algorithm>

#include "problem.cuh"

namespace depthwise {

constexpr int kColumns = 32;  // outputs per block in x; also the threads in x
constexpr int kRows = 8;      // threads in y
constexpr long long kPlanesAtOnce = 65535;  // the most that gridDim.z can be
constexpr long long kSharedBytes = 48 * 1024;  // what every device gives without asking

__device__ inline float input_at(const Problem& p, const float* image, int row, int column) {
  const bool inside = row >= 0 && row < p.height && column >= 0 && column < p.width;
  return inside ? image[row * static_cast<int>(p.width) + column] : 0.0f;
}

__device__ inline float* output_at(const Problem& p, long long plane, int y, int x) {
  return p.output + plane * (p.output_height * p.output_width) +
         y * static_cast<int>(p.output_width) + x;
}

__device__ inline float bias_of(const Problem& p, long long plane) {
  return p.bias ? p.bias[plane % p.channels] : 0.0f;
}

// One output per thread, everything read from global memory.
__global__ void depthwise_conv_naive(const __grid_constant__ Problem p) {
  const int x = static_cast<int>(blockIdx.x * kColumns + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  if (x >= p.output_width || y >= p.output_height) return;
  const int filter = static_cast<int>(p.filter);
  const int top = y * static_cast<int>(p.stride) - static_cast<int>(p.pad);
  const int left = x * static_cast<int>(p.stride) - static_cast<int>(p.pad);
  for (long long plane = blockIdx.z; plane < p.images * p.channels; plane += gridDim.z) {
    const float* image = p.input + plane * (p.height * p.width);
    const float* weight = p.weights + plane % p.channels * (filter * filter);
    float sum = bias_of(p, plane);
    for (int dy = 0; dy < filter; ++dy)
      for (int dx = 0; dx < filter; ++dx)
        sum += input_at(p, image, top + dy, left + dx) * weight[dy * filter + dx];
    *output_at(p, plane, y, x) = activated(sum, p.relu);
  }
}

// A block's inputs: (outputs - 1) * stride + filter along each side.
struct Patch {
  int height;
  int width;
  __host__ __device__ Patch(int rows, int stride, int filter)
      : height((rows - 1) * stride + filter), width((kColumns - 1) * stride + filter) {}
};

__device__ inline void load_patch(const Problem& p, const float* image, const Patch& size, int top,
                                  int left, float* patch) {
  for (int row = threadIdx.y; row < size.height; row += kRows)
    for (int column = threadIdx.x; column < size.width; column += kColumns)
      patch[row * size.width + column] = input_at(p, image, top + row, left + column);
}

// A block stages its inputs in shared memory once. Where FILTER and STRIDE are known to the
// compiler (else they are 0), the inputs that PER_THREAD outputs below each other share stay in
// registers.
template <int FILTER, int STRIDE, int PER_THREAD>
__global__ void __launch_bounds__(kColumns * kRows)
    depthwise_conv_tiled(const __grid_constant__ Problem p) {
  extern __shared__ float patch[];
  const int filter = FILTER ? FILTER : static_cast<int>(p.filter);
  const int stride = STRIDE ? STRIDE : static_cast<int>(p.stride);
  const Patch size(kRows * PER_THREAD, stride, filter);
  const int left = static_cast<int>(blockIdx.x) * kColumns;
  const int top = static_cast<int>(blockIdx.y) * kRows * PER_THREAD;
  const int x = left + static_cast<int>(threadIdx.x);
  const int own = static_cast<int>(threadIdx.y) * PER_THREAD;
  const float* corner = patch + own * stride * size.width + threadIdx.x * stride;
  for (long long plane = blockIdx.z; plane < p.images * p.channels; plane += gridDim.z) {
    const float* weight = p.weights + plane % p.channels * (filter * filter);
    __syncthreads();  // the plane before is done with the patch
    load_patch(p, p.input + plane * (p.height * p.width), size,
               top * stride - static_cast<int>(p.pad), left * stride - static_cast<int>(p.pad),
               patch);
    __syncthreads();
    if (x >= p.output_width) continue;
    float sum[PER_THREAD];
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
      sum[j] = bias_of(p, plane);
#pragma unroll
      for (int dy = 0; dy < filter; ++dy)
#pragma unroll
        for (int dx = 0; dx < filter; ++dx)
          sum[j] += corner[(j * stride + dy) * size.width + dx] * __ldg(weight + dy * filter + dx);
    }
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j)
      if (top + own + j < p.output_height)
        *output_at(p, plane, top + own + j, x) = activated(sum[j], p.relu);
  }
}

// gridDim.y holds no more than 65,535: more rows than that many tiles are refused.
inline cudaError_t grid_for(const Problem& p, long long rows_per_block, dim3& grid) {
  const long long columns = blocks_of(p.output_width, kColumns);
  const long long rows = blocks_of(p.output_height, rows_per_block);
  if (rows > 65535) return cudaErrorNotSupported;
  grid = dim3(static_cast<unsigned>(columns), static_cast<unsigned>(rows),
              static_cast<unsigned>(std::min(p.images * p.channels, kPlanesAtOnce)));
  return cudaSuccess;
}

inline cudaError_t launch_naive(const Problem& p, cudaStream_t stream) {
  dim3 grid;
  cudaError_t status = check(p);
  if (status == cudaSuccess) status = grid_for(p, kRows, grid);
  if (status != cudaSuccess) return status;
  depthwise_conv_naive<<<grid, dim3(kColumns, kRows), 0, stream>>>(p);
  return cudaGetLastError();
}

template <int FILTER, int STRIDE, int PER_THREAD>
cudaError_t launch_tiles(const Problem& p, cudaStream_t stream) {
  dim3 grid;
  const cudaError_t status = grid_for(p, kRows * PER_THREAD, grid);
  if (status != cudaSuccess) return status;
  const auto along = [&](long long outputs) { return (outputs - 1) * p.stride + p.filter; };
  const long long columns = along(kColumns), rows = along(kRows * PER_THREAD);
  // A stride or a filter so large that the halo does not fit: nothing is left to share.
  if (columns > kSharedBytes || rows > kSharedBytes || columns * rows * 4 > kSharedBytes)
    return cudaErrorNotSupported;
  depthwise_conv_tiled<FILTER, STRIDE, PER_THREAD>
      <<<grid, dim3(kColumns, kRows), static_cast<std::size_t>(columns * rows * 4), stream>>>(p);
  return cudaGetLastError();
}

inline cudaError_t launch_tiled(const Problem& p, cudaStream_t stream) {
  const cudaError_t status = check(p);
  if (status != cudaSuccess) return status;
  if (p.stride == 1 && p.filter == 3) return launch_tiles<3, 1, 8>(p, stream);
  if (p.stride == 1 && p.filter == 5) return launch_tiles<5, 1, 8>(p, stream);
  return launch_tiles<0, 0, 1>(p, stream);
}

}  // namespace depthwise
