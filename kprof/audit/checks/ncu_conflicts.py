"""What gets in ncu's way: other tools, locks, directories, MIG, MPS, several processes."""

from __future__ import annotations

from kprof.audit import derive, remedies, said
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_OWN_DIRECTORY = ('export TMPDIR="$HOME/tmp"', 'mkdir -p "$TMPDIR"')
_PROFILERS = {
    "dcgm-exporter": "the DCGM exporter",
    "nv-hostengine": "DCGM's host engine",
    "nsys": "Nsight Systems",
    "ncu": "another ncu",
    "nvprof": "nvprof",
}
_DCGM = ("dcgm-exporter", "nv-hostengine")
_COLLECTIVE = (
    r"==PROF== Profiling .{0,4}(?:nccl\w{0,40}(?:Kernel|Dev)|ncclKernel|ncclDevKernel|nvshmem)"
    r"|==PROF== Profiling .{0,300}(?:AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast_RING)"
)
_SERIALISES = (
    "Nsight Compute Profiling Guide, kernel replay; NCCL issue 466 "
    "<https://github.com/NVIDIA/nccl/issues/466> [nvidia-doc]"
)


@check(
    "ncu.resource_busy",
    "no other profiler",
    hurts=("profile",),
    explains=("ncu.prepare", "ncu.resource_or_perm"),
)
def resource_busy(facts: Facts) -> Verdict:
    """One client at a time collects counters; DCGM does when it watches profiling metrics."""
    line = said.line(facts, "ncu.resource_busy") or said.line(facts, "ncu.resource_or_perm")
    running = [name for name in _PROFILERS if facts.text(f"services.{name}") == "running"]
    if line is None and not running:
        if facts.sub("services") is None:
            raise Unknown("services")
        return ok("no other profiler was seen")
    names = " and ".join(_named(facts, name) for name in running)
    one = len(running) == 1
    run = f"{names} {'is' if one else 'are'} running"
    if line is None:
        message = f"{run}: while {'it collects' if one else 'they collect'} profiling metrics, ncu is refused"
    elif running:
        message = f"another tool holds the GPU's counters: {run}"
    else:
        message = "another tool holds the GPU's counters, perhaps outside this container"
    return Verdict(
        "error" if line else "warning",
        message,
        (*derive.values(facts, "services"), *([line] if line else ())),
        _free_counters(facts, running),
        said.source("ncu.resource_busy"),
    )


def _named(facts: Facts, name: str) -> str:
    """Return a tool for people, with the numbers of its processes where they are known."""
    found = [
        one.number("pid") for one in facts.items("profilers") or () if one.text("name") == name
    ]
    numbers = ", ".join(f"{pid:.0f}" for pid in found[:3] if pid is not None)
    return f"{_PROFILERS[name]} (process {numbers})" if numbers else _PROFILERS[name]


def _free_counters(facts: Facts, running: list[str]) -> Remedy:
    if running and not any(name in _DCGM for name in running):
        return Remedy("End the other profiler first")
    pause = ("dcgmi profile --pause", "kprof profile TARGET", "dcgmi profile --resume")
    if derive.in_container(facts):
        return remedies.letter(
            "Nsight Compute is refused because another tool (DCGM?) collects this GPU's counters. "
            "Please pause its profiling metrics while I profile.",
            ("dcgmi profile --pause", "dcgmi profile --resume"),
        )
    return Remedy("Pause DCGM's profiling metrics while profiling", pause, "root")


@check(
    "ncu.injection_conflict",
    "no tool injected",
    hurts=("profile",),
    explains=("ncu.preinit", "ncu.prepare"),
)
def injection_conflict(facts: Facts) -> Verdict:
    """CUDA loads one tool, the one CUDA_INJECTION64_PATH names, and ncu wants to be it."""
    line = said.line(facts, "ncu.injection_conflict")
    path = facts.text("env.CUDA_INJECTION64_PATH")
    if line is None and not path:
        if facts.sub("env") is None:
            raise Unknown("env.CUDA_INJECTION64_PATH")
        return ok("CUDA_INJECTION64_PATH is not set")
    named = f" ({derive.brief(path, 100)})" if path else ""
    return Verdict(
        "error",
        f"CUDA_INJECTION64_PATH is set{named}: another tool is loaded into the program in ncu's place",
        (*derive.values(facts, "env.CUDA_INJECTION64_PATH"), *([line] if line else ())),
        Remedy("Unset it for the profile", ("unset CUDA_INJECTION64_PATH",)),
        said.source("ncu.injection_conflict"),
    )


@check("ncu.lock_file", "ncu's lock file", hurts=("profile",), explains=("ncu.tmp", "ncu.prepare"))
def lock_file(facts: Facts) -> Verdict:
    """Runs of ncu wait for each other by a file in the temporary directory."""
    line = said.line(facts, "ncu.lock_file")
    locks = _locks(facts)
    barred = next((one for one in locks if one[1].flag("writable") is False), None)
    if line is None and barred is None:
        if not locks:
            raise Unknown("files./tmp/nsight-compute-lock")
        return ok("ncu can take its lock")
    path = barred[0] if barred else "the lock file in the temporary directory"
    owner = barred[1].text("owner") if barred else None
    whose = f", which belongs to {derive.brief(owner, 40)}" if owner else ""
    return Verdict(
        "error",
        f"ncu cannot open {derive.brief(path, 100)}{whose}",
        (*derive.values(facts, "files", "process.euid", "env.TMPDIR"), *([line] if line else ())),
        Remedy(
            "Use a temporary directory of your own, or have the file's owner delete it "
            "(fs.protected_regular keeps even root from other users' files in /tmp)",
            _OWN_DIRECTORY,
        ),
        said.source("ncu.lock_file"),
    )


