// Shows: a sum over an array nine times the size of L2, every byte of which is read once
// Expect: dram-bandwidth-bound
// Arguments: [elements = 134217728]
//
// Hardly anything hits in L2, far more is read than written, and there is nothing to gain: what is
// wanted once cannot be kept. Loads of 16 bytes touch 16 sectors per warp, as they have to.
#include "../check.cuh"

constexpr unsigned kThreads = 256;

__global__ void sum_once(const float4* __restrict__ input, float* __restrict__ sums,
                         std::size_t quads) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  float sum = 0.0f;
#pragma unroll 4
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; i < quads;
       i += step) {
    const float4 quad = input[i];
    sum += (quad.x + quad.y) + (quad.z + quad.w);
  }
  sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const std::size_t count = sample::argument(argc, argv, 1, "elements", std::size_t{1} << 27,
                                             kThreads * 4, std::size_t{1} << 30);
  sample::no_more_arguments(argc, 1);
  if (count % 4 != 0) sample::refuse("elements must be a multiple of 4");
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());

  const std::vector<float> input = sample::random_floats(count, 83);
  sample::DeviceArray<float> device_input(input),
      sums(static_cast<std::size_t>(blocks) * kThreads);
  sum_once<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(device_input.get()), sums.get(),
                                 count / 4);
  CUDA_CHECK_LAUNCH();
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;
  return sample::compare(
      "look_alikes/stream_once", sums.download(),
      [&](std::size_t thread) {
        double sum = 0.0;
        for (std::size_t quad = thread; quad < count / 4; quad += threads)
          for (std::size_t k = 0; k < 4; ++k) sum += input[4 * quad + k];
        return sum;
      },
      {1e-2, 1e-4}, 31);
}
