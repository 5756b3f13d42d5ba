// Shows: the same loop with 16 steps unrolled: 1 KB of code that stays in the cache
// Expect: compute-bound
// Arguments: [rounds = 8]
//
// The same arithmetic as bad.cu.
#include "steps.cuh"

int main(int argc, char** argv) {
  return step_and_check<16>("instruction-cache-misses/good", argc, argv);
}
