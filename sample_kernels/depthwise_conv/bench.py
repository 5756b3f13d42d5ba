"""Depthwise convolution for ``kprof bench depthwise-conv``: NCHW, float32, zero padding.

A shape is images x channels x height x width, with the options ``kernel`` (3), ``stride`` (1),
``pad`` (kernel // 2) and ``relu`` (0): ``8x64x128x128,kernel=5,stride=2,relu=1``. With ``relu=1`` a
bias per channel is added and ReLU applied: in the kernel by ``fused``, by two more operations on the
result by all others.
"""

import torch

from kprof import bench

library = bench.cuda("launchers.cuh", "-x", "cu")
bench.shapes(
    "1x64x32x32", "1x64x128x128", "8x64x128x128", "1x256x128x128", "32x256x128x128",
    "1x12x128x128,kernel=5", "8x64x128x128,relu=1",
)  # fmt: skip
# One element; whole tiles; rows that fill none; more planes than gridDim.z holds; strides, filters
# and paddings of every kind.
bench.check_shapes(
    "1x1x1x1", "2x3x64x128", "3x7x8x8,relu=1", "2x3x37x61", "2x3x33x36", "1x5x31x64,kernel=5",
    "1x3x19x260,kernel=5", "2x2x17x132,relu=1", "1100x64x4x4", "1100x64x5x7", "2x3x13x17,stride=2",
    "2x3x13x17,kernel=5,stride=2,relu=1", "2x3x9x11,kernel=5,pad=0", "1x4x12x12,pad=2",
    "1x2x9x8,kernel=7,stride=3", "1x2x20x20,kernel=4,stride=3,pad=0", "3x7x8x8,kernel=1",
)  # fmt: skip


def size_after(size, kernel, stride, pad):
    """Return how many outputs there are along a side.

    Raises:
        ValueError: the filter is larger than the padded input, or a number cannot be.
    """
    if kernel < 1 or stride < 1 or pad < 0:
        raise ValueError(f"kernel={kernel}, stride={stride}, pad={pad} is no convolution")
    if size + 2 * pad < kernel:
        raise ValueError(
            f"kernel={kernel} is larger than {size} inputs with pad={pad} on each side"
        )
    return (size + 2 * pad - kernel) // stride + 1


@bench.inputs
def inputs(shape, generator):
    if len(shape) != 4:
        raise ValueError("a shape is images x channels x height x width, as 1x64x128x128")
    images, channels, height, width = shape
    kernel = shape.get("kernel", 3)
    stride, pad = shape.get("stride", 1), shape.get("pad", kernel // 2)
    for size in (height, width):
        size_after(size, kernel, stride, pad)

    def random(*sizes):
        return torch.rand(*sizes, device=generator.device, generator=generator) * 2 - 1

    bias = random(channels) if shape.get("relu", 0) else None
    image = random(images, channels, height, width)
    return image, random(channels, 1, kernel, kernel), bias, stride, pad


@bench.output
def output(image, weights, bias, stride, pad):
    kernel = weights.shape[-1]
    sides = [size_after(size, kernel, stride, pad) for size in image.shape[2:]]
    return image.new_empty(*image.shape[:2], *sides)


@bench.cost
def cost(image, weights, bias, stride, pad):
    outputs = output(image, weights, bias, stride, pad).numel()
    numbers = image.numel() + weights.numel() + outputs + (0 if bias is None else bias.numel())
    # A multiplication and an addition per tap; bias and ReLU are one each.
    per_output = 2 * weights[0].numel() + (0 if bias is None else 2)
    return bench.Cost(bytes=4 * numbers, flops=per_output * outputs)


@bench.reference
def reference(image, weights, bias, stride, pad):
    result = torch.nn.functional.conv2d(
        image, weights, bias, stride=stride, padding=pad, groups=image.shape[1]
    )
    return result if bias is None else result.relu()


def finished(result, bias):
    """Add the bias and apply ReLU as a program does whose convolution cannot."""
    return result if bias is None else result.add_(bias.view(1, -1, 1, 1)).relu_()


def on_gpu(tensor):
    if not tensor.is_cuda:
        raise NotImplementedError("it needs tensors on a GPU")


def launch(launcher, image, weights, bias, stride, pad, out):
    on_gpu(image)
    relu = bias is not None
    sizes = (*image.shape, weights.shape[-1], stride, pad, *out.shape[2:])
    launcher(image, weights, bias, out, *sizes, relu)


@bench.variant
def naive(image, weights, bias, stride, pad, out):
    launch(library.depthwise_naive, image, weights, None, stride, pad, out)
    finished(out, bias)


@bench.variant
def tiled(image, weights, bias, stride, pad, out):
    launch(library.depthwise_tiled, image, weights, None, stride, pad, out)
    finished(out, bias)


@bench.variant
def tuned(image, weights, bias, stride, pad, out):
    launch(library.depthwise_tuned, image, weights, None, stride, pad, out)
    finished(out, bias)


@bench.variant
def fused(image, weights, bias, stride, pad, out):
    if bias is None:
        raise NotImplementedError("without bias and ReLU (relu=1) it is the same as tuned")
    launch(library.depthwise_tuned, image, weights, bias, stride, pad, out)


@bench.variant(name="torch")
def torch_own(image, weights, bias, stride, pad):
    channels, kernel = weights.shape[0], weights.shape[-1]
    if not image.is_cuda:  # PyTorch has no such kernel there
        result = torch.nn.functional.conv2d(
            image, weights, stride=stride, padding=pad, groups=channels
        )
        return finished(result, bias)
    # conv2d would choose between this kernel and cuDNN's by itself.
    result = torch.ops.aten._conv_depthwise2d(
        image, weights, [kernel] * 2, None, [stride] * 2, [pad] * 2, [1, 1]
    )
    return finished(result, bias)


@bench.variant
def cudnn(image, weights, bias, stride, pad):
    on_gpu(image)
    # cuDNN tries its algorithms on the first call of a shape; no TF32, which is not float32.
    result = torch.cudnn_convolution(
        image, weights, [pad] * 2, [stride] * 2, [1, 1], weights.shape[0],
        benchmark=True, deterministic=False, allow_tf32=False,
    )  # fmt: skip
    return finished(result, bias)
