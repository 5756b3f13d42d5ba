// Shared by every sample: error checks, deterministic inputs, poisoned outputs, comparison with a
// CPU reference. Exit status of a sample: 0 the results match, 1 they do not, 2 it could not run.
#pragma once

#include <cuda_runtime.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                  \
  do {                                                                    \
    const cudaError_t status_ = (call);                                   \
    if (status_ != cudaSuccess)                                           \
      sample::cuda_failed(status_, #call, __FILE__, __LINE__);            \
  } while (0)

// After a launch: the first call reports a bad launch, the second a fault while it ran.
#define CUDA_CHECK_LAUNCH()               \
  do {                                    \
    CUDA_CHECK(cudaGetLastError());       \
    CUDA_CHECK(cudaDeviceSynchronize());  \
  } while (0)

namespace sample {

constexpr int kMismatch = 1;
constexpr int kCouldNotRun = 2;

[[noreturn]] inline void cuda_failed(cudaError_t status, const char* call, const char* file,
                                     int line) {
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
               cudaGetErrorName(status));
  std::exit(kCouldNotRun);
}

[[noreturn]] inline void refuse(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(kCouldNotRun);
}

// argv[index] as a whole number in [low, high], or `fallback` where it was not given.
inline std::size_t argument(int argc, char** argv, int index, const char* name,
                            std::size_t fallback, std::size_t low, std::size_t high) {
  if (index >= argc) return fallback;
  const char* text = argv[index];
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  const bool digits = *text >= '0' && *text <= '9' && *end == '\0';
  if (!digits || errno != 0 || value < low || value > high) {
    std::fprintf(stderr, "argument %d (%s) must be a whole number from %zu to %zu, not '%s'\n",
                 index, name, low, high, text);
    std::exit(kCouldNotRun);
  }
  return static_cast<std::size_t>(value);
}

inline void no_more_arguments(int argc, int expected) {
  if (argc - 1 > expected) refuse("too many arguments; the comment at the top of the source lists them");
}

inline int sm_count() {
  int device = 0;
  int count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

// Blocks for `count` items, refused where a grid dimension cannot hold them.
inline unsigned blocks_for(std::size_t count, std::size_t per_block, std::size_t limit = 0x7fffffff) {
  const std::size_t blocks = (count + per_block - 1) / per_block;
  if (blocks == 0 || blocks > limit) refuse("the size does not fit a grid dimension");
  return static_cast<unsigned>(blocks);
}

inline std::uint32_t hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

// Element `index` of the pseudo-random stream `seed`, in [-1, 1): the same on every machine.
inline float uniform(std::uint32_t seed, std::size_t index) {
  const std::uint32_t bits = hash(static_cast<std::uint32_t>(index) + seed * 0x9e3779b9U);
  return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
}

inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = uniform(seed, i);
  return values;
}

// Device memory. Starts as 0xFF bytes (NaN as float), so an output nobody wrote cannot pass.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
    CUDA_CHECK(cudaMemset(data_, 0xFF, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : count_(host.size()) {
    CUDA_CHECK(cudaMalloc(&data_, count_ * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* get() const { return data_; }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// How far a result may be from the reference: absolute + relative * |reference|.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};

// Compares every `step`-th result with reference(i); NaN never passes. Returns the exit status.
template <typename T, typename Reference>
int compare(const char* name, const std::vector<T>& results, Reference reference,
            Tolerance tolerance = {}, std::size_t step = 1) {
  std::size_t checked = 0;
  for (std::size_t i = 0; i < results.size(); i += step, ++checked) {
    const double want = static_cast<double>(reference(i));
    const double got = static_cast<double>(results[i]);
    const double allowed = tolerance.absolute + tolerance.relative * std::fabs(want);
    if (!(std::fabs(got - want) <= allowed)) {
      std::fprintf(stderr, "%s: WRONG at %zu: %.9g, the CPU says %.9g\n", name, i, got, want);
      return kMismatch;
    }
  }
  std::printf("%s: ok, %zu of %zu results match the CPU\n", name, checked, results.size());
  return 0;
}

// For kernels too heavy to repeat on the CPU: every result must have been written (no poison
// left), and about 50,000 of them, spread evenly, must match.
template <typename Reference>
int compare_sampled(const char* name, const std::vector<float>& results, Reference reference,
                    Tolerance tolerance) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!std::isfinite(results[i])) {
      std::fprintf(stderr, "%s: WRONG at %zu: never written, or not finite\n", name, i);
      return kMismatch;
    }
  }
  const std::size_t step = results.size() / 50000 + 1;
  // An odd step visits every lane of a warp.
  return compare(name, results, reference, tolerance, step | 1);
}

}  // namespace sample
