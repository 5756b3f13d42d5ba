// Shows: so many live registers per thread that too few warps are left to hide the loads
// Expect: occupancy-limited-by-registers
// Arguments: [steps = 16]
//
// A warp walks a chain of rows and evaluates 128 recurrences on them. All 128 live in
// registers, so only three warps fit each scheduler, and all of them wait for their next row.
#include "../chain.cuh"

constexpr unsigned kThreads = 128;
constexpr unsigned kWarp = 32;
constexpr int kSums = 128;
constexpr std::uint32_t kRows = 1U << 19;  // 64 MB of rows, more than the L2 cache

__constant__ float weights[kSums];

__global__ void walk_rows(const std::uint32_t* __restrict__ next, const float* __restrict__ rows,
                          float* __restrict__ output, unsigned steps) {
  const unsigned warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t row = (warp * 2654435761U) & (kRows - 1);
  float sums[kSums] = {};
  for (unsigned step = 0; step < steps; ++step) {
    row = next[next[row]];
    const float value = rows[row * kWarp + lane];
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[k] = fmaf(sums[k], value, weights[k]);
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < kSums; ++k) total = fmaf(sums[k], weights[kSums - 1 - k], total);
  output[blockIdx.x * kThreads + threadIdx.x] = total;
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 16, 1, 4096);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(16 * sample::sm_count());
  const std::size_t count = static_cast<std::size_t>(blocks) * kThreads;

  const std::vector<std::uint32_t> next = sample::chain(kRows, 13);
  const std::vector<float> rows = sample::random_floats(std::size_t{kRows} * kWarp, 14);
  const std::vector<float> weight = sample::random_floats(kSums, 15);
  CUDA_CHECK(cudaMemcpyToSymbol(weights, weight.data(), sizeof(weights)));
  sample::DeviceArray<std::uint32_t> device_next(next);
  sample::DeviceArray<float> device_rows(rows), output(count);

  walk_rows<<<blocks, kThreads>>>(device_next.get(), device_rows.get(), output.get(),
                                  static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "occupancy-limited-by-registers/bad", output.download(),
      [&](std::size_t i) {
        std::uint32_t row = (static_cast<std::uint32_t>(i / kWarp) * 2654435761U) & (kRows - 1);
        double sums[kSums] = {};
        for (std::size_t step = 0; step < steps; ++step) {
          row = next[next[row]];
          const double value = rows[row * kWarp + i % kWarp];
          for (int k = 0; k < kSums; ++k) sums[k] = sums[k] * value + weight[k];
        }
        double total = 0.0;
        for (int k = 0; k < kSums; ++k) total += sums[k] * weight[kSums - 1 - k];
        return total;
      },
      {1e-3, 1e-4});
}
