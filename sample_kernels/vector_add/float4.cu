// Shows: vector add, four elements per thread with 16-byte loads and stores
// Expect: dram-bandwidth-bound
// Arguments: [elements = 67108864]
//
// A quarter of the instructions for the same bytes. The last count % 4 elements do not fill a
// float4; the first threads add them one by one.
#include "../check.cuh"

__global__ void vector_add_float4(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ sum, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t quads = count / 4;
  if (i < quads) {
    const float4 x = reinterpret_cast<const float4*>(a)[i];
    const float4 y = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(sum)[i] =
        make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
  const std::size_t tail = quads * 4 + i;
  if (i < 4 && tail < count) sum[tail] = a[tail] + b[tail];
}

int main(int argc, char** argv) {
  constexpr unsigned kThreads = 256;
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 26, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);

  const std::vector<float> a = sample::random_floats(count, 1);
  const std::vector<float> b = sample::random_floats(count, 2);
  sample::DeviceArray<float> device_a(a), device_b(b), sum(count);

  vector_add_float4<<<sample::blocks_for(count, kThreads * 4), kThreads>>>(
      device_a.get(), device_b.get(), sum.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare("vector_add/float4", sum.download(),
                         [&](std::size_t i) { return a[i] + b[i]; });
}
