// The tuned depthwise convolution: K x K, stride 1, zero padding K / 2, rows of whole float4s.
//
// LANES neighbouring threads cover a strip of ROWS rows, four outputs each: a row is loaded once,
// 16 bytes per thread, and the columns left and right of a thread's four come from its neighbours'
// registers. Every input is loaded once per strip, and all loads are in flight before the first is
// used. docs/operators/depthwise-conv.md has what else was tried and how fast it was.
#pragma once

#include "problem.cuh"

namespace depthwise {

constexpr int kStripThreads = 128;   // per block
constexpr int kStripResident = 512;  // threads per SM that the registers must allow

struct Layer {
  const float* input;
  const float* weights;
  const float* bias;  // one per channel, or null
  float* output;
  int height;
  int width;
  unsigned strips;  // all strips of all planes
  Divisor strips_per_plane;
  Divisor bands;  // strips below each other in a plane
  Divisor channels;
  bool relu;
};

struct Place {
  unsigned plane;
  int top;
  int left;  // of this thread's four columns
  bool valid;
};

template <int ROWS, int LANES>
__device__ inline Place place(const Layer& layer, unsigned lane) {
  const unsigned group = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
  const bool valid = group < layer.strips;
  const unsigned strip = valid ? group : 0;
  const unsigned plane = layer.strips_per_plane.quotient(strip);
  const unsigned inside = strip - plane * layer.strips_per_plane.divisor;
  const unsigned column = layer.bands.quotient(inside);
  const unsigned band = inside - column * layer.bands.divisor;
  return {plane, static_cast<int>(band) * ROWS,
          static_cast<int>(column * LANES + lane) * 4, valid};
}

// A row of inputs as one thread needs it: its four columns and HALO on either side.
template <int HALO>
struct Row {
  float value[4 + 2 * HALO];
};

// What one thread loads of a row; `edge` only in the first and last lane of a strip that does not
// span the image.
template <int HALO>
struct Loaded {
  float4 quad;
  float edge[HALO];
};

// Volatile, so that the loads stay where they are written: before the first use of any. Left to
// itself the compiler saves registers by loading late, and waits for DRAM twice.
__device__ inline void load_quad(float4& quad, const float* source, bool wanted) {
  asm volatile(
      "{ .reg .pred p; setp.ne.s32 p, %4, 0;\n"
      "@p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%5]; }"
      : "+f"(quad.x), "+f"(quad.y), "+f"(quad.z), "+f"(quad.w)
      : "r"(static_cast<int>(wanted)), "l"(source));
}

template <int HALO, int LANES, bool SPANS>
__device__ inline Loaded<HALO> load_row(const float* __restrict__ image, const Layer& layer,
                                        const Place& at, int y, unsigned lane) {
  Loaded<HALO> loaded;
  const bool inside = static_cast<unsigned>(y) < static_cast<unsigned>(layer.height) && at.valid;
  const float* row = image + y * layer.width + at.left;
  loaded.quad = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  load_quad(loaded.quad, row, inside && at.left < layer.width);
#pragma unroll
  for (int i = 0; i < HALO; ++i) loaded.edge[i] = 0.0f;
  if constexpr (!SPANS) {
    const int offset = lane == 0 ? -HALO : 4;
    const bool edge = lane == 0 || lane == LANES - 1;
#pragma unroll
    for (int i = 0; i < HALO; ++i) {
      const int x = at.left + offset + i;
      if (edge && inside && static_cast<unsigned>(x) < static_cast<unsigned>(layer.width))
        loaded.edge[i] = __ldg(row + offset + i);
    }
  }
  return loaded;
}

template <int HALO, int LANES>
__device__ inline Row<HALO> with_neighbours(const Loaded<HALO>& loaded, unsigned lane) {
  const float own[4] = {loaded.quad.x, loaded.quad.y, loaded.quad.z, loaded.quad.w};
  Row<HALO> row;
#pragma unroll
  for (int i = 0; i < 4; ++i) row.value[HALO + i] = own[i];
#pragma unroll
  for (int i = 0; i < HALO; ++i) {
    const float left = __shfl_up_sync(0xffffffffu, own[4 - HALO + i], 1, LANES);
    const float right = __shfl_down_sync(0xffffffffu, own[i], 1, LANES);
    row.value[i] = lane == 0 ? loaded.edge[i] : left;
    row.value[HALO + 4 + i] = lane == LANES - 1 ? loaded.edge[i] : right;
  }
  return row;
}

template <int K>
struct Filter {
  float weight[K * K];
  float bias;
};

template <int K>
__device__ inline Filter<K> load_filter(const Layer& layer, unsigned plane) {
  const unsigned channel = layer.channels.remainder(plane);
  Filter<K> filter;
#pragma unroll
  for (int i = 0; i < K * K; ++i) filter.weight[i] = __ldg(layer.weights + channel * (K * K) + i);
  filter.bias = layer.bias ? __ldg(layer.bias + channel) : 0.0f;
  return filter;
}

template <int K>
__device__ inline void accumulate(float (&sum)[4], const Row<K / 2>& row, const Filter<K>& filter,
                                  int dy) {
#pragma unroll
  for (int dx = 0; dx < K; ++dx)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum[i] = fmaf(row.value[i + dx], filter.weight[dy * K + dx], sum[i]);
}

__device__ inline void store(const Layer& layer, const Place& at, float* __restrict__ image, int y,
                             const float (&sum)[4]) {
  if (!at.valid || at.left >= layer.width || y >= layer.height) return;
  *reinterpret_cast<float4*>(image + y * layer.width + at.left) =
      make_float4(activated(sum[0], layer.relu), activated(sum[1], layer.relu),
                  activated(sum[2], layer.relu), activated(sum[3], layer.relu));
}

// SPANS: the lanes of a strip cover whole rows, so that beyond the first and last is the padding.
template <int K, int ROWS, int LANES, bool SPANS>
__global__ void __launch_bounds__(kStripThreads, kStripResident / kStripThreads)
    depthwise_conv_strip(const __grid_constant__ Layer layer) {
  constexpr int HALO = K / 2;
  const unsigned lane = threadIdx.x % LANES;
  const Place at = place<ROWS, LANES>(layer, lane);
  const std::size_t plane = static_cast<std::size_t>(at.plane) * layer.height * layer.width;
  Loaded<HALO> loaded[ROWS + K - 1];
#pragma unroll
  for (int i = 0; i < ROWS + K - 1; ++i)
    loaded[i] =
        load_row<HALO, LANES, SPANS>(layer.input + plane, layer, at, at.top + i - HALO, lane);
  const Filter<K> filter = load_filter<K>(layer, at.plane);

  float sum[ROWS][4];
#pragma unroll
  for (int j = 0; j < ROWS; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[j][i] = filter.bias;
#pragma unroll
  for (int i = 0; i < ROWS + K - 1; ++i) {
    const Row<HALO> row = with_neighbours<HALO, LANES>(loaded[i], lane);
#pragma unroll
    for (int j = 0; j < ROWS; ++j)
      if (i >= j && i < j + K) accumulate<K>(sum[j], row, filter, i - j);
    if (i >= K - 1)
      store(layer, at, layer.output + plane, at.top + i - (K - 1), sum[i - (K - 1)]);
  }
}

inline Layer layer_of(const Problem& p, long long bands, long long columns) {
  Layer layer{};
  layer.input = p.input;
  layer.weights = p.weights;
  layer.bias = p.bias;
  layer.output = p.output;
  layer.height = static_cast<int>(p.height);
  layer.width = static_cast<int>(p.width);
  layer.strips = static_cast<unsigned>(p.images * p.channels * bands * columns);
  layer.strips_per_plane = Divisor(bands * columns);
  layer.bands = Divisor(bands);
  layer.channels = Divisor(p.channels);
  layer.relu = p.relu != 0;
  return layer;
}

// Blocks that ROWS rows per thread make; the caller has looked that they can be counted.
inline long long strip_blocks(const Problem& p, int rows, int lanes) {
  const long long strips =
      p.images * p.channels * blocks_of(p.height, rows) * blocks_of(p.width, 4 * lanes);
  return blocks_of(strips, kStripThreads / lanes);
}

template <int K, int ROWS, int LANES, bool SPANS>
cudaError_t launch_strip(const Problem& p, cudaStream_t stream) {
  const Layer layer = layer_of(p, blocks_of(p.height, ROWS), blocks_of(p.width, 4 * LANES));
  const unsigned blocks = static_cast<unsigned>(strip_blocks(p, ROWS, LANES));
  depthwise_conv_strip<K, ROWS, LANES, SPANS><<<blocks, kStripThreads, 0, stream>>>(layer);
  return cudaGetLastError();
}

}  // namespace depthwise
