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

from kprof.audit import sensitive
from kprof.audit.sensitive import SECRET

# Names that say nothing about anybody, and whose replacement would break paths and texts.
_WORDS = (
    "admin administrator apps apptainer azureuser bin boot centos cluster compute conda "
    "container cuda data debian dev docker ec2-user envs etc fedora gpu guest home host include "
    "jovyan kernel kprof kubernetes lib lib64 linux local localdomain localhost login mambauser "
    "media mnt model ncu nobody node none nvcc nvidia opc opt podman proc projects public "
    "python root run runner runsc sandbox sbin server service share shared site-packages slurm "
    "software src srv sys system test tmp tools torch triton ubuntu user users usr var venv "
    "vscode work worker workspace workstation"
)
_ORDINARY = frozenset(_WORDS.split())

# Facts whose words are a vocabulary of NVIDIA's: a host called A100 must not rename the GPUs.
_VOCABULARY = frozenset({"name", "lspci_gpus", "arch_list", "chips", "compute_capability"})

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
        patterns = (
            (_word(name), word) for name, word in names.items() if name.lower() not in _ORDINARY
        )
        return cls(tuple(patterns), _homes(environ), owners, _uuids(texts))

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return a snapshot's facts as they may be shown to anybody."""
        return {key: self.value(value, str(key)) for key, value in facts.items()}

    def value(self, value: Any, key: str, *, env: bool = False) -> Any:
        """Return a fact of the name ``key``; ``env`` is for what an environment variable holds."""
        if isinstance(value, Mapping):
            inside = env or key == "env"
            return {
                self.key(str(name)): self.value(entry, str(name), env=inside)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(entry, key, env=env) for entry in value]
        if _number(value) and sensitive.serial_fact(key):
            return sensitive.SERIAL
        return self._string(value, key, env=env) if isinstance(value, str) and value else value

    def _string(self, value: str, key: str, *, env: bool) -> str:
        if env:
            return SECRET if _SECRET_NAME.search(key) else self.text(_without_random(value))
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
        if name not in known and name not in _ORDINARY and not _PLACEHOLDER.fullmatch(name)
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


def _word(name: str) -> re.Pattern[str]:
    if len(name) < 3 or name.isdecimal():  # as a part of a path alone
        return re.compile(rf"(?<=/){re.escape(name)}(?=[/:]|$)", re.IGNORECASE)
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE)


def _without_random(value: str) -> str:
    """Return a variable's value without what looks drawn at random; hashes in paths stay."""
    if "/" not in value:
        value = _HEXADECIMAL.sub(SECRET, value)
    return _MIXED.sub(lambda found: SECRET if _random(found[0]) else found[0], value)


def _random(text: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(sum(map(kind, text)) >= 2 for kind in kinds)
