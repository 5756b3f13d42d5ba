// What the two variants share: every thread reads a table of 32 words over and over, past L1, as for
// data that other kernels may change. How many copies of the table there are is the variant's.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kWords = 32;             // one line of 128 bytes
constexpr unsigned kSpread = 1024 + kWords; // words from one copy to the next

__global__ void sum_table(const unsigned* table, unsigned* __restrict__ sums, unsigned copies,
                          unsigned reads) {
  const unsigned* mine = table + static_cast<std::size_t>(blockIdx.x % copies) * kSpread;
  unsigned sum = 0;
#pragma unroll 8
  for (unsigned read = 0; read < reads; ++read)
    sum += __ldcg(mine + ((threadIdx.x + read) & (kWords - 1)));
  sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

inline int sum_and_check(const char* name, unsigned copies, int argc, char** argv) {
  const std::size_t reads = sample::argument(argc, argv, 1, "reads", 2048, kWords, 1 << 20);
  sample::no_more_arguments(argc, 1);
  if (reads % kWords != 0) sample::refuse("reads must be a multiple of 32");
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());

  std::vector<unsigned> table(std::size_t{copies} * kSpread);
  unsigned whole = 0;
  for (unsigned word = 0; word < kWords; ++word) {
    const unsigned value = sample::hash(word + 61) & 0xffff;
    whole += value;
    for (std::size_t copy = 0; copy < copies; ++copy) table[copy * kSpread + word] = value;
  }
  sample::DeviceArray<unsigned> device_table(table), sums(std::size_t{blocks} * kThreads);
  sum_table<<<blocks, kThreads>>>(device_table.get(), sums.get(), copies,
                                  static_cast<unsigned>(reads));
  CUDA_CHECK_LAUNCH();
  const unsigned expected = whole * static_cast<unsigned>(reads / kWords);
  return sample::compare(name, sums.download(), [&](std::size_t) { return expected; });
}
