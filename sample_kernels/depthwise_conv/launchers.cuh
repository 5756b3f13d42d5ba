// The launchers of `kprof bench depthwise-conv`: bench.py has them compiled and calls them.
#include "tuned.cuh"

#define LAUNCHER(name, launch)                                                                    \
  extern "C" int name(const float* input, const float* weights, const float* bias, float* output, \
                      long long images, long long channels, long long height, long long width,    \
                      long long filter, long long stride, long long pad, long long output_height, \
                      long long output_width, int relu, cudaStream_t stream) {                    \
    const depthwise::Problem problem{                                                             \
        input, weights, bias, output, images, channels, height, width,                            \
        filter, stride, pad, output_height, output_width, relu};                                  \
    return depthwise::launch(problem, stream);                                                    \
  }

LAUNCHER(depthwise_naive, launch_naive)
LAUNCHER(depthwise_tiled, launch_tiled)
LAUNCHER(depthwise_tuned, launch_tuned)
