"""The templates in reports/ and what every page of kprof's needs to be made from them."""

from __future__ import annotations

import re
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from kprof.names import printable

CONTENT = "kprof.reports"

_CODE = re.compile(r"`([^`]+)`")


def environment() -> Environment:
    """Return an environment in which everything is escaped and nothing may be missing."""
    made = Environment(
        loader=PackageLoader(CONTENT),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    made.globals["embed"] = embed
    made.filters["prose"] = prose
    made.filters["printable"] = printable
    return made


def embed(asset: str) -> Markup:
    """Return one of the page's own style sheets or scripts, to stand inside its element."""
    return Markup(files(CONTENT).joinpath("assets").joinpath(asset).read_text("utf-8"))  # noqa: S704 - our own file


def prose(text: str) -> Markup:
    """Escape a sentence and set what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped above
