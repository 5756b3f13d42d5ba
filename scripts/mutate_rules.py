"""Change the rules on purpose and list the changes that no test of theirs notices.

Every threshold (a number in capitals at the top of a module, or one that something is compared
with) is taken a fifth lower and a fifth higher, and every guard is removed: an early return or
``continue`` under a condition, or one operand of it. Each change is made in a scratch copy and the
rule's tests run against it. ``make mutate`` runs this; it is no part of ``make test``.

    python scripts/mutate_rules.py [RULE ...] [--jobs 2] [--limit-s 1200]

Changes that are known to change nothing are listed, with the reason, in
scripts/harmless_mutants.json; they are tried all the same. Ends with 1 when another change
survives, or when one of these does not.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import queue
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kprof import process

ROOT = Path(__file__).resolve().parents[1]
CONTENT = ("rules", "reports", "sample_kernels")
# What several rules share; every test of the rules runs for them, and their own.
SHARED = {
    "kprof/balance.py": ("tests/unit/test_balance.py",),
    "kprof/estimate.py": ("tests/unit/test_estimate.py",),
    "kprof/filling.py": ("tests/unit/test_filling.py",),
    "kprof/limiter.py": ("tests/unit/test_limiter.py",),
    "kprof/occupancy_rule.py": (),
    "kprof/ordering.py": ("tests/unit/test_ordering.py",),
    "kprof/stall_rule.py": (),
    "kprof/stalls.py": ("tests/unit/test_stalls.py",),
}
COPIED = (
    "kprof",
    *CONTENT,
    "tests/rules",
    *(file for files in SHARED.values() for file in files),
    "tests/kernels.py",
    "tests/conftest.py",
    "pyproject.toml",
)
FACTORS = (0.8, 1.2)
HARMLESS = Path(__file__).with_name("harmless_mutants.json")
TEST_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        path: the module, relative to the repository.
        line: where.
        what: the change in words.
        source: the whole module with the change.
        narrows: it removes a check for None, which may be there for the type checker alone.
    """

    path: str
    line: int
    what: str
    source: str
    narrows: bool = False


def mutants(path: str) -> Iterator[Mutant]:
    """Yield every change of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    yield from _thresholds(path, tree)
    yield from _guards(path, tree)


def _thresholds(path: str, tree: ast.Module) -> Iterator[Mutant]:
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Constant) and _is_number(node.value):
            name = _threshold_name(tree, node)
            if name:
                yield from _taken_otherwise(path, tree, place, node, name)


def _is_number(value: object) -> bool:
    # With 0 and 1, a comparison asks whether there is any, or all.
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in {0, 1}


def _threshold_name(tree: ast.Module, number: ast.Constant) -> str | None:
    """Return what a number is: a constant's name, or the comparison that it is in."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            if _is_listed(node.value, number):
                name = ast.unparse(node).partition(" = ")[0].partition(":")[0]
                return name.strip("()") if name.isupper() else None
        elif isinstance(node, ast.FunctionDef):
            compared = (one for one in ast.walk(node) if isinstance(one, ast.Compare))
            for one in compared:
                if number in ast.walk(one):
                    return f"`{ast.unparse(one)}`"
    return None


def _is_listed(value: ast.expr | None, number: ast.Constant) -> bool:
    """Say whether a constant's value is the number, or a tuple of numbers that has it."""
    if isinstance(value, ast.Tuple):
        return any(item is number for item in value.elts)
    return value is number


def _taken_otherwise(
    path: str, tree: ast.Module, place: int, node: ast.Constant, name: str
) -> Iterator[Mutant]:
    for factor in FACTORS:
        changed = copy.deepcopy(tree)
        target = _at(changed, place)
        assert isinstance(target, ast.Constant)  # noqa: S101 - for the types
        assert isinstance(node.value, int | float)  # noqa: S101 - for the types
        target.value = node.value * factor
        what = f"{name} = {node.value:g} → {target.value:g}"
        yield Mutant(path, node.lineno, what, ast.unparse(changed))


def _guards(path: str, tree: ast.Module) -> Iterator[Mutant]:
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.If) and _returns_nothing(node):
            yield from _without_condition(path, tree, place, node)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp):
            yield from _without_operand(path, tree, place, node.value)


def _returns_nothing(node: ast.If) -> bool:
    """Say whether all the statement does is to return None, a truth value or nothing, or go on."""
    last = node.body[0]
    if node.orelse or len(node.body) != 1 or not isinstance(last, ast.Return | ast.Continue):
        return False
    if isinstance(last, ast.Continue):
        return True
    empty = (
        isinstance(last.value, ast.Tuple | ast.Dict)
        and not list(ast.iter_child_nodes(last.value))[1:]
    )
    return last.value is None or isinstance(last.value, ast.Constant) or empty


def _without_condition(path: str, tree: ast.Module, place: int, node: ast.If) -> Iterator[Mutant]:
    if isinstance(node.test, ast.BoolOp):
        yield from _without_operand(path, tree, place, node.test)
        return
    changed = copy.deepcopy(tree)
    target = _at(changed, place)
    assert isinstance(target, ast.If)  # noqa: S101 - for the types
    target.test = ast.Constant(value=False)
    yield _removed(path, node.test, changed)


def _without_operand(
    path: str, tree: ast.Module, place: int, condition: ast.BoolOp
) -> Iterator[Mutant]:
    for number, operand in enumerate(condition.values):
        changed = copy.deepcopy(tree)
        target = _at(changed, place)
        assert isinstance(target, ast.If | ast.Return)  # noqa: S101 - for the types
        found = target.test if isinstance(target, ast.If) else target.value
        assert isinstance(found, ast.BoolOp)  # noqa: S101 - for the types
        del found.values[number]
        yield _removed(path, operand, changed)


