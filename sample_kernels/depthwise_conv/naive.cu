// Shows: depthwise 3x3 convolution, one output per thread, everything read from global memory
// Expect: issue-bound
// Arguments: [images = 16] [channels = 128] [height = 128] [width = height]
//
// Every input is read nine times. The caches catch the repeats, so DRAM is idle; nine loads with
// their addresses and bounds checks per output fill the issue slots. tiled.cu reads each input about
// once and shares the addresses among eight outputs.
#include "layer.cuh"

constexpr unsigned kBlockRows = 8;

__global__ void depthwise_conv_naive(const float* __restrict__ input,
                                     const float* __restrict__ weights,
                                     float* __restrict__ output, Shape shape) {
  const int x = static_cast<int>(blockIdx.x * kTileWidth + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kBlockRows + threadIdx.y);
  const int width = static_cast<int>(shape.width);
  const int height = static_cast<int>(shape.height);
  if (x >= width || y >= height) return;

  const std::size_t plane = static_cast<std::size_t>(blockIdx.z) * height * width;
  const float* image = input + plane;
  const float* weight = weights + blockIdx.z % shape.channels * 9;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int row = y + dy;
      const int column = x + dx;
      if (row >= 0 && row < height && column >= 0 && column < width)
        sum += image[row * width + column] * weight[(dy + 1) * 3 + dx + 1];
    }
  }
  output[plane + y * width + x] = sum;
}

int main(int argc, char** argv) {
  return convolve_and_check("depthwise_conv/naive", depthwise_conv_naive, kBlockRows, kBlockRows,
                            argc, argv);
}
