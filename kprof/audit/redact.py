"""Takes out of a snapshot what tells who and where: it gets pasted into public bug reports.

Names of users and of the host, home directories, UUIDs, serial and network numbers and anything
that looks like a secret make way for placeholders. Paths stay paths, equal things stay equal, and
what the audit reads (versions, GPU names, error texts) stays as it is.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kprof.audit import sensitive, table
from kprof.audit.sensitive import SECRET

# Names that say nothing about anybody, and whose replacement would break paths and texts.
_WORDS = (
    "admin administrator apps apptainer azureuser bin boot centos cloud-user cluster compat "
    "compute conda container core cuda data debian dev docker drivers ec2-user envs etc fedora gpu "
    "guest home host include jovyan kernel kprof kubernetes lib lib64 linux local localdomain "
    "localhost login mambauser media mnt model ncu nobody node none nsight-compute nsight-systems "
    "nvcc nvidia opc opt podman proc projects public python root run runner runsc sandbox sbin "
    "server service share shared site-packages slurm software src srv stubs sys system targets "
    "test tmp tools torch triton ubuntu user users usr vagrant var venv vscode work worker "
    "workspace workstation wsl"
)
_ORDINARY = frozenset(_WORDS.split())

# Names that are also words of the texts which the checks read ("cannot open shared object file",
# "Tesla T4"); the words of the version table count too. They go where a path has them.
_READ = """
    abi accelerator access active address akia alpine amazon amd amzn ampere api app arch aws azure
    brand cannot card client code command communicate compile compiler cores could couldn debug
    default defined denied deprecated detected device devices directory disabled display
    distribution dlopen dmesg dynamic enabled end entry environment err exec execution failed
    failure fallback fatal fault file files firmware flag found function functions gcc gcp generic
    get gnu hardware has header hip image import init initialize input instance intel internal
    invalid jetson job jobs key keys limit link list load loaded lock log main manager map memory
    message mig missing mode modeset module modules name names newer not null object offline old
    open open-kernel operation operator oracle orin out output package packages pascal path patch
    pci permission permitted persistence pid pip platform pop prime process profile profiler
    program proprietary proxmox ptx ptxas pytorch queue raid raspberry reader redhat region
    remove report requirement reset resource result rhel rocky rocm root rule runtime sched secure
    select serial session set signature sle sles socket spark stack state status steam steamos
    stub suse suspend symbol system-manager table target task tegra tesla thor thread timeout
    titan turing undefined unknown unsupported update value vendor version video virtual
    void volta volume warning wheel wheels windows xavier
    blocked build cuda-capable cuda_home insufficient_privilege mismatches nvidiactl nvml prof
    project rejected sampler variable
"""
# Written before a GPU's name: there a host called A100 is none.
_MAKERS = ("NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "RTX ", "GTX ")

# Facts of a vocabulary that nobody's name is part of: a user called rocky must not change the
# distribution, nor a host called A100 the GPUs. The others are free text, and paths.
_KEYS = """
    name lspci_gpus pci_drivers arch_list chips compute_capability compute_mode mig system distro
    distro_like arch jetson container sandbox version cuda_version module_version module_flavor
    modules_loaded kind capabilities environment cuda cudnn hip torch ptxas_version
    ptxas_blackwell_version package packages extensions services driver_capabilities requires
    CUDA_DEVICE_ORDER CUDA_VERSION CUDA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES
    NVIDIA_REQUIRE_CUDA NVIDIA_VISIBLE_DEVICES TORCH_CUDA_ARCH_LIST
