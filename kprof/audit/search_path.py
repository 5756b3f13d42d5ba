"""How to take directories out of LD_LIBRARY_PATH."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kprof.audit import derive
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy


def without(facts: Facts, directories: Sequence[str]) -> Remedy | None:
    """Return how to take directories out of LD_LIBRARY_PATH; None where it names none of them."""
    unwanted = {one.rstrip("/") for one in directories}
    entries = derive.library_path(facts) or ()
    kept = [one for one in entries if one.rstrip("/") not in unwanted]
    gone = [one for one in entries if one.rstrip("/") in unwanted]
    if not gone:
        return None
    rest = ":".join(kept)
    usable = rest and rest.isprintable() and len(rest) < 2000
    words = ":".join(map(_word, kept))
    command = f"export LD_LIBRARY_PATH={words}" if usable else "unset LD_LIBRARY_PATH"
    return Remedy(
        f"Take {derive.brief(gone[0])} out of LD_LIBRARY_PATH, also where the shell sets it",
        (command,),
    )


def _word(directory: str) -> str:
    """Return a directory for a shell, quoted; the home directory, ``~`` in a snapshot, is a variable.

    A shell does not expand a quoted ``~``, and the loader none at all.
    """
    if directory == "~" or directory.startswith("~/"):
        rest = directory[1:]
        return f'"$HOME"{shlex.quote(rest) if rest else ""}'
    return shlex.quote(directory)
