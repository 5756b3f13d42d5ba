// Shows: eight long rows summed by one block each: most of the GPU has nothing to do
// Expect: grid-too-small
// Arguments: [columns = 1048576] [rows = 8]
#include "../check.cuh"

constexpr unsigned kThreads = 512;

__global__ void sum_rows(const float* __restrict__ matrix, float* __restrict__ sums,
                         std::size_t columns) {
  __shared__ float partial[kThreads];
  const float* row = matrix + blockIdx.x * columns;
  float sum = 0.0f;
  for (std::size_t i = threadIdx.x; i < columns; i += kThreads) sum += row[i];
  partial[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

int main(int argc, char** argv) {
  const std::size_t columns =
      sample::argument(argc, argv, 1, "columns", std::size_t{1} << 20, 1, std::size_t{1} << 30);
  const std::size_t rows = sample::argument(argc, argv, 2, "rows", 8, 1, 65535);
  sample::no_more_arguments(argc, 2);

  const std::vector<float> matrix = sample::random_floats(rows * columns, 12);
  sample::DeviceArray<float> device_matrix(matrix), sums(rows);
  sum_rows<<<sample::blocks_for(rows, 1), kThreads>>>(device_matrix.get(), sums.get(), columns);
  CUDA_CHECK_LAUNCH();
  // Rounding grows with the terms; 1e-7 of their number is far below a lost block of elements.
  const sample::Tolerance tolerance{1e-3 + 1e-7 * static_cast<double>(columns), 1e-5};
  return sample::compare(
      "grid-too-small/bad", sums.download(),
      [&](std::size_t row) {
        double sum = 0.0;
        for (std::size_t i = 0; i < columns; ++i) sum += matrix[row * columns + i];
        return sum;
      },
      tolerance);
}
