// Shows: 128-bit loads from shared memory: four wavefronts each, and no fewer would do
// Expect: shared-memory-bandwidth-bound
// Arguments: [rounds = 512]
//
// A wavefront moves 128 bytes, a warp asks for 512: "4-way conflicts" is what they are not.
#include "../check.cuh"

constexpr unsigned kThreads = 256;

__global__ void sum_quads(const float4* __restrict__ input, float* __restrict__ output,
                          unsigned rounds) {
  __shared__ float4 quads[kThreads];
  quads[threadIdx.x] = input[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned round = 0; round < rounds; ++round) {
    const float4 quad = quads[(threadIdx.x + round) % kThreads];
    sum += (quad.x + quad.y) + (quad.z + quad.w);
  }
  output[blockIdx.x * kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 512, kThreads, 1 << 20);
  sample::no_more_arguments(argc, 1);
  if (rounds % kThreads != 0) sample::refuse("rounds must be a multiple of 256");
  const unsigned blocks = static_cast<unsigned>(16 * sample::sm_count());

  const std::vector<float> input = sample::random_floats(std::size_t{blocks} * kThreads * 4, 82);
  std::vector<double> expected(blocks);  // all quads of the block, the same for each thread
  for (std::size_t i = 0; i < input.size(); ++i)
    expected[i / (kThreads * 4)] += input[i] * static_cast<double>(rounds / kThreads);
  sample::DeviceArray<float> device_input(input),
      output(static_cast<std::size_t>(blocks) * kThreads);
  sum_quads<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(device_input.get()),
                                  output.get(), static_cast<unsigned>(rounds));
  CUDA_CHECK_LAUNCH();
  return sample::compare("look_alikes/wide_shared_loads", output.download(),
                         [&](std::size_t i) { return expected[i / kThreads]; }, {2e-2, 1e-3});
}
