"""When a snapshot was taken: a moment in UTC, written ``2026-11-29T22:00:00Z``."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def now() -> str:
    """Return this moment."""
    return _written(datetime.now(timezone.utc))


def read(text: object) -> str | None:
    """Return a moment in ISO 8601 as one in UTC, None where it is none; without a zone it is UTC."""
    found = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    day, minute, second, zone = found.groups()
    offset = "+00:00" if zone in (None, "Z") else zone
    try:
        told = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{offset}")
        return _written(told.astimezone(timezone.utc))
    except (ValueError, OverflowError):  # the 30th of February; a year that UTC does not reach
        return None


def shown(moment: str) -> str:
    """Return a moment as people write it: ``2026-11-29 22:00 UTC``."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
