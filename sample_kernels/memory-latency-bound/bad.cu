// Shows: every thread follows its own linked list; each load must return before the next can start
// Expect: memory-latency-bound
// Arguments: [steps = 256]
//
// Four warps per SM and one load in flight per thread: every unit waits for memory, none is busy.
#include "../chain.cuh"

constexpr unsigned kThreads = 64;
constexpr std::uint32_t kNodes = 1U << 25;  // 128 MB, more than the L2 cache

__global__ void chase_pointers(const std::uint32_t* __restrict__ next,
                               const std::uint32_t* __restrict__ first,
                               std::uint32_t* __restrict__ last, unsigned steps) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  std::uint32_t node = first[i];
  for (unsigned step = 0; step < steps; ++step) node = next[node];
  last[i] = node;
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 256, 1, 1 << 20);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(2 * sample::sm_count());
  const std::size_t count = static_cast<std::size_t>(blocks) * kThreads;

  const std::vector<std::uint32_t> next = sample::chain(kNodes, 11);
  std::vector<std::uint32_t> first(count);
  for (std::size_t i = 0; i < count; ++i)
    first[i] = sample::hash(static_cast<std::uint32_t>(i)) & (kNodes - 1);
  sample::DeviceArray<std::uint32_t> device_next(next), device_first(first), last(count);

  chase_pointers<<<blocks, kThreads>>>(device_next.get(), device_first.get(), last.get(),
                                       static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare("memory-latency-bound/bad", last.download(), [&](std::size_t i) {
    std::uint32_t node = first[i];
    for (std::size_t step = 0; step < steps; ++step) node = next[node];
    return node;
  });
}
