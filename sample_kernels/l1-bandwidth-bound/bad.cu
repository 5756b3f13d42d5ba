// Shows: each block reads its own 8 KB from the L1 cache hundreds of times
// Expect: l1-bandwidth-bound
// Arguments: [reads = 768]
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kQuads = 512;  // float4 per block: 8 KB
constexpr unsigned kWarp = 32;
constexpr unsigned kCycle = kQuads / kWarp;  // reads until a thread is back where it started

// `mask` is kQuads - 1; as an argument it hides from the compiler that the reads repeat.
__global__ void sum_from_l1(const float4* __restrict__ buffer, float* __restrict__ sums,
                            unsigned reads, unsigned mask) {
  const float4* own = buffer + static_cast<std::size_t>(blockIdx.x) * kQuads;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned read = 0; read < reads; ++read) {
    const float4 value = own[(threadIdx.x + read * kWarp) & mask];
    sum += (value.x + value.y) + (value.z + value.w);
  }
  sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const std::size_t reads = sample::argument(argc, argv, 1, "reads", 768, kCycle, 1 << 20);
  sample::no_more_arguments(argc, 1);
  if (reads % kCycle != 0) sample::refuse("reads must be a multiple of 16");
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());

  const std::vector<float> buffer = sample::random_floats(std::size_t{blocks} * kQuads * 4, 22);
  sample::DeviceArray<float> device_buffer(buffer),
      sums(static_cast<std::size_t>(blocks) * kThreads);
  sum_from_l1<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(device_buffer.get()),
                                    sums.get(), static_cast<unsigned>(reads), kQuads - 1);
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      "l1-bandwidth-bound/bad", sums.download(),
      [&](std::size_t i) {
        const float* own = &buffer[i / kThreads * kQuads * 4];
        double sum = 0.0;
        for (std::size_t read = 0; read < kCycle; ++read)
          for (std::size_t k = 0; k < 4; ++k)
            sum += own[(i % kThreads + read * kWarp) % kQuads * 4 + k];
        return sum * static_cast<double>(reads / kCycle);
      },
      {5e-2, 1e-3});
}
