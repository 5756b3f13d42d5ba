// Shows: depthwise 3x3 convolution through a shared-memory tile with a one-pixel halo
// Expect: dram-bandwidth-bound
// Arguments: [images = 16] [channels = 128] [height = 128] [width = height]
//
// A block stages a 34 x 34 patch once and computes 32 x 32 outputs from it. Each thread computes
// four outputs below each other, so it reads six rows of the tile instead of twelve and keeps the
// nine weights in registers.
#include "layer.cuh"

constexpr unsigned kTileHeight = 32;
constexpr unsigned kBlockRows = 8;
constexpr unsigned kPerThread = kTileHeight / kBlockRows;
constexpr unsigned kPatchWidth = kTileWidth + 2;
constexpr unsigned kPatchHeight = kTileHeight + 2;
constexpr unsigned kThreads = kTileWidth * kBlockRows;
constexpr unsigned kLoads = (kPatchWidth * kPatchHeight + kThreads - 1) / kThreads;  // per thread

// Every thread first loads all of its share, then stores it: five loads in flight instead of one.
// Outside of the image it reads the nearest pixel and drops it, which needs no branch.
__device__ void load_patch(const float* __restrict__ image, int width, int height,
                           float* __restrict__ patch) {
  const int left = static_cast<int>(blockIdx.x * kTileWidth) - 1;
  const int top = static_cast<int>(blockIdx.y * kTileHeight) - 1;
  const unsigned thread = threadIdx.y * kTileWidth + threadIdx.x;
  float values[kLoads];
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) {
    const unsigned i = thread + k * kThreads;
    const int row = top + static_cast<int>(i / kPatchWidth);
    const int column = left + static_cast<int>(i % kPatchWidth);
    const int near_row = min(max(row, 0), height - 1);
    const int near_column = min(max(column, 0), width - 1);
    const float value = image[near_row * width + near_column];
    values[k] = row == near_row && column == near_column ? value : 0.0f;
  }
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) {
    const unsigned i = thread + k * kThreads;
    if (i < kPatchWidth * kPatchHeight) patch[i] = values[k];
  }
}

__global__ void depthwise_conv_tiled(const float* __restrict__ input,
                                     const float* __restrict__ weights,
                                     float* __restrict__ output, Shape shape) {
  __shared__ float patch[kPatchHeight][kPatchWidth];
  const int width = static_cast<int>(shape.width);
  const int height = static_cast<int>(shape.height);
  const std::size_t plane = static_cast<std::size_t>(blockIdx.z) * height * width;

  float weight[9];
  for (unsigned i = 0; i < 9; ++i) weight[i] = weights[blockIdx.z % shape.channels * 9 + i];
  load_patch(input + plane, width, height, &patch[0][0]);
  __syncthreads();

  float sum[kPerThread] = {};
  const unsigned top = threadIdx.y * kPerThread;
#pragma unroll
  for (unsigned row = 0; row < kPerThread + 2; ++row) {
#pragma unroll
    for (unsigned dx = 0; dx < 3; ++dx) {
      const float value = patch[top + row][threadIdx.x + dx];
#pragma unroll
      for (unsigned j = 0; j < kPerThread; ++j)
        if (row >= j && row < j + 3) sum[j] += value * weight[(row - j) * 3 + dx];
    }
  }

  const int x = static_cast<int>(blockIdx.x * kTileWidth + threadIdx.x);
  for (unsigned j = 0; j < kPerThread; ++j) {
    const int y = static_cast<int>(blockIdx.y * kTileHeight + top + j);
    if (x < width && y < height) output[plane + y * width + x] = sum[j];
  }
}

int main(int argc, char** argv) {
  return convolve_and_check("depthwise_conv/tiled", depthwise_conv_tiled, kTileHeight, kBlockRows,
                            argc, argv);
}
