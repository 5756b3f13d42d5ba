// Shows: launch bounds that leave 32 registers to a thread that needs about 75: the rest spills
// Expect: local-memory-traffic
// Arguments: [elements = 540672]
//
// __launch_bounds__(1024, 2) promises 2,048 threads per SM. The compiler keeps the promise by
// parking sums in local memory, with a store and a load around each use.
#include "../check.cuh"

constexpr unsigned kThreads = 1024;
constexpr int kSums = 64;
constexpr unsigned kPasses = 8;

__constant__ float weights[kSums];

__global__ void __launch_bounds__(kThreads, 2)
    filter_bank_spilled(const float* __restrict__ input, float* __restrict__ output,
                        std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  float sums[kSums] = {};
#pragma unroll 1
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    const float value = input[pass * count + i];
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[k] = fmaf(sums[k], value, weights[k]);
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < kSums; ++k) total = fmaf(sums[k], weights[kSums - 1 - k], total);
  output[i] = total;
}

int main(int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", 132 * 2048 * 2, 1, std::size_t{1} << 28);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> input = sample::random_floats(count * kPasses, 19);
  const std::vector<float> weight = sample::random_floats(kSums, 20);
  CUDA_CHECK(cudaMemcpyToSymbol(weights, weight.data(), sizeof(weights)));
  sample::DeviceArray<float> device_input(input), output(count);
  filter_bank_spilled<<<sample::blocks_for(count, kThreads), kThreads>>>(device_input.get(),
                                                                         output.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "local-memory-traffic/spill", output.download(),
      [&](std::size_t i) {
        double total = 0.0;
        for (int k = 0; k < kSums; ++k) {
          double sum = 0.0;
          for (unsigned pass = 0; pass < kPasses; ++pass)
            sum = sum * input[pass * count + i] + weight[k];
          total += sum * weight[kSums - 1 - k];
        }
        return total;
      },
      {1e-3, 1e-4});
}
