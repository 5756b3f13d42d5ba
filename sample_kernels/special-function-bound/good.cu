// Shows: the same sigmoid as a rational function on the multiply-add pipe, with one special function
// Expect: compute-bound
// Arguments: [elements = 8388608]
//
// sigmoid(x) = (1 + tanh(x / 2)) / 2, and tanh(t) is a fraction of two polynomials (the continued
// fraction of Lambert, cut off); two fractions are added before they are divided, so that one
// reciprocal does for both.
#include "gates.cuh"

struct Fraction {
  float above;
  float below;
};

__device__ inline Fraction tanh_of(float t) {
  const float s = t * t;
  return {t * fmaf(s, fmaf(s, 21.0f, 1260.0f), 10395.0f),
          fmaf(s, fmaf(s, fmaf(s, 1.0f, 210.0f), 4725.0f), 10395.0f)};
}

__global__ void average_gates_in_pairs(const float* __restrict__ input, float* __restrict__ output,
                                       std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const float half = 0.5f * input[i];
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kGates; k += 2) {
    const Fraction a = tanh_of(half * slope(k));
    const Fraction b = tanh_of(half * slope(k + 1));
    const float above = fmaf(a.above, b.below, b.above * a.below);
    sum += __fdividef(above, a.below * b.below);
  }
  output[i] = fmaf(sum, 0.5f / kGates, 0.5f);
}

int main(int argc, char** argv) {
  return average_and_check("special-function-bound/good", argc, argv, average_gates_in_pairs);
}
