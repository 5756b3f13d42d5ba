// A kernel bound by its texture units: every thread fetches texels that are in L1, many at a time.
#include <cstdio>
#include <cstdlib>

__global__ void fetch(cudaTextureObject_t image, float *out, int rounds) {
    float sum[8] = {};
    const float x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (int i = 0; i < rounds; ++i)
        for (int k = 0; k < 8; ++k)  // independent: the fetches of one round are all in flight
            sum[k] += tex2D<float4>(image, x + 0.5f * k, y + 0.25f * (i & 3)).x;
    float all = 0.0f;
    for (int k = 0; k < 8; ++k) all += sum[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

int main() {
    const int side = 64, blocks = 4096, threads = 256;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    CHECK(cudaMallocArray(&array, &format, side, side));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t image;
    CHECK(cudaCreateTextureObject(&image, &resource, &how, nullptr));
    float *out;
    CHECK(cudaMalloc(&out, sizeof(float) * blocks * threads));
    for (int i = 0; i < 4; ++i) fetch<<<blocks, threads>>>(image, out, 64);
    CHECK(cudaDeviceSynchronize());
    std::puts("done");
    return 0;
}
