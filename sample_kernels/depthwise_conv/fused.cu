// Shows: the tuned depthwise convolution with bias and ReLU on the way out
// Expect: dram-bandwidth-bound
// Arguments: [images = 16] [channels = 128] [height = 128] [width = height]
//
// Two kernels more would read and write every output twice; one addition and one comparison in
// registers cost nothing where DRAM is the limit.
#include "layer_check.cuh"

int main(int argc, char** argv) {
  return layer_and_check("depthwise_conv/fused", true, argc, argv);
}
