// As much of CUDA as the operators' kernels use, on the CPU: a thread of the host for every thread
// of a block, one block after the other. tests/unit/test_operators_on_cpu.py compiles with it.
#pragma once

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#define __global__ static
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

using std::max;
using std::min;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorNotSupported = 801 };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrL2CacheSize };
using cudaStream_t = void*;

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline thread_local dim3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace on_cpu {

constexpr unsigned kWarp = 32;
inline int sms = 1;          // what the device says of itself
inline int cache_bytes = 0;
inline thread_local unsigned thread;
inline std::vector<float> shared, lanes;
inline std::unique_ptr<std::barrier<>> block;
inline std::vector<std::unique_ptr<std::barrier<>>> warps;

inline void run_blocks(dim3 grid, auto kernel) {
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        kernel();
        block->arrive_and_wait();
      }
}

// Shared memory starts as NaN: what nobody stored shows.
inline void launch(dim3 grid, dim3 threads, std::size_t bytes, cudaStream_t, auto kernel) {
  const unsigned count = threads.x * threads.y * threads.z;
  gridDim = grid;
  blockDim = threads;
  shared.assign(bytes / sizeof(float), NAN);
  lanes.assign(count, NAN);
  block = std::make_unique<std::barrier<>>(count);
  warps.clear();
  for (unsigned i = 0; i < count; i += kWarp)
    warps.push_back(std::make_unique<std::barrier<>>(min(kWarp, count - i)));
  std::vector<std::thread> running;
  for (unsigned i = 0; i < count; ++i)
    running.emplace_back([=] {
      thread = i;
      threadIdx = dim3(i % threads.x, i / threads.x % threads.y, i / threads.x / threads.y);
      run_blocks(grid, kernel);
    });
  for (std::thread& each : running) each.join();
}

// What thread `from` of the warp passes in the same call.
inline float exchanged(float value, unsigned from) {
  lanes[thread] = value;
  std::barrier<>& warp = *warps[thread / kWarp];
  warp.arrive_and_wait();
  const float result = lanes[from];
  warp.arrive_and_wait();
  return result;
}

}  // namespace on_cpu

inline void __syncthreads() { on_cpu::block->arrive_and_wait(); }

// Beyond the ends of `width` lanes a thread gets its own value back (CUDA C++ Programming Guide,
// "Warp Shuffle Functions").
inline float __shfl_up_sync(unsigned, float value, unsigned by, unsigned width) {
  const bool inside = on_cpu::thread % width >= by;
  return on_cpu::exchanged(value, inside ? on_cpu::thread - by : on_cpu::thread);
}
inline float __shfl_down_sync(unsigned, float value, unsigned by, unsigned width) {
  const bool inside = on_cpu::thread % width + by < width;
  return on_cpu::exchanged(value, inside ? on_cpu::thread + by : on_cpu::thread);
}

inline float __ldg(const float* place) { return *place; }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrL2CacheSize ? on_cpu::cache_bytes : on_cpu::sms;
  return cudaSuccess;
}
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, auto, int, int) {
  return *blocks = 2, cudaSuccess;
}

extern "C" [[gnu::used]] inline void pretend(int sms, int cache_bytes) {
  on_cpu::sms = sms;
  on_cpu::cache_bytes = cache_bytes;
}
