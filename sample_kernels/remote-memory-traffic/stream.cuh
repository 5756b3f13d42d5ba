// What the two variants share: a polynomial of every element of an array that the host made.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;

__global__ void evaluate(const float* __restrict__ input, float* __restrict__ output,
                         std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) {
    const float x = input[i];
    output[i] = x * (x + 1.0f) + 0.5f;
  }
}

// Pinned memory of the host, which kernels can read in place.
class PinnedArray {
 public:
  explicit PinnedArray(const std::vector<float>& values) {
    CUDA_CHECK(cudaHostAlloc(&data_, values.size() * sizeof(float), cudaHostAllocMapped));
    for (std::size_t i = 0; i < values.size(); ++i) data_[i] = values[i];
  }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  ~PinnedArray() { cudaFreeHost(data_); }

  const float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

// With `in_place` the kernel reads the host's memory, else a copy of it on the device.
inline int evaluate_and_check(const char* name, bool in_place, int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, 1, std::size_t{1} << 28);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> values = sample::random_floats(count, 71);
  const PinnedArray pinned(values);
  sample::DeviceArray<float> input(in_place ? 1 : count), output(count);
  const float* source = pinned.get();
  if (!in_place) {
    CUDA_CHECK(cudaMemcpy(input.get(), source, count * sizeof(float), cudaMemcpyHostToDevice));
    source = input.get();
  }
  evaluate<<<sample::blocks_for(count, kThreads), kThreads>>>(source, output.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      name, output.download(),
      [&](std::size_t i) { return static_cast<double>(values[i]) * (values[i] + 1.0) + 0.5; },
      {1e-5, 0.0});
}
