// Shows: fused multiply-adds from registers: eight independent chains per thread
// Expect: compute-bound (fp32)
// Arguments: [threads = 540672]
//
// 8 x 1024 fused multiply-adds per thread are 16,384 operations for 4 bytes written: 8.86e9
// operations with the default size. Nothing but fewer or cheaper operations makes it faster.
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kSteps = 1024;
constexpr int kChains = 8;

__host__ __device__ inline float start(float seed, int chain) {
  return seed + static_cast<float>(chain);
}

__global__ void fused_multiply_add(const float* __restrict__ seeds, float* __restrict__ output,
                                   float factor, float summand, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  float chain[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) chain[c] = start(seeds[i], c);
#pragma unroll 16
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) chain[c] = fmaf(chain[c], factor, summand);
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += chain[c];
  output[i] = sum;
}

double reference(float seed, double factor, double summand) {
  double chain[kChains];
  for (int c = 0; c < kChains; ++c) chain[c] = start(seed, c);
  for (int step = 0; step < kSteps; ++step)
    for (int c = 0; c < kChains; ++c) chain[c] = chain[c] * factor + summand;
  double sum = 0.0;
  for (int c = 0; c < kChains; ++c) sum += chain[c];
  return sum;
}

int main(int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "threads", 132 * 2048 * 2, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);
  const float factor = 0.9995f;
  const float summand = 0.001f;

  const std::vector<float> seeds = sample::random_floats(count, 10);
  sample::DeviceArray<float> device_seeds(seeds), output(count);
  fused_multiply_add<<<sample::blocks_for(count, kThreads), kThreads>>>(
      device_seeds.get(), output.get(), factor, summand, count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "compute-bound/bad", output.download(),
      [&](std::size_t i) { return reference(seeds[i], factor, summand); }, {1e-3, 1e-4});
}
