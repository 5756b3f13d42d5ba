"""An audit made by hand, with something of every kind and every trap."""

from __future__ import annotations

from kprof.audit import Audit, Facts
from kprof.audit.judge import Judged, primary
from kprof.audit.verdict import Check, Purpose, Remedy, Verdict, ok
from kprof.doctor_result import DoctorReport, result

HOSTILE = "</script><script>pwned=1</script>\x1b[31mred\x1b[0m\nERROR fake\u202etxt\x9b2J"
TAKEN = "2026-11-29T22:00:00Z"
FACTS = {
    "os": {"system": "linux", "distro": "ubuntu 24.04", "arch": "x86_64", "container": "docker"},
    "gpus": [{"name": "NVIDIA H200"}] * 8,
    "driver": {"version": "470.86", "cuda_version": "11.4"},
    "toolkits": [],
    "torch": {"version": "2.1.0+cu121", "cuda": "12.1"},
    "log": HOSTILE,
}
LETTER = (
    "Inside this container nothing can change this. Send this to the host's admin: "
    '"The host needs NVIDIA driver R580. Please run the commands below on the host. Thank you!"'
)
COMMAND = "pip install torch --index-url https://download.pytorch.org/whl/cu118 --force-reinstall"
DRIVER = Remedy(
    "Install driver R580, then reboot.",
    ("sudo apt-get install -y nvidia-driver-580-open", "sudo reboot now"),
    "root",
)
VERDICTS: tuple[tuple[str, Verdict], ...] = (
    ("driver.sound", Verdict("ok", "driver 470.86 is loaded")),
    (
        "torch.import_error",
        Verdict(
            "error",
            f"import torch says {HOSTILE}",
            (f"log = {HOSTILE}",),
            Remedy("Install another torch.", (COMMAND,), alternatives=(DRIVER,)),
        ),
    ),
    (
        "driver.too_old_for_torch",
        Verdict(
            "error",
            "torch 2.1.0+cu121 needs driver 525.60.13 or newer, this one is 470.86",
            ("driver.version = 470.86", "torch.cuda = 12.1"),
            Remedy(LETTER, ("sudo apt-get install nvidia-driver-580", "sudo reboot"), "host"),
            "CUDA release notes, table 2 <https://docs.nvidia.com/cuda/>, confirmed",
        ),
    ),
    ("torch.slow", Verdict("error", "torch starts slowly")),
    (
        "env.multiple_toolkits",
        Verdict("warning", "two toolkits", (), Remedy("Unset one.", ("unset CUDA_HOME",))),
    ),
    ("ncu.perm", Verdict("unknown", "not known: driver.params.RmProfilingAdminOnly")),
    ("wsl.no_device", Verdict("skipped", "this is no WSL")),
)
EXPLAINS = {
    "driver.too_old_for_torch": ("torch.import_error",),
    "torch.import_error": ("torch.slow",),
}


def audited(
    verdicts: tuple[tuple[str, Verdict], ...] = VERDICTS, facts: Facts | None = None
) -> Audit:
    """Return an audit with these verdicts, its primary chosen as always."""
    results = tuple(Judged(_check(name), verdict) for name, verdict in verdicts)
    seen = Facts(FACTS, taken=TAKEN) if facts is None else facts
    return Audit(seen, None, results, primary(results))


def _check(name: str) -> Check:
    hurts: frozenset[Purpose] = frozenset({"profile"} if name[:4] == "ncu." else {"run", "profile"})
    return Check(name, f"about {name}", hurts, EXPLAINS.get(name, ()), lambda _: ok(""))


REPORT: DoctorReport = result(audited())
CLEAN: DoctorReport = result(audited(VERDICTS[:1]))
