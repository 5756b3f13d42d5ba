// Shows: columns of a [32][33] tile, over and over: the conflict counters are not 0, no bank is hit twice
// Expect: shared-memory-bandwidth-bound
// Arguments: [rounds = 32]
//
// The raw counters add what two units wait for each other at the data stage (arbitration), which
// costs nothing. Wavefronts are as many as the accesses need: no rule may name bank conflicts here.
#include "../check.cuh"

constexpr unsigned kTile = 32;
constexpr unsigned kRows = 8;

__global__ void sum_rows_by_column(const float* __restrict__ input, float* __restrict__ output,
                                   unsigned rounds) {
  __shared__ float tile[kTile][kTile + 1];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kTile * kTile;
  for (unsigned row = threadIdx.y; row < kTile; row += kRows)
    tile[row][threadIdx.x] = input[first + row * kTile + threadIdx.x];
  float sum = 0.0f;
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
    __syncthreads();  // or the compiler would keep the row in registers
#pragma unroll
    for (unsigned column = 0; column < kTile; ++column) sum += tile[threadIdx.x][column];
  }
  output[(blockIdx.x * kRows + threadIdx.y) * kTile + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 32, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(16 * sample::sm_count());

  const std::vector<float> input = sample::random_floats(std::size_t{blocks} * kTile * kTile, 81);
  sample::DeviceArray<float> device_input(input),
      output(std::size_t{blocks} * kRows * kTile);
  sum_rows_by_column<<<blocks, dim3(kTile, kRows)>>>(device_input.get(), output.get(),
                                                     static_cast<unsigned>(rounds));
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      "look_alikes/padded_tile", output.download(),
      [&](std::size_t i) {  // lane l of every warp adds up row l of the block's tile
        const float* row = &input[(i / (kRows * kTile) * kTile + i % kTile) * kTile];
        double sum = 0.0;
        for (unsigned column = 0; column < kTile; ++column) sum += row[column];
        return sum * static_cast<double>(rounds);
      },
      {2e-2, 1e-3});
}
