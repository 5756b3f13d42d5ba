// Shows: an array with a run-time index that is read now and then, in a kernel full of arithmetic
// Expect: compute-bound
// Arguments: [rounds = 64]
//
// The array lies in local memory, because registers have no index, but L1 serves it and the
// arithmetic hides it: no rule may call it the problem. local-memory-traffic has the two cases where
// it is one: indices and spills.
#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerSm = 2;  // 512 threads: four chains each keep the pipe full
// 64 KB for all threads of an SM: L1 holds them. Of a shorter array the compiler makes registers and
// a chain of comparisons instead: of 20 entries for sm_90, even of 32 for sm_75.
constexpr unsigned kEntries = 32;
constexpr unsigned kSteps = 256;  // multiply-adds per look-up
constexpr unsigned kChains = 4;

__global__ void iterate(const unsigned* __restrict__ picks, float* __restrict__ output,
                        unsigned rounds) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  float factors[kEntries];
  for (unsigned entry = 0; entry < kEntries; ++entry) factors[entry] = 0.5f + entry / 256.0f;
  float values[kChains];
  for (unsigned chain = 0; chain < kChains; ++chain) values[chain] = 1.0f + chain;
  unsigned pick = picks[i];
  for (unsigned round = 0; round < rounds; ++round) {
    const float factor = factors[pick % kEntries];
    pick = pick / 2 + 3;
#pragma unroll 32
    for (unsigned step = 0; step < kSteps; ++step)
#pragma unroll
      for (unsigned chain = 0; chain < kChains; ++chain)
        values[chain] = values[chain] * factor + 0.25f;
    factors[(pick + round) % kEntries] = 0.5f + 0.015625f * (round % 32);
  }
  output[i] = (values[0] + values[1]) + (values[2] + values[3]);
}

int main(int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 64, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());

  std::vector<unsigned> picks(static_cast<std::size_t>(blocks) * kThreads);
  for (std::size_t i = 0; i < picks.size(); ++i)
    picks[i] = sample::hash(static_cast<std::uint32_t>(i));
  sample::DeviceArray<unsigned> device_picks(picks);
  sample::DeviceArray<float> output(picks.size());
  iterate<<<blocks, kThreads>>>(device_picks.get(), output.get(), static_cast<unsigned>(rounds));
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      "look_alikes/small_local_array", output.download(),
      [&](std::size_t i) {
        float factors[kEntries];
        for (unsigned entry = 0; entry < kEntries; ++entry) factors[entry] = 0.5f + entry / 256.0f;
        double values[kChains] = {1.0, 2.0, 3.0, 4.0};
        unsigned pick = picks[i];
        for (unsigned round = 0; round < rounds; ++round) {
          const double factor = factors[pick % kEntries];
          pick = pick / 2 + 3;
          for (unsigned step = 0; step < kSteps; ++step)
            for (double& value : values) value = value * factor + 0.25;
          factors[(pick + round) % kEntries] = 0.5f + 0.015625f * (round % 32);
        }
        return values[0] + values[1] + values[2] + values[3];
      },
      {1e-4, 1e-4}, 61);
}
