// Shows: the same tiles dealt out in pieces to as many blocks as run at once: no last wave
// Expect: compute-bound
// Arguments: [steps = 512]
//
// One block per SM loops over pieces of tiles: the SMs are done within one piece of each other.
#include "tile.cuh"

__global__ void __launch_bounds__(kThreads)
    recur_pieces(const float* __restrict__ input, float* __restrict__ output, unsigned pieces,
                 unsigned steps) {
  extern __shared__ float staged[];
  for (unsigned piece = blockIdx.x; piece < pieces; piece += gridDim.x)
    recur_piece(input, output, staged, std::size_t{piece} * kPiece, steps);
}

int main(int argc, char** argv) {
  return run_and_check("tail-effect/good", argc, argv, recur_pieces, false);
}
