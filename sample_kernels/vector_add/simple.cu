// Shows: vector add, one element per thread
// Expect: dram-bandwidth-bound
// Arguments: [elements = 67108864]
//
// Each element is read twice and written once, 12 bytes for one addition: no kernel that adds two
// vectors can be faster than DRAM.
#include "../check.cuh"

__global__ void vector_add_simple(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ sum, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  constexpr unsigned kThreads = 256;
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 26, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> a = sample::random_floats(count, 1);
  const std::vector<float> b = sample::random_floats(count, 2);
  sample::DeviceArray<float> device_a(a), device_b(b), sum(count);

  vector_add_simple<<<sample::blocks_for(count, kThreads), kThreads>>>(device_a.get(),
                                                                       device_b.get(), sum.get(),
                                                                       count);
  CUDA_CHECK_LAUNCH();
  return sample::compare("vector_add/simple", sum.download(),
                         [&](std::size_t i) { return a[i] + b[i]; });
}
