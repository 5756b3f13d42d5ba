// Shows: the same warps in blocks of eight: all warp slots of the SM are filled
// Expect: compute-bound
// Arguments: [steps = 64]
#include "walk.cuh"

int main(int argc, char** argv) {
  return walk_and_check("occupancy-limited-by-block-size/good", argc, argv, 256);
}
