// Shows: vector add with a grid-stride loop: one wave of blocks, each thread adds many elements
// Expect: dram-bandwidth-bound
// Arguments: [elements = 67108864]
#include "../check.cuh"

__global__ void vector_add_grid_stride(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ sum, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    sum[i] = a[i] + b[i];
  }
}

int main(int argc, char** argv) {
  constexpr unsigned kThreads = 256;
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 26, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> a = sample::random_floats(count, 1);
  const std::vector<float> b = sample::random_floats(count, 2);
  sample::DeviceArray<float> device_a(a), device_b(b), sum(count);

  int per_sm = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, vector_add_grid_stride,
                                                           kThreads, 0));
  const unsigned blocks = static_cast<unsigned>(per_sm * sample::sm_count());
  vector_add_grid_stride<<<blocks, kThreads>>>(device_a.get(), device_b.get(), sum.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare("vector_add/grid_stride", sum.download(),
                         [&](std::size_t i) { return a[i] + b[i]; });
}
