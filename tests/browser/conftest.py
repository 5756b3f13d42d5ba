"""What the browser tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.visiting import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all pages of a module."""
    with chromium() as browser:
        yield browser
