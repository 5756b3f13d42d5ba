"""What a report embeds of the program beside the counters: source files and line tables.

NVIDIA's library gives a file and a line of each instruction. Which call an inlined line belongs to
stands in the line tables of the device code, and the text of the sources beside it: both are read
from the file here, without the library.
"""

from kprof.embedded.inlining import with_chains
from kprof.embedded.modules import Module, modules

__all__ = ["Module", "modules", "with_chains"]
