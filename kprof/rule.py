"""What a rule is, and how the catalogue is found.

A rule is one module in ``rules/`` with one function of the same name. It declares what it reads
and returns a finding or None::

    @rule(requires=[SHARED_WAVEFRONTS, SHARED_WAVEFRONTS_IDEAL])
    def shared_bank_conflicts(kernel: Kernel) -> Finding | None:
        '''## What it detects ... ## Why it matters ... ## How to fix it ...'''

``requires`` is the single source: the rule is skipped when one is absent, the union over the
rules is what ``kprof profile`` collects, and the documentation prints it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kprof import presence
from kprof.errors import BadRule, UnknownRule
from kprof.model import Finding, Kernel
from kprof.quantity import Quantity

CATALOGUE = "kprof.rules"
Check = Callable[[Kernel], Finding | None]


@dataclass(frozen=True)
class Rule:
    """A diagnosis rule.

    Attributes:
        name: public name with dashes, the function's name with underscores.
        requires: quantities it cannot do without.
        check: the rule's function.
        doc: its documentation in Markdown.
        summary: one line; the first of its module's docstring, else of its documentation.
    """

    name: str
    requires: tuple[Quantity, ...]
    check: Check
    doc: str
    summary: str = ""

    def missing(self, kernel: Kernel) -> tuple[str, ...]:
        """Return the names of required quantities the kernel lacks."""
        return tuple(q.name for q in self.requires if q.read(kernel.metrics) is None)


def rule(*, requires: Sequence[Quantity]) -> Callable[[Check], Rule]:
    """Turn a function into a :class:`Rule` named after it."""

    def wrap(check: Check) -> Rule:
        doc = inspect.cleandoc(check.__doc__ or "")
        name = check.__name__.replace("_", "-")
        for quantity in requires:
            if not isinstance(quantity, Quantity):
                raise TypeError(f"{name} requires {quantity!r}, which is not a Quantity")
        return Rule(name, tuple(requires), check, doc, _summary(check, doc))

    return wrap


def _summary(check: Check, doc: str) -> str:
    module = check.__globals__.get("__doc__") or ""
    lines = [*module.splitlines(), *doc.splitlines()]
    prose = (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    return next(prose, "")


def registry(rules_dir: Path | None = None) -> tuple[Rule, ...]:
    """Load every rule: the catalogue, entry points ``kprof.rules``, and ``rules_dir``.

    Raises:
        BadRule: a rule file cannot be imported, holds no rule, or repeats a name.
    """
    found: dict[str, Rule] = {}
    for module in _modules(rules_dir):
        for item in _rules_in(module):
            if item.name in found:
                raise BadRule(
                    f"two rules are named {item.name!r}",
                    hint=f"rename the one in {module.__name__}",
                )
            found[item.name] = item
    return tuple(found[name] for name in sorted(found))


def select(rules: Iterable[Rule], names: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules named.

    Raises:
        UnknownRule: a name is not in ``rules``.
    """
    by_name = {item.name: item for item in rules}
    for name in names:
        if name not in by_name:
            raise UnknownRule(f"no rule is named {name!r}", hint="kprof rules lists them")
    return tuple(by_name[name] for name in names)


def _modules(rules_dir: Path | None) -> Iterable[ModuleType]:
    package = importlib.import_module(CATALOGUE)
    for info in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(f"{CATALOGUE}.{info.name}")
    from importlib.metadata import entry_points  # slow to import, and not needed to read

    for entry in entry_points(group=CATALOGUE):
        yield _entry_module(entry.value)
    if rules_dir is not None:
        if not presence.is_dir(rules_dir):
            raise BadRule(f"{rules_dir} is not a directory", hint="give --rules-dir a directory")
        for path in sorted(rules_dir.glob("*.py")):
            if path.name != "__init__.py":
                yield _file_module(path)


def _entry_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise BadRule(
            f"the rule plug-in {name} cannot be imported: {error}",
            hint="uninstall or repair that package",
        ) from error


def _file_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"kprof_user_rules.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadRule(f"{path} cannot be loaded as Python", hint="a rule is a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # data classes look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise BadRule(
            f"{path} cannot be loaded: {type(error).__name__}: {error}",
            hint="run it with python to see where it fails",
        ) from error
    if not list(_rules_in(module)):
        raise BadRule(f"{path} declares no rule", hint="decorate a function with @kprof.rule.rule")
    return module


def _rules_in(module: ModuleType) -> Iterable[Rule]:
    # Only rules written in this module, not rules it imported.
    for value in vars(module).values():
        if isinstance(value, Rule) and value.check.__module__ == module.__name__:
            yield value
