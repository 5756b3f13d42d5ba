// Shows: a kernel that reads pinned memory of the host in place, at the speed of PCI Express
// Expect: remote-memory-traffic
// Arguments: [elements = 16777216]
#include "stream.cuh"

int main(int argc, char** argv) {
  return evaluate_and_check("remote-memory-traffic/bad", true, argc, argv);
}
