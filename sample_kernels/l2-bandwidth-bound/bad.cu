// Shows: a 16 MB buffer that fits the L2 cache, read again and again past the L1 cache
// Expect: l2-bandwidth-bound
// Arguments: [passes = 48]
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr std::size_t kQuads = std::size_t{1} << 20;  // 16 MB of float4

__global__ void sum_from_l2(const float4* buffer, float* __restrict__ sums, unsigned passes) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  float sum = 0.0f;
  for (unsigned pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (std::size_t i = thread; i < kQuads; i += stride) {
      const float4 value = __ldcg(&buffer[i]);  // cached in L2 only
      sum += (value.x + value.y) + (value.z + value.w);
    }
  }
  sums[thread] = sum;
}

int main(int argc, char** argv) {
  const std::size_t passes = sample::argument(argc, argv, 1, "passes", 48, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;

  const std::vector<float> buffer = sample::random_floats(kQuads * 4, 21);
  sample::DeviceArray<float> device_buffer(buffer), sums(threads);
  sum_from_l2<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(device_buffer.get()),
                                    sums.get(), static_cast<unsigned>(passes));
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      "l2-bandwidth-bound/bad", sums.download(),
      [&](std::size_t thread) {
        double sum = 0.0;
        for (std::size_t i = thread; i < kQuads; i += threads)
          for (std::size_t k = 0; k < 4; ++k) sum += buffer[i * 4 + k];
        return sum * static_cast<double>(passes);
      },
      {1e-3 * static_cast<double>(passes), 1e-4});
}
