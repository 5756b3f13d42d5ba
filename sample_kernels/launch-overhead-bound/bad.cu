// Shows: one small vector per launch: starting the kernel takes as long as its work
// Expect: launch-overhead-bound
// Arguments: [vectors = 1]
//
// A program would launch this once for each of its vectors; one launch is enough to see it.
#include "batch.cuh"

int main(int argc, char** argv) {
  return scale_and_check("launch-overhead-bound/bad", argc, argv, 1);
}
