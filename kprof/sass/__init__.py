"""What SASS text says of registers and control flow, for compute capability 7.0 to 12.x.

NVIDIA documents the opcodes ("CUDA Binary Utilities", instruction set reference) and neither the
operands nor their widths; those were read off the disassembly of compiled kernels of each
generation. The scoreboards that an instruction waits for are not in the text.
"""

from __future__ import annotations

from kprof.sass.operands import Parsed, opcodes, parse
from kprof.sass.registers import Effect, effect

__all__ = ["Effect", "Parsed", "effect", "opcodes", "parse"]
