// Shows: the same polynomial in float
// Expect: compute-bound
// Arguments: [elements = 16777216]
//
// Twice the rate of double on a data-centre GPU, and the result is the same to 1e-5.
#include "polynomial.cuh"

__constant__ float coefficients[kDegree + 1];

__global__ void polynomial_float(const float* __restrict__ input, float* __restrict__ output,
                                  std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float x = input[i];
  float sum = 0;
#pragma unroll
  for (int k = kDegree; k >= 0; --k) sum = sum * x + coefficients[k];
  output[i] = static_cast<float>(sum);
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  const std::vector<float> values = sample::random_floats(kDegree + 1, 8);
  const std::vector<float> constants(values.begin(), values.end());
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, constants.data(), sizeof(coefficients)));
  return evaluate_and_check("fp64-usage/good", polynomial_float, count, values);
}
