// Shows: 1.6 waves of blocks without a tail: each SM gets the same number of equal blocks
// Expect: compute-bound
// Arguments: [steps = 2048]
//
// Looks like tail-effect and is none. Eight blocks per SM are launched and five fit at once, as in
// torch's random number kernels; the other three start as places become free, on every SM alike.
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kEach = 4;
constexpr unsigned kBlocksPerSm = 8;
constexpr int kFit = 5;
constexpr float kFactor = 0.75f;

__global__ void recur_grid_stride(const float* __restrict__ input, float* __restrict__ output,
                                  std::size_t count, unsigned steps) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    const float x = input[i];
    float y[kEach] = {x, -x, 2.0f * x, -2.0f * x};
#pragma unroll 8
    for (unsigned step = 0; step < steps; ++step)
#pragma unroll
      for (unsigned k = 0; k < kEach; ++k) y[k] = fmaf(y[k], kFactor, x);
    output[i] = (y[0] + y[1]) + (y[2] + y[3]);
  }
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 2048, 1, 1 << 20);
  sample::no_more_arguments(argc, 1);
  int device = 0, per_sm = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  // Shared memory that lets five blocks fit: a fifth of the SM's, less what the driver takes.
  const std::size_t shared = static_cast<std::size_t>(per_sm / kFit - 2048) / 256 * 256;
  CUDA_CHECK(cudaFuncSetAttribute(recur_grid_stride, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared)));
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());
  const std::size_t count = std::size_t{blocks} * kThreads * 2;
  const std::vector<float> input = sample::random_floats(count, 50);
  sample::DeviceArray<float> device_input(input), output(count);
  recur_grid_stride<<<blocks, kThreads, shared>>>(device_input.get(), output.get(), count,
                                                  static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "look_alikes/grid_stride_waves", output.download(),
      [&](std::size_t i) {
        const double x = input[i];
        double y[kEach] = {x, -x, 2.0 * x, -2.0 * x};
        // It settles at 4 x within 200 steps.
        for (std::size_t step = 0; step < steps && step < 200; ++step)
          for (double& value : y) value = value * kFactor + x;
        return y[0] + y[1] + y[2] + y[3];
      },
      {1e-4, 1e-5});
}
