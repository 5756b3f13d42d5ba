"""The process that runs a bench file: in the target's interpreter, with its torch.

kprof's own dependencies need not be there. Started as ``python worker.py JOB``. ``JOB`` is a folder: ``job.json`` says what to run, every step
is told as a line of ``events.jsonl`` before it begins, and ``orders-0.json`` and so on appear there:
once kprof has read what the bench file offers and compiled its CUDA sources, and once it knows which
variants are right. What the bench file prints goes elsewhere and disturbs nothing.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and sys.path[:1] == [os.path.dirname(os.path.abspath(__file__))]:  # noqa: PTH100, PTH120 - pathlib would be looked for there
    # Python puts this file's folder first, whose modules would hide others of their names.
    sys.path.pop(0)

import importlib
import importlib.util
import itertools
import json
import random
import runpy
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOST = 3  # exit status after an error that no further work in this process survives
_POLL_S = 0.05
_LINES = 3  # of what an exception says; CUDA's own are followed by general advice


def main(folder: Path) -> int:
    """Run a job and return the exit status."""
    _adopt()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    if job.get("parent"):  # under a profiler, the parent is another
        from kprof.reader.lifeline import die_with_parent

        die_with_parent(job["parent"])
    with (folder / "events.jsonl").open("a", encoding="utf-8") as file:
        tell = Teller(file)
        try:
            return Run(folder, job, tell).whole()
        except Lost as error:
            tell("lost", message=str(error))
            return LOST


class Lost(Exception):
    """The GPU's context or the process is of no further use."""


class Refused(Exception):
    """The bench file cannot be used; the message says why."""


class Teller:
    """Writes one line per event, at once."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __call__(self, event: str, **fields: Any) -> None:
        """Tell that something begins or what came of it."""
        self._file.write(json.dumps({"event": event, **fields}) + "\n")
        self._file.flush()


class Run:
    """One job."""

    def __init__(self, folder: Path, job: dict[str, Any], tell: Teller) -> None:
        self.folder, self.job, self.tell = folder, job, tell

    def whole(self) -> int:
        """Load the bench file, say what it offers, wait for orders and follow them."""
        self.tell("begin", step="load")
        try:
            suite = self._suite()
            work, device = self._units(suite), self._device()
        except Refused as error:
            self.tell("refused", message=str(error))
            return 0
        self.tell("suite", **_described(suite, work, device, self.job))
        for orders in self._orders():
            self._follow(suite, device, work, orders)
            self.tell("finished", step=orders["step"])
        return 0

    def _follow(
        self, suite: Any, device: Any, work: dict[str, Any], orders: dict[str, Any]
    ) -> None:
        if orders["step"] == "prepare":
            for library, built in zip(suite.libraries, orders["libraries"], strict=True):
                library.place = built["place"] and Path(built["place"])
                library.problem = built["problem"]
        elif orders["step"] == "check":
            from kprof.bench.checking import Checker

            Checker(suite, device, orders, self.tell).all(work)
        elif orders["step"] == "time":
            from kprof.bench.timing import Timer

            Timer(suite, device, orders, self.tell).all(work)
        elif orders["step"] == "once":
            from kprof.bench.once import run_once

            run_once(suite, work, device, orders)

    def _suite(self) -> Any:
        from kprof.bench import api

        path = self.job["file"]
        sys.path.insert(0, str(Path(path).parent))
        sys.argv = [path]
        api.current.file = path
        try:
            runpy.run_path(path, run_name="__bench__")
            api.current.check()
        except Exception as error:
            raise Refused(explained(error, path)) from error
        except SystemExit as error:
            raise Refused(f"it ended itself with {error.code!r}") from error
        return api.current

    def _units(self, suite: Any) -> dict[str, Any]:
        from kprof.bench.units import units

        try:
            return {unit.label: unit for unit in units(suite, self.job["overrides"])}
        except Exception as error:  # a value may fail to be written
            raise Refused(explained(error, self.job["file"])) from error

    def _device(self) -> Any:
        torch = sys.modules.get("torch") or _imported_torch()
        if self.job["device"] == "cuda" and not torch.cuda.is_available():
            raise Refused(f"torch {torch.__version__} sees no GPU")
        random.seed(self.job["seed"])
        torch.manual_seed(self.job["seed"])
        return torch.device(self.job["device"])

    def _orders(self) -> Iterator[dict[str, Any]]:
        """Yield the orders in turn, until the one to quit or until nobody is left to give any."""
        parent = os.getppid()
        for number in itertools.count():
            place = self.folder / f"orders-{number}.json"
            while not place.exists():
                if os.getppid() != parent:
                    return
                time.sleep(_POLL_S)
            orders = json.loads(place.read_text(encoding="utf-8"))
            if orders["step"] == "quit":
                return
            yield orders


def explained(error: BaseException, path: str) -> str:
    """Return what went wrong, and where in the bench file."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path
    ]
    where = f"line {frames[-1].lineno}: " if frames else ""
    lines = str(error).split("\n")
    said = " ".join(lines[: 1 if lines[0].startswith("CUDA error") else _LINES]).strip()
    kind = type(error).__name__
    known = kind in {"DefinitionError", "LaunchError", "Unsupported"}
    return where + (said if known else f"{kind}: {said}" if said else kind)


def _described(
    suite: Any, work: dict[str, Any], device: Any, job: dict[str, Any]
) -> dict[str, Any]:
    import platform

    from kprof.bench.hardware import described

    torch, folder = sys.modules["torch"], Path(job["file"]).parent
    return {
        "units": [unit.described() for unit in work.values()],
        "variants": list(suite.variants),
        "shapes": [str(shape) for shape in suite.shapes],
        "check_shapes": [str(shape) for shape in suite.check_shapes],
        "libraries": [
            {"source": str(folder / library.source), "flags": list(library.flags)}
            for library in suite.libraries
        ],
        "tolerance": suite.tolerance,
        "has_cost": suite.cost is not None,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": described(torch, device),
    }


def _imported_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except Exception as error:
        raise Refused(f"torch cannot be imported by {sys.executable}: {error}") from error


def _adopt() -> None:
    """Make this very kprof importable, without whatever else lies where it is installed."""
    package = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        "kprof", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - it is this package
    module = importlib.util.module_from_spec(spec)
    sys.modules["kprof"] = module
    spec.loader.exec_module(module)
    # The same classes under both names: this file runs as __main__.
    sys.modules["kprof.bench.worker"] = sys.modules["__main__"]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
