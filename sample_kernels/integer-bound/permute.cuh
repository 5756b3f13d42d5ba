// Sums over the first index of a tensor (depth, planes, rows, columns) that is stored with planes
// outermost and padded rows: where an element lies follows from its four indices.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;

struct Shape {
  unsigned depth, planes, rows, columns;
  unsigned pitch;  // elements from one row to the next

  __host__ __device__ unsigned positions() const { return planes * rows * columns; }
  __host__ __device__ unsigned place(unsigned d, unsigned p, unsigned r, unsigned c) const {
    return ((p * depth + d) * rows + r) * pitch + c;
  }
};

using Kernel = void (*)(const float*, float*, Shape);

inline int sum_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const unsigned depth =
      static_cast<unsigned>(sample::argument(argc, argv, 1, "depth", 64, 1, 1024));
  sample::no_more_arguments(argc, 1);
  const Shape shape{depth, 24, 120, 184, 192};
  const std::vector<float> input =
      sample::random_floats(std::size_t{depth} * shape.planes * shape.rows * shape.pitch, 36);
  sample::DeviceArray<float> device_input(input), output(shape.positions());
  kernel<<<sample::blocks_for(shape.positions(), kThreads), kThreads>>>(device_input.get(),
                                                                        output.get(), shape);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        const unsigned at = static_cast<unsigned>(i);
        const unsigned c = at % shape.columns;
        const unsigned r = at / shape.columns % shape.rows;
        const unsigned p = at / shape.columns / shape.rows;
        double sum = 0.0;
        for (unsigned d = 0; d < depth; ++d) sum += input[shape.place(d, p, r, c)];
        return sum;
      },
      {1e-4, 1e-5});
}
