// The first two steps, for every filter, stride and padding: naive.cu and tiled.cu are the same two
// ideas for 3 x 3 at stride 1 alone, with a main() that checks them.
//
// FILTER and STRIDE are 0 where the compiler does not know them. Where it does it unrolls the loops
// over the filter, and the steps differ in what the memory is asked for rather than in
// the instructions around it.
#pragma once

#include <algorithm>

#include "problem.cuh"

namespace depthwise {

constexpr int kColumns = 32;  // outputs per block in x; also the threads in x
constexpr int kRows = 8;      // threads in y
constexpr long long kPlanesAtOnce = 65535;  // the most that gridDim.z can be
constexpr long long kSharedBytes = 48 * 1024;  // what every device gives without asking

// Tiles of 3 x 3 per SM that the registers must allow, within the threads that an SM holds: 1024 in
// 7.5, 1536 or more since (CUDA programming guide, specifications per compute capability).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kTilesAtOnce = 4;
#else
constexpr int kTilesAtOnce = 6;
#endif

// As unsigned, what is left of or above the image is too large: one comparison per side.
__device__ inline bool inside(const Problem& p, int row, int column) {
  return static_cast<unsigned>(row) < static_cast<unsigned>(p.height) &&
         static_cast<unsigned>(column) < static_cast<unsigned>(p.width);
}

__device__ inline float input_at(const Problem& p, const float* image, int row, int column) {
  return inside(p, row, column) ? image[row * static_cast<int>(p.width) + column] : 0.0f;
}

// In 32 bits, as far as check() allows: a multiplication of 64 takes several instructions.
__device__ inline unsigned product(long long a, long long b) {
  return static_cast<unsigned>(a) * static_cast<unsigned>(b);
}

__device__ inline const float* image_of(const Problem& p, unsigned plane) {
  return p.input + static_cast<std::size_t>(plane) * product(p.height, p.width);
}

__device__ inline float* output_of(const Problem& p, unsigned plane) {
  return p.output + static_cast<std::size_t>(plane) * product(p.output_height, p.output_width);
}

__device__ inline unsigned channel_of(const Problem& p, unsigned plane) {
  return plane % static_cast<unsigned>(p.channels);
}

__device__ inline const float* weights_of(const Problem& p, unsigned channel, int filter) {
  return p.weights + static_cast<std::size_t>(channel) * (filter * filter);
}

__device__ inline float bias_of(const Problem& p, unsigned channel) {
  return p.bias ? p.bias[channel] : 0.0f;
}

// One output per thread, everything read from global memory.
template <int FILTER, int STRIDE>
__global__ void depthwise_conv_naive(const __grid_constant__ Problem p) {
  const int x = static_cast<int>(blockIdx.x * kColumns + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  if (x >= p.output_width || y >= p.output_height) return;
  const int filter = FILTER ? FILTER : static_cast<int>(p.filter);
  const int stride = STRIDE ? STRIDE : static_cast<int>(p.stride);
  const int top = y * stride - static_cast<int>(p.pad);
  const int left = x * stride - static_cast<int>(p.pad);
  const int width = static_cast<int>(p.width);
  for (unsigned plane = blockIdx.z; plane < product(p.images, p.channels); plane += gridDim.z) {
    const float* image = image_of(p, plane);
    const unsigned channel = channel_of(p, plane);
    const float* weight = weights_of(p, channel, filter);
    float sum = bias_of(p, channel);
    for (int dy = 0; dy < filter; ++dy)
      for (int dx = 0; dx < filter; ++dx)
        if (inside(p, top + dy, left + dx))
          sum += image[(top + dy) * width + left + dx] * weight[dy * filter + dx];
    output_of(p, plane)[y * static_cast<int>(p.output_width) + x] = activated(sum, p.relu);
  }
}

// A block's inputs: (outputs - 1) * stride + filter along each side.
struct Patch {
  int height;
  int width;
  __host__ __device__ Patch(int rows, int stride, int filter)
      : height((rows - 1) * stride + filter), width((kColumns - 1) * stride + filter) {}
};

// Where the size is known, all loads of a thread are on their way before the first is stored: those
// of its own column, then of what lies right of the last.
template <int FILTER, int STRIDE, int PER_THREAD>
__device__ inline void load_known_patch(const Problem& p, const float* image, int top, int left,
                                        float* patch) {
  constexpr int kWidth = (kColumns - 1) * STRIDE + FILTER;
  constexpr int kHeight = (kRows * PER_THREAD - 1) * STRIDE + FILTER;
  constexpr int kRight = kWidth - kColumns, kThreads = kColumns * kRows;
  constexpr int kOwn = (kHeight + kRows - 1) / kRows;
  constexpr int kRest = (kRight * kHeight + kThreads - 1) / kThreads;
  const int thread = static_cast<int>(threadIdx.y * kColumns + threadIdx.x);
  float own[kOwn], rest[kRest];
#pragma unroll
  for (int k = 0; k < kOwn; ++k)
    own[k] = input_at(p, image, top + threadIdx.y + k * kRows, left + threadIdx.x);
#pragma unroll
  for (int k = 0; k < kRest; ++k) {
    const int i = thread + k * kThreads;
    rest[k] = input_at(p, image, top + i / kRight, left + kColumns + i % kRight);
  }
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const int row = threadIdx.y + k * kRows;
    if (row < kHeight) patch[row * kWidth + threadIdx.x] = own[k];
  }
#pragma unroll
  for (int k = 0; k < kRest; ++k) {
    const int i = thread + k * kThreads;
    if (i < kRight * kHeight) patch[i / kRight * kWidth + kColumns + i % kRight] = rest[k];
  }
}

__device__ inline void load_patch(const Problem& p, const float* image, const Patch& size, int top,
                                  int left, float* patch) {
  for (int row = threadIdx.y; row < size.height; row += kRows)
    for (int column = threadIdx.x; column < size.width; column += kColumns)
      patch[row * size.width + column] = input_at(p, image, top + row, left + column);
}

// A block stages its inputs in shared memory once. Where FILTER and STRIDE are known, the inputs
// that PER_THREAD outputs below each other share stay in registers.
template <int FILTER, int STRIDE, int PER_THREAD>
__global__ void __launch_bounds__(kColumns * kRows, FILTER == 3 ? kTilesAtOnce : 4)
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
  const int above = top * stride - static_cast<int>(p.pad);
  const int before = left * stride - static_cast<int>(p.pad);
  for (unsigned plane = blockIdx.z; plane < product(p.images, p.channels); plane += gridDim.z) {
    const float* image = image_of(p, plane);
    const unsigned channel = channel_of(p, plane);
    const float* weight = weights_of(p, channel, filter);
    __syncthreads();  // the plane before is done with the patch
    if constexpr (FILTER > 0 && STRIDE > 0)
      load_known_patch<FILTER, STRIDE, PER_THREAD>(p, image, above, before, patch);
    else
      load_patch(p, image, size, above, before, patch);
    __syncthreads();
    if (x >= p.output_width) continue;
    float sum[PER_THREAD];
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
      sum[j] = bias_of(p, channel);
#pragma unroll
      for (int dy = 0; dy < filter; ++dy)
#pragma unroll
        for (int dx = 0; dx < filter; ++dx)
          sum[j] += corner[(j * stride + dy) * size.width + dx] * __ldg(weight + dy * filter + dx);
    }
    float* output = output_of(p, plane) + (top + own) * p.output_width + x;
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j, output += p.output_width)
      if (top + own + j < static_cast<int>(p.output_height)) *output = activated(sum[j], p.relu);
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
  const auto kernel = p.stride == 1 && p.filter == 3   ? depthwise_conv_naive<3, 1>
                      : p.stride == 1 && p.filter == 5 ? depthwise_conv_naive<5, 1>
                                                       : depthwise_conv_naive<0, 0>;
  kernel<<<grid, dim3(kColumns, kRows), 0, stream>>>(p);
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
