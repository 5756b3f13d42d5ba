// A target for the tests: launches two kernels N times, then does what its second argument says.
//   steps N [wait | exit STATUS | abort | echo]
// Also a shared library: launch(N) from Python.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <nvtx3/nvToolsExt.h>

template <typename T>
__global__ void scale(T* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

__global__ void vector_add(const float* a, float* b, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) b[i] += a[i];
}

extern "C" int launch(int times) {
  const int count = 1 << 22;
  float *a, *b;
  if (cudaMalloc(&a, count * sizeof(float)) != cudaSuccess) return 90;
  if (cudaMalloc(&b, count * sizeof(float)) != cudaSuccess) return 90;
  for (int step = 0; step < times; ++step) {
    nvtxRangePushA(step == 0 ? "first" : "later");
    vector_add<<<(count + 255) / 256, 256>>>(a, b, count);
    scale<float><<<(count + 255) / 256, 256>>>(b, count);
    if (cudaDeviceSynchronize() != cudaSuccess) return 91;
    nvtxRangePop();
  }
  return 0;
}

int main(int argc, char** argv) {
  std::printf("pid %d\n", getpid());
  std::fflush(stdout);
  const std::string then = argc > 2 ? argv[2] : "";
  const int status = launch(argc > 1 ? std::atoi(argv[1]) : 1);
  if (status != 0) return status;
  if (then == "wait") sleep(300);
  if (then == "exit") return std::atoi(argv[3]);
  if (then == "abort") std::abort();
  if (then == "echo") {
    char line[200];
    if (std::fgets(line, sizeof line, stdin)) std::printf("read %s", line);
  }
  return 0;
}
