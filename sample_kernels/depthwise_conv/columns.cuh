// Where rows are no whole float4s, or the stride is 2, this takes over from strip.cuh.
#pragma once

#include "problem.cuh"

namespace depthwise {

constexpr int kColumnThreads = 256;

// One thread computes ROWS outputs below each other. Neighbouring threads read neighbouring
// columns; the filter's taps and a row's inputs stay in registers.
template <int K, int STRIDE, int ROWS>
__global__ void __launch_bounds__(kColumnThreads)
    depthwise_conv_columns(const __grid_constant__ Problem problem, Divisor width, Divisor bands,
                           Divisor channels, unsigned threads) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const unsigned strip = width.quotient(thread);
  const int x = static_cast<int>(thread - strip * width.divisor);
  const unsigned plane = bands.quotient(strip);
  const int top = static_cast<int>(strip - plane * bands.divisor) * ROWS;
  const unsigned channel = channels.remainder(plane);
  float weight[K * K];
#pragma unroll
  for (int i = 0; i < K * K; ++i) weight[i] = __ldg(problem.weights + channel * (K * K) + i);
  const float bias = problem.bias ? __ldg(problem.bias + channel) : 0.0f;
  const float* image = problem.input + plane * (problem.height * problem.width);
  const int left = x * STRIDE - static_cast<int>(problem.pad);
  const int first = top * STRIDE - static_cast<int>(problem.pad);

  float sum[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) sum[j] = bias;
#pragma unroll
  for (int i = 0; i < (ROWS - 1) * STRIDE + K; ++i) {
    const long long y = first + i;
#pragma unroll
    for (int dx = 0; dx < K; ++dx) {
      const int x_in = left + dx;
      const bool inside = y >= 0 && y < problem.height && x_in >= 0 && x_in < problem.width;
      const float value = inside ? __ldg(image + y * problem.width + x_in) : 0.0f;
#pragma unroll
      for (int j = 0; j < ROWS; ++j) {
        const int dy = i - j * STRIDE;
        if (dy >= 0 && dy < K) sum[j] = fmaf(value, weight[dy * K + dx], sum[j]);
      }
    }
  }
  float* result = problem.output + plane * (problem.output_height * problem.output_width);
#pragma unroll
  for (int j = 0; j < ROWS; ++j)
    if (top + j < problem.output_height)
      result[(top + j) * problem.output_width + x] = activated(sum[j], problem.relu);
}

// cudaErrorNotSupported: more threads than a Divisor can count.
template <int K, int STRIDE>
cudaError_t launch_columns(const Problem& p, cudaStream_t stream) {
  constexpr int kRowsPerThread = 4;
  const long long bands = blocks_of(p.output_height, kRowsPerThread);
  const long long strips = p.images * p.channels * bands;
  if (strips > kMost || strips * p.output_width > kMost) return cudaErrorNotSupported;
  const unsigned threads = static_cast<unsigned>(strips * p.output_width);
  const unsigned blocks = static_cast<unsigned>(blocks_of(threads, kColumnThreads));
  depthwise_conv_columns<K, STRIDE, kRowsPerThread><<<blocks, kColumnThreads, 0, stream>>>(
      p, Divisor(p.output_width), Divisor(bands), Divisor(p.channels), threads);
  return cudaGetLastError();
}

}  // namespace depthwise
