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
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const double x = input[i];
  double sum = 0;
#pragma unroll
  for (int k = kDegree; k >= 0; --k) sum = sum * x + coefficients[k];
  output[i] = static_cast<float>(sum);
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  const std::vector<float> values = sample::random_floats(kDegree + 1, 8);
  const std::vector<double> constants(values.begin(), values.end());
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, constants.data(), sizeof(coefficients)));
  return evaluate_and_check("fp64-usage/bad", polynomial_double, count, values);
}
