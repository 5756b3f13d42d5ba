// Shows: the same reads from 512 copies that lie in different slices
// Expect: memory-latency-bound
// Arguments: [reads = 2048]
#include "table.cuh"

int main(int argc, char** argv) { return sum_and_check("partition-camping/good", 512, argc, argv); }
