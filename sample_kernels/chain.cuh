// A chain through memory that no prefetcher follows: element i holds the index of the next one.
// All elements lie on one cycle (a full-period linear congruential generator).
#pragma once

#include "check.cuh"

namespace sample {

// `count` must be a power of two. Neighbours on the chain lie far apart in memory.
inline std::vector<std::uint32_t> chain(std::uint32_t count, std::uint32_t seed) {
  const std::uint32_t mask = count - 1;
  const std::uint32_t multiplier = (hash(seed) & ~7U) | 5U;   // = 5 modulo 8: full period
  const std::uint32_t increment = hash(seed + 1) | 1U;
  std::vector<std::uint32_t> next(count);
  for (std::uint32_t i = 0; i < count; ++i) next[i] = (multiplier * i + increment) & mask;
  return next;
}

}  // namespace sample
