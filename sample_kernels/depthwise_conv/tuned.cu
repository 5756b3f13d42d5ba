// Shows: depthwise 3x3 convolution in registers: 16-byte loads, neighbours by shuffle, no tile
// Expect: dram-bandwidth-bound
// Arguments: [images = 16] [channels = 128] [height = 128] [width = height]
//
// tiled.cu moves every input through shared memory to share it; here a thread loads four columns at
// once and asks its neighbours' registers for the columns beside them. Nothing waits at a barrier.
#include "layer_check.cuh"

int main(int argc, char** argv) {
  return layer_and_check("depthwise_conv/tuned", false, argc, argv);
}