def _locks(facts: Facts) -> list[tuple[str, Facts]]:
    files = facts.sub("files")
    names = [
        name for name in (files.raw() if files else {}) if name.endswith("nsight-compute-lock")
    ]
    found = [(name, facts.member("files", name)) for name in names]
    return [(name, entry) for name, entry in found if entry is not None]


@check("ncu.tmp", "temporary directory", hurts=("profile",))
def temporary(facts: Facts) -> Verdict:
    """What ncu saves of the GPU's memory, and its lock, lie in the temporary directory."""
    line = said.line(facts, "ncu.tmp")
    entry = facts.member("files", "TMPDIR")
    writable = entry.flag("writable") if entry else None
    if line is None and writable is None:
        raise Unknown("files.TMPDIR")
    if line is None and writable:
        return ok("the temporary directory is writable")
    path = facts.text("env.TMPDIR") or "the temporary directory"
    return Verdict(
        "error",
        f"ncu cannot write to {derive.brief(path, 100)}",
        (*derive.values(facts, "env.TMPDIR", "files"), *([line] if line else ())),
        Remedy("Name a directory that you may write to", _OWN_DIRECTORY),
        said.source("ncu.tmp"),
    )


@check("ncu.home_unwritable", "ncu's files in HOME", hurts=("profile",))
def home_unwritable(facts: Facts) -> Verdict:
    """The section files are copied into the home directory; without it ncu uses its own."""
    line = said.line(facts, "ncu.home_unwritable")
    entry = facts.member("files", "HOME")
    writable = entry.flag("writable") if entry else None
    if line is None and writable is None:
        raise Unknown("files.HOME")
    if line is None and writable:
        return ok("the home directory is writable")
    return Verdict(
        "error" if line and "home directory" not in line else "warning",
        "ncu cannot put its section files into the home directory: it is not writable, full or unset",
        (*derive.values(facts, "files", "env.HOME"), *([line] if line else ())),
        Remedy("Name another home directory for the profile", ("export HOME=$(mktemp -d)",)),
        said.source("ncu.home_unwritable"),
    )


@check("ncu.mig_limits", "MIG", hurts=("profile",), live=True)
def mig_limits(facts: Facts) -> Verdict:
    """Units that MIG instances share, such as DRAM and L2, cannot be measured from one of them."""
    line = said.line(facts, "ncu.mig_limits")
    listed = derive.gpus(facts)
    enabled = [gpu for gpu in listed or () if gpu.facts.text("mig") == "enabled"]
    if line is None and not enabled:
        if not any(gpu.facts.known("mig") for gpu in listed or ()):
            raise Unknown("gpus[].mig")
        return ok("MIG is off")
    name = derive.brief(enabled[0].name, 60) if enabled else "the GPU"
    return Verdict(
        "error" if line else "warning",
        f"MIG is on for {name}: DRAM, L2 and other shared units cannot be measured, "
        "and clocks not be locked",
        (*derive.values(facts, "gpus"), *([line] if line else ())),
        Remedy(
            "Profile on a GPU without MIG, or take these metrics for unknown",
            alternatives=(remedies.without_mig(facts),),
        ),
        said.source("ncu.mig_limits"),
    )


@check("ncu.mps", "MPS", hurts=("profile",), live=True)
def mps(facts: Facts) -> Verdict:
    """Under MPS several processes share the GPU, and counters count them all."""
    line = said.line(facts, "ncu.mps")
    running = facts.text("services.mps") == "running"
    if line is None and not running:
        if not facts.known("services.mps"):
            raise Unknown("services.mps")
        return ok("MPS is not running")
    return Verdict(
        "error" if line else "warning",
        "the multi-process service (MPS) is running: what ncu measures under it is undefined",
        (*derive.values(facts, "services.mps"), *([line] if line else ())),
        Remedy(
            "Stop MPS while profiling",
            ("echo quit | nvidia-cuda-mps-control",),
            "host" if derive.in_container(facts) else "root",
        ),
        said.source("ncu.mps"),
    )


@check("ncu.multi_rank_hang", "one process to profile", hurts=("profile",))
def multi_rank_hang(facts: Facts) -> Verdict:
    """Kernel replay runs one kernel alone: a collective then waits for its peers for ever."""
    line = derive.logged(facts, _COLLECTIVE)
    ranks = facts.number("job.ranks")
    several = ranks is not None and ranks > 1
    if line is None and not several:
        if ranks is None:
            raise Unknown("job.ranks")
        return ok("one process")
    if line is None and facts.absent("ncu"):
        return skipped("there is no ncu that could hang")
    if line is not None:
        message = "ncu replays a collective kernel alone, and it waits for the other ranks for ever"
    else:
        message = (
            f"a job of {ranks:.0f} processes: a collective that ncu replays waits for the others "
            "for ever; kprof leaves collectives out, ncu itself does not"
        )
    return Verdict(
        "error" if line else "warning",
        message,
        (*derive.values(facts, "job", "ncu.version"), *([line] if line else ())),
        Remedy(
            "Profile one rank with kprof, which leaves the kernels of NCCL and NVSHMEM out unless "
            "--with-communication is given; for the communication itself use Nsight Systems",
            ("kprof profile TARGET",),
            alternatives=(
                Remedy(
                    "Replay the whole application, where they have to be measured",
                    ("kprof profile --with-communication --replay-mode application TARGET",),
                ),
            ),
        ),
        _SERIALISES,
    )
