// Shows: the same polynomial in float
// Expect: compute-bound
// Arguments: [elements = 16777216]
//
// Twice the rate of double on a data-centre GPU, and the result is the same to 1e-5.
#include "polynomial.cuh"

__constant__ float coefficients[kDegree + 1];

__global__ void polynomial_float(const float* __restrict__ input, float* __restrict__ output,
                                  std::size_t count) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  float x[kPerThread];
  float sum[kPerThread] = {};
  for (int j = 0; j < kPerThread; ++j) {
    const std::size_t i = first + j * kThreads;
    x[j] = i < count ? input[i] : 0.0f;
  }
#pragma unroll
  for (int k = kDegree; k >= 0; --k)
    for (int j = 0; j < kPerThread; ++j) sum[j] = sum[j] * x[j] + coefficients[k];
  for (int j = 0; j < kPerThread; ++j) {
    const std::size_t i = first + j * kThreads;
    if (i < count) output[i] = static_cast<float>(sum[j]);
  }
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  const std::vector<float> values = sample::random_floats(kDegree + 1, 8);
  const std::vector<float> constants(values.begin(), values.end());
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, constants.data(), sizeof(coefficients)));
  return evaluate_and_check("fp64-usage/good", polynomial_float, count, values);
}
