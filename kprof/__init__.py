"""kprof: why is this GPU kernel slow, and what do I change?"""

from __future__ import annotations

from kprof.version import __version__

__all__ = ["__version__"]
