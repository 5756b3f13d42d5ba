// Clusters of blocks, one block per SM: each block works long recurrences on its part, and the blocks
// of a cluster exchange their sums through distributed shared memory. Needs compute capability 9.0.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>

#include "../check.cuh"

namespace cooperative = cooperative_groups;

constexpr unsigned kThreads = 1024;
constexpr unsigned kEach = 4;
constexpr unsigned kGroup = 16;  // blocks whose results are added, whatever the cluster
constexpr float kFactor = 0.75f;

__global__ void __launch_bounds__(kThreads)
    recur_in_clusters(const float* __restrict__ input, float* __restrict__ sums, unsigned steps) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ float partial[];
  const std::size_t first = std::size_t{blockIdx.x} * kThreads * kEach + threadIdx.x;
  float x[kEach], y[kEach];
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) x[k] = y[k] = input[first + k * kThreads];
#pragma unroll 8
  for (unsigned step = 0; step < steps; ++step)
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) y[k] = fmaf(y[k], kFactor, x[k]);
  partial[threadIdx.x] = (y[0] + y[1]) + (y[2] + y[3]);
  cooperative::cluster_group cluster = cooperative::this_cluster();
  cluster.sync();
  if (cluster.block_rank() == 0) {
    float sum = 0.0f;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block)
      sum += cluster.map_shared_rank(partial, block)[threadIdx.x];
    atomicAdd(&sums[blockIdx.x / kGroup * kThreads + threadIdx.x], sum);
  }
  cluster.sync();  // nobody leaves while its sums are read
#endif
}

inline int recur_and_check(const char* name, int argc, char** argv, unsigned cluster_size) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 4096, 1, 1 << 20);
  sample::no_more_arguments(argc, 1);
  int device = 0, major = 0, most = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (major < 9) sample::refuse("clusters need compute capability 9.0");
  const unsigned sms = static_cast<unsigned>(sample::sm_count());
  const unsigned blocks = sms / kGroup * kGroup;  // all of them fit at once, without clusters
  if (blocks == 0) sample::refuse("the GPU has too few SMs");

  const std::size_t results = std::size_t{blocks} / kGroup * kThreads;
  const std::vector<float> input = sample::random_floats(std::size_t{blocks} * kThreads * kEach, 42);
  sample::DeviceArray<float> device_input(input), sums(results);
  CUDA_CHECK(cudaMemset(sums.get(), 0, results * sizeof(float)));
  CUDA_CHECK(cudaFuncSetAttribute(recur_in_clusters, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA_CHECK(cudaFuncSetAttribute(recur_in_clusters, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster_size, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = kThreads;
  config.dynamicSmemBytes = static_cast<std::size_t>(most);  // one block per SM
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, recur_in_clusters, static_cast<const float*>(device_input.get()),
                                sums.get(), static_cast<unsigned>(steps)));
  CUDA_CHECK(cudaDeviceSynchronize());
  return sample::compare(
      name, sums.download(),
      [&](std::size_t i) {
        double sum = 0.0;
        for (std::size_t block = i / kThreads * kGroup; block < (i / kThreads + 1) * kGroup; ++block)
          for (std::size_t k = 0; k < kEach; ++k) {
            const double x = input[(block * kEach + k) * kThreads + i % kThreads];
            double y = x;
            // The recurrence settles at 4 x within 200 steps.
            for (std::size_t step = 0; step < std::min<std::size_t>(steps, 200); ++step)
              y = y * kFactor + x;
            sum += y;
          }
        return sum;
      },
      {1e-3, 1e-4}, 37);
}
