"""Vector add for ``kprof bench vector-add``: one addition per 12 bytes, so DRAM is all there is.

``--set block=128,256,512`` sweeps the threads per block of the CUDA kernels.
"""

import torch

from kprof import bench

library = bench.cuda("launchers.cuh", "-x", "cu")
bench.shapes("1048576", "67108864")
# One element, less than a float4, exactly one, whole blocks, and what fills neither.
bench.check_shapes("1", "3", "4", "4096", "1023", "100003")

BLOCK = (256,)


@bench.inputs
def inputs(shape, generator):
    return tuple(
        torch.rand(*shape, device=generator.device, generator=generator) * 2 - 1 for _ in "ab"
    )


@bench.output
def output(a, b):
    return torch.empty_like(a)


@bench.cost
def cost(a, b):
    return bench.Cost(bytes=12 * a.numel(), flops=a.numel())


@bench.reference
def reference(a, b):
    return a + b


def on_gpu(tensor):
    if not tensor.is_cuda:
        raise NotImplementedError("a CUDA kernel needs tensors on a GPU")


@bench.variant(name="one-per-thread", block=BLOCK)
def one_per_thread(a, b, out, block):
    on_gpu(a)
    library.vector_add_one_per_thread(a, b, out, a.numel(), block)


@bench.variant(name="grid-stride", block=BLOCK)
def grid_stride(a, b, out, block):
    on_gpu(a)
    library.vector_add_in_one_wave(a, b, out, a.numel(), block)


@bench.variant(block=BLOCK)
def float4(a, b, out, block):
    on_gpu(a)
    library.vector_add_by_float4(a, b, out, a.numel(), block)


@bench.variant(name="triton", elements=(1024,))
def triton_add(a, b, out, elements):
    on_gpu(a)
    try:
        import triton_kernel
    except ImportError as error:
        raise NotImplementedError(f"Triton cannot be imported: {error}") from error
    triton_kernel.add(a, b, out, elements)


@bench.variant(name="torch")
def torch_add(a, b, out):
    torch.add(a, b, out=out)