def _at(tree: ast.Module, place: int) -> ast.AST:
    return next(node for number, node in enumerate(ast.walk(tree)) if number == place)


def _removed(path: str, condition: ast.expr, changed: ast.Module) -> Mutant:
    shown = ast.unparse(condition)
    narrows = shown.endswith(("is None", "is not None"))
    return Mutant(path, condition.lineno, f"without `{shown}`", ast.unparse(changed), narrows)


class Copy:
    """A scratch copy of what the tests of the rules need."""

    def __init__(self, folder: Path) -> None:
        """Copy, and link the content folders to where the package finds them."""
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(
                    source, target, ignore=shutil.ignore_patterns(*CONTENT, "__pycache__")
                )
            else:
                shutil.copy2(source, target)
        for name in CONTENT:
            (folder / "kprof" / name).symlink_to(folder / name)

    def notices(self, mutant: Mutant) -> bool:
        """Say whether a test fails, or hangs, with the change."""
        target = self.folder / mutant.path
        original, when = target.read_bytes(), target.stat()
        try:
            target.write_text(mutant.source, encoding="utf-8")
            return not self.passes(_words(mutant.path), "-B", also=SHARED.get(mutant.path, ()))
        finally:
            # With its old time, the byte code of the unchanged module stays valid.
            target.write_bytes(original)
            os.utime(target, ns=(when.st_atime_ns, when.st_mtime_ns))

    def passes(self, words: str, *flags: str, also: Sequence[str] = ()) -> bool:
        """Run the tests whose names hold the words; no time limit is ever reached by a good one."""
        argv = [sys.executable, *flags, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        argv += ["-p", "no:xdist", "-k", words, *also, "tests/rules"]
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = process.run(argv, timeout_s=TEST_TIMEOUT_S, env=environment, cwd=self.folder)
        return not done.timed_out and done.returncode == 0


def _words(path: str) -> str:
    """Choose the tests of a module; all where several rules share it."""
    if path in SHARED:
        return "test"
    stem = Path(path).stem
    return f"{stem.replace('_', '-')} or {stem}"


def survivors(found: Sequence[Mutant], jobs: int, limit_s: float) -> tuple[list[Mutant], int]:
    """Return the changes that no test notices, and how many were not tried in time."""
    until = time.monotonic() + limit_s
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="kprof-mutate-") as scratch:
        for number in range(jobs):
            one = Copy(Path(scratch) / str(number))
            if not one.passes("test"):
                raise SystemExit("the tests of the rules fail without any change: run make test")
            copies.put(one)

        def survives(mutant: Mutant) -> bool | None:
            if time.monotonic() > until:
                return None
            mine = copies.get()
            try:
                return not mine.notices(mutant)
            finally:
                copies.put(mine)

        with ThreadPoolExecutor(jobs) as pool:
            outcomes = list(pool.map(survives, found))
    alive = [mutant for mutant, outcome in zip(found, outcomes, strict=True) if outcome]
    return alive, outcomes.count(None)


def harmless() -> dict[tuple[str, str], str]:
    """Return why changes survive that may: by module and change."""
    listed = json.loads(HARMLESS.read_text(encoding="utf-8"))
    return {(row["module"], row["change"]): row["why"] for row in listed}


def _told(mutant: Mutant) -> str:
    note = " (a check for None: the type checker may be all that needs it)"
    return f"{mutant.path}:{mutant.line}: {mutant.what}{note if mutant.narrows else ''}"


def report(found: Sequence[Mutant], alive: Sequence[Mutant], untried: int) -> int:
    """Print what survives and should not, what should and does not, and the counts.

    Returns:
        how many of both there are.
    """
    known = harmless()
    surprising = [one for one in alive if (one.path, one.what) not in known]
    survived = {(one.path, one.what) for one in alive}
    tried = {(one.path, one.what) for one in found} if not untried else set()
    outdated = sorted((known.keys() & tried) - survived)
    print(*map(_told, surprising), sep="\n", end="\n" if surprising else "")
    for path, what in outdated:
        print(f"{path}: {what}: is noticed, strike it from {HARMLESS.name}")
    noticed = len(found) - len(alive) - untried
    print(
        f"{len(found)} changes: {noticed} noticed, {len(alive) - len(surprising)} known to be "
        f"harmless, {len(surprising)} survive, {untried} not tried"
    )
    return len(surprising) + len(outdated)


def _modules(names: Sequence[str]) -> list[str]:
    every = [f"rules/{path.name}" for path in sorted((ROOT / "rules").glob("[!_]*.py"))]
    if not names:
        return [*every, *SHARED]
    wanted = {name.replace("-", "_") for name in names}
    return [path for path in (*every, *SHARED) if Path(path).stem in wanted]


def main() -> int:
    """List the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help="only these; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time")
    parser.add_argument("--limit-s", type=float, default=1200.0, help="seconds in all")
    options = parser.parse_args()
    modules = _modules(options.rules)
    if not modules:
        parser.error(f"no rule is named {' or '.join(options.rules)}")
    found = [mutant for path in modules for mutant in mutants(path)]
    alive, untried = survivors(found, options.jobs, options.limit_s)
    return 1 if report(found, alive, untried) else 0


if __name__ == "__main__":
    raise SystemExit(main())
