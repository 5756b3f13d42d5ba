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

__device__ void load_patch(const float* image, int width, int height,
                           float (&patch)[kPatchHeight][kPatchWidth]) {
  const int left = static_cast<int>(blockIdx.x * kTileWidth) - 1;
  const int top = static_cast<int>(blockIdx.y * kTileHeight) - 1;
  for (unsigned j = threadIdx.y; j < kPatchHeight; j += kBlockRows) {
    const int row = top + static_cast<int>(j);
    for (unsigned i = threadIdx.x; i < kPatchWidth; i += kTileWidth) {
      const int column = left + static_cast<int>(i);
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      patch[j][i] = inside ? image[row * width + column] : 0.0f;
    }
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
  load_patch(input + plane, width, height, patch);
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
