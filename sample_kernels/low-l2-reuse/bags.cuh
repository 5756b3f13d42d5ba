// What the two variants share: every bag is the sum of kNeighbours rows of a table, all of them
// within a window of it, as the neighbours of a node are in a mesh that was numbered with care.
// The order in which the bags are computed is the variant's.
#pragma once

#include "../check.cuh"

constexpr unsigned kNeighbours = 32;
constexpr unsigned kColumns = 32;       // one row is 128 bytes: one column per lane
constexpr unsigned kWindow = 1U << 16;  // rows: 8 MB of the table, which L2 holds with ease
constexpr unsigned kThreads = 256;
constexpr unsigned kBags = kThreads / kColumns;  // bags per block, one per warp

inline std::vector<unsigned> neighbour_offsets() {
  std::vector<unsigned> offsets(kNeighbours);
  for (unsigned n = 0; n < kNeighbours; ++n) offsets[n] = sample::hash(n + 77) % kWindow;
  return offsets;
}

__global__ void sum_bags(const float* __restrict__ table, const unsigned* __restrict__ offsets,
                         const unsigned* __restrict__ order, float* __restrict__ sums,
                         unsigned rows) {
  const unsigned turn = blockIdx.x * kBags + threadIdx.x / kColumns;
  const unsigned column = threadIdx.x % kColumns;
  if (turn >= rows) return;
  const unsigned bag = order[turn];
  float sum = 0.0f;
#pragma unroll
  for (unsigned n = 0; n < kNeighbours; ++n) {
    unsigned row = bag + offsets[n];
    if (row >= rows) row -= rows;
    sum += table[static_cast<std::size_t>(row) * kColumns + column];
  }
  sums[static_cast<std::size_t>(bag) * kColumns + column] = sum;
}

// `order_of(turn, rows)` is the bag computed at that turn, each bag once.
template <typename Order>
int sum_bags_and_check(const char* name, Order order_of, int argc, char** argv) {
  const std::size_t rows = sample::argument(argc, argv, 1, "rows", 3U << 19, kWindow, 1U << 24);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> table = sample::random_floats(rows * kColumns, 31);
  const std::vector<unsigned> offsets = neighbour_offsets();
  std::vector<unsigned> order(rows);
  for (std::size_t turn = 0; turn < rows; ++turn)
    order[turn] = static_cast<unsigned>(order_of(turn, rows));
  sample::DeviceArray<float> device_table(table), sums(rows * kColumns);
  sample::DeviceArray<unsigned> device_offsets(offsets), device_order(order);
  sum_bags<<<sample::blocks_for(rows, kBags), kThreads>>>(
      device_table.get(), device_offsets.get(), device_order.get(), sums.get(),
      static_cast<unsigned>(rows));
  CUDA_CHECK_LAUNCH();

  return sample::compare_sampled(
      name, sums.download(),
      [&](std::size_t i) {
        float sum = 0.0f;
        for (unsigned n = 0; n < kNeighbours; ++n)
          sum += table[(i / kColumns + offsets[n]) % rows * kColumns + i % kColumns];
        return sum;
      },
      {1e-4, 0.0});
}
