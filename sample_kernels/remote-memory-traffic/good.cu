// Shows: the same kernel on a copy in device memory
// Expect: memory-latency-bound
// Arguments: [elements = 16777216]
#include "stream.cuh"

int main(int argc, char** argv) {
  return evaluate_and_check("remote-memory-traffic/good", false, argc, argv);
}
