// Shows: all SMs read the same 128 bytes from L2: one slice serves everybody
// Expect: partition-camping
// Arguments: [reads = 2048]
#include "table.cuh"

int main(int argc, char** argv) { return sum_and_check("partition-camping/bad", 1, argc, argv); }
