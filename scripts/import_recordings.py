"""Take what scripts/record_samples.sh brought from a GPU machine into the test data.

Reports replace those of the same name; the others stay. The manifest says how each was made.

    python scripts/import_recordings.py FOLDER     (with plan.tar and/or full.tar, manifest.json)
"""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "h200"


def sources() -> dict[str, str]:
    """Return the source of each sample by the name that its recordings have."""
    files = sorted((ROOT / "sample_kernels").glob("*/*.cu"))
    return {f"{path.parent.name}-{path.stem}": path.relative_to(ROOT).as_posix() for path in files}


def command(run: dict[str, Any], metrics: str) -> str:
    """Return the command without the machine's folder for temporary files."""
    words = shlex.split(run["command"])
    words[words.index("--export") + 1] = run["sample"]
    return " ".join("<metrics>" if word == metrics else word for word in words)


def unpack(folder: Path, step: str) -> list[Path]:
    """Write the reports of one archive into the test data and return their paths."""
    archive = folder / f"{step}.tar"
    if not archive.exists():
        return []
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            content = packed.extractfile(member)
            if content is not None:
                (DATA / step / Path(member.name).name).write_bytes(content.read())
        return [DATA / step / Path(member.name).name for member in packed.getmembers()]


def entries(folder: Path, step: str, made: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the manifest says about each report of one archive."""
    runs = {run["sample"]: run for run in made["runs"] if run["step"] == step}
    known, metrics = sources(), ",".join(made["metrics"])
    found = []
    for path in unpack(folder, step):
        name = path.name.removesuffix(".ncu-rep.xz")
        run = runs[name]
        found.append(
            {
                "file": f"{step}/{path.name}",
                "source": known[name],
                "command": command(run, metrics),
                "exit_status": run["exit_status"],
                "seconds": run["seconds"],
                "bytes": path.stat().st_size,
            }
        )
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    made = json.loads((folder / "manifest.json").read_text())
    manifest = json.loads((DATA / "manifest.json").read_text())
    new = [entry for step in ("plan", "full") for entry in entries(folder, step, made)]
    kept = {entry["file"]: entry for entry in manifest["recordings"]}
    kept |= {entry["file"]: entry for entry in new}
    order = sorted(
        kept.values(), key=lambda entry: (entry["file"].split("/")[0] != "plan", entry["file"])
    )
    manifest |= {
        "gpu": made["gpu"],
        "driver": made["driver"],
        "recorded": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "metrics": made["metrics"],
        "recordings": order,
    }
    (DATA / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{len(new)} recordings taken in, {len(order)} in all")


if __name__ == "__main__":
    main()
