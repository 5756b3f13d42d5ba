"""Whether profiling can work here, decided by the doctor's checks before the target starts."""

from __future__ import annotations

from kprof.collect import find, preflight
from kprof.errors import KprofError


def ready(
    explicit: str | None = None, *, python: str | None = None, quiet: bool = False
) -> find.Ncu:
    """Return the ncu to profile with.

    Args:
        explicit: the ncu that the user named.
        python: the target's interpreter, None for a program.
        quiet: do not tell warnings.

    Raises:
        KprofError: profiling cannot work; the message is the cause, the hint the fix.
    """
    preflight.check(preflight.look())
    return find.find(explicit)


def advised(error: KprofError) -> KprofError:
    """Return an error of ncu's with the fix for this machine, where the doctor has one."""
    return error
