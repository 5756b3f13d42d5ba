// Shows: a tenth more blocks than the GPU holds at once: the last wave leaves most SMs idle
// Expect: tail-effect
// Arguments: [steps = 512]
//
// One block per SM and one tile per block. When the first wave of tiles is done, the last tenth of
// the blocks takes as long again.
#include "tile.cuh"

__global__ void __launch_bounds__(kThreads)
    recur_tiles(const float* __restrict__ input, float* __restrict__ output, unsigned pieces,
                unsigned steps) {
  extern __shared__ float staged[];
  const unsigned per_tile = pieces / gridDim.x;
  for (unsigned k = 0; k < per_tile; ++k)
    recur_piece(input, output, staged + k * kPiece,
                (std::size_t{blockIdx.x} * per_tile + k) * kPiece, steps);
}

int main(int argc, char** argv) {
  return run_and_check("tail-effect/bad", argc, argv, recur_tiles, true);
}
