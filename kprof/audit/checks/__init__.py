"""The checks, one module per subject; importing this package registers them all.

The order of the modules is the order of causes: what stands first explains what follows.
"""

from __future__ import annotations

import importlib

MODULES = (
    # the machine and its kernel
    "boot",
    "flavors",
    "modules",
    "uvm",
    "system",
    # how the GPU gets in here
    "wsl",
    "container",
    "image",
    # the driver's libraries
    "driver",
    "compat",
    "versions",
    "gpu",
    "privileges",
    # the environment of a program
    "environment",
    # torch and what was installed beside it
    "jetson",
    "torch_build",
    "torch_libraries",
    "torch_import",
    "nccl",
    "wheels",
    "install",
    "triton",
    # building
    "toolkits",
    "nvcc",
    "nvcc_targets",
    # profiling
    "ncu",
    "ncu_permission",
    "ncu_conflicts",
    "ncu_messages",
)

for _module in MODULES:
    importlib.import_module(f"{__name__}.{_module}")
