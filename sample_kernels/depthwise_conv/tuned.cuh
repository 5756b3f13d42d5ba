// Which of the tuned kernels fits a convolution, chosen on the host.
#pragma once

#include "columns.cuh"
#include "strip.cuh"
#include "textbook.cuh"

namespace depthwise {

inline bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(float4) == 0;
}

inline int lanes_for(const Problem& p) { return p.width <= 32 ? 8 : p.width <= 64 ? 16 : 32; }

inline bool strips_fit(const Problem& p) {
  const bool same_size = p.stride == 1 && p.pad == p.filter / 2;
  const bool quads = p.width % 4 == 0 && aligned(p.input) && aligned(p.output);
  const long long planes = p.images * p.channels;
  const long long per_plane = p.height * blocks_of(p.width, 4 * lanes_for(p));
  return same_size && quads && planes <= kMost / per_plane;
}

// Four rows per strip load each row of inputs 1.5 times (3 x 3), two rows twice. Yet two are faster
// where even they do not give every SM a block, and where the input is larger than the L2 cache
// (measured on an H200, docs/operators/depthwise-conv.md).
inline cudaError_t two_rows_are_better(const Problem& p, bool& two) {
  int device = 0, sms = 0, cache_bytes = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device);
  const long long bytes = p.images * p.channels * (p.height * p.width) * 4;
  two = strip_blocks(p, 2, lanes_for(p)) <= sms || bytes > cache_bytes;
  return status;
}

template <int K, int ROWS>
cudaError_t launch_of_width(const Problem& p, cudaStream_t stream) {
  if (p.width <= 32) return launch_strip<K, ROWS, 8, true>(p, stream);
  if (p.width <= 64) return launch_strip<K, ROWS, 16, true>(p, stream);
  if (p.width <= 128) return launch_strip<K, ROWS, 32, true>(p, stream);
  return launch_strip<K, ROWS, 32, false>(p, stream);
}

template <int K>
cudaError_t launch_of_filter(const Problem& p, cudaStream_t stream) {
  if (!strips_fit(p))
    return p.stride == 1   ? launch_columns<K, 1>(p, stream)
           : p.stride == 2 ? launch_columns<K, 2>(p, stream)
                           : cudaErrorNotSupported;
  bool two = false;
  const cudaError_t status = two_rows_are_better(p, two);
  if (status != cudaSuccess) return status;
  return two ? launch_of_width<K, 2>(p, stream) : launch_of_width<K, 4>(p, stream);
}

// With a bias and relu != 0 this is the fused form: what follows costs no pass over memory.
inline cudaError_t launch_tuned(const Problem& p, cudaStream_t stream) {
  cudaError_t status = check(p);
  if (status != cudaSuccess) return status;
  status = p.filter == 3   ? launch_of_filter<3>(p, stream)
           : p.filter == 5 ? launch_of_filter<5>(p, stream)
                           : cudaErrorNotSupported;
  return status == cudaErrorNotSupported ? launch_naive(p, stream) : status;
}

}  // namespace depthwise
