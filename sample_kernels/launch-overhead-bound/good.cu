// Shows: a whole batch of the same vectors in one launch
// Expect: memory-latency-bound
// Arguments: [vectors = 1024]
//
// The time of bad.cu is for one vector: divide by the number of vectors to compare.
#include "batch.cuh"

int main(int argc, char** argv) {
  return scale_and_check("launch-overhead-bound/good", argc, argv, 1024);
}
