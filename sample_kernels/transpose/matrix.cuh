// What the three transposes share: the matrix, the launch and the comparison.
#pragma once

#include "../check.cuh"

constexpr unsigned kTile = 32;  // one tile is kTile x kTile elements
constexpr unsigned kRows = 8;   // a block has kTile x kRows threads, each moves kTile / kRows

using Transpose = void (*)(const float*, float*, unsigned, unsigned);

// Tile by tile, so that the CPU's caches see neighbours on both sides.
inline std::vector<float> transposed(const std::vector<float>& matrix, std::size_t rows,
                                     std::size_t columns) {
  std::vector<float> result(matrix.size());
  for (std::size_t top = 0; top < rows; top += kTile)
    for (std::size_t left = 0; left < columns; left += kTile)
      for (std::size_t row = top; row < rows && row < top + kTile; ++row)
        for (std::size_t column = left; column < columns && column < left + kTile; ++column)
          result[column * rows + row] = matrix[row * columns + column];
  return result;
}

inline int transpose_and_check(const char* name, Transpose kernel, int argc, char** argv) {
  const std::size_t rows = sample::argument(argc, argv, 1, "rows", 8192, 1, 65535 * kTile);
  const std::size_t columns = sample::argument(argc, argv, 2, "columns", rows, 1, 65535 * kTile);
  sample::no_more_arguments(argc, 2);

  const std::vector<float> matrix = sample::random_floats(rows * columns, 3);
  sample::DeviceArray<float> input(matrix), output(rows * columns);

  const dim3 grid(sample::blocks_for(columns, kTile), sample::blocks_for(rows, kTile, 65535));
  kernel<<<grid, dim3(kTile, kRows)>>>(input.get(), output.get(), static_cast<unsigned>(rows),
                                       static_cast<unsigned>(columns));
  CUDA_CHECK_LAUNCH();
  const std::vector<float> expected = transposed(matrix, rows, columns);
  return sample::compare(name, output.download(), [&](std::size_t i) { return expected[i]; });
}
