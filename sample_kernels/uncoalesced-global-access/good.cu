// Shows: the same fields as a structure of arrays: neighbouring lanes read neighbouring floats
// Expect: memory-latency-bound
// Arguments: [records = 1048576]
#include "records.cuh"

__global__ void scale_coalesced(const float* __restrict__ input, float* __restrict__ output,
                                std::size_t records) {
  const std::size_t record = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::size_t field = blockIdx.y;
  if (record < records) {
    const float value = input[field * records + record];
    output[field * records + record] = 2.0f * value;
  }
}

int main(int argc, char** argv) {
  return scale_and_check(
      "uncoalesced-global-access/good", scale_coalesced,
      [](std::size_t record, std::size_t field, std::size_t records) {
        return field * records + record;
      },
      argc, argv);
}
