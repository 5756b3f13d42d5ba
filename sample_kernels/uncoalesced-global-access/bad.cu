// Shows: an array of structures read one field at a time: neighbouring lanes read 128 bytes apart
// Expect: uncoalesced-global-access
// Arguments: [records = 1048576]
//
// Each lane needs 4 bytes of its own 32-byte sector, so a warp moves 32 sectors where 4 would do,
// and by the time the next field is read the sectors have left the caches.
#include "records.cuh"

__global__ void scale_strided(const float* __restrict__ input, float* __restrict__ output,
                              std::size_t records) {
  const std::size_t record = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::size_t field = blockIdx.y;
  if (record < records) {
    const float value = input[record * kFields + field];  // stride of 32 floats
    output[field * records + record] = 2.0f * value;
  }
}

int main(int argc, char** argv) {
  return scale_and_check(
      "uncoalesced-global-access/bad", scale_strided,
      [](std::size_t record, std::size_t field, std::size_t) { return record * kFields + field; },
      argc, argv);
}
