// What the two variants share: records of 32 floats, of which the kernel scales every field.
#pragma once

#include "../check.cuh"

constexpr unsigned kFields = 32;
constexpr unsigned kThreads = 256;

using Scale = void (*)(const float*, float*, std::size_t);

// `input_index(record, field)` says where the variant keeps a field. The output is field by field.
template <typename InputIndex>
int scale_and_check(const char* name, Scale kernel, InputIndex input_index, int argc,
                    char** argv) {
  const std::size_t records =
      sample::argument(argc, argv, 1, "records", std::size_t{1} << 20, 1, std::size_t{1} << 26);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> input = sample::random_floats(records * kFields, 6);
  sample::DeviceArray<float> device_input(input), output(records * kFields);
  const dim3 grid(sample::blocks_for(records, kThreads), kFields);
  kernel<<<grid, kThreads>>>(device_input.get(), output.get(), records);
  CUDA_CHECK_LAUNCH();

  const std::vector<float> results = output.download();
  return sample::compare(name, results, [&](std::size_t i) {
    return 2.0f * input[input_index(i % records, i / records, records)];
  });
}
