// Shows: a 16 MB buffer that fits the L2 cache, read again and again past the L1 cache
// Expect: l2-bandwidth-bound
// Arguments: [reads = 192]
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kQuads = 1U << 20;  // 16 MB of float4

// The whole grid reads one stretch after the other and starts over at the end of the buffer.
__global__ void sum_from_l2(const float4* buffer, float* __restrict__ sums, unsigned reads) {
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const unsigned stride = gridDim.x * kThreads;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned read = 0; read < reads; ++read) {
    const float4 value = __ldcg(&buffer[(thread + read * stride) % kQuads]);  // L2 only
    sum += (value.x + value.y) + (value.z + value.w);
  }
  sums[thread] = sum;
}

int main(int argc, char** argv) {
  const std::size_t reads = sample::argument(argc, argv, 1, "reads", 192, 1, 4096);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;

  const std::vector<float> buffer = sample::random_floats(std::size_t{kQuads} * 4, 21);
  sample::DeviceArray<float> device_buffer(buffer), sums(threads);
  sum_from_l2<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(device_buffer.get()),
                                    sums.get(), static_cast<unsigned>(reads));
  CUDA_CHECK_LAUNCH();

  std::vector<float> quad_sums(kQuads);
  for (std::size_t q = 0; q < kQuads; ++q)
    quad_sums[q] = (buffer[q * 4] + buffer[q * 4 + 1]) + (buffer[q * 4 + 2] + buffer[q * 4 + 3]);
  return sample::compare(
      "l2-bandwidth-bound/bad", sums.download(),
      [&](std::size_t thread) {
        double sum = 0.0;
        for (std::size_t read = 0; read < reads; ++read)
          sum += quad_sums[(thread + read * threads) % kQuads];
        return sum;
      },
      {1e-2, 1e-4});
}