"""
_VOCABULARY = frozenset(_KEYS.split())
_VOCABULARIES = frozenset({"packages", "services"})  # of names, not of facts

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)

_AT_HOST = re.compile(r"(?<![\w/.])[\w.+-]{1,64}@[A-Za-z][A-Za-z0-9.-]*(?![\w@])")
_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![0-9a-z])[0-9a-f]{32}(?![0-9a-z])",  # as a machine's id, and some tools, have it
    re.IGNORECASE,
)
# CUDA_VISIBLE_DEVICES takes the beginning of one too.
_SHORT_UUID = re.compile(r"\b(GPU-|MIG-)([0-9a-f]{4,8}(?:-[0-9a-f]{0,4}){0,3})(?![\w-])", re.I)

# The folder of somebody's home; a name with blanks only where the path goes on after it.
_HOMES = re.compile(r"(?<=[/\\])(home\d*|Users)([/\\])((?:[^/\\\s:;,\"']+ ){0,3}[^/\\\s:;,\"']+)")

_PLACEHOLDER = re.compile(r"user\d*")
_MIXED = re.compile(r"[A-Za-z0-9+]{24,}")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{33,}")  # with 32 it is a UUID


def redact(
    facts: Mapping[str, Any], environ: Mapping[str, str], host: str | None = None
) -> dict[str, Any]:
    """Return a snapshot's facts without what tells who and where.

    Args:
        facts: as the probes returned them.
        environ: the environment that names the user and the home directory.
        host: this machine's name; None asks the system.
    """
    return Redactor.of(facts, environ, host).facts(facts)


@dataclass(frozen=True, slots=True)
class Redactor:
    """What one machine's snapshot must not tell, and what stands in its place."""

    names: tuple[tuple[re.Pattern[str], str], ...]
    homes: tuple[re.Pattern[str], ...]
    owners: dict[str, str]
    uuids: dict[str, str]

    @classmethod
    def of(
        cls, facts: Mapping[str, Any], environ: Mapping[str, str], host: str | None = None
    ) -> Redactor:
        """Learn the names and identifiers of a machine; see :func:`redact`."""
        texts = tuple(_texts(facts))
        users = dict.fromkeys(map(str.lower, _users(environ)), "user")
        owners = {**_owners(texts, users), **users}
        hosts = _hosts(environ, socket.gethostname() if host is None else host)
        names = {**owners, **dict.fromkeys(hosts, "host")}
        read = table.words().union(_READ.split())
        patterns = (
            (_word(name, read), word) for name, word in names.items() if not _ordinary(name)
        )
        return cls(tuple(patterns), _homes(environ), owners, _uuids(texts))

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return a snapshot's facts as they may be shown to anybody."""
        return {key: self.value(value, str(key)) for key, value in facts.items()}

    def value(self, value: Any, key: str, *, env: bool = False) -> Any:
        """Return a fact of the name ``key``; ``env`` is for what an environment variable holds."""
        if isinstance(value, Mapping):
            inside = env or key == "env"
            listed = key in _VOCABULARIES
            return {
                self.key(str(name)): self.value(entry, key if listed else str(name), env=inside)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(entry, key, env=env) for entry in value]
        if _number(value) and sensitive.serial_fact(key):
            return sensitive.SERIAL
        return self._string(value, key, env=env) if isinstance(value, str) and value else value

    def _string(self, value: str, key: str, *, env: bool) -> str:
        if env:
            if _SECRET_NAME.search(key):
                return SECRET
            return self.text(_without_random(value), names=key not in _VOCABULARY)
        if sensitive.secret_fact(key):
            return SECRET
        return self.text(value, names=key not in _VOCABULARY)

    def key(self, key: str) -> str:
        """Return the name of a fact."""
        # Facts' own names stay; those that are paths (``files``) hold what paths hold.
        return self.text(key) if "/" in key or "\\" in key else key

    def text(self, text: str, *, names: bool = True) -> str:
        """Return a text; ``names`` says whether those of users and the host are looked for."""
        text = sensitive.without(text)
        text = _AT_HOST.sub("user@host", text)
        for home in self.homes:
            text = home.sub("~", text)
        text = _HOMES.sub(self._home, text)
        text = _UUID.sub(self._uuid, text)
        text = _SHORT_UUID.sub(self._short_uuid, text)
        for pattern, word in self.names if names else ():
            text = pattern.sub(word, text)
        return text

    def _home(self, found: re.Match[str]) -> str:
        name, rest = _owner(found)
        return f"{found[1]}{found[2]}{self.owners.get(name.lower(), name)}{rest}"

    def _uuid(self, found: re.Match[str]) -> str:
        digits = _digits(found[0])
        return found[0] if _placed(digits) else self.uuids.get(digits, _placeholder(0))

    def _short_uuid(self, found: re.Match[str]) -> str:
        start = _digits(found[2])
        whole = next((word for one, word in self.uuids.items() if one.startswith(start)), None)
        return found[1] + (whole or _placeholder(0))


