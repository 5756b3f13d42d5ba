// Shows: clusters of 16 blocks: what is left of each GPC stays empty
// Expect: cluster-limited-occupancy
// Arguments: [steps = 4096]
#include "cluster.cuh"

int main(int argc, char** argv) {
  return recur_and_check("cluster-limited-occupancy/bad", argc, argv, 16);
}
