// Shows: a polynomial of floats computed in double, where float is accurate enough
// Expect: fp64-usage
// Arguments: [elements = 16777216]
//
// Inputs and outputs are float; only the sum between them is double. One changed word, "double" to
// "float", halves the time on a data-centre GPU and gains 32 times or more on a consumer one.
#include "polynomial.cuh"

__constant__ double coefficients[kDegree + 1];

__global__ void polynomial_double(const float* __restrict__ input, float* __restrict__ output,
                                  std::size_t count) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  double x[kPerThread];
  double sum[kPerThread] = {};
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
  const std::vector<double> constants(values.begin(), values.end());
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, constants.data(), sizeof(coefficients)));
  return evaluate_and_check("fp64-usage/bad", polynomial_double, count, values);
}