def _owner(found: re.Match[str]) -> tuple[str, str]:
    """Return whose home it is, and what the pattern took of the sentence behind the path."""
    name = found[3]
    if found.string[found.end() : found.end() + 1] in ("/", "\\"):
        return name, ""
    name, blank, rest = name.partition(" ")
    return name, blank + rest


def _owners(texts: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    names = dict.fromkeys(_owner(one)[0].lower() for text in texts for one in _HOMES.finditer(text))
    others = [
        name
        for name in names
        if name not in known and not _ordinary(name) and not _PLACEHOLDER.fullmatch(name)
    ]
    return {name: f"user{number}" for number, name in enumerate(others, 2)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield str(name)
            yield from _texts(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry)


def _uuids(texts: Sequence[str]) -> dict[str, str]:
    """Return a placeholder for every UUID, by its digits; placeholders stay what they are."""
    found = (_digits(one[0]) for text in texts for one in _UUID.finditer(text))
    others = (one for one in dict.fromkeys(found) if not _placed(one))
    return {one: _placeholder(number) for number, one in enumerate(others, 1)}


def _placed(digits: str) -> bool:
    """Say whether a UUID is a placeholder already."""
    return digits.startswith("0" * 20)


def _number(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _digits(uuid: str) -> str:
    return uuid.lower().replace("-", "")


def _placeholder(number: int) -> str:
    # Of a UUID's form, so that what compares and shortens them still works.
    return f"00000000-0000-0000-0000-{number:012d}"


def _users(environ: Mapping[str, str]) -> list[str]:
    names = [environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    found = _HOMES.search(environ.get("HOME", ""))
    names = [name for name in (*names, found[3] if found else "") if name]
    return list(dict.fromkeys(names or _of_system()))


def _of_system() -> list[str]:
    # Asked last: the user database can be a directory service that takes its time.
    try:
        import pwd

        return [pwd.getpwuid(os.geteuid()).pw_name]
    except (ImportError, KeyError, OSError):
        return []


def _hosts(environ: Mapping[str, str], host: str) -> list[str]:
    names = [host, *(environ.get(name, "") for name in ("HOSTNAME", "HOST", "SLURMD_NODENAME"))]
    parts = [part for name in names for part in (name, *_short_and_domain(name)) if part]
    return sorted(dict.fromkeys(parts), key=len, reverse=True)


def _short_and_domain(name: str) -> tuple[str, ...]:
    short, _, domain = name.partition(".")
    return (short, domain) if "." in domain else (short,)


def _homes(environ: Mapping[str, str]) -> tuple[re.Pattern[str], ...]:
    home = environ.get("HOME", "").rstrip("/")
    if not home.startswith("/"):
        return ()
    places = sorted({home, os.path.realpath(home)}, key=len, reverse=True)
    return tuple(re.compile(rf"(?<![\w.~/-]){re.escape(place)}(?![\w.-])") for place in places)


def _ordinary(name: str) -> bool:
    return name.lower() in _ORDINARY or name.lower().startswith(("nvidia", "cuda"))


def _word(name: str, read: frozenset[str]) -> re.Pattern[str]:
    known = name.lower() in read or len(name) < 3 or name.isdecimal()
    if known:  # as a part of a path alone
        return re.compile(rf"(?<=/){re.escape(name)}(?=[/:]|$)", re.IGNORECASE)
    unmade = "".join(f"(?<!{maker})" for maker in _MAKERS)
    word = rf"(?<![A-Za-z0-9]){unmade}{re.escape(name)}(?![A-Za-z0-9])"
    return re.compile(word, re.IGNORECASE)


def _without_random(value: str) -> str:
    """Return a variable's value without what looks drawn at random; hashes in paths stay."""
    if "/" not in value:
        value = _HEXADECIMAL.sub(SECRET, value)
    return _MIXED.sub(lambda found: SECRET if _random(found[0]) else found[0], value)


def _random(text: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(sum(map(kind, text)) >= 2 for kind in kinds)
