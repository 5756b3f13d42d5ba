"""The checks, one module per subject; importing this package registers them all.

The order of the modules is the order of causes: what stands first explains what follows.
"""

from __future__ import annotations
