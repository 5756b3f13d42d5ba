// Shows: 64 KB of shared memory per small block leaves too few warps to hide the loads
// Expect: occupancy-limited-by-shared-memory
// Arguments: [steps = 64]
//
// A block keeps a table of 16,384 weights in shared memory, and its four warps each walk a chain
// of rows. Three blocks fill an SM's shared memory: 12 warps of 64, all waiting for their row.
#include "../chain.cuh"

constexpr unsigned kThreads = 128;
constexpr unsigned kWarp = 32;
constexpr unsigned kTable = 16384;         // weights: 64 KB
constexpr std::uint32_t kRows = 1U << 19;  // 64 MB of rows, more than the L2 cache

__host__ __device__ inline unsigned table_index(std::uint32_t row, unsigned lane) {
  return (row * kWarp + lane) % kTable;
}

__global__ void walk_rows_with_table(const std::uint32_t* __restrict__ next,
                                     const float* __restrict__ rows,
                                     const float* __restrict__ weights,
                                     float* __restrict__ output, unsigned steps) {
  extern __shared__ float table[];
  for (unsigned i = threadIdx.x; i < kTable; i += kThreads) table[i] = weights[i];
  __syncthreads();

  const unsigned warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t row = (warp * 2654435761U) & (kRows - 1);
  float sum = 0.0f;
  for (unsigned step = 0; step < steps; ++step) {
    row = next[row];
    sum += rows[row * kWarp + lane] * table[table_index(row, lane)];
  }
  output[blockIdx.x * kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 64, 1, 4096);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(9 * sample::sm_count());
  const std::size_t count = static_cast<std::size_t>(blocks) * kThreads;
  const int table_bytes = kTable * sizeof(float);

  const std::vector<std::uint32_t> next = sample::chain(kRows, 16);
  const std::vector<float> rows = sample::random_floats(std::size_t{kRows} * kWarp, 17);
  const std::vector<float> weights = sample::random_floats(kTable, 18);
  sample::DeviceArray<std::uint32_t> device_next(next);
  sample::DeviceArray<float> device_rows(rows), device_weights(weights), output(count);

  CUDA_CHECK(cudaFuncSetAttribute(walk_rows_with_table,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, table_bytes));
  walk_rows_with_table<<<blocks, kThreads, table_bytes>>>(device_next.get(), device_rows.get(),
                                                          device_weights.get(), output.get(),
                                                          static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "occupancy-limited-by-shared-memory/bad", output.download(),
      [&](std::size_t i) {
        const unsigned lane = static_cast<unsigned>(i % kWarp);
        std::uint32_t row = (static_cast<std::uint32_t>(i / kWarp) * 2654435761U) & (kRows - 1);
        double sum = 0.0;
        for (std::size_t step = 0; step < steps; ++step) {
          row = next[row];
          sum += static_cast<double>(rows[row * kWarp + lane]) * weights[table_index(row, lane)];
        }
        return sum;
      },
      {1e-4, 1e-4});
}
