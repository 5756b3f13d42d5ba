// Shows: a persistent kernel: as many blocks as SMs, each working through many tiles
// Expect: compute-bound
// Arguments: [steps = 128]
//
// Looks like a grid that is too small and is none: one block of 1024 threads keeps its SM busy from
// the first tile to the last.
#include "../check.cuh"

constexpr unsigned kThreads = 1024;
constexpr unsigned kEach = 4;  // independent chains per thread
constexpr unsigned kTile = kThreads * kEach;
constexpr unsigned kTilesPerBlock = 32;
constexpr float kFactor = 0.75f;

__global__ void __launch_bounds__(kThreads)
    recur_persistent(const float* __restrict__ input, float* __restrict__ output, unsigned tiles,
                     unsigned steps) {
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t first = std::size_t{tile} * kTile + threadIdx.x;
    float x[kEach], y[kEach];
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) x[k] = y[k] = input[first + k * kThreads];
#pragma unroll 8
    for (unsigned step = 0; step < steps; ++step)
#pragma unroll
      for (unsigned k = 0; k < kEach; ++k) y[k] = fmaf(y[k], kFactor, x[k]);
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) output[first + k * kThreads] = y[k];
  }
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 128, 1, 1 << 20);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const unsigned tiles = blocks * kTilesPerBlock;
  const std::vector<float> input = sample::random_floats(std::size_t{tiles} * kTile, 53);
  sample::DeviceArray<float> device_input(input), output(input.size());
  recur_persistent<<<blocks, kThreads>>>(device_input.get(), output.get(), tiles,
                                         static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "look_alikes/persistent", output.download(),
      [&](std::size_t i) {
        double y = input[i];
        for (std::size_t step = 0; step < steps; ++step)
          y = y * kFactor + static_cast<double>(input[i]);
        return y;
      },
      {1e-5, 1e-5});
}
