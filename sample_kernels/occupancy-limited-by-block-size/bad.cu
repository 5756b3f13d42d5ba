// Shows: blocks of one warp: the SM has no place for more blocks, but for twice the warps
// Expect: occupancy-limited-by-block-size
// Arguments: [steps = 64]
#include "walk.cuh"

int main(int argc, char** argv) {
  return walk_and_check("occupancy-limited-by-block-size/bad", argc, argv, 32);
}
