// Shows: a balanced mix of integer logic and floating point: every pipe has slack, the issue slots
// Expect: issue-bound
// Arguments: [threads = 540672]
//
// Each scheduler can start one instruction per cycle. The random number generator keeps the ALU
// pipe busy and the multiply-adds the FMA pipe, neither fully; together they use every cycle.
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kSteps = 256;
constexpr int kChains = 9;

struct State {
  std::uint32_t bits;
  float chain[kChains];
};

__host__ __device__ inline void step(State& state, float factor, float summand) {
  state.bits ^= state.bits << 13;
  state.bits ^= state.bits >> 17;
  state.bits ^= state.bits << 5;
  for (int c = 0; c < kChains; ++c) state.chain[c] = fmaf(state.chain[c], factor, summand);
}

__host__ __device__ inline State start(float seed, std::uint32_t bits) {
  State state{bits | 1U, {}};
  for (int c = 0; c < kChains; ++c) state.chain[c] = seed + static_cast<float>(c);
  return state;
}

__host__ __device__ inline float result(const State& state) {
  float sum = static_cast<float>(state.bits >> 16) * 0x1p-16f;
  for (int c = 0; c < kChains; ++c) sum += state.chain[c];
  return sum;
}

__global__ void mix_integer_and_float(const float* __restrict__ seeds, float* __restrict__ output,
                                      float factor, float summand, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  State state = start(seeds[i], static_cast<std::uint32_t>(i));
#pragma unroll 16
  for (int k = 0; k < kSteps; ++k) step(state, factor, summand);
  output[i] = result(state);
}

int main(int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "threads", 132 * 2048 * 2, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);
  const float factor = 0.999f;
  const float summand = 0.001f;

  const std::vector<float> seeds = sample::random_floats(count, 23);
  sample::DeviceArray<float> device_seeds(seeds), output(count);
  mix_integer_and_float<<<sample::blocks_for(count, kThreads), kThreads>>>(
      device_seeds.get(), output.get(), factor, summand, count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      "issue-bound/bad", output.download(),
      [&](std::size_t i) {
        State state = start(seeds[i], static_cast<std::uint32_t>(i));
        for (int k = 0; k < kSteps; ++k) step(state, factor, summand);
        return result(state);
      },
      {1e-4, 1e-5});
}
