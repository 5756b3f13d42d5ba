// Shows: depthwise 3x3 convolution through a shared-memory tile with a one-pixel halo
// Expect: dram-bandwidth-bound
// Arguments: [images = 16] [channels = 128] [height = 128] [width = height]
//
// A block stages a 34 x 66 patch once and computes 32 x 64 outputs from it. Each thread computes
// eight outputs below each other, so it reads ten rows of the tile instead of twenty-four and keeps
// the nine weights in registers.
#include "layer.cuh"

constexpr unsigned kTileHeight = 64;
constexpr unsigned kBlockRows = 8;
constexpr unsigned kPerThread = kTileHeight / kBlockRows;
constexpr unsigned kPatchWidth = kTileWidth + 2;
constexpr unsigned kPatchHeight = kTileHeight + 2;
constexpr unsigned kLoads = (kPatchHeight + kBlockRows - 1) / kBlockRows;  // per thread

// A thread loads its column of the tile, every eighth row; the first 132 threads also load the
// column left and right of the tile. Loading all before storing any keeps ten loads in flight.
// As unsigned, a row or column left of or above the image is too large: one compare per bound.
__device__ void load_patch(const float* __restrict__ image, Shape shape,
                           float (*__restrict__ patch)[kPatchWidth]) {
  const unsigned left = blockIdx.x * kTileWidth - 1;
  const unsigned top = blockIdx.y * kTileHeight - 1;
  const unsigned column = left + 1 + threadIdx.x;
  float values[kLoads];
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) {
    const unsigned row = top + threadIdx.y + k * kBlockRows;
    values[k] = row < shape.height && column < shape.width ? image[row * shape.width + column] : 0;
  }

  const unsigned thread = threadIdx.y * kTileWidth + threadIdx.x;
  const unsigned edge_row = thread / 2;
  const unsigned edge_column = thread % 2 * (kTileWidth + 1);
  if (edge_row < kPatchHeight) {
    const unsigned row = top + edge_row;
    const unsigned x = left + edge_column;
    patch[edge_row][edge_column] =
        row < shape.height && x < shape.width ? image[row * shape.width + x] : 0;
  }
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) {
    const unsigned row = threadIdx.y + k * kBlockRows;
    if (row < kPatchHeight) patch[row][threadIdx.x + 1] = values[k];
  }
}

__global__ void depthwise_conv_tiled(const float* __restrict__ input,
                                     const float* __restrict__ weights,
                                     float* __restrict__ output, Shape shape) {
  __shared__ float patch[kPatchHeight][kPatchWidth];
  const std::size_t plane = static_cast<std::size_t>(blockIdx.z) * shape.height * shape.width;
  float weight[9];
  const float* own = weights + blockIdx.z % shape.channels * 9;
  for (unsigned i = 0; i < 9; ++i) weight[i] = own[i];
  load_patch(input + plane, shape, patch);
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

  const unsigned x = blockIdx.x * kTileWidth + threadIdx.x;
  const unsigned y = blockIdx.y * kTileHeight + top;
  float* result = output + plane + static_cast<std::size_t>(y) * shape.width + x;
#pragma unroll
  for (unsigned j = 0; j < kPerThread; ++j, result += shape.width)
    if (x < shape.width && y + j < shape.height) *result = sum[j];
}

int main(int argc, char** argv) {
  return convolve_and_check("depthwise_conv/tiled", depthwise_conv_tiled, kTileHeight, kBlockRows,
                            argc, argv);
}
