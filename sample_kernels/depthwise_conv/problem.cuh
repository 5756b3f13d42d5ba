// A depthwise convolution of any size, as the launchers take it, and what makes one possible.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace depthwise {

// NCHW, float, zero padding. Every channel has its own filter x filter weights.
struct Problem {
  const float* input;
  const float* weights;
  const float* bias;  // one per channel, or null
  float* output;
  long long images, channels, height, width;
  long long filter, stride, pad;
  long long output_height, output_width;
  int relu;
};

constexpr long long kMost = 1LL << 30;  // of what the kernels count in 32 bits

inline long long outputs_along(long long size, const Problem& p) {
  return (size + 2 * p.pad - p.filter) / p.stride + 1;
}

// cudaErrorInvalidValue: this is no convolution. cudaErrorNotSupported: too large a one.
inline cudaError_t check(const Problem& p) {
  if (!p.input || !p.weights || !p.output) return cudaErrorInvalidValue;
  for (long long size : {p.images, p.channels, p.height, p.width, p.filter, p.stride})
    if (size < 1) return cudaErrorInvalidValue;
  if (p.pad < 0) return cudaErrorInvalidValue;
  for (long long size : {p.images, p.channels, p.height, p.width, p.filter, p.stride, p.pad})
    if (size > kMost) return cudaErrorNotSupported;
  const bool fits = p.height + 2 * p.pad >= p.filter && p.width + 2 * p.pad >= p.filter;
  if (!fits || p.output_height != outputs_along(p.height, p) ||
      p.output_width != outputs_along(p.width, p))
    return cudaErrorInvalidValue;
  const bool small = p.images * p.channels <= kMost && p.height * p.width <= kMost &&
                     p.output_height * p.output_width <= kMost && p.height + 2 * p.pad <= kMost &&
                     p.width + 2 * p.pad <= kMost && p.filter <= kMost / p.filter;
  return small ? cudaSuccess : cudaErrorNotSupported;
}

// Rounded up.
inline long long blocks_of(long long count, long long per_block) {
  return (count + per_block - 1) / per_block;
}

// Division by a number known at launch: a multiplication and a shift (Granlund and Montgomery,
// "Division by invariant integers using multiplication", 1994). Holds for n < 2^31.
struct Divisor {
  unsigned divisor = 1;
  unsigned factor = 1;
  unsigned shift = 0;

  Divisor() = default;
  explicit Divisor(long long by) : divisor(static_cast<unsigned>(by)) {
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t over = (std::uint64_t{1} << shift) - divisor;
    factor = static_cast<unsigned>((over << 32) / divisor + 1);
  }
  __device__ unsigned quotient(unsigned n) const { return (__umulhi(n, factor) + n) >> shift; }
  __device__ unsigned remainder(unsigned n) const { return n - quotient(n) * divisor; }
};

// Not fmaxf: that would turn a NaN into 0.
__device__ inline float activated(float value, bool relu) {
  return relu && value < 0.0f ? 0.0f : value;
}

}  // namespace depthwise
