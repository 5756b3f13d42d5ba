"""CUDA, Triton and torch sources of the sample kernels. Run, never imported."""
