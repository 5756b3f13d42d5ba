// Half-precision recurrences y = y * 0.75 + x / 4, which settle at x: exact enough to check in FP16.
#pragma once

#include <cuda_fp16.h>

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr float kKeep = 0.75f;
constexpr float kTake = 0.25f;

// `Value` is half or half2: what the kernel works on.
template <typename Value>
int decay_and_check(const char* name, int argc, char** argv,
                    void (*kernel)(const Value*, Value*, unsigned)) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 512, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = 128 * static_cast<unsigned>(sample::sm_count());
  const std::size_t count = std::size_t{blocks} * kThreads;
  std::vector<half> input(count);
  for (std::size_t i = 0; i < count; ++i) input[i] = __float2half(sample::uniform(39, i));
  sample::DeviceArray<half> device_input(input), output(count);
  constexpr unsigned kEach = sizeof(Value) / sizeof(half);  // values per thread
  kernel<<<blocks / kEach, kThreads>>>(reinterpret_cast<const Value*>(device_input.get()),
                               reinterpret_cast<Value*>(output.get()),
                               static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  const std::vector<half> results = output.download();
  const std::vector<float> as_floats(results.begin(), results.end());
  return sample::compare_sampled(
      name, as_floats,
      [&](std::size_t i) {
        const double x = __half2float(input[i]);
        double y = 0.0;
        for (std::size_t step = 0; step < steps; ++step) y = y * kKeep + x * kTake;
        return y;
      },
      {5e-3, 5e-3});
}
