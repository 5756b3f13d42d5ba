// Shows: clusters of 2 blocks: all SMs have one
// Expect: compute-bound
// Arguments: [steps = 4096]
#include "cluster.cuh"

int main(int argc, char** argv) {
  return recur_and_check("cluster-limited-occupancy/good", argc, argv, 2);
}
