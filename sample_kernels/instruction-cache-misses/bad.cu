// Shows: a loop with 4096 steps unrolled: 256 KB of code that every pass fetches again
// Expect: instruction-cache-misses
// Arguments: [rounds = 8]
//
// The code is larger than the instruction caches of an SM. good.cu unrolls 16 steps.
#include "steps.cuh"

int main(int argc, char** argv) {
  return step_and_check<4096>("instruction-cache-misses/bad", argc, argv);
}
