// A polynomial by Horner's scheme: one product and one sum per coefficient. Its 256 coefficients are
// the same 32 over and over, known when it is compiled: in the unrolled loop they are part of the
// instructions. From memory, 256 of them do not fit the constant cache closest to the pipes, and the
// kernel would wait for them, which is another fault.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kEach = 4;  // elements per thread: independent chains
constexpr int kCoefficients = 32;
constexpr int kRounds = 8;  // through the coefficients

// From -1 to 1, none of them 0.
__host__ __device__ constexpr float coefficient(int k) {
  return (static_cast<float>(11 * k % kCoefficients) - 15.5f) / 16.0f;
}

template <typename Kernel>
int evaluate_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, 1, std::size_t{1} << 30);
  sample::no_more_arguments(argc, 1);
  std::vector<float> input = sample::random_floats(count, 38);
  for (float& x : input) x *= 0.9f;  // far enough from 1 that the sum stays small
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<sample::blocks_for(count, kThreads * kEach), kThreads>>>(device_input.get(),
                                                                    output.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        double y = 0.0;
        for (int round = 0; round < kRounds; ++round)
          for (int k = kCoefficients - 1; k >= 0; --k) y = y * input[i] + coefficient(k);
        return y;
      },
      {1e-4, 1e-4});
}
