// A target that behaves badly in one way:
//   faults HOW [ARGUMENT]
// Also a shared library: launch_tiny(N) from Python.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <csignal>
#include <unistd.h>
#include <cuda_profiler_api.h>

__global__ void tiny(int* value) { *value += 1; }
__global__ void before(int* value) { *value += 1; }
__global__ void inside(int* value) { *value += 1; }

// Named as NCCL and NVSHMEM name theirs.
__global__ void ncclDevKernel_Pretended(int* value) { *value += 1; }
template <typename T>
__global__ void nvshmem_pretended(T* value) { *value += 1; }

// Waits for the kernel below, which runs at the same time unless a profiler lets one run alone.
// Gives up after a minute, so that nothing stays on the GPU whatever happens.
__global__ void wait_for_flag(volatile int* flag) {
  unsigned long long began, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (!*flag && now - began < 60000000000ULL);
}
__global__ void set_flag(volatile int* flag) { *flag = 1; }

// Reads a few megabytes again and again: from L2 in the program, from device memory when flushed.
__global__ void read_again(const float* data, float* sum, int count) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += data[i];
  if (mine == 1.5f) *sum = mine;
}

static int* device() {
  int* value = nullptr;
  if (cudaMalloc(&value, sizeof(int)) != cudaSuccess) std::exit(90);
  cudaMemset(value, 0, sizeof(int));
  return value;
}

static void check() {
  if (cudaDeviceSynchronize() != cudaSuccess) std::exit(91);
}

extern "C" int launch_tiny(int times) {
  int* value = device();
  for (int n = 0; n < times; ++n) tiny<<<1, 1>>>(value);
  check();
  return 0;
}

static void concurrent() {
  int* flag = device();
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaFuncAttributes loaded;  // loading a kernel later would wait for the one that waits
  if (cudaFuncGetAttributes(&loaded, set_flag) != cudaSuccess) std::exit(96);
  if (cudaFuncGetAttributes(&loaded, wait_for_flag) != cudaSuccess) std::exit(96);
  check();
  wait_for_flag<<<1, 1, 0, first>>>(flag);
  set_flag<<<1, 1, 0, second>>>(flag);
  check();
}

static void graph() {
  int* value = device();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t recorded;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int n = 0; n < 3; ++n) tiny<<<1, 1, 0, stream>>>(value);
  cudaStreamEndCapture(stream, &recorded);
  if (cudaGraphInstantiate(&ready, recorded, 0) != cudaSuccess) std::exit(92);
  for (int n = 0; n < 2; ++n) cudaGraphLaunch(ready, stream);
  check();
}

static void loud() {
  char line[1 << 16];
  for (size_t n = 0; n < sizeof line; ++n) line[n] = static_cast<char>(n * 131 + (n >> 8));
  for (int n = 0; n < 128; ++n) std::fwrite(line, 1, sizeof line, stdout);
}

static void echo() {
  char block[4096];
  size_t got;
  while ((got = std::fread(block, 1, sizeof block, stdin)) > 0) std::fwrite(block, 1, got, stdout);
}

static void l2() {
  const int count = 1 << 20;
  float *data, *sum;
  if (cudaMalloc(&data, count * sizeof(float)) != cudaSuccess) std::exit(90);
  cudaMalloc(&sum, sizeof(float));
  cudaMemset(data, 0, count * sizeof(float));
  for (int n = 0; n < 3; ++n) read_again<<<132, 256>>>(data, sum, count);
  check();
}

static int in_child() {
  const pid_t child = fork();  // before CUDA is used: it does not survive a fork
  if (child == 0) _exit(launch_tiny(2));
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  std::printf("pid %d\n", getpid());
  std::fflush(stdout);
  if (how == "tiny") return launch_tiny(number);
  if (how == "exits") return number;
  if (how == "forks") return in_child();
  if (how == "hangs") for (;;) pause();
  if (how == "nothing") return cudaFree(nullptr) == cudaSuccess ? 0 : 93;
  if (how == "graph") graph();
  if (how == "l2") l2();
  if (how == "concurrent") { launch_tiny(2); concurrent(); }
  if (how == "deaf") {
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    launch_tiny(2);
    for (;;) pause();
  }
  if (how == "spawns") {
    const std::string again = "'" + std::string(argv[0]) + "' tiny 2";
    return WEXITSTATUS(std::system(again.c_str()));
  }
  if (how == "crashes") {
    launch_tiny(number);
    raise(SIGSEGV);
  }
  if (how == "elsewhere" && (chdir("/") != 0 || launch_tiny(2) != 0)) return 94;
  if (how == "deletes" && (unlink(argv[0]) != 0 || launch_tiny(2) != 0)) return 95;
  if (how == "loud") { launch_tiny(2); loud(); }
  if (how == "echoes") { launch_tiny(2); echo(); }
  if (how == "computes") {  // on the CPU, between two kernels
    launch_tiny(1);
    sleep(number);
    launch_tiny(1);
  }
  if (how == "communicates") {
    int* value = device();
    ncclDevKernel_Pretended<<<1, 1>>>(value);
    if (number == 0) tiny<<<1, 1>>>(value);
    nvshmem_pretended<int><<<1, 1>>>(value);
    check();
  }
  if (how == "starts") {
    int* value = device();
    before<<<1, 1>>>(value);
    check();
    cudaProfilerStart();
    inside<<<1, 1>>>(value);
    check();
    cudaProfilerStop();
    before<<<1, 1>>>(value);
    check();
  }
  return 0;
}
